# report.html, tables/, figures/: what people read. manifest.json: what made every file.

REPORT_VERSION = 3


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
        tables=[
            report(
                f"{RESULTS}/tables/{table}.csv",
                caption=f"../report/{table}.rst",
                category="Tables",
            )
            for table in EXPERIMENT.tables
        ],
        printed=expand(
            f"{RESULTS}/tables/{{table}}.{{suffix}}",
            table=EXPERIMENT.tables,
            suffix=["md", "tex"],
        ),
        segments=expand(
            f"{RESULTS}/tables/segments.{{testset}}.tsv", testset=EXPERIMENT.tests
        ),
        figures=[
            report(
                f"{RESULTS}/figures/{figure}.svg",
                caption=f"../report/figure-{figure.rpartition('.')[2]}.rst",
                category="Figures",
            )
            for figure in EXPERIMENT.figures
        ],
        bitmaps=expand(f"{RESULTS}/figures/{{figure}}.png", figure=EXPERIMENT.figures),
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
