# report.html, tables/, figures/: what people read. manifest.json: what made every file.

REPORT_VERSION = 2
TABLES = ["overview", "systems", "pairs", "p", "intervals", "documents"]


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
        overview=report(
            f"{RESULTS}/tables/overview.csv",
            caption="../report/overview.rst",
            category="Tables",
        ),
        systems=report(
            f"{RESULTS}/tables/systems.csv",
            caption="../report/systems.rst",
            category="Tables",
        ),
        pairs=report(
            f"{RESULTS}/tables/pairs.csv",
            caption="../report/pairs.rst",
            category="Tables",
        ),
        p=report(
            f"{RESULTS}/tables/p.csv",
            caption="../report/p.rst",
            category="Tables",
        ),
        limits=report(
            f"{RESULTS}/tables/intervals.csv",
            caption="../report/limits.rst",
            category="Tables",
        ),
        documents=report(
            f"{RESULTS}/tables/documents.csv",
            caption="../report/documents.rst",
            category="Tables",
        ),
        printed=expand(
            f"{RESULTS}/tables/{{table}}.{{suffix}}",
            table=TABLES,
            suffix=["md", "tex"],
        ),
        segments=expand(
            f"{RESULTS}/tables/segments.{{testset}}.tsv", testset=EXPERIMENT.tests
        ),
        replicas=report(
            figures_of("replicas"),
            caption="../report/replicas.rst",
            category="Figures",
        ),
        intervals=report(
            figures_of("intervals"),
            caption="../report/intervals.rst",
            category="Figures",
        ),
        fits=report(
            figures_of("fits"),
            caption="../report/fits.rst",
            category="Figures",
        ),
        distributions=report(
            figures_of("distributions"),
            caption="../report/distributions.rst",
            category="Figures",
        ),
        heatmap=report(
            figures_of("heatmap"),
            caption="../report/heatmap.rst",
            category="Figures",
        ),
        differences=report(
            figures_of("differences"),
            caption="../report/differences.rst",
            category="Figures",
        ),
        tuners=report(
            figures_of("tuners"),
            caption="../report/tuners.rst",
            category="Figures",
        ),
        convergence=report(
            figures_of("convergence"),
            caption="../report/convergence.rst",
            category="Figures",
        ),
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
