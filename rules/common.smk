# Settings, catalog and targets: everything that more than one rule file needs.
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT))
from snakemake.exceptions import WorkflowError

from tabpet.analysis.captions import FIGURES, STUDY_FIGURES, figure_files
from tabpet.analysis.names import STUDY_TABLES, TABLES, table_files
from tabpet.catalog import read_catalogs, select_datasets
from tabpet.errors import TabpetError
from tabpet.names import EncodingName
from tabpet.places import find_mirror, find_sheets
from tabpet.plan import (
    Cell,
    graph_settings,
    member_alphas,
    planned_cells,
    run_settings,
)
from tabpet.registry import CONTROLS, GRAPHS, LEARNERS, MODELS
from tabpet.resources import training_megabytes, training_minutes
from tabpet.settings import load_settings
from tabpet.state import recorded_alphas, state_key
from tabpet.studies import STUDIES, generated_tables, study_run
from tabpet.workflow import export_environment, export_retries

try:
    settings = load_settings(config)
    config_files = workflow.overwrite_configfiles or [ROOT / "config.yaml"]
    catalog = read_catalogs(find_sheets(settings.catalogs, config_files))
    datasets = select_datasets(catalog, settings.datasets, settings.exclude)
    if any(catalog[name].source == "openml" for name in datasets):
        mirror = find_mirror(settings.fetch, config_files)
        settings = settings.model_copy(update={"fetch": mirror})
except TabpetError as error:
    raise WorkflowError(str(error)) from None

export_environment(ROOT, settings)


wildcard_constraints:
    dataset="[A-Za-z0-9][A-Za-z0-9_.-]*",
    split=r"\d+",
    graph="|".join(GRAPHS.entries),
    model="|".join(MODELS.entries),
    encoding=f"({'|'.join(GRAPHS.entries)})(-({'|'.join(CONTROLS)}))?",
    learner="|".join(LEARNERS.entries),
    reference="|".join(LEARNERS.entries),
    seed=r"\d+",


def source_file(wildcards):
    """The files behind a catalog row, so that what has changed is fetched again."""
    row = catalog[wildcards.dataset]
    # A missing file fails its own job with a clear message, not the whole plan.
    return [
        str(path)
        for path in (row.path, row.graph)
        if path is not None and path.exists()
    ]


def split_files():
    """Every prepared split of the run."""
    return expand(
        "results/data/{dataset}/split{split}.{ext}",
        dataset=datasets,
        split=settings.splits,
        ext=["parquet", "json"],
    )


def graph_files(stage, extension):
    """One file of every graph of the run, of stage `graphs` or `encodings`."""
    return expand(
        "results/{stage}/{dataset}/split{split}/{graph}.{extension}",
        stage=stage,
        dataset=datasets,
        split=settings.splits,
        graph=settings.graphs,
        extension=extension,
    )


def method_settings(wildcards):
    """The settings of one estimator on one dataset."""
    return graph_settings(settings, catalog[wildcards.dataset], wildcards.graph)


def encoding_file(extension):
    """A file of the graph's encoding behind an encoding or a control of it."""
    return lambda wildcards: (
        f"results/encodings/{wildcards.dataset}/split{wildcards.split}/"
        f"{EncodingName.parse(wildcards.encoding).graph}.{extension}"
    )


def run_files(dataset):
    """Every run of one dataset: a file per split, learner, encoding and seed."""
    return [str(cell.run) for cell in planned_cells(settings, [dataset])]


def settings_behind(dataset, model, encoding):
    """The settings that decide a run."""
    return run_settings(settings, catalog[dataset], model, encoding)


def trained_alphas(wildcards):
    """The alphas of a cell: those of the config, and what its run file has with these settings.

    So one that is taken out of the config is no reason to train, and one that is added is.
    """
    cell = Cell(
        wildcards.dataset,
        int(wildcards.split),
        wildcards.model,
        wildcards.encoding,
        int(wildcards.seed),
    )
    made_with = settings_behind(cell.dataset, cell.model, cell.encoding)
    wanted = member_alphas(cell.encoding, settings.alphas)
    return sorted({*wanted, *recorded_alphas(cell.run, made_with)})


def training_memory(wildcards, attempt):
    """Memory in MB, by the model's settings and the table's width."""
    return training_megabytes(
        settings,
        catalog[wildcards.dataset],
        wildcards.model,
        wildcards.encoding,
        attempt,
    )


def training_runtime(wildcards, attempt):
    """Minutes, by the time limit or the table's rows."""
    return training_minutes(settings, catalog[wildcards.dataset], attempt)


def this_attempt(wildcards, attempt):
    """Which try of the job this is: the script of its last one makes a failure a row."""
    return attempt


def collected_settings(names, run=settings):
    """What decides which runs are collected, and as what, for some datasets."""
    kept = {
        "splits",
        "prepare",
        "nodes",
        "graphs",
        "graph_methods",
        "encoding",
        "controls",
        "model_encodings",
        "seeds",
        "seeds_of_splits",
        "models",
        "alphas",
        "model_settings",
        "training",
        "learners",
        "references",
        "trees",
    }
    return {**run.model_dump(mode="json", include=kept), "datasets": names}


def say_how_it_ended():
    """What failed and why, what was cut short, and what to type next."""
    from tabpet.ending import describe_end  # heavy, and needed once

    files = [str(path) for path in workflow.overwrite_configfiles or []]
    rows = [catalog[name] for name in datasets]
    if text := describe_end(settings, rows, config=files):
        print(f"\n{text}\n", file=sys.stderr)


def has_runs():
    """Whether anything is trained in this run, so that there is something to analyse."""
    return bool(run_files(datasets[0]))


def all_targets():
    """What a run makes: the files of every cell first, so that none is missed, then summaries."""
    cells = [*split_files(), *graph_files("graphs", "parquet")]
    cells += graph_files("encodings", "parquet")
    cells += [path for dataset in datasets for path in run_files(dataset)]
    summaries = ["results/tables/datasets.csv"]
    summaries += ["results/tables/graphs.csv"] if settings.graphs else []
    summaries += analysis_targets() if has_runs() else []
    return cells + summaries


def finished_studies():
    """The studies that have been run, each with the time of its report."""
    reports = {
        name: Path(f"results/studies/{name}/tables/{name}.csv") for name in STUDY_TABLES
    }
    return {
        name: report.stat().st_mtime
        for name, report in reports.items()
        if report.is_file()
    }


def analysis_targets():
    """Tables, figures and the page that are made from all runs."""
    return [
        *table_files("results/tables"),
        *figure_files("results/figures"),
        "results/summary/index.html",
    ]


def scaled(base, factor=2):
    """A resource that grows each time a job is tried again."""
    return lambda wildcards, attempt: base * factor ** (attempt - 1)
