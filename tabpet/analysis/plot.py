"""What all figures share: a palette that survives grey, axes, empty figures, and saving."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from tabpet.files import write_text
from tabpet.formats import tick

# The page gives each of these another value in the dark, so nothing is drawn in other colours.
INK, SOFT, RULE, PAPER = "#1d2730", "#5f6c77", "#d9dfe4", "#ffffff"
MAIN, WARM, PALE = "#14556b", "#b5651d", "#8fa9b5"
SHADES = ("#f4f7f8", "#d5e2e7", "#adc7d1", "#7fa8b7", "#4f8599", "#14556b")  # light to dark
# Told apart by marker and line as well, for readers without colour.
SERIES = (MAIN, WARM, PALE, INK, SOFT, "#4f8599")
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))

STYLE: dict[Any, Any] = {
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "text.color": INK,
    "text.parse_math": False,  # a dataset's name may hold dollar signs
    "svg.fonttype": "none",  # text can be searched, read aloud and is a third of the size
    "svg.hashsalt": "tabpet",  # the same ids in every process
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
_LONGEST_NAME = 24
_MOST_LABELS = 16  # of two digits, below one of two panels
# Ticks of an axis that is linear up to a number and compressed beyond it.
_INNER_TICKS = {1: (0.5, 1), 3: (1, 2, 3), 10: (5, 10)}
_OUTER_TICKS = (3, 10, 30, 100, 300, 1000)


@dataclass(frozen=True)
class Drawing:
    """A figure and the numbers behind it."""

    figure: Figure
    numbers: pd.DataFrame


@dataclass(frozen=True)
class Mark:
    """What the points of a series look like, and what the legend calls them."""

    label: str
    face: str
    edge: str
    size: float = 20
    marker: str = "o"

    def draw(self, axes: Axes, x: pd.Series, y: pd.Series | np.ndarray) -> None:
        """Draw a point per pair of numbers."""
        colours: dict[str, Any] = {"facecolor": self.face, "edgecolor": self.edge}
        look = {"marker": self.marker, "linewidth": 1.1, "zorder": 3, **colours}
        axes.scatter(x, y, self.size, label=self.label, **look)


def panel_grid(
    width: float, height: float, rows: Sequence[str], columns: Sequence[str], **shared: Any
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """A figure with a panel for every row and column, by their names."""
    figure = Figure(figsize=(width, height))
    panels = figure.subplots(len(rows), len(columns), squeeze=False, **shared)
    return figure, dict(zip(product(rows, columns), panels.flat, strict=True))


def style() -> Any:
    """The project's style, as a context."""
    return matplotlib.rc_context(STYLE)


def draw(drawer: Callable[..., Drawing], *data: Any) -> Drawing:
    """What a function draws of some data; missing results become a figure that says so."""
    with style():
        try:
            return drawer(*data)
        except NothingToDraw as nothing:
            return empty_drawing(str(nothing))


class NothingToDraw(Exception):
    """The results that a figure needs were not run; the message says which."""


def empty_drawing(reason: str) -> Drawing:
    """A figure with one sentence in its middle: why there is nothing else."""
    figure = Figure(figsize=(7, 1.1))
    figure.text(0.5, 0.5, reason, ha="center", va="center", color=SOFT, fontsize=10, wrap=True)
    return Drawing(figure, pd.DataFrame({"reason": [reason]}))


def save_drawing(drawing: Drawing, folder: Path, name: str) -> None:
    """Write `{name}.svg` and, beside it, `{name}.csv`."""
    write_text(svg_text(drawing.figure), folder / f"{name}.svg")
    write_text(drawing.numbers.to_csv(index=False), folder / f"{name}.csv")


def svg_text(figure: Figure) -> str:
    """A figure as SVG: the same figure gives the same text."""
    buffer = StringIO()
    with style():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def series(place: int) -> tuple[str, str, Any]:
    """Colour, marker and line of a series; they repeat after the sixth."""
    place %= len(SERIES)
    return SERIES[place], MARKERS[place], LINES[place]


def line(axes: Axes, x: Any, y: Any, place: int, label: str, **style: Any) -> None:
    """The line of a series, with its marks."""
    color, marker, linestyle = series(place)
    axes.plot(x, y, color=color, linestyle=linestyle, marker=marker, label=label, **style)


def mean_curve(
    axes: Axes, x: np.ndarray, values: pd.DataFrame, place: int, label: str, *, band: bool = True
) -> None:
    """The mean over the rows of `values` with a mark at every x, and one deviation around it."""
    mean, spread = values.mean(), values.std(ddof=1)
    line(axes, x, mean, place, label, markersize=4, zorder=3)
    if band and len(values) > 1:
        color, _, _ = series(place)
        axes.fill_between(x, mean - spread, mean + spread, color=color, alpha=0.12, linewidth=0)


