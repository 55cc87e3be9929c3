# tuning/<system>/<replica>/: weights and history of one tuning run, or what a training with the
# replica's own seed made.

TUNE_VERSION = 2


rule tune:
    input:
        unpack(part_inputs("tune")),
        kernels=KERNELS,
    output:
        weights=f"{RESULTS}/tuning/{{system}}/{{replica}}/weights.json",
        history=f"{RESULTS}/tuning/{{system}}/{{replica}}/history.parquet",
    log:
        text=f"{RESULTS}/logs/tune/{{system}}/{{replica}}.log",
        record=f"{RESULTS}/logs/tune/{{system}}/{{replica}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/tune/{{system}}/{{replica}}.tsv"
    wildcard_constraints:
        system=systems_with("tune"),
    conda:
        "../../envs/programs.yaml"
    threads: system_resource("threads", 1)
    resources:
        gpu=system_resource("gpu", 0),
        mem_mb=system_resource("mem_mb", 2000, growing=True),
        runtime=system_resource("runtime", 120, growing=True),
    params:
        how=job_words("tune"),
        parts=part_words(
            "tune", dev="testset", source="source-text", target="target-text"
        ),
        options=lambda wildcards: EXPERIMENT.tuning_words(wildcards.replica),
        # the checkpoint of a run that is under way; it is no output
        work=f"{RESULTS}/tuning/{{system}}/.work/{{replica}}",
        allow=missing_allowed("--allow-failure"),
        paired=PAIRED,
        seed=EXPERIMENT.seed,
        backend=backend_version,
        stage_version=TUNE_VERSION,
    message:
        "tune {wildcards.system} {wildcards.replica}"
    shell:
        "replitune tune {params.how} {params.parts} {params.options}"
        " --replica {wildcards.replica} {params.paired} {params.allow}"
        " --seed {params.seed} --work {params.work:q}"
        " --out {output.weights:q} --history {output.history:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"


rule train_replica:
    input:
        unpack(part_inputs("train_replica")),
        kernels=KERNELS,
    output:
        directory(f"{RESULTS}/tuning/{{system}}/{{replica}}"),
    log:
        text=f"{RESULTS}/logs/tune/{{system}}/{{replica}}.log",
        record=f"{RESULTS}/logs/tune/{{system}}/{{replica}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/tune/{{system}}/{{replica}}.tsv"
    wildcard_constraints:
        system=systems_with("train_replica"),
    conda:
        "../../envs/programs.yaml"
    threads: system_resource("threads", 1)
    resources:
        gpu=system_resource("gpu", 0),
        mem_mb=system_resource("mem_mb", 4000, growing=True),
        runtime=system_resource("runtime", 240, growing=True),
    params:
        how=job_words("train_replica"),
        parts=part_words(
            "train_replica", dev="testset", source="source-text", target="target-text"
        ),
        # the checkpoint of a run that is under way; it is no output
        work=f"{RESULTS}/tuning/{{system}}/.work/{{replica}}",
        metric=EXPERIMENT.tuning_metric,
        allow=missing_allowed("--allow-failure"),
        paired=PAIRED,
        seed=EXPERIMENT.seed,
        backend=backend_version,
        stage_version=TUNE_VERSION,
    message:
        "train {wildcards.system} {wildcards.replica}"
    shell:
        "replitune tune {params.how} {params.parts} --metric {params.metric:q}"
        " --replica {wildcards.replica} {params.paired} {params.allow}"
        " --seed {params.seed} --work {params.work:q} --out {output:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"
