# decodes/<testset>/<system>/<replica>.txt: one line per segment; one job for all test sets, which
# leaves unchanged files as they are.


rule decode:
    input:
        unpack(job_inputs("decode")),
    output:
        update(
            [AT.decode(name, "{system}", "{replica}") for name in EXPERIMENT.testsets]
        ),
    log:
        **logs("decode", "{system}", "{replica}"),
    wildcard_constraints:
        system=systems_with("decode"),
    conda:
        PROGRAMS
    threads: threads_of_system
    resources:
        **amounts("decode", runtime=20 * len(EXPERIMENT.testsets), gpu=0),
    params:
        job=job_settings("decode"),
        allow=failure_option,
    message:
        "decode with {wildcards.system} {wildcards.replica}"
    shell:
        command("decode", "{params.allow}")


# Outputs that are on disk already: one job per (system, test set) takes over all its files.
for number, (system, testset) in enumerate(EXPERIMENT.given_outputs, 1):

    rule:
        name:
            f"collect_{number}"
        input:
            unpack(job_inputs("collect", system=system, testset=testset)),
            files=given_files(system, testset),
        output:
            EXPERIMENT.stage("collect", system=system, testset=testset).outputs[
                "decodes"
            ],
        log:
            **logs("decode", testset, system),
        conda:
            PROGRAMS
        threads: 1
        resources:
            **amounts("collect", runtime=20, system=system, testset=testset),
        params:
            job=job_settings("collect", system=system, testset=testset),
        message:
            f"take over the outputs of {system} on {testset}"
        shell:
            command("collect")
