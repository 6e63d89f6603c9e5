# Settings, catalog and targets: everything that more than one rule file needs.
import re
import signal
import sys
from functools import cache
from math import prod
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT))
from snakemake.exceptions import WorkflowError

from tabpet.analysis.captions import (
    FIGURES,
    STUDY_FIGURES,
    STUDY_TABLES,
    TABLES,
    figure_files,
    table_files,
)
from tabpet.catalog import read_catalogs, select_datasets
from tabpet.costs import small_tables
from tabpet.errors import TabpetError
from tabpet.files import remove_result
from tabpet.names import EncodingName
from tabpet.places import find_mirror, find_sheets
from tabpet.plan import (
    Cell,
    graph_settings,
    member_alphas,
    planned_cells,
    run_settings,
    shares_job,
)
from tabpet.registry import CONTROLS, GRAPHS, LEARNERS, MODELS, TUNED
from tabpet.resources import (
    table_shape,
    training_megabytes,
    training_minutes,
    tuning_minutes,
)
from tabpet.settings import load_settings
from tabpet.state import recorded_alphas, state_key
from tabpet.studies import STUDIES, generated_tables, study_run
from tabpet.workflow import export_environment, export_run

try:
    settings = load_settings(config)
    config_files = workflow.overwrite_configfiles or [ROOT / "config.yaml"]
    catalog = read_catalogs(find_sheets(settings.catalogs, config_files))
    datasets = select_datasets(catalog, settings.datasets, settings.exclude)
    if any(catalog[name].source == "openml" for name in datasets):
        mirror = find_mirror(settings.fetch, config_files)
        settings = settings.model_copy(update={"fetch": mirror})
    generated = generated_tables(settings)
    if taken := sorted(set(generated) & set(catalog)):
        raise TabpetError(
            f"The catalogs have a dataset {taken[0]!r}, which is the name of a table that a study "
            "generates. Rename it."
        )
    catalog |= generated
except TabpetError as error:
    raise WorkflowError(str(error)) from None

export_environment(ROOT, settings)
if not workflow.is_main_process:
    # A scheduler's warning is for the script: a snakemake that ends by it calls its job failed.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


wildcard_constraints:
    dataset="[A-Za-z0-9][A-Za-z0-9_.-]*",
    split=r"\d+",
    graph="|".join(GRAPHS.entries),
    model="|".join(MODELS.entries),
    encoding=f"({'|'.join(GRAPHS.entries)})(-({'|'.join(CONTROLS)}))?",
    learner="|".join(LEARNERS.entries),
    seed=r"\d+",
    study="|".join(STUDIES),


INSTANT_GRAPHS = [key for key in GRAPHS.entries if shares_job(key)]
SLOW_GRAPH = "|".join(key for key in GRAPHS.entries if key not in INSTANT_GRAPHS)


def table_size(name):
    """Values of a table, by its catalog row."""
    return prod(table_shape(catalog[name]))


ABBREVIATIONS = {name: catalog[name].abbreviation or name for name in datasets}
BY_SIZE = sorted(datasets, key=table_size, reverse=True)


def smallest_first(wildcards):
    """The priority of a table's jobs: a small one is done, and can be looked at, before the next."""
    return BY_SIZE.index(wildcards.dataset) + 1 if wildcards.dataset in BY_SIZE else 0


def source_file(wildcards):
    """The files behind a catalog row, so that what has changed is fetched again."""
    row = catalog[wildcards.dataset]
    # A missing file fails its own job with a clear message, not the whole plan.
    return [
        str(path)
        for path in (row.path, row.graph)
        if path is not None and path.exists()
    ]


