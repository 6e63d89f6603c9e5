"""DirectLiNGAM of the `lingam` package with a fast search for the causal order.

The search gives the order of `lingam.DirectLiNGAM` (Shimizu et al. 2011, Hyvarinen and Smith
2013); the weights along the order are those of its adaptive lasso.
"""

import re
import warnings
from collections import Counter

import numpy as np
from lingam import DirectLiNGAM
from lingam.utils import predict_adaptive_lasso

from tabpet.clock import Clock
from tabpet.graphs.methods._regressions import Regressions

# The sections named here are those of docs/lingam.md.

# "Dependent nodes": a node whose residual keeps less than this share of its variance is a linear
# combination of the nodes before it (the last level of a one-hot group, a copied column); two nodes
# whose squared correlation leaves less than this are copies or mirror images of each other.
_DETERMINED = 1e-10

# "Rounding": error of a standardised column, here and in lingam together, in units of 2^-53. The
# first is for standardising, residuals of pairs and means, the second for each regression before.
_UNIT = 2.0**-53
_UNITS_OF_A_LEAD = 512
_UNITS_OF_A_REGRESSION = 64

# Pairs of columns are compared in blocks of this size, so that memory stays small.
_BLOCK_BYTES = 1 << 20

# Spread, as a share of the largest value, below which a column is constant.
_CONSTANT = 1e-12

_K1, _K2, _GAMMA = 79.047, 7.4129, 0.37457  # entropy approximation, as in lingam


