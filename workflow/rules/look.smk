# looks/: for an experiment that decides how many replicas it needs. A look reads the statistics of
# the replicas so far, batch by batch, and decides which systems get more; Snakemake then makes
# these, and the next look.


rule batch:
    input:
        unpack(job_inputs("batch")),
        kernels=KERNELS,
    output:
        # kept while the job runs, which reuses the rows of unchanged replicas
        update(AT.batch("{testset}", "{metric}", "{system}", "{n}")),
    log:
        **logs("batch", "{testset}", "{metric}", "{system}", "{n}"),
    wildcard_constraints:
        n=r"\d+",
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("batch", runtime=30),
    params:
        job=job_settings("batch"),
        allow=failure_option,
    message:
        "{wildcards.metric} statistics of {wildcards.system} on {wildcards.testset}, up to {wildcards.n} replicas"
    shell:
        command("batch", "{params.allow}")


checkpoint look:
    input:
        unpack(job_inputs("look")),
    output:
        # kept while the job runs, which reads in it whether another plan was abandoned
        update([AT.look("{look}"), AT.look("{look}", ".parquet")]),
    log:
        **logs("look", "{look}"),
    wildcard_constraints:
        look=r"\d+",
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("look", runtime=30),
    params:
        job=job_settings("look"),
    message:
        "look {wildcards.look}: which systems need more replicas?"
    shell:
        command("look")
