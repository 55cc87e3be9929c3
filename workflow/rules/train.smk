# models/<system>/: what the replicas of a trained system share; options/<system>/<test set>/: the part
# of it that one test set needs.


rule train:
    input:
        unpack(job_inputs("train")),
    output:
        directory(AT.model("{system}")),
    log:
        **logs("train", "{system}"),
    wildcard_constraints:
        system=systems_with("train"),
    conda:
        PROGRAMS
    # runs beside the compilation of kernels and the training of other systems
    threads: threads_of_system
    resources:
        **amounts("train", runtime=120, gpu=0),
        disk_mb=disk_of("train"),
    params:
        job=job_settings("train"),
    message:
        "train {wildcards.system}"
    shell:
        command("train")


rule table:
    input:
        unpack(job_inputs("table")),
    output:
        directory(AT.table("{system}", "{testset}")),
    log:
        **logs("table", "{testset}", "{system}"),
    wildcard_constraints:
        system=systems_with("table"),
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("table", runtime=60),
        disk_mb=disk_of("table"),
    params:
        job=job_settings("table"),
    message:
        "table of {wildcards.system} for {wildcards.testset}"
    shell:
        command("table")
