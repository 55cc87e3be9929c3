# tuning/<system>/<replica>/: weights and history of one tuning run, or what a training with the
# replica's own seed made.


rule tune:
    input:
        unpack(reads("tune")),
        kernels=KERNELS,
    output:
        weights=AT.weights("{system}", "{replica}"),
        history=AT.history("{system}", "{replica}"),
    log:
        **logs("tune", "{system}", "{replica}"),
    wildcard_constraints:
        system=having("tune"),
    conda:
        PROGRAMS
    threads: threads_of_system
    resources:
        **amounts(mem_mb=2000, runtime=120, gpu=0),
    params:
        job=told("tune"),
        allow=allowed,
    message:
        "tune {wildcards.system} {wildcards.replica}"
    shell:
        command("tune", "{params.allow}")


rule train_replica:
    input:
        unpack(reads("train_replica")),
        kernels=KERNELS,
    output:
        directory(AT.replica("{system}", "{replica}")),
    log:
        **logs("tune", "{system}", "{replica}"),
    wildcard_constraints:
        system=having("train_replica"),
    conda:
        PROGRAMS
    threads: threads_of_system
    resources:
        **amounts(mem_mb=4000, runtime=240, gpu=0),
    params:
        job=told("train_replica"),
        allow=allowed,
    message:
        "train {wildcards.system} {wildcards.replica}"
    shell:
        command("train_replica", "{params.allow}")
