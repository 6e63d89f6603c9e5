"""Every table at full size, from the paper's numbers; and what happens when parts were not run."""

import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabpet.analysis.captions import TABLES, table_files
from tabpet.analysis.headline import headline
from tabpet.analysis.paper import paper_table, read_reference
from tabpet.analysis.results import Results
from tabpet.analysis.table import Column, Panel, Table, show, spread, under
from tabpet.analysis.tables import MAKERS, make_tables, write_tables
from tabpet.runs import Run, runs_frame
from tabpet.settings import AnalysisSettings
from tests.analysis.grid import (
    abbreviations,
    broken_runs,
    datasets_frame,
    full_results,
    full_runs,
    small_runs,
)

QUICK = AnalysisSettings(bootstrap=100)


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return make_tables(full_results())


@pytest.fixture(scope="module")
def broken() -> Results:
    return Results(runs_frame(broken_runs()), QUICK, abbreviations())


def claims(label: str) -> pd.DataFrame:
    frame = read_reference("summary_claims", dtype="str")
    return frame[frame["table_label"] == label]


def rounded(value: float, like: str) -> str:
    digits = len(re.sub(r"e.*", "", like).partition(".")[2])
    return f"{value:.{digits}{'e' if 'e' in like else 'f'}}"


def test_the_papers_ranks_come_out_of_the_main_table(tables):
    data = tables["main"].data
    means = data.groupby(["task", "method"])["rank"].mean()
    # SAINT and SAINT+PET tie on SP at four digits; the paper ranks them by digits not printed.
    tied = {("regression", "saint"): "3.66", ("regression", "saint+pet"): "2.82"}
    for claim in claims("tab:simplified_results").itertuples():
        key = (claim.task, claim.model_or_method)
        assert rounded(means[key], claim.value) == tied.get(key, claim.value), key
    references = data["method"].isin(["linear", "xgboost-default", "catboost-default"])
    assert data[references]["rank"].isna().all()


def test_the_papers_comparison_with_trees_comes_out(tables):
    data = tables["trees"].data.set_index(["method", "opponent", "task"])
    for claim in claims("tab:transformer_vs_tree_extended").itertuples():
        quantity, _, tree = claim.quantity.partition("_vs_")
        column = {"win_rate_pct": "win_rate", "p_value": "p_paper_rule"}[quantity]
        row = data.loc[claim.model_or_method, tree, claim.task]
        assert rounded(row[column], claim.value) == claim.value, claim


def test_the_papers_means_without_outliers_come_out(tables):
    data = tables["outliers"].data.set_index(["method", "task"])
    names = {"n_datasets": "datasets", "n_excluded": "excluded"}
    for claim in claims("tab:systematic_clean_performance").itertuples():
        value = data.loc[claim.model_or_method, claim.task][names.get(claim.quantity, "mean")]
        assert rounded(value, claim.value) == claim.value, claim


def test_the_papers_learnable_duels_come_out(tables):
    data = tables["learnable"].data.set_index(["encoding", "task"])
    names = {"pet": "spearman", "learnable": "spearman-learnable"}
    duels = claims("tab:main_learnable_comparison").query("quantity == 'win_rate_pct'")
    for claim in duels.itertuples():
        row = data.loc[names[claim.model_or_method], claim.task]
        assert rounded(row["win_rate"], claim.value) == claim.value
        assert row["datasets"] == row["duels"] == 25


def test_graph_times_are_the_papers(tables):
    data = tables["graph_methods"].data.set_index(["model", "encoding", "task"])
    times = claims("tab:graph_estimation_results").query("quantity == 'mean_time_minutes'")
    for claim in times.itertuples():
        row = data.loc["ft_transformer", claim.model_or_method, "regression"]
        assert rounded(row["graph_minutes"], claim.value) == claim.value
        assert row["timed_datasets"] == 50


def test_significance_states_datasets_tests_and_second_opinions(tables):
    data = tables["significance"].data.set_index(["model", "task"])
    row = data.loc["ft_transformer", "classification"]
    assert (row["datasets"], row["missing"]) == (25, 0)
    assert row["p"] == pytest.approx(2 * 2 / 2**25)  # one smallest difference is negative
    assert row["mean_low"] < row["mean"] < row["mean_high"]
    assert row["shift_low"] < row["shift"] < row["shift_high"]
    assert data.loc["overall", "regression"]["datasets"] == 25 + 25 + 7
    assert (data["p_holm"] >= data["p"]).all()


