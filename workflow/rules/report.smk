# report.html, tables/, figures/: what people read. manifest.json: what made every file.

REPORT_VERSION = 1
TABLES = ["systems", "pairs"]


rule report:
    input:
        expand(
            f"{RESULTS}/tests/{{testset}}/{{metric}}{{suffix}}.parquet",
            testset=EXPERIMENT.tests,
            metric=EXPERIMENT.metrics,
            suffix=["", ".systems"],
        ),
    output:
        page=f"{RESULTS}/report.html",
        tables=expand(f"{RESULTS}/tables/{{table}}.{{suffix}}", table=TABLES, suffix=["csv", "md", "tex"]),
        figures=expand(
            f"{RESULTS}/figures/{{testset}}.{{metric}}.replicas.{{suffix}}",
            testset=EXPERIMENT.tests,
            metric=EXPERIMENT.metrics,
            suffix=["svg", "png"],
        ),
    log:
        text=f"{RESULTS}/logs/report/report.log",
        record=f"{RESULTS}/logs/report/report.json",
    benchmark:
        f"{RESULTS}/benchmarks/report/report.tsv"
    params:
        folder=RESULTS,
        settings=as_json(EXPERIMENT.report_settings),
        stage_version=REPORT_VERSION,
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    message:
        "tables, figures and report"
    shell:
        "replitune report {params.folder:q} --settings {params.settings:q}"
        " --threads {threads} --record {log.record:q} 2>&1 | tee {log.text:q} >&2"


rule manifest:
    input:
        rules.report.output,
    output:
        f"{RESULTS}/manifest.json",
    log:
        text=f"{RESULTS}/logs/manifest/manifest.log",
    benchmark:
        f"{RESULTS}/benchmarks/manifest/manifest.tsv"
    params:
        folder=RESULTS,
        settings=as_json(EXPERIMENT.settings),
        # every file that the run makes: what is gone from the experiment is not listed
        tests=" ".join(EXPERIMENT.testsets),
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    message:
        "manifest"
    shell:
        "replitune manifest {params.folder:q} --settings {params.settings:q} --out {output:q}"
        " --threads {threads} 2>&1 | tee {log.text:q} >&2"
