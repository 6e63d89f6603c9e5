"""The synthetic study (paper, section "Synthetic Experiments"): does the gain grow with structure,
and more than it grows without the graph? And how well are the true edges recovered?"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tabpet.analysis.formats import NOTHING, number, p_value, p_words, percent, percent_words, whole
from tabpet.analysis.names import GRAPHS, encoding_name
from tabpet.analysis.plot import (
    INK,
    SOFT,
    Drawing,
    NothingToDraw,
    legend_below,
    new_figure,
    panel_grid,
    percent_axis,
    series,
)
from tabpet.analysis.results import Results
from tabpet.analysis.selection import scored_runs
from tabpet.analysis.study import Study, alpha_axis, draw_styled, mean_curve
from tabpet.analysis.table import Column, Panel, Table, show
from tabpet.names import EncodingName
from tabpet.runs import read_runs
from tabpet.stats import holm, summarize, wilcoxon
from tabpet.studies import structure_of

# NOTE[PAPER]: high is k <= 8, moderate 10 to 22, low > 22; the text leaves out 9.
REGIMES = {"high structure, k ≤ 8": 8, "moderate, k = 9 to 22": 22, "low, k > 22": np.inf}
GAINS = (
    Column("tables", "", "tables", whole),
    Column("rmse", "", "RMSE without", partial(number, decimals=4)),
    Column("mean", "Improvement in %", "mean", percent),
    Column("sd", "Improvement in %", "sd", number),
    Column("oracle", "Improvement in %", "oracle", percent),
    Column("advantage", "Against random", "points", percent),
    Column("advantage_p", "Against random", "p", p_value),
)
TRENDS = (
    Column("tables", "", "tables", whole),
    Column("rho", "Rank correlation with k", "rho", number),
    Column("p", "Rank correlation with k", "p", p_value),
    Column("p_holm", "Rank correlation with k", "p, Holm", p_value),
)
RECOVERY = (
    Column("tables", "", "tables", whole),
    Column("cut", "", "cut", whole),
    Column("failed", "", "failed", whole),
    Column("true_share", "", "true pairs in %", partial(number, decimals=1)),
    Column("average_precision", "", "average precision", partial(number, decimals=3)),
    Column("auc", "", "AUC", partial(number, decimals=3)),
    Column("edges", "", "edges", partial(number, decimals=1)),
    Column("true_edges", "", "true edges", partial(number, decimals=1)),
    Column("shd", "", "SHD", partial(number, decimals=1)),
    Column("shd_skeleton", "", "SHD, skeleton", partial(number, decimals=1)),
)


@dataclass(frozen=True)
class Family:
    """The runs of one generator: gains per table and encoding, with the table's structure."""

    results: Results
    gains: pd.DataFrame  # dataset, structure, level, encoding, base_test, improvement, oracle_...
    levels: tuple[str, ...]

    @classmethod
    def groups(cls, scores: pd.DataFrame) -> "Family":
        """Tables of Algorithm 1, in the paper's three regimes."""

        def regime(k: float) -> str:
            return next(name for name, most in REGIMES.items() if k <= most)

        return cls._build(scores, regime)

    @classmethod
    def dags(cls, scores: pd.DataFrame) -> "Family":
        """Tables of linear DAGs, by density."""
        return cls._build(scores, "linear DAG, density {:g}".format)

    @classmethod
    def _build(cls, scores: pd.DataFrame, level: Callable[[float], str]) -> "Family":
        results = Results.build(scores)
        gains = results.averages.assign(structure=results.averages["dataset"].map(structure_of))
        gains = gains.assign(level=gains["structure"].map(level))
        levels = gains.sort_values("structure", kind="stable")["level"].unique()
        return cls(results, gains, tuple(levels))

    @property
    def encodings(self) -> list[str]:
        """The encodings that were trained, in the order of the scores."""
        return list(self.gains["encoding"].unique())

    def wide(self, level: str | None = None) -> pd.DataFrame:
        """Improvements, a row per table and a column per encoding."""
        mine = self.gains if level is None else self.gains[self.gains["level"] == level]
        wide = mine.pivot_table(index="dataset", columns="encoding", values="improvement")
        return wide.reindex(columns=self.encodings)


