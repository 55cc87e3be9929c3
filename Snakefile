# Replicated tuning experiments for machine translation: see README.md.
#
#   snakemake --cores all                                              the default experiment
#   snakemake --cores all --configfile config/experiments/X.yaml      another one, alone
#   ... --config scale=small corpora=DIR                               a smaller version; where texts are

import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.5")


envvars:
    "PATH",


# jobs find `replitune` beside this interpreter, without an activated environment, on nodes too
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)

# a job ends when the Snakemake that started it has ended, be it by kill -9
os.environ.update(REPLITUNE_RUN=str(os.getpid()))


# Snakemake merges config files, so the default is read only when no experiment was given.
if "experiment" not in config:

    configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/ends.smk"
include: "workflow/rules/common.smk"


rule all:
    default_target: True
    input:
        AT.page,
        AT.manifest,


include: "workflow/rules/corpus.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/tune.smk"
include: "workflow/rules/decode.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/test.smk"
include: "workflow/rules/study.smk"
include: "workflow/rules/report.smk"


onstart:
    before_first_job(workflow.dag)


onsuccess:
    after_last_job()
    print(f"report: {EXPERIMENT.folder / 'report.html'}", file=sys.stderr)


onerror:
    after_failure()
