# Settings, catalog and targets: everything that more than one rule file needs.
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT))
from snakemake.exceptions import WorkflowError

from tabpet.catalog import read_catalogs, select_datasets
from tabpet.config import INSTANT_GRAPHS, load_settings
from tabpet.errors import TabpetError
from tabpet.workflow import export_environment


def find_catalog(path):
    """A sheet in the working directory, else beside the Snakefile."""
    return path if path.exists() else ROOT / path


try:
    settings = load_settings(config)
    catalog = read_catalogs(map(find_catalog, settings.catalogs))
    datasets = select_datasets(catalog, settings.datasets, settings.exclude)
except TabpetError as error:
    raise WorkflowError(str(error)) from None

export_environment(ROOT, settings.fetch)


wildcard_constraints:
    dataset="[A-Za-z0-9][A-Za-z0-9_.-]*",
    split=r"\d+",
    graph="[a-z_]+",


def source_file(wildcards):
    """The file behind a dataset of source `file`, so that a changed file is fetched again."""
    path = catalog[wildcards.dataset].path
    # A missing file fails its own job with a clear message, not the whole plan.
    return [str(path)] if path is not None and path.exists() else []


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
    """The settings of one estimator, with the dataset's own NOTEARS grid where it has one."""
    chosen = settings.graph_methods.model_dump(mode="json").get(wildcards.graph, {})
    lambdas = catalog[wildcards.dataset].notears_lambdas
    if wildcards.graph == "notears" and lambdas:
        chosen["lambdas"] = list(lambdas)
    return chosen


def graph_seconds(wildcards):
    """The time budget of one graph; none for those that do not look at the clock."""
    return None if wildcards.graph in INSTANT_GRAPHS else settings.graph_seconds


def all_targets():
    """What a run makes: the files of every cell first, so that none is missed, then summaries."""
    cells = [*split_files(), *graph_files("graphs", "parquet")]
    cells += graph_files("encodings", "parquet")
    summaries = ["results/tables/datasets.csv"]
    summaries += ["results/tables/graphs.csv"] if settings.graphs else []
    return cells + summaries


def scaled(base, factor=2):
    """A resource that grows each time a job is tried again."""
    return lambda wildcards, attempt: base * factor ** (attempt - 1)