def load_synthetic_study(folder: Path, level: float) -> Study:
    """The study from the files below `results/studies`."""
    groups, dags = (read_runs(folder / name / "scores.parquet") for name in ("groups", "dags"))
    recovery = [pd.read_parquet(folder / name / "recovery.parquet") for name in ("groups", "dags")]
    return synthetic_study(groups, dags, pd.concat(recovery, ignore_index=True), level)


def synthetic_study(
    groups: pd.DataFrame, dags: pd.DataFrame, recovery: pd.DataFrame, level: float
) -> Study:
    """Sentences, tables and figures from the scores of both generators and the edges found, with
    tests at a level."""
    algorithm, linear = Family.groups(groups), Family.dags(dags)
    recovery = _measured(recovery.assign(structure=recovery["dataset"].map(structure_of)))
    trend = trend_table(algorithm)
    drawings = draw_styled(
        {
            "synthetic_curves": partial(draw_curves, algorithm),
            "synthetic_gains": partial(draw_gains, algorithm),
            "synthetic_dags": partial(draw_dag_gains, linear),
            "edge_recovery": partial(draw_recovery, recovery),
        }
    )
    return Study(
        "synthetic_study",
        "Synthetic study: does the gain grow with structure?",
        tuple(_sentences(algorithm, trend.data, level)),
        (gains_table(algorithm, linear), trend, recovery_table(recovery)),
        drawings,
    )


def gains_table(*families: Family) -> Table:
    """Improvements by level of structure and encoding, beside those of random encodings."""
    rows = []
    for family in families:
        for level in family.levels:
            for encoding in family.encodings:
                mine = family.gains[
                    (family.gains["level"] == level) & (family.gains["encoding"] == encoding)
                ]
                if len(mine):
                    rows.append(_gain_row(family, level, encoding, mine))
    data = pd.DataFrame(rows)
    parts = tuple(
        Panel(
            show(part.set_index(part["encoding"].map(encoding_name)), GAINS, "Encoding"), str(level)
        )
        for level, part in data.groupby("level", sort=False)
    )
    caption = (
        "Improvement in percent over alpha 0, alpha chosen on validation rows (oracle: on test "
        "rows), mean and standard deviation over tables. Against random: mean difference in points "
        "to random encodings of the Spearman graph's width on the same tables, Wilcoxon test."
    )
    return Table("synthetic", caption, data, parts)


def _gain_row(family: Family, level: str, encoding: str, mine: pd.DataFrame) -> dict:
    wide = family.wide(level)
    row = {
        "level": level,
        "encoding": encoding,
        "tables": summarize(mine["improvement"]).datasets,
        "rmse": mine["base_test"].mean(),
        "mean": mine["improvement"].mean(),
        "sd": mine["improvement"].std(ddof=1),
        "oracle": mine["oracle_improvement"].mean(),
        "advantage": np.nan,
        "advantage_p": np.nan,
    }
    control = _random_of(family)
    if control and control != encoding:
        advantage = wide[encoding] - wide[control]
        row |= {"advantage": advantage.mean(), "advantage_p": wilcoxon(advantage).p}
    return row


def _random_of(family: Family) -> str | None:
    names = (name for name in family.encodings if EncodingName.parse(name).control == "random")
    return next(names, None)


def trend_table(family: Family) -> Table:
    """Whether gains, also beyond those of random encodings, change with the number of groups."""
    from scipy.stats import spearmanr

    wide = family.wide()
    columns = {encoding_name(name): wide[name] for name in family.encodings}
    control = _random_of(family)
    if control:
        columns |= {
            f"{encoding_name(name)} − random": wide[name] - wide[control]
            for name in family.encodings
            if EncodingName.parse(name).control is None
        }
    rows = []
    for label, values in columns.items():
        known = values.dropna().round(9)  # equal gains are ties
        k = known.index.map(structure_of)
        varied = len(known) > 2 and np.ptp(known) > 0 and np.ptp(k) > 0
        rho, p = spearmanr(k, known) if varied else (np.nan, np.nan)
        rows.append({"gain": label, "tables": len(known), "rho": rho, "p": p})
    data = pd.DataFrame(rows)
    data["p_holm"] = holm(data["p"])
    caption = (
        "Spearman's rank correlation of the improvement with the number of groups k, over tables. "
        "Negative: the gain grows with structure. Holm: corrected for the lines of this table."
    )
    return Table(
        "synthetic_trend", caption, data, (Panel(show(data.set_index("gain"), TRENDS, "")),)
    )


