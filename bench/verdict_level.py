"""How often the headline claims something false, over simulated runs without any such effect.

    python bench/verdict_level.py                                2,000 runs of each kind
    python bench/verdict_level.py --experiments 200 --seed 7     a quick look

A run is simulated from its scores on. For each dataset, model, encoding, alpha and seed, validation
and test score are the level of the dataset plus noise; alpha is chosen by the mean validation
score; the verdict is that of `tabpet.stats`. Three nulls:

nothing   encodings do nothing, and validation and test rows have noise of their own
chance    the same, but half of the noise is luck that a run shows on validation and test rows
          alike, so that choosing the best of nine alphas is a real gain; not one of structure
equal     all encodings help by the same amount, with structure or without

Shares of runs with such a claim about any model, each with an exact 95 % interval. *false* is any
claim that is not true of the null. *before*: the tests against controls without correction.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tabpet.stats import Answer, Difference, Evidence, holm, improvement, judge

ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)
ENCODINGS = ("main", "random", "shuffled")
NULLS = ("nothing", "chance", "equal")
GAIN = 1.0  # of every encoding in `equal`, in standard deviations of a run
HELP: tuple[Answer, ...] = (
    "better than controls", "better", "controls too few", "no better than controls",
    "behind controls",
)  # fmt: skip
CLAIMS: dict[str, tuple[Answer, ...]] = {
    "help, and more": ("better than controls",),
    "help, but less": ("behind controls",),
    "help": HELP,
    "worse": ("worse",),
}
FALSE = {
    "nothing": ("help", "worse"),
    "chance": ("help, and more", "help, but less", "worse"),
    "equal": ("help, and more", "help, but less", "worse"),
}


@dataclass(frozen=True)
class Design:
    """What a simulated run looks like."""

    null: str = "nothing"
    datasets: int = 50
    models: int = 3
    correlation: float = 0.0  # of the noise of two models in the same cell
    controls: int = 2
    seeds: int = 5


def simulate(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Validation and test scores: datasets x models x encodings x alphas x seeds.

    The model without encodings (alpha 0) is the same for all encodings.
    """
    shape = (design.datasets, design.models, 1 + design.controls, len(ALPHAS), design.seeds)
    level = rng.uniform(0.6, 0.95, (design.datasets, 1, 1, 1, 1))
    spread = 0.01 * rng.lognormal(0, 0.5, (design.datasets, 1, 1, 1, 1))
    luck = _noise(shape, design.correlation, rng)
    share = 0.5 if design.null == "chance" else 0.0
    gain = np.where(np.array(ALPHAS) > 0, GAIN, 0.0)[:, np.newaxis]
    parts = []
    for _ in ("validation", "test"):
        noise = np.sqrt(share) * luck
        noise += np.sqrt(1 - share) * _noise(shape, design.correlation, rng)
        if design.null == "equal":
            noise += gain
        noise[:, :, :, 0] = noise[:, :, :1, 0]
        parts.append(level + spread * noise)
    return parts[0], parts[1]


def _noise(shape: tuple[int, ...], correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Standard normal; models (second axis) correlate."""
    shared = rng.standard_normal((shape[0], 1, *shape[2:]))
    own = rng.standard_normal(shape)
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own


def chosen_improvements(validation: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Percent of the alpha that validation chose: datasets x models x encodings.

    The rule of `tabpet.analysis.selection`, for whole arrays.
    """
    val, score = validation.mean(axis=-1), test.mean(axis=-1)
    best = val[..., 1:].argmax(axis=-1)[..., np.newaxis]
    chosen = np.take_along_axis(score[..., 1:], best, axis=-1)[..., 0]
    return improvement("classification", score[..., 0], chosen)


def evidence_of(gains: np.ndarray) -> list[Evidence]:
    """What the verdict is made from: gains and leads of every model."""
    return [
        Evidence(
            str(model),
            gains[:, model, 0],
            {
                ENCODINGS[place]: gains[:, model, 0] - gains[:, model, place]
                for place in range(1, gains.shape[2])
            },
        )
        for model in range(gains.shape[1])
    ]


def old_answers(evidence: Sequence[Evidence], level: float) -> list[Answer]:
    """The rule before: Holm over models without encodings, controls at the plain level."""
    tested = [Difference.of(model.improvements) for model in evidence]
    return [
        _old_answer(difference, p, model, level)
        for difference, p, model in zip(
            tested, holm([d.test.p for d in tested]), evidence, strict=True
        )
    ]


def _old_answer(difference: Difference, p: float, model: Evidence, level: float) -> Answer:
    direction = difference.direction if p < level else 0
    if direction <= 0:
        return "worse" if direction else "unclear"
    leads = [Difference.of(values) for values in model.controls.values()]
    directions = [lead.direction if lead.test.p < level else 0 for lead in leads]
    if -1 in directions:
        return "behind controls"
    return "better than controls" if all(directions) else "no better than controls"


def new_answers(evidence: Sequence[Evidence], level: float) -> list[Answer]:
    """The package's rule."""
    return [decision.answer for decision in judge(evidence, level)]


RULES = {"before": old_answers, "after": new_answers}


def false_claims(design: Design, experiments: int, seed: int, level: float) -> dict:
    """How many experiments claim what, by rule and claim."""
    rng = np.random.default_rng(seed)
    counts = {rule: dict.fromkeys([*CLAIMS, "false"], 0) for rule in RULES}
    for _ in range(experiments):
        evidence = evidence_of(chosen_improvements(*simulate(design, rng)))
        for rule, answers in RULES.items():
            given = set(answers(evidence, level))
            made = {claim for claim, kinds in CLAIMS.items() if given & set(kinds)}
            for claim in made:
                counts[rule][claim] += 1
            counts[rule]["false"] += bool(made & set(FALSE[design.null]))
    return counts


def designs(options: argparse.Namespace) -> Iterator[Design]:
    """Every null with every correlation, with one control and with both."""
    for null in options.null:
        for correlation in options.correlation:
            for controls in options.controls:
                yield Design(null, options.datasets, options.models, correlation, controls)


def share_text(count: int, n: int) -> str:
    """A share in percent with its interval."""
    low, high = binomtest(count, n).proportion_ci()
    return f"{100 * count / n:5.1f} [{100 * low:4.1f}, {100 * high:5.1f}]"


def main() -> None:
    """Print a table: nulls and rules as rows, claims as columns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--datasets", type=int, default=50)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--correlation", type=float, nargs="+", default=[0.0, 0.5, 0.9])
    parser.add_argument("--controls", type=int, nargs="+", default=[1, 2], choices=[1, 2])
    parser.add_argument("--null", nargs="+", default=NULLS, choices=NULLS)
    parser.add_argument("--level", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    n = options.experiments
    print(
        f"{n:,} experiments of {options.datasets} datasets and {options.models} models; level "
        f"{options.level:g}, two-sided; percent of experiments with such a claim [95 % interval]"
    )
    columns = [*CLAIMS, "false"]
    heads = "".join(f"{name:>20s}" for name in columns)
    print(f"{'null':9s}{'correlation':>12s}{'controls':>9s} {'rule':7s}{heads}")
    for design in designs(options):
        counted = false_claims(design, n, options.seed, options.level)
        for rule, counts in counted.items():
            shares = "".join(f"{share_text(counts[name], n):>20s}" for name in columns)
            row = f"{design.null:9s}{design.correlation:12g}{design.controls:9d} {rule:7s}{shares}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