def test_wherever_an_improvement_is_reported_the_oracle_stands_beside_it(tables):
    improvements = re.compile(r"^(mean|median|improvement|win_rate|pet_advantage)$")
    seen = []
    for name, table in tables.items():
        if name == "oracle" or any(improvements.match(column) for column in table.data):
            assert any("oracle" in column for column in table.data), name
            seen.append(name)
    assert set(seen) == {
        *("significance", "controls", "oracle", "graph_methods", "learnable", "trees", "outliers"),
        *("detailed_models", "detailed_graphs", "paper"),
    }
    assert "oracle" in set(tables["main"].data)
    with_both = tables["detailed_graphs"].data
    assert (with_both["oracle_improvement"] >= with_both["improvement"] - 1e-9).all()


def test_controls_go_through_the_same_choice(tables):
    data = tables["controls"].data.set_index(["model", "encoding", "task"])
    random = data.loc["ft_transformer", "spearman-random", "all"]
    assert random["datasets"] == random["duels"] == 50
    # Made up without any effect: validation finds none, the best of nine on the test set does.
    assert abs(random["mean"]) < 0.5 < random["oracle_mean"]
    assert random["oracle_positive_rate"] > 90
    assert random["pet_win_rate"] > 80


def cells_with(gains: dict[str, dict[str, float]]) -> list[Run]:
    """SAINT with the gain in percent of every encoding and dataset; base 0.5."""
    return [
        Run(
            dataset,
            1,
            "saint",
            encoding,
            1,
            "classification",
            alpha,
            alpha,
            0.5 + alpha * gain / 200,
        )
        for encoding, by_dataset in gains.items()
        for dataset, gain in by_dataset.items()
        for alpha in (0.0, 1.0)
    ]


def test_encodings_with_other_datasets_meet_on_those_that_both_have():
    # By position, b would meet a and c would meet b: Spearman would win both.
    gains = {
        "spearman": {"b": 2.0, "c": 3.0},
        "spearman-random": {"a": 1.0, "b": 2.5},
        "spearman-learnable": {"a": 1.0, "b": 2.5, "d": 0.0},
    }
    results = Results(runs_frame(cells_with(gains)), QUICK)
    rows = MAKERS["controls"](results).data.set_index(["encoding", "task"])
    for encoding in ("spearman-random", "spearman-learnable"):
        row = rows.loc[encoding, "all"]
        assert (row["duels"], row["pet_win_rate"]) == (1, 0)
        assert row["pet_advantage"] == row["oracle_pet_advantage"] == pytest.approx(-0.5)
    table = MAKERS["learnable"](results)
    learned = table.data.set_index(["encoding", "task"])[["duels", "win_rate"]]
    assert learned.loc["spearman-learnable", "classification"].tolist() == [1, 100]
    [panel] = table.panels
    assert panel.texts["Classification", "duels"].tolist() == ["1", "1"]


@pytest.mark.parametrize("dataset", ["wilt", "cloud"])
def test_references_alone_agree_with_no_cell_of_the_paper(dataset):
    run = Run(dataset, 42, "linear", "default", 1, "classification", None, 0.5, 0.6)
    data = paper_table(Results(runs_frame([run]))).data
    assert set(data["verdict"]) == {"not run"}
    assert data["test"].isna().all()


def test_pairs_that_are_not_independent_are_called_so(tables):
    assert "Overall: pairs of several models" in tables["significance"].caption
    one = Results(runs_frame([run for run in small_runs() if run.model == "ft_transformer"]), QUICK)
    assert "Overall" not in MAKERS["significance"](one).caption


@pytest.mark.filterwarnings("error")
def test_trees_without_an_error_win_and_give_no_percentage():
    runs = [
        Run("d", 1, "saint", "spearman", 1, "regression", alpha, 1 - alpha, 2 - alpha)
        for alpha in (0.0, 1.0)
    ]
    runs.append(Run("d", 1, "xgboost", "tuned", 1, "regression", None, 0.0, 0.0))
    rows = MAKERS["trees"](Results(runs_frame(runs), QUICK)).data
    assert (rows["losses"] == 1).all()
    assert rows["mean_difference_pct"].isna().all()


