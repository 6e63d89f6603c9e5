"""The shipped results are what today's code makes of the shipped scores."""

import fcntl
import json
import os
import shutil
import subprocess
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from statsmodels.stats.multitest import multipletests
from typer.testing import CliRunner

from tabpet import reference
from tabpet.analysis.results import GAINS, NULL_CONTROLS
from tabpet.cli import app
from tabpet.errors import TabpetError
from tabpet.files import read_json, write_json, write_parquet
from tabpet.formats import number, percent, with_deviation
from tabpet.names import encoding_label
from tabpet.places import ROOT
from tabpet.plan import Cell
from tabpet.reference import (
    BLOCKS,
    SHIPPED,
    block_settings,
    compare_runs,
    make_block,
    put_block,
    read_about,
)
from tabpet.runs import Run, is_current, read_runs, runs_frame, stored_runs, write_runs
from tabpet.settings import read_settings
from tabpet.training.files import Journal

SCORES = "scores.parquet"
SHIPPED_BLOCKS = [name for name in BLOCKS if (SHIPPED / name).is_dir()]


def test_the_main_block_is_shipped():
    assert "main" in SHIPPED_BLOCKS


@pytest.mark.parametrize("block", SHIPPED_BLOCKS)
def test_shipped_scores_give_the_shipped_tables_and_headline(block, tmp_path):
    shipped = SHIPPED / block
    make_block(shipped, tmp_path, read_about(shipped)["settings"])
    for name in ("headline.json", "about.json"):
        assert read_json(tmp_path / name) == read_json(shipped / name)
    tables = sorted(path.name for path in (shipped / "tables").iterdir())
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == tables
    for name in tables:
        made, there = (pd.read_csv(folder / "tables" / name) for folder in (tmp_path, shipped))
        # An iterated fit ends in other last digits on another processor.
        pd.testing.assert_frame_equal(made, there, rtol=1e-6, obj=name)


@pytest.mark.parametrize("block", SHIPPED_BLOCKS)
def test_shipped_cells_are_known_by_rounded_encodings(block):
    # Else only the processor that made them could take them up.
    runs = read_runs(SHIPPED / block / "scores.parquet")
    inputs = runs["provenance"].dropna().map(lambda text: json.loads(text)["inputs"])
    encodings = inputs.map(lambda made: made.get("encoding")).dropna()
    assert len(encodings) and encodings.str.startswith("~").all()
    assert inputs.map(lambda made: made.get("encoding info")).dropna().str.startswith("~").all()
    assert not inputs.map(lambda made: made["split"]).str.startswith("~").any()


def test_the_readme_opens_with_the_shipped_answer():
    readme = (SHIPPED.parent / "README.md").read_text(encoding="utf-8")
    verdict = read_json(SHIPPED / "main/headline.json")["verdict"]
    opening = " ".join(readme[:3000].split())
    assert " ".join(verdict.split()) in opening
    claims = pd.read_csv(SHIPPED / "main/tables/claims.csv")
    by_test = f"a median of {percent(claims['oracle'].median())} %"
    assert f"{by_test}, and {percent(claims['random_oracle'].median())} % for random" in opening
    assert f"{len(claims)} of the paper's 22 small tables" in opening
    low, high = interval_of_the_gain()
    assert f"lies between {low} and {high} % (95 % interval)" in opening
    gains = [text.strip() for text in splits_of_cloud()[0].split("|")]
    spearman, random, shuffled = (f"{float(gains[place]):+.0f} %" for place in (4, 6, 8))
    words = f"is {spearman} here on the same split, and {random} and {shuffled} with random and"
    assert words in opening


def interval_of_the_gain() -> list[str]:
    """Of the main block, by the test of its headline."""
    tests = pd.read_csv(SHIPPED / "main/tables/significance.csv").set_index("task")
    return [percent(tests.loc["all", end]) for end in ("shift_low", "shift_high")]


