"""NOTEARS graph (Methodology, "Graph Estimation"; NO-TEARS hyperparameters in the appendix): the
published linear method with l2 loss, evaluated through the covariance matrix of the nodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from tabpet.clock import Clock, OutOfTime
from tabpet.entries import Estimate, Estimator
from tabpet.graphs.acyclicity import acyclicity, drop_weakest_until_acyclic, is_acyclic, threshold
from tabpet.graphs.sortability import explained_variances, sortability
from tabpet.section import NonNegative, Section


class NotearsSettings(Section):
    """Settings of NOTEARS (paper, appendix C)."""

    lambdas: tuple[NonNegative, ...] = Field(
        (0.01, 0.05, 0.1, 0.2),
        min_length=1,
        description="l1 penalties, tried in ascending order until the thresholded graph is "
        "acyclic; a catalog row may have a grid of its own.",
    )
    max_iter: int = Field(100, ge=1, description="Most steps of the augmented Lagrangian.")
    h_tol: float = Field(
        1e-8, gt=0, description="Acyclicity value at which the optimisation has converged."
    )
    rho_max: float = Field(
        1e16, gt=1, description="Largest penalty weight of the augmented Lagrangian."
    )
    w_threshold: float = Field(
        0.3, ge=0, description="Edges with a smaller absolute weight are dropped."
    )


@dataclass
class _Progress:
    """Where one optimisation stands; read after an interruption."""

    keeps_iterates: bool = True  # of the first solve: better than nothing
    weights: np.ndarray | None = None  # (d, d), of the last solve, or such an iterate
    h: float = float("inf")
    rho: float = 1.0
    steps: int = 0
    evaluations: int = 0

    def keep_iterate(self, halves: np.ndarray) -> None:
        """Remember an iterate."""
        self.weights = _join(halves, int(np.sqrt(len(halves) / 2)))


# A line search may try weights whose exponential overflows, and turns back.
@np.errstate(over="ignore", invalid="ignore")
def estimate_notears(values: np.ndarray, settings: NotearsSettings, clock: Clock) -> Estimate:
    """Take the smallest lambda whose thresholded weights form a DAG."""
    covariance = _covariance(values)
    tried: list[dict[str, Any]] = []
    used: dict[str, Any] | None = None
    warnings: list[str] = []
    status, reason = "ok", ""
    weights = np.zeros_like(covariance)
    for penalty in sorted(settings.lambdas):
        progress = _Progress(keeps_iterates=used is None)
        try:
            minimise(covariance, penalty, settings, clock, progress)
        except OutOfTime:
            status = "timeout"
            reason = f"the budget ended at lambda {penalty:g}, {progress.evaluations} evaluations"
        kept = progress.weights
        if kept is not None:
            progress.h, _ = acyclicity(kept)
            kept = threshold(kept, settings.w_threshold)
        tried.append(
            {
                "lambda": penalty,
                "acyclic": kept is not None and is_acyclic(kept),
                "h": progress.h if np.isfinite(progress.h) else None,
                "converged": progress.h <= settings.h_tol,
                "rho": progress.rho,
                "steps": progress.steps,
                "evaluations": progress.evaluations,
            }
        )
        # A lambda that was cut gives way to a finished one before it, unless it has a DAG.
        if kept is not None and (used is None or status == "ok" or tried[-1]["acyclic"]):
            weights, used = kept, tried[-1]
        if tried[-1]["acyclic"] or status == "timeout":
            break
    facts = {
        "lambda": used["lambda"] if used else None,
        "h": used["h"] if used else None,
        "evaluations": sum(attempt["evaluations"] for attempt in tried),
        "dropped_for_acyclicity": 0,
        "tried": tried,
    }
    if status == "ok" and used and not used["converged"]:
        h = "infinite" if used["h"] is None else f"{used['h']:.2g}"
        warnings.append(f"not converged: h is {h}, above {settings.h_tol:g}")
    if not is_acyclic(weights):
        # NOTE[PAPER]: what happens when no lambda gives a DAG is not said; the weakest edges go.
        n_before = np.count_nonzero(weights)
        weights = drop_weakest_until_acyclic(weights)
        facts["dropped_for_acyclicity"] = int(n_before - np.count_nonzero(weights))
        warnings.append(
            f"the thresholded weights had cycles: the {facts['dropped_for_acyclicity']} weakest "
            "edges were dropped until none was left"
        )
    # Arrows along rising variance or R2 follow from the scale or the fit, not from causes.
    facts["varsortability"] = sortability(weights, np.diag(covariance))
    facts["r2_sortability"] = sortability(weights, explained_variances(covariance))
    return Estimate(weights, status=status, reason=reason, facts=facts, warnings=warnings)


def minimise(
    covariance: np.ndarray,
    penalty: float,
    settings: NotearsSettings,
    clock: Clock,
    progress: _Progress,
) -> None:
    """Run the augmented Lagrangian of Zheng et al. (2018), algorithm 1, into `progress`."""
    from scipy.optimize import Bounds, minimize

    d = len(covariance)
    upper = np.where(np.eye(d, dtype=bool), 0.0, np.inf).ravel()
    bounds = Bounds(np.zeros(2 * d * d), np.concatenate([upper, upper]))
    halves = np.zeros(2 * d * d)
    multiplier, last_h = 0.0, np.inf
    for _ in range(settings.max_iter):
        while progress.rho < settings.rho_max:
            objective = _objective(covariance, penalty, progress.rho, multiplier, clock, progress)
            is_first = last_h == np.inf and progress.rho == 1.0
            keep = progress.keep_iterate if is_first and progress.keeps_iterates else None
            minimum = minimize(
                objective, halves, jac=True, bounds=bounds, method="L-BFGS-B", callback=keep
            ).x
            progress.weights = _join(minimum, d)
            progress.h, _ = acyclicity(progress.weights)
            if progress.h <= 0.25 * last_h:
                break
            progress.rho *= 10
        halves, last_h = minimum, progress.h
        multiplier += progress.rho * progress.h
        progress.steps += 1
        if progress.h <= settings.h_tol or progress.rho >= settings.rho_max:
            break


def _objective(
    covariance: np.ndarray,
    penalty: float,
    rho: float,
    multiplier: float,
    clock: Clock,
    progress: _Progress,
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """The penalised loss and its gradient in the two non-negative halves of the weights."""
    d = len(covariance)
    identity = np.eye(d)

    def evaluate(halves: np.ndarray) -> tuple[float, np.ndarray]:
        clock.check()
        progress.evaluations += 1
        weights = _join(halves, d)
        remainder = identity - weights
        slope = covariance @ remainder
        # 0.5 / n ||X - X W||^2 = 0.5 tr((I - W)' S (I - W)): rows are needed for S only.
        loss = 0.5 * float(np.vdot(remainder, slope))
        h, h_slope = acyclicity(weights)
        value = loss + 0.5 * rho * h * h + multiplier * h + penalty * float(halves.sum())
        smooth = (rho * h + multiplier) * h_slope - slope
        gradient = np.empty_like(halves)
        np.add(smooth.ravel(), penalty, out=gradient[: d * d])
        np.subtract(penalty, smooth.ravel(), out=gradient[d * d :])
        return value, gradient

    return evaluate


def _join(halves: np.ndarray, d: int) -> np.ndarray:
    """Signed weights from their non-negative halves."""
    return (halves[: d * d] - halves[d * d :]).reshape(d, d)


def _covariance(values: np.ndarray) -> np.ndarray:
    """Covariance of the centred nodes, (d, d)."""
    centred = values - values.mean(axis=0)
    return centred.T @ centred / len(values)


ESTIMATOR = Estimator(
    key="notears",
    label="NOTEARS",
    function=estimate_notears,
    settings=NotearsSettings,
    directed=True,
    growth="iterations x d^3",
    citation="Zheng, Aragam, Ravikumar and Xing (2018), DAGs with NO TEARS, NeurIPS",
    from_catalog={"lambdas": "notears_lambdas"},
    order=1,
)
