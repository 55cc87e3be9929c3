# tuning/<system>/<replica>/: weights and history of one tuning run.

TUNE_VERSION = 2


rule tune:
    input:
        model=f"{RESULTS}/models/{{system}}",
        dev=f"{RESULTS}/corpus/dev.jsonl",
        kernels=KERNELS,
    output:
        weights=f"{RESULTS}/tuning/{{system}}/{{replica}}/weights.json",
        history=f"{RESULTS}/tuning/{{system}}/{{replica}}/history.parquet",
    log:
        text=f"{RESULTS}/logs/tune/{{system}}/{{replica}}.log",
        record=f"{RESULTS}/logs/tune/{{system}}/{{replica}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/tune/{{system}}/{{replica}}.tsv"
    conda:
        "../../envs/programs.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 120 * attempt,
    params:
        features=lambda wildcards: " ".join(
            EXPERIMENT.settings["systems"][wildcards.system]["features"]
        ),
        search=lambda wildcards: EXPERIMENT.search_words(wildcards.system),
        options=lambda wildcards: EXPERIMENT.tuning_words(wildcards.replica),
        # the checkpoint of a run that is under way; it is no output
        work=f"{RESULTS}/tuning/{{system}}/.work/{{replica}}",
        paired="--paired" if EXPERIMENT.settings["tests"]["paired_replicas"] else "",
        seed=EXPERIMENT.seed,
        stage_version=TUNE_VERSION,
    message:
        "tune {wildcards.system} {wildcards.replica}"
    shell:
        "replitune tune --model {input.model:q} --features {params.features}"
        " --search {params.search} --testset {input.dev:q} {params.options}"
        " --system {wildcards.system:q} --replica {wildcards.replica} {params.paired}"
        " --seed {params.seed} --work {params.work:q}"
        " --out {output.weights:q} --history {output.history:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"
