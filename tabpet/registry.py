"""Every graph estimator, control, model and learner by its key: tabpet's own, and those that other
packages offer as entry points (`tabpet.graphs`, `tabpet.models`, `tabpet.learners`)."""

import difflib
import functools
import importlib
import logging
import pkgutil
import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points, version
from typing import Generic, TypeVar

from tabpet.entries import Control, Entry, Estimator, Learner, Model
from tabpet.errors import TabpetError

logger = logging.getLogger(__name__)
SomeEntry = TypeVar("SomeEntry", bound=Entry)
TUNED, DEFAULT = "tuned", "default"  # in the place of an encoding, for learners without tokens
_KEY = re.compile(r"[a-z][a-z0-9_]*")


class Kind(Generic[SomeEntry]):
    """All entries of one kind. What a package offers in vain is an error when it is named."""

    def __init__(self, word: str, entry: type[SomeEntry], package: str, attribute: str) -> None:
        self.word, self._type = word, entry
        # Modules, or packages where modules of the stage lie beside them, with this attribute.
        self._package, self._attribute = package, attribute
        self._problems: dict[str, str] = {}

    @functools.cached_property
    def own(self) -> dict[str, SomeEntry]:
        """Those of tabpet itself, in the order of tables and figures."""
        package = importlib.import_module(self._package)
        names = [
            module.name
            for module in pkgutil.iter_modules(package.__path__, f"{self._package}.")
            if module.ispkg or (self._type is Estimator and "._" not in module.name)
        ]
        return _ordered(getattr(importlib.import_module(name), self._attribute) for name in names)

    @functools.cached_property
    def entries(self) -> dict[str, SomeEntry]:
        """Those of tabpet, then those of other packages, in the order of tables and figures."""
        others: dict[str, SomeEntry] = {}
        for point in entry_points(group=f"tabpet.{self.word}s"):
            try:
                if point.name in others or any(point.name in kind.own for kind in self._beside()):
                    raise ValueError("tabpet or another package has one of this name")
                others[point.name] = self._load(point)
            except Exception as error:  # a package that nobody names must not end a run
                logger.debug("%s", point, exc_info=True)
                package = f"{point.dist.name} {point.dist.version}" if point.dist else "another one"
                self._problems[point.name] = (
                    f"{self.word} {point.name!r} comes from the package {package} "
                    f"({point.value}) and can't be used: {type(error).__name__}: {error}. "
                    "Mend that package or uninstall it"
                )
        return {**self.own, **_ordered(others.values())}

    def find(self, key: str) -> SomeEntry:
        """The entry of a key; an unknown one is an error with those that are near."""
        entries = self.entries
        if key in self._problems:
            raise TabpetError(f"{self._problems[key]}.")
        if key not in entries:
            raise TabpetError(f"{unknown(self.word, key, entries)}.")
        return entries[key]

    def _beside(self) -> tuple["Kind", ...]:
        """The kinds whose names must differ: models and learners stand in one column of results."""
        return (GRAPHS,) if self._type is Estimator else (MODELS, LEARNERS)

    def _load(self, point: EntryPoint) -> SomeEntry:
        entry = point.load()
        if not isinstance(entry, self._type):
            raise TypeError(f"{self._type.__name__} expected, not {type(entry).__name__}")
        if entry.key != point.name:
            raise ValueError(f"its key is {entry.key!r}")
        if not _KEY.fullmatch(entry.key) or entry.key in (TUNED, DEFAULT):
            raise ValueError("a name is small letters, digits and `_`, and not tuned or default")
        for package in entry.needs:
            version(package)  # one that is not installed is an error
        if isinstance(entry, Estimator | Model):
            entry.settings()  # and so are settings without a default
        if isinstance(entry, Model) and "width" not in entry.settings.model_fields:
            raise ValueError("its settings have no `width`, that of a token")
        return entry


GRAPHS = Kind("graph", Estimator, "tabpet.graphs.methods", "ESTIMATOR")
MODELS = Kind("model", Model, "tabpet.models", "MODEL")
LEARNERS = Kind("learner", Learner, "tabpet.trees", "LEARNER")

CONTROLS = {
    control.key: control
    for control in (
        Control(
            key="random",
            label="random",
            citation='Tab-PET, "Random PE" of its effective-rank study',
            draw="tabpet.encodings.controls:draw_random",
            note="Gaussian with each column's mean and variance",
        ),
        Control(
            key="shuffled",
            label="shuffled",
            citation="this project: rows go to other features",
            draw="tabpet.encodings.controls:draw_shuffled",
            note="rows permuted between features",
        ),
        Control(
            key="learnable",
            label="learnable",
            citation="Tab-PET, comparison with learnable encodings",
            draw="tabpet.encodings.controls:draw_zeros",
            note="zeros here, drawn and trained with the model",
            trained=True,
        ),
    )
}


def tuned_learners() -> list[str]:
    """Learners with a search space."""
    return [key for key, learner in LEARNERS.entries.items() if learner.space]


def untuned_learners() -> list[str]:
    """Learners without one, which are plain references alone."""
    return [key for key, learner in LEARNERS.entries.items() if not learner.space]


def unknown(word: str, key: str, known: Iterable[str]) -> str:
    """What to say of a name that nobody has, with the nearest one."""
    known = list(known)
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"there is no {word} {key!r}; {hint}known are: {', '.join(known)}"


def _ordered(entries: Iterable[SomeEntry]) -> dict[str, SomeEntry]:
    ordered = sorted(entries, key=lambda entry: (entry.order, entry.key))
    return {entry.key: entry for entry in ordered}
