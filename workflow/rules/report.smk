# report.html, tables/, figures/: what people read. manifest.json: what made every file.


rule report:
    input:
        unpack(reads("report")),
    output:
        page=AT.page,
        tables=report(directory(AT.tables), patterns=["{name}.csv"], category="Tables"),
        figures=report(
            directory(AT.figures), patterns=["{name}.svg"], category="Figures"
        ),
    log:
        **logs("report", "report"),
    benchmark:
        AT.benchmark("report", "report")
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts(mem_mb=2000, runtime=30),
    params:
        job=told("report"),
    message:
        "tables, figures and report"
    shell:
        command("report")


rule manifest:
    input:
        rules.report.output,
    output:
        AT.manifest,
    log:
        **logs("manifest", "manifest"),
    benchmark:
        AT.benchmark("manifest", "manifest")
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts(mem_mb=1000, runtime=30),
    params:
        job=told("manifest"),
    message:
        "manifest"
    shell:
        command("manifest")
