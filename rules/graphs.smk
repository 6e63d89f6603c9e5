# From a prepared split to graphs over its features.


# Those that take a moment, with their encodings: all there are, so that one more in the config
# finds its files there and leaves those of the others alone.
rule estimate_instant_graphs:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
    output:
        edges=instant_files("graphs", "parquet"),
        graph_info=instant_files("graphs", "json"),
        table=instant_files("encodings", "parquet"),
        info=instant_files("encodings", "json"),
        figure=instant_files("figures/graphs", "svg"),
    log:
        "results/logs/estimate_instant_graphs/{dataset}-split{split}.log",
    benchmark:
        "results/benchmarks/estimate_instant_graphs/{dataset}-split{split}.tsv"
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(4000),
        runtime=scaled_minutes(20),
        attempt=this_attempt,
    params:
        nodes=settings.nodes.model_dump(mode="json"),
        methods=lambda wildcards: {
            graph: method_settings(wildcards.dataset, graph)
            for graph in INSTANT_GRAPHS
        },
        encoding=settings.encoding.model_dump(mode="json"),
    message:
        "estimate and encode the instant graphs of {wildcards.dataset}, split {wildcards.split}"
    script:
        "../workflow_scripts/estimate_instant_graphs.py"


rule estimate_graph:
    input:
        table="results/data/{dataset}/split{split}.parquet",
        info="results/data/{dataset}/split{split}.json",
        # No input of other graphs, whose results must not depend on it.
        card=lambda wildcards: (
            f"results/data/{wildcards.dataset}/card.json"
            if GRAPHS.find(wildcards.graph).from_card
            else []
        ),
    output:
        edges="results/graphs/{dataset}/split{split}/{graph}.parquet",
        info="results/graphs/{dataset}/split{split}/{graph}.json",
    log:
        "results/logs/estimate_graph/{dataset}-split{split}-{graph}.log",
    benchmark:
        "results/benchmarks/estimate_graph/{dataset}-split{split}-{graph}.tsv"
    wildcard_constraints:
        graph=SLOW_GRAPH,
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(4000),
        runtime=scaled_minutes(int(settings.graph_seconds / 60) + 10),
        attempt=this_attempt,
    params:
        nodes=settings.nodes.model_dump(mode="json"),
        method=lambda wildcards: method_settings(wildcards.dataset, wildcards.graph),
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
        runtime=scaled_minutes(5),
    message:
        "write the table of graphs"
    script:
        "../workflow_scripts/tabulate_graphs.py"
