# report.html, tables/, figures/: what people read. manifest.json: what made every file.

from replitune import read
from replitune.report.contents import Captions

# what the results say, and what tables and figures are, for `snakemake --report`: see ../report/*.rst
config = {**config, "captions": Captions(EXPERIMENT.folder, read)}


rule report:
    input:
        unpack(job_inputs("report")),
    output:
        page=AT.page,
        # the job decides which tables there are, by what the experiment has
        tables=report(
            directory(AT.tables),
            patterns=["{name}.csv"],
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{name}"},
        ),
        figures=report(
            directory(AT.figures),
            patterns=["{about}.{kind,[^.]+}.svg"],
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{kind}", "of": "{about}"},
        ),
    log:
        **logs("report", "report"),
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("report", runtime=30),
    params:
        job=job_settings("report"),
    message:
        "tables, figures and report"
    shell:
        command("report")


rule manifest:
    input:
        rules.report.output,
        **everything(),
    output:
        AT.manifest,
        **index(),
    log:
        **logs("manifest", "manifest"),
    localrule: STAYS_HERE
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("manifest", runtime=30),
    params:
        job=job_settings("manifest"),
    message:
        "manifest"
    shell:
        command("manifest")
