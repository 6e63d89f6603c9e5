"""A tiny model with members, tiny tables and tiny cells."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from tabpet.catalog import CatalogRow
from tabpet.data.card import make_card
from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import Split, prepare_split
from tabpet.encodings import encode
from tabpet.files import write_json, write_parquet
from tabpet.graphs.estimate import estimate_graph
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.layout import Layout
from tabpet.settings import PrepareSettings, TrainingSettings
from tabpet.training.cell import TrainingCell
from tabpet.training.table import Table, build_table
from tabpet.training.trainer import Job

CPU = torch.device("cpu")
QUICK = TrainingSettings(learning_rate=1e-2, max_epochs=6, min_epochs=2, patience=2)


class TinyModel(nn.Module):
    """One hidden layer with dropout; alpha shifts what it sees."""

    def __init__(self, alphas, layout: Layout, seed: int = 0, dropout: float = 0.2) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        n_in, n_out = len(layout.numeric) + len(layout.categorical), layout.n_outputs
        for name, shape in {"w1": (n_in, 8), "b1": (1, 8), "w2": (8, n_out)}.items():
            weight = torch.randn(shape, generator=draw) * 0.5
            self.register_parameter(name, nn.Parameter(weight.expand(len(alphas), *shape).clone()))
        self.register_buffer("alphas", torch.tensor(alphas, dtype=torch.float32))
        self.dropout = dropout

    @property
    def n_members(self) -> int:
        return len(self.alphas)

    def n_parameters(self) -> int:
        return sum(one[0].numel() for one in self.parameters())

    def forward(self, numeric, categorical):
        x = torch.cat([numeric, categorical.float()], dim=1)
        x = x + torch.sin(self.alphas)[:, None, None]
        hidden = torch.relu(x @ self.w1 + self.b1)
        if self.training:
            kept = torch.empty(hidden.shape[1:]).bernoulli_(1 - self.dropout)
            hidden = hidden * kept / (1 - self.dropout)
        return hidden @ self.w2

    def given(self, context):
        return self

    @torch.no_grad()
    def keep(self, members):
        for parameter in self.parameters():
            parameter.data = parameter.data[members].clone()
            parameter.grad = None
        self.alphas = self.alphas[members]


def make_split(task: str = "classification", n: int = 90, seed: int = 0) -> Split:
    """Two numeric and one categorical feature; the target follows all of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(rng.choice(["u", "v", "w"], n)),
            "a": rng.normal(5, 3, n),
            "b": rng.normal(size=n),
        }
    )
    signal = (frame["a"] - 5) / 3 + frame["b"] + frame["c"].cat.codes + rng.normal(0, 0.3, n)
    if task == "classification":
        frame["y"] = pd.Categorical(pd.cut(signal, 3, labels=["lo", "mid", "hi"]).astype(str))
    else:
        frame["y"] = 1000 + 50 * signal
    return split_of(frame, "y", task)


def split_of(frame: pd.DataFrame, target: str, task: str, name: str = "toy") -> Split:
    row = CatalogRow(name=name, path="toy.csv", task=task, target=target)
    card = make_card(frame, row, target, "test", [])
    return prepare_split(frame, card, 42, PrepareSettings())


def make_table(split: Split, settings: TrainingSettings = QUICK) -> Table:
    return build_table(split, Layout.of(split.info), settings, CPU)


def make_job(split: Split, settings: TrainingSettings = QUICK, **changes) -> Job:
    """A job that trains the tiny model."""
    layout = Layout.of(split.info)
    values = {
        "build": lambda alphas: TinyModel(alphas, layout),
        "table": make_table(split, settings),
        "settings": settings,
        "batch_size": 16,
        "seed": 3,
        "device": CPU,
        "keep_states": True,
    }
    return Job(**{**values, **changes})


def make_cell(**changes) -> TrainingCell:
    """A cell of a small FT-Transformer."""
    values = {
        "dataset": "toy",
        "split": 42,
        "model": "ft_transformer",
        "encoding": "spearman",
        "seed": 1,
        "alphas": (0.5, 2.0),
        "batch_size": 16,
        "model_settings": FTTransformerSettings(n_layers=1, n_heads=2, width=16),
        "training": TrainingSettings(learning_rate=1e-2, max_epochs=3),
    }
    return TrainingCell(**{**values, **changes})


def write_encoding(split: Split, folder: Path) -> tuple[Path, Path]:
    """The files of the table's Spearman encoding."""
    encoding = encode(estimate_graph(build_node_matrix(split), "spearman"))
    table, info = folder / "spearman.parquet", folder / "spearman.json"
    write_parquet(encoding.to_frame(), table)
    write_json(encoding.to_metadata(), info)
    return table, info


def same_members(ours, theirs, **tolerance) -> None:
    """Assert that two lists of members ended alike, to the last digit unless told otherwise."""
    tolerance = tolerance or {"rtol": 0, "atol": 0}
    for one, other in zip(ours, theirs, strict=True):
        assert (one.alpha, one.status) == (other.alpha, other.status)
        assert (one.best_epoch, one.epochs) == (other.best_epoch, other.epochs)
        for part in ("val", "test"):
            np.testing.assert_allclose(one.outputs[part], other.outputs[part], **tolerance)
        for name, value in one.state.items():
            torch.testing.assert_close(value, other.state[name], **tolerance)
