"""A figure per encoding: the network of its graph and the spectrum from which k is chosen."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabpet.encodings.encoding import Encoding
from tabpet.encodings.k_selection import HIGH, LOW
from tabpet.files import replacing
from tabpet.graphs.graph import Graph
from tabpet.graphs.laplacian import laplacian_matrix, symmetric_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EDGES_PER_FEATURE = 2  # strongest edges shown, so that dense graphs stay readable
_MOST_EDGES = 160
_MOST_LABELS = 30
_MOST_KAMADA_KAWAI = 200
_LONGEST_LABEL = 18


def plot_graph(graph: Graph, encoding: Encoding | None = None, dataset: str = "") -> "Figure":
    """Draw the strongest edges between features and the spectrum with the chosen k."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.5), layout="constrained")
    network, spectrum = figure.subplots(1, 2, width_ratios=(3, 2))
    draw_network(network, graph)
    _draw_spectrum(spectrum, graph, encoding)
    state = "" if graph.status == "ok" else f" ({graph.status})"
    name = f"{dataset}, {graph.method} graph" if dataset else f"{graph.method} graph"
    figure.suptitle(f"{name}{state}: {graph.n_nodes} nodes, {graph.n_edges} edges")
    return figure


def save_svg(figure: "Figure", path: Path) -> None:
    """Write a figure as SVG: the same figure gives the same file, whole or not at all."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "tabpet"}), replacing(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})


def feature_weights(graph: Graph) -> np.ndarray:
    """Weights between features, (n_features, n_features): the strongest of their nodes' edges."""
    weights = symmetric_weights(graph.adjacency)
    folded = np.zeros((len(graph.features), len(graph.features)))
    owners = graph.feature_of
    np.maximum.at(folded, (owners[:, None], owners[None, :]), weights)
    np.fill_diagonal(folded, 0.0)
    return folded


def draw_network(axes: "Axes", graph: Graph) -> None:
    """Features as points, the strongest edges as lines, wider and darker with weight."""
    from matplotlib.collections import LineCollection

    weights = feature_weights(graph)
    n = len(weights)
    rows, columns, strengths, n_all = _strongest_edges(weights)
    positions = _layout(n, rows, columns)
    share = strengths / strengths.max() if len(strengths) else strengths
    lines = LineCollection(
        list(np.stack([positions[rows], positions[columns]], axis=1)),
        linewidths=(0.5 + 2.5 * share).tolist(),
        colors=[str(0.75 - 0.65 * strength) for strength in share],
        zorder=1,
    )
    axes.add_collection(lines)
    degrees = weights.sum(axis=1)
    relative = degrees / degrees.max() if degrees.any() else degrees
    axes.scatter(
        positions[:, 0],
        positions[:, 1],
        s=(20 + 60 * relative) * (1 if n <= 60 else 0.5),
        color="white",
        edgecolor="black",
        linewidth=0.8,
        zorder=2,
    )
    n_labels = _label_features(axes, graph.features, positions, degrees)
    shown = f"strongest {len(rows)} of {n_all}" if len(rows) < n_all else f"all {n_all}"
    labelled = "" if n_labels == n else f"; {n_labels} strong features named"
    axes.set_title(f"{n} features, {shown} edges between them{labelled}", fontsize=9)
    axes.margins(0.12)
    axes.set_axis_off()


def _strongest_edges(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Ends and weights of the edges to draw, weakest first, and how many there are in all."""
    rows, columns = np.nonzero(np.triu(weights, 1))
    strengths = weights[rows, columns]
    # A spanning tree is always shown whole.
    n_shown = max(min(_EDGES_PER_FEATURE * len(weights), _MOST_EDGES), len(weights) - 1)
    kept = np.argsort(-strengths, kind="stable")[:n_shown][::-1]
    return rows[kept], columns[kept], strengths[kept], len(rows)


def _layout(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Positions (n, 2): connected features by forces, those without a drawn edge on a ring."""
    import networkx as nx

    drawn = nx.Graph()
    linked = np.union1d(rows, columns).tolist()
    drawn.add_nodes_from(linked)
    drawn.add_edges_from(zip(rows.tolist(), columns.tolist(), strict=True))
    positions = np.zeros((n, 2))
    if linked:
        positions[linked] = list(_spread_components(drawn).values())
    alone = np.setdiff1d(np.arange(n), linked)
    # Half a step of offset keeps ring positions off the axes, where long names collide.
    angles = 2 * np.pi * (np.arange(len(alone)) + 0.5) / max(1, len(alone))
    radius = 1.25 if linked else 1.0
    positions[alone] = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return positions


def _spread_components(drawn: Any) -> dict[int, np.ndarray]:
    """Kamada-Kawai layout; components are far apart but not infinitely so.

    Its time grows with more than the cube of the nodes, so large graphs get a spring layout.
    """
    import networkx as nx

    if len(drawn) > _MOST_KAMADA_KAWAI:
        return nx.spring_layout(drawn, seed=0, iterations=50)
    distances = dict(nx.all_pairs_shortest_path_length(drawn))
    longest = max(max(reached.values()) for reached in distances.values())
    full = {a: {b: distances[a].get(b, longest + 1) for b in drawn.nodes} for a in drawn.nodes}
    return nx.kamada_kawai_layout(drawn, dist=full)


def _label_features(
    axes: "Axes", features: Sequence[str], positions: np.ndarray, degrees: np.ndarray
) -> int:
    """Name the strongest features above their points, where there is room; return how many."""
    named: list[int] = []
    # Many small points leave less room for names than few large ones.
    room = np.array([0.16, 0.05]) if len(features) > _MOST_LABELS else np.zeros(2)
    for feature in np.argsort(-degrees, kind="stable"):
        if len(named) == _MOST_LABELS:
            break
        if named and (np.abs(positions[named] - positions[feature]) < room).all(axis=1).any():
            continue
        named.append(int(feature))
        name = features[feature]
        short = name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"
        axes.annotate(
            short,
            positions[feature],
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=7,
            zorder=3,
            parse_math=False,  # a name may hold dollar signs
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "alpha": 0.7, "linewidth": 0},
        )
    return len(named)


def _draw_spectrum(axes: "Axes", graph: Graph, encoding: Encoding | None) -> None:
    """Eigenvalues of the normalized Laplacian; those that count towards the encoding are filled."""
    from matplotlib.ticker import MaxNLocator

    weights = symmetric_weights(graph.adjacency)
    values = np.linalg.eigvalsh(laplacian_matrix(weights, "normalized"))
    ranks = np.arange(1, len(values) + 1)
    axes.axhspan(LOW, HIGH, color="0.92", zorder=0, label="left out of the choice of k")
    size = 22 if len(values) <= 60 else 9
    axes.scatter(ranks, values, s=size, facecolor="white", edgecolor="0.3", linewidth=0.8)
    if encoding is not None and len(values) > 2:
        k = encoding.k
        low, high = slice(1, k + 1), slice(max(len(values) - k, 0), None)
        axes.scatter(
            ranks[low], values[low], s=size, color="black", label=f"k = {k} lowest after the first"
        )
        axes.scatter(
            ranks[high], values[high], s=size, color="black", marker="^", label=f"k = {k} highest"
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("eigenvalue number")
    axes.set_ylabel("eigenvalue of the normalized Laplacian")
    axes.set_ylim(-0.05, 2.05)
    axes.legend(fontsize=7, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
