"""Titles and captions of the figures and tables; light, because the Snakefile imports it."""

from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Caption:
    """What a figure shows, and how to read it."""

    title: str
    text: str


_TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
FIGURES = {name: Caption(**texts) for name, texts in _TEXTS["figures"].items()}
TABLE_TEXTS: dict[str, str] = _TEXTS["tables"]
STUDY_FIGURES = {  # by study and name
    study: {name: Caption(**texts) for name, texts in figures.items()}
    for study, figures in _TEXTS["studies"].items()
}
# Of every figure, by its name.
CAPTIONS = {
    name: caption
    for figures in (FIGURES, *STUDY_FIGURES.values())
    for name, caption in figures.items()
}


def figure_files(folder: str) -> list[str]:
    """Every figure with its numbers, as the workflow writes them."""
    return [f"{folder}/{name}.{kind}" for name in FIGURES for kind in ("svg", "csv")]
