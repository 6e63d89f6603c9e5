"""The mixed model: a balanced design by hand, statsmodels' formulas, and fits that go wrong."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from tabpet.stats import fit_mixed_model, limit_gains

ENCODINGS, MODELS = ("graph", "random", "shuffled"), ("ft", "saint")
LEVELS = {"encoding": ENCODINGS, "model": MODELS}


def frame(gain, datasets: int = 20, encodings=ENCODINGS, models=MODELS) -> pd.DataFrame:
    """A balanced table; `gain` maps dataset, model and encoding to a number."""
    rows = [
        (f"d{d:02d}", encoding, model, 2 + (d % 7) / 4, gain(d, model, encoding))
        for d in range(datasets)
        for model in models
        for encoding in encodings
    ]
    return pd.DataFrame(rows, columns=["dataset", "encoding", "model", "size", "gain"])


def noisy(datasets: int = 20, between=1.0, within=1.0, seed: int = 3, **shape) -> pd.DataFrame:
    """Known effects: 2 in total, -0.5 and -1 for controls, 0.8 for the second model, 0.3 a size."""
    rng = np.random.default_rng(seed)
    table = frame(lambda *_: 0.0, datasets, **shape)
    effects = {"graph": 0.0, "random": -0.5, "shuffled": -1.0, "ft": 0.0, "saint": 0.8}
    of_dataset = dict(zip(table["dataset"].unique(), rng.normal(0, between, datasets), strict=True))
    cells = table["dataset"] + table["model"]
    of_cell = dict(zip(cells.unique(), rng.normal(0, within, cells.nunique()), strict=True))
    gain = 2 + table["encoding"].map(effects) + table["model"].map(effects) + 0.3 * table["size"]
    gain += table["dataset"].map(of_dataset) + cells.map(of_cell) + rng.normal(0, 0.5, len(table))
    return table.assign(gain=gain)


def by_name(model) -> dict[str, object]:
    return {row.name or row.term: row for row in model.coefficients.itertuples()}


def test_a_balanced_design_by_hand():
    table = noisy()
    fit = fit_mixed_model(table, LEVELS)
    assert (fit.status, fit.note) == ("converged", "")
    assert (fit.datasets, fit.observations) == (20, 120)
    effect = by_name(fit)
    means = table.groupby("encoding")["gain"].mean()
    # In a balanced design, levels of a factor differ by their means.
    assert effect["random"].estimate == pytest.approx(means["random"] - means["graph"])
    by_model = table.groupby("model")["gain"].mean()
    assert effect["saint"].estimate == pytest.approx(by_model["saint"] - by_model["ft"])
    # Encodings are compared within dataset and model: two-way residuals, 2 * variance / 40 cells.
    wide = table.pivot_table(index=["dataset", "model"], columns="encoding", values="gain")
    left = wide.sub(wide.mean(axis=1), axis=0) - wide.mean() + wide.to_numpy().mean()
    variance = (left.to_numpy() ** 2).sum() / (39 * 2)
    assert effect["random"].error == pytest.approx(np.sqrt(2 * variance / 40), rel=1e-3)
    assert fit.deviations["residual"] == pytest.approx(np.sqrt(variance), rel=1e-3)
    # Models are compared within dataset, by cell means: a paired comparison.
    cells = table.pivot_table(index="dataset", columns="model", values="gain")
    paired = (cells["saint"] - cells["ft"]).std(ddof=1) / np.sqrt(20)
    assert effect["saint"].error == pytest.approx(paired, rel=1e-3)
    # The size is compared between datasets: least squares on their means.
    of_dataset = table.groupby("dataset")[["gain", "size"]].mean()
    slope = np.polyfit(of_dataset["size"], of_dataset["gain"], 1)[0]
    assert effect["size"].estimate == pytest.approx(slope, rel=1e-6)
    for row in fit.coefficients.itertuples():
        assert row.low < row.estimate < row.high
        assert row.high - row.low == pytest.approx(2 * 1.959964 * row.error, rel=1e-6)


def test_an_unbalanced_design_is_statsmodels_formula():
    table = noisy(within=0.7)
    table = table[~((table["model"] == "saint") & (table["encoding"] == "shuffled"))].iloc[:-3]
    fit = fit_mixed_model(table, LEVELS)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        expected = smf.mixedlm(
            "gain ~ C(encoding) + C(model) + I(size - size.mean())",
            table,
            groups="dataset",
            re_formula="1",
            vc_formula={"model": "0 + C(model)"},
        ).fit(reml=True)
    ours = [row.estimate for row in fit.coefficients.itertuples()]
    assert ours == pytest.approx(expected.fe_params.to_list(), rel=1e-3)
    errors = [row.error for row in fit.coefficients.itertuples()]
    assert errors == pytest.approx(expected.bse_fe.to_list(), rel=1e-2)
    assert fit.deviations["datasets"] ** 2 == pytest.approx(expected.cov_re.iloc[0, 0], rel=0.02)


def test_one_model_or_one_encoding_needs_no_part_of_its_own():
    one_model = noisy(models=MODELS[:1])
    fit = fit_mixed_model(one_model, {"encoding": ENCODINGS, "model": MODELS[:1]})
    assert set(fit.deviations) == {"datasets", "residual"}
    assert set(by_name(fit)) == {"intercept", "random", "shuffled", "size"}
    one_encoding = noisy(encodings=ENCODINGS[:1])
    fit = fit_mixed_model(one_encoding, {"encoding": ENCODINGS[:1], "model": MODELS})
    assert set(fit.deviations) == {"datasets", "residual"}
    assert fit.status == "converged"


@pytest.mark.filterwarnings("error")
def test_a_variance_of_zero_is_named_and_the_fit_stands():
    fit = fit_mixed_model(noisy(30, between=0.0, within=0.0, seed=1), LEVELS)
    assert fit.status == "boundary"
    assert fit.note.startswith("no variance between ")
    effect = by_name(fit)["shuffled"]
    assert abs(effect.estimate + 1.0) < 3 * effect.error


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("table", "words"),
    [
        (frame(lambda *_: 0.0), "do not vary"),
        (frame(lambda d, *_: 1.0 + d % 7), "do not vary"),
        (noisy().assign(size=3.0), "cannot be told apart"),
        (noisy()[lambda t: (t["model"] == "ft") == (t["encoding"] == "graph")], "cannot be told"),
    ],
)
def test_what_cannot_be_fitted_has_no_numbers_and_a_reason(table, words):
    fit = fit_mixed_model(table, LEVELS)
    assert fit.status == "failed"
    assert words in fit.note
    assert all(
        np.isnan([row.estimate, row.error, row.p]).all() for row in fit.coefficients.itertuples()
    )


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_gains_changes_nothing(scale):
    table = noisy()
    there = fit_mixed_model(table, LEVELS)
    back = fit_mixed_model(table.assign(gain=table["gain"] * scale), LEVELS)
    assert back.status == there.status == "converged"
    scaled = scale * there.coefficients["estimate"]
    assert back.coefficients["estimate"].to_list() == pytest.approx(scaled.to_list(), rel=1e-4)
    p_values = there.coefficients["p"].to_list()
    assert back.coefficients["p"].to_list() == pytest.approx(p_values, rel=1e-2)


def test_gains_are_limited_by_their_quartiles():
    # Quartiles of 0, 1, 2, 3, 100 are 1 and 3: three ranges of 2 beyond lie -5 and 9.
    limited, limits = limit_gains(pd.Series([0.0, 1.0, 2.0, 3.0, 100.0]))
    assert limited.tolist() == [0, 1, 2, 3, 9]
    assert (limits.low, limits.high, limits.limited) == (-5, 9, 1)
    same, nothing = limit_gains(pd.Series([0.0, 0.0, 0.0, 0.0, 9.0]))
    assert same.tolist() == [0, 0, 0, 0, 9] and nothing.limited == 0
