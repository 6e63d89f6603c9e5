"""The paper's studies as runs of their own: settings, tables and files. Light: for the Snakefile.

A study trains by the rules of every run, with settings that are derived here, into a folder of its
own. Its tables, graphs and encodings lie with all others.
"""

import re
from collections.abc import Mapping
from itertools import product

from tabpet.catalog import CatalogRow, Option, select_datasets
from tabpet.errors import TabpetError
from tabpet.settings import Settings, load_settings
from tabpet.settings.studies import DagsStudySettings, GroupsStudySettings

STUDIES = ("groups", "dags", "effective_rank")
_STRUCTURE = re.compile(r"-(k|density)(?P<value>[\d.]+)-")  # in the name of a generated table


def generated_tables(settings: Settings) -> dict[str, CatalogRow]:
    """The catalog rows of the tables that studies generate, by name."""
    rows = [*_rows_of(settings.studies.groups), *_rows_of(settings.studies.dags)]
    return {row.name: row for row in rows}


def study_run(settings: Settings, study: str, catalog: Mapping[str, CatalogRow]) -> Settings:
    """The settings of a study as those of a run; what it does not say is as in the run itself."""
    own = getattr(settings.studies, study)
    if isinstance(own, GroupsStudySettings | DagsStudySettings):
        datasets = [row.name for row in _rows_of(own)]
    else:
        datasets = select_datasets(catalog, own.datasets)
    changes = {
        "datasets": datasets,
        "exclude": [],
        "splits": own.splits,
        "seeds": own.seeds,
        "seeds_of_splits": "all",
        "graphs": own.graphs,
        "controls": own.controls,
        "model_encodings": {},
        "models": ["ft_transformer"],
        "alphas": own.alphas,
        "model_settings": {
            **dict(settings.model_settings),
            "ft_transformer": {**dict(settings.model_settings.ft_transformer), **own.model},
        },
        "training": {**dict(settings.training), **own.training},
        "learners": [],
        "references": [],
        "analysis": {**dict(settings.analysis), "main_encoding": own.graphs[0]},
    }
    return load_settings({**dict(settings), **changes}, f"`studies.{study}`")


def structure_of(dataset: str) -> float:
    """The number of groups, or the density, that a generated table was made with."""
    match = _STRUCTURE.search(dataset)
    if match is None:
        raise TabpetError(f"{dataset} is not a table that a study generates.")
    return float(match["value"])


def _rows_of(study: GroupsStudySettings | DagsStudySettings) -> list[CatalogRow]:
    """The tables that a study generates: of every kind, one per seed."""
    if isinstance(study, GroupsStudySettings):
        return [_groups_row(study, k, seed) for k, seed in product(study.groups, study.tables)]
    return [_dag_row(study, *kind) for kind in product(study.densities, study.tables)]


def _groups_row(study: GroupsStudySettings, k: int, seed: int) -> CatalogRow:
    options: dict[str, Option] = {"d": study.d, "k": k, "n": study.n, "seed": seed}
    name = f"groups-d{study.d}-k{k:02d}-n{study.n}-table{seed}"
    if study.target_weights != "per_table":
        options["target_weights"], name = study.target_weights, f"{name}-{study.target_weights}"
    return _row(name, study.d, study.n, options)


def _dag_row(study: DagsStudySettings, density: float, seed: int) -> CatalogRow:
    options: dict[str, Option] = {
        "generator": "dag",
        "d": study.d,
        "n": study.n,
        "density": density,
        "seed": seed,
        "noise": study.noise,
    }
    name = f"dag-d{study.d}-density{density:g}-{study.noise}-n{study.n}-table{seed}"
    return _row(name, study.d, study.n, options)


def _row(name: str, d: int, n: int, options: dict[str, Option]) -> CatalogRow:
    return CatalogRow(
        name=name,
        source="synthetic",
        task="regression",
        target="y",
        options=options,
        n_rows=n,
        n_features=d,
        n_categorical=0,
    )
