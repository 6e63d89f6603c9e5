"""XGBoost on category codes: histograms with its own splits of categories into two sets."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xgboost as xgb

from tabpet.errors import TabpetError
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import Fit, Watch, score_fit
from tabpet.trees.table import Sample, Table

_WATCHED = "val"


class XGBoostFitter:
    """XGBoost on one table. Features have no names there, so that no name can be refused."""

    def __init__(self, table: Table, settings: TreeSettings, seed: int, threads: int) -> None:
        if settings.device == "cuda":
            check_gpu()
        self._table, self._settings, self._threads = table, settings, threads
        objective, metrics = _objective(table)
        self._metric = metrics[settings.stopping]
        self._parameters: dict[str, Any] = {
            "objective": objective,
            "eval_metric": self._metric,
            "tree_method": "hist",
            "device": settings.device,
            "nthread": threads,
            "seed": seed,
            "verbosity": 1,
        }
        if objective == "multi:softprob":
            self._parameters["num_class"] = len(table.classes)
        self._train = self._labelled(table.training_rows(settings.balanced))
        self._stop = self._labelled(table.stopping_rows(settings.stopping, settings.balanced))
        self._parts = {part: self._matrix(table.values[part]) for part in ("val", "test")}

    def fit(self, parameters: Mapping[str, Any], watch: Watch) -> Fit:
        """Fit one set of parameters; the round that validation rows like best is kept."""
        patience = xgb.callback.EarlyStopping(
            rounds=self._settings.patience, metric_name=self._metric, data_name=_WATCHED
        )
        booster = xgb.train(
            {**self._parameters, **parameters},
            self._train,
            num_boost_round=self._settings.rounds,
            evals=[(self._stop, _WATCHED)],
            callbacks=[patience, _Watcher(watch, self._metric)],
            verbose_eval=False,
        )
        rounds = booster.best_iteration + 1

        def predict(part: str) -> np.ndarray:
            output = booster.predict(self._parts[part], iteration_range=(0, rounds))
            if self._table.task == "regression" or output.ndim == 2:
                return output
            return np.stack([1 - output, output], axis=1)

        trained = booster.num_boosted_rounds()
        return score_fit(self._table, predict, self._settings.balanced, rounds, trained)

    def _labelled(self, sample: Sample) -> xgb.DMatrix:
        matrix = self._matrix(sample.values)
        matrix.set_info(label=sample.target, weight=sample.weight)
        return matrix

    def _matrix(self, values: np.ndarray) -> xgb.DMatrix:
        """Levels that no training row has are missing values, which take a split's default way."""
        categorical = self._table.levels > 0
        unseen = categorical & (values >= self._table.levels)
        return xgb.DMatrix(
            np.where(unseen, np.nan, values),
            feature_types=["c" if is_code else "q" for is_code in categorical],
            enable_categorical=True,
            nthread=self._threads,
        )


class _Watcher(xgb.callback.TrainingCallback):
    """Passes each round on to a watch."""

    def __init__(self, watch: Watch, metric: str) -> None:
        self._watch, self._metric = watch, metric

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Tell the watch about a round."""
        return self._watch(epoch + 1, evals_log[_WATCHED][self._metric][-1])


def check_gpu() -> None:
    """Refuse `device: cuda` where XGBoost would quietly train on the CPU."""
    probe = xgb.DMatrix(np.array([[0.0], [1.0]]), label=np.array([0.0, 1.0]))
    booster = xgb.train({"device": "cuda", "verbosity": 0}, probe, num_boost_round=1)
    used = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
    if not used.startswith("cuda"):
        raise TabpetError(
            "trees.device is cuda, but XGBoost finds no GPU here. Set `trees: {device: cpu}`, or "
            "run the job where `nvidia-smi` lists a GPU."
        )


def _objective(table: Table) -> tuple[str, dict[str, str]]:
    """What is trained for, and by `stopping` the metric that stops it."""
    if table.task == "regression":
        return "reg:squarederror", {"score": "rmse", "loss": "rmse"}
    # With weights that balance the classes, the error rate is 1 - balanced accuracy.
    if len(table.classes) == 2:
        return "binary:logistic", {"score": "error", "loss": "logloss"}
    return "multi:softprob", {"score": "merror", "loss": "mlogloss"}
