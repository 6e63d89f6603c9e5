"""The method as scikit-learn estimators: the workflow's preparation, graph, encoding and trainer."""

from tabpet.estimators.classifier import TabPETClassifier
from tabpet.estimators.regressor import TabPETRegressor

__all__ = ["TabPETClassifier", "TabPETRegressor"]
