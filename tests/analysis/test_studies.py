"""Reports of the studies, from made-up runs with known gains."""

import numpy as np
import pandas as pd
import pytest

from tabpet.analysis.captions import FIGURES, STUDY_FIGURES
from tabpet.analysis.effective_rank_study import effective_rank_study
from tabpet.analysis.headline import headline
from tabpet.analysis.names import STUDY_TABLES
from tabpet.analysis.page import render_page
from tabpet.analysis.plot import svg_text
from tabpet.analysis.results import Results
from tabpet.analysis.synthetic_study import REGIMES, synthetic_study
from tabpet.runs import Run, runs_frame

ENCODINGS = ("spearman", "true", "spearman-random")


def runs_of(dataset: str, gains: dict[str, float], alphas=(0.0, 1.0, 5.0)) -> list[Run]:
    """RMSE 2 without encodings; a gain in percent at alpha 1, on validation and test rows."""
    return [
        Run(
            dataset=dataset,
            split=42,
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
    return synthetic_study(*frames, recovery)


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
    assert "Spearman − random: the gain grows with structure" in " ".join(synthetic.lines)


def test_recovery_by_structure(synthetic):
    data = synthetic.tables[2].data.set_index(["study", "structure", "graph"])
    assert data.loc[("groups", 15, "spearman"), "true_share"] == 40
    assert data.loc[("groups", 15, "lingam"), "tables"] == 3
    assert np.isnan(data.loc[("groups", 15, "lingam"), "shd"])
    assert data.loc[("dags", 0.2, "lingam"), "shd"] == 3


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
    results = Results.build(runs_frame([]))
    svg = svg_text(synthetic.drawings["synthetic_gains"].figure)
    settings, figures = {"analysis": {}}, dict.fromkeys(FIGURES, svg)
    page = render_page(results, headline(results), figures, settings, [synthetic])
    assert '<section id="synthetic_study">' in page and 'href="#synthetic_study"' in page
    for name, caption in STUDY_FIGURES["synthetic"].items():
        assert f'id="figure-{name}"' in page and caption.title in page
    for title in STUDY_TABLES["synthetic"].values():
        assert f"<h3>{title}</h3>" in page
    assert "synthetic_study" not in render_page(results, headline(results), figures, settings)


def test_effective_rank_report():
    scores, ranks = [], []
    for dataset, base in (("phoneme", 40.0), ("wilt", 20.0)):
        scores += runs_of(dataset, {"spearman": -10.0, "spearman-random": 10.0}, (0.0, 1.0, 30.0))
        for encoding, fall in (("spearman", 4.0), ("spearman-random", 2.0)):
            for alpha in (0.0, 1.0, 30.0):
                rank = base if alpha == 0 else base / fall
                for part, factor in (("train", 1.0), ("test", 0.5)):
                    ranks.append(
                        {
                            "dataset": dataset, "encoding": encoding, "alpha": alpha, "part": part,
                            "effective_rank": factor * rank, "effective_rank_squared": 1.0,
                        }
                    )  # fmt: skip
    study = effective_rank_study(runs_frame(scores), pd.DataFrame(ranks))
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
