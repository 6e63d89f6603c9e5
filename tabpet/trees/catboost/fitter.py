"""CatBoost on category codes, which it turns into target statistics by itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoost, Pool  # type: ignore[import-untyped]
from catboost.utils import get_gpu_device_count  # type: ignore[import-untyped]

from tabpet.errors import TabpetError
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import Fit, Watch, score_fit
from tabpet.trees.table import Sample, Table

_WATCHED = "validation"
# With weights that balance the classes, accuracy is balanced accuracy.
_BALANCED_ACCURACY = "Accuracy:use_weights=true"


class CatBoostFitter:
    """CatBoost on one table. A level that no training row has is a category without statistics."""

    def __init__(self, table: Table, settings: TreeSettings, seed: int, threads: int) -> None:
        if settings.device == "cuda":
            check_gpu(settings)
        self._table, self._settings = table, settings
        loss = _loss(table)
        by_score = settings.stopping == "score" and table.task == "classification"
        self._metric = _BALANCED_ACCURACY if by_score else loss
        self._parameters: dict[str, Any] = {
            "loss_function": loss,
            "eval_metric": self._metric,
            "iterations": settings.rounds,
            "use_best_model": True,
            "task_type": "GPU" if settings.device == "cuda" else "CPU",
            "thread_count": threads,
            "random_seed": seed,
            "allow_writing_files": False,
            "logging_level": "Silent",
            **_detector(settings),
        }
        self._train = self._labelled(table.training_rows(settings.balanced))
        self._stop = self._labelled(table.stopping_rows(settings.stopping, settings.balanced))
        self._parts = {part: self._pool(table.values[part]) for part in ("val", "test")}

    def fit(self, parameters: Mapping[str, Any], watch: Watch) -> Fit:
        """Fit one set of parameters; the round that validation rows like best is kept."""
        model = CatBoost({**self._parameters, **parameters})
        # CatBoost has no callbacks on a GPU: there, the clock is read between trials alone.
        on_cpu = self._settings.device == "cpu"
        callbacks = [_Watcher(watch, self._metric)] if on_cpu else None
        model.fit(self._train, eval_set=self._stop, callbacks=callbacks)
        trained = len(model.get_evals_result()[_WATCHED][self._metric])

        def predict(part: str) -> np.ndarray:
            if self._table.task == "regression":
                return model.predict(self._parts[part])
            return model.predict(self._parts[part], prediction_type="Probability")

        return score_fit(self._table, predict, self._settings.balanced, model.tree_count_, trained)

    def _labelled(self, sample: Sample) -> Pool:
        return self._pool(sample.values, label=sample.target, weight=sample.weight)

    def _pool(self, values: np.ndarray, **labels: np.ndarray) -> Pool:
        columns = self._table.categorical
        frame = pd.DataFrame(values).astype(dict.fromkeys(columns, "int32"))
        return Pool(frame, cat_features=columns, **labels)


class _Watcher:
    """Passes each round on to a watch."""

    def __init__(self, watch: Watch, metric: str) -> None:
        self._watch, self._metric = watch, metric

    def after_iteration(self, info: Any) -> bool:
        """Tell the watch about a round; False ends the training."""
        value = info.metrics[_WATCHED][self._metric][-1]
        error = 1 - value if self._metric == _BALANCED_ACCURACY else value
        return not self._watch(info.iteration, error)


def check_gpu(settings: TreeSettings) -> None:
    """Refuse what CatBoost can't do on this machine's GPU, or without one."""
    if get_gpu_device_count() == 0:
        raise TabpetError(
            "trees.device is cuda, but CatBoost finds no GPU here. Set `trees: {device: cpu}`, or "
            "run the job where `nvidia-smi` lists a GPU."
        )
    if settings.prune:
        raise TabpetError(
            "CatBoost can't be watched on a GPU, so its trials can't be pruned there. Set "
            "`trees: {prune: false}` or `trees: {device: cpu}`."
        )


def _loss(table: Table) -> str:
    if table.task == "regression":
        return "RMSE"
    return "Logloss" if len(table.classes) == 2 else "MultiClass"


def _detector(settings: TreeSettings) -> dict[str, Any]:
    # NOTE[PAPER]: the text has 50 rounds of patience and a p-value, but CatBoost knows one or the
    # other: given both, the p-value alone decides.
    if settings.od_pval is not None:
        return {"od_type": "IncToDec", "od_pval": settings.od_pval}
    return {"od_type": "Iter", "od_wait": settings.patience}
