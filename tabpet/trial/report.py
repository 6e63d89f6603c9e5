"""The outcome of a trial as a table, a sentence and a page; the decision is made elsewhere."""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tabpet.data.card import Card
from tabpet.data.own import describe_target
from tabpet.encodings.figure import plot_graph
from tabpet.formats import count, percent, percent_words
from tabpet.stats.improvement import improvement
from tabpet.stats.splits import FEWEST, SplitTest
from tabpet.trial.experiment import ENCODED, PLAIN, RANDOM, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORDER = (PLAIN, ENCODED, RANDOM)
_SENTENCES = {
    "better than random": "On this table encodings help: {plain}, and {random}.",
    "better": "On this table encodings help: {plain}. Random encodings are no part of this answer.",
    "no better than random": "On this table encodings help, but not by their graph: {plain}, and "
    "random encodings can't be told from them ({random}).",
    "unclear": "On this table encodings make no difference that can be told from noise: {plain}.",
    "worse": "On this table encodings do harm: {plain}.",
    "too few": "{splits} of this table can't tell whether encodings help: at least {fewest} are "
    "needed. {advice} {plain}.",
}


def describe_columns(card: Card) -> pd.DataFrame:
    """How every column was read: kind, different and missing values, the first levels."""
    return pd.DataFrame(
        [
            {
                "column": column.name,
                "read as": column.kind,
                "values": column.distinct,
                "missing": column.missing,
                "levels": ", ".join((column.levels or [])[:4])
                + (", ..." if column.levels and column.distinct > 4 else ""),
            }
            for column in card.columns
        ]
    )


@dataclass(frozen=True)
class Line:
    """One learner over the splits."""

    learner: str
    score: float  # mean over splits
    sd: float  # NaN for one split
    splits: int
    better: float  # percent better than the plain transformer, mean over splits


def tabulate(outcome: Outcome) -> list[Line]:
    """Transformers first, then the others by name."""
    wide = outcome.scores.pivot_table(index="split", columns="learner", values="test_score")
    names = [*_ORDER, *sorted(set(outcome.scores["learner"]) - set(_ORDER))]
    return [
        Line(
            learner=name,
            score=float(wide[name].mean()),
            sd=float(wide[name].std(ddof=1)),
            splits=int(wide[name].notna().sum()),
            better=float(np.nanmean(improvement(outcome.card.task, wide[PLAIN], wide[name]))),
        )
        for name in names
        if name in wide
    ]


def sentence(outcome: Outcome) -> str:
    """Whether encodings help on this table, as the statistics decided."""
    verdict = outcome.verdict
    direction = "higher" if outcome.card.task == "classification" else "lower"
    plain = f"the {outcome.metric} is {_words(verdict.plain, direction)} than without"
    if verdict.answer == "too few":
        plain = f"So far {plain}"
    random = ""
    if verdict.random is not None:
        random = f"{_words(verdict.random, direction)} than with random ones of the same width"
    splits = count(outcome.splits, "split")
    enough = outcome.plan.splits >= FEWEST
    advice = "Give it more time (--minutes)." if enough else "Allow more of them (--splits)."
    return _SENTENCES[verdict.answer].format(
        plain=plain, random=random, splits=splits, fewest=FEWEST, advice=advice
    )


def _words(test: SplitTest, direction: str) -> str:
    """`1.2 % higher (95 % interval 0.3 to 2.1, 5 splits)`."""
    other = {"higher": "lower", "lower": "higher"}[direction]
    word = direction if not test.mean < 0 else other
    size = percent_words(abs(test.mean)).lstrip("+")
    if test.splits < 2:
        return f"{size} {word} (one split, so no interval)"
    return (
        f"{size} {word} (95 % interval of the gain {percent(test.low)} to {percent(test.high)}, "
        f"{test.splits} splits)"
    )


def render_page(outcome: Outcome) -> str:
    """One self-contained HTML file: answer, scores, curves, graph, how the table was read."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tabpet.trial"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("page.html").render(
        name=outcome.card.dataset,
        sentence=sentence(outcome),
        target=describe_target(outcome.card),
        metric=outcome.metric,
        lines=tabulate(outcome),
        percent=percent,
        columns=describe_columns(outcome.card).to_dict("records"),
        notes=[*outcome.card.warnings, *outcome.notes],
        figures={name: _svg(draw(outcome)) for name, draw in _FIGURES.items()},
        rows=outcome.card.rows,
        minutes=outcome.seconds / 60,
        plan=outcome.plan,
    )


def _draw_scores(outcome: Outcome) -> "Figure":
    """A dot per split and learner, a line for the mean."""
    figure, axes = _figure()
    order = [line.learner for line in tabulate(outcome)][::-1]
    for place, name in enumerate(order):
        scores = outcome.scores.loc[outcome.scores["learner"] == name, "test_score"]
        axes.plot(scores, [place] * len(scores), "o", color="0.55", markersize=4)
        axes.plot(scores.mean(), place, "|", color="black", markersize=16, markeredgewidth=2)
    axes.set_yticks(range(len(order)), order)
    axes.set_xlabel(f"test {outcome.metric}")
    return figure


def _draw_alphas(outcome: Outcome) -> "Figure":
    """Validation score over alpha, a line per split, the chosen alphas marked."""
    figure, axes = _figure()
    curves = outcome.curves[outcome.curves["encoding"] == outcome.plan.graph]
    for _, curve in curves.groupby("split"):
        axes.plot(curve["alpha"], curve["val"], "-o", color="0.6", markersize=3, linewidth=0.9)
        chosen = curve[curve["chosen"]]
        axes.plot(chosen["alpha"], chosen["val"], "o", color="black", markersize=6)
    axes.set_xscale("symlog", linthresh=min(outcome.plan.alphas))
    axes.set_xlabel("alpha (0: no encodings)")
    axes.set_ylabel("validation score")
    return figure


def _draw_history(outcome: Outcome) -> "Figure":
    """Validation losses of the first split, a line per alpha."""
    figure, axes = _figure()
    for alpha, curve in outcome.history.groupby("alpha"):
        style = ":" if alpha == 0 else "-"
        label = "no encodings" if alpha == 0 else f"alpha {alpha:g}"
        axes.plot(curve["epoch"], curve["val_loss"], style, marker=".", linewidth=1, label=label)
    axes.set_xlabel("epoch")
    axes.set_ylabel("validation loss")
    axes.legend(fontsize=7)
    return figure


_FIGURES = {
    "Test scores, a dot per split": _draw_scores,
    "Validation score over alpha, a line per split": _draw_alphas,
    "Learning curves of the first split": _draw_history,
    "Graph of the first split and its spectrum": lambda outcome: plot_graph(
        outcome.graph, outcome.encoding
    ),
}


def _figure() -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes: Any = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _svg(figure: "Figure") -> str:
    """A figure as SVG for a page; the same figure gives the same text."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "tabpet", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