def step_axis(axes: Axes, values: Sequence[float], label: str) -> None:
    """An x axis with the same room for every value; of many, not every one is labelled."""
    every = -(-len(values) // _MOST_LABELS)
    labels = [f"{value:g}" if place % every == 0 else "" for place, value in enumerate(values)]
    axes.set_xticks(range(len(values)), labels)
    axes.set_xlabel(label)


def shorten(name: str) -> str:
    """A dataset's name that fits beside an axis."""
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def percent_axis(
    axes: Axes, which: Literal["x", "y"], values: Sequence[float] | pd.DataFrame, label: str
) -> None:
    """Mark zero, label ticks in percent, and compress the ends when a few values lie far out."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.axvline if which == "x" else axes.axhline)(0, color=INK, linewidth=0.9, zorder=1.5)
    linear = _linear_range(np.asarray(values, dtype=float))
    if linear is not None:
        set_scale = axes.set_xscale if which == "x" else axes.set_yscale
        set_scale("symlog", linthresh=linear, linscale=1.3)
        axes.autoscale_view(scalex=which == "x", scaley=which == "y")  # margins of this scale
        ticks = [*_INNER_TICKS[linear], *(t for t in _OUTER_TICKS if t > linear)]
        axis.set_major_locator(FixedLocator(sorted({0, *ticks, *(-t for t in ticks)})))
        axis.set_minor_locator(NullLocator())
        label += f"{' ' if which == 'x' else chr(10)}(compressed beyond ±{linear})"
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axis.set_label_text(label)
    axes.grid(axis=which)


def _linear_range(values: np.ndarray) -> int | None:
    """Up to where an axis is linear; None when all of it can be."""
    sizes = np.abs(values[np.isfinite(values)])
    if not len(sizes):
        return None
    usual = float(np.quantile(sizes, 0.75))
    # The nearest of the sizes that have ticks, on a logarithmic scale.
    linear = min(_INNER_TICKS, key=lambda size: abs(np.log(size / max(usual, 1e-9))))
    return linear if sizes.max() > 4 * linear else None


def named_lines(axes: Axes, labels: Sequence[str]) -> None:
    """A y axis of names, the first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def box(axes: Axes, values: np.ndarray, place: float, fill: str, edge: str, width: float) -> None:
    """A horizontal box with a thick median; a hollow one shows its outliers."""
    if not len(values):
        return
    axes.boxplot(
        [values],
        positions=[place],
        widths=width,
        orientation="horizontal",
        patch_artist=True,
        showfliers=fill == "none",  # a filled box has all its points
        manage_ticks=False,
        boxprops={"facecolor": fill, "edgecolor": edge},
        medianprops={"color": INK, "linewidth": 2, "solid_capstyle": "butt"},
        whiskerprops={"color": edge},
        capprops={"color": edge},
        flierprops={"marker": "o", "markersize": 3, "markeredgecolor": edge, "alpha": 0.8},
        zorder=2,
    )


def dots(axes: Axes, values: np.ndarray, place: float, size: float, width: float) -> None:
    """All values of a box as points."""
    at = place + spread_points(values, width)
    axes.scatter(values, at, s=size, color=MAIN, linewidth=0, zorder=3)


def square(axes: Axes, x: float, y: float, colour: str, opacity: float = 1.0) -> None:
    """A filled square of a matrix, apart from its neighbours."""
    fill = (colour, opacity)
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=fill, edgecolor=PAPER))


def centred(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """A text in the middle of its place."""
    axes.text(x, y, text, ha="center", va="center", **style)


def legend_below(
    figure: Figure, handles: Sequence[Any] = (), columns: int = 3, **style: Any
) -> None:
    """One legend for all panels: the given handles, or those of the first panel.

    It has fewer columns where so many are wider than the figure.
    """
    handles = handles or figure.axes[0].get_legend_handles_labels()[0]
    renderer = FigureCanvasAgg(figure).get_renderer()
    for ncols in range(columns, 0, -1):
        legend = figure.legend(handles=handles, loc="outside lower center", ncols=ncols, **style)
        if ncols == 1 or legend.get_window_extent(renderer).width <= figure.bbox.width:
            return
        legend.remove()


def spread_points(values: np.ndarray, width: float) -> np.ndarray:
    """Offsets that keep points apart and are the same in every run: by rank, low-discrepancy."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return width * (2 * ((ranks * 0.618034) % 1) - 1)


def count_axis(axes: Axes) -> None:
    """A logarithmic x axis for counts, in whole numbers; a short one has labels at 2 and 5 too."""

    def between(value: float, _: int) -> str:
        low, high = axes.get_xlim()
        return f"{value:,.0f}" if high < 100 * low and f"{value:.0e}"[0] in "25" else ""

    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(between))
