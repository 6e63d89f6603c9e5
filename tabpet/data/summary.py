"""One line per prepared split: what the run's tables look like at a glance."""

import pandas as pd

from tabpet.data.card import Card
from tabpet.data.prepare import SplitInfo


def tabulate_datasets(cards: list[Card], splits: list[SplitInfo]) -> pd.DataFrame:
    """Shapes, parts and warnings of every split."""
    by_name = {card.dataset: card for card in cards}
    return pd.DataFrame([_line(by_name[split.dataset], split) for split in splits])


def _line(card: Card, split: SplitInfo) -> dict[str, object]:
    kinds = [feature.kind for feature in split.features]
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
        "warnings": "; ".join([*card.warnings, *split.warnings]),
    }
