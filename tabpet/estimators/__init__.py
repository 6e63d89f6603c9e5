"""The method as scikit-learn estimators, on the same code as the workflow."""

from tabpet.estimators.classifier import TabPETClassifier
from tabpet.estimators.regressor import TabPETRegressor

__all__ = ["TabPETClassifier", "TabPETRegressor"]
