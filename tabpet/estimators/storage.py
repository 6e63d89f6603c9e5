"""A fitted estimator as one safetensors file: arrays, and everything else as JSON in its header.

Nothing in the file is code, so a file from a stranger can do no harm.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from tabpet.data.imputer import Imputer
from tabpet.data.prepare import SplitInfo
from tabpet.encodings import Encoding
from tabpet.errors import TabpetError
from tabpet.files import replacing
from tabpet.graphs.graph import Graph
from tabpet.models.build import build_model
from tabpet.models.context import Context
from tabpet.models.layout import Layout
from tabpet.registry import MODELS
from tabpet.settings import load_section

KEY, FORMAT = "tabpet", 2
_IMPUTER = ("means", "places", "slopes", "offsets")
Some = TypeVar("Some")


def save(estimator: Any, path: Path) -> None:
    """Write the file, whole or not at all."""
    tensors = {f"model.{name}": weight for name, weight in estimator._model.named_parameters()}
    if estimator._model.needs_context:
        tensors["context.numeric"] = estimator._context.numeric
        tensors["context.categorical"] = estimator._context.categorical
    if estimator._imputer is not None:
        for name in _IMPUTER:
            tensors[f"imputer.{name}"] = torch.from_numpy(getattr(estimator._imputer, name))
    facts = {
        "format": FORMAT,
        "class": type(estimator).__name__,
        "parameters": _plain_parameters(estimator.get_params()),
        "backbone": estimator._backbone,
        "backbone_settings": estimator._backbone_settings.model_dump(mode="json"),
        "preparation": estimator.preparation_.model_dump(mode="json"),
        "alpha": estimator.alpha_,
        "n_parameters": estimator.n_parameters_,
        "rows_at_once": estimator._rows_at_once,
        "n_features": estimator.n_features_in_,
        "columns": estimator._columns,
        "feature_names": _listed(getattr(estimator, "feature_names_in_", None)),
        "classes": _listed(getattr(estimator, "classes_", None)),
        "history": _columns(estimator.history_),
        "alpha_scores": _columns(estimator.alpha_scores_),
        "graph": None,
        "encoding": None,
    }
    if estimator.graph_ is not None:
        facts["graph"] = [_columns(estimator.graph_.edges()), estimator.graph_.to_metadata()]
    if estimator.encoding_ is not None:
        encoding = estimator.encoding_
        facts["encoding"] = [_columns(encoding.to_frame()), encoding.to_metadata()]
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        text = json.dumps(facts, default=_in_json)
        temporary.write_bytes(to_bytes(stored, metadata={KEY: text}))


def load(kind: type[Some], path: Path) -> Some:
    """Read the file of an estimator of this class."""
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get(KEY, "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise TabpetError(f"There is no file {path}.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise TabpetError(f"{path} is not a saved estimator: {error}") from None
    if facts is None or facts.get("format") != FORMAT:
        raise TabpetError(f"{path} was not written by this version's `save`.")
    if facts["class"] != kind.__name__:
        raise TabpetError(f"{path} holds a {facts['class']}: use {facts['class']}.load.")
    try:
        return _restore(kind, facts, tensors)
    except (LookupError, TypeError, ValueError, RuntimeError) as error:
        raise TabpetError(f"{path} was not written by this version's `save`: {error}") from error


def _restore(
    kind: type[Some], facts: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
) -> Some:
    """The estimator that a file describes."""
    estimator: Any = kind(**_given_parameters(facts["parameters"]))
    estimator.preparation_ = SplitInfo.model_validate(facts["preparation"])
    estimator.alpha_, estimator.n_parameters_ = facts["alpha"], facts["n_parameters"]
    estimator._rows_at_once = facts["rows_at_once"]
    estimator.n_features_in_, estimator._columns = facts["n_features"], facts["columns"]
    estimator._backbone = facts["backbone"]
    estimator._backbone_settings = load_section(
        MODELS.find(estimator._backbone).settings, facts["backbone_settings"], "The backbone"
    )
    for name, attribute in (("feature_names", "feature_names_in_"), ("classes", "classes_")):
        if facts[name] is not None:
            setattr(estimator, attribute, _array(facts[name]))
    estimator.history_ = pd.DataFrame(facts["history"])
    estimator.alpha_scores_ = pd.DataFrame(facts["alpha_scores"])
    estimator.graph_ = estimator.encoding_ = None
    if facts["graph"] is not None:
        edges, metadata = facts["graph"]
        estimator.graph_ = Graph.from_edges(pd.DataFrame(edges), metadata)
    if facts["encoding"] is not None:
        values, metadata = facts["encoding"]
        estimator.encoding_ = Encoding.from_frame(pd.DataFrame(values), metadata)
    _restore_model(estimator, tensors)
    return estimator


def _restore_model(estimator: Any, tensors: Mapping[str, torch.Tensor]) -> None:
    layout = Layout.of(estimator.preparation_)
    model = build_model(
        estimator._backbone,
        layout,
        estimator._backbone_settings,
        estimator.encoding_,
        [estimator.alpha_],
        seed=0,  # its draws are overwritten
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model.{name}"])
    estimator._model = model.eval()
    nothing = Context(
        torch.zeros(0, len(layout.numeric)),
        torch.zeros(0, len(layout.categorical), dtype=torch.int64),
    )
    if "context.numeric" in tensors:
        nothing = Context(tensors["context.numeric"], tensors["context.categorical"])
    estimator._context = nothing
    estimator._imputer = None
    if "imputer.means" in tensors:
        arrays = {name: tensors[f"imputer.{name}"].numpy() for name in _IMPUTER}
        estimator._imputer = Imputer(**arrays)


def _plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them: frames and mappings as lists; a generator has no such form."""
    plain = dict(parameters)
    if isinstance(plain["graph"], pd.DataFrame):
        plain["graph"] = plain["graph"].to_numpy().tolist()
    elif not isinstance(plain["graph"], str):
        plain["graph"] = [[_plain(value) for value in edge] for edge in plain["graph"]]
    plain["alphas"] = [float(alpha) for alpha in plain["alphas"]]
    if isinstance(plain.get("class_weight"), Mapping):
        plain["class_weight"] = [
            [_plain(label), float(weight)] for label, weight in plain["class_weight"].items()
        ]
    if isinstance(plain["random_state"], np.random.RandomState):
        plain["random_state"] = None
    return {name: _plain(value) for name, value in plain.items()}


def _given_parameters(plain: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {**plain, "alphas": tuple(plain["alphas"])}
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(map(tuple, parameters["class_weight"]))
    return parameters


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _in_json(value: Any) -> Any:
    """What a parameter holds that JSON has not: numbers of numpy, a device of torch."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


def _listed(array: np.ndarray | None) -> dict[str, Any] | None:
    if array is None:
        return None
    return {"dtype": array.dtype.str, "values": array.tolist()}


def _array(listed: Mapping[str, Any]) -> np.ndarray:
    return np.array(listed["values"], dtype=listed["dtype"])


def _columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """A frame as lists; every number keeps all its digits."""
    return {str(name): frame[name].tolist() for name in frame}
