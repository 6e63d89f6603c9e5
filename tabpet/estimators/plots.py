"""Pictures of a fitted estimator on matplotlib axes."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tabpet.encodings.figure import draw_network
from tabpet.errors import TabpetError
from tabpet.runs import METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 40  # features that are named beside an encoding


class Plots:
    """The pictures that a fitted estimator draws."""

    def plot_graph(self: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw the strongest edges between features; returns matplotlib axes."""
        axes = _axes(self, ax, "graph_")
        draw_network(axes, self.graph_)
        return axes

    def plot_encoding(self: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw the encoding, a row per feature; returns matplotlib axes."""
        axes = _axes(self, ax, "encoding_")
        encoding = self.encoding_
        largest = np.abs(encoding.values).max(initial=1e-12)
        image = axes.imshow(
            encoding.values, aspect="auto", cmap="RdBu_r", vmin=-largest, vmax=largest
        )
        axes.figure.colorbar(image, ax=axes)
        if len(encoding.features) <= _MOST_NAMES:
            axes.set_yticks(range(len(encoding.features)), encoding.features, parse_math=False)
        axes.set_xticks(range(encoding.d_pe), [str(place + 1) for place in range(encoding.d_pe)])
        axes.set_xlabel("column of the encoding")
        axes.set_title(f"{encoding.kind} encoding, k = {encoding.k}")
        return axes

    def plot_history(self: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw the losses of the chosen alpha, the others behind it; returns matplotlib axes."""
        axes = _axes(self, ax, "history_")
        for alpha, curve in self.history_.groupby("alpha"):
            if alpha != self.alpha_:
                axes.plot(curve["epoch"], curve["val_loss"], color="0.85", linewidth=0.8)
        curve = self.history_[self.history_["alpha"] == self.alpha_]
        axes.plot(
            curve["epoch"], curve["train_loss"], color="black", linestyle=":", label="training"
        )
        if curve["val_loss"].notna().any():
            axes.plot(curve["epoch"], curve["val_loss"], color="black", label="validation")
        kept = self.alpha_scores_.loc[self.alpha_scores_["chosen"], "best_epoch"].iloc[0]
        axes.axvline(kept, color="0.5", linewidth=0.8, label="kept")
        axes.set(xlabel="epoch", ylabel="loss", title=f"alpha {self.alpha_:g}")
        axes.legend()
        return axes

    def plot_alphas(self: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw the validation score over alpha, the chosen one marked; returns matplotlib axes."""
        axes = _axes(self, ax, "alpha_scores_")
        scores = self.alpha_scores_
        axes.plot(scores["alpha"], scores["val_score"], color="black", marker="o", markersize=4)
        chosen = scores[scores["chosen"]]
        axes.scatter(chosen["alpha"], chosen["val_score"], s=90, color="none", edgecolor="black")
        axes.set_xscale("symlog", linthresh=0.05)
        metric = METRICS[self._task].replace("_", " ")
        axes.set(xlabel="alpha (0: no encodings)", ylabel=f"validation {metric}")
        return axes


def _axes(estimator: Any, ax: "Axes | None", attribute: str) -> "Axes":
    """The given axes or new ones, once it is clear that there is something to draw."""
    check_is_fitted(estimator, "preparation_")
    if getattr(estimator, attribute) is None:
        raise TabpetError("There is nothing to draw: the estimator has graph='none'.")
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()