def test_trees_stand_beside_the_oracle():
    # Errors 2 without, 1.5 by validation and 1 by test, against a tree's 2.
    by_alpha = {0.0: (9.0, 2.0), 1.0: (1.0, 1.5), 2.0: (2.0, 1.0)}
    runs = [
        Run("d", 1, "saint", "spearman", 1, "regression", alpha, *scores)
        for alpha, scores in by_alpha.items()
    ]
    runs.append(Run("d", 1, "xgboost", "tuned", 1, "regression", None, 2.0, 2.0))
    row = (
        MAKERS["trees"](Results(runs_frame(runs), QUICK)).data.set_index("method").loc["saint+pet"]
    )
    assert (row["mean_difference_pct"], row["median_difference_pct"]) == (25, 25)
    assert (row["oracle_mean_difference_pct"], row["oracle_median_difference_pct"]) == (50, 50)


def test_cost_counts_the_seconds_of_a_job_once(tables):
    jobs = {
        (run.dataset, run.model, run.encoding, run.seed): run.seconds
        for run in full_runs()
        if run.model == "saint"
    }
    row = tables["cost"].data.set_index("stage").loc["Training: SAINT"]
    assert row["jobs"] == len(jobs) == 750
    assert row["hours"] == pytest.approx(sum(jobs.values()) / 3600)


def test_the_grid_agrees_with_the_paper_in_every_cell(tables):
    data = tables["paper"].data
    assert len(data) == 332 + 2 * 250 + 50
    assert set(data["verdict"]) == {"within"}
    cells = data[data["paper_improvement"].notna()]
    sign = np.where(cells["task"] == "classification", 1, -1)
    base = cells["test"] / (1 + sign * cells["improvement"] / 100)
    # Both means are printed with four decimals, the percentage with two.
    allowed = 0.0051 + 100 * 5e-5 * (1 + cells["test"] / base) / base
    assert ((cells["improvement"] - cells["paper_improvement"]).abs() <= allowed).all()


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(0.0, "within"), (0.0074, "within"), (0.0076, "better"), (-0.0076, "worse")],
)
def test_verdicts_by_hand(shift, verdict):
    # XGBoost on wilt: 0.9138 with 0.0073 in the paper, 0.0014 here, 0.0074 together.
    tests = {1: 0.9138 + shift - 0.001, 2: 0.9138 + shift + 0.001}
    runs = [
        Run("wilt", 42, "xgboost", "tuned", seed, "classification", None, test, test)
        for seed, test in tests.items()
    ]
    data = paper_table(Results(runs_frame(runs))).data
    verdicts = data.set_index(["table", "dataset", "cell"])["verdict"]
    assert verdicts["main", "wilt", "xgboost"] == verdict
    assert (verdicts.drop(("main", "wilt", "xgboost")) == "not run").all()


def test_the_oracle_is_judged_by_its_own_spread():
    # FT-Transformer with Spearman on wilt: 0.9704 with 0.0080 in the paper; of two seeds here, by
    # validation 0.96 with 0.0424, by test 0.9855 with 0.0007.
    chosen, oracle = (0.99, 0.93), (0.985, 0.986)
    runs = [
        Run("wilt", 42, "ft_transformer", "spearman", seed, "classification", alpha, val, test)
        for seed in (1, 2)
        for alpha, val, test in (
            (0.0, 0.1, 0.9),
            (1.0, 0.9, chosen[seed - 1]),
            (2.0, 0.8, oracle[seed - 1]),
        )
    ]
    data = paper_table(Results(runs_frame(runs))).data
    cell = data[(data["table"] == "main") & (data["cell"] == "ft_transformer+pet")]
    [line] = cell[cell["dataset"] == "wilt"].to_dict("records")
    assert (line["verdict"], line["oracle_verdict"]) == ("within", "better")


def test_every_table_has_lines_a_caption_and_its_two_files(tables, tmp_path):
    assert list(tables) == list(TABLES) == list(MAKERS)
    for name, table in tables.items():
        assert table.reason is None, name
        assert table.caption.endswith("."), name
        rows = list(csv.reader(io.StringIO(table.to_csv())))
        assert len(rows) == len(table.data) + 1
        assert len({len(row) for row in rows}) == 1
        table.write(tmp_path)
    assert sorted(map(str, tmp_path.iterdir())) == sorted(table_files(str(tmp_path)))


