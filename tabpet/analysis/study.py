"""What a study found, in the forms in which it is shown: sentences, tables, figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tabpet.analysis import plot
from tabpet.analysis.plot import Drawing, save_drawing
from tabpet.analysis.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Study:
    """A section of the page: what was asked, what came out, and the evidence."""

    name: str
    title: str
    lines: tuple[str, ...]
    tables: tuple[Table, ...]
    drawings: Mapping[str, Drawing]

    def write(self, folder: Path) -> None:
        """Write every table and figure into `tables` and `figures` below a folder."""
        for table in self.tables:
            table.write(folder / "tables")
        for name, drawing in self.drawings.items():
            save_drawing(drawing, folder / "figures", name)


def draw_styled(drawers: Mapping[str, Callable[[], Drawing]]) -> dict[str, Drawing]:
    """What drawing functions make, in the project's style, or why there is nothing to draw."""
    import matplotlib

    def draw(drawer: Callable[[], Drawing]) -> Drawing:
        try:
            return drawer()
        except plot.NothingToDraw as nothing:
            return plot.empty_drawing(str(nothing))

    with matplotlib.rc_context(plot.STYLE):
        return {name: draw(drawer) for name, drawer in drawers.items()}


def alpha_axis(axes: "Axes", alphas: list[float]) -> None:
    """An x axis with the same room for every alpha."""
    axes.set_xticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    axes.set_xlabel("alpha")


def mean_curve(
    axes: "Axes", x: np.ndarray, values: pd.DataFrame, place: int, label: str, *, band: bool = True
) -> None:
    """The mean over the rows of `values` with a mark at every x, and one deviation around it."""
    mean, spread = values.mean(), values.std(ddof=1)
    color, marker, line = plot.series(place)
    axes.plot(x, mean, color=color, linestyle=line, marker=marker, markersize=4, label=label,
              zorder=3)  # fmt: skip
    if band and len(values) > 1:
        low, high = mean - spread, mean + spread
        axes.fill_between(x, low, high, color=color, alpha=0.12, linewidth=0)