def split_files(*extensions):
    """Files of every prepared split of the run."""
    return expand(
        "results/data/{dataset}/split{split}.{extension}",
        dataset=datasets,
        split=settings.splits,
        extension=extensions,
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


def instant_files(stage, extension):
    """A file of every graph that takes a moment, wanted or not."""
    pattern = f"results/{stage}/{{dataset}}/split{{split}}/{{graph}}.{extension}"
    return expand(pattern, graph=INSTANT_GRAPHS, allow_missing=True)


def method_settings(dataset, graph):
    """The settings of one estimator on one dataset."""
    return graph_settings(settings, catalog[dataset], graph)


def encoding_file(extension):
    """A file of the graph's encoding behind an encoding or a control of it."""
    return lambda wildcards: (
        f"results/encodings/{wildcards.dataset}/split{wildcards.split}/"
        f"{EncodingName.parse(wildcards.encoding).graph}.{extension}"
    )


@cache
def settings_of(study):
    """The settings of a study as those of a run, or with None those of the run itself."""
    try:
        return settings if study is None else study_run(settings, study, catalog)
    except TabpetError as error:
        raise WorkflowError(str(error)) from None


def run_files(dataset, study=None):
    """Every run of one dataset: a file per split, learner, encoding and seed."""
    cells = planned_cells(settings_of(study), [dataset], study)
    return [str(cell.run) for cell in cells]


def settings_behind(wildcards):
    """The settings that decide a transformer's run."""
    row, run = catalog[wildcards.dataset], settings_of(wildcards.get("study"))
    return run_settings(run, row, wildcards.model, wildcards.encoding)


def rows_of(names):
    """Catalog rows of some datasets."""
    return [catalog[name] for name in names]


def seed_files(pattern):
    """A file for every seed."""
    return expand(pattern, seed=settings.seeds, allow_missing=True)


def reference_files(pattern):
    """A file for every reference and every seed that runs on a split."""
    files = expand(pattern, reference=settings.references, allow_missing=True)
    paired = settings.seeds_of_splits == "paired"
    return files if paired else [path for file in files for path in seed_files(file)]


def one_of(names):
    """A wildcard constraint for some datasets."""
    return "|".join(map(re.escape, names)) or "(?!)"


def trained_alphas(wildcards):
    """The alphas of a job: those of the config, and what all of its cells have beside them.

    So one that is taken out of the config is no reason to train, neither again nor in a new cell, and
    one that a cell lacks is.
    """
    dataset, model, encoding = wildcards.dataset, wildcards.model, wildcards.encoding
    split, study = int(wildcards.split), wildcards.get("study")
    made_with = settings_behind(wildcards)
    wanted = {*member_alphas(encoding, settings_of(study).alphas)}
    seeds = [wildcards.seed] if "seed" in wildcards.keys() else settings.seeds
    cells = [Cell(dataset, split, model, encoding, int(seed), study) for seed in seeds]
    common = set.intersection(
        *(recorded_alphas(cell.run, made_with) or wanted for cell in cells)
    )
    return sorted(wanted | common)


def remove_stale_runs(jobs):
    """Remove the runs that jobs are to make anew: with other settings, or with an alpha more.

    Not left to the job: of one that dies at its start, Snakemake notes old outputs as new ones. What
    ended well stays in the journals, and is not trained again when the settings come back.
    """
    for job in jobs:
        runs, params = job.output.get("run", []), job.params
        for run in [runs] if isinstance(runs, str) else runs:
            made_with = params.settings
            if job.rule.name == "fit_references":
                made_with = made_with[Cell.parse(run).model]
            alphas = {*params.get("alphas", [None])}
            if not alphas <= recorded_alphas(Path(run), made_with):
                remove_result(Path(run))


def training_memory(wildcards, attempt):
    """Memory in MB, by the model's settings and the table's width."""
    row, run = catalog[wildcards.dataset], settings_of(wildcards.get("study"))
    model, encoding = wildcards.model, wildcards.encoding
    return capped("mem_mb", training_megabytes(run, row, model, encoding, attempt))


def training_runtime(wildcards, attempt):
    """Minutes, by the time limit or the table's rows."""
    row, run = catalog[wildcards.dataset], settings_of(wildcards.get("study"))
    cells = cells_of_job(wildcards)
    return capped("runtime", training_minutes(run, row, cells, attempt))


def tuning_runtime(wildcards, attempt):
    """Minutes of all searches of a job."""
    return capped("runtime", tuning_minutes(settings, cells_of_job(wildcards), attempt))


def cells_of_job(wildcards):
    """How many seeds a job does one after the other."""
    return 1 if "seed" in wildcards.keys() else len(settings.seeds)


def this_attempt(wildcards, attempt):
    """Which try of the job this is: the script of its last one makes a failure a row."""
    return attempt


def collected_settings(names, study=None):
    """What decides which runs are collected, and as what, for some datasets."""
    # Where tables come from, time and memory of a job, and what is made of scores have no say.
    aside = {
        "catalogs",
        "exclude",
        "fetch",
        "graph_seconds",
        "bundle_minutes",
        "limits",
    }
    beside = {"datasets", "analysis", "studies"}
    kept = settings_of(study).model_dump(mode="json", exclude=aside | beside)
    return {**kept, "datasets": names}


def say_how_it_ended():
    """What failed and why, what was cut short, and what to type next."""
    from tabpet.ending import describe_end  # heavy, and needed once

    files = [str(path) for path in workflow.overwrite_configfiles or []]
    if text := describe_end(settings, rows_of(datasets), config=files):
        print(f"\n{text}\n", file=sys.stderr)


def all_targets():
    """What a run makes: the files of every cell first, so that none is missed, then summaries."""
    runs = [path for dataset in datasets for path in run_files(dataset)]
    cells = [*split_files("parquet", "json"), *graph_files("graphs", "parquet")]
    cells += [*graph_files("encodings", "parquet"), *runs]
    summaries = ["results/tables/datasets.csv"]
    summaries += ["results/tables/graphs.csv"] if settings.graphs else []
    if runs:  # else there is nothing to analyse
        summaries += [
            *table_files("results/tables"),
            *figure_files("results/figures"),
            "results/summary/index.html",
        ]
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


def study_graphs(study, graphs):
    """The edges of some graphs of all tables of a study."""
    run = settings_of(study)
    return expand(
        "results/graphs/{dataset}/split{split}/{graph}.parquet",
        dataset=run.datasets,
        split=run.splits,
        graph=graphs,
    )


def study_files(report):
    """Tables and figures of a study's report."""
    folder = f"results/studies/{report}"
    tables, figures = STUDY_TABLES[report], STUDY_FIGURES[report]
    return [
        *expand(f"{folder}/tables/{{name}}.{{kind}}", name=tables, kind=["csv", "tex"]),
        *expand(
            f"{folder}/figures/{{name}}.{{kind}}", name=figures, kind=["svg", "csv"]
        ),
    ]


def scaled(base):
    """Memory in MB that doubles each time a job is tried again, up to the limit."""
    return lambda wildcards, attempt: capped("mem_mb", base * 2 ** (attempt - 1))


def scaled_minutes(base):
    """The same of its time."""
    return lambda wildcards, attempt: capped("runtime", base * 2 ** (attempt - 1))


def capped(resource, value):
    """What a job asks for, and not more than the limit of the site."""
    limit = getattr(settings.limits, resource)
    return value if limit is None else min(value, limit)
