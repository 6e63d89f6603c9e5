"""scikit-learn's own checks of an estimator, on tiny models."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tabpet.estimators import TabPETClassifier, TabPETRegressor

TINY = {
    "alpha": 0.5,
    "width": 16,
    "depth": 1,
    "n_heads": 2,
    "attention_dropout": 0.0,
    "ffn_dropout": 0.0,
    "epochs": 10,
    "learning_rate": 1e-2,
    "encoding_settings": {"k_max": 2},
    "device": "cpu",
    "random_state": 0,
}


# Batches and validation rows are drawn row by row, and scaling and graph count rows: a row of
# weight 2 is not the same as two rows.
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": "rows are drawn, not weights"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [TabPETClassifier(**TINY), TabPETRegressor(**TINY)],
    expected_failed_checks=lambda _: EXPECTED,
    xfail_strict=True,
)
def test_check(estimator, check):
    check(estimator)
