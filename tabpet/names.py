"""Names that are made of two: an encoding, and a method of the tables."""

from dataclasses import dataclass
from typing import Literal

from tabpet.errors import TabpetError
from tabpet.registry import CONTROLS, DEFAULT, GRAPHS, LEARNERS, MODELS, tuned_learners, unknown

Variant = Literal["", "pet", "default"]
_SUFFIXES: dict[Variant, str] = {"pet": "+pet", "default": "-default"}


@dataclass(frozen=True)
class EncodingName:
    """`spearman`, the encoding of a graph, or `spearman-random`, a control of it."""

    graph: str
    control: str | None = None

    @classmethod
    def parse(cls, name: str) -> "EncodingName":
        """Take a name apart."""
        graph, dash, control = name.partition("-")
        if not dash:
            return cls(graph)
        if control not in CONTROLS:
            raise TabpetError(f"Encoding {name!r}: {unknown('control', control, CONTROLS)}.")
        return cls(graph, control)

    def __str__(self) -> str:
        return self.graph if self.control is None else f"{self.graph}-{self.control}"

    @property
    def is_trained(self) -> bool:
        """Whether its values are weights of the model."""
        return self.control is not None and CONTROLS[self.control].trained

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        graph = GRAPHS.entries[self.graph].label if self.graph in GRAPHS.entries else self.graph
        return graph if self.control is None else f"{graph}, {CONTROLS[self.control].label}"


@dataclass(frozen=True)
class Method:
    """`saint`, `saint+pet` (with encodings), or `xgboost-default` (not tuned)."""

    model: str
    variant: Variant = ""

    @classmethod
    def parse(cls, name: str) -> "Method":
        """Take a name apart."""
        for variant, suffix in _SUFFIXES.items():
            if name.endswith(suffix):
                return cls(name.removesuffix(suffix), variant)
        return cls(name)

    @classmethod
    def of_learner(cls, learner: str, encoding: str) -> "Method":
        """A learner without tokens, by what stands in the place of an encoding."""
        plain = encoding == DEFAULT and learner in tuned_learners()
        return cls(learner, "default" if plain else "")

    def __str__(self) -> str:
        return self.model + self.suffix

    @property
    def suffix(self) -> str:
        """What the name ends with, after the model."""
        return _SUFFIXES.get(self.variant, "")

    @property
    def is_reference(self) -> bool:
        """Whether it is a plain reference, which is shown and not ranked."""
        learner = LEARNERS.entries.get(self.model)
        return self.variant == "default" or (learner is not None and not learner.space)

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        return self._with_variant(model_label(self.model))

    @property
    def short_label(self) -> str:
        """`ft_transformer+pet` as "FT+PET": for narrow columns."""
        entry = MODELS.entries.get(self.model) or LEARNERS.entries.get(self.model)
        return self._with_variant(entry.short_label if entry else self.model)

    def _with_variant(self, label: str) -> str:
        return label + {"": "", "pet": "+PET", "default": ", default"}[self.variant]


def model_label(key: str) -> str:
    """The label of a transformer or of a learner without tokens."""
    entry = MODELS.entries.get(key) or LEARNERS.entries.get(key)
    return entry.label if entry else key


def encoding_label(name: str) -> str:
    """`spearman-random` as "Spearman, random"."""
    return EncodingName.parse(name).label


def treatment_label(model: str, encoding: str) -> str:
    """`saint` and `spearman` as "SAINT, Spearman"; also for what learners have in its place."""
    return f"{model_label(model)}, {encoding_label(encoding)}"


def method_label(name: str) -> str:
    """`ft_transformer+pet` as "FT-Transformer+PET", `xgboost-default` as "XGBoost, default"."""
    return Method.parse(name).label
