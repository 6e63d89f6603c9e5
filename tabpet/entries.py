"""What is declared about every graph estimator, control, model and learner, once.

Config choices, wildcards, labels and their order in tables and figures, memory estimates and
docs follow from it. Light: the Snakefile reads all entries, so what takes long to import (torch,
XGBoost) is named as `module:object`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from tabpet.clock import Clock
from tabpet.section import NoSettings, Section

# The settings in `trees` that may decide one fit of a learner.
FIT_SETTINGS = frozenset({"rounds", "patience", "stopping", "od_pval", "balanced", "device"})
# How long it takes: a moment, whatever the table, or so long that it has a time limit.
Cost = Literal["instant", "budgeted"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A method by its key: the name in configs and paths, in small letters, digits and `_`."""

    key: str
    label: str  # in tables and figures
    short: str = ""  # in narrow columns; the label unless it is given
    citation: str
    cost: Cost = "budgeted"
    needs: tuple[str, ...] = ()  # packages that it stands on; a run holds their versions
    order: int = 1000  # in tables and figures, ours before those of others; equal ones go by key

    @property
    def short_label(self) -> str:
        """The label for narrow columns."""
        return self.short or self.label


@dataclass
class Estimate:
    """What a graph estimator returns: weights over the columns it was given, and how it went."""

    adjacency: np.ndarray  # (d, d), [i, j] is the weight of the edge i -> j
    status: str = "ok"  # ok, timeout or error
    reason: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def _slow_seconds(nodes: float, rows: float) -> float:
    """As measured for NOTEARS (docs/performance.md)."""
    return 2 + 35 * (nodes / 60) ** 2.75


@dataclass(frozen=True, kw_only=True)
class Estimator(Entry):
    """A graph estimator. An instant one never sees a time limit."""

    function: Callable[[np.ndarray, Any, Clock], Estimate]  # (n, d) standardised values
    settings: type[Section] = NoSettings  # its defaults are the paper's
    from_catalog: Mapping[str, str] = field(default_factory=dict)  # setting -> column that has it
    directed: bool
    growth: str  # of its time, with n rows and d nodes
    # By nodes and rows, about how long a budgeted one takes: for plans, never for a result.
    seconds: Callable[[float, float], float] = _slow_seconds
    from_card: bool = False  # read from the table's card, and not estimated from its values


@dataclass(frozen=True, kw_only=True)
class Control(Entry):
    """An encoding of a graph's width without its structure."""

    cost: Cost = "instant"
    draw: str  # `module:function`: (features, width) values and a generator -> values
    note: str  # what it does, for the notes of an encoding
    trained: bool = False  # a table of weights: it finds its own scale, so alpha is 1


class Size(NamedTuple):
    """What a model takes in memory, in numbers."""

    parameters: float  # of a member
    activations: float  # that a training step keeps for a row of the batch


def _no_width(settings: Any) -> int:
    return 0


def _small_batch(features: int) -> int:
    return 32


@dataclass(frozen=True, kw_only=True)
class Model(Entry):
    """A transformer. Its settings have a `width`, that of a token with its encoding."""

    settings: type[Section]
    network: str  # `module:class` of a MemberModel (members, layout, settings, positions)
    size: Callable[[Any, int, int], Size]  # (settings, features, categorical features)
    categorical_tokens: bool = False  # tokens of categorical features alone, two at least
    reserved_width: Callable[[Any], int] = _no_width  # columns of a token kept from encodings
    batch_column: str | None = "batch_size"  # of the catalog
    batch_size: Callable[[int], int] = _small_batch  # by features, where the catalog has none


@dataclass(frozen=True)
class Range:
    """Where a parameter is searched: uniformly, on a log scale, or 0 as a choice beside that."""

    low: float
    high: float
    log: bool = False
    integer: bool = False
    or_zero: bool = False


@dataclass(frozen=True, kw_only=True)
class Learner(Entry):
    """A learner without tokens: tuned where it has a search space, and a plain reference."""

    fitter: str  # `module:class` of a Fitter (table, settings, seed, threads)
    space: Mapping[str, Range] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters of a search beside these
    reads: frozenset[str]  # those of `FIT_SETTINGS` that decide one fit

    def __post_init__(self) -> None:
        if unknown := sorted(self.reads - FIT_SETTINGS):
            raise ValueError(f"reads: {unknown}; allowed are {sorted(FIT_SETTINGS)}")
