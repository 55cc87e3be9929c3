# stats/<testset>/<metric>/<system>.parquet: segment statistics of all replicas of a system.

SCORE_VERSION = 1


rule score:
    input:
        testset=f"{RESULTS}/corpus/{{testset}}.jsonl",
        decodes=decodes,
        scores=score_files,
        kernels=KERNELS,
    output:
        # kept while the job runs: rows of unchanged replicas are taken over
        update(f"{RESULTS}/stats/{{testset}}/{{metric}}/{{system}}.parquet"),
    log:
        text=f"{RESULTS}/logs/score/{{testset}}/{{metric}}/{{system}}.log",
        record=f"{RESULTS}/logs/score/{{testset}}/{{metric}}/{{system}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/score/{{testset}}/{{metric}}/{{system}}.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        folder=f"{RESULTS}/decodes/{{testset}}/{{system}}",
        replicas=lambda wildcards: " ".join(
            f"{prefix}={count}"
            for prefix, count in EXPERIMENT.replica_counts(wildcards.system).items()
        ),
        allow=missing_allowed("--allow-missing"),
        metric=lambda wildcards: EXPERIMENT.metric(wildcards.metric, wildcards.testset),
        stage_version=SCORE_VERSION,
    message:
        "{wildcards.metric} statistics of {wildcards.system} on {wildcards.testset}"
    shell:
        "replitune score --refs {input.testset:q} --system {wildcards.system:q}"
        " --hyps-from {params.folder:q} --replicas {params.replicas} --metrics {params.metric:q}"
        " {params.allow} --testset {wildcards.testset:q} --out {output:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"
