# stats/<testset>/<metric>/<system>.parquet: segment statistics of all replicas of a system.


rule score:
    input:
        unpack(job_inputs("score")),
        kernels=KERNELS,
    output:
        # kept while the job runs, which reuses the rows of unchanged replicas
        update(AT.store("{testset}", "{metric}", "{system}")),
    log:
        **logs("score", "{testset}", "{metric}", "{system}"),
    conda:
        PROGRAMS
    threads: threads_of_metric
    resources:
        **amounts("score", runtime=30, gpu=0),
    params:
        job=job_settings("score"),
        allow=failure_option,
    message:
        "{wildcards.metric} statistics of {wildcards.system} on {wildcards.testset}"
    shell:
        command("score", "{params.allow}")
