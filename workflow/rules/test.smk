# tests/<testset>/<metric>.parquet: all pairs and methods of one (test set, metric).

TEST_VERSION = 2


rule test:
    input:
        kernels=KERNELS,
        stats=lambda wildcards: stores(wildcards.testset, wildcards.metric),
        dev=lambda wildcards: (
            stores("dev", wildcards.metric) if "dev" in EXPERIMENT.testsets else []
        ),
    output:
        tests=f"{RESULTS}/tests/{{testset}}/{{metric}}.parquet",
        systems=f"{RESULTS}/tests/{{testset}}/{{metric}}.systems.parquet",
        overlaps=f"{RESULTS}/tests/{{testset}}/{{metric}}.overlaps.parquet",
        null=f"{RESULTS}/tests/{{testset}}/{{metric}}.null.parquet",
        notes=f"{RESULTS}/tests/{{testset}}/{{metric}}.notes.parquet",
    log:
        text=f"{RESULTS}/logs/test/{{testset}}/{{metric}}.log",
        record=f"{RESULTS}/logs/test/{{testset}}/{{metric}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/test/{{testset}}/{{metric}}.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params:
        stats=f"{RESULTS}/stats/{{testset}}/{{metric}}",
        dev=lambda wildcards, input: (
            f"--dev {shlex.quote(str(Path(input.dev[0]).parent))}" if input.dev else ""
        ),
        systems=lambda wildcards: [
            system
            for system in EXPERIMENT.systems
            if wildcards.testset in EXPERIMENT.decoded(system)
        ],
        methods=EXPERIMENT.methods,
        intervals=EXPERIMENT.intervals,
        pairs=EXPERIMENT.pairs.split(),
        samples=EXPERIMENT.settings["tests"]["samples"],
        alpha=EXPERIMENT.settings["tests"]["alpha"],
        correction=EXPERIMENT.settings["tests"]["correction"],
        paired=(
            "--paired-replicas"
            if EXPERIMENT.settings["tests"]["paired_replicas"]
            else ""
        ),
        seed=EXPERIMENT.seed,
        stage_version=TEST_VERSION,
    message:
        "significance on {wildcards.testset} by {wildcards.metric}"
    shell:
        "replitune test {params.stats:q} {params.dev} --testset {wildcards.testset:q}"
        " --systems {params.systems:q} --pairs {params.pairs:q} --methods {params.methods:q}"
        " --intervals {params.intervals:q}"
        " --samples {params.samples} --alpha {params.alpha} --correction {params.correction}"
        " {params.paired} --seed {params.seed} --out {output.tests:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"
