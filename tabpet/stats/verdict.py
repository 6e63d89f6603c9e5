"""The decision behind the headline: numbers in, an answer per model out, with every step kept.

One step-down over models decides all claims. A model is tested at the significance level divided by
the number of models that are not finished. Without encodings comes first: *better* or *worse* needs
a significant test whose direction the median shares. A model that is better is then compared with
its controls at the same level. *More than controls* needs a lead over all of them, an intersection:
the largest p decides, and controls need no correction of their own. *Behind controls* needs one
that is ahead, a union: p is multiplied by the number of controls. A model is finished when it is
worse, or better than everything that it was planned to be compared with. Its share of the level
then goes to the others, as in Holm's procedure, and they are tested again.

Why the probability of any false claim, by all models together, is at most the level: let T be the
models that are able to make one. None of them is finished before the first false claim, so up to
then each is tested at no more than level / |T|. In each, a false claim needs a p of a true null
below that (no effect in either direction; or, where there is an effect, no lead over all controls
and none of a control, half of it each), and the sum over T is the level. Models may depend on each
other in any way. Claims in the wrong direction of a real effect are not counted; they are rarer.

For *better, and more than controls* alone, this is Holm over models of each model's largest p. Holm
for every control by itself would not do, because models can fail at different controls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tabpet.stats.improvement import summarize
from tabpet.stats.signed_rank import Wilcoxon, wilcoxon
from tabpet.stats.values import Values

Answer = Literal[
    "better than controls",
    "better",
    "controls too few",
    "no better than controls",
    "behind controls",
    "unclear",
    "worse",
    "too few",
]
Outcome = Literal["ahead", "behind", "unclear", "too few"]


@dataclass(frozen=True)
class Evidence:
    """Paired differences of one model over datasets; positive speaks for the encodings.

    `controls` has the main encoding less each control that was planned, empty where none finished.
    """

    model: str
    improvements: Values
    controls: Mapping[str, Values]


@dataclass(frozen=True)
class Difference:
    """A signed-rank test of paired differences, and their median."""

    test: Wilcoxon
    median: float

    @classmethod
    def of(cls, values: Values) -> "Difference":
        """Test paired differences; datasets without one are left out."""
        return cls(wilcoxon(values), summarize(values).median)

    @property
    def direction(self) -> int:
        """1 or -1 where test and median point the same way, otherwise 0."""
        if not np.isfinite(self.median):
            return 0
        agree = np.sign(self.median) == np.sign(self.test.effect_size)
        return int(np.sign(self.median)) if agree else 0

    def p_towards(self, direction: int) -> float:
        """The two-sided p of a claim in this direction; 1 where the differences do not point so."""
        return self.test.p if self.direction == direction else 1.0


@dataclass(frozen=True)
class ControlDecision:
    """The main encoding against one control in one model."""

    name: str
    difference: Difference
    p_ahead: float  # a link of `p_more`, corrected over models; 1 where the encoding is not ahead
    p_behind: float  # corrected over models and controls; 1 where the encoding is not behind
    significance: float
    fewest: int  # datasets from which on the control can be beaten, whatever other models do

    @property
    def outcome(self) -> Outcome:
        """Where the main encoding stands."""
        if self.p_ahead < self.significance:
            return "ahead"
        if self.p_behind < self.significance:
            return "behind"
        # Datasets without a difference count: a control that equals the encoding keeps up with it.
        return "unclear" if self.difference.test.pairs >= self.fewest else "too few"


@dataclass(frozen=True)
class ModelDecision:
    """What the main encoding does to one model."""

    model: str
    difference: Difference  # with and without encodings
    p: float  # of better or worse, corrected
    p_more: float  # of better, and more than every control, corrected; NaN without controls
    controls: tuple[ControlDecision, ...]
    significance: float
    fewest: int  # datasets that differ, from which on p can be below the significance level

    @property
    def decidable(self) -> bool:
        """Whether any outcome on so many datasets could be significant."""
        return self.difference.test.used >= self.fewest or self.p < self.significance

    @property
    def disagreement(self) -> bool:
        """Whether the test is significant, but the median has another direction."""
        return self.p < self.significance and self.difference.direction == 0

    @cached_property
    def answer(self) -> Answer:
        """What can be said of this model."""
        if not self.decidable:
            return "too few"
        if self.p >= self.significance or self.difference.direction == 0:
            return "unclear"
        if self.difference.direction < 0:
            return "worse"
        if not self.controls:
            return "better"
        if self.p_more < self.significance:
            return "better than controls"
        outcomes = {control.outcome for control in self.controls}
        if "behind" in outcomes:
            return "behind controls"
        return "no better than controls" if "unclear" in outcomes else "controls too few"


def judge(evidence: Sequence[Evidence], significance: float = 0.05) -> list[ModelDecision]:
    """Decide for every model, so that a false claim has at most the probability `significance`."""
    differences = [Difference.of(model.improvements) for model in evidence]
    controls = [
        {name: Difference.of(values) for name, values in model.controls.items()}
        for model in evidence
    ]
    finishing = np.array(list(map(_finishing_p, differences, controls)))
    fewest = fewest_datasets(significance / max(1, len(evidence)))
    return [
        _decide(
            model.model, differences[i], controls[i], np.delete(finishing, i), significance, fewest
        )
        for i, model in enumerate(evidence)
    ]


def fewest_datasets(significance: float) -> int:
    """How many datasets a signed-rank test needs to be below it: 2 / 2^n < significance."""
    return int(np.floor(np.log2(2 / significance))) + 1


def _finishing_p(difference: Difference, controls: Mapping[str, Difference]) -> float:
    """The p from which on a model has nothing left to test; 1 where it cannot get there."""
    if difference.direction <= 0:
        return difference.p_towards(-1)
    # NaN, of a control without a result, is no reason to be finished.
    ahead = [np.nan_to_num(control.p_towards(1), nan=1.0) for control in controls.values()]
    return max([difference.test.p, *ahead])


def _decide(
    model: str,
    difference: Difference,
    controls: Mapping[str, Difference],
    others: np.ndarray,
    significance: float,
    fewest: int,
) -> ModelDecision:
    """All corrected p-values of one model; `others` are the finishing p of the other models."""
    p = _corrected(difference.test.p, others)
    tested = max(1, sum(control.test.pairs > 0 for control in controls.values()))
    decided = tuple(
        ControlDecision(
            name=name,
            difference=control,
            p_ahead=_corrected(control.p_towards(1), others),
            p_behind=_corrected(tested * control.p_towards(-1), others),
            significance=significance,
            fewest=fewest,
        )
        for name, control in controls.items()
    )
    p_better = p if difference.direction > 0 else 1.0
    p_more = max([p_better, *(control.p_ahead for control in decided)]) if decided else np.nan
    return ModelDecision(model, difference, p, float(p_more), decided, significance, fewest)


def _corrected(p: float, others: np.ndarray) -> float:
    """The smallest significance level at which the step-down makes a claim with this p.

    After r other models are finished, it is made below significance / (models - r).
    """
    if not np.isfinite(p):
        return 1.0
    n_models = len(others) + 1
    shares = np.arange(n_models, 0, -1)  # divisors of the level after 0, 1, ... finished
    reached = np.maximum.accumulate(np.sort(others) * shares[:-1])
    return float(min(1.0, np.min(np.maximum(p * shares, np.append(0.0, reached)))))
