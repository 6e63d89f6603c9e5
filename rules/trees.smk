# From a prepared split to tuned tree learners and plain references.
TUNED_RUN = "results/runs/{dataset}/split{split}/{learner}/tuned/seed{seed}"
TUNING_LOG = "results/logs/tune_trees/{dataset}-split{split}-{learner}-seed{seed}.log"
TUNED_TOGETHER = small_tables(
    settings, rows_of(datasets), [(learner, TUNED) for learner in settings.learners]
)

# All, so that one more or less in the config is no other param.
KNOWN_REFERENCES = {*LEARNERS.own, *settings.references}


rule tune_trees:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
    output:
        run=update(seed_files(f"{TUNED_RUN}.parquet")),
        trials=update(seed_files(f"{TUNED_RUN}.trials.parquet")),
    log:
        seed_files(TUNING_LOG),
    benchmark:
        "results/benchmarks/tune_trees/{dataset}-split{split}-{learner}.tsv"
    wildcard_constraints:
        dataset=one_of(TUNED_TOGETHER),
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(4000),
        runtime=tuning_runtime,
        gpu=int(settings.trees.device == "cuda"),
        attempt=this_attempt,
    params:
        settings=lambda wildcards: run_settings(
            settings, catalog[wildcards.dataset], wildcards.learner, TUNED
        ),
    message:
        "tune {wildcards.learner} on {wildcards.dataset}, split {wildcards.split}"
    script:
        "../workflow_scripts/tune_trees.py"


# A large table: each seed is a job.
use rule tune_trees as tune_trees_seed with:
    output:
        run=update(f"{TUNED_RUN}.parquet"),
        trials=update(f"{TUNED_RUN}.trials.parquet"),
    log:
        TUNING_LOG,
    benchmark:
        "results/benchmarks/tune_trees/{dataset}-split{split}-{learner}-seed{seed}.tsv"
    wildcard_constraints:
        dataset=one_of(name for name in datasets if name not in TUNED_TOGETHER),
    message:
        "tune {wildcards.learner} on {wildcards.dataset}, split {wildcards.split}, seed {wildcards.seed}"


if settings.references:

    rule fit_references:
        input:
            table="results/data/{dataset}/split{split}.parquet",
            info="results/data/{dataset}/split{split}.json",
        output:
            run=update(
                reference_files(
                    "results/runs/{dataset}/split{split}/{reference}/default/seed{seed}.parquet"
                )
            ),
        log:
            reference_files(
                "results/logs/fit_references/{dataset}-split{split}-{reference}-seed{seed}.log"
            ),
        benchmark:
            "results/benchmarks/fit_references/{dataset}-split{split}"
            + ("-seed{seed}" if settings.seeds_of_splits == "paired" else "")
            + ".tsv"
        priority: smallest_first
        conda:
            "../envs/tabpet.yaml"
        threads: 1
        resources:
            mem_mb=scaled(4000),
            runtime=scaled_minutes(120),
            gpu=int(settings.trees.device == "cuda"),
            attempt=this_attempt,
        params:
            settings={
                name: settings.trees.used_by(name) for name in sorted(KNOWN_REFERENCES)
            },
        message:
            "fit references without tuning on {wildcards.dataset}, split {wildcards.split}"
        script:
            "../workflow_scripts/fit_references.py"
