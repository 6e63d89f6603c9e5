"""DirectLiNGAM of the `lingam` package with a fast search for the causal order.

The search gives the order of `lingam.DirectLiNGAM` (Shimizu et al. 2011, Hyvarinen and Smith
2013); the weights along the order are those of its adaptive lasso.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from lingam import DirectLiNGAM
from lingam.utils import predict_adaptive_lasso

from tabpet.graphs.budget import Budget
from tabpet.graphs.methods._regressions import Regressions

# A node whose residual keeps less than this share of its variance is a linear combination of the
# nodes before it (the last level of a one-hot group, a copied column); what is left is rounding.
_DETERMINED = 1e-10
# Penalties this close, or as close in the leads they are made of, are equal but for rounding.
_CLOSE = 1e-9
_LEAD_ROUNDING = 1e-14
# Error of a mean over float32 values of size 1, about 8 units in the last place. On the paper's
# tables the error of a lead, divided by its slope, is at most a quarter of this.
_MARGIN = 5e-7
_REFINED_AT_ONCE = 8  # pairs computed again in float64 before the candidate is looked at
# One block of residuals: small enough for the second-level cache.
_BLOCK_BYTES = 1 << 18

# Spread, as a share of the largest value, below which a column is constant.
_CONSTANT = 1e-12

_K1, _K2, _GAMMA = 79.047, 7.4129, 0.37457  # entropy approximation, as in lingam
_FOLDS = 4  # products of 2^4 factors in (1, 2] are far from overflow


class FastDirectLiNGAM(DirectLiNGAM):
    """DirectLiNGAM whose order search compares only the pairs that can change the outcome."""

    def __init__(self, budget: Budget | None = None) -> None:
        super().__init__()
        self._budget = budget or Budget()
        self.notes: list[str] = []
        self.n_compared = 0
        self.n_pairs = 0
        self.n_determined = 0
        self.n_fitted_by_lingam = 0
        self._n_fitted = 0

    def fit(self, X: np.ndarray) -> "FastDirectLiNGAM":
        """Find the causal order of the columns of X, (n, d), and fit the weights along it."""
        self._causal_order = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self._causal_order = self._find_order(np.asarray(X, dtype=np.float64))
                self._estimate_adjacency_matrix(X)
            finally:
                self._note_warnings(caught)
        return self

    def weights_so_far(self, d: int) -> np.ndarray:
        """lingam's B, (d, d), with the rows that have been fitted."""
        return np.zeros((d, d)) if self._adjacency_matrix is None else self._adjacency_matrix

    def progress(self) -> str:
        """What was ready when the budget ended."""
        if self._causal_order is None:
            return "the budget ended in the search for the causal order: no edges"
        return (
            f"the budget ended while weights were fitted: edges into the first {self._n_fitted} "
            f"of {len(self._causal_order)} nodes of the causal order"
        )

    def _note_warnings(self, caught: list[warnings.WarningMessage]) -> None:
        """Keep what the libraries warned about, once per kind, with its count."""
        kinds = Counter(
            f"{one.category.__name__}: {re.split('[.,]', str(one.message))[0][:100]}"
            for one in caught
        )
        self.notes += [f"{count} x {kind}" for kind, count in sorted(kinds.items())]

    # Order

    def _find_order(self, values: np.ndarray) -> list[int]:
        """The causal order: again and again the most exogenous column, then residuals on it."""
        columns = np.array(values.T, order="C")  # a copy, in which a column of X is contiguous
        columns -= columns.mean(axis=1, keepdims=True)
        start = columns.var(axis=1)
        left = np.arange(len(columns))
        order: list[int] = []
        determined: list[int] = []
        leads = np.zeros((len(columns), len(columns)))
        referee = _Referee(self, values, self._budget)
        while len(left):
            self._budget.check()
            own = columns[left].var(axis=1) > _DETERMINED * start[left]
            determined += left[~own].tolist()
            left = left[own]
            if not len(left):
                break
            search = _Step(columns[left], leads[np.ix_(left, left)], self._budget)
            finalists = left[search.run()]
            chosen = int(finalists[0])
            if len(finalists) > 1 and not determined and len(search.members) == len(left):
                chosen = referee.choose(finalists, left, order)
            compared = left[search.members]
            leads[np.ix_(compared, compared)] = search.leads
            self.n_compared += search.n_compared
            self.n_pairs += len(left) * (len(left) - 1) // 2
            order.append(chosen)
            left = left[left != chosen]
            _regress_out(columns, left, chosen)
        if determined:
            self.n_determined = len(determined)
            self.notes.append(
                f"{len(determined)} nodes are linear combinations of others and come last in the "
                "causal order"
            )
        # At the end of the order they leave the regressions of all other nodes non-singular.
        return order + sorted(determined)

    # Weights

    def _estimate_adjacency_matrix(
        self, X: np.ndarray, prior_knowledge: np.ndarray | None = None
    ) -> "FastDirectLiNGAM":
        """Fit each node on those before it with lingam's adaptive lasso, within the budget."""
        n, d = X.shape
        order = np.array(self._causal_order, dtype=np.int64)
        self._adjacency_matrix = np.zeros((d, d))
        regressions = Regressions(X[:, order])
        for i in range(1, d):
            self._budget.check()
            predictors = order[:i]
            if regressions.well_posed(i):
                weights = regressions.adaptive_lasso(i)
            else:
                if i + 1 >= n:
                    predictors = self._strongest(X, predictors, order[i])
                part = X[:, np.append(predictors, order[i])]
                weights = self._fit_on_rows(part)
            self._adjacency_matrix[order[i], predictors] = weights
            self._n_fitted = i + 1
        return self

    def _fit_on_rows(self, part: np.ndarray) -> np.ndarray:
        """lingam's own adaptive lasso of the last column on the others; constants have no part."""
        varies = part.std(axis=0) > _CONSTANT * np.abs(part).max(axis=0)
        weights = np.zeros(part.shape[1] - 1)
        predictors = np.flatnonzero(varies[:-1])
        # LassoLarsIC needs two more rows than predictors.
        if varies[-1] and 0 < len(predictors) < len(part) - 1:
            weights[predictors] = predict_adaptive_lasso(
                part, predictors.tolist(), part.shape[1] - 1
            )
            self.n_fitted_by_lingam += 1
        return weights

    def _strongest(self, X: np.ndarray, predictors: np.ndarray, target: int) -> np.ndarray:
        """As many predictors as n rows can bear (n / 2), those most correlated with the target."""
        note = "fewer rows than predictors: weights are fitted on the n / 2 most correlated ones"
        if note not in self.notes:
            self.notes.append(note)
        spread = X.std(axis=0)
        scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        strength = np.abs(scaled[:, predictors].T @ scaled[:, target])
        kept = np.argsort(-strength, kind="stable")[: max(1, len(X) // 2)]
        return predictors[np.sort(kept)]


class _Referee:
    """Chooses as lingam does between candidates whose penalties are equal but for rounding.

    lingam takes the smallest of what rounding made of them, so its own arithmetic is repeated on
    its own residuals. Nodes that follow from others are left out by the search and not by lingam;
    where there are any, the first candidate is taken instead.
    """

    def __init__(self, lingam: DirectLiNGAM, values: np.ndarray, budget: Budget) -> None:
        self._lingam, self._budget = lingam, budget
        self._rows = np.copy(values)
        self._n_done = 0

    def choose(self, candidates: np.ndarray, left: np.ndarray, order: list[int]) -> int:
        """The candidate with the smallest penalty in lingam's arithmetic."""
        for chosen in order[self._n_done :]:
            self._budget.check()
            self._n_done += 1
            for one in set(range(self._rows.shape[1])) - set(order[: self._n_done]):
                self._rows[:, one] = self._residual(one, chosen)
        scaled = {}
        for one in left:
            column = self._rows[:, one]
            scaled[one] = (column - np.mean(column)) / np.std(column)
        penalties = [self._penalty(one, scaled) for one in candidates]
        return int(candidates[int(np.argmin(penalties))])

    def _residual(self, one: int, chosen: int) -> np.ndarray:
        """A column without what the chosen one explains."""
        residual: np.ndarray = self._lingam._residual(self._rows[:, one], self._rows[:, chosen])
        return residual

    def _penalty(self, one: int, scaled: dict[int, np.ndarray]) -> float:
        """Sum over all others of min(0, lead)^2."""
        total = 0.0
        for other, column in scaled.items():
            if other != one:
                self._budget.check()
                forward = self._lingam._residual(scaled[one], column)
                backward = self._lingam._residual(column, scaled[one])
                lead = self._lingam._diff_mutual_info(scaled[one], column, forward, backward)
                total += np.min([0, lead]) ** 2
        return total


class _Step:
    """One step of the order search: which of u columns is the most exogenous.

    A candidate's penalty is the sum over all others of min(0, lead)^2, where `lead[i, j]` is the
    difference of mutual information in favour of i -> j. As `lead[j, i] = -lead[i, j]`, a pair is
    computed once for both. The search works in float32 and knows each lead to a margin; a candidate
    is given up when its penalty is above that of a finished one whatever the margins hide. Those
    that are left are compared in float64.
    """

    def __init__(self, columns: np.ndarray, expected: np.ndarray, budget: Budget) -> None:
        self._budget = budget
        scaled = columns / columns.std(axis=1, keepdims=True)
        correlations = scaled @ scaled.T / columns.shape[1]
        # Copies and mirror images (both levels of a feature) lead all others alike: the first of
        # them stands for all, and counts as often in the penalties of others.
        alike = 1 - correlations**2 <= _DETERMINED
        np.fill_diagonal(alike, True)
        first = alike.argmax(axis=1)
        while (first[first] != first).any():  # being alike to a hair's breadth is not transitive
            first = first[first]
        self.members = np.unique(first)
        self._weights = np.bincount(first)[self.members]
        pairs = np.ix_(self.members, self.members)
        self._exact = _Pairs(scaled[self.members], correlations[pairs])
        self._rough = _Pairs(self._exact.scaled.astype(np.float32), correlations[pairs])
        u = len(self.members)
        self.leads = expected[pairs]  # leads of the step before guide the search
        self._margins = np.zeros((u, u))
        self._known = np.eye(u, dtype=bool)
        self._lowest, self._highest = np.zeros(u), np.zeros(u)  # of the penalty so far
        self.n_compared = 0

    def run(self) -> np.ndarray:
        """Positions of the winner and of all candidates too close to it to tell apart."""
        finalists = self._search()
        if len(finalists) > 1:
            finalists = self._refine(finalists)
        return self.members[finalists]

    def _search(self) -> np.ndarray:
        """Candidates that may have the smallest penalty, as far as float32 can tell.

        While a candidate is expected below the best finished one, it is finished; else all that
        are left are compared with whom they are expected to lose against.
        """
        n_partners = 1
        while True:
            complete = self._known.all(axis=1)
            best = self._highest[complete].min(initial=np.inf)
            alive = self._lowest <= best
            unfinished = np.flatnonzero(alive & ~complete)
            if not len(unfinished):
                return np.flatnonzero(alive)
            expected = self._penalties(self.leads[unfinished])
            likely = int(np.argmin(expected))
            if expected[likely] < best:
                others = np.flatnonzero(~self._known[unfinished[likely]])
                self._compare(np.full(len(others), unfinished[likely]), others)
            else:
                self._compare(*self._most_telling(unfinished, n_partners))
                n_partners = min(2 * n_partners, 8)

    def _most_telling(self, unfinished: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """For each candidate its `n` open pairs that are expected to add most to its penalty."""
        open_leads = np.where(self._known[unfinished], np.inf, self.leads[unfinished])
        partners = np.argsort(open_leads, axis=1, kind="stable")[:, :n]
        firsts = np.repeat(unfinished, partners.shape[1])
        seconds = partners.ravel()
        is_open = ~self._known[firsts, seconds]
        low = np.minimum(firsts, seconds)[is_open]
        high = np.maximum(firsts, seconds)[is_open]
        unique = np.unique(low * len(self._known) + high)
        return unique // len(self._known), unique % len(self._known)

    def _compare(self, firsts: np.ndarray, seconds: np.ndarray) -> None:
        """Compute the leads of the given pairs and add them to both candidates' penalties."""
        self._budget.check()
        leads, margins = self._rough.leads(firsts, seconds)
        self.leads[firsts, seconds], self.leads[seconds, firsts] = leads, -leads
        self._margins[firsts, seconds] = self._margins[seconds, firsts] = margins
        self._known[firsts, seconds] = self._known[seconds, firsts] = True
        self.n_compared += len(leads)
        touched = np.unique(np.concatenate([firsts, seconds]))
        known = np.where(self._known[touched], self.leads[touched], np.inf)
        margin = self._margins[touched]
        self._lowest[touched] = self._penalties(known + margin)
        self._highest[touched] = self._penalties(known - margin)

    def _penalties(self, leads: np.ndarray) -> np.ndarray:
        """Penalties of candidates with the given leads, (c, u) -> (c,)."""
        return np.minimum(leads, 0.0) ** 2 @ self._weights

    def _refine(self, finalists: np.ndarray) -> np.ndarray:
        """Those of the finalists whose penalties in float64 are equal but for rounding."""
        penalties = np.full(len(finalists), np.inf)
        for one in np.argsort(self._lowest[finalists], kind="stable"):
            limit = self._equal_up_to(penalties.min())
            penalties[one] = self._exact_penalty(int(finalists[one]), limit)
        return finalists[penalties <= self._equal_up_to(penalties.min())]

    def _equal_up_to(self, penalty: float) -> float:
        """The largest penalty that rounding can make of an equal one."""
        by_leads = 2 * np.sqrt(penalty * self._weights.sum()) * _LEAD_ROUNDING
        return float(penalty * (1 + _CLOSE) + by_leads + 1e-24)

    def _exact_penalty(self, one: int, limit: float) -> float:
        """The penalty of a candidate in float64, or infinity once it is above the limit."""
        lead, margin = self.leads[one], self._margins[one]
        lowest = np.minimum(lead + margin, 0.0)
        doubt = (np.minimum(lead - margin, 0.0) ** 2 - lowest**2) * self._weights
        exact = lowest.copy()
        order = np.argsort(-doubt, kind="stable")[: np.count_nonzero(doubt)]
        for start in range(0, len(order), _REFINED_AT_ONCE):
            self._budget.check()
            part = order[start : start + _REFINED_AT_ONCE]
            exact[part], _ = self._exact.leads(np.full(len(part), one), part)
            self.n_compared += len(part)
            if self._penalties(exact[None])[0] > limit:
                return np.inf
        return float(self._penalties(exact[None])[0])


class _Pairs:
    """Leads between standardised columns, (u, n), in their own precision."""

    def __init__(self, scaled: np.ndarray, correlations: np.ndarray) -> None:
        self.scaled, self._correlations = scaled, correlations
        # Used again and again: fresh memory would cost more than the exponentials.
        self._rows = max(1, _BLOCK_BYTES // (scaled.shape[1] * scaled.itemsize))
        self._buffers = np.empty((2, self._rows, scaled.shape[1]), dtype=scaled.dtype)
        self._own = np.full((2, len(scaled)), np.nan)  # entropies and slopes, when needed

    def leads(self, firsts: np.ndarray, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Differences of mutual information in favour of first -> second, and their margins."""
        needed = np.union1d(firsts, seconds)
        missing = needed[np.isnan(self._own[0, needed])]
        if len(missing):
            self._own[:, missing] = self._in_blocks(self._own_entropies, missing, missing)
        return self._in_blocks(self._leads, firsts, seconds)

    def _in_blocks(
        self,
        function: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
        firsts: np.ndarray,
        seconds: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Apply a function to blocks of pairs that fit the cache."""
        # One thread: numpy calls this short gain nothing from a second one (measured).
        found = [
            function(firsts[start : start + self._rows], seconds[start : start + self._rows])
            for start in range(0, len(firsts), self._rows)
        ]
        return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])

    def _own_entropies(self, firsts: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Entropies of the columns themselves, and their slopes."""
        values, scratch = (one[: len(firsts)] for one in self._buffers)
        # Not mode="raise": it would copy the output array.
        np.take(self.scaled, firsts, axis=0, out=values, mode="clip")
        return _entropies(values, scratch)

    def _leads(self, firsts: np.ndarray, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leads and margins of one block."""
        own, slopes = self._own
        rho = self._correlations[firsts, seconds]
        scale = 1 / np.sqrt(1 - rho * rho)  # residuals get the variance 1
        stretch = scale.astype(self.scaled.dtype)[:, None]
        part = (rho * scale).astype(self.scaled.dtype)[:, None]
        residuals, scratch = (one[: len(firsts)] for one in self._buffers)
        leads = own[seconds] - own[firsts]
        doubt = slopes[seconds] + slopes[firsts]
        for sign, target, source in ((1.0, firsts, seconds), (-1.0, seconds, firsts)):
            np.take(self.scaled, target, axis=0, out=residuals, mode="clip")
            np.take(self.scaled, source, axis=0, out=scratch, mode="clip")
            residuals *= stretch
            scratch *= part
            residuals -= scratch
            entropies, steepness = _entropies(residuals, scratch)
            leads += sign * entropies
            doubt += steepness * scale  # a residual is as much less exact as it was stretched
        # Where the slope is 0, the curvature counts.
        return leads, _MARGIN * doubt + 4 * (_K1 + _K2) * (_MARGIN * scale) ** 2


def _entropies(values: np.ndarray, scratch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entropies of standardised rows by lingam's maximum entropy approximation, (b, n) -> (b,).

    Also by how much an entropy changes at most when each value moves by 1, near the values.
    Overwrites both arguments.
    """
    n = values.shape[1]
    np.square(values, out=scratch)
    scratch *= -0.5
    np.exp(scratch, out=scratch)
    scratch *= values
    # Sums of float32 go pairwise; from there on all is float64.
    skew = scratch.sum(axis=1).astype(np.float64) / n
    np.abs(values, out=values)
    total = values.sum(axis=1).astype(np.float64)
    # log cosh x = |x| + log(1 + exp(-2 |x|)) - log 2; the logs are taken of products of factors
    # in (1, 2], which is one log for many exponentials.
    values *= -2
    np.exp(values, out=values)
    values += 1
    total += _sum_logs(values, scratch)
    bend = total / n - np.log(2) - _GAMMA
    entropies = (1 + np.log(2 * np.pi)) / 2 - _K1 * bend**2 - _K2 * skew**2
    return entropies, 2 * _K1 * np.abs(bend) + 2 * _K2 * np.abs(skew)


def _sum_logs(factors: np.ndarray, scratch: np.ndarray) -> np.ndarray:
    """Row sums of logs of factors in (1, 2]; overwrites both arguments."""
    total = np.zeros(len(factors))
    for _ in range(_FOLDS):
        half, odd = divmod(factors.shape[1], 2)
        if odd:
            total += np.log(factors[:, -1])
        # To and fro between two arrays: numpy copies operands that may overlap the output.
        np.multiply(factors[:, :half], factors[:, half : 2 * half], out=scratch[:, :half])
        factors, scratch = scratch[:, :half], factors
    return total + np.log(factors).sum(axis=1)


def _regress_out(columns: np.ndarray, left: np.ndarray, chosen: int) -> None:
    """Replace the columns in `left` by their residuals on the chosen one, in place."""
    source = columns[chosen]
    slopes = columns[left] @ source / (source @ source)
    columns[left] -= slopes[:, None] * source
    columns[left] -= columns[left].mean(axis=1, keepdims=True)