def cells_of(line: str) -> int:
    """How many columns a LaTeX row fills."""
    spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
    return len(re.findall(r"(?<!\\)&", line)) + 1 + sum(spans) - len(spans)


def check_latex(text: str) -> None:
    body = re.sub(r"^%.*\n", "", text)
    for name in ("landscape", "longtable"):
        assert body.count(rf"\begin{{{name}}}") == body.count(rf"\end{{{name}}}")
    assert body.count("{") == body.count("}")
    assert not re.search(r"(?<!\\)[%#_]|[^\x00-\x7F]", body.replace(r"\textbackslash{}", ""))
    columns = 0
    for line in body.splitlines():
        if begins := re.match(r"\\begin\{longtable\}\{(.*)\}$", line):
            columns = len(re.sub(r"@\{.*?\}\}", "", begins[1]))
        elif line.endswith(r"\\") and not line.startswith(r"\caption"):
            assert cells_of(line) == columns, line
    labels = re.findall(r"\\label\{(.*?)\}", body)
    assert len(set(labels)) == len(labels)


def test_latex_is_well_formed(tables):
    for table in tables.values():
        check_latex(table.to_latex())


DOCUMENT = r"""\documentclass[a4paper]{article}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs,longtable,pdflscape}
\begin{document}
%s
\end{document}
"""


def has_latex() -> bool:
    finder = shutil.which("kpsewhich")
    return bool(finder) and subprocess.run([finder, "pdflscape.sty"], check=False).returncode == 0


@pytest.mark.skipif(not has_latex(), reason="pdflatex and its packages are not installed")
def test_latex_compiles_and_no_table_is_wider_than_its_page(tables, tmp_path):
    for table in tables.values():
        table.write(tmp_path)
    inputs = "\n".join(rf"\input{{{name}.tex}}" for name in tables)
    (tmp_path / "all.tex").write_text(DOCUMENT % inputs)
    # Columns of a long table have their final width from the second run on.
    for _ in range(2):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
        latex = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert latex.returncode == 0, latex.stdout[-2000:]
    assert "Overfull" not in latex.stdout


LONG = pd.DataFrame(
    {
        "dataset": ["a", "a", "b"],
        "method": ["x", "y", "x"],
        "low": [1.0, 2.0, 3.0],
        "high": [1.5, 2.5, np.nan],
    }
)
BOTH = (
    Column(("low",), "", "low", lambda value: f"{value:g}"),
    Column(("low", "high"), "", "both", "{}-{}".format),
)


def test_columns_are_declared_once_and_shown_over_a_frame():
    cells = show(LONG.set_index("dataset"), under("Ends", BOTH), "Dataset")
    assert list(cells.columns) == [("Ends", "low"), ("Ends", "both")]
    assert cells.to_numpy().tolist() == [["1", "1.0-1.5"], ["2", "2.0-2.5"], ["3", "3.0-nan"]]
    panel = Panel(cells)
    assert (panel.corner, panel.groups) == ("Dataset", [("Ends", 2)])


def test_a_long_frame_is_spread_with_columns_of_each_value():
    columns = {"x": under("X", BOTH), "y": under("Y", BOTH[:1])}
    rows = LONG.set_index("dataset").loc[["b", "a"]]
    cells = spread(rows, "method", columns, "Dataset", str.upper)
    assert list(cells.index) == ["B", "A"]
    assert list(cells.columns) == [("X", "low"), ("X", "both"), ("Y", "low")]
    assert cells.to_numpy().tolist() == [["3", "3.0-nan", "nan"], ["1", "1.0-1.5", "2"]]


def test_a_footer_is_set_apart_and_leaves_other_columns_empty():
    panel = Panel(show(LONG.set_index("dataset")[:1], BOTH, "Dataset"))
    total = show(pd.DataFrame({"low": [6.0]}, index=["all"]), BOTH[:1])
    panel = panel.with_footer(total)
    assert panel.corner == "Dataset"
    assert panel.texts.loc["all"].tolist() == ["6", ""]
    text = Table("cost", "Caption.", LONG, (panel,)).to_latex()
    check_latex(text)
    assert "a & 1 & 1.0-1.5 \\\\\n\\midrule all & 6 &  \\\\\n" in text


