"""The result of a run in a few sentences: does it help, by how much, how sure, compared to what?

Sentences alone: what they say was decided by `tabpet.stats.verdict`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tabpet.analysis.coverage import job_outcomes
from tabpet.analysis.formats import count, p_words, percent_words, probability
from tabpet.analysis.names import MODELS, TRANSFORMERS, TREES, encoding_name
from tabpet.analysis.results import Results
from tabpet.names import EncodingName, Method
from tabpet.stats import (
    Answer,
    Comparison,
    ControlDecision,
    Evidence,
    ModelDecision,
    Outcome,
    compare,
    fewest_datasets,
    higher_wins,
    improvement,
    judge,
    wilcoxon,
    win_rate,
)

NULL_KINDS = ("random", "shuffled")
_WORDS: dict[Answer, str] = {
    "better than controls": "{encoding} encodings help {models}, and more than encodings without "
    "structure do",
    "better": "{encoding} encodings help {models}, but no encodings without structure were run to "
    "compare with",
    "controls too few": "{encoding} encodings help {models}, but encodings without structure have "
    "results on too few datasets to compare with",
    "no better than controls": "{encoding} encodings help {models}, but not clearly more than "
    "encodings without structure do",
    "behind controls": "{encoding} encodings help {models}, but less than encodings without "
    "structure do",
    "unclear": "{encoding} encodings have no clear effect on {models}",
    "worse": "{encoding} encodings make {models} worse",
    "too few": "{encoding} encodings have results on too few datasets to tell for {models}",
}
_STANDING: dict[Outcome, str] = {
    "ahead": "ahead of",
    "behind": "behind",
    "unclear": "not clearly ahead of",
}
_OUTCOMES = {
    "skipped": "skipped, because the model cannot be used there",
    "no graph": "skipped, because there is no graph to encode",
    "timeout": "cut by a time limit",
    "oom": "out of memory",
    "error": "failed",
    "outdated": "left out, because they were made with other settings",
    "missing": "without a result file",
}


@dataclass(frozen=True)
class Headline:
    """One sentence that answers, and a few, each with a label before a colon, that say why."""

    verdict: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Control:
    """A null control beside the main encoding, on the datasets and splits that have both."""

    kind: str
    median: float  # improvement by the control itself
    oracle_median: float
    lead: pd.Series  # of the main encoding over the control, by dataset

    @property
    def datasets(self) -> int:
        """How many datasets have both."""
        return len(self.lead)


@dataclass(frozen=True)
class Effect:
    """What the main encoding does to one model: the numbers, and what was decided from them."""

    model: str
    improvements: pd.Series  # percent, by dataset
    oracle_median: float
    comparison: Comparison
    controls: tuple[Control, ...]  # that were planned
    decision: ModelDecision

    @property
    def datasets(self) -> int:
        """How many datasets have a number."""
        return self.comparison.summary.datasets

    @property
    def median(self) -> float:
        """The median improvement."""
        return self.comparison.summary.median

    @property
    def differing(self) -> int:
        """How many datasets differ with and without encodings: those that a test can use."""
        return self.comparison.wilcoxon.used


def headline(results: Results) -> Headline:
    """Verdict and reasons, from the numbers of a run alone."""
    effects = main_effects(results)
    encoding = encoding_name(results.settings.main_encoding)
    if not effects:
        verdict = (
            f"No answer yet: no transformer finished both with and without {encoding} encodings."
        )
        return Headline(verdict, tuple(filter(None, [_trees_alone(results), _coverage(results)])))
    lines = [
        *(_effect_line(effect, len(effects)) for effect in effects),
        _control_line(effects, encoding),
        _learnable_line(results, effects, encoding),
        _oracle_line(effects),
        _tree_line(results, effects[0].model),
        _coverage(results),
    ]
    return Headline(_verdict(effects, encoding), tuple(filter(None, lines)))


def main_effects(results: Results) -> list[Effect]:
    """The effect of the main encoding on every transformer that has one, in the paper's order."""
    settings = results.settings
    cells = results.cells.dropna(subset=["improvement"])
    models = [
        model
        for model in TRANSFORMERS
        if ((cells["model"] == model) & (cells["encoding"] == settings.main_encoding)).any()
    ]
    main = {model: _of(cells, model, settings.main_encoding) for model in models}
    controls = {model: tuple(_controls(results, model)) for model in models}
    verdict = judge(
        [
            Evidence(
                model,
                main[model]["improvement"],
                {control.kind: control.lead for control in controls[model]},
            )
            for model in models
        ],
        settings.level,
    )
    return [
        Effect(
            model=decision.model,
            improvements=(gains := main[decision.model]["improvement"]),
            oracle_median=float(main[decision.model]["oracle_improvement"].median()),
            comparison=compare(gains, settings.level, settings.rope, settings.bootstrap),
            controls=controls[decision.model],
            decision=decision,
        )
        for decision in verdict.models
    ]


