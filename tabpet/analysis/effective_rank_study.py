"""The effective-rank study (paper, appendix A): does the effective rank of CLS embeddings fall with
alpha, faster with Tab-PET than with random encodings, and is a low rank good for anything?"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from scipy.stats import spearmanr

from tabpet.analysis import plot
from tabpet.analysis.plot import Drawing, NothingToDraw
from tabpet.analysis.results import Results
from tabpet.analysis.sentences import write_sentences
from tabpet.analysis.study import Study, random_control
from tabpet.analysis.table import Table, declared, panels_by
from tabpet.names import encoding_label
from tabpet.runs import read_runs
from tabpet.stats import fewest_datasets, wilcoxon
from tabpet.theory import THEOREMS, simulate

# Means that the appendix quotes, over 15 datasets.
PAPER = {
    "spearman": {0: 38.04, 1: 36.98, 5: 15.03, 30: 1.53},
    "spearman-random": {0: 38.04, 1: 37.86, 5: 25.69, 30: 4.97},
}
NOTHING_MEASURED = "No effective rank was measured."
SHOWN = "test"  # rows of the figure; the paper does not say which it shows
THEORY_ALPHAS, THEORY_DIMENSIONS = [*range(0, 101, 5)], [4, 16, 64]


def load_effective_rank_study(folder: Path, significance: float) -> Study:
    """The study from the files below `results/studies`."""
    files = folder / "effective_rank"
    ranks = pd.read_parquet(files / "ranks.parquet")
    return effective_rank_study(read_runs(files / "scores.parquet"), ranks, significance)


def effective_rank_study(scores: pd.DataFrame, ranks: pd.DataFrame, significance: float) -> Study:
    """Sentences, tables and figures from scores and effective ranks.

    `ranks` has dataset, split, encoding, seed, alpha, part and both effective ranks.
    """
    by = ["dataset", "encoding", "alpha", "part"]
    both = ["effective_rank", "effective_rank_squared"]
    means = ranks.groupby(by, sort=False)[both].mean().reset_index()
    curves = Results(scores).curves
    gains = curves.groupby(["dataset", "encoding", "alpha"])["improvement"].mean().reset_index()
    joined = means[means["part"] == SHOWN].merge(gains, on=["dataset", "encoding", "alpha"])
    return Study(
        "effective_rank_study",
        "Effective-rank study: does the rank fall with alpha, and is that good for anything?",
        _sentences(joined, significance),
        (rank_table(means, gains),),
        {"effective_rank": plot.draw(draw_ranks, joined), "theory": plot.draw(draw_theory)},
    )


def rank_table(means: pd.DataFrame, gains: pd.DataFrame) -> Table:
    """Mean effective ranks over datasets by alpha and encoding, beside the paper's."""
    if means.empty:
        return Table.empty("effective_rank", NOTHING_MEASURED)
    keys = ["encoding", "alpha"]
    parts = {part: rows.groupby(keys) for part, rows in means.groupby("part")}
    columns = {
        "datasets": parts[SHOWN]["dataset"].nunique(),
        "test": parts["test"]["effective_rank"].mean(),
        "train": parts["train"]["effective_rank"].mean(),
        "test_squared": parts["test"]["effective_rank_squared"].mean(),
        "train_squared": parts["train"]["effective_rank_squared"].mean(),
        "improvement": gains.groupby(keys)["improvement"].mean(),
    }
    data = pd.DataFrame(columns).reset_index()
    data["paper"] = [
        PAPER.get(encoding, {}).get(alpha, np.nan)
        for encoding, alpha in zip(data["encoding"], data["alpha"], strict=True)
    ]
    labelled = data.set_axis(data["alpha"].map("{:g}".format))
    panels = panels_by(["encoding"], labelled, declared("effective_rank"), "alpha", encoding_label)
    return Table.of("effective_rank", data, panels)