def test_the_docs_have_the_shipped_numbers():
    docs = (SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8")
    about = read_about(SHIPPED / "main")
    assert f"{about['finished']} of {about['planned']} cells are finished" in " ".join(docs.split())
    claims = pd.read_csv(SHIPPED / "main/tables/claims.csv").set_index("dataset")
    claims.loc["median"] = claims.median()
    lines = [f"| {name} | {' | '.join(map(percent, gains))} |" for name, gains in claims.iterrows()]
    assert "\n".join(lines) in docs


def test_the_sentences_of_the_docs_have_the_shipped_numbers():
    docs = (SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8")
    prose = " ".join(docs.split())
    claims = pd.read_csv(SHIPPED / "main/tables/claims.csv").drop(columns="dataset")
    median = claims.median().map(percent)
    better = f"better on {(claims['validation'] > 0).sum()} of {len(claims)}"
    assert f"(median {median['validation']} %, {better}" in prose
    assert f"random ones ({median['random']} %) or shuffled ones ({median['shuffled']} %)" in prose
    assert f"interval of the typical gain {' to '.join(interval_of_the_gain())} %" in prose
    assert f"from {median['validation']} to {median['oracle']} %" in prose
    by_test = f"random {median['random_oracle']} %, shuffled {median['shuffled_oracle']} %"
    assert by_test in prose
    tests = {name: float(wilcoxon(gains).pvalue) for name, gains in claims.items()}
    p = {name: f"{value:.3f}" for name, value in tests.items()}
    words = f"p = {p['oracle']} for Spearman encodings, {p['random_oracle']} for random and"
    assert f"{words} {p['shuffled_oracle']} for shuffled" in prose
    short = ", ".join(f"{tests[name]:.2f}" for name in ("validation", "random", "shuffled"))
    assert f"By validation none does ({short})" in prose
    assert f"Wilcoxon p = {tests['validation']:.2f}" in prose
    leads = [claims["validation"] - claims[control] for control in ("random", "shuffled")]
    ahead = "ahead of random ones on {} tables and of shuffled ones on {}"
    assert ahead.format(*((lead > 0).sum() for lead in leads)) in prose
    p_leads = " and ".join(f"{2 * wilcoxon(lead).pvalue:.2f}" for lead in leads)
    assert f"(p = {p_leads}, corrected for two controls)" in prose
    del tests["published"]
    corrected = dict(zip(tests, multipletests(list(tests.values()), method="holm")[1], strict=True))
    by_test = [f"{corrected[name]:.3f}" for name in ("oracle", "random_oracle", "shuffled_oracle")]
    assert f"makes the three by test {by_test[0]}, {by_test[1]} and {by_test[2]}" in prose
    readme = " ".join((SHIPPED.parent / "README.md").read_text(encoding="utf-8").split())
    assert f"significant too (p = {p['oracle']} and {p['random_oracle']})" in readme
    hours = {block: read_about(SHIPPED / block)["hours"] for block in SHIPPED_BLOCKS}
    for block, figure in hours.items():
        assert f"{block} {figure:.1f}" in prose


FIXED = ("spearman", "spearman-random", "spearman-shuffled")


def errors_of_the_main_block(scores: Path = SHIPPED / "main" / SCORES) -> pd.DataFrame:
    """Of FT-Transformer, by encoding, dataset, split and alpha; an accuracy is a negative error."""
    runs = read_runs(scores)
    runs = runs[(runs["model"] == "ft_transformer") & (runs["status"] == "ok")]
    runs = runs.set_index(["encoding", "dataset", "split", "alpha"])
    errors = runs[["val_score", "test_score"]].astype(float)
    return errors.where(runs["task"] == "regression", -errors)


def at_least(errors: pd.DataFrame, by: str) -> float:
    """The test error of the alpha that has the least error; of equal ones the smallest alpha."""
    trained = errors.groupby("alpha").mean().drop(index=0.0)
    least = np.isclose(trained[by], trained[by].min(), rtol=1e-12, atol=0)
    return float(trained["test_score"].to_numpy()[least.argmax()])


def median_gain(base: pd.Series, errors: pd.Series) -> str:
    return percent((100 * (base - errors) / base.abs()).groupby("dataset").mean().median())


def test_the_docs_say_what_the_gain_of_a_mean_score_is():
    prose = " ".join((SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8").split())
    by_validation, by_test = [], []
    for encoding in FIXED:
        errors = errors_of_the_main_block().loc[encoding]
        base = errors["test_score"].xs(0.0, level="alpha").groupby("dataset").mean()
        val = errors.groupby(["dataset", "split"]).apply(at_least, "val_score")
        by_validation.append(median_gain(base, val.groupby("dataset").mean()))
        by_test.append(median_gain(base, errors.groupby("dataset").apply(at_least, "test_score")))
    words = "the medians are {}, {} and {} % by validation and {}, {} and {} % by test"
    assert words.format(*by_validation, *by_test) in prose


def test_the_docs_say_what_an_alpha_for_each_split_by_test_gains():
    prose = " ".join((SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8").split())
    gains = []
    for encoding in FIXED:
        errors = errors_of_the_main_block().loc[encoding]
        best = errors.groupby(["dataset", "split"]).apply(at_least, "test_score")
        gains.append(median_gain(errors["test_score"].xs(0.0, level="alpha"), best))
    words = "the median would be {} % (random {} %, shuffled {} %)"
    assert words.format(*gains) in prose


def test_the_docs_say_how_far_repeats_of_the_baseline_are_apart():
    prose = " ".join((SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8").split())
    errors = errors_of_the_main_block()
    base = errors["test_score"].xs(0.0, level="alpha").reset_index()
    repeats = base.pivot_table("test_score", ["dataset", "split"], "encoding")
    equal = repeats.eq(repeats["spearman"], axis=0).all(axis=1)
    assert f"equal on {equal.sum()} of {len(equal)} splits" in prose
    fixed = repeats[list(FIXED)]
    apart = [100 * (r.abs().max(axis=1) / r.abs().min(axis=1) - 1).max() for r in (fixed, repeats)]
    assert f"differ by up to {apart[0]:.1f} % of the score beside" in prose
    assert f"by up to {apart[1]:.1f} % beside learnable ones" in prose
    medians = [
        median_gain(
            fixed.mean(axis=1),
            errors.loc[encoding].groupby(["dataset", "split"]).apply(at_least, "val_score"),
        )
        for encoding in FIXED
    ]
    assert "the medians by validation are {}, {} and {} %".format(*medians) in prose


def test_the_docs_say_how_far_a_second_run_is_from_the_first():
    docs = (SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8")
    assert "\n".join(second_run()) in docs
    first, second = (read_runs(SHIPPED / name / SCORES) for name in ("main", "again"))
    both = compare_runs(second, first)
    assert len(both) == len(second) and both["same_settings"].all()
    change = both["change"].abs()
    prose = " ".join(docs.split())
    assert (
        f"differ by {change.median():.1f} % in the median and by up to {change.max():.0f} %"
        in prose
    )
    base = change[both["alpha"] == 0]
    assert f"those of the model without encodings by up to {base.max():.0f} %" in prose
    first, second = (
        errors_of_the_main_block(SHIPPED / name / SCORES) for name in ("main", "again")
    )
    medians = []
    for encoding in FIXED:
        old, new = first.loc[encoding], second.loc[encoding]
        again = old.index.get_level_values("dataset").isin(new.index.get_level_values("dataset"))
        errors = pd.concat([old[~again], new])
        chosen = errors.groupby(["dataset", "split"]).apply(at_least, "val_score")
        medians.append(median_gain(errors["test_score"].xs(0.0, level="alpha"), chosen))
    assert "the medians over the 21 tables are {}, {} and {} %".format(*medians) in prose


def second_run() -> list[str]:
    """A line for each table that was trained again: gains by validation, first and second."""
    lines = []
    runs = [errors_of_the_main_block(SHIPPED / name / SCORES) for name in ("main", "again")]
    for dataset in runs[1].index.get_level_values("dataset").unique():
        texts = []
        for encoding in FIXED:
            for errors in runs:
                here = errors.loc[encoding].xs(dataset, level="dataset", drop_level=False)
                chosen = here.groupby(["dataset", "split"]).apply(at_least, "val_score")
                texts.append(median_gain(here["test_score"].xs(0.0, level="alpha"), chosen))
        lines.append(f"| {dataset} | {' | '.join(texts)} |")
    return lines


def test_the_docs_have_the_medians_of_further_graphs():
    docs = (SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8")
    lines = further_graphs()
    assert len(lines) == 6
    assert "\n".join(lines) in docs
    about = read_about(SHIPPED / "graphs")
    tables = len(pd.read_csv(SHIPPED / "graphs/tables/claims.csv"))
    assert f"| {about['finished']} of {about['planned']} ({tables} tables) |" in docs


def further_graphs() -> list[str]:
    """A line for each encoding of the second block: medians over its tables, and how many gain."""
    paper = pd.read_csv(SHIPPED / "graphs/tables/paper.csv")
    claims = pd.read_csv(SHIPPED / "graphs/tables/claims.csv").set_index("dataset")
    gains = {}
    for graph in read_about(SHIPPED / "graphs")["settings"]["graphs"]:
        cells = paper[paper["cell"] == f"ft_transformer/{graph}+pet"].set_index("dataset")
        gains[encoding_label(graph)] = cells[["paper_improvement", *GAINS]]
    for kind in NULL_CONTROLS:
        both = {kind: "improvement", f"{kind}_oracle": "oracle_improvement"}
        gains[f"Spearman, {kind}"] = claims[list(both)].rename(columns=both)
    lines = []
    for label, rows in gains.items():
        rows = rows.dropna(subset=GAINS)
        assert set(rows.index) == set(claims.index)  # medians of other tables are no comparison
        published = rows["paper_improvement"].median() if "paper_improvement" in rows else np.nan
        texts = [percent(published)]
        for column in GAINS:
            texts += [percent(rows[column].median()), f"{(rows[column] > 0).sum()} of {len(rows)}"]
        lines.append(f"| {label} | {' | '.join(texts)} |")
    return lines


def test_the_docs_have_the_scores_under_the_released_choices():
    docs = (SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8")
    paper = pd.read_csv(SHIPPED / "authors/tables/paper.csv").set_index(["cell", "dataset"])
    ours = pd.read_csv(SHIPPED / "authors/tables/detailed_graphs.csv").set_index("dataset")
    for dataset, run in ours.iterrows():
        base, pet = (
            paper.loc[f"ft_transformer{variant}", :].loc[dataset] for variant in ("", "+pet")
        )
        texts = [
            with_deviation(base["paper"], base["paper_sd"]),
            with_deviation(run["base_test"], run["base_sd"]),
            with_deviation(pet["paper"], pet["paper_sd"]),
            with_deviation(run["oracle_test"], run["oracle_sd"]),
            percent(pet["paper_improvement"]),
            percent(run["oracle_improvement"]),
        ]
        assert f"| {dataset} | {' | '.join(texts)} |" in docs
    about = read_about(SHIPPED / "authors")
    assert f"| {about['finished']} of {about['planned']} ({', '.join(ours.index)}) |" in docs


def test_the_docs_have_the_gains_on_each_split_of_cloud():
    docs = (SHIPPED.parent / "docs/reference.md").read_text(encoding="utf-8")
    assert "\n".join(splits_of_cloud()) in docs
    claims = pd.read_csv(SHIPPED / "cloud/tables/claims.csv").iloc[0]
    gains = claims[["validation", "oracle", "random_oracle", "shuffled_oracle"]].map(percent)
    words = (
        "{} % by validation and {} % by test for Spearman encodings, {} % by test for random and"
    )
    words += " {} % for shuffled ones"
    assert words.format(*gains) in " ".join(docs.split())


def splits_of_cloud() -> list[str]:
    """A line for each split of the fourth block: the baseline, and gains by an alpha of its own."""
    runs = read_runs(SHIPPED / "cloud/scores.parquet")
    keys = ["split", "encoding", "alpha"]
    means = runs.groupby(keys, sort=False)[["val_score", "test_score"]].mean().astype(float)
    lines = []
    for split in read_about(SHIPPED / "cloud")["settings"]["splits"]:
        here = means.loc[split]
        texts = [number(here.loc["spearman", "test_score"][0.0], 4)]
        for encoding in ("spearman", "spearman-random", "spearman-shuffled"):
            error = here.loc[encoding]
            trained = error.drop(index=0.0)
            for column in ("val_score", "test_score"):
                chosen = trained["test_score"][trained[column].idxmin()]
                texts.append(percent(100 * (1 - chosen / error["test_score"][0.0])))
        lines.append(f"| {split} | {' | '.join(texts)} |")
    return lines


def run(seed: int, test_score: float, trials: int = 3) -> Run:
    return Run(
        dataset="cloud",
        split=1,
        model="xgboost",
        encoding="tuned",
        seed=seed,
        task="regression",
        val_score=1.0,
        test_score=test_score,
        provenance={"settings": {"trials": trials}, "inputs": {}},
    )


def test_runs_are_compared_where_both_have_a_score():
    own = runs_frame([run(1, 2.0), run(2, 3.0), run(3, 4.0, trials=9)])
    shipped = runs_frame([run(1, 2.0), run(2, 2.0), run(3, 5.0), run(4, 1.0)])
    both = compare_runs(own, shipped)
    assert list(both["seed"]) == [1, 2, 3]
    assert list(both["same_settings"]) == [True, True, False]
    assert list(both["change"]) == pytest.approx([0, 50, -20])


def command(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["reference", *map(str, arguments)], catch_exceptions=False)
    return " ".join(done.output.split())


@pytest.fixture
def shipped_copy(tmp_path, monkeypatch) -> Path:
    """A copy of what is shipped, for the command to change."""
    shutil.copytree(SHIPPED, tmp_path / "reference")
    monkeypatch.setattr(reference, "SHIPPED", tmp_path / "reference")
    return tmp_path / "reference"


def run_files(folder: Path, block: str, splits: set[int]) -> Path:
    """The results folder of a run that has finished the cells of some splits of a block."""
    cells = stored_runs(SHIPPED / block / "scores.parquet")
    by_cell = groupby(cells, lambda r: Cell(r.dataset, r.split, r.model, r.encoding, r.seed))
    for cell, runs in by_cell:
        if cell.split in splits:
            write_runs(list(runs), folder / cell.run)
    return folder / "results"


def test_what_a_run_has_finished_is_added_to_a_block(tmp_path, shipped_copy):
    block = shipped_copy / "cloud"
    before = {path.name: path.read_bytes() for path in block.iterdir() if path.is_file()}
    shutil.rmtree(block)
    assert command(run_files(tmp_path / "one", "cloud", {42}), "--block", "cloud", "--ship")
    assert read_about(block)["finished"] == 9
    command(run_files(tmp_path / "two", "cloud", {1, 2, 3}), "--block", "cloud", "--ship")
    assert read_about(block)["finished"] == 36
    # Of a run that has nothing but runs, the tables of graphs and datasets are empty.
    for name in ("scores.parquet", "headline.json"):
        assert (block / name).read_bytes() == before[name]


def test_runs_of_another_block_or_of_other_settings_are_not_shipped(tmp_path, shipped_copy):
    results = run_files(tmp_path / "run", "cloud", {42, 1, 2, 3})
    before = sorted(shipped_copy.rglob("*")), read_about(shipped_copy / "main")
    # Three of the cells have a name that main has as well.
    text = command(results, "--ship")
    assert "left out 9 cells of other settings" in text and "alpha_scaling" not in text
    assert read_about(shipped_copy / "main") == before[1]
    assert sorted(shipped_copy.rglob("*")) == before[0]
    with pytest.raises(TabpetError, match="No run has finished yet"):
        command(run_files(tmp_path / "none", "cloud", set()), "--ship")


def test_a_block_goes_with_the_results_folder_of_a_run(tmp_path):
    for option in ("--ship", "--restore"):
        with pytest.raises(TabpetError, match="folder `results`"):
            command(tmp_path, option)
    assert not list(tmp_path.iterdir())
    file = tmp_path / "file"
    file.touch()
    for option in ("--ship", "--restore"):
        with pytest.raises(TabpetError, match="is not a folder"):
            command(file, option)


def test_a_results_folder_may_be_a_link(tmp_path, shipped_copy):
    results = run_files(tmp_path / "run", "cloud", {42})
    results.replace(tmp_path / "run/scratch")
    results.symlink_to(tmp_path / "run/scratch")
    command(results, "--block", "cloud", "--ship")
    assert read_about(shipped_copy / "cloud")["finished"] == 36


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])


@pytest.mark.parametrize("damage", [cut, Path.unlink, lambda path: path.write_text("{}")])
@pytest.mark.parametrize("name", ["about.json", "headline.json", "scores.parquet", "graphs.csv"])
def test_a_damaged_block_is_named_and_nothing_of_it_is_lost(name, damage, tmp_path, shipped_copy):
    block = shipped_copy / "cloud"
    damage(block / name)
    before = {path: path.read_bytes() for path in block.rglob("*") if path.is_file()}
    run = run_files(tmp_path / "run", "cloud", {42}), "--block", "cloud"
    uses = {
        "about.json": [(), ("--ship",), ("--restore",)],
        "headline.json": [()],
        "scores.parquet": [("--ship",), ("--restore",)],
        "graphs.csv": [("--ship",)],
    }
    for options in uses[name]:
        with pytest.raises(TabpetError, match=f"{name} is damaged or gone .* version control"):
            command(*run, *options)
    after = {path: path.read_bytes() for path in block.rglob("*") if path.is_file()}
    assert before == after
    assert not list(shipped_copy.glob(".cloud*"))


def test_a_block_that_was_set_aside_by_a_killed_command_comes_back(tmp_path, shipped_copy):
    block = shipped_copy / "cloud"
    block.replace(shipped_copy / ".cloud.old")
    command(run_files(tmp_path / "run", "cloud", {42}), "--block", "cloud", "--ship")
    assert read_about(block)["finished"] == 36
    assert not list(shipped_copy.glob(".cloud*"))


def test_what_was_set_aside_is_not_thrown_away_for_what_took_its_place(tmp_path, shipped_copy):
    results = run_files(tmp_path / "run", "cloud", {42})
    shutil.copytree(shipped_copy / "cloud", shipped_copy / ".cloud.old")
    with pytest.raises(TabpetError, match="set aside by a command that was killed"):
        command(results, "--block", "cloud", "--ship")
    assert (shipped_copy / ".cloud.old/about.json").is_file()
    shutil.rmtree(shipped_copy / "cloud")
    assert "36 of 36 cells" in command("--block", "cloud")  # reading finds it, too
    assert not (shipped_copy / ".cloud.old").exists()


def test_one_command_makes_blocks_at_a_time(tmp_path, shipped_copy):
    results = run_files(tmp_path / "run", "cloud", {42})
    beside = os.open(shipped_copy, os.O_RDONLY)
    fcntl.flock(beside, fcntl.LOCK_EX)
    with pytest.raises(TabpetError, match="Another --ship is at work"):
        command(results, "--block", "cloud", "--ship")
    os.close(beside)
    command(results, "--block", "cloud", "--ship")


def test_a_block_may_be_a_link(tmp_path, shipped_copy):
    (shipped_copy / "cloud").replace(tmp_path / "elsewhere")
    (shipped_copy / "cloud").symlink_to(tmp_path / "elsewhere")
    results = run_files(tmp_path / "run", "cloud", {42})
    for _ in range(2):
        command(results, "--block", "cloud", "--ship")
    assert (shipped_copy / "cloud").is_symlink()
    assert read_about(tmp_path / "elsewhere")["finished"] == 36


def test_descriptions_of_graphs_stay_when_every_cell_ran_elsewhere(tmp_path, shipped_copy):
    # Their run files alone were brought here.
    results = run_files(tmp_path / "run", "cloud", {42, 1, 2, 3})
    before = {name: (shipped_copy / "cloud" / name).read_bytes() for name in reference.INPUTS}
    command(results, "--block", "cloud", "--ship")
    assert before == {name: (shipped_copy / "cloud" / name).read_bytes() for name in before}


def test_a_block_stays_where_it_cannot_be_replaced(tmp_path, shipped_copy, monkeypatch):
    results = run_files(tmp_path / "run", "cloud", {42})
    replace = Path.replace

    def fails(path: Path, target: Path) -> Path:
        if path.name == ".cloud.tmp":
            raise OSError(39, "Directory not empty")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(TabpetError, match="Could not replace .*cloud: Directory not empty"):
        command(results, "--block", "cloud", "--ship")
    assert read_about(shipped_copy / "cloud")["finished"] == 36
    assert not list(shipped_copy.glob(".cloud*"))


def inputs_with(folder: Path, datasets: set[str], test_score: float | None = None) -> Path:
    """Inputs of a main block in which some datasets have finished, and no others."""
    runs = read_runs(SHIPPED / "main/scores.parquet")
    there = runs["dataset"].isin(datasets)
    if test_score is not None:
        runs.loc[there, "test_score"] = test_score
    gone = ["val_score", "test_score", "provenance"]
    runs.loc[~there, gone] = pd.NA
    runs.loc[~there, ["status", "reason"]] = ["missing", "not here"]
    # A cell that has not run has a single row.
    runs = runs[there | ~runs.duplicated(reference.RUN[:-1])]
    folder.mkdir()
    write_parquet(runs, folder / "scores.parquet")
    for name in ("datasets.csv", "graphs.csv"):
        table = pd.read_csv(SHIPPED / "main" / name, dtype=str, keep_default_na=False)
        table[table["dataset"].isin(datasets)].to_csv(folder / name, index=False)
    return folder


def test_a_block_keeps_what_is_shipped_and_did_not_run_again(tmp_path):
    settings = read_about(SHIPPED / "main")["settings"]
    put_block(inputs_with(tmp_path / "one", {"cloud", "cmc"}), tmp_path / "main", settings)
    assert read_about(tmp_path / "main")["finished"] == 2 * 27
    # Another run: one of these tables once more, and a further one.
    put_block(inputs_with(tmp_path / "two", {"cmc", "yeast"}, 0.5), tmp_path / "main", settings)
    runs = read_runs(tmp_path / "main/scores.parquet")
    assert read_about(tmp_path / "main")["finished"] == 3 * 27
    shipped = read_runs(SHIPPED / "main/scores.parquet")
    of = {name: rows.reset_index(drop=True) for name, rows in runs.groupby("dataset")}
    for name, rows in shipped.groupby("dataset"):
        if name == "cloud":
            pd.testing.assert_frame_equal(of[name], rows.reset_index(drop=True))
        elif name in ("cmc", "yeast"):
            assert set(of[name]["test_score"]) == {0.5} and len(of[name]) == len(rows)
        else:
            assert set(of[name]["status"]) == {"missing"}
    order = shipped["dataset"].drop_duplicates()
    assert list(runs["dataset"].drop_duplicates()) == list(order)
    for name in ("datasets.csv", "graphs.csv"):
        table = pd.read_csv(tmp_path / "main" / name)
        there = [name for name in order if name in ("cloud", "cmc", "yeast")]
        assert list(zip(table["dataset"], table["split"], strict=True)) == [
            (name, split) for name in there for split in (1, 2, 3)
        ]


def test_rows_of_graphs_and_splits_are_those_of_the_cells(tmp_path):
    settings = read_about(SHIPPED / "main")["settings"]
    put_block(inputs_with(tmp_path / "one", {"cloud"}), tmp_path / "main", settings)
    # A run that has made cloud's graphs in another way and finished none of its cells.
    made = inputs_with(tmp_path / "two", {"cmc"})
    for name in ("datasets.csv", "graphs.csv"):
        table = pd.read_csv(SHIPPED / "main" / name, dtype=str, keep_default_na=False)
        other = table[table["dataset"].isin(["cloud", "cmc"])].copy()
        column = "train" if name == "datasets.csv" else "n_edges"
        other[column] = "777"
        other.to_csv(made / name, index=False)
    put_block(made, tmp_path / "main", settings)
    for name, column in (("datasets.csv", "train"), ("graphs.csv", "n_edges")):
        table = pd.read_csv(tmp_path / "main" / name)
        other = table[column] == 777
        assert set(table[other]["dataset"]) == {"cmc"} and set(table[~other]["dataset"]) == {
            "cloud"
        }


def with_failures(inputs: Path, alphas: set[float], status: str) -> Path:
    """Inputs in which alphas of cloud's Spearman encodings on split 1 have failed."""
    runs = read_runs(inputs / "scores.parquet")
    cell = (runs["dataset"] == "cloud") & (runs["split"] == 1) & (runs["encoding"] == "spearman")
    failed = cell & runs["alpha"].isin(alphas)
    assert failed.sum() == len(alphas)
    runs.loc[failed, "status"] = status
    runs.loc[failed, "reason"] = "it burned"
    runs.loc[failed, ["val_score", "test_score"]] = pd.NA
    write_parquet(runs, inputs / "scores.parquet")
    return inputs


def test_a_shipped_cell_that_failed_stays_until_more_comes_of_it(tmp_path):
    settings = read_about(SHIPPED / "main")["settings"]
    one = inputs_with(tmp_path / "one", {"cloud"})
    put_block(with_failures(one, {5}, "timeout"), tmp_path / "main", settings)
    two = inputs_with(tmp_path / "two", {"cmc"})  # cloud has not run
    put_block(two, tmp_path / "main", settings)
    three = inputs_with(tmp_path / "three", {"cloud"})  # and here, less came of it
    put_block(with_failures(three, {2, 5}, "oom"), tmp_path / "main", settings)
    after = read_runs(tmp_path / "main/scores.parquet")
    kept = after[(after["dataset"] == "cloud") & (after["split"] == 1)]
    kept = kept[kept["encoding"] == "spearman"]
    assert list(kept["status"]) == ["ok"] * 5 + ["timeout"]
    assert kept["reason"].iloc[-1] == "it burned"
    put_block(inputs_with(tmp_path / "four", {"cloud"}), tmp_path / "main", settings)
    after = read_runs(tmp_path / "main/scores.parquet")
    assert set(after.loc[after["dataset"] == "cloud", "status"]) == {"ok"}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"trees": {"trials": 31}}, "trials: 30, now 31"),
        ({"encoding": {"k_max": 4}}, "encoding.k_max: 10, now 4"),
        ({"alphas": [1.0]}, "alphas: "),
    ],
)
def test_cells_of_other_settings_are_not_kept_beside_new_ones(changed, named, tmp_path):
    settings = read_about(SHIPPED / "main")["settings"]
    put_block(inputs_with(tmp_path / "one", {"cloud"}), tmp_path / "main", settings)
    merged = {
        name: {**settings[name], **more} if isinstance(more, dict) else more
        for name, more in changed.items()
    }
    with pytest.raises(TabpetError, match=named):
        put_block(inputs_with(tmp_path / "two", {"cmc"}), tmp_path / "main", settings | merged)
    assert read_about(tmp_path / "main")["finished"] == 27


def test_settings_that_change_no_cell_lose_none(tmp_path, capsys):
    settings = read_about(SHIPPED / "main")["settings"]
    put_block(inputs_with(tmp_path / "one", {"cloud"}), tmp_path / "main", settings)
    older = read_about(tmp_path / "main")
    del older["settings"]["nodes"]["max_levels"]  # as if a later version had brought it
    write_json(older, tmp_path / "main/about.json")
    changed = {**settings, "bundle_minutes": 5.0, "references": ["linear"]}
    made = inputs_with(tmp_path / "two", {"cmc"})
    runs = read_runs(made / "scores.parquet")
    # XGBoost and CatBoost as they come, on three splits each, are no longer planned.
    gone = runs["model"].isin(["xgboost", "catboost"]) & (runs["encoding"] == "default")
    write_parquet(runs[~gone], made / "scores.parquet")
    put_block(made, tmp_path / "main", changed)
    assert "left out 6 shipped cells that the config no longer plans" in capsys.readouterr().out
    runs = read_runs(tmp_path / "main/scores.parquet")
    kept = runs[runs["status"] == "ok"].drop_duplicates(reference.RUN[:-1])["dataset"]
    assert dict(kept.value_counts()) == {"cloud": 21, "cmc": 21}


def test_a_table_that_is_no_longer_planned_goes_whole(tmp_path):
    settings = read_about(SHIPPED / "main")["settings"]
    put_block(inputs_with(tmp_path / "one", {"cloud", "cmc"}), tmp_path / "main", settings)
    made = inputs_with(tmp_path / "two", set())
    runs = read_runs(made / "scores.parquet")
    write_parquet(runs[runs["dataset"] != "cloud"], made / "scores.parquet")
    put_block(made, tmp_path / "main", {**settings, "exclude": ["cloud"]})
    for name in ("datasets.csv", "graphs.csv"):
        assert set(pd.read_csv(tmp_path / "main" / name)["dataset"]) == {"cmc"}


def test_cells_of_different_splits_are_not_shipped_together(tmp_path):
    settings = read_about(SHIPPED / "main")["settings"]
    put_block(inputs_with(tmp_path / "one", {"cloud", "cmc"}), tmp_path / "main", settings)
    made = inputs_with(tmp_path / "two", {"cmc"})
    runs = read_runs(made / "scores.parquet")
    # A single cell of it, of another copy of the table.
    cell = (runs["model"] == "linear") & (runs["split"] == 2) & (runs["dataset"] == "cmc")
    assert cell.sum() == 1
    others = (runs["dataset"] == "cmc") & ~cell
    runs.loc[others, ["status", "reason"]] = ["missing", "not here"]
    runs.loc[others, "provenance"] = pd.NA
    provenance = json.loads(runs.loc[cell, "provenance"].item())
    provenance["inputs"]["split"] = "another"
    runs.loc[cell, "provenance"] = json.dumps(provenance)
    write_parquet(runs, made / "scores.parquet")
    with pytest.raises(TabpetError, match="cmc, split 2"):
        put_block(made, tmp_path / "main", settings)
    assert read_about(tmp_path / "main")["finished"] == 2 * 27


def test_the_command_prints_the_answer_and_the_comparison(monkeypatch):
    monkeypatch.setattr(reference.console, "width", 1000)
    text = command(SHIPPED / "main")
    about = read_about(SHIPPED / "main")
    assert " ".join(read_json(SHIPPED / "main/headline.json")["verdict"].split()) in text
    assert f"{about['finished']:,} of {about['planned']:,} cells finished" in text
    assert "test scores are equal to the last digit" in text
    # Five further alphas, raw targets: what is in common is no comparison, and says so.
    text = command(SHIPPED / "cloud")
    assert "0 of them with the same settings" in text and "of other settings or inputs" in text


def test_a_folder_that_is_named_has_scores_to_compare(tmp_path):
    with pytest.raises(TabpetError, match=r"There is no .*scores\.parquet"):
        command(tmp_path)
    (tmp_path / "scores.parquet").write_text("no Parquet")
    with pytest.raises(TabpetError, match="can't be read as scores"):
        command(tmp_path)


def test_a_run_goes_on_from_the_cells_that_are_shipped(tmp_path):
    results = tmp_path / "results"
    shipped = read_runs(SHIPPED / "main/scores.parquet")
    cells = shipped.groupby(["dataset", "split", "model", "encoding", "seed"])
    whole = {Cell(*key): rows for key, rows in cells if (rows["status"] == "ok").all()}
    own = next(cell for cell in whole if cell.graph)
    kept = tmp_path / own.journal
    kept.parent.mkdir(parents=True)
    kept.touch()  # what this machine has trained itself stays
    text = command(results, "--restore")
    assert f"laid {len(whole) - 1} finished cells of" in text and "1 were there already" in text
    assert kept.stat().st_size == 0
    del whole[own]
    for cell, rows in whole.items():
        provenance = json.loads(rows["provenance"].iloc[0])
        other = {**provenance, "settings": {}}
        if cell.graph:
            journal = Journal(tmp_path / cell.journal)
            restored = journal.load(provenance).runs
            assert [run.test_score for run in restored] == list(rows["test_score"])
            assert journal.load(other).runs == []
        else:
            # What a job asks before it leaves a cell alone.
            path = tmp_path / cell.run
            assert is_current(path, provenance, [None])
            assert not is_current(path, other, [None])
            trials = tmp_path / cell.trials
            assert trials.is_file() == (cell.encoding == "tuned")


def test_a_block_is_not_made_and_taken_back_at_once(tmp_path):
    with pytest.raises(TabpetError, match="one of them"):
        command(tmp_path, "--ship", "--restore")


def test_an_unknown_block_is_named():
    with pytest.raises(TabpetError, match="no block 'mian'"):
        command("--block", "mian")


@pytest.mark.parametrize("block", SHIPPED_BLOCKS)
def test_make_reference_runs_a_block_with_the_settings_that_it_was_shipped_with(block):
    recipe = make_reference(block).stdout
    configs = recipe.split("--configfile")[1].split("--directory")[0].split()
    asked = read_settings(*(ROOT / name for name in configs)).model_dump(mode="json")
    shipped = read_about(SHIPPED / block)["settings"]
    assert {name: asked[name] for name in shipped} == shipped == block_settings(block)
    folder = recipe.split("--directory")[1].split()[0]
    assert folder == f"results/{'authors' if block in ('authors', 'cloud') else 'reference'}"


def test_make_reference_of_an_unknown_block_names_it():
    answer = make_reference("mian")
    assert answer.returncode == 2
    assert "no block mian: give main, graphs, authors or cloud" in answer.stderr


def make_reference(block: str) -> "subprocess.CompletedProcess[str]":
    command = ["make", "-n", "-o", ".venv/.ready", "reference", f"BLOCK={block}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
