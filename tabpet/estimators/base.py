"""What both estimators share: parameters, training, scoring, saving."""

import copy
import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from tabpet.analysis.selection import is_best
from tabpet.catalog import Task
from tabpet.clock import Clock
from tabpet.data.prepare import Split, code_rows, prepare_parts
from tabpet.errors import TableError, TabpetError
from tabpet.estimators import storage
from tabpet.estimators.encoding import Edges, encode_features
from tabpet.estimators.plots import Plots
from tabpet.estimators.rows import read_later_rows, read_table, read_training_rows
from tabpet.models.build import build_model, unusable_reason
from tabpet.models.context import Context
from tabpet.models.layout import Layout
from tabpet.registry import MODELS
from tabpet.section import Section
from tabpet.seeds import derive_seed
from tabpet.settings import (
    PrepareSettings,
    Settings,
    TrainingSettings,
    load_section,
)
from tabpet.training.device import choose_device, numerics
from tabpet.training.progress import live_bar
from tabpet.training.scoring import score_rows
from tabpet.training.table import Table, build_table, feature_tensors
from tabpet.training.trainer import Fitted, Job, Member, fit_members

ALPHAS = tuple(Settings.model_fields["alphas"].default)
LARGEST = float(np.finfo(np.float32).max)
# A row that is asked for can't be dropped, so missing numbers are always imputed.
PREPARE = PrepareSettings(min_complete=1)