def draw_ranks(joined: pd.DataFrame) -> Drawing:
    """Rank over alpha with every dataset's own curve, and the test score over the same alphas."""
    if joined.empty:
        raise NothingToDraw(NOTHING_MEASURED)
    figure = Figure(figsize=(9, 3.8))
    left, right = figure.subplots(1, 2)
    for place, encoding in enumerate(joined["encoding"].unique()):
        rows = joined[joined["encoding"] == encoding]
        label = encoding_label(encoding)
        color, _, line = plot.series(place)
        for axes, column in ((left, "effective_rank"), (right, "improvement")):
            wide = rows.pivot_table(index="dataset", columns="alpha", values=column)
            for _, curve in wide.iterrows():
                axes.plot(curve.index, curve, color=color, linestyle=line, linewidth=0.7, alpha=0.6)
            plot.mean_curve(
                axes, wide.columns.to_numpy(), wide, place, f"{label}, mean", band=False
            )
        quoted = PAPER.get(encoding)
        if quoted:
            left.scatter([*quoted], [*quoted.values()], marker="x", s=36, linewidth=1.6,
                         color=color, zorder=4, label=f"{label}, paper")  # fmt: skip
    left.set(xlabel="alpha", ylabel=f"effective rank, {SHOWN} rows", yscale="log")
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter("")
    left.grid(axis="y")
    right.set_xlabel("alpha")
    plot.percent_axis(right, "y", joined[["improvement"]], "test score, improvement in %")
    plot.legend_below(figure, columns=4)
    return Drawing(figure, joined)


def draw_theory() -> Drawing:
    """Simulated effective rank against the bounds of the theorems, over alpha and d."""
    simulated = simulate(THEORY_ALPHAS, THEORY_DIMENSIONS, draws=10, n=500)
    grouped = simulated.groupby(["theorem", "d", "alpha"])
    numbers = grouped.agg(
        mean=("rank", "mean"), low=("rank", "min"), high=("rank", "max"), bound=("bound", "first")
    ).reset_index()
    figure, panels = plot.panel_grid(9, 3.4, [""], list(THEOREMS), sharey=True)
    for (_, name), axes in panels.items():
        theorem = THEOREMS[name]
        for place, d in enumerate(THEORY_DIMENSIONS):
            rows = numbers[(numbers["theorem"] == name) & (numbers["d"] == d)]
            color, _, _ = plot.series(place)
            axes.fill_between(rows["alpha"], rows["low"] - 1, rows["high"] - 1, color=color,
                              alpha=0.25, linewidth=0)  # fmt: skip
            axes.plot(rows["alpha"], rows["mean"] - 1, color=color, label=f"simulated, d = {d}")
            axes.plot(rows["alpha"], rows["bound"] - 1, color=color, linestyle="--",
                      label=f"bound, d = {d}")  # fmt: skip
        inputs = "independent" if theorem.inputs == "independent" else "two latent"
        axes.set_title(f"Theorem {name}: {inputs} inputs,\n{theorem.encodings} encodings")
        axes.set(xlabel="alpha", yscale="log", ylim=(1e-4, 100))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(axis="y")
    figure.axes[0].set_ylabel("effective rank − 1")
    plot.legend_below(figure, columns=3)
    return Drawing(figure, numbers)


def _sentences(joined: pd.DataFrame, significance: float) -> list[str]:
    """What the study says: whether ranks fall, and whether a low one goes with a good test score.

    Models of one dataset share rows, seed and encodings, so only datasets are tested.
    """
    ranks = joined.pivot_table(
        index=["dataset", "alpha"], columns="encoding", values="effective_rank"
    )
    trained = joined[joined["alpha"] > 0]
    control = random_control(map(str, ranks))
    others = [name for name in ranks if control and name != control]
    pairs = {name: ranks.query("alpha > 0")[[name, control]].dropna() for name in others}
    correlations = {
        dataset: spearmanr(rows["effective_rank"], rows["improvement"]).statistic
        for dataset, rows in trained.groupby("dataset", sort=False)
        if len(rows) > 2 and np.ptp(rows["improvement"]) > 0 and np.ptp(rows["effective_rank"]) > 0
    }
    return write_sentences(
        "effective_rank_study",
        nothing=NOTHING_MEASURED,
        curves={
            name: ranks[name].dropna().groupby("alpha").mean()
            for name in joined["encoding"].unique()
        },
        lower_than_control={name: pair[name] < pair[control] for name, pair in pairs.items()},
        control=control,
        correlations=correlations,
        test=wilcoxon(np.array([*correlations.values()])),
        fewest=fewest_datasets(significance),
        significance=significance,
    )
