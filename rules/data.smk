# From a catalog row to prepared splits.


rule fetch_dataset:
    input:
        source_file,
    output:
        raw="results/data/{dataset}/raw.parquet",
        card="results/data/{dataset}/card.json",
    log:
        "results/logs/fetch_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/fetch_dataset/{dataset}.tsv"
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        network=lambda wildcards: int(catalog[wildcards.dataset].source == "openml"),
        mem_mb=scaled(2000),
        runtime=scaled_minutes(15),
    params:
        row=lambda wildcards: catalog[wildcards.dataset].fetch_fields(),
    message:
        "fetch {wildcards.dataset}"
    script:
        "../workflow_scripts/fetch_dataset.py"


rule prepare_split:
    input:
        raw="results/data/{dataset}/raw.parquet",
        card="results/data/{dataset}/card.json",
    output:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
    log:
        "results/logs/prepare_split/{dataset}-split{split}.log",
    benchmark:
        "results/benchmarks/prepare_split/{dataset}-split{split}.tsv"
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(2000),
        runtime=scaled_minutes(15),
    params:
        prepare=settings.prepare.model_dump(mode="json"),
    message:
        "prepare {wildcards.dataset}, split {wildcards.split}"
    script:
        "../workflow_scripts/prepare_split.py"


rule tabulate_datasets:
    input:
        cards=expand("results/data/{dataset}/card.json", dataset=datasets),
        splits=split_files("json"),
    output:
        "results/tables/datasets.csv",
    log:
        "results/logs/tabulate_datasets.log",
    benchmark:
        "results/benchmarks/tabulate_datasets.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(1000),
        runtime=scaled_minutes(5),
    message:
        "write the table of datasets"
    script:
        "../workflow_scripts/tabulate_datasets.py"
