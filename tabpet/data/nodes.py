"""The node matrix that graphs are estimated on: one-hot, standardised, nodes mapped to features."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tabpet.data.prepare import Feature, Split


@dataclass(frozen=True)
class NodeMatrix:
    """Rows of a table as graph nodes; `feature_of[j]` is the index in `features` of node `j`."""

    values: np.ndarray  # (n_rows, n_nodes), float64, zero mean and unit variance per column
    nodes: tuple[str, ...]  # unique node names: a numeric feature's name, or `feature=level`
    features: tuple[str, ...]  # every feature of the table, in column order
    feature_of: np.ndarray  # (n_nodes,), int64
    dropped: tuple[str, ...] = ()  # constant nodes that were left out

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)


def build_node_matrix(
    split: Split,
    rows: Literal["train", "all"] = "train",
    max_rows: int = 5000,
    max_levels: int = 10,
) -> NodeMatrix:
    """One-hot and standardise the rows that the graph may see; constant nodes are left out.

    A feature with more than `max_levels` levels keeps its most frequent `max_levels - 1` and
    pools the others in one node (paper, appendix B.2).
    """
    # NOTE[AUTHORS]: the released code lets the graph see all rows, test rows included.
    frame = split.part("train") if rows == "train" else split.frame
    frame = _sample(frame, split, max_rows)
    columns: list[np.ndarray] = []
    nodes: list[str] = []
    owners: list[int] = []
    dropped: list[str] = []
    for index, feature in enumerate(split.info.features):
        for name, values in _feature_nodes(frame[feature.name].to_numpy(), feature, max_levels):
            if (values == values[0]).all():
                dropped.append(name)
                continue
            columns.append((values - values.mean()) / values.std())
            nodes.append(_unique(name, nodes))
            owners.append(index)
    values = np.column_stack(columns) if columns else np.zeros((len(frame), 0))
    return NodeMatrix(
        values=np.ascontiguousarray(values),
        nodes=tuple(nodes),
        features=tuple(feature.name for feature in split.info.features),
        feature_of=np.array(owners, dtype=np.int64),
        dropped=tuple(dropped),
    )


def _sample(frame: pd.DataFrame, split: Split, max_rows: int) -> pd.DataFrame:
    """At most `max_rows` rows, in table order; stratified for classification where possible."""
    if len(frame) <= max_rows:
        return frame
    order = np.random.default_rng(split.info.split).permutation(len(frame))
    if split.info.task == "classification":
        labels = frame[split.info.target.name].to_numpy()
        order = order[np.argsort(labels[order], kind="stable")]
    # Evenly spaced in an order sorted by class: every class gets its share, up to one row.
    kept = order[np.arange(max_rows) * len(frame) // max_rows]
    return frame.iloc[np.sort(kept)]


def _feature_nodes(
    values: np.ndarray, feature: Feature, max_levels: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Names and values of the nodes of one feature."""
    if feature.kind == "numeric":
        yield feature.name, values.astype("float64")
        return
    counts = np.bincount(values, minlength=feature.unseen + 1)
    present = [code for code in range(len(counts)) if counts[code] > 0]
    names = [*feature.levels, "(unseen)"]
    pooled: list[int] = []
    if len(present) > max_levels:
        by_frequency = sorted(present, key=lambda code: (-counts[code], names[code]))
        pooled = by_frequency[max_levels - 1 :]
    for code in present:
        if code not in pooled:
            yield f"{feature.name}={names[code]}", (values == code).astype("float64")
    if pooled:
        yield f"{feature.name}=(other)", np.isin(values, pooled).astype("float64")


def _unique(name: str, taken: list[str]) -> str:
    """`name`, or with a counter when another feature's node is already called that."""
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}#{number}", number + 1
    return candidate
