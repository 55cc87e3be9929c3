# studies/: what replicas say beyond the tests of pairs. Each study has a command of its own.

STUDY_VERSION = 1


for study in ("power", "replication", "calibrate"):

    rule:
        name:
            study
        input:
            kernels=KERNELS,
            stats=lambda wildcards: stores(wildcards.testset, wildcards.metric),
        output:
            f"{RESULTS}/studies/{study}/{{testset}}/{{metric}}.parquet",
        log:
            text=f"{RESULTS}/logs/{study}/{{testset}}/{{metric}}.log",
            record=f"{RESULTS}/logs/{study}/{{testset}}/{{metric}}.json",
        benchmark:
            f"{RESULTS}/benchmarks/{study}/{{testset}}/{{metric}}.tsv"
        conda:
            "../../envs/programs.yaml"
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: 2000 * attempt,
            runtime=lambda wildcards, attempt: 120 * attempt,
        params:
            command=study,
            stats=f"{RESULTS}/stats/{{testset}}/{{metric}}",
            words=study_words(study),
            stage_version=STUDY_VERSION,
        message:
            "{params.command} on {wildcards.testset} by {wildcards.metric}"
        shell:
            "replitune {params.command} {params.stats:q} {params.words} --out {output:q}"
            " --threads {threads} --log {log.text:q} --record {log.record:q}"


rule meta:
    input:
        kernels=KERNELS,
        stats=lambda wildcards: [
            path
            for metric in EXPERIMENT.studies.metrics("meta")
            for path in stores(wildcards.testset, metric)
        ],
        human=lambda wildcards: existing(
            EXPERIMENT.studies.human_files(wildcards.testset).values()
        ),
    output:
        f"{RESULTS}/studies/meta/{{testset}}.parquet",
    log:
        text=f"{RESULTS}/logs/meta/{{testset}}.log",
        record=f"{RESULTS}/logs/meta/{{testset}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/meta/{{testset}}.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 120 * attempt,
    params:
        stats=f"{RESULTS}/stats/{{testset}}",
        files=lambda wildcards: " ".join(
            f"--{option} {shlex.quote(path)}"
            for option, path in EXPERIMENT.studies.human_files(
                wildcards.testset
            ).items()
        ),
        words=study_words("meta"),
        stage_version=STUDY_VERSION,
    message:
        "metrics and people on {wildcards.testset}"
    shell:
        "replitune meta {params.stats:q} {params.files} {params.words} --out {output:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"
