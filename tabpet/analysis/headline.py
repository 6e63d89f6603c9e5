"""The result of a run in a few sentences: does it help, by how much, how sure, compared to what?

The numbers of these sentences; `templates/headline.txt` has the words, and what they say was
decided by `tabpet.stats.verdict`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from tabpet.analysis.coverage import job_outcomes
from tabpet.analysis.results import NULL_CONTROLS, TRANSFORMERS, TREES, Results, present
from tabpet.analysis.sentences import write_sentences
from tabpet.names import EncodingName, Method, encoding_label, model_label
from tabpet.stats import (
    Comparison,
    Evidence,
    ModelDecision,
    compare,
    fewest_datasets,
    higher_wins,
    improvement,
    judge,
    wilcoxon,
    win_rate,
)


@dataclass(frozen=True)
class Headline:
    """One sentence that answers, and a few, each with a label before a colon, that say why."""

    verdict: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Rival:
    """Another encoding beside the main one, on the datasets and splits that have both."""

    kind: str
    median: float  # improvement by the other encoding itself
    oracle_median: float
    lead: pd.Series  # of the main encoding over the other, by dataset

    @property
    def datasets(self) -> int:
        """How many datasets have both."""
        return len(self.lead)


@dataclass(frozen=True)
class Effect:
    """What the main encoding does to one model: the numbers, and what was decided from them."""

    improvements: pd.Series  # percent, by dataset
    oracle_median: float
    comparison: Comparison
    controls: tuple[Rival, ...]  # null controls that were planned
    graphs: tuple[Rival, ...]  # other graphs that were planned
    decision: ModelDecision

    @property
    def label(self) -> str:
        """What people call the model."""
        return model_label(self.decision.model)

    @property
    def datasets(self) -> int:
        """How many datasets have a number."""
        return self.comparison.summary.datasets

    @property
    def median(self) -> float:
        """The median improvement."""
        return self.comparison.summary.median


@dataclass(frozen=True)
class Duel:
    """How often the main encoding is ahead of something else."""

    label: str
    wins: int
    datasets: int
    p: float | None  # where a test can say something
    median: float = np.nan


def headline(results: Results) -> Headline:
    """Verdict and reasons, from the numbers of a run alone."""
    effects = main_effects(results)
    jobs = job_outcomes(results.scores)["outcome"].value_counts()
    verdict, *lines = write_sentences(
        "headline",
        encoding=encoding_label(results.settings.main_encoding),
        effects=effects,
        confidence=f"{100 * (1 - results.settings.level):g} %",
        **_leads(effects),
        learned=_learned_duel(results),
        trees=_tree_duels(results, effects),
        tree_names=[model_label(tree) for tree in present(TREES, results.methods["method"])],
        jobs={"ok": 0, **jobs} if len(jobs) else {},
        n_jobs=jobs.sum(),
    )
    return Headline(verdict, tuple(lines))


def main_effects(results: Results) -> list[Effect]:
    """The effect of the main encoding on every transformer that has one, in the paper's order."""
    settings = results.settings
    averages = results.averages.dropna(subset=["improvement"])
    averages = averages[averages["encoding"] == settings.main_encoding].set_index("dataset")
    models = present(TRANSFORMERS, averages["model"])
    gains = [averages[averages["model"] == model] for model in models]
    controls = [tuple(_controls(results, model)) for model in models]
    evidence = [
        Evidence(model, rows["improvement"], {control.kind: control.lead for control in beside})
        for model, rows, beside in zip(models, gains, controls, strict=True)
    ]
    decisions = judge(evidence, settings.level)
    return [
        Effect(
            improvements=rows["improvement"],
            oracle_median=float(rows["oracle_improvement"].median()),
            comparison=compare(
                rows["improvement"], settings.level, settings.rope, settings.bootstrap
            ),
            controls=beside,
            graphs=tuple(_other_graphs(results, decision.model)),
            decision=decision,
        )
        for decision, rows, beside in zip(decisions, gains, controls, strict=True)
    ]


def _controls(results: Results, model: str) -> Iterator[Rival]:
    """The null controls that a model was planned with, also without a usable result."""
    planned = results.planned_encodings(model)
    for kind in NULL_CONTROLS:
        if (control := results.control_of_main(kind)) in planned:
            yield _rival(results, model, control, kind)


def _other_graphs(results: Results, model: str) -> Iterator[Rival]:
    """The other graphs that a model was planned with, also without a usable result."""
    for encoding in results.planned_encodings(model):
        if encoding != results.settings.main_encoding and not EncodingName.parse(encoding).control:
            yield _rival(results, model, encoding, encoding_label(encoding))


def _rival(results: Results, model: str, encoding: str, kind: str) -> Rival:
    both = results.paired(model, results.settings.main_encoding, encoding)
    return Rival(
        kind=kind,
        median=float(both["improvement_other"].median()),
        oracle_median=float(both["oracle_improvement_other"].median()),
        lead=both["improvement"] - both["improvement_other"],
    )


def _leads(effects: Sequence[Effect]) -> dict[str, Any]:
    """Where the main encoding stands: the largest p if ahead of all its controls, or each p."""
    decided = [(effect, control) for effect in effects for control in effect.decision.controls]
    tested = [(effect, control) for effect, control in decided if control.outcome != "too few"]
    if tested and all(control.outcome == "ahead" for _, control in decided):
        return {"ahead_of_all": max(control.p_ahead for _, control in tested), "leads": {}}
    leads: dict[str, list[tuple[str, str, float]]] = {}
    for effect, control in tested:
        # The corrected p of the direction in which the differences point.
        p = control.p_behind if control.difference.direction < 0 else control.p_ahead
        leads.setdefault(control.outcome, []).append((effect.label, control.name, p))
    return {"ahead_of_all": None, "leads": leads}


def _learned_duel(results: Results) -> Duel | None:
    """Fixed encodings against learned ones of the same width, in the first model that has both."""
    if (duel := results.first_duel("learnable")) is None:
        return None
    model, both = duel
    ours, learned = both["improvement"], both["improvement_other"]
    wins, p = higher_wins(ours, learned).wins, _p_value(ours - learned, results)
    return Duel(model_label(model), wins, len(both), p, float(learned.median()))


def _tree_duels(results: Results, effects: Sequence[Effect]) -> Iterator[Duel]:
    """The first model with encodings against the tuned trees."""
    for effect, tree in product(effects[:1], TREES):
        both = scores_of_both(results, str(Method(effect.decision.model, "pet")), tree)
        if len(both):
            wins = win_rate(both["task"], both["test"], both["test_other"]).wins
            yield Duel(model_label(tree), wins, len(both), _p_value(both["gain"], results))


def _p_value(differences: pd.Series, results: Results) -> float | None:
    """The p-value of paired differences, where a test can say something."""
    test = wilcoxon(differences)
    return test.p if test.used >= fewest_datasets(results.settings.level) else None


def scores_of_both(results: Results, method: str, other: str) -> pd.DataFrame:
    """Scores of two methods on the datasets that have both, and the gain of the first in percent.

    There is no gain over an error of 0.
    """
    scores = results.methods
    both = scores[scores["method"] == method].merge(
        scores[scores["method"] == other], on=["dataset", "task"], suffixes=("", "_other")
    )
    gain = improvement(both["task"], both["test_other"], both["test"])
    return both.assign(gain=gain).set_index("dataset")
