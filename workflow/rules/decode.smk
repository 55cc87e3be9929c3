# decodes/<testset>/<system>/<replica>.txt: one line per segment.

DECODE_VERSION = 2


rule decode:
    input:
        unpack(part_inputs("decode")),
        testset=f"{RESULTS}/corpus/{{testset}}.jsonl",
    output:
        f"{RESULTS}/decodes/{{testset}}/{{system}}/{{replica}}.txt",
    log:
        text=f"{RESULTS}/logs/decode/{{testset}}/{{system}}/{{replica}}.log",
        record=f"{RESULTS}/logs/decode/{{testset}}/{{system}}/{{replica}}.json",
    benchmark:
        f"{RESULTS}/benchmarks/decode/{{testset}}/{{system}}/{{replica}}.tsv"
    wildcard_constraints:
        system=systems_with("decode"),
    conda:
        "../../envs/programs.yaml"
    threads: system_resource("threads", 1)
    resources:
        gpu=system_resource("gpu", 0),
        mem_mb=system_resource("mem_mb", 1000, growing=True),
        runtime=system_resource("runtime", 20, growing=True),
    params:
        how=job_words("decode"),
        parts=part_words("decode", tuned="weights"),
        allow=missing_allowed("--allow-failure"),
        paired=PAIRED,
        seed=EXPERIMENT.seed,
        backend=backend_version,
        stage_version=DECODE_VERSION,
    message:
        "decode {wildcards.testset} with {wildcards.system} {wildcards.replica}"
    shell:
        "replitune decode {params.how} {params.parts}"
        " --testset {input.testset:q} --name {wildcards.testset:q}"
        " --replica {wildcards.replica} {params.paired} {params.allow} --seed {params.seed}"
        " --out {output:q} --threads {threads} --log {log.text:q} --record {log.record:q}"


# Outputs that are on disk already: one job per (system, test set) takes over all its files.
for number, (system, testset) in enumerate(GIVEN_OUTPUTS, 1):

    rule:
        name:
            f"collect_{number}"
        input:
            testset=f"{RESULTS}/corpus/{testset}.jsonl",
            files=given_files(system, testset),
        output:
            [
                f"{RESULTS}/decodes/{testset}/{system}/{replica.id}.txt"
                for replica in EXPERIMENT.outputs[system][testset]
            ],
        log:
            text=f"{RESULTS}/logs/decode/{testset}/{system}.log",
            record=f"{RESULTS}/logs/decode/{testset}/{system}.json",
        benchmark:
            f"{RESULTS}/benchmarks/decode/{testset}/{system}.tsv"
        conda:
            "../../envs/programs.yaml"
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: 1000 * attempt,
            runtime=lambda wildcards, attempt: 20 * attempt,
        params:
            folder=f"{RESULTS}/decodes/{testset}/{system}",
            system=system,
            testset=testset,
            settings=given_settings(system, testset),
            backend=EXPERIMENT.stage_version(system),
            kind=EXPERIMENT.backends[system].name,
            base=EXPERIMENT.corpora,
            stage_version=DECODE_VERSION,
        message:
            "take over the outputs of {params.system} on {params.testset}"
        shell:
            "replitune decode --backend {params.kind:q} --system {params.system:q}"
            " --settings {params.settings:q} --base {params.base:q} --testset {input.testset:q} --name {params.testset:q}"
            " --out {params.folder:q}"
            " --threads {threads} --log {log.text:q} --record {log.record:q}"