def _measured(recovery: pd.DataFrame) -> pd.DataFrame:
    """Edge recovery without what a graph that failed seems to have found."""
    found = ["edges", "average_precision", "auc", "shd", "shd_skeleton"]
    measured = recovery.copy()
    measured[found] = recovery[found].astype(float).mask(recovery["status"] == "error")
    return measured


def recovery_table(recovery: pd.DataFrame) -> Table:
    """How well every estimator finds the true pairs, by generator and structure."""
    by = ["study", "structure", "graph"]
    recovery = recovery.assign(
        true_share=100 * recovery["true_edges"] / recovery["pairs"],
        tables=recovery["status"] != "error",
        cut=recovery["status"] == "timeout",
        failed=recovery["status"] == "error",
    )
    counts = ["tables", "cut", "failed"]
    means = [column.key for column in RECOVERY if column.key not in counts]
    grouped = recovery.groupby(by, sort=False)
    data = pd.concat([grouped[counts].sum(), grouped[means].mean()], axis=1).reset_index()
    parts = tuple(
        Panel(
            show(part.set_index(part["graph"].map(_graph_name)), RECOVERY, "Graph"),
            f"{'k =' if study == 'groups' else 'linear DAG, density'} {structure:g}",
        )
        for (study, structure), part in data.groupby(["study", "structure"], sort=False)
    )
    caption = (
        "Pairs of features by the absolute weight of their edge against the true pairs, mean over "
        "tables; graphs that failed are left out, those that a "
        "time limit cut count as they are. A random order has the share of true pairs as average "
        "precision and AUC 0.5; "
        f"{NOTHING} where all pairs or none are true. SHD: pairs whose edge differs, in direction "
        "(directed graphs against a DAG) or in being there (skeleton)."
    )
    return Table("edge_recovery", caption, data, parts)


def _graph_name(graph: str) -> str:
    return GRAPHS.get(graph, graph)


def draw_curves(family: Family) -> Drawing:
    """RMSE over alpha, a panel per regime: as it is, and relative to alpha 0 of the same run."""
    runs = scored_runs(family.results.scores)
    runs = runs.assign(structure=runs["dataset"].map(structure_of)).merge(
        family.gains[["dataset", "level"]].drop_duplicates(), on="dataset"
    )
    if runs.empty:
        raise NothingToDraw("No run of the study has finished.")
    alphas = sorted(float(alpha) for alpha in runs["alpha"].unique())
    labels = {"rmse": "RMSE on test rows", "relative": "relative to alpha 0"}
    figure, panels = panel_grid(
        3.1 * len(family.levels), 5.2, list(labels), family.levels, sharex=True
    )
    for (kind, level), axes in panels.items():
        for place, encoding in enumerate(family.encodings):
            mine = runs[(runs["level"] == level) & (runs["encoding"] == encoding)]
            curves = mine.pivot_table(
                index=["dataset", "split", "seed"], columns="alpha", values="test_score"
            ).reindex(columns=alphas)
            if kind == "relative":
                # Tables have targets of different scale, whose spread says nothing of encodings.
                curves = curves.div(curves[0.0], axis=0)
            x, name = np.arange(len(alphas)), encoding_name(encoding)
            mean_curve(axes, x, curves, place, name, band=kind == "relative" and place == 0)
        if kind == "rmse":
            axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
        axes.set_ylabel(labels[kind] if level == family.levels[0] else "")
        axes.set_title(level if kind == "rmse" else "")
        alpha_axis(axes, alphas)
        axes.grid(axis="y")
    legend_below(figure, columns=4)
    keys = ["level", "structure", "dataset", "split", "seed", "encoding", "alpha", "test_score"]
    return Drawing(figure, runs[keys])


