# report.html, tables/, figures/: what people read. manifest.json: what made every file.

REPORT_VERSION = 1
TABLES = ["systems", "pairs"]


rule report:
    input:
        account=f"{RESULTS}/corpus/inputs.json",
        tests=expand(
            f"{RESULTS}/tests/{{testset}}/{{metric}}{{suffix}}.parquet",
            testset=EXPERIMENT.tests,
            metric=EXPERIMENT.metrics,
            suffix=["", ".systems"],
        ),
    output:
        page=f"{RESULTS}/report.html",
        tables=expand(
            f"{RESULTS}/tables/{{table}}.{{suffix}}",
            table=TABLES,
            suffix=["csv", "md", "tex"],
        ),
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
