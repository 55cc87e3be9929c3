# stats/<testset>/<metric>/<system>.parquet: segment statistics of all replicas of a system.

SCORE_VERSION = 1


def decodes(wildcards):
    return [
        f"{RESULTS}/decodes/{wildcards.testset}/{wildcards.system}/{replica.id}.txt"
        for replica in EXPERIMENT.replicas(wildcards.system)
    ]


rule score:
    input:
        testset=f"{RESULTS}/corpus/{{testset}}.jsonl",
        decodes=decodes,
    output:
        # kept while the job runs: rows of unchanged replicas are taken over
        update(f"{RESULTS}/stats/{{testset}}/{{metric}}/{{system}}.parquet"),
    log:
        text=f"{RESULTS}/logs/score/{{testset}}/{{metric}}/{{system}}.log",
        record=f"{RESULTS}/logs/score/{{testset}}/{{metric}}/{{system}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/score/{{testset}}/{{metric}}/{{system}}.tsv"
    params:
        folder=subpath(input.decodes[0], parent=True),
        replicas=lambda wildcards: " ".join(
            f"{prefix}={count}"
            for prefix, count in EXPERIMENT.replica_counts(wildcards.system).items()
        ),
        metric=lambda wildcards: EXPERIMENT.metric(wildcards.metric),
        stage_version=SCORE_VERSION,
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    message:
        "{wildcards.metric} statistics of {wildcards.system} on {wildcards.testset}"
    shell:
        "replitune score --refs {input.testset:q} --system {wildcards.system:q}"
        " --hyps-from {params.folder:q} --replicas {params.replicas} --metrics {params.metric:q}"
        " --testset {wildcards.testset:q} --out {output:q}"
        " --threads {threads} --record {log.record:q} 2>&1 | tee {log.text:q} >&2"
