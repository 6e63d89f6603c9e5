# From a prepared split to a graph over its features.


rule estimate_graph:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
        # No input of other graphs, whose results must not depend on it.
        card=lambda wildcards: (
            f"results/data/{wildcards.dataset}/card.json"
            if wildcards.graph == "true"
            else []
        ),
    output:
        edges="results/graphs/{dataset}/split{split}/{graph}.parquet",
        info="results/graphs/{dataset}/split{split}/{graph}.json",
    log:
        "results/logs/estimate_graph/{dataset}-split{split}-{graph}.log",
    benchmark:
        "results/benchmarks/estimate_graph/{dataset}-split{split}-{graph}.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(4000),
        runtime=scaled(int(settings.graph_seconds / 60) + 10),
        attempt=this_attempt,
    params:
        nodes=settings.nodes.model_dump(mode="json"),
        method=method_settings,
    message:
        "estimate the {wildcards.graph} graph of {wildcards.dataset}, split {wildcards.split}"
    script:
        "../workflow_scripts/estimate_graph.py"


rule tabulate_graphs:
    input:
        graphs=graph_files("graphs", "json"),
        encodings=graph_files("encodings", "json"),
    output:
        "results/tables/graphs.csv",
    log:
        "results/logs/tabulate_graphs.log",
    benchmark:
        "results/benchmarks/tabulate_graphs.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(5),
    message:
        "write the table of graphs"
    script:
        "../workflow_scripts/tabulate_graphs.py"
