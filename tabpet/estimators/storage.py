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
from tabpet.models.members import MemberModel
from tabpet.registry import MODELS
from tabpet.settings import load_section

KEY, FORMAT = "tabpet", 2
# Attributes of a fitted estimator by their keys in the file: as they are, arrays and frames.
_PLAIN = {
    "backbone": "_backbone",
    "alpha": "alpha_",
    "n_parameters": "n_parameters_",
    "rows_at_once": "_rows_at_once",
    "n_features": "n_features_in_",
    "columns": "_columns",
}
_ARRAYS = {"feature_names": "feature_names_in_", "classes": "classes_"}
_FRAMES = {"history": "history_", "alpha_scores": "alpha_scores_"}
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
        "backbone_settings": estimator._backbone_settings.model_dump(mode="json"),
        "preparation": estimator.preparation_.model_dump(mode="json"),
        "graph": None,
        "encoding": None,
        **{key: getattr(estimator, name) for key, name in _PLAIN.items()},
        **{key: getattr(estimator, name).to_dict("list") for key, name in _FRAMES.items()},
    }
    for key, name in _ARRAYS.items():
        array = getattr(estimator, name, None)
        facts[key] = array if array is None else {"dtype": array.dtype.str, "values": array}
    if estimator.graph_ is not None:
        graph = estimator.graph_
        facts["graph"] = [graph.edges().to_dict("list"), graph.to_metadata()]
    if estimator.encoding_ is not None:
        encoding = estimator.encoding_
        facts["encoding"] = [encoding.to_frame().to_dict("list"), encoding.to_metadata()]
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
    for key, name in _PLAIN.items():
        setattr(estimator, name, facts[key])
    for key, name in _FRAMES.items():
        setattr(estimator, name, pd.DataFrame(facts[key]))
    for key, name in _ARRAYS.items():
        if facts[key] is not None:
            setattr(estimator, name, np.array(facts[key]["values"], dtype=facts[key]["dtype"]))
    estimator.preparation_ = SplitInfo.model_validate(facts["preparation"])
    estimator._backbone_settings = load_section(
        MODELS.find(estimator._backbone).settings, facts["backbone_settings"], "The backbone"
    )
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
    estimator._model = with_weights(
        model, {name: tensors[f"model.{name}"] for name, _ in model.named_parameters()}
    )
    estimator._context = Context(
        tensors.get("context.numeric", torch.zeros(0, len(layout.numeric))),
        tensors.get("context.categorical", torch.zeros(0, len(layout.categorical)).long()),
    )
    estimator._imputer = None
    if "imputer.means" in tensors:
        arrays = {name: tensors[f"imputer.{name}"].numpy() for name in _IMPUTER}
        estimator._imputer = Imputer(**arrays)


def with_weights(model: MemberModel, weights: Mapping[str, torch.Tensor]) -> MemberModel:
    """The model with these parameters, to predict with."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return model.eval()


def _plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them: frames and mappings as lists; a generator has no such form."""
    plain = dict(parameters)
    if isinstance(plain["graph"], pd.DataFrame):
        plain["graph"] = plain["graph"].to_numpy().tolist()
    elif not isinstance(plain["graph"], str):
        plain["graph"] = [list(edge) for edge in plain["graph"]]
    plain["alphas"] = [float(alpha) for alpha in plain["alphas"]]
    if isinstance(plain.get("class_weight"), Mapping):
        plain["class_weight"] = [
            [label, float(weight)] for label, weight in plain["class_weight"].items()
        ]
    if isinstance(plain["random_state"], np.random.RandomState):
        plain["random_state"] = None
    return plain


def _given_parameters(plain: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {**plain, "alphas": tuple(plain["alphas"])}
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(map(tuple, parameters["class_weight"]))
    return parameters


def _in_json(value: Any) -> Any:
    """What a parameter holds that JSON has not: numbers of numpy, a device of torch."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)
