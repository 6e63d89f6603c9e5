"""What a model has to know of a table: its features in token order, and how many outputs."""

from dataclasses import dataclass

from tabpet.data.prepare import SplitInfo


@dataclass(frozen=True)
class Layout:
    """Numeric features first, then categorical ones, each in the order of the table."""

    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    cardinalities: tuple[int, ...]  # codes per categorical feature, that of unseen levels included
    n_outputs: int  # classes, or 1 for regression

    @classmethod
    def of(cls, info: SplitInfo) -> "Layout":
        """The layout of a prepared split."""
        categorical = [one for one in info.features if one.kind == "categorical"]
        classes = info.target.classes
        return cls(
            numeric=tuple(one.name for one in info.features if one.kind == "numeric"),
            categorical=tuple(one.name for one in categorical),
            cardinalities=tuple(one.unseen + 1 for one in categorical),
            n_outputs=1 if classes is None else len(classes),
        )

    @property
    def features(self) -> tuple[str, ...]:
        """All names in token order."""
        return self.numeric + self.categorical
