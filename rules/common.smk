# Settings, catalog and targets: everything that more than one rule file needs.
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT))
from snakemake.exceptions import WorkflowError

from tabpet.analysis.captions import FIGURES, figure_files
from tabpet.analysis.names import TABLES, table_files
from tabpet.catalog import read_catalogs, select_datasets
from tabpet.config import INSTANT_GRAPHS, load_settings
from tabpet.errors import TabpetError
from tabpet.workflow import calm_scheduler, export_environment


def find_catalog(path):
    """A sheet in the working directory, else beside the Snakefile."""
    return path if path.exists() else ROOT / path


try:
    settings = load_settings(config)
    catalog = read_catalogs(map(find_catalog, settings.catalogs))
    datasets = select_datasets(catalog, settings.datasets, settings.exclude)
except TabpetError as error:
    raise WorkflowError(str(error)) from None

export_environment(ROOT, settings)


wildcard_constraints:
    dataset="[A-Za-z0-9][A-Za-z0-9_.-]*",
    split=r"\d+",
    graph="[a-z_]+",
    model="ft_transformer|saint|tab_transformer",
    encoding="[a-z_]+(-[a-z]+)?",
    learner="xgboost|catboost",
    reference="xgboost|catboost|linear",
    seed=r"\d+",


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


def encoding_graph(wildcards):
    """The graph behind an encoding: that of its name, less a control's suffix."""
    return wildcards.encoding.partition("-")[0]


def run_files(dataset):
    """Every run of one dataset: a file per split, learner, encoding and seed."""
    cells = [
        (model, encoding)
        for model in settings.models
        for encoding in settings.encodings_of(model)
    ]
    cells += [(learner, "tuned") for learner in settings.learners]
    cells += [(reference, "default") for reference in settings.references]
    return [
        f"results/runs/{dataset}/split{split}/{model}/{encoding}/seed{seed}.parquet"
        for split in settings.splits
        for model, encoding in cells
        for seed in settings.seeds
    ]


def training_memory(wildcards, attempt):
    """Memory in MB: tokens of all alphas, and SAINT's row block, whose weights grow as d squared."""
    features = catalog[wildcards.dataset].n_features or 100
    tokens = 3000 + 20 * features
    row_block = (
        int((32 * (features + 1)) ** 2 * 12 * 20 / 1e6)
        if wildcards.model == "saint"
        else 0
    )
    return (tokens + row_block) * 2 ** (attempt - 1)


def training_runtime(wildcards, attempt):
    """Minutes: the time limit if there is one, else up to a day by rows; doubles when tried again."""
    rows = catalog[wildcards.dataset].n_rows or 10_000
    minutes = 60 + min(rows, 50_000) / 50_000 * 1380
    if settings.training.max_seconds:
        minutes = settings.training.max_seconds / 60 + 30
    return int(minutes) * 2 ** (attempt - 1)


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
