# tests/<testset>/<metric>.json: all pairs and methods of one (test set, metric).


rule test:
    input:
        unpack(job_inputs("test")),
        kernels=KERNELS,
    output:
        # kept while the job runs, and after it when nothing that it depends on has changed
        update([AT.tests("{testset}", "{metric}", kind) for kind in TESTS]),
    log:
        **logs("test", "{testset}", "{metric}"),
    conda:
        PROGRAMS
    threads: STAGES["test"].threads(EXPERIMENT)
    resources:
        **amounts("test", runtime=60),
    params:
        job=job_settings("test"),
    message:
        "significance on {wildcards.testset} by {wildcards.metric}"
    shell:
        command("test")


# tests/<testset>/human.json: people's judgements, sharpened by metrics.


rule human:
    input:
        unpack(job_inputs("human")),
        kernels=KERNELS,
    output:
        [AT.tests("{testset}", "human", kind) for kind in TESTS],
    log:
        **logs("human", "{testset}"),
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("human", runtime=60),
    params:
        job=job_settings("human"),
    message:
        "people's judgements on {wildcards.testset}, with metrics"
    shell:
        command("human")
