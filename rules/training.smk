# From a split and an encoding to trained transformers: all alphas of one seed in one job.


rule train_transformer:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
        encoding=encoding_file("parquet"),
        encoding_info=encoding_file("json"),
    output:
        run="results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}.parquet",
        curves="results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}.curves.parquet",
        predictions="results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}.predictions.parquet",
    log:
        "results/logs/train_transformer/{dataset}-split{split}-{model}-{encoding}-seed{seed}.log",
    benchmark:
        "results/benchmarks/train_transformer/{dataset}-split{split}-{model}-{encoding}-seed{seed}.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=training_memory,
        runtime=training_runtime,
        attempt=this_attempt,
    params:
        settings=lambda wildcards: settings_behind(
            wildcards.dataset, wildcards.model, wildcards.encoding
        ),
        alphas=trained_alphas,
    message:
        "train {wildcards.model} with {wildcards.encoding} encodings on {wildcards.dataset}, split {wildcards.split}, seed {wildcards.seed}"
    script:
        "../workflow_scripts/train_transformer.py"
