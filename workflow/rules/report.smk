# report.html, tables/, figures/: what people read. manifest.json: what made every file.

REPORT_VERSION = 2


def report_texts(wildcards):
    """Test sets, outputs and statistics of the segments that the report shows."""
    lead = EXPERIMENT.metrics[0]
    return [
        path
        for testset in EXPERIMENT.tests
        for path in (
            f"{RESULTS}/corpus/{testset}.jsonl",
            *stores(testset, lead),
            *(
                f"{RESULTS}/decodes/{testset}/{system}/{replica.id}.txt"
                for system in EXPERIMENT.systems
                if testset in EXPERIMENT.decoded(system)
                for replica in EXPERIMENT.replicas(system)
            ),
        )
    ]


def report_histories(wildcards):
    """What tuning wrote down, of the systems that are tuned."""
    return [
        f"{RESULTS}/tuning/{system}/{replica.id}/history.parquet"
        for system in EXPERIMENT.systems
        if EXPERIMENT.backend(system) == "phrase"
        for replica in EXPERIMENT.replicas(system)
    ]


rule report:
    input:
        account=f"{RESULTS}/corpus/inputs.json",
        tests=expand(
            f"{RESULTS}/tests/{{testset}}/{{metric}}{{suffix}}.parquet",
            testset=EXPERIMENT.tests,
            metric=EXPERIMENT.metrics,
            suffix=["", ".systems", ".null"],
        ),
        texts=report_texts,
        histories=report_histories,
    output:
        page=f"{RESULTS}/report.html",
        tables=report(
            directory(f"{RESULTS}/tables"),
            patterns=["{table}.csv"],
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
        figures=report(
            directory(f"{RESULTS}/figures"),
            patterns=["{part}.{figure}.svg"],
            caption="../report/figure.rst",
            category="Figures",
            labels={"of": "{part}", "figure": "{figure}"},
        ),
    log:
        text=f"{RESULTS}/logs/report/report.log",
        record=f"{RESULTS}/logs/report/report.json",
    benchmark:
        f"{RESULTS}/benchmarks/report/report.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        settings=lambda wildcards: as_json(EXPERIMENT.report_settings),
        stage_version=REPORT_VERSION,
    message:
        "tables, figures and report"
    shell:
        "replitune report {params.folder:q} --settings {params.settings:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"


rule manifest:
    input:
        rules.report.output,
    output:
        f"{RESULTS}/manifest.json",
    log:
        text=f"{RESULTS}/logs/manifest/manifest.log",
    benchmark:
        f"{RESULTS}/benchmarks/manifest/manifest.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        settings=lambda wildcards: as_json(EXPERIMENT.settings),
    message:
        "manifest"
    shell:
        "replitune manifest {params.folder:q} --settings {params.settings:q} --out {output:q}"
        " --threads {threads} --log {log.text:q}"
