"""Titles, captions and columns of figures and tables; light, because the Snakefile imports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Caption:
    """What a figure or table shows, and how to read it."""

    title: str
    text: str
    # Of a table, by group and heading: a format, and the keys of the data that it gets.
    columns: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)


def _captions(texts: Mapping[str, Any]) -> dict[str, Caption]:
    return {name: Caption(**about) for name, about in texts.items()}


_TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_STUDIES = _TEXTS["studies"].items()
FIGURES, TABLES = _captions(_TEXTS["figures"]), _captions(_TEXTS["tables"])
STUDY_FIGURES = {study: _captions(about["figures"]) for study, about in _STUDIES}
STUDY_TABLES = {study: _captions(about["tables"]) for study, about in _STUDIES}
# Those of a run and of all studies.
ALL_FIGURES, ALL_TABLES = dict(FIGURES), dict(TABLES)
for _study in STUDY_FIGURES:
    ALL_FIGURES |= STUDY_FIGURES[_study]
    ALL_TABLES |= STUDY_TABLES[_study]


def figure_files(folder: str) -> list[str]:
    """Every figure with its numbers, as the workflow writes them."""
    return [f"{folder}/{name}.{kind}" for name in FIGURES for kind in ("svg", "csv")]


def table_files(folder: str) -> list[str]:
    """Every table of the analysis, as the workflow writes them."""
    return [f"{folder}/{name}.{kind}" for name in TABLES for kind in ("csv", "tex")]
