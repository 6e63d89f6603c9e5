"""One line per prepared split: what the run's tables look like at a glance."""

import pandas as pd

from tabpet.data.card import Card, copies_of, describe_copies
from tabpet.data.prepare import SplitInfo


def tabulate_datasets(cards: list[Card], splits: list[SplitInfo]) -> pd.DataFrame:
    """Shapes, parts and warnings of every split."""
    by_name = {card.dataset: card for card in cards}
    return pd.DataFrame([_line(by_name[info.dataset], info, cards) for info in splits])


def dataset_warnings(datasets: pd.DataFrame | None) -> dict[str, str]:
    """What is odd about each dataset of that table, once for all its splits."""
    if datasets is None or "warnings" not in datasets:
        return {}
    warned = datasets[datasets["warnings"].fillna("") != ""]
    return {
        str(name): "; ".join(dict.fromkeys("; ".join(texts).split("; ")))
        for name, texts in warned.groupby("dataset", sort=False)["warnings"]
    }


def _line(card: Card, split: SplitInfo, cards: list[Card]) -> dict[str, object]:
    kinds = [feature.kind for feature in split.features]
    copies = [f"{warning}: it counts twice" for warning in describe_copies(copies_of(card, cards))]
    return {
        "dataset": card.dataset,
        "split": split.split,
        "task": card.task,
        "rows": card.rows,
        "features": len(kinds),
        "categorical": kinds.count("categorical"),
        "classes": len(card.target.classes) if card.target.classes else None,
        **split.rows,
        "missing_numbers": split.missing_numbers,
        "origin": card.origin,
        "warnings": "; ".join([*card.warnings, *copies, *split.warnings]),
    }
