"""The synthetic study (paper, section "Synthetic Experiments"): does the gain grow with structure,
and more than it grows without the graph? And how well are the true edges recovered?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from tabpet.analysis import plot
from tabpet.analysis.plot import Drawing, NothingToDraw
from tabpet.analysis.results import GAINS, Results
from tabpet.analysis.selection import scored_runs
from tabpet.analysis.sentences import write_sentences
from tabpet.analysis.study import Study, random_control
from tabpet.analysis.table import Panel, Table, declared, panels_by, show
from tabpet.names import EncodingName, encoding_label
from tabpet.runs import read_runs
from tabpet.stats import holm, summarize, wilcoxon
from tabpet.studies import structure_of

# NOTE[PAPER]: high is k <= 8, moderate 10 to 22, low > 22; the text leaves out 9.
REGIMES = {"high structure, k ≤ 8": 8, "moderate, k = 9 to 22": 22, "low, k > 22": np.inf}


class GeneratedTables:
    """The tables of one generator: gains by encoding, and how much structure a table has."""

    def __init__(self, scores: pd.DataFrame, regime: Callable[[float], str]) -> None:
        averages = Results(scores).averages
        structure = averages["dataset"].map(structure_of)
        self.runs = scored_runs(scores)
        # `level`, in files, is the regime.
        self.gains = averages.assign(structure=structure, level=structure.map(regime))
        self.encodings = list(self.gains["encoding"].unique())
        self.control = random_control(self.encodings)
        # By the number of groups, from much structure to little; by density.
        self.regimes = list(self.gains.sort_values("structure", kind="stable")["level"].unique())

    def wide(self, regime: str | None = None) -> pd.DataFrame:
        """Improvements, a row per table and a column per encoding."""
        gains = self.gains if regime is None else self.gains[self.gains["level"] == regime]
        wide = gains.pivot_table(index="dataset", columns="encoding", values="improvement")
        return wide.reindex(columns=self.encodings)


def load_synthetic_study(folder: Path, significance: float) -> Study:
    """The study from the files below `results/studies`."""
    groups, dags = (read_runs(folder / name / "scores.parquet") for name in ("groups", "dags"))
    recovery = [pd.read_parquet(folder / name / "recovery.parquet") for name in ("groups", "dags")]
    return synthetic_study(groups, dags, pd.concat(recovery, ignore_index=True), significance)


def synthetic_study(
    groups: pd.DataFrame, dags: pd.DataFrame, recovery: pd.DataFrame, significance: float
) -> Study:
    """Sentences, tables and figures from the scores of both generators and the recovered edges."""
    algorithm = GeneratedTables(
        groups, lambda k: next(name for name, most in REGIMES.items() if k <= most)
    )
    linear = GeneratedTables(dags, "linear DAG, density {:g}".format)
    recovery = _measured(recovery.assign(structure=recovery["dataset"].map(structure_of)))
    trend = trend_table(algorithm)
    return Study(
        "synthetic_study",
        "Synthetic study: does the gain grow with structure?",
        write_sentences(
            "synthetic_study",
            encodings=algorithm.encodings,
            means={regime: algorithm.wide(regime).mean() for regime in algorithm.regimes},
            trends=trend.data.dropna(subset=["rho"]).to_dict("records"),
            significance=significance,
        ),
        (gains_table(algorithm, linear), trend, recovery_table(recovery)),
        {
            "synthetic_curves": plot.draw(draw_curves, algorithm),
            "synthetic_gains": plot.draw(draw_gains, algorithm),
            "synthetic_dags": plot.draw(draw_dag_gains, linear),
            "edge_recovery": plot.draw(draw_recovery, recovery),
        },
    )


def gains_table(*generators: GeneratedTables) -> Table:
    """Improvements by regime and encoding, beside those of random encodings."""
    data = pd.DataFrame(
        _gain_row(tables, regime, encoding, gains)
        for tables in generators
        for regime in tables.regimes
        for encoding in tables.encodings
        if len(gains := tables.gains.query("level == @regime and encoding == @encoding"))
    )
    labelled = data.set_axis(data["encoding"].map(encoding_label))
    panels = panels_by(["level"], labelled, declared("synthetic"), "Encoding")
    return Table.of("synthetic", data, panels)


def _gain_row(
    tables: GeneratedTables, regime: str, encoding: str, gains: pd.DataFrame
) -> dict[str, Any]:
    row = {
        "level": regime,
        "encoding": encoding,
        "tables": summarize(gains["improvement"]).datasets,
        "rmse": gains["base_test"].mean(),
        "mean": gains["improvement"].mean(),
        "sd": gains["improvement"].std(ddof=1),
        "oracle": gains["oracle_improvement"].mean(),
        "advantage": np.nan,
        "advantage_p": np.nan,
    }
    if tables.control and tables.control != encoding:
        wide = tables.wide(regime)
        advantage = wide[encoding] - wide[tables.control]
        row |= {"advantage": advantage.mean(), "advantage_p": wilcoxon(advantage).p}
    return row


def trend_table(tables: GeneratedTables) -> Table:
    """Whether gains, also beyond those of random encodings, change with the number of groups."""
    wide = tables.wide()
    columns = {encoding_label(name): wide[name] for name in tables.encodings}
    if tables.control:
        columns |= {
            f"{encoding_label(name)} − random": wide[name] - wide[tables.control]
            for name in tables.encodings
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
    panel = Panel(show(data.set_index("gain"), declared("synthetic_trend")))
    return Table.of("synthetic_trend", data, [panel])


def _measured(recovery: pd.DataFrame) -> pd.DataFrame:
    """Edge recovery without what a graph that failed seems to have recovered."""
    measures = ["edges", "average_precision", "auc", "shd", "shd_skeleton"]
    measured = recovery[measures].astype(float).mask(recovery["status"] == "error")
    return recovery.assign(**measured)


def recovery_table(recovery: pd.DataFrame) -> Table:
    """How well every estimator finds the true pairs, by generator and structure."""
    columns, counts = declared("edge_recovery"), ["tables", "cut", "failed"]
    recovery = recovery.assign(
        true_share=100 * recovery["true_edges"] / recovery["pairs"],
        tables=recovery["status"] != "error",
        cut=recovery["status"] == "timeout",
        failed=recovery["status"] == "error",
    )
    means = [key for column in columns for key in column.keys if key not in counts]
    grouped = recovery.groupby(["study", "structure", "graph"], sort=False)
    data = pd.concat([grouped[counts].sum(), grouped[means].mean()], axis=1).reset_index()
    labelled = data.set_axis(data["graph"].map(encoding_label))
    headings = {"groups": "k = {:g}", "dags": "linear DAG, density {:g}"}
    panels = panels_by(
        ["study", "structure"],
        labelled,
        columns,
        "Graph",
        lambda study, structure: headings[study].format(structure),
    )
    return Table.of("edge_recovery", data, panels)


def draw_curves(tables: GeneratedTables) -> Drawing:
    """RMSE over alpha, a panel per regime: as it is, and relative to alpha 0 of the same run."""
    regime_of_dataset = tables.gains[["dataset", "level"]].drop_duplicates()
    runs = tables.runs.assign(structure=tables.runs["dataset"].map(structure_of))
    runs = runs.merge(regime_of_dataset, on="dataset")
    if runs.empty:
        raise NothingToDraw("No run of the study has finished.")
    alphas = sorted(float(alpha) for alpha in runs["alpha"].unique())
    labels = {"rmse": "RMSE on test rows", "relative": "relative to alpha 0"}
    regimes = tables.regimes
    figure, panels = plot.panel_grid(3.1 * len(regimes), 5.2, list(labels), regimes, sharex=True)
    for (kind, regime), axes in panels.items():
        for place, encoding in enumerate(tables.encodings):
            rows = runs[(runs["level"] == regime) & (runs["encoding"] == encoding)]
            curves = rows.pivot_table(
                index=["dataset", "split", "seed"], columns="alpha", values="test_score"
            ).reindex(columns=alphas)
            if kind == "relative":
                # Tables have targets of different scale, whose spread says nothing of encodings.
                curves = curves.div(curves[0.0], axis=0)
            x, band = np.arange(len(alphas)), kind == "relative" and place == 0
            plot.mean_curve(axes, x, curves, place, encoding_label(encoding), band=band)
        if kind == "rmse":
            axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
        axes.set_ylabel(labels[kind] if regime == regimes[0] else "")
        axes.set_title(regime if kind == "rmse" else "")
        plot.step_axis(axes, alphas, "alpha")
        axes.grid(axis="y")
    plot.legend_below(figure, columns=4)
    keys = ["level", "structure", "dataset", "split", "seed", "encoding", "alpha", "test_score"]
    return Drawing(figure, runs[keys])


def _shift(place: int, count: int) -> float:
    """How far beside its step one of some series is drawn, so that none hides another."""
    return 0.12 * (place - (count - 1) / 2)


def draw_gains(tables: GeneratedTables) -> Drawing:
    """Improvement over the number of groups, alpha chosen on validation rows and on test rows."""
    titles = dict(zip(GAINS, ("alpha chosen on validation rows", "oracle"), strict=True))
    counts = sorted(tables.gains["structure"].unique())
    steps = np.arange(len(counts))
    figure, panels = plot.panel_grid(8.2, 3.4, [""], GAINS, sharey=True)
    for (_, column), axes in panels.items():
        for place, encoding in enumerate(tables.encodings):
            gains = tables.gains[tables.gains["encoding"] == encoding]
            shift = _shift(place, len(tables.encodings))
            at = gains["structure"].map(dict(zip(counts, steps, strict=True))) + shift
            color, marker, _ = plot.series(place)
            axes.scatter(at, gains[column], s=12, marker=marker, color=color, alpha=0.6)
            mean = gains.groupby("structure")[column].mean().reindex(counts)
            plot.line(axes, steps + shift, mean, place, encoding_label(encoding), markersize=6)
        plot.step_axis(axes, counts, "groups k (fewer: more structure)")
        axes.set_title(titles[column])
        plot.percent_axis(axes, "y", tables.gains[GAINS], "improvement over alpha 0 in %")
    axes.set_ylabel("")
    plot.legend_below(figure, columns=4)
    return Drawing(figure, tables.gains[["dataset", "structure", "level", "encoding", *GAINS]])


def draw_dag_gains(tables: GeneratedTables) -> Drawing:
    """Improvement on tables of DAGs, a line per encoding."""
    encodings, regimes = tables.encodings, tables.regimes
    height = 1.2 + 0.34 * len(encodings) * len(regimes)
    figure, panels = plot.panel_grid(7.2, height, regimes, [""], sharex=True)
    for (regime, _), axes in panels.items():
        wide = tables.wide(regime)
        for place, encoding in enumerate(encodings):
            values = wide[encoding].dropna()
            axes.scatter(values, np.full(len(values), place), s=14, color=plot.SOFT, zorder=2)
            axes.scatter([values.mean()], [place], s=50, marker="D", color=plot.INK, zorder=3)
        axes.set_yticks(range(len(encodings)), map(encoding_label, encodings))
        axes.set_ylim(len(encodings) - 0.5, -0.5)
        axes.set_title(regime)
        plot.percent_axis(axes, "x", tables.wide(), "improvement over alpha 0 in %")
        axes.label_outer()
    return Drawing(figure, tables.gains[["dataset", "structure", "level", "encoding", *GAINS]])


def draw_recovery(recovery: pd.DataFrame) -> Drawing:
    """Average precision of every estimator over the number of groups, and over density."""
    axis_labels = {"groups": "groups k", "dags": "linear DAG, density"}
    studies = [name for name in axis_labels if (recovery["study"] == name).any()]
    figure, panels = plot.panel_grid(4.1 * len(studies), 3.2, [""], studies, sharey=True)
    for (_, study), axes in panels.items():
        rows = recovery[recovery["study"] == study]
        structures = sorted(rows["structure"].unique())
        steps, graphs = np.arange(len(structures)), rows["graph"].unique()
        for place, graph in enumerate(graphs):
            curve = rows[rows["graph"] == graph].groupby("structure")["average_precision"].mean()
            at, label = steps + _shift(place, len(graphs)), encoding_label(graph)
            plot.line(axes, at, curve.reindex(structures), place, label, markersize=5)
        chance = (rows["true_edges"] / rows["pairs"]).groupby(rows["structure"]).mean()
        axes.plot(steps, chance.reindex(structures), color=plot.SOFT, linewidth=0.9, marker="_",
                  label="share of true pairs")  # fmt: skip
        plot.step_axis(axes, structures, axis_labels[study])
        axes.set_ylim(0, 1.03)
        axes.grid(axis="y")
    figure.axes[0].set_ylabel("average precision")
    plot.legend_below(figure, columns=4)
    return Drawing(figure, recovery)
