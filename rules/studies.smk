# The paper's studies: runs of their own, by the rules of every run. Nothing here is made unless one
# of the two targets at the end is asked for.
STUDY_RUN = (
    "results/studies/{study}/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}"
)


use rule train_transformer_seed as train_study with:
    output:
        run=update(f"{STUDY_RUN}.parquet"),
        curves=update(f"{STUDY_RUN}.curves.parquet"),
        predictions=update(f"{STUDY_RUN}.predictions.parquet"),
        ranks=update(f"{STUDY_RUN}.ranks.parquet"),
    log:
        "results/logs/train_study/{dataset}-split{split}-{model}-{encoding}-seed{seed}-{study}.log",
    benchmark:
        "results/benchmarks/train_study/{dataset}-split{split}-{model}-{encoding}-seed{seed}-{study}.tsv"
    wildcard_constraints:
        dataset=one_of(catalog),
    message:
        "study {wildcards.study}: train {wildcards.model} with {wildcards.encoding} encodings on {wildcards.dataset}, split {wildcards.split}, seed {wildcards.seed}"


use rule collect_dataset as collect_study_dataset with:
    output:
        "results/studies/{study}/scores/{dataset}.parquet",
    log:
        "results/logs/collect_study_dataset/{study}-{dataset}.log",
    benchmark:
        "results/benchmarks/collect_study_dataset/{study}-{dataset}.tsv"
    message:
        "study {wildcards.study}: collect the runs of {wildcards.dataset}"


use rule collect_scores as collect_study_scores with:
    input:
        lambda wildcards: expand(
            "results/studies/{{study}}/scores/{dataset}.parquet",
            dataset=settings_of(wildcards.study).datasets,
        ),
    output:
        "results/studies/{study}/scores.parquet",
    log:
        "results/logs/collect_study_scores/{study}.log",
    benchmark:
        "results/benchmarks/collect_study_scores/{study}.tsv"
    message:
        "study {wildcards.study}: collect the scores of all datasets"


rule collect_ranks:
    input:
        lambda wildcards: [
            str(Path(run).with_suffix(".ranks.parquet"))
            for dataset in settings_of(wildcards.study).datasets
            for run in run_files(dataset, wildcards.study)
        ],
    output:
        "results/studies/{study}/ranks.parquet",
    log:
        "results/logs/collect_ranks/{study}.log",
    benchmark:
        "results/benchmarks/collect_ranks/{study}.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(1000),
        runtime=scaled_minutes(10),
    message:
        "study {wildcards.study}: collect the effective ranks"
    script:
        "../workflow_scripts/collect_ranks.py"


rule recover_edges:
    input:
        graphs=lambda wildcards: study_graphs(
            wildcards.study, getattr(settings.studies, wildcards.study).recovery
        ),
        truth=lambda wildcards: study_graphs(wildcards.study, ["true"]),
    output:
        "results/studies/{study}/recovery.parquet",
    log:
        "results/logs/recover_edges/{study}.log",
    benchmark:
        "results/benchmarks/recover_edges/{study}.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(1000),
        runtime=scaled_minutes(10),
    message:
        "study {wildcards.study}: compare the edges of graphs with the true ones"
    script:
        "../workflow_scripts/recover_edges.py"


rule synthetic_study:
    input:
        expand(
            "results/studies/{study}/{table}.parquet",
            study=["groups", "dags"],
            table=["scores", "recovery"],
        ),
    output:
        study_files("synthetic"),
    log:
        "results/logs/synthetic_study.log",
    benchmark:
        "results/benchmarks/synthetic_study.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(2000),
        runtime=scaled_minutes(20),
    params:
        level=settings.analysis.level,
    message:
        "write what the synthetic study found"
    script:
        "../workflow_scripts/synthetic_study.py"


rule effective_rank_study:
    input:
        expand(
            "results/studies/effective_rank/{table}.parquet",
            table=["scores", "ranks"],
        ),
    output:
        study_files("effective_rank"),
    log:
        "results/logs/effective_rank_study.log",
    benchmark:
        "results/benchmarks/effective_rank_study.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(2000),
        runtime=scaled_minutes(20),
    params:
        level=settings.analysis.level,
    message:
        "write what the effective-rank study found"
    script:
        "../workflow_scripts/effective_rank_study.py"
