# Do positional encodings from feature graphs help tabular transformers?
# Settings: config.yaml (or --configfile); datasets: datasets.csv; map: docs/architecture.md.
from snakemake.utils import min_version

min_version("9.0")

# A --configfile stands alone: it is not mixed with the demo's settings.
if not workflow.overwrite_configfiles:

    configfile: workflow.source_path("config.yaml")


report: "report/workflow.rst"


onstart:
    # On one machine cores are the limit; that of starts per second only costs one of them.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
    export_run(
        workflow.execution_settings.retries,
        local=workflow.local_exec,
        jobs_per_gpu=settings.training.jobs_per_gpu,
    )
    if not workflow.touch:
        remove_stale_runs(workflow.dag.needrun_jobs())


onsuccess:
    say_how_it_ended()


onerror:
    say_how_it_ended()


# Where snakemake runs: downloads, since nodes of a cluster often have no network, and what takes
# seconds.
localrules:
    fetch_dataset,
    tabulate_datasets,
    tabulate_graphs,
    collect_dataset,
    collect_scores,
    tabulate_results,
    plot_results,
    write_page,
    collect_partial,
    tabulate_partial,
    plot_partial,
    write_partial_page,
    collect_study_dataset,
    collect_study_scores,
    collect_ranks,
    recover_edges,
    synthetic_study,
    effective_rank_study,


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/graphs.smk"
include: "rules/encodings.smk"
include: "rules/training.smk"
include: "rules/trees.smk"
include: "rules/analysis.smk"
include: "rules/studies.smk"


rule all:
    default_target: True
    input:
        all_targets(),
    message:
        "everything that the settings ask for is there"