def test_groups_of_columns_that_are_too_many_for_a_page_come_below_each_other(tables):
    for name in ("detailed_models", "detailed_graphs", "paper"):
        for panel in tables[name].panels:
            texts = list(panel.to_latex("Caption.", "tab:x"))
            beside = panel.beside or len(panel.groups)
            assert len(texts) == -(-len(panel.groups) // beside)
            for heading, _ in filter(all, panel.groups):
                assert sum(f"}}{{{heading}}}" in text for text in texts) == 1
            ends = [text.index(r"\endlastfoot") for text in texts]
            bodies = [text[end:] for text, end in zip(texts, ends, strict=True)]
            assert all(body.count("\\\\\n") == len(panel.texts) for body in bodies)


def test_special_characters_reach_latex_escaped():
    frame = pd.DataFrame({"a": ["1±2", "<"]}, index=["x&y", "$z$"])
    cells = show(frame, [Column(("a",), "", "50 % of a_b")], "#")
    text = Table("main", "A & B − {C}.", frame, (Panel(cells, "[*]"),)).to_latex()
    check_latex(text)
    assert r"x\&y & 1$\pm$2 \\" in text
    assert r"A \& B $-$ \{C\}." in text


def test_best_marks(tables):
    panel = tables["main"].panels[0]
    for dataset, row in panel.marks.iloc[:-3].iterrows():
        best = panel.texts.loc[dataset][row == "best"].astype(float)
        others = panel.texts.loc[dataset].replace("–", np.nan).astype(float)
        compared = others[[column for column in others.index if column[1] != "oracle"]]
        assert len(best) == 1
        assert best.iloc[0] == compared.max()


@pytest.mark.parametrize(
    ("runs", "empty"),
    [
        (
            small_runs(),
            {"controls", "learnable", "trees", "timing", "mixed_model"},
        ),
        ([], set(TABLES)),
    ],
)
def test_what_was_not_run_is_one_line_with_a_reason(runs, empty, tmp_path):
    tables = write_tables(Results(runs_frame(runs), QUICK), tmp_path)
    assert {name for name, table in tables.items() if table.reason} == empty
    for name in empty:
        header, reason = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert header == "reason"
        assert reason
        check_latex((tmp_path / f"{name}.tex").read_text())


def test_an_unknown_main_encoding_says_what_to_set():
    results = Results(runs_frame(small_runs()), AnalysisSettings(main_encoding="notears"))
    reason = MAKERS["significance"](results).reason
    assert reason == ("no run with notears has finished; set `analysis.main_encoding` to spearman")


def test_failures_change_the_counts_and_nothing_breaks(broken):
    tables = make_tables(broken)
    for table in tables.values():
        check_latex(table.to_latex())
    main = tables["main"].data
    assert "wilt" not in set(main["dataset"])
    assert "catboost" not in set(main["method"])
    coverage = tables["coverage"].data.set_index(["dataset", "model", "encoding"])
    cell = coverage.loc["madeline", "ft_transformer", "notears"]
    assert (cell["planned"], cell["ok"], cell["oom"], cell["reason"]) == (5, 4, 1, "8 GiB used")
    assert coverage.loc["diamonds", "saint", "spearman"]["timeout"] == 1
    assert ("cmc", "saint", "spearman-shuffled") not in coverage.index


def test_a_missing_run_file_shows_in_the_coverage():
    lost = Run("d", 1, "saint", "spearman", 2, "regression", status="missing", reason="no file")
    kept = Run("d", 1, "saint", "spearman", 1, "regression", 0.0, 1.0, 1.0)
    table = MAKERS["coverage"](Results(runs_frame([kept, lost])))
    [(_, row)] = table.data.iterrows()
    assert (row["planned"], row["ok"], row["missing"], row["error"]) == (2, 1, 1, 0)


def test_mean_ranks_have_intervals_in_the_main_table(tables):
    data = tables["main"].data
    ranked = data[data["rank"].notna()]
    means = ranked.groupby(["task", "method"])["rank"].transform("mean")
    assert ranked["mean_rank"].to_numpy() == pytest.approx(means.to_numpy())
    assert (ranked["mean_rank_low"] < ranked["mean_rank"]).all()
    assert (ranked["mean_rank"] < ranked["mean_rank_high"]).all()
    assert data[data["rank"].isna()]["mean_rank_low"].isna().all()
    panel = tables["main"].panels[0]
    assert list(panel.texts.index[-3:]) == ["mean rank", "interval", "n"]
    row = data[(data["task"] == "classification") & (data["method"] == "saint")].iloc[0]
    shown = f"{row['mean_rank_low']:.1f}–{row['mean_rank_high']:.1f}"
    assert panel.texts["SAINT", "base"]["interval"] == shown


def test_the_matrix_agrees_with_the_table_of_trees_about_wins(tables):
    matrix = tables["comparison_matrix"].data
    assert set(matrix["task"]) == {"classification", "regression", "all"}
    assert (matrix.groupby("task").size() == 28).all()  # pairs of eight methods
    trees = tables["trees"].data.set_index(["method", "opponent", "task"])
    for row in matrix.itertuples():
        key = (row.method, row.other, row.task)
        if key in trees.index:
            other = trees.loc[key]
            assert [row.wins, row.ties, row.losses] == other[["wins", "ties", "losses"]].tolist()
    assert ((matrix["wins"] + matrix["ties"] + matrix["losses"]) == matrix["datasets"]).all()
    assert (matrix["p_holm"] >= matrix["p"]).all()
    grid_panel, _ = tables["comparison_matrix"].panels[-2:]
    assert grid_panel.texts.shape == (8, 8)
    bold = (grid_panel.marks == "best").to_numpy()
    assert (bold == bold.T).all() and not bold.diagonal().any()
    significant = ((matrix["task"] == "all") & (matrix["p_holm"] < 0.05)).sum()
    assert bold.sum() == 2 * significant


def test_the_mixed_model_finds_what_the_grid_was_made_of(tables):
    table = tables["mixed_model"]
    data = table.data.set_index(["gains", "term", "name"])
    measured = data.loc["as measured"]
    # The grid's controls have no effect, its Spearman encodings the paper's gains.
    averages = full_results().averages
    pet = averages[averages["encoding"] == "spearman"]["improvement"].mean()
    random = measured.loc["encoding", "spearman-random"]
    assert random["coefficient"] == pytest.approx(-pet, abs=0.5)
    assert random["high"] < 0 and random["p"] < 1e-4
    assert random["reference"] == "spearman"
    assert (measured["datasets"] == 50).all() and (measured["limited"] == 0).all()
    winsorised = data.loc["winsorised"]
    assert (winsorised["observations"] == len(averages)).all()
    assert 0 < winsorised["limited"].iloc[0] < 0.1 * len(averages)
    # Without its heavy tail a gain is smaller, and known better.
    size = abs(winsorised.loc["encoding", "spearman-random"]["coefficient"])
    assert 0.5 < size < abs(random["coefficient"])
    assert (
        winsorised.loc["encoding", "spearman-random"]["standard_error"] < random["standard_error"]
    )
    assert set(data["status"]) <= {"converged", "boundary"}
    assert "heavy tails" in table.caption
    assert "50 datasets, 598 observations; " in table.panels[0].heading
    # A learned encoding has one alpha, so nothing to choose by test.
    learned = data[data.index.get_level_values("name") == "spearman-learnable"]
    assert list(learned.index.get_level_values("gains")) == ["winsorised", "as measured"]
    assert "oracle, winsorised" in data.index.get_level_values("gains")
    assert "and models within a dataset" in table.caption
    assert "models with FT-Transformer" in table.caption


def test_few_datasets_or_no_sizes_give_no_mixed_model():
    few = Results(runs_frame(small_runs(4)), QUICK, datasets=datasets_frame())
    assert MAKERS["mixed_model"](few).reason == (
        "8 datasets with a size and a gain with Spearman encodings; 10 are needed"
    )
    without = Results(runs_frame(small_runs(6)), QUICK)
    assert MAKERS["mixed_model"](without).reason.startswith("0 datasets with a size")
    enough = Results(runs_frame(small_runs(6)), QUICK, datasets=datasets_frame())
    table = MAKERS["mixed_model"](enough)  # one model with one encoding: an intercept and a slope
    assert table.reason is None
    assert list(table.data["term"].unique()) == ["intercept", "size"]
    assert "models within" not in table.caption and "models with" not in table.caption
    check_latex(table.to_latex())
    # Two models with one encoding each: no effect of models within a dataset can be told.
    others = [replace(run, model="saint") for run in small_runs(6)]
    two = Results(runs_frame([*small_runs(6), *others]), QUICK, datasets=datasets_frame())
    table = MAKERS["mixed_model"](two)
    assert table.data["sd_models_within_a_dataset"].isna().all()
    assert "models within" not in table.caption
    assert "models with FT-Transformer" in table.caption


@pytest.mark.filterwarnings("error")
def test_a_mixed_model_that_fails_is_a_table_that_says_so():
    same = datasets_frame().assign(rows=1000)
    table = MAKERS["mixed_model"](Results(runs_frame(small_runs(6)), QUICK, datasets=same))
    assert set(table.data["status"]) == {"failed"}
    assert table.data["coefficient"].isna().all()
    assert "failed: encoding, model and size cannot be told apart" in table.panels[0].heading
    check_latex(table.to_latex())


def test_a_further_method_changes_no_number_of_a_pair(tables):
    """But for Holm's p, which by definition counts comparisons; the plain p stands beside it."""
    gone = {"saint", "catboost"}
    fewer = Results(runs_frame([run for run in full_runs() if run.model not in gone]))
    keys, columns = ["method", "other", "task"], [*tables["comparison_matrix"].data]
    ours = MAKERS["comparison_matrix"](fewer).data.set_index(keys)
    full = tables["comparison_matrix"].data
    turned = full.rename(
        columns={"method": "other", "other": "method", "wins": "losses", "losses": "wins"}
    )
    signed = ["mean_difference_pct", "median_difference_pct", "effect_size"]
    turned[signed] = -turned[signed]
    # The order of methods, and so which of two comes first, may change.
    both = pd.concat([full, turned[columns]]).set_index(keys)
    assert len(ours) == 3 * 10  # pairs of five methods, in three scopes
    kept = both.loc[ours.index]
    pd.testing.assert_frame_equal(ours.drop(columns="p_holm"), kept.drop(columns="p_holm"))
    assert (ours["p_holm"] <= kept["p_holm"] + 1e-12).all()
    assert (ours["p_holm"] < kept["p_holm"]).any()


def test_pairwise_results_do_not_depend_on_who_else_was_run(tables):
    gone = {"saint", "catboost", "linear", "tab_transformer"}
    fewer = Results(runs_frame([run for run in full_runs() if run.model not in gone]))
    ours = MAKERS["trees"](fewer).data.drop(columns="p_holm")
    full = tables["trees"].data.drop(columns="p_holm")
    same = full.merge(ours[["method", "opponent", "task"]])
    pd.testing.assert_frame_equal(ours, same)
    assert len(ours) == 2 * 2 * 2  # two methods, tuned and default XGBoost, two tasks
    alone = MAKERS["significance"](fewer).data.drop(columns="p_holm")
    before = tables["significance"].data.drop(columns="p_holm")
    before = before[before["model"] == "ft_transformer"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, before)


def test_one_seed_has_no_spread_and_still_every_table():
    runs = [run for run in small_runs() if run.seed == 1]
    table = MAKERS["main"](Results(runs_frame(runs), QUICK))
    assert table.data["sd"].isna().all()
    assert table.data["test"].notna().all()


def test_baselines_without_an_error_leave_nothing_to_compare_and_every_table_says_so():
    runs = [
        Run(dataset, 42, "ft_transformer", encoding, 1, "regression", alpha, alpha, alpha)
        for dataset in ("a", "b")
        for encoding in ("spearman", "spearman-random", "spearman-learnable")
        for alpha in (0.0, 1.0, 2.0)
    ]
    tables = make_tables(Results(runs_frame(runs), QUICK))
    for name in ("significance", "controls", "oracle"):
        assert tables[name].reason == "no dataset has an improvement: every baseline is 0"
    assert headline(Results(runs_frame(runs), QUICK)).verdict.startswith("No answer yet")
