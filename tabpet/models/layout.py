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
        categorical = [feature for feature in info.features if feature.kind == "categorical"]
        classes = info.target.classes
        return cls(
            numeric=tuple(feature.name for feature in info.features if feature.kind == "numeric"),
            categorical=tuple(feature.name for feature in categorical),
            cardinalities=tuple(feature.unseen + 1 for feature in categorical),
            n_outputs=1 if classes is None else len(classes),
        )

    @property
    def features(self) -> tuple[str, ...]:
        """All names in token order."""
        return self.numeric + self.categorical
