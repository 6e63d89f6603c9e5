# From a graph to positional encodings, and a picture of both.


rule encode_positions:
    input:
        edges="results/graphs/{dataset}/split{split}/{graph}.parquet",
        info="results/graphs/{dataset}/split{split}/{graph}.json",
    output:
        table="results/encodings/{dataset}/split{split}/{graph}.parquet",
        info="results/encodings/{dataset}/split{split}/{graph}.json",
        figure="results/figures/graphs/{dataset}/split{split}/{graph}.svg",
    log:
        "results/logs/encode_positions/{dataset}-split{split}-{graph}.log",
    benchmark:
        "results/benchmarks/encode_positions/{dataset}-split{split}-{graph}.tsv"
    wildcard_constraints:
        graph=SLOW_GRAPH,
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(2000),
        runtime=scaled_minutes(10),
    params:
        encoding=settings.encoding.model_dump(mode="json"),
    message:
        "encode positions of {wildcards.dataset}, split {wildcards.split}, from its {wildcards.graph} graph"
    script:
        "../workflow_scripts/encode_positions.py"
