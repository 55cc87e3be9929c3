# corpus/: the prepared text that is really used, with the sha256 of each input.

CORPUS_VERSION = 1


rule corpus_train:
    input:
        existing(EXPERIMENT.corpus_files("train")),
    output:
        source=f"{RESULTS}/corpus/train.source.txt",
        target=f"{RESULTS}/corpus/train.target.txt",
        account=f"{RESULTS}/corpus/train.inputs.json",
    log:
        text=f"{RESULTS}/logs/corpus/train.log",
        record=f"{RESULTS}/logs/corpus/train.json",
    benchmark:
        f"{RESULTS}/benchmarks/corpus/train.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        settings=lambda wildcards: as_json(EXPERIMENT.corpus_settings("train")),
        base=EXPERIMENT.corpora,
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        seed=EXPERIMENT.seed,
        stage_version=CORPUS_VERSION,
    message:
        "prepare the training pairs"
    shell:
        "replitune corpus train --settings {params.settings:q} --base {params.base:q}"
        " --seed {params.seed} --out {params.folder:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"


rule corpus_testset:
    input:
        lambda wildcards: existing(EXPERIMENT.corpus_files(wildcards.testset)),
    output:
        testset=f"{RESULTS}/corpus/{{testset}}.jsonl",
        account=f"{RESULTS}/corpus/{{testset}}.inputs.json",
    log:
        text=f"{RESULTS}/logs/corpus/{{testset}}.log",
        record=f"{RESULTS}/logs/corpus/{{testset}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/corpus/{{testset}}.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        settings=lambda wildcards: as_json(
            EXPERIMENT.corpus_settings(wildcards.testset)
        ),
        base=EXPERIMENT.corpora,
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        seed=EXPERIMENT.seed,
        stage_version=CORPUS_VERSION,
    message:
        "prepare test set {wildcards.testset}"
    shell:
        "replitune corpus {wildcards.testset:q} --settings {params.settings:q} --base {params.base:q}"
        " --seed {params.seed} --out {params.folder:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"


rule corpus_inputs:
    input:
        [f"{RESULTS}/corpus/{name}.inputs.json" for name in EXPERIMENT.corpus_parts],
    output:
        f"{RESULTS}/corpus/inputs.json",
    log:
        text=f"{RESULTS}/logs/corpus/inputs.log",
        record=f"{RESULTS}/logs/corpus/inputs.json",
    benchmark:
        f"{RESULTS}/benchmarks/corpus/inputs.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        settings=lambda wildcards: as_json(EXPERIMENT.corpus_used),
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        seed=EXPERIMENT.seed,
        stage_version=CORPUS_VERSION,
    message:
        "account of all texts"
    shell:
        "replitune corpus inputs --settings {params.settings:q}"
        " --seed {params.seed} --out {params.folder:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"


rule kernels:
    output:
        f"{RESULTS}/.kernels",
    log:
        text=f"{RESULTS}/logs/kernels/kernels.log",
    benchmark:
        f"{RESULTS}/benchmarks/kernels/kernels.tsv"
    # first of all: everything else that is long waits for it
    priority: 100
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 20 * attempt,
    params:
        # made from `output`, so that a change does not compile again: a job finds what it
        # lacks, and Snakemake 9 forgets what depends on an ancient file that it makes again
        what=lambda wildcards, output: EXPERIMENT.kernel_words,
    message:
        "compile kernels (once; up to a minute on a new machine)"
    shell:
        "replitune kernels {params.what} --out {output:q} --threads {threads} --log {log.text:q}"
