# corpus/: the prepared text that is really used, with the sha256 of each input.


rule corpus_train:
    input:
        unpack(job_inputs("corpus", part="train")),
    output:
        source=AT.train[0],
        target=AT.train[1],
        account=AT.account("train"),
    log:
        **logs("corpus", "train"),
    localrule: STAYS_HERE
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("corpus", runtime=30, part="train"),
    params:
        job=job_settings("corpus", part="train"),
    message:
        "prepare the training pairs"
    shell:
        command("corpus")


rule corpus_testset:
    input:
        lambda wildcards: job_inputs("corpus", part=wildcards.testset)(wildcards)[
            "files"
        ],
    output:
        testset=AT.testset("{testset}"),
        account=AT.account("{testset}"),
    log:
        **logs("corpus", "{testset}"),
    localrule: STAYS_HERE
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("corpus", runtime=30, part="{testset}"),
    params:
        job=lambda wildcards: job_settings("corpus", part=wildcards.testset)(wildcards),
    message:
        "prepare test set {wildcards.testset}"
    shell:
        command("corpus")


rule corpus_inputs:
    input:
        unpack(job_inputs("account")),
    output:
        AT.inputs,
    log:
        **logs("corpus", "inputs"),
    localrule: STAYS_HERE
    conda:
        PROGRAMS
    threads: 1
    resources:
        **amounts("account", runtime=30),
    params:
        job=job_settings("account"),
    message:
        "account of all texts"
    shell:
        command("account")


rule kernels:
    output:
        [] if is_compiled() else AT.kernels,
    log:
        **logs("kernels", "kernels"),
    # first of all, because all other long jobs wait for it
    priority: 100
    conda:
        PROGRAMS
    threads: 2
    resources:
        **amounts("kernels", runtime=20),
    params:
        # takes `output`, so that a change of the settings does not compile again where results are in a
        # storage: jobs compile what they lack
        job=lambda wildcards, output: job_settings("kernels")(wildcards),
    message:
        "compile kernels (once on a new machine: about 70 CPU seconds)"
    shell:
        command("kernels")