@dataclass(eq=False, repr=False)  # scikit-learn reads the signature that it makes
class TabPETEstimator(Plots, BaseEstimator):
    """A transformer whose tokens carry positional encodings from a graph of the features.

    Parameters
    ----------
    backbone: `ft_transformer`, `saint` or `tab_transformer` (two categorical features at least).
    graph: name of a graph estimator (`spearman`, `chow_liu`, ...), edges between features as
        `(name, name)` or `(name, name, weight)` (in an array by place), `none` for no encodings,
        or a control: `random`, `shuffled` or `learnable`, also of a graph that is not Spearman's
        (`lingam-random`).
    alpha: scale of the encodings, or `auto`: all `alphas` are trained together, and the one with
        the best validation score is kept.
    graph_settings, graph_seconds: of the graph estimator, and its time if it takes long.
    encoding_settings: `k_max`, `laplacian` and so on, as in the section `encoding` of a config.
    width, depth, n_heads, attention_dropout, ffn_dropout: of the backbone; None for the paper's.
    epochs, min_epochs, patience, early_stopping: the most epochs, those before early stopping
        counts, and how long it waits. Without it all epochs are trained and the last state is kept.
    validation: share of rows that stop training and choose alpha, unless `fit` is given rows.
    batch_size: rows per step; None for the backbone's own.
    max_seconds: time for `fit`; when it is over, the best state so far is kept with a warning.
    device: `cpu`, `cuda`, or `auto`: a GPU if there is one.
    verbose: show a bar with the best validation score and the time left.

    Attributes
    ----------
    alpha_, alpha_scores_: the alpha in use, and the validation score of every alpha.
    graph_, encoding_: what the tokens carry; None without.
    history_: learning curves, a row per epoch and alpha.
    preparation_: how every feature and the target are coded.
    """

    _task: ClassVar[Task]

    backbone: str = "ft_transformer"
    graph: str | Edges = "spearman"
    alpha: float | Literal["auto"] = "auto"
    _: KW_ONLY
    alphas: Iterable[float] = ALPHAS
    graph_settings: Mapping[str, Any] | None = None
    graph_seconds: float = 300.0
    encoding_settings: Mapping[str, Any] | None = None
    width: int | None = None
    depth: int | None = None
    n_heads: int | None = None
    attention_dropout: float | None = None
    ffn_dropout: float | None = None
    epochs: int = 500
    min_epochs: int = 50
    patience: int = 50
    early_stopping: bool = True
    validation: float = 0.2
    batch_size: int | None = None
    learning_rate: float = 1e-4
    weight_decay: float = 1e-5
    max_seconds: float | None = None
    device: str = "auto"
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    def _read_target(self, y: Any) -> pd.Series:
        """The target of training rows in the raw convention; learns the classes."""
        raise NotImplementedError

    def _read_later_target(self, y: Any) -> pd.Series:
        """The target of validation rows, coded like that of training rows."""
        raise NotImplementedError

    def _weigh_classes(self, table: Table) -> Table:
        """The table with the weights of classes that the parameters ask for."""
        return table

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Estimate the graph, encode it, and train; `X_val`, `y_val` take the place of a share."""
        before = dict(self.__dict__)
        try:
            return self._fit(X, y, sample_weight, X_val, y_val)
        except BaseException as error:
            self.__dict__ = before  # what was fitted is still whole
            if isinstance(error, TabpetError) and not isinstance(error, TableError):
                raise TableError(_name_parameters(str(error))) from None
            raise

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Self:
        clock = Clock(self.max_seconds)
        training, model = self._training_settings(), self._model_settings()
        seed = self._draw_seed()
        features = read_table(self, X, reset=True)
        if y is None:
            raise TableError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, features, ensure_non_negative=True)
        rows = slice(None) if weights is None else weights > 0
        y = np.asarray(y) if not isinstance(y, pd.Series) else y.reset_index(drop=True)
        check_consistent_length(features, y)
        features = features[rows].reset_index(drop=True)
        target = self._read_target(y[rows])
        if len(features) < 2:
            raise TableError(
                f"{len(features)} sample is not enough to learn from: give at least 2."
            )
        validation = self._read_validation(X_val, y_val)
        raw, part, notes = read_training_rows(
            features, target, validation, self._share(validation is not None), seed
        )
        split = prepare_parts(raw, raw.columns[-1], part, dataset="X", seed=seed, settings=PREPARE)
        self._warn(split, notes)
        self.graph_, self.encoding_ = encode_features(
            split,
            self.graph,
            self.graph_settings,
            min(self.graph_seconds, clock.left),
            self.encoding_settings,
            self._columns,
            seed,
        )
        if weights is not None:
            trained = part[: len(features)] == "train"
            weights = weights[rows].astype(np.float64)[trained]
            weights = weights / weights.mean()
        self._train(split, weights, seed, training, model, clock)
        return self

    def save(self, path: Path | str) -> None:
        """Write the fitted estimator as one safetensors file without code."""
        check_is_fitted(self, "preparation_")
        storage.save(self, Path(path))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read what `save` wrote; no device but the CPU is needed."""
        return storage.load(cls, Path(path))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _draw_seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            if not 0 <= self.random_state < 2**32:
                raise TableError(
                    f"random_state is {self.random_state}; a seed is from 0 to {2**32 - 1}."
                )
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _training_settings(self) -> TrainingSettings:
        values = {
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
            "max_epochs": self.epochs,
            "min_epochs": self.min_epochs,
            "patience": self.patience,
            "max_seconds": self.max_seconds,
        }
        for name in ("graph_settings", "encoding_settings"):
            settings = getattr(self, name)
            if settings is not None and not isinstance(settings, Mapping):
                raise TableError(f"{name} is {settings!r}; it is a mapping of names to values.")
        rows, seconds = self.batch_size, self.graph_seconds
        if rows is not None and not (isinstance(rows, Integral) and rows >= 1):
            raise TableError(f"batch_size is {rows!r}; it is a number of rows, or None.")
        if not (isinstance(seconds, Real) and seconds > 0):
            raise TableError(f"graph_seconds is {seconds!r}; it is a number above 0.")
        return load_section(TrainingSettings, values, "The estimator")

    def _model_settings(self) -> Section:
        section = MODELS.find(str(self.backbone)).settings
        wishes = {
            "width": self.width,
            "n_layers" if "n_layers" in section.model_fields else "depth": self.depth,
            "n_heads": self.n_heads,
            "attention_dropout": self.attention_dropout,
            "ffn_dropout": self.ffn_dropout,
        }
        given = {name: wish for name, wish in wishes.items() if wish is not None}
        return load_section(section, given, f"The backbone {self.backbone}")

    @property
    def _chooses(self) -> bool:
        """Whether alpha is chosen on validation rows."""
        return isinstance(self.alpha, str) and self.alpha == "auto"

    def _share(self, given: bool) -> float | None:
        """The share of rows to validate on; None where rows are given or none are needed."""
        if given or not (self.early_stopping or self._chooses):
            return None
        if not (isinstance(self.validation, Real) and 0 < self.validation < 1):
            raise TableError(
                f"validation is {self.validation!r}; it is the share of rows that stop training "
                "and choose alpha, between 0 and 1. To do without, set early_stopping=False and a "
                "number for alpha."
            )
        return self.validation

    def _read_validation(self, X_val: Any, y_val: Any) -> tuple[pd.DataFrame, pd.Series] | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            raise TableError("X_val and y_val belong together: one of them is missing.")
        check_consistent_length(X_val, y_val)
        return read_table(self, X_val, reset=False), self._read_later_target(y_val)

    def _warn(self, split: Split, reading: list[str]) -> None:
        dropped = [f"{name}: left out, {why}" for name, why in split.info.dropped_features.items()]
        for text in (*reading, *dropped, *split.info.warnings):
            warnings.warn(text, UserWarning, stacklevel=4)

    def _candidates(self) -> tuple[float, ...]:
        """The alphas that are trained together; 0, the model without encodings, is the first."""
        if self.encoding_ is None:
            return (0.0,)
        given = self.alphas if self._chooses else [self.alpha]
        if self._chooses and self.encoding_.is_trained:
            given = [1.0]  # it finds its own scale
        try:
            alphas = [float(alpha) for alpha in given]
        except (TypeError, ValueError):
            alphas = []
        if not alphas or not all(np.isfinite(alpha) and alpha >= 0 for alpha in alphas):
            raise TableError(
                f"alpha is {self.alpha!r} and alphas {self.alphas!r}; alpha is a number that is "
                "not negative, or 'auto' to choose from such numbers in alphas."
            )
        return tuple(sorted({0.0, *alphas})) if self._chooses else tuple(alphas)

    def _train(
        self,
        split: Split,
        weights: np.ndarray | None,
        seed: int,
        training: TrainingSettings,
        model: Section,
        clock: Clock,
    ) -> None:
        """Train a member per alpha, as a cell of the workflow does, and keep the chosen one."""
        device = self._find_device()
        layout = Layout.of(split.info)
        usual_batch = MODELS.find(self.backbone).batch_size(len(layout.features))
        if reason := unusable_reason(self.backbone, layout, model, self.encoding_):
            raise TableError(reason)
        table = build_table(split, layout, training, device)
        train = table.parts["train"]
        if weights is not None:
            train = replace(train, weight=torch.tensor(weights, dtype=torch.float32).to(device))
        table = self._weigh_classes(replace(table, parts={**table.parts, "train": train}))
        alphas = self._candidates()
        bar = live_bar(self.epochs) if self.verbose else nullcontext(lambda _: None)
        with numerics(training, device), bar as progress:
            job = Job(
                build=partial(
                    build_model,
                    self.backbone,
                    layout,
                    model,
                    self.encoding_,
                    seed=derive_seed(seed, "weights"),
                ),
                table=table,
                settings=training,
                batch_size=self.batch_size or usual_batch,
                seed=seed,
                device=device,
                clock=clock,
                progress=progress,
                keep_states=True,
                early_stopping=self.early_stopping,
            )
            fitted = fit_members(job, alphas)
        chosen = self._choose(fitted, table)
        self.preparation_, self._imputer = split.info, split.imputer
        self.history_ = fitted.curves
        self.n_parameters_ = chosen.n_parameters
        assert chosen.state is not None
        alone = {name: weight[None] for name, weight in chosen.state.items()}
        self._model = storage.with_weights(job.build([chosen.alpha]), alone)
        # Training rows stay with a model that looks at them, and with no other.
        kept = slice(None) if self._model.needs_context else slice(0)
        self._context = Context(
            job.context.numeric[kept].cpu(), job.context.categorical[kept].cpu()
        )
        self._rows_at_once = job.batch_size
        # Parameters may be set anew after training; these are the ones the model was built with.
        self._backbone, self._backbone_settings = self.backbone, model

    def _choose(self, fitted: Fitted, table: Table) -> Member:
        """The member with the best validation score; of equals the smallest alpha, never 0."""
        members = [member for member in fitted.members if member.state is not None]
        if not members:
            first = fitted.members[0]
            advice = "Lower learning_rate or alpha, or look for enormous values."
            if first.status == "timeout":
                advice = "Raise max_seconds, or make epochs shorter: fewer alphas, less width."
            elif first.status == "oom":
                advice = "Make the model smaller: fewer alphas, less width, a smaller batch_size."
            reason = first.reason or first.status
            raise TableError(f"No model could be trained: {reason}. {advice}")
        frame = pd.DataFrame(
            {
                "alpha": member.alpha,
                "val_score": table.score(table.parts["val"].truth, member.predicted["val"])
                if member.predicted
                else np.nan,
                "best_epoch": member.best_epoch,
                "epochs": member.epochs,
                "status": member.status,
            }
            for member in members
        )
        if len(fitted.members) > 1:  # also when all but one of them failed
            frame["chosen"] = is_best(frame.assign(task=table.task, place=0), "val_score")
        else:
            frame["chosen"] = True
        if not frame["chosen"].any():
            raise TableError("Of all alphas, only 0 (no encodings) could be trained.")
        self.alpha_scores_ = frame
        chosen = members[int(np.flatnonzero(frame["chosen"])[0])]
        if chosen.status != "ok" or chosen.reason:
            warnings.warn(f"{chosen.status}: {chosen.reason}", UserWarning, stacklevel=5)
        self.alpha_ = chosen.alpha
        return chosen

    def _find_device(self) -> torch.device:
        if self.device == "auto":
            return choose_device()
        try:
            return torch.zeros(1, device=self.device).device
        except (RuntimeError, AssertionError) as error:
            raise TableError(f"device {self.device!r} can't be used: {error}") from None

    def _score_rows(self, X: Any) -> np.ndarray:
        """Outputs of the model, (rows, n_outputs), float64.

        In double precision, so that not even rounding depends on the other rows.
        """
        check_is_fitted(self, "preparation_")
        features = read_table(self, X, reset=False)
        learned = self.preparation_.features
        levels = {
            feature.name: feature.levels if feature.kind == "categorical" else None
            for feature in learned
        }
        with np.errstate(over="ignore"):
            coded = code_rows(read_later_rows(features, levels), learned, self._imputer)
        for feature in learned:
            name = feature.name
            if feature.kind == "numeric":  # beyond single precision there is but infinity
                coded[name] = coded[name].clip(-LARGEST, LARGEST)
            elif len(coded) > 1 and (coded[name] == feature.unseen).all():
                warnings.warn(
                    f"{name}: none of its values was there in training, where it had "
                    f"{', '.join(map(repr, feature.levels[:3]))}",
                    UserWarning,
                    stacklevel=3,
                )
        numeric, categorical = feature_tensors(coded, Layout.of(self.preparation_))
        # A model that was trained elsewhere is used on what is here.
        device = choose_device() if self.device != "cpu" else torch.device("cpu")
        model = copy.deepcopy(self._model).to(device).double()
        context = Context(
            self._context.numeric.to(device).double(), self._context.categorical.to(device)
        )
        outputs = score_rows(
            model, numeric.to(device).double(), categorical.to(device), context, self._rows_at_once
        )
        return outputs[0].cpu().numpy()


def _name_parameters(text: str) -> str:
    """An error about settings, which are parameters here, some of them by another name."""
    for setting, parameter in (("max_epochs", "epochs"), ("n_layers", "depth")):
        text = text.replace(f"`{setting}`", f"`{parameter}`")
    return text
