"""Reports of the studies, from made-up runs with known gains."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tabpet.analysis.captions import FIGURES, STUDY_FIGURES, STUDY_TABLES
from tabpet.analysis.effective_rank_study import effective_rank_study
from tabpet.analysis.headline import headline
from tabpet.analysis.page import render_page
from tabpet.analysis.plot import svg_text
from tabpet.analysis.results import Results
from tabpet.analysis.synthetic_study import REGIMES, synthetic_study
from tabpet.runs import Run, runs_frame

LEVEL = 0.05
PARTS = ("train", "test")


def runs_of(
    dataset: str, gains: dict[str, float], alphas=(0.0, 1.0, 5.0), split: int = 42
) -> list[Run]:
    """RMSE 2 without encodings; a gain in percent at alpha 1, on validation and test rows."""
    return [
        Run(
            dataset=dataset,
            split=split,
            model="ft_transformer",
            encoding=encoding,
            seed=1,
            task="regression",
            alpha=alpha,
            val_score=(score := 2 * (1 - gain / 100 * (alpha == 1))),
            test_score=score,
            graph_state="ok",
        )
        for encoding, gain in gains.items()
        for alpha in alphas
    ]


def recovery_of(study: str, datasets: list[str]) -> pd.DataFrame:
    rows = [
        {
            "dataset": dataset, "split": 42, "graph": graph, "status": "ok", "pairs": 10,
            "true_edges": 4, "edges": 6, "average_precision": 0.5, "auc": 0.75,
            "shd": 3.0 if study == "dags" else np.nan, "shd_skeleton": 2, "study": study,
        }
        for dataset in datasets
        for graph in ("spearman", "lingam")
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def synthetic():
    groups, dags = [], []
    for k in (2, 6, 15, 30):
        for table in (1, 2, 3):
            gains = {"spearman": 31 - k + table, "true": 40 - k + table, "spearman-random": table}
            groups += runs_of(f"groups-d30-k{k:02d}-n50-table{table}", gains)
    for table in (1, 2):
        dags += runs_of(f"dag-d5-density0.2-laplace-n50-table{table}", {"true": 5.0 * table})
    frames = [runs_frame(runs) for runs in (groups, dags)]
    names = [list(frame["dataset"].unique()) for frame in frames]
    recovery = pd.concat([recovery_of("groups", names[0]), recovery_of("dags", names[1])])
    return synthetic_study(*frames, recovery, LEVEL)


def test_gains_by_regime(synthetic):
    data = synthetic.tables[0].data.set_index(["level", "encoding"])
    high, moderate, low = REGIMES
    # Tables 1, 2, 3 of k = 2 and 6: 31 - k + table is 30 31 32 26 27 28.
    row = data.loc[(high, "spearman")]
    assert row["tables"] == 6 and row["rmse"] == 2
    assert row["mean"] == pytest.approx(29) and row["oracle"] == pytest.approx(29)
    assert row["sd"] == pytest.approx(np.std([30, 31, 32, 26, 27, 28], ddof=1))
    assert row["advantage"] == pytest.approx(27)
    assert row["advantage_p"] == pytest.approx(2 / 2**6)  # six differences of one sign
    assert data.loc[(moderate, "true"), "mean"] == pytest.approx(27)
    assert data.loc[(low, "spearman-random"), "mean"] == pytest.approx(2)
    assert data.loc[("linear DAG, density 0.2", "true"), "mean"] == pytest.approx(7.5)


def test_a_gain_that_grows_with_structure_is_told_from_one_that_does_not(synthetic):
    trends = synthetic.tables[1].data.set_index("gain")
    assert trends.loc["Spearman, random", "rho"] == pytest.approx(0, abs=1e-12)
    assert trends.loc["Spearman − random", "rho"] == pytest.approx(-1)
    assert trends.loc["Spearman − random", "p"] < 1e-6
    # Five lines, two of them with no trend at all; the smallest p counts five times.
    assert trends["p_holm"].min() == pytest.approx(5 * trends["p"].min())
    assert "Spearman − random: the gain grows with structure" in " ".join(synthetic.lines)


def test_recovery_by_structure(synthetic):
    data = synthetic.tables[2].data.set_index(["study", "structure", "graph"])
    assert data.loc[("groups", 15, "spearman"), "true_share"] == 40
    assert data.loc[("groups", 15, "lingam"), "tables"] == 3
    assert np.isnan(data.loc[("groups", 15, "lingam"), "shd"])
    assert data.loc[("dags", 0.2, "lingam"), "shd"] == 3


def test_graphs_that_failed_are_no_result_at_chance_level():
    tables = [f"groups-d30-k02-n50-table{table}" for table in (1, 2, 3)]
    groups = runs_frame([run for name in tables for run in runs_of(name, {"spearman": 1.0})])
    dag = "dag-d5-density0.2-laplace-n50-table1"
    recovery = pd.concat([recovery_of("groups", tables), recovery_of("dags", [dag])])
    lingam = (recovery["graph"] == "lingam").to_numpy()
    recovery.loc[lingam, "average_precision"] = [0.9, 0.1, 0.8, 0.1]
    recovery.loc[lingam, "status"] = ["ok", "error", "timeout", "error"]
    study = synthetic_study(groups, runs_frame(runs_of(dag, {"true": 1.0})), recovery, LEVEL)
    data = study.tables[2].data.set_index(["study", "graph"])
    row = data.loc[("groups", "lingam")]
    assert row[["tables", "cut", "failed"]].tolist() == [2, 1, 1]
    assert row["average_precision"] == pytest.approx(0.85)
    assert data.loc[("dags", "lingam"), "tables"] == 0
    assert np.isnan(data.loc[("dags", "lingam"), "average_precision"])
    drawn = study.drawings["edge_recovery"].figure.axes[0].lines[1]
    assert drawn.get_label() == "LiNGAM" and drawn.get_ydata() == pytest.approx([0.85])


def test_figures_of_more_than_six_encodings_and_graphs():
    names = [*"abcdefg"]
    table, dag = "groups-d30-k02-n50-table1", "dag-d5-density0.2-laplace-n50-table1"
    recovery = pd.concat(
        [recovery_of("groups", [table]).head(1).assign(graph=name) for name in names]
    )
    gains = dict.fromkeys(names, 1.0)
    study = synthetic_study(
        runs_frame(runs_of(table, gains)), runs_frame(runs_of(dag, gains)), recovery, LEVEL
    )
    shown = study.drawings["edge_recovery"].figure.axes[0].lines
    assert [line.get_label() for line in shown[:7]] == names
    ranks = pd.DataFrame(
        [rank_row("wine", name, alpha, part, 2.0) for name in names for alpha in (0.0, 1.0, 5.0)
         for part in ("train", "test")]
    )  # fmt: skip
    drawn = effective_rank_study(runs_frame(runs_of("wine", gains)), ranks, LEVEL)
    assert drawn.drawings["effective_rank"].numbers["encoding"].nunique() == 7


def test_at_the_papers_size_labels_and_series_do_not_hide_each_other():
    tables = [f"groups-d30-k{k:02d}-n50-table1" for k in range(1, 31)]
    dags = [f"dag-d5-density{density}-laplace-n50-table1" for density in (0.05, 0.2)]
    scores = [
        runs_frame([run for name in names for run in runs_of(name, {"spearman": 1.0, "true": 1.0})])
        for names in (tables, dags)
    ]
    recovery = pd.concat([recovery_of("groups", tables), recovery_of("dags", dags)])
    drawn = synthetic_study(*scores, recovery, LEVEL).drawings
    for name in ("synthetic_gains", "edge_recovery"):
        figure = drawn[name].figure
        figure.draw_without_rendering()
        for axes in figure.axes:
            boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
            ends = [(box.x0, box.x1) for box in boxes if box.width]
            assert all(left[1] < right[0] for left, right in pairwise(ends)), name
    # Two estimators that recover the same stand beside each other.
    first, second, *_ = drawn["edge_recovery"].figure.axes[0].lines
    assert (np.array(first.get_xdata()) < np.array(second.get_xdata())).all()
    # Densities have one scale, whose label stands once.
    above, below = drawn["synthetic_dags"].figure.axes
    assert above.get_xlim() == below.get_xlim() and not above.get_xlabel()


def test_the_numbers_of_the_gains_have_a_row_per_table_and_encoding():
    table, dag = "groups-d30-k02-n50-table1", "dag-d5-density0.2-laplace-n50-table1"
    runs = [run for split in (1, 2) for run in runs_of(table, {"spearman": split}, split=split)]
    dags = runs_frame(runs_of(dag, {"true": 1.0}))
    study = synthetic_study(runs_frame(runs), dags, recovery_of("groups", [table]), LEVEL)
    assert study.drawings["synthetic_gains"].numbers["improvement"].tolist() == pytest.approx([1.5])


def test_files_are_those_that_the_rules_expect(synthetic, tmp_path):
    synthetic.write(tmp_path)
    for name in STUDY_TABLES["synthetic"]:
        assert "\\begin{longtable}" in (tmp_path / f"tables/{name}.tex").read_text()
        assert len(pd.read_csv(tmp_path / f"tables/{name}.csv"))
    for name in STUDY_FIGURES["synthetic"]:
        assert (tmp_path / f"figures/{name}.svg").read_text().startswith("<?xml")
        assert len(pd.read_csv(tmp_path / f"figures/{name}.csv"))
    assert {path.stem for path in tmp_path.glob("figures/*")} == set(STUDY_FIGURES["synthetic"])


def test_the_page_has_a_section_of_it(synthetic):
    results = Results(runs_frame([]))
    svg = svg_text(synthetic.drawings["synthetic_gains"].figure)
    settings, figures = {"analysis": {}}, dict.fromkeys(FIGURES, svg)
    page = render_page(results, headline(results), figures, settings, [synthetic])
    assert '<section id="synthetic_study">' in page and 'href="#synthetic_study"' in page
    for name, caption in STUDY_FIGURES["synthetic"].items():
        assert f'id="figure-{name}"' in page and caption.title in page
    for table in STUDY_TABLES["synthetic"].values():
        assert f"<h3>{table.title}</h3>" in page
    assert "synthetic_study" not in render_page(results, headline(results), figures, settings)


def rank_row(dataset: str, encoding: str, alpha: float, part: str, rank: float) -> dict:
    return {
        "dataset": dataset, "encoding": encoding, "alpha": alpha, "part": part,
        "effective_rank": rank, "effective_rank_squared": 1.0,
    }  # fmt: skip


def test_effective_rank_report():
    scores, ranks = [], []
    for dataset, base in (("phoneme", 40.0), ("wilt", 20.0)):
        scores += runs_of(dataset, {"spearman": -10.0, "spearman-random": 10.0}, (0.0, 1.0, 30.0))
        for encoding, fall in (("spearman", 4.0), ("spearman-random", 2.0)):
            for alpha in (0.0, 1.0, 30.0):
                rank = base if alpha == 0 else base / fall
                for part, factor in (("train", 1.0), ("test", 0.5)):
                    ranks.append(rank_row(dataset, encoding, alpha, part, factor * rank))
    study = effective_rank_study(runs_frame(scores), pd.DataFrame(ranks), LEVEL)
    data = study.tables[0].data.set_index(["encoding", "alpha"])
    # Mean of 40 and 20 on training rows, half of it on test rows, divided by 4 with alpha 1.
    assert data.loc[("spearman", 0.0), "train"] == 30
    assert data.loc[("spearman", 1.0), "test"] == pytest.approx(15 / 4)
    assert data.loc[("spearman", 30.0), "paper"] == 1.53
    assert data.loc[("spearman-random", 1.0), "improvement"] == pytest.approx(10)
    text = " ".join(study.lines)
    assert "Spearman has the lower rank, beside Spearman, random, in 4 of 4 pairs" in text
    assert set(study.drawings) == set(STUDY_FIGURES["effective_rank"])
    assert {table.name for table in study.tables} == set(STUDY_TABLES["effective_rank"])


@pytest.mark.parametrize(("datasets", "said"), [
    (5, "5 datasets can't say whether that is chance; a test needs 6."),
    (6, "Over 6 datasets the lower the rank, the better the test score (Wilcoxon test, p = 0.031"),
])  # fmt: skip
def test_rank_and_score_are_tested_over_datasets(datasets, said):
    """Models of one dataset are not independent: each dataset is one observation."""
    scores, ranks, alphas = [], [], (0.0, 1.0, 5.0)
    for dataset in map("d{}".format, range(datasets)):
        scores += runs_of(dataset, {"spearman": 10.0, "spearman-random": 5.0}, alphas)
        for encoding, low in (("spearman", 1.0), ("spearman-random", 2.0)):
            for alpha in alphas:
                rank = low if alpha == 1 else 4.0 + low
                ranks += [rank_row(dataset, encoding, alpha, part, rank) for part in PARTS]
    study = effective_rank_study(runs_frame(scores), pd.DataFrame(ranks), LEVEL)
    text = " ".join(study.lines).replace("\N{NO-BREAK SPACE}", " ")
    assert "d0 −0.95, d1 −0.95" in text and said in text


def test_no_rank_was_measured(tmp_path):
    ranks = pd.DataFrame(columns=list(rank_row("d", "spearman", 0.0, "test", 1.0)))
    study = effective_rank_study(runs_frame(runs_of("d", {"spearman": 1.0})), ranks, LEVEL)
    assert study.tables[0].reason == study.lines[0] == "No effective rank was measured."
    study.write(tmp_path)
