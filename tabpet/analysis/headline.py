"""The result of a run in a few sentences: does it help, by how much, how sure, compared to what?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from tabpet.analysis.coverage import job_outcomes
from tabpet.analysis.names import MODELS, PET, TRANSFORMERS, TREES, encoding_name
from tabpet.analysis.results import Results
from tabpet.stats import Comparison, Wilcoxon, compare, holm, improvement, wilcoxon

NULL_KINDS = ("random", "shuffled")
Answer = Literal["better than controls", "better", "no better than controls", "unclear", "worse"]
_WORDS: dict[Answer, str] = {
    "better than controls": "{encoding} encodings help {models}, and more than encodings without "
    "structure do",
    "better": "{encoding} encodings help {models}, but no encodings without structure were run to "
    "compare with",
    "no better than controls": "{encoding} encodings help {models}, but not clearly more than "
    "encodings without structure do",
    "unclear": "{encoding} encodings have no clear effect on {models}",
    "worse": "{encoding} encodings make {models} worse",
}
_OUTCOMES = {
    "skipped": "skipped, because the model cannot be used there",
    "timeout": "cut by a time limit",
    "oom": "out of memory",
    "error": "failed",
    "missing": "without a result file",
}


@dataclass(frozen=True)
class Headline:
    """One sentence that answers, and a few, each with a label before a colon, that say why."""

    verdict: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Control:
    """A null control beside the main encoding, on the datasets that have both."""

    kind: str
    median: float  # improvement by the control itself
    oracle_median: float
    ahead: Wilcoxon  # of the main encoding over the control
    p: float  # corrected

    def beaten(self, level: float) -> bool:
        """Whether the main encoding is clearly ahead."""
        return self.p < level and self.ahead.effect_size > 0


@dataclass(frozen=True)
class Effect:
    """What the main encoding does to one model."""

    model: str
    improvements: pd.Series  # percent, by dataset
    oracle_median: float
    comparison: Comparison
    p: float  # corrected
    controls: tuple[Control, ...]
    level: float

    @property
    def datasets(self) -> int:
        """How many datasets have a number."""
        return self.comparison.summary.datasets

    @property
    def decidable(self) -> bool:
        """Whether any outcome on so many datasets could be significant."""
        return self.comparison.wilcoxon.used >= fewest_datasets(self.level)

    @cached_property
    def answer(self) -> Answer:
        """What can be said of this model."""
        if not self.p < self.level:
            return "unclear"
        if self.comparison.wilcoxon.effect_size < 0:
            return "worse"
        if not self.controls:
            return "better"
        ahead = all(control.beaten(self.level) for control in self.controls)
        return "better than controls" if ahead else "no better than controls"


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
    comparisons = {
        model: compare(
            main[model]["improvement"], settings.level, settings.rope, settings.bootstrap
        )
        for model in models
    }
    corrected = holm(np.array([comparisons[model].wilcoxon.p for model in models]))
    return [
        Effect(
            model=model,
            improvements=main[model]["improvement"],
            oracle_median=float(main[model]["oracle_improvement"].median()),
            comparison=comparisons[model],
            p=float(p),
            controls=_controls(cells, model, settings.main_encoding),
            level=settings.level,
        )
        for model, p in zip(models, corrected, strict=True)
    ]


def fewest_datasets(level: float) -> int:
    """From how many datasets on a signed-rank test can be significant at all."""
    return int(np.ceil(np.log2(2 / level)))


def _of(cells: pd.DataFrame, model: str, encoding: str) -> pd.DataFrame:
    chosen = cells[(cells["model"] == model) & (cells["encoding"] == encoding)]
    return chosen.set_index("dataset")


def _controls(cells: pd.DataFrame, model: str, encoding: str) -> tuple[Control, ...]:
    """The null controls of a model that share a dataset with its main encoding."""
    main = _of(cells, model, encoding)["improvement"]
    found = []
    for kind in NULL_KINDS:
        null = _of(cells, model, f"{encoding}-{kind}")
        shared = null.index.intersection(main.index, sort=False)
        if len(shared):
            ahead = wilcoxon(main[shared] - null["improvement"][shared])
            found.append((kind, null.loc[shared], ahead))
    corrected = holm(np.array([ahead.p for _, _, ahead in found]))
    return tuple(
        Control(
            kind=kind,
            median=float(null["improvement"].median()),
            oracle_median=float(null["oracle_improvement"].median()),
            ahead=ahead,
            p=float(p),
        )
        for (kind, null, ahead), p in zip(found, corrected, strict=True)
    )


def _verdict(effects: Sequence[Effect], encoding: str) -> str:
    most = max(effect.datasets for effect in effects)
    if not any(effect.decidable for effect in effects):
        return _too_few(effects, encoding, most)
    clauses = []
    for answer, words in _WORDS.items():
        models = [
            f"{MODELS[effect.model]} ({percent(effect.comparison.summary.median)})"
            for effect in effects
            if effect.answer == answer
        ]
        if models:
            clauses.append(words.format(models=listed(models), encoding=encoding))
    return f"{'; '.join(clauses)}."


def _too_few(effects: Sequence[Effect], encoding: str, most: int) -> str:
    """What can be said before there are enough datasets for a test."""
    first = effects[0]
    if most == 1:
        dataset, gain = next(iter(first.improvements.items()))
        how = f"{abs(gain):.2f} % {'better' if gain > 0 else 'worse'}" if gain else "the same"
        return (
            f"One dataset cannot tell: on {dataset}, {MODELS[first.model]} did {how} with "
            f"{encoding} encodings."
        )
    gains = listed(
        f"{percent(effect.comparison.summary.median)} for {MODELS[effect.model]}"
        for effect in effects
    )
    return (
        f"Too few datasets to tell: on {most}, {encoding} encodings gave a median of {gains}, and "
        f"no outcome on fewer than {fewest_datasets(first.level)} can be significant."
    )


def _effect_line(effect: Effect, n_models: int) -> str:
    """By how much, and how sure."""
    found, n = effect.comparison, effect.datasets
    name = MODELS[effect.model]
    if n == 1:
        return f"{name}: {percent(found.summary.mean)} on one dataset, so nothing to test."
    better = f"better on {round(found.summary.positive_rate * n / 100)} of {n} datasets"
    middle = f"median {percent(found.summary.median)}, mean {percent(found.summary.mean)}"
    if not effect.decidable:
        ends = f"{percent(effect.improvements.min())} to {percent(effect.improvements.max())}"
        return f"{name}: {middle}, from {ends}; {better}."
    interval, bayes = found.interval, found.bayes
    corrected = f" (Holm over {n_models} models)" if n_models > 1 else ""
    ends = f"{percent(interval.low)} to {percent(interval.high)}"
    return (
        f"{name}: {middle} ({100 * (1 - interval.level):g} % interval of the mean {ends}); "
        f"{better}. Wilcoxon {p_value(effect.p)}{corrected}; Bayesian "
        f"signed-rank: {share(bayes.better)} better, {share(bayes.equal)} equal within "
        f"{bayes.rope:g} %, {share(bayes.worse)} worse."
    )


def _control_line(effects: Sequence[Effect], encoding: str) -> str:
    """What encodings without structure gain by the same choice of alpha."""
    with_controls = [effect for effect in effects if effect.controls]
    if not with_controls:
        return (
            "Null controls: none were run, so a gain from structure cannot be told from a gain by "
            "choosing the best of several alphas."
        )
    medians = "; ".join(
        f"{MODELS[effect.model]} "
        + ", ".join(f"{control.kind} {percent(control.median)}" for control in effect.controls)
        for effect in with_controls
    )
    text = f"Null controls: with alpha chosen the same way, the medians are {medians}."
    return f"{text} {_lead_over_controls(with_controls, encoding)}".rstrip()


def _lead_over_controls(effects: Sequence[Effect], encoding: str) -> str:
    """Where the main encoding is ahead of its controls, dataset by dataset."""
    tested = [
        (effect, control) for effect in effects if effect.decidable for control in effect.controls
    ]
    if not tested:
        return ""
    open_ones = [
        f"{control.kind} ones in {MODELS[effect.model]} ({p_value(control.p)})"
        for effect, control in tested
        if not control.beaten(effect.level)
    ]
    if not open_ones:
        largest = max(control.p for _, control in tested)
        return f"On the same datasets, {encoding} is ahead of all of them ({at_most(largest)})."
    return f"On the same datasets, {encoding} is not clearly ahead of {listed(open_ones)}."


def _oracle_line(effects: Sequence[Effect]) -> str:
    """What choosing alpha on the test rows would have claimed."""
    claims = listed(
        f"{percent(effect.oracle_median)} for {MODELS[effect.model]} (instead of "
        f"{percent(effect.comparison.summary.median)})"
        for effect in effects
    )
    text = f"Oracle: choosing alpha on the test rows would have claimed a median of {claims}"
    null = [control for effect in effects for control in effect.controls]
    if not null:
        return f"{text}."
    largest = max(null, key=lambda control: control.oracle_median)
    return f"{text}, and up to {percent(largest.oracle_median)} for {largest.kind} encodings."


def _learnable_line(results: Results, effects: Sequence[Effect], encoding: str) -> str:
    """Fixed encodings against learned ones of the same width, where both were run."""
    for effect in effects:
        name = f"{results.settings.main_encoding}-learnable"
        learned = _of(results.cells, effect.model, name)["improvement"].dropna()
        shared = learned.index.intersection(effect.improvements.index, sort=False)
        if len(shared):
            lead = effect.improvements[shared] - learned[shared]
            median = percent(float(learned[shared].median()))
            return (
                f"Learned encodings: median {median} in {MODELS[effect.model]} at the same width; "
                f"{encoding} is ahead on {(lead > 0).sum()} of "
                f"{len(shared)} datasets{_tested(lead, effect.level)}."
            )
    return ""


def _tested(differences: pd.Series, level: float) -> str:
    """The p-value of paired differences in brackets, where a test can say something."""
    test = wilcoxon(differences)
    return f" ({p_value(test.p)})" if test.used >= fewest_datasets(level) else ""


def _tree_line(results: Results, model: str) -> str:
    """The main model with encodings against the tuned trees."""
    parts = []
    for tree in TREES:
        gains = gains_over(results, f"{model}{PET}", tree)
        if len(gains):
            sure = _tested(gains, results.settings.level)
            parts.append(f"{MODELS[tree]} on {(gains > 0).sum()} of {len(gains)} datasets{sure}")
    if not parts:
        return "Trees: no tuned ones were run to compare with."
    return f"Trees: {MODELS[model]} with encodings is better than tuned {listed(parts)}."


def gains_over(results: Results, method: str, other: str) -> pd.Series:
    """Improvement of one method over another in percent, on the datasets that have both."""
    scores = results.methods
    both = scores[scores["method"] == method].merge(
        scores[scores["method"] == other], on=["dataset", "task"], suffixes=("", "_other")
    )
    gains = pd.Series(np.nan, index=both["dataset"])
    for task in both["task"].unique():
        mine = (both["task"] == task).to_numpy()
        gains[mine] = improvement(task, both["test_other"][mine], both["test"][mine])
    return gains.dropna()


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


def percent(value: float) -> str:
    """A signed percentage with three digits."""
    if not np.isfinite(value):
        return "unknown"
    text = f"{value:+.{2 if abs(value) < 10 else 1}f}"
    return (
        "0\N{NO-BREAK SPACE}%"
        if float(text) == 0
        else f"{text.replace('-', '−')}\N{NO-BREAK SPACE}%"
    )


def share(probability: float) -> str:
    """A probability in percent that never claims to be certain."""
    if probability > 0.99:
        return "over 99\N{NO-BREAK SPACE}%"
    if probability < 0.01:
        return "under 1\N{NO-BREAK SPACE}%"
    return f"{100 * probability:.0f}\N{NO-BREAK SPACE}%"


def p_value(p: float) -> str:
    """A p-value with the digits that matter."""
    if not np.isfinite(p):
        return "p unknown"
    text = "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def at_most(p: float) -> str:
    """The largest of several p-values."""
    return p_value(p) if p < 1e-4 else f"p at most {p:.2g}"


def listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last