class FastDirectLiNGAM(DirectLiNGAM):
    """DirectLiNGAM whose order search compares only the pairs that can change the outcome."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or Clock()
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
            f"{warning.category.__name__}: {re.split('[.,]', str(warning.message))[0][:100]}"
            for warning in caught
        )
        self.notes += [f"{count} x {kind}" for kind, count in sorted(kinds.items())]

    # Order

    def _find_order(self, values: np.ndarray) -> list[int]:
        """The causal order: again and again the most exogenous column, then residuals on it."""
        columns = np.array(values.T, order="C")  # a copy, in which a column of X is contiguous
        columns -= columns.mean(axis=1, keepdims=True)
        spreads = columns.std(axis=1)
        spreads[spreads == 0] = 1.0  # of which a constant column keeps nothing
        left = np.arange(len(columns))
        least_kept = 1.0  # by a chosen column, of its spread
        order: list[int] = []
        determined: list[int] = []
        leads = np.zeros((len(columns), len(columns)))
        referee = _Referee(self, values, self._clock)
        while len(left):
            self._clock.check()
            kept = columns[left].std(axis=1) / spreads[left]
            varies = kept**2 > _DETERMINED
            determined += left[~varies].tolist()
            left, kept = left[varies], kept[varies]
            if not len(left):
                break
            errors = _column_errors(np.minimum(kept, least_kept), n_regressions=len(order))
            step = _OrderStep(columns[left], errors, leads[np.ix_(left, left)], self._clock)
            finalists = left[step.run()]
            chosen = int(finalists[0])
            if len(finalists) > 1 and not determined and len(step.members) == len(left):
                chosen = referee.choose(finalists, left, order)
            compared = left[step.members]
            leads[np.ix_(compared, compared)] = step.leads
            self.n_compared += step.n_compared
            self.n_pairs += len(left) * (len(left) - 1) // 2
            order.append(chosen)
            least_kept = min(least_kept, kept[left == chosen].item())
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
            self._clock.check()
            predictors = order[:i]
            if regressions.well_posed(i):
                weights = regressions.adaptive_lasso(i)
            else:
                if i + 1 >= n:
                    predictors = self._strongest(X, predictors, order[i])
                columns = X[:, np.append(predictors, order[i])]
                weights = self._fit_on_rows(columns)
            self._adjacency_matrix[order[i], predictors] = weights
            self._n_fitted = i + 1
        return self

    def _fit_on_rows(self, columns: np.ndarray) -> np.ndarray:
        """lingam's own adaptive lasso of the last column on the others; constants are left out."""
        varies = columns.std(axis=0) > _CONSTANT * np.abs(columns).max(axis=0)
        weights = np.zeros(columns.shape[1] - 1)
        predictors = np.flatnonzero(varies[:-1])
        # LassoLarsIC needs two more rows than predictors.
        if varies[-1] and 0 < len(predictors) < len(columns) - 1:
            weights[predictors] = predict_adaptive_lasso(
                columns, predictors.tolist(), columns.shape[1] - 1
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


def _column_errors(kept: np.ndarray, n_regressions: int) -> np.ndarray:
    """Bounds on the rounding in standardised residuals that keep a share of their spread."""
    return (_UNITS_OF_A_LEAD + _UNITS_OF_A_REGRESSION * n_regressions) * _UNIT / kept


class _Referee:
    """Chooses as lingam does between candidates whose penalties are equal but for rounding.

    lingam takes the smallest of what rounding made of them, so its own arithmetic is repeated on
    its own residuals. Nodes that follow from others are left out by the search and not by lingam;
    where there are any, the first candidate is taken instead.
    """

    def __init__(self, lingam: DirectLiNGAM, values: np.ndarray, clock: Clock) -> None:
        self._lingam, self._clock = lingam, clock
        self._rows = np.copy(values)
        self._n_regressed = 0

    def choose(self, candidates: np.ndarray, left: np.ndarray, order: list[int]) -> int:
        """The candidate with the smallest penalty in lingam's arithmetic."""
        for chosen in order[self._n_regressed :]:
            self._clock.check()
            self._n_regressed += 1
            source = self._rows[:, chosen]
            for node in set(range(self._rows.shape[1])) - set(order[: self._n_regressed]):
                self._rows[:, node] = self._lingam._residual(self._rows[:, node], source)
        scaled = {}
        for node in left:
            column = self._rows[:, node]
            scaled[node] = (column - np.mean(column)) / np.std(column)
        penalties = [self._penalty(candidate, scaled) for candidate in candidates]
        return int(candidates[int(np.argmin(penalties))])

    def _penalty(self, candidate: int, scaled: dict[int, np.ndarray]) -> float:
        """Sum over all others of min(0, lead)^2."""
        own, total = scaled[candidate], 0.0
        for node, column in scaled.items():
            if node != candidate:
                self._clock.check()
                forward = self._lingam._residual(own, column)
                backward = self._lingam._residual(column, own)
                lead = self._lingam._diff_mutual_info(own, column, forward, backward)
                total += np.min([0, lead]) ** 2
        return total


class _OrderStep:
    """One step of the order search: which of some columns, (u, n), is the most exogenous.

    A candidate's penalty is the sum over all others of min(0, lead)^2, where `leads[i, j]` is the
    difference of mutual information in favour of i -> j. As `leads[j, i] = -leads[i, j]`, a pair is
    computed once for both. Each lead is known to a margin of rounding; a candidate is given up
    when its penalty is above that of a finished one whatever the margins hide (docs/lingam.md).
    """

    def __init__(
        self, columns: np.ndarray, errors: np.ndarray, expected: np.ndarray, clock: Clock
    ) -> None:
        self._clock = clock
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
        self._multiplicities = np.bincount(first)[self.members]
        pairs = np.ix_(self.members, self.members)
        self._pairs = _Pairs(scaled[self.members], correlations[pairs], errors[self.members])
        u = len(self.members)
        self.leads = expected[pairs]  # leads of the step before guide the search
        self._margins = np.zeros((u, u))
        self._known = np.eye(u, dtype=bool)
        self._lowest, self._highest = np.zeros(u), np.zeros(u)  # of the penalty so far
        self.n_compared = 0

    def run(self) -> np.ndarray:
        """Positions of all columns whose penalty may be the smallest; few, and mostly one.

        While a candidate is expected below the best finished one, it is finished; else each that
        is left is compared with the column against which it is expected to lose most.
        """
        while True:
            complete = self._known.all(axis=1)
            best = self._highest[complete].min(initial=np.inf)
            alive = self._lowest <= best
            unfinished = np.flatnonzero(alive & ~complete)
            if not len(unfinished):
                return self.members[alive]
            expected = self._penalties(self.leads[unfinished])
            likely = unfinished[np.argmin(expected)]
            if expected.min() < best:
                others = np.flatnonzero(~self._known[likely])
                self._compare(np.full(len(others), likely), others)
            else:
                self._compare(*self._most_telling(unfinished))

    def _most_telling(self, unfinished: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The open pair of each candidate that is expected to add most to its penalty."""
        open_leads = np.where(self._known[unfinished], np.inf, self.leads[unfinished])
        partners = open_leads.argmin(axis=1)
        pairs = np.sort(np.column_stack([unfinished, partners]), axis=1)
        firsts, seconds = np.unique(pairs, axis=0).T
        return firsts, seconds

    def _compare(self, firsts: np.ndarray, seconds: np.ndarray) -> None:
        """Compute the leads of the given pairs and add them to both candidates' penalties."""
        self._clock.check()
        leads, margins = self._pairs.leads(firsts, seconds)
        self.leads[firsts, seconds], self.leads[seconds, firsts] = leads, -leads
        self._margins[firsts, seconds] = self._margins[seconds, firsts] = margins
        self._known[firsts, seconds] = self._known[seconds, firsts] = True
        self.n_compared += len(leads)
        touched = np.unique(np.concatenate([firsts, seconds]))
        known = np.where(self._known[touched], self.leads[touched], np.inf)
        self._lowest[touched] = self._penalties(known + self._margins[touched])
        self._highest[touched] = self._penalties(known - self._margins[touched])

    def _penalties(self, leads: np.ndarray) -> np.ndarray:
        """Penalties of candidates with the given leads, (c, u) -> (c,)."""
        return np.minimum(leads, 0.0) ** 2 @ self._multiplicities


class _Pairs:
    """Leads between standardised columns, (u, n), that are known to errors, (u,)."""

    def __init__(self, scaled: np.ndarray, correlations: np.ndarray, errors: np.ndarray) -> None:
        self._scaled, self._correlations, self._errors = scaled, correlations, errors
        self._entropies, slopes = _entropies(scaled.copy())
        self._margins = slopes * errors

    def leads(self, firsts: np.ndarray, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Differences of mutual information in favour of first -> second, and their margins."""
        size = max(1, _BLOCK_BYTES // self._scaled[0].nbytes)
        blocks = [
            self._leads(firsts[start : start + size], seconds[start : start + size])
            for start in range(0, len(firsts), size)
        ]
        leads, margins = np.concatenate(blocks, axis=1)
        return leads, margins

    def _leads(self, firsts: np.ndarray, seconds: np.ndarray) -> np.ndarray:
        """Leads and margins of one block, (2, b)."""
        x, y = self._scaled[firsts], self._scaled[seconds]
        rho = self._correlations[firsts, seconds]
        forward, forward_slopes = _entropies(x - rho[:, None] * y)
        backward, backward_slopes = _entropies(y - rho[:, None] * x)
        leads = self._entropies[seconds] + forward - self._entropies[firsts] - backward
        # An error is as much larger in a residual as that is stretched to the variance 1.
        errors = (self._errors[firsts] + self._errors[seconds]) / np.sqrt(1 - rho * rho)
        margins = self._margins[firsts] + self._margins[seconds]
        margins += (forward_slopes + backward_slopes) * errors
        margins += 4 * (_K1 + _K2) * errors**2  # where the slopes are 0, the curvature counts
        return np.stack([leads, margins])


def _entropies(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entropies of centred rows scaled to variance 1, by lingam's approximation, (b, n) -> (b,).

    Also their slopes: by how much an entropy changes at most, to first order, when each value of
    the scaled row moves by 1. Overwrites its argument: fresh memory costs as much as the functions.
    """
    terms = values**2
    variances = terms.mean(axis=1, keepdims=True)
    values /= np.sqrt(variances)
    terms *= -0.5 / variances
    np.exp(terms, out=terms)
    terms *= values
    skew = terms.mean(axis=1)
    # log cosh x = |x| + log(1 + exp(-2 |x|)) - log 2 does not overflow.
    np.abs(values, out=values)
    bend = values.mean(axis=1) - np.log(2) - _GAMMA
    values *= -2
    np.exp(values, out=values)
    np.log1p(values, out=values)
    bend += values.mean(axis=1)
    entropies = (1 + np.log(2 * np.pi)) / 2 - _K1 * bend**2 - _K2 * skew**2
    return entropies, 2 * _K1 * np.abs(bend) + 2 * _K2 * np.abs(skew)


def _regress_out(columns: np.ndarray, left: np.ndarray, chosen: int) -> None:
    """Replace the columns in `left` by their residuals on the chosen one, in place."""
    source = columns[chosen]
    slopes = columns[left] @ source / (source @ source)
    columns[left] -= slopes[:, None] * source
    columns[left] -= columns[left].mean(axis=1, keepdims=True)
