# tuning/<system>/<replica>/: weights and history of one tuning run, or what a training with the
# replica's own seed made.


rule tune:
    input:
        unpack(job_inputs("tune")),
        kernels=KERNELS,
    output:
        weights=AT.weights("{system}", "{replica}"),
        history=AT.history("{system}", "{replica}"),
    log:
        **logs("tune", "{system}", "{replica}"),
    wildcard_constraints:
        system=systems_with("tune"),
    conda:
        PROGRAMS
    threads: threads_of_system
    resources:
        **amounts("tune", runtime=120, gpu=0),
    params:
        job=job_settings("tune"),
        allow=failure_option,
    message:
        "tune {wildcards.system} {wildcards.replica}"
    shell:
        command("tune", "{params.allow}")


rule train_replica:
    input:
        unpack(job_inputs("train_replica")),
        kernels=KERNELS,
    output:
        directory(AT.replica("{system}", "{replica}")),
    log:
        **logs("tune", "{system}", "{replica}"),
    wildcard_constraints:
        system=systems_with("train_replica"),
    conda:
        PROGRAMS
    threads: threads_of_system
    resources:
        **amounts("train_replica", runtime=240, gpu=0),
    params:
        job=job_settings("train_replica"),
        allow=failure_option,
    message:
        "train {wildcards.system} {wildcards.replica}"
    shell:
        command("train_replica", "{params.allow}")
