# tests/<testset>/<metric>.parquet: all pairs and methods of one (test set, metric).

TEST_VERSION = 1


def stores(testset, metric):
    return [
        f"{RESULTS}/stats/{testset}/{metric}/{system}.parquet"
        for system in EXPERIMENT.systems
        if testset in EXPERIMENT.decoded(system)
    ]


rule test:
    input:
        stats=lambda wildcards: stores(wildcards.testset, wildcards.metric),
        dev=lambda wildcards: (
            stores("dev", wildcards.metric) if "dev" in EXPERIMENT.testsets else []
        ),
    output:
        tests=f"{RESULTS}/tests/{{testset}}/{{metric}}.parquet",
        systems=f"{RESULTS}/tests/{{testset}}/{{metric}}.systems.parquet",
        null=f"{RESULTS}/tests/{{testset}}/{{metric}}.null.parquet",
    log:
        text=f"{RESULTS}/logs/test/{{testset}}/{{metric}}.log",
        record=f"{RESULTS}/logs/test/{{testset}}/{{metric}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/test/{{testset}}/{{metric}}.tsv"
    params:
        stats=subpath(input.stats[0], parent=True),
        dev=lambda wildcards, input: f"--dev {Path(input.dev[0]).parent}" if input.dev else "",
        methods=" ".join(EXPERIMENT.methods),
        pairs=EXPERIMENT.pairs,
        samples=EXPERIMENT.settings["tests"]["samples"],
        alpha=EXPERIMENT.settings["tests"]["alpha"],
        correction=EXPERIMENT.settings["tests"]["correction"],
        paired="--paired-replicas" if EXPERIMENT.settings["tests"]["paired_replicas"] else "",
        seed=EXPERIMENT.seed,
        stage_version=TEST_VERSION,
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    message:
        "significance on {wildcards.testset} by {wildcards.metric}"
    shell:
        "replitune test {params.stats:q} {params.dev} --testset {wildcards.testset:q}"
        " --pairs {params.pairs} --methods {params.methods}"
        " --samples {params.samples} --alpha {params.alpha} --correction {params.correction}"
        " {params.paired} --seed {params.seed} --out {output.tests:q}"
        " --threads {threads} --record {log.record:q} 2>&1 | tee {log.text:q} >&2"