def _of(cells: pd.DataFrame, model: str, encoding: str) -> pd.DataFrame:
    chosen = cells[(cells["model"] == model) & (cells["encoding"] == encoding)]
    return chosen.set_index("dataset")


def _controls(results: Results, model: str) -> Iterator[Control]:
    """The null controls that a model was planned with, also without a usable result."""
    main, scores = results.settings.main_encoding, results.scores
    planned = set(scores.loc[scores["model"] == model, "encoding"])
    for kind in NULL_KINDS:
        control = str(EncodingName(main, kind))
        if control not in planned:
            continue
        both = results.paired(model, main, control)
        yield Control(
            kind=kind,
            median=float(both["improvement_other"].median()),
            oracle_median=float(both["oracle_improvement_other"].median()),
            lead=both["improvement"] - both["improvement_other"],
        )


def _verdict(effects: Sequence[Effect], encoding: str) -> str:
    if not any(effect.decision.decidable for effect in effects):
        return _too_few(effects, encoding)
    clauses = []
    for answer, words in _WORDS.items():
        models = [
            f"{MODELS[effect.model]} ({percent_words(effect.median)} {_basis(effect)})"
            for effect in effects
            if effect.decision.answer == answer
        ]
        if models:
            clauses.append(words.format(models=listed(models), encoding=encoding))
    return f"{'; '.join(clauses)}."


def _basis(effect: Effect) -> str:
    """On how many datasets, and how many of them a test can use where that is too few."""
    text = f"on {count(effect.datasets, 'dataset')}"
    if effect.decision.decidable or effect.differing == effect.datasets:
        return text
    return f"{text}, of which {f'only {n}' if (n := effect.differing) else 'none'} differ"


def _too_few(effects: Sequence[Effect], encoding: str) -> str:
    """What can be said before there are enough datasets for a test."""
    first = effects[0]
    if max(effect.datasets for effect in effects) == 1:
        dataset, gain = next(iter(first.improvements.items()))
        how = f"{abs(gain):.2f} % {'better' if gain > 0 else 'worse'}" if gain else "the same"
        return (
            f"One dataset cannot tell: on {dataset}, {MODELS[first.model]} did {how} with "
            f"{encoding} encodings."
        )
    gains = listed(
        f"{percent_words(effect.median)} for {MODELS[effect.model]} ({_basis(effect)})"
        for effect in effects
    )
    several = f" with {len(effects)} models" if len(effects) > 1 else ""
    return (
        f"Too few datasets to tell: {encoding} encodings gave a median of {gains}, and no outcome "
        f"on fewer than {first.decision.fewest} that differ can be significant{several}."
    )


def _effect_line(effect: Effect, n_models: int) -> str:
    """By how much, and how sure."""
    found, n = effect.comparison, effect.datasets
    name = MODELS[effect.model]
    if n == 1:
        return f"{name}: {percent_words(found.summary.mean)} on one dataset, so nothing to test."
    better = f"better on {round(found.summary.positive_rate * n / 100)} of {n} datasets"
    middle = f"median {percent_words(effect.median)}, mean {percent_words(found.summary.mean)}"
    if not effect.decision.decidable:
        gains = effect.improvements
        ends = f"{percent_words(gains.min())} to {percent_words(gains.max())}"
        return f"{name}: {middle}, from {ends}; {better}."
    interval, bayes = found.interval, found.bayes
    corrected = f" (corrected over {n_models} models)" if n_models > 1 else ""
    ends = f"{percent_words(interval.low)} to {percent_words(interval.high)}"
    return (
        f"{name}: {middle} ({100 * (1 - interval.level):g} % interval of the mean {ends}); "
        f"{better}. Wilcoxon {p_words(effect.decision.p)}{corrected}; Bayesian "
        f"signed-rank: {probability(bayes.better)} better, {probability(bayes.equal)} equal within "
        f"{bayes.rope:g} %, {probability(bayes.worse)} worse.{_disagreement(effect)}"
    )


def _disagreement(effect: Effect) -> str:
    """Why a significant test is no clear effect."""
    if effect.decision.disagreement:
        return " Test and median do not point in the same direction, so the effect is not clear."
    return ""


def _control_line(effects: Sequence[Effect], encoding: str) -> str:
    """What encodings without structure gain by the same choice of alpha."""
    with_controls = [effect for effect in effects if effect.controls]
    if not any(control.datasets for effect in effects for control in effect.controls):
        which = "those that were run have no usable result" if with_controls else "none were run"
        return (
            f"Null controls: {which}, so a gain from structure cannot be told from a gain by "
            "choosing the best of several alphas, or by extra inputs."
        )
    medians = "; ".join(
        f"{MODELS[effect.model]} {', '.join(map(_control_words, effect.controls))}"
        for effect in with_controls
    )
    text = f"Null controls: with alpha chosen the same way, the medians are {medians}."
    return f"{text} {_lead_over_controls(with_controls, encoding)}".rstrip()


