# studies/: what replicas show beyond tests of pairs.


for study in ("power", "replication", "calibrate"):

    rule:
        name:
            study
        input:
            unpack(job_inputs(study)),
            kernels=KERNELS,
        output:
            update(AT.study(study, "{testset}", "{metric}")),
        log:
            **logs(study, "{testset}", "{metric}"),
        conda:
            PROGRAMS
        threads: 1
        resources:
            **amounts(study, runtime=120),
        params:
            # `shell` is evaluated when the job runs, after the loop
            stage=study,
            job=job_settings(study),
        message:
            f"{study} on {{wildcards.testset}} by {{wildcards.metric}}"
        shell:
            command("{params.stage}")


rule meta:
    input:
        unpack(job_inputs("meta")),
        kernels=KERNELS,
    output:
        AT.study("meta", "{testset}"),
    log:
        **logs("meta", "{testset}"),
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("meta", runtime=120),
    params:
        job=job_settings("meta"),
    message:
        "metrics and people on {wildcards.testset}"
    shell:
        command("meta")
