# models/<system>/: what the replicas of a trained system share.

TRAIN_VERSION = 1


rule train:
    input:
        unpack(part_inputs("train")),
    output:
        directory(f"{RESULTS}/models/{{system}}"),
    log:
        text=f"{RESULTS}/logs/train/{{system}}.log",
        record=f"{RESULTS}/logs/train/{{system}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/train/{{system}}.tsv"
    wildcard_constraints:
        system=systems_with("train"),
    conda:
        "../../envs/programs.yaml"
    # beside the compilation of kernels, and beside other systems
    threads: system_resource("threads", 1)
    resources:
        gpu=system_resource("gpu", 0),
        mem_mb=system_resource("mem_mb", 4000, growing=True),
        runtime=system_resource("runtime", 120, growing=True),
    params:
        how=job_words("train"),
        parts=part_words("train"),
        seed=EXPERIMENT.seed,
        backend=backend_version,
        stage_version=TRAIN_VERSION,
    message:
        "train {wildcards.system}"
    shell:
        "replitune train {params.how} {params.parts} --seed {params.seed} --out {output:q}"
        " --threads {threads} --log {log.text:q} --record {log.record:q}"
