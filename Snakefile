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
    export_retries(workflow.execution_settings.retries)


onsuccess:
    say_how_it_ended()


onerror:
    say_how_it_ended()


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
