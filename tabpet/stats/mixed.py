"""A mixed model of gains, by encoding, model and size of table; datasets are random effects."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from tabpet.extras import need

if TYPE_CHECKING:
    from statsmodels.regression.mixed_linear_model import MixedLMResults, VCSpec

WHISKER = 3.0  # interquartile ranges from the quartiles, from where on a gain is limited
INTERCEPT, SIZE = "intercept", "size"
BETWEEN, WITHIN, RESIDUAL = "datasets", "models within a dataset", "residual"
_NOTHING = 1e-6  # of the residual variance: a component this small is none
# Nelder-Mead: methods by gradients fail, or stop too early, where a variance is zero.
_OPTIMIZER = "nm"
Status = Literal["converged", "boundary", "not converged", "failed"]


@dataclass(frozen=True)
class Limits:
    """The range that gains were limited to, and how many of them were outside."""

    low: float
    high: float
    limited: int


@dataclass(frozen=True)
class MixedModel:
    """A fit, and what became of it; numbers are NaN where it failed.

    `coefficients` has a row per fixed effect: `term` (`intercept`, `encoding`, `model` or `size`),
    `name` (a level against the first of its factor, otherwise empty), `estimate`, `error`, `low`,
    `high` and `p`, by the normal distribution: a little too sure with few datasets.
    `boundary`: a variance was estimated as zero. The coefficients stand, and `note` says which.
    """

    coefficients: pd.DataFrame
    datasets: int
    observations: int
    deviations: dict[str, float]  # standard deviations of the random effects
    significance: float
    status: Status
    note: str


def limit_gains(gains: pd.Series, whisker: float = WHISKER) -> tuple[pd.Series, Limits]:
    """Winsorise: gains further than so many interquartile ranges from the quartiles are set there.

    Where the quartiles are equal there is no range to measure by, and nothing is changed.
    """
    first, third = np.quantile(gains, [0.25, 0.75])
    reach = whisker * (third - first) if third > first else np.inf
    low, high = float(first - reach), float(third + reach)
    return gains.clip(low, high), Limits(low, high, int(((gains < low) | (gains > high)).sum()))


def fit_mixed_model(
    gains: pd.DataFrame, levels: Mapping[str, Sequence[str]], significance: float = 0.05
) -> MixedModel:
    """Fit `gain` by restricted maximum likelihood, with a random intercept per `dataset`.

    `levels` holds the levels of the columns `encoding` and `model`; the first is what others are
    compared with. `size` counts from its mean. All encodings of a model are compared with one model
    without, so models have a random effect of their own within a dataset: without it, differences
    between models would look far too sure.
    """
    design = _design(gains, levels)
    fit, note = _fit(gains, design)
    status: Status = "failed"
    estimates = errors = np.full(design.shape[1], np.nan)
    variances: dict[str, float] = {}
    if fit is not None:
        estimates, errors = fit.fe_params, fit.bse_fe
        variances = dict(zip((BETWEEN, WITHIN), [*fit.cov_re.ravel(), *fit.vcomp], strict=False))
        none = [name for name, variance in variances.items() if variance < _NOTHING * fit.scale]
        if not fit.converged:
            status = "not converged"
        elif none:
            status, note = "boundary", f"no variance between {' and between '.join(none)}"
        else:
            status, note = "converged", ""
        variances[RESIDUAL] = fit.scale
    unit = _unit(gains)
    return MixedModel(
        coefficients=_coefficients(design, estimates * unit, errors * unit, significance),
        datasets=gains["dataset"].nunique(),
        observations=len(gains),
        deviations={name: unit * float(np.sqrt(value)) for name, value in variances.items()},
        significance=significance,
        status=status,
        note=note,
    )


def _unit(gains: pd.DataFrame) -> float:
    """What gains are divided by, because a fit must not depend on their unit."""
    return float(gains["gain"].std())


def _design(gains: pd.DataFrame, levels: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Columns (term, name): a constant, a dummy for each level but the first, and the size."""
    columns = {(INTERCEPT, ""): np.ones(len(gains))}
    for factor, names in levels.items():
        for name in names[1:]:
            columns[factor, name] = np.where(gains[factor] == name, 1.0, 0.0)
    columns[SIZE, ""] = (gains["size"] - gains["size"].mean()).to_numpy(float)
    return pd.DataFrame(columns)


def _unidentified(gains: pd.DataFrame, design: pd.DataFrame) -> str:
    """Why no fit can tell the terms apart; empty where one can."""
    exog, endog = design.to_numpy(), gains["gain"].to_numpy(float)
    if np.linalg.matrix_rank(exog) < exog.shape[1]:
        return "encoding, model and size cannot be told apart in these runs"
    left = endog - exog @ np.linalg.lstsq(exog, endog, rcond=None)[0]
    # The square of what rounding leaves.
    if np.sum(left**2) <= 1e-24 * np.sum(endog**2):
        return "gains do not vary beyond encoding, model and size"
    return ""


def _fit(gains: pd.DataFrame, design: pd.DataFrame) -> "tuple[MixedLMResults | None, str]":
    """The fit and what statsmodels had to say about it, or the reason why there is none."""
    if problem := _unidentified(gains, design):
        return None, problem
    model = _statsmodels().MixedLM(
        (gains["gain"] / _unit(gains)).to_numpy(float),
        design.to_numpy(),
        groups=gains["dataset"].to_numpy(str),
        exog_re=np.ones((len(gains), 1)),
        exog_vc=_models_within(gains),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = model.fit(reml=True, method=_OPTIMIZER)
        except (np.linalg.LinAlgError, ValueError) as error:
            return None, f"statsmodels: {error}"
    warned = "; ".join(dict.fromkeys(str(warning.message) for warning in caught))
    if not np.isfinite([*fit.fe_params, *fit.bse_fe]).all():
        return None, f"statsmodels: {warned or 'no finite numbers'}"
    return fit, f"statsmodels: {warned}"


def _statsmodels() -> Any:
    return need("statsmodels.regression.mixed_linear_model", "The mixed model")


def _models_within(gains: pd.DataFrame) -> "VCSpec | None":
    """The random effect of models within a dataset, where encodings repeat a model at all."""
    models = gains.groupby("dataset")["model"].nunique()
    if models.max() == 1 or models.sum() == len(gains):
        return None
    names, matrices = [], []
    for _, group in sorted(gains.groupby(gains["dataset"].astype(str))):
        dummies = pd.get_dummies(group["model"], dtype=float)
        names.append(list(map(str, dummies)))
        matrices.append(dummies.to_numpy())
    return _statsmodels().VCSpec([WITHIN], [names], [matrices])


def _coefficients(
    design: pd.DataFrame, estimates: np.ndarray, errors: np.ndarray, significance: float
) -> pd.DataFrame:
    """Fixed effects with their normal intervals."""
    reach = stats.norm.ppf(1 - significance / 2)
    frame = pd.DataFrame(list(design.columns), columns=["term", "name"])
    return frame.assign(
        estimate=estimates,
        error=errors,
        low=estimates - reach * errors,
        high=estimates + reach * errors,
        p=2 * stats.norm.sf(np.abs(estimates / errors)),
    )
