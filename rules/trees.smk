# From a prepared split to tuned tree learners and plain references.


rule tune_trees:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
    output:
        run="results/runs/{dataset}/split{split}/{learner}/tuned/seed{seed}.parquet",
        trials="results/runs/{dataset}/split{split}/{learner}/tuned/seed{seed}.trials.parquet",
    log:
        "results/logs/tune_trees/{dataset}-split{split}-{learner}-seed{seed}.log",
    benchmark:
        "results/benchmarks/tune_trees/{dataset}-split{split}-{learner}-seed{seed}.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(4000),
        runtime=scaled(int((settings.trees.max_seconds or 43200) / 60) + 15),
        gpu=int(settings.trees.device == "cuda"),
        attempt=this_attempt,
    params:
        settings=lambda wildcards: settings_behind(
            wildcards.dataset, wildcards.learner, "tuned"
        ),
    message:
        "tune {wildcards.learner} on {wildcards.dataset}, split {wildcards.split}, seed {wildcards.seed}"
    script:
        "../workflow_scripts/tune_trees.py"


rule fit_reference:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
    output:
        "results/runs/{dataset}/split{split}/{reference}/default/seed{seed}.parquet",
    log:
        "results/logs/fit_reference/{dataset}-split{split}-{reference}-seed{seed}.log",
    benchmark:
        "results/benchmarks/fit_reference/{dataset}-split{split}-{reference}-seed{seed}.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(4000),
        runtime=scaled(60),
        gpu=int(settings.trees.device == "cuda"),
        attempt=this_attempt,
    params:
        settings=lambda wildcards: settings_behind(
            wildcards.dataset, wildcards.reference, "default"
        ),
    message:
        "fit {wildcards.reference} without tuning on {wildcards.dataset}, split {wildcards.split}, seed {wildcards.seed}"
    script:
        "../workflow_scripts/fit_reference.py"
