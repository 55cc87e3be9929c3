# models/<system>/: what the replicas of a trained system share.


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
    # beside the compilation of kernels, and beside other systems
    threads: threads_of_system
    resources:
        **amounts("train", runtime=120, gpu=0),
    params:
        job=job_settings("train"),
    message:
        "train {wildcards.system}"
    shell:
        command("train")
