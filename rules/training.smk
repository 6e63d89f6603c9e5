# From a split and an encoding to trained transformers: all alphas of the seeds in one job.
RUN = "results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}"
TRAINING_LOG = "results/logs/train_transformer/{dataset}-split{split}-{model}-{encoding}-seed{seed}.log"
TRAINED_TOGETHER = small_tables(settings, rows_of(datasets), settings.treatments)


rule train_transformer:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
        encoding=encoding_file("parquet"),
        encoding_info=encoding_file("json"),
    output:
        # What is finished is left to the job, which does the rest.
        run=update(seed_files(f"{RUN}.parquet")),
        curves=update(seed_files(f"{RUN}.curves.parquet")),
        predictions=update(seed_files(f"{RUN}.predictions.parquet")),
    log:
        seed_files(TRAINING_LOG),
    benchmark:
        "results/benchmarks/train_transformer/{dataset}-split{split}-{model}-{encoding}.tsv"
    wildcard_constraints:
        dataset=one_of(TRAINED_TOGETHER),
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        gpu=int(settings.training.device != "cpu"),
        mem_mb=training_memory,
        runtime=training_runtime,
        attempt=this_attempt,
    params:
        settings=settings_behind,
        alphas=trained_alphas,
    message:
        "train {wildcards.model} with {wildcards.encoding} encodings on {wildcards.dataset}, split {wildcards.split}"
    script:
        "../workflow_scripts/train_transformer.py"


# A large table: each seed is a job.
use rule train_transformer as train_transformer_seed with:
    output:
        run=update(f"{RUN}.parquet"),
        curves=update(f"{RUN}.curves.parquet"),
        predictions=update(f"{RUN}.predictions.parquet"),
    log:
        TRAINING_LOG,
    benchmark:
        "results/benchmarks/train_transformer/{dataset}-split{split}-{model}-{encoding}-seed{seed}.tsv"
    wildcard_constraints:
        dataset=one_of(name for name in datasets if name not in TRAINED_TOGETHER),
    message:
        "train {wildcards.model} with {wildcards.encoding} encodings on {wildcards.dataset}, split {wildcards.split}, seed {wildcards.seed}"
