"""Statistics over datasets. Every result says how many datasets it used and what was decided."""

from tabpet.stats.comparison import Comparison, bayesian_signed_rank, bootstrap, compare
from tabpet.stats.improvement import (
    Summary,
    WinRate,
    higher_wins,
    improvement,
    relative_difference,
    summarize,
    win_rate,
)
from tabpet.stats.mixed import Limits, MixedModel, fit_mixed_model, limit_gains
from tabpet.stats.outliers import OutlierExclusion, exclude_outliers
from tabpet.stats.pairwise import PairwiseComparison, compare_pairs, holm
from tabpet.stats.ranks import CriticalDifference, Ranks, critical_difference, rank_methods
from tabpet.stats.signed_rank import hodges_lehmann, wilcoxon
from tabpet.stats.verdict import (
    Answer,
    ControlDecision,
    Difference,
    Evidence,
    ModelDecision,
    Outcome,
    fewest_datasets,
    judge,
)
