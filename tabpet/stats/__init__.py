"""Statistics over datasets. Every result says how many datasets it used and what was decided."""

from tabpet.stats.bayes import BayesianSignedRank, bayesian_signed_rank
from tabpet.stats.bootstrap import BootstrapInterval, bootstrap
from tabpet.stats.compare import Comparison, compare
from tabpet.stats.corrections import holm
from tabpet.stats.improvement import (
    Summary,
    WinRate,
    higher_wins,
    improvement,
    relative_difference,
    summarize,
    win_rate,
)
from tabpet.stats.mixed import Coefficient, Limits, MixedModel, fit_mixed_model, limit_gains
from tabpet.stats.outliers import OutlierExclusion, exclude_outliers
from tabpet.stats.pairwise import Pair, PairwiseComparison, compare_pairs
from tabpet.stats.ranks import CriticalDifference, Ranks, critical_difference, rank_methods
from tabpet.stats.signed_rank import HodgesLehmann, Wilcoxon, hodges_lehmann, wilcoxon
from tabpet.stats.verdict import (
    Answer,
    ControlDecision,
    Difference,
    Evidence,
    ModelDecision,
    Outcome,
    Verdict,
    fewest_datasets,
    judge,
)

__all__ = [
    "Answer",
    "BayesianSignedRank",
    "BootstrapInterval",
    "Coefficient",
    "Comparison",
    "ControlDecision",
    "CriticalDifference",
    "Difference",
    "Evidence",
    "HodgesLehmann",
    "Limits",
    "MixedModel",
    "ModelDecision",
    "Outcome",
    "OutlierExclusion",
    "Pair",
    "PairwiseComparison",
    "Ranks",
    "Summary",
    "Verdict",
    "Wilcoxon",
    "WinRate",
    "bayesian_signed_rank",
    "bootstrap",
    "compare",
    "compare_pairs",
    "critical_difference",
    "exclude_outliers",
    "fewest_datasets",
    "fit_mixed_model",
    "higher_wins",
    "hodges_lehmann",
    "holm",
    "improvement",
    "judge",
    "limit_gains",
    "rank_methods",
    "relative_difference",
    "summarize",
    "wilcoxon",
    "win_rate",
]
