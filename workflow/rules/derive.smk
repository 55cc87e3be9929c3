# derivations/<testset>/<system>.json: how the median replica came to its translations, for the report.


rule derive:
    input:
        unpack(job_inputs("derive")),
    output:
        AT.derivations("{testset}", "{system}"),
    log:
        **logs("derive", "{testset}", "{system}"),
    wildcard_constraints:
        system=systems_with("derive"),
    conda:
        PROGRAMS
    threads: threads_of_system
    resources:
        **amounts("derive", runtime=20),
    params:
        job=job_settings("derive"),
    message:
        "derivations of {wildcards.system} on {wildcards.testset}"
    shell:
        command("derive")
