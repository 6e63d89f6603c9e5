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
class Coefficient:
    """A fixed effect: the intercept, a level against the first of its factor, or the slope."""

    term: str  # `intercept`, `encoding`, `model` or `size`
    name: str  # the level of a factor, otherwise empty
    estimate: float
    error: float
    low: float  # by the normal distribution, as is p; a little too sure with few datasets
    high: float
    p: float


@dataclass(frozen=True)
class MixedModel:
    """A fit, and what became of it; numbers are NaN where it failed.

    `boundary`: a variance was estimated as zero. The coefficients stand, and `note` says which.
    """

    coefficients: tuple[Coefficient, ...]
    datasets: int
    observations: int
    deviations: dict[str, float]  # standard deviations of the random parts
    level: float
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
    gains: pd.DataFrame, levels: Mapping[str, Sequence[str]], level: float = 0.05
) -> MixedModel:
    """Fit `gain` by restricted maximum likelihood, with a random intercept per `dataset`.

    `levels` holds the levels of the columns `encoding` and `model`; the first is what others are
    compared with. `size` counts from its mean. All encodings of a model are compared with one model
    without, so models have a random part of their own within a dataset: without it, differences
    between models would look far too sure.
    """
    design = _design(gains, levels)
    problem = _unidentified(gains, design)
    if problem:
        return _failed(gains, design, level, problem)
    unit = float(gains["gain"].std())  # the fit must not depend on the unit of gains
    try:
        fit, said = _fit(gains.assign(gain=gains["gain"] / unit), design)
    except (np.linalg.LinAlgError, ValueError) as error:
        return _failed(gains, design, level, f"statsmodels: {error}")
    if not np.isfinite([*fit.fe_params, *fit.bse_fe]).all():
        return _failed(gains, design, level, f"statsmodels: {said or 'no finite numbers'}")
    variances = dict(zip((BETWEEN, WITHIN), [*fit.cov_re.ravel(), *fit.vcomp], strict=False))
    none = [name for name, variance in variances.items() if variance < _NOTHING * fit.scale]
    status: Status = "converged"
    note = ""
    if not fit.converged:
        status, note = "not converged", f"statsmodels: {said}"
    elif none:
        status, note = "boundary", f"no variance between {' and between '.join(none)}"
    variances[RESIDUAL] = fit.scale
    return MixedModel(
        coefficients=_coefficients(design, fit.fe_params * unit, fit.bse_fe * unit, level),
        datasets=gains["dataset"].nunique(),
        observations=len(gains),
        deviations={name: unit * float(np.sqrt(value)) for name, value in variances.items()},
        level=level,
        status=status,
        note=note,
    )


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


def _fit(gains: pd.DataFrame, design: pd.DataFrame) -> "tuple[MixedLMResults, str]":
    """The fit, and what statsmodels had to say about it."""
    model = _statsmodels().MixedLM(
        gains["gain"].to_numpy(float),
        design.to_numpy(),
        groups=gains["dataset"].to_numpy(str),
        exog_re=np.ones((len(gains), 1)),
        exog_vc=_models_within(gains),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = model.fit(reml=True, method=_OPTIMIZER)
    return fit, "; ".join(dict.fromkeys(str(one.message) for one in caught))


def _statsmodels() -> Any:
    return need("statsmodels.regression.mixed_linear_model", "The mixed model")


def _models_within(gains: pd.DataFrame) -> "VCSpec | None":
    """The random part of models within a dataset, where encodings repeat a model at all."""
    cells = gains.groupby("dataset")["model"].nunique()
    if cells.max() == 1 or cells.sum() == len(gains):
        return None
    names, matrices = [], []
    for _, group in sorted(gains.groupby(gains["dataset"].astype(str))):
        dummies = pd.get_dummies(group["model"], dtype=float)
        names.append(list(map(str, dummies)))
        matrices.append(dummies.to_numpy())
    return _statsmodels().VCSpec([WITHIN], [names], [matrices])


def _coefficients(
    design: pd.DataFrame, estimates: np.ndarray, errors: np.ndarray, level: float
) -> tuple[Coefficient, ...]:
    reach = stats.norm.ppf(1 - level / 2)
    return tuple(
        Coefficient(
            term=term,
            name=name,
            estimate=float(estimate),
            error=float(error),
            low=float(estimate - reach * error),
            high=float(estimate + reach * error),
            p=float(2 * stats.norm.sf(abs(estimate / error))),
        )
        for (term, name), estimate, error in zip(
            map(tuple, design.columns), estimates, errors, strict=True
        )
    )


def _failed(gains: pd.DataFrame, design: pd.DataFrame, level: float, note: str) -> MixedModel:
    """A model without numbers, and why."""
    nothing = np.full(design.shape[1], np.nan)
    return MixedModel(
        coefficients=_coefficients(design, nothing, nothing, level),
        datasets=gains["dataset"].nunique(),
        observations=len(gains),
        deviations={},
        level=level,
        status="failed",
        note=note,
    )