def draw_gains(family: Family) -> Drawing:
    """Improvement over the number of groups, alpha chosen on validation rows and on test rows."""
    chosen = {"improvement": "alpha chosen on validation rows", "oracle_improvement": "oracle"}
    figure = new_figure(8.2, 3.4)
    panels = figure.subplots(1, 2, sharey=True)
    values = family.gains[[*chosen]]
    counts = sorted(family.gains["structure"].unique())
    for axes, (column, title) in zip(panels, chosen.items(), strict=True):
        for place, encoding in enumerate(family.encodings):
            mine = family.gains[family.gains["encoding"] == encoding]
            shift = 0.12 * (place - (len(family.encodings) - 1) / 2)
            at = mine["structure"].map({k: i for i, k in enumerate(counts)}) + shift
            color, marker, line = series(place)
            axes.scatter(at, mine[column], s=12, marker=marker, color=color, alpha=0.6)
            mean = mine.groupby("structure")[column].mean().reindex(counts)
            axes.plot(
                np.arange(len(counts)) + shift,
                mean,
                color=color,
                linestyle=line,
                marker=marker,
                markersize=6,
                label=encoding_name(encoding),
            )
        axes.set_xticks(range(len(counts)), [f"{k:g}" for k in counts])
        axes.set_xlabel("groups k (fewer: more structure)")
        axes.set_title(title)
        percent_axis(axes, "y", values, "improvement over alpha 0 in %")
    panels[1].set_ylabel("")
    legend_below(figure, columns=4)
    return Drawing(figure, family.gains[["dataset", "structure", "level", "encoding", *chosen]])


def draw_dag_gains(family: Family) -> Drawing:
    """Improvement on tables of DAGs, a line per encoding."""
    figure = new_figure(7.2, 1.2 + 0.34 * len(family.encodings) * len(family.levels))
    panels = figure.subplots(len(family.levels), 1, squeeze=False)[:, 0]
    for axes, level in zip(panels, family.levels, strict=True):
        wide = family.wide(level)
        for place, encoding in enumerate(family.encodings):
            values = wide[encoding].dropna()
            axes.scatter(values, np.full(len(values), place), s=14, color=SOFT, zorder=2)
            axes.scatter([values.mean()], [place], s=50, marker="D", color=INK, zorder=3)
        axes.set_yticks(range(len(family.encodings)), map(encoding_name, family.encodings))
        axes.set_ylim(len(family.encodings) - 0.5, -0.5)
        axes.set_title(level)
        percent_axis(axes, "x", wide, "improvement over alpha 0 in %")
    keys = ["dataset", "structure", "level", "encoding", "improvement", "oracle_improvement"]
    return Drawing(figure, family.gains[keys])


def draw_recovery(recovery: pd.DataFrame) -> Drawing:
    """Average precision of every estimator over the number of groups, and over density."""
    axis_names = {"groups": "groups k", "dags": "linear DAG, density"}
    present = [name for name in axis_names if (recovery["study"] == name).any()]
    figure = new_figure(4.1 * len(present), 3.2)
    panels = figure.subplots(1, len(present), squeeze=False, sharey=True)[0]
    for axes, study in zip(panels, present, strict=True):
        mine = recovery[recovery["study"] == study]
        steps = sorted(mine["structure"].unique())
        for place, graph in enumerate(mine["graph"].unique()):
            color, marker, line = series(place)
            curve = mine[mine["graph"] == graph].groupby("structure")["average_precision"].mean()
            axes.plot(
                range(len(steps)),
                curve.reindex(steps),
                label=_graph_name(graph),
                color=color,
                linestyle=line,
                marker=marker,
                markersize=5,
            )
        chance = (mine["true_edges"] / mine["pairs"]).groupby(mine["structure"]).mean()
        axes.plot(range(len(steps)), chance.reindex(steps), color=SOFT, linewidth=0.9, marker="_",
                  label="share of true pairs")  # fmt: skip
        axes.set_xticks(range(len(steps)), [f"{step:g}" for step in steps])
        axes.set_xlabel(axis_names[study])
        axes.set_ylim(0, 1.03)
        axes.grid(axis="y")
    panels[0].set_ylabel("average precision")
    legend_below(figure, columns=4)
    return Drawing(figure, recovery)


def _sentences(family: Family, trends: pd.DataFrame, significance: float) -> list[str]:
    """What the study says about its two questions."""
    means = {level: family.wide(level).mean() for level in family.levels}
    lines = []
    for encoding in family.encodings:
        parts = [f"{percent_words(means[level][encoding])} ({level})" for level in family.levels]
        lines.append(f"{encoding_name(encoding)}: mean improvement {', '.join(parts)}.")
    for gain, rho, p in zip(trends["gain"], trends["rho"], trends["p_holm"], strict=True):
        if np.isfinite(rho):
            trend = "grows" if rho < 0 else "falls"
            found = (
                f"the gain {trend} with structure" if p < significance else "no trend beyond chance"
            )
            tested = f"rank correlation with k {number(rho)}, {p_words(p)} after Holm's correction"
            lines.append(f"{gain}: {found} ({tested}).")
    return lines