def _control_words(control: Control) -> str:
    if not control.datasets:
        return f"{control.kind} without a usable result"
    return (
        f"{control.kind} {percent_words(control.median)} on {count(control.datasets, 'dataset')} "
        f"(oracle {percent_words(control.oracle_median)})"
    )


def _lead_over_controls(effects: Sequence[Effect], encoding: str) -> str:
    """Where the main encoding is ahead of its controls, dataset by dataset."""
    decided = [
        (effect.model, control) for effect in effects for control in effect.decision.controls
    ]
    tested = [(model, control) for model, control in decided if control.outcome != "too few"]
    if not tested:
        return ""
    if all(control.outcome == "ahead" for _, control in decided):
        largest = p_words(max(control.p_ahead for _, control in tested), "at most")
        return f"On the same datasets, {encoding} is ahead of all of them ({largest})."
    found: dict[str, list[str]] = {}
    for model, control in tested:
        how = _STANDING[control.outcome]
        words = f"{control.name} ones in {MODELS[model]} ({p_words(_shown_p(control))})"
        found.setdefault(how, []).append(words)
    parts = "; ".join(f"{how} {listed(words)}" for how, words in found.items())
    return f"On the same datasets, {encoding} is {parts}."


def _shown_p(control: ControlDecision) -> float:
    """The corrected p of the direction in which the differences point."""
    return control.p_behind if control.difference.direction < 0 else control.p_ahead


def _oracle_line(effects: Sequence[Effect]) -> str:
    """What choosing alpha on the test rows would have claimed."""
    claims = listed(
        f"{percent_words(effect.oracle_median)} for {MODELS[effect.model]} (instead of "
        f"{percent_words(effect.median)})"
        for effect in effects
    )
    return f"Oracle: choosing alpha on the test rows would have claimed a median of {claims}."


def _learnable_line(results: Results, effects: Sequence[Effect], encoding: str) -> str:
    """Fixed encodings against learned ones of the same width, where both were run."""
    main = results.settings.main_encoding
    for effect in effects:
        both = results.paired(effect.model, main, f"{main}-learnable")
        if len(both):
            ours, learned = both["improvement"], both["improvement_other"]
            return (
                f"Learned encodings: median {percent_words(float(learned.median()))} in "
                f"{MODELS[effect.model]} at the same width; {encoding} is ahead on "
                f"{higher_wins(ours, learned).wins} of {count(len(both), 'dataset')}"
                f"{_tested(ours - learned, results.settings.level)}."
            )
    return ""


def _tested(differences: pd.Series, level: float) -> str:
    """The p-value of paired differences in brackets, where a test can say something."""
    test = wilcoxon(differences)
    return f" ({p_words(test.p)})" if test.used >= fewest_datasets(level) else ""


def _tree_line(results: Results, model: str) -> str:
    """The main model with encodings against the tuned trees."""
    parts = []
    for tree in TREES:
        both = scores_of_both(results, str(Method(model, "pet")), tree)
        if len(both):
            wins = sum(
                win_rate(str(task), rows["test"], rows["test_other"]).wins
                for task, rows in both.groupby("task")
            )
            sure = _tested(both["gain"], results.settings.level)
            parts.append(f"{MODELS[tree]} on {wins} of {count(len(both), 'dataset')}{sure}")
    if not parts:
        return "Trees: no tuned ones were run to compare with."
    return f"Trees: {MODELS[model]} with encodings is better than tuned {listed(parts)}."


def scores_of_both(results: Results, method: str, other: str) -> pd.DataFrame:
    """Scores of two methods on the datasets that have both, and the gain of the first in percent.

    There is no gain over an error of 0.
    """
    scores = results.methods
    both = scores[scores["method"] == method].merge(
        scores[scores["method"] == other], on=["dataset", "task"], suffixes=("", "_other")
    )
    gain = [improvement(*row) for row in both[["task", "test_other", "test"]].to_numpy()]
    return both.assign(gain=np.array(gain, dtype=float)).set_index("dataset")


def _trees_alone(results: Results) -> str:
    have = [MODELS[tree] for tree in TREES if tree in set(results.methods["method"])]
    return f"Trees: results exist for {listed(have)}." if have else ""


def _coverage(results: Results) -> str:
    """How much of the run these numbers stand on."""
    counts = job_outcomes(results.scores)["outcome"].value_counts()
    total = int(counts.sum())
    if not total:
        return "Coverage: no run has been collected."
    rest = [f"{counts[name]:,} {words}" for name, words in _OUTCOMES.items() if name in counts]
    text = f"Coverage: {int(counts.get('ok', 0)):,} of {total:,} jobs finished"
    return f"{text}; {', '.join(rest)}." if rest else f"{text}."


def listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last
