# report.html, tables/, figures/: what people read. manifest.json: what made every file.

REPORT_VERSION = 4

# what tables and figures are, read when `snakemake --report` is made: see ../report/*.rst
config["captions"] = Captions()


rule report:
    input:
        account=f"{RESULTS}/corpus/inputs.json",
        tests=expand(
            f"{RESULTS}/tests/{{testset}}/{{metric}}{{suffix}}.parquet",
            testset=EXPERIMENT.tests,
            metric=EXPERIMENT.metrics,
            suffix=["", ".systems", ".overlaps", ".null", ".notes"],
        ),
        studies=[f"{RESULTS}/{path}" for path in EXPERIMENT.studies.files()],
        texts=report_texts,
        histories=report_histories,
    output:
        page=f"{RESULTS}/report.html",
        # which there are is for the report to say, from what the experiment has
        tables=report(
            directory(f"{RESULTS}/tables"),
            patterns=["{name}.csv"],
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{name}"},
        ),
        figures=report(
            directory(f"{RESULTS}/figures"),
            patterns=["{about}.{kind,[^.]+}.svg"],
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{kind}", "of": "{about}"},
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
        # in the experiment's order, which is the order of pairs and of a metric's options
        settings=lambda wildcards: json.dumps(EXPERIMENT.settings, ensure_ascii=False),
    message:
        "manifest"
    shell:
        "replitune manifest {params.folder:q} --settings {params.settings:q} --out {output:q}"
        " --threads {threads} --log {log.text:q}"
