"""The choice of alpha: by the validation score, with the test-chosen figure beside it.

By validation, the unit of choice is a dataset, split, model and encoding, over all its seeds:
validation rows of one split are test rows of another. The test-chosen alpha ("oracle") is one for
all splits, as that of a published table. Random, shuffled and learnable encodings go through the
same choice.
"""

import numpy as np
import pandas as pd

from tabpet.stats.improvement import improvement
from tabpet.stats.values import SAME, direction

CHOICE = ["dataset", "split", "model", "encoding"]
CURVE_COLUMNS = [
    *CHOICE, "task", "alpha", "val", "test", "test_sd", "seeds", "improvement", "chosen", "oracle",
]  # fmt: skip


def scored_runs(scores: pd.DataFrame) -> pd.DataFrame:
    """The runs that have both scores: finished ones, and those that a time limit cut short."""
    both = scores["val_score"].notna() & scores["test_score"].notna()
    usable = scores[both & scores["status"].isin(["ok", "timeout"])]
    finite = np.isfinite(usable["val_score"]) & np.isfinite(usable["test_score"])
    return usable[finite]


def choose_alphas(curves: pd.DataFrame) -> pd.DataFrame:
    """The choices, a row each, that curves over alpha lead to.

    A choice has the baseline (`base_val`, `base_test`, `base_sd`), the chosen alpha, and the one
    that the test likes best (`oracle_`). Scores are means over seeds, spreads are sample standard
    deviations, NaN for one seed.
    """
    base, chosen, oracle = (
        curves[rows].set_index(CHOICE)
        for rows in (curves["alpha"] == 0, curves["chosen"], curves["oracle"])
    )
    choices = base[["task"]].assign(
        alpha=chosen["alpha"],
        oracle_alpha=oracle["alpha"],
        base_val=base["val"],
        base_test=base["test"],
        base_sd=base["test_sd"],
        val=chosen["val"],
        test=chosen["test"],
        test_sd=chosen["test_sd"],
        oracle_test=oracle["test"],
        oracle_sd=oracle["test_sd"],
        seeds=base["seeds"],
        improvement=chosen["improvement"],
        oracle_improvement=oracle["improvement"],
    )
    return choices.reset_index()


def curves_over_alpha(scores: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds for every alpha of every choice that has a candidate."""
    runs = scored_runs(scores)
    shared = _shared_alphas(runs[runs["alpha"].notna()])
    grouped = shared.groupby([*CHOICE, "task", "alpha"], sort=False)
    curves = grouped.agg(
        val=("val_score", "mean"),
        test=("test_score", "mean"),
        test_sd=("test_score", lambda scores: scores.std(ddof=1)),
        seeds=("seed", "nunique"),
    ).reset_index()
    # Choices in the order of the runs, alphas ascending.
    curves["place"] = curves.groupby(CHOICE, sort=False).ngroup()
    curves = curves.sort_values(["place", "alpha"], ignore_index=True)
    curves = curves[curves.groupby(CHOICE)["alpha"].transform("size") > 1].reset_index(drop=True)
    base = curves["test"].where(curves["alpha"] == 0).groupby(curves["place"]).transform("first")
    curves["improvement"] = improvement(curves["task"], base, curves["test"])
    # NOTE[AUTHORS]: the released code reports what is called oracle here, as the result.
    overall = curves.assign(test=_means_of_splits(curves))
    curves["chosen"], curves["oracle"] = is_best(curves, "val"), is_best(overall, "test")
    return curves[CURVE_COLUMNS]


def _shared_alphas(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of finished seeds, at the alphas that every finished seed of the choice has.

    A seed has finished when it has the baseline and at least one other alpha.
    """
    seed = [runs[name] for name in (*CHOICE, "seed")]
    has_base = (runs["alpha"] == 0).groupby(seed).transform("any")
    has_other = (runs["alpha"] > 0).groupby(seed).transform("any")
    finished = runs[has_base & has_other]
    seeds = finished.groupby(CHOICE)["seed"].transform("nunique")
    return finished[finished.groupby([*CHOICE, "alpha"])["seed"].transform("nunique") == seeds]


def _means_of_splits(curves: pd.DataFrame) -> pd.Series:
    """The mean test score of an alpha over all splits, NaN where one of them lacks it.

    Splits that have no alpha in common keep their own scores, so that each has a best one.
    """
    keys = ["dataset", "model", "encoding"]
    splits = curves.groupby(keys)["split"].transform("nunique")
    tests = curves.groupby([*keys, "alpha"])["test"]
    shared = tests.transform("size") == splits
    in_common = (shared & (curves["alpha"] > 0)).groupby([curves[key] for key in keys])
    means = tests.transform("mean").where(shared)
    return means.where(in_common.transform("any"), curves["test"])


def is_best(curves: pd.DataFrame, column: str) -> pd.Series:
    """Whether a row is the best of its choice; alpha 0 is no candidate, of equals the smallest is.

    Means that differ by rounding alone are equal.
    """
    score = (curves[column] * direction(curves["task"])).where(curves["alpha"] > 0)
    best = score.groupby(curves["place"]).transform("max")
    near = score >= best - SAME * best.abs()
    return near & (near.groupby(curves["place"]).cumsum() == 1)


def average_splits(choices: pd.DataFrame) -> pd.DataFrame:
    """A row per dataset, model and encoding: choices averaged over the splits of a dataset."""
    means = ["base_test", "test", "oracle_test", "improvement", "oracle_improvement"]
    spreads = ["base_sd", "test_sd", "oracle_sd"]
    grouped = choices.groupby(["dataset", "task", "model", "encoding"], sort=False)
    frame = grouped[means].mean()
    for name, mean in zip(spreads, means[:3], strict=True):
        # Within splits, where they have several seeds; else splits are all that varies.
        within = np.sqrt(choices[name].pow(2).groupby(grouped.ngroup()).mean().to_numpy())
        frame[name] = np.where(np.isnan(within), grouped[mean].std(ddof=1), within)
    frame["seeds"], frame["splits"] = grouped["seeds"].min(), grouped["split"].nunique()
    return frame.reset_index()
