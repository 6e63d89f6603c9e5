# From a split and an encoding to trained transformers: all alphas of one seed in one job.
from tabpet.training.names import member_alphas


rule train_transformer:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
        encoding=lambda wildcards: (
            f"results/encodings/{wildcards.dataset}/split{wildcards.split}/{encoding_graph(wildcards)}.parquet"
        ),
        encoding_info=lambda wildcards: (
            f"results/encodings/{wildcards.dataset}/split{wildcards.split}/{encoding_graph(wildcards)}.json"
        ),
    output:
        run="results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}.parquet",
        curves="results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}.curves.parquet",
        predictions=(
            [
                "results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}.predictions.parquet"
            ]
            if settings.training.keep_predictions
            else []
        ),
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
    params:
        model=lambda wildcards: getattr(
            settings.model_settings, wildcards.model
        ).model_dump(mode="json"),
        training=settings.training.experiment_fields(),
        alphas=lambda wildcards: list(
            member_alphas(wildcards.encoding, settings.alphas)
        ),
        batch_size=lambda wildcards: catalog[wildcards.dataset].batch_size_of(
            wildcards.model
        ),
    message:
        "train {wildcards.model} with {wildcards.encoding} encodings on {wildcards.dataset}, split {wildcards.split}, seed {wildcards.seed}"
    script:
        "../workflow_scripts/train_transformer.py"
