# answers/<testset>/<system>/<replica>.jsonl: the answers of a server, from which `decode` makes
# translations; one job for all test sets, which leaves unchanged files as they are.


rule ask:
    input:
        unpack(job_inputs("ask")),
    output:
        update(
            [AT.answers(name, "{system}", "{replica}") for name in EXPERIMENT.testsets]
        ),
    log:
        **logs("ask", "{system}", "{replica}"),
    wildcard_constraints:
        system=systems_with("ask"),
    conda:
        PROGRAMS
    threads: threads_of_system
    resources:
        **amounts("ask", runtime=240 * len(EXPERIMENT.testsets)),
    params:
        job=job_settings("ask"),
    message:
        "ask {wildcards.system} {wildcards.replica}"
    shell:
        command("ask")
