# models/<system>/: what the replicas of a trained system share.

TRAIN_VERSION = 1


rule train:
    input:
        source=f"{RESULTS}/corpus/train.source.txt",
        target=f"{RESULTS}/corpus/train.target.txt",
    output:
        directory(f"{RESULTS}/models/{{system}}"),
    log:
        text=f"{RESULTS}/logs/train/{{system}}.log",
        record=f"{RESULTS}/logs/train/{{system}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/train/{{system}}.tsv"
    conda:
        "../../envs/programs.yaml"
    # beside the compilation of kernels, and beside other systems
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 120 * attempt,
    params:
        subset=lambda wildcards: EXPERIMENT.settings["systems"][wildcards.system][
            "subset"
        ],
        settings=lambda wildcards: EXPERIMENT.training_words(wildcards.system),
        seed=EXPERIMENT.seed,
        stage_version=TRAIN_VERSION,
    message:
        "train {wildcards.system}"
    shell:
        "replitune train --source {input.source:q} --target {input.target:q}"
        " --subset {params.subset} --set {params.settings} --seed {params.seed} --out {output:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"
