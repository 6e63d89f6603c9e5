"""One line per graph: how it was made, what it is like, and the width of its encoding."""

from typing import Any

import pandas as pd

COLUMNS = (
    "dataset", "split", "method", "status", "n_nodes", "n_edges", "density", "entropy", "fiedler",
    "components", "weight_between_features", "seconds",
)  # fmt: skip


def tabulate_graphs(graphs: list[dict[str, Any]], encodings: list[dict[str, Any]]) -> pd.DataFrame:
    """The facts of every graph beside those of its encoding, both as their JSON files hold them."""
    lines = [
        {
            **{column: graph[column] for column in COLUMNS},
            "k": encoding["k"],
            "d_pe": encoding["d_pe"],
            "notes": "; ".join(
                filter(None, [graph["reason"], *graph["warnings"], *encoding["notes"]])
            ),
        }
        for graph, encoding in zip(graphs, encodings, strict=True)
    ]
    return pd.DataFrame(lines)
