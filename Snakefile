# The workflow, at the top of a clone; what it does stands in workflow/Snakefile, where workflows
# that use it as a module look for it.


include: "workflow/Snakefile"


workflow.default_target = "all"  # Snakemake takes none from a file that is included
