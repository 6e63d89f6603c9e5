# From runs to conclusions: scores, tables, figures and the page. `partial` makes them of what exists.


rule collect_dataset:
    input:
        lambda wildcards: run_files(wildcards.dataset, wildcards.get("study")),
    output:
        "results/scores/{dataset}.parquet",
    log:
        "results/logs/collect_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/collect_dataset/{dataset}.tsv"
    priority: smallest_first
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(1000),
        runtime=scaled_minutes(10),
    params:
        settings=lambda wildcards: collected_settings(
            [wildcards.dataset], wildcards.get("study")
        ),
        rows=lambda wildcards: [catalog[wildcards.dataset].model_dump(mode="json")],
    message:
        "collect the runs of {wildcards.dataset}"
    script:
        "../workflow_scripts/collect_dataset.py"


rule collect_scores:
    input:
        expand("results/scores/{dataset}.parquet", dataset=datasets),
    output:
        "results/scores.parquet",
    log:
        "results/logs/collect_scores.log",
    benchmark:
        "results/benchmarks/collect_scores.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(1000),
        runtime=scaled_minutes(10),
    message:
        "collect the scores of all datasets"
    script:
        "../workflow_scripts/collect_scores.py"


rule tabulate_results:
    input:
        scores="results/scores.parquet",
        graphs=["results/tables/graphs.csv"] if settings.graphs else [],
        datasets="results/tables/datasets.csv",
    output:
        [
            report(
                f"results/tables/{name}.csv",
                caption=f"../report/tables/{name}.rst",
                category="Tables",
                labels={"table": about.title},
            )
            for name, about in TABLES.items()
        ],
        expand("results/tables/{name}.tex", name=TABLES),
    log:
        "results/logs/tabulate_results.log",
    benchmark:
        "results/benchmarks/tabulate_results.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(2000),
        runtime=scaled_minutes(20),
    params:
        analysis=settings.analysis.model_dump(mode="json"),
        abbreviations=ABBREVIATIONS,
    message:
        "write the tables of results"
    script:
        "../workflow_scripts/tabulate_results.py"


# Nothing here has an input that could be made: a failed or unfinished job must not start again.
rule collect_partial:
    output:
        scores="results/partial/scores.parquet",
        graphs="results/partial/tables/graphs.csv",
        datasets="results/partial/tables/datasets.csv",
    log:
        "results/logs/collect_partial.log",
    benchmark:
        "results/benchmarks/collect_partial.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(1000),
        runtime=scaled_minutes(10),
    params:
        # So that whatever is new, made again or failed in another way is collected.
        state=lambda wildcards: state_key(settings, datasets),
        settings=collected_settings(datasets),
        rows=[catalog[name].model_dump(mode="json") for name in datasets],
    message:
        "collect the runs that exist"
    script:
        "../workflow_scripts/collect_partial.py"


use rule tabulate_results as tabulate_partial with:
    input:
        scores="results/partial/scores.parquet",
        graphs=["results/partial/tables/graphs.csv"],
        datasets="results/partial/tables/datasets.csv",
    output:
        table_files("results/partial/tables"),
    log:
        "results/logs/tabulate_partial.log",
    benchmark:
        "results/benchmarks/tabulate_partial.tsv"
    message:
        "write the tables of the results that exist"


rule plot_results:
    input:
        scores="results/scores.parquet",
        graphs=["results/tables/graphs.csv"] if settings.graphs else [],
        datasets="results/tables/datasets.csv",
    output:
        [
            report(
                f"results/figures/{name}.svg",
                caption=f"../report/figures/{name}.rst",
                category="Figures",
                labels={"figure": about.title},
            )
            for name, about in FIGURES.items()
        ],
        expand("results/figures/{name}.csv", name=FIGURES),
    log:
        "results/logs/plot_results.log",
    benchmark:
        "results/benchmarks/plot_results.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(2000),
        runtime=scaled_minutes(20),
    params:
        analysis=settings.analysis.model_dump(
            mode="json", include={"main_encoding", "level", "bootstrap"}
        ),
        abbreviations=ABBREVIATIONS,
    message:
        "draw the figures of results"
    script:
        "../workflow_scripts/plot_results.py"


rule write_page:
    input:
        scores="results/scores.parquet",
        graphs=["results/tables/graphs.csv"] if settings.graphs else [],
        datasets="results/tables/datasets.csv",
        figures=expand("results/figures/{name}.svg", name=FIGURES),
    output:
        page=report(
            "results/summary/index.html",
            caption="../report/page.rst",
            category="Summary",
            labels={"page": "The result on one page"},
        ),
        headline="results/summary/headline.json",
    log:
        "results/logs/write_page.log",
    benchmark:
        "results/benchmarks/write_page.tsv"
    conda:
        "../envs/tabpet.yaml"
    threads: 1
    resources:
        mem_mb=scaled(2000),
        runtime=scaled_minutes(20),
    params:
        # Shown on the page; how tables were fetched is no part of the experiment.
        settings=settings.model_dump(
            mode="json",
            exclude={"fetch", "catalogs", "studies", "limits", "bundle_minutes"},
        ),
        abbreviations=ABBREVIATIONS,
        # No inputs: a page must not be a reason to train for a study again.
        studies=finished_studies(),
    message:
        "write the page about this run"
    script:
        "../workflow_scripts/write_page.py"


use rule plot_results as plot_partial with:
    input:
        scores="results/partial/scores.parquet",
        graphs=["results/partial/tables/graphs.csv"],
        datasets="results/partial/tables/datasets.csv",
    output:
        expand("results/partial/figures/{name}.svg", name=FIGURES),
        expand("results/partial/figures/{name}.csv", name=FIGURES),
    log:
        "results/logs/plot_partial.log",
    benchmark:
        "results/benchmarks/plot_partial.tsv"
    message:
        "draw the figures of the results that exist"


use rule write_page as write_partial_page with:
    input:
        scores="results/partial/scores.parquet",
        graphs=["results/partial/tables/graphs.csv"],
        datasets="results/partial/tables/datasets.csv",
        figures=expand("results/partial/figures/{name}.svg", name=FIGURES),
    output:
        page="results/partial/summary/index.html",
        headline="results/partial/summary/headline.json",
    log:
        "results/logs/write_partial_page.log",
    benchmark:
        "results/benchmarks/write_partial_page.tsv"
    message:
        "write the page about the results that exist"


rule partial:
    input:
        table_files("results/partial/tables"),
        figure_files("results/partial/figures"),
        "results/partial/summary/index.html",
