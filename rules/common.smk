# Settings, catalog and targets: everything that more than one rule file needs.
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT))
from snakemake.exceptions import WorkflowError

from tabpet.catalog import read_catalogs, select_datasets
from tabpet.config import load_settings
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


def all_targets():
    """What a run makes: the files of every cell first, so that none is missed, then summaries."""
    return [*split_files(), "results/tables/datasets.csv"]


def scaled(base, factor=2):
    """A resource that grows each time a job is tried again."""
    return lambda wildcards, attempt: base * factor ** (attempt - 1)
