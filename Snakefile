# For starting the workflow from the top of a clone; it is in workflow/Snakefile, where workflows that
# use it as a module look for it.


include: "workflow/Snakefile"


rule default:  # Snakemake takes no default target from a file that is included
    default_target: True
    input:
        rules.all.input,
