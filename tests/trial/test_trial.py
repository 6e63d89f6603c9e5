"""`tabpet try`: what it says about a file, what it runs, and that the sentence is the decision."""

import html
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from tabpet import cli
from tabpet.clock import Clock
from tabpet.data.own import guess_task, read_own
from tabpet.data.prepare import prepare_split
from tabpet.errors import TabpetError
from tabpet.runs import Run
from tabpet.stats.splits import judge_splits
from tabpet.training.cell import run_cell
from tabpet.training.files import CellResult
from tabpet.trees import tuning
from tabpet.trial import command, experiment
from tabpet.trial.experiment import ENCODED, PLAIN, RANDOM, Plan, judge, run_trial
from tabpet.trial.report import render_page, sentence, tabulate
from tests.clocks import Still

runner = CliRunner()


def write_file(folder, n=60, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 9, n),
            "area": rng.normal(80, 20, n).round(1),
            "town": rng.choice(["Oslo", "Rome"], n),
            "zip": rng.integers(1000, 1004, n),
            **columns,
        }
    )
    frame["price"] = (30 * frame["rooms"] + frame["area"] + rng.normal(0, 5, n)).round(2)
    path = folder / "prices.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """One split of a small table, without the time to tune trees."""
    path = write_file(tmp_path_factory.mktemp("trial"))
    _, raw, card = read_own(path, "price", categorical=["zip"])
    steps = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "LEAST_TUNING", float("inf"))
        found = run_trial(raw, card, Plan(splits=1, seconds=1e6), lambda *one: steps.append(one))
    return found, steps


def test_every_learner_has_a_score_of_the_split(outcome):
    found, steps = outcome
    names = [line.learner for line in tabulate(found)]
    untuned = ["CatBoost, default", "Linear", "XGBoost, default"]
    assert names[:3] == [PLAIN, ENCODED, RANDOM] and set(untuned) <= set(names)
    assert all(line.splits == 1 and line.score > 0 for line in tabulate(found))
    assert tabulate(found)[0].better == 0
    # Tab-PET's score is that of the alpha with the best validation score.
    curve = found.curves[found.curves["encoding"] == "spearman"]
    best = curve[curve["alpha"] > 0].sort_values("val").iloc[0]
    assert tabulate(found)[1].score == best["test"]
    assert any("spearman-random, epoch" in what for what, _ in steps)
    assert "no time was left to tune trees" in found.notes


def test_trees_are_tuned_in_the_time_that_is_left(tmp_path, monkeypatch):
    _, raw, card = read_own(write_file(tmp_path), "price")
    split = prepare_split(raw, card, 0, Plan().prepare)
    limits, tune_trees = [], tuning.tune_trees

    def tune(split, name, seed, settings, journal):
        limits.append(settings.max_seconds)
        quick = settings.model_copy(update={"trials": 1, "rounds": 2, "max_seconds": None})
        return tune_trees(split, name, seed, quick, journal)

    monkeypatch.setattr(tuning, "tune_trees", tune)
    trees, clock = ["xgboost", "catboost"], Still(limit=60.0, before=40.0)
    runs, notes = experiment._tune([split], trees, clock, lambda *_: None)
    assert [(run.model, run.encoding) for run in runs] == [(name, "tuned") for name in trees]
    assert all(run.test_score > 0 for run in runs)
    # The second has what the first left of it: all, as no time has passed.
    assert limits == [10, 20] and notes == ["trees were tuned for about 10 s per split"]
    late = Still(limit=60.0, before=51.0)
    assert experiment._tune([split], trees, late, lambda *_: None)[0] == []


def test_the_page_has_answer_scores_figures_and_columns(outcome):
    page = render_page(outcome[0])
    assert sentence(outcome[0]) in html.unescape(page)
    assert page.count("<svg") == 4 and "http-equiv" not in page and 'src="' not in page
    for name in ("rooms", "area", "town", "zip", "Tab-PET", "random encodings"):
        assert name in page


def test_few_splits_claim_nothing(outcome):
    assert outcome[0].verdict.answer == "too few"
    text = sentence(outcome[0])
    assert text.startswith("1 split of this table can't tell whether encodings help: at least 3")
    assert "Allow more of them (--splits)" in text  # one was asked for, so time is not the reason
    hurried = replace(outcome[0], plan=Plan(splits=10))
    assert "Give it more time (--minutes)" in sentence(hurried)


@pytest.mark.parametrize(
    ("plain", "random", "words"),
    [
        ([4, 5, 4, 5], [3, 4, 3, 4], "encodings help: the rmse is 4.50\xa0% lower"),
        ([4, 5, 4, 5], [3, -4, 3, -4], "help, but not by their graph"),
        ([4, -5, 4, -5], [3, 4, 3, 4], "no difference that can be told from noise"),
        ([-4, -5, -4, -5], [3, 4, 3, 4], "do harm: the rmse is 4.50\xa0% higher"),
    ],
)
def test_the_sentence_is_what_the_statistics_decided(outcome, plain, random, words):
    verdict = judge_splits(np.array(plain, float), np.array(random, float), 1 / 3)
    text = sentence(replace(outcome[0], verdict=verdict))
    assert words in text and "4 splits" in text


def test_gains_are_paired_by_split():
    scores = pd.DataFrame(
        [(s, n, v) for s in range(4) for n, v in ((PLAIN, 10 + s), (ENCODED, 9 + s), (RANDOM, 10))],
        columns=["split", "learner", "test_score"],
    )
    verdict = judge(scores, "regression", 1 / 3)
    expected = np.mean([100 / (10 + s) for s in range(4)])
    assert verdict.plain.mean == pytest.approx(expected)
    assert verdict.random.mean == pytest.approx(np.mean([10, 0, -10, -20]))


@pytest.mark.parametrize(
    ("task", "tuned", "expected"),
    [("regression", 9.0, 5.0), ("regression", 3.0, 1.0), ("classification", 9.0, 1.0)],
)
def test_a_search_is_no_worse_on_validation_rows_than_no_search(task, tuned, expected):
    made = partial(Run, dataset="d", split=0, model="xgboost", seed=0, task=task)
    untuned = made(encoding="default", val_score=4.0, test_score=5.0)
    search = made(encoding="tuned", val_score=tuned, test_score=1.0)
    assert experiment._or_untuned(search, [untuned]).test_score == expected


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([0, 1, 1], "classification"),
        ([True, False], "classification"),
        (list(range(21)), "regression"),
        ([0.5, 1.0], "regression"),
        (["1", "2", "?"], "classification"),
    ],
)
def test_the_task_is_read_from_the_target(values, task):
    assert guess_task(pd.Series(values)) == task


def test_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiment, "LEAST_TUNING", float("inf"))
    path = write_file(tmp_path, n=40)
    arguments = ["try", path.name, "--target", "price", "--splits", "1", "--minutes", "10000"]
    done = runner.invoke(cli.app, [*arguments, "--ignore", "zip", "--categorical", "rooms"])
    assert done.exit_code == 0, done.output
    assert "40 rows, regression of 'price'" in done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert ["rooms", "categorical"] in [line[:2] for line in lines]
    assert "zip" not in [line[0] for line in lines if line]
    assert "can't tell whether encodings help" in " ".join(done.output.split())
    assert (tmp_path / "prices.tabpet.html").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "prise"], "has no column 'prise'. Did you mean 'price'?"),
        (["--target", "price", "--ignore", "tow"], "has no column 'tow'. Did you mean 'town'?"),
        (["--target", "town", "--task", "regression"], "the task is regression, but the target"),
        (["--target", "price", "--size", "big"], "--size is 'big'; allowed are small and paper"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, message):
    done = runner.invoke(cli.app, ["try", str(write_file(tmp_path)), *options])
    assert isinstance(done.exception, TabpetError) and message in str(done.exception)


def test_a_wrong_name_is_told_before_torch_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tabpet.trial.experiment", None)
    done = runner.invoke(cli.app, ["try", str(write_file(tmp_path)), "--target", "prise"])
    assert "Did you mean 'price'?" in str(done.exception)


def test_a_transformer_that_was_cut_short_is_worth_a_note(tmp_path, monkeypatch):
    def cut(cell, split, files, progress):
        done = run_cell(cell, split, files, progress=progress)
        runs = [replace(run, status="timeout", reason="9 s were over") for run in done.runs]
        return replace(done, runs=runs)

    monkeypatch.setattr(experiment, "run_cell", cut)
    monkeypatch.setattr(experiment, "LEAST_TUNING", float("inf"))
    _, raw, card = read_own(write_file(tmp_path, n=30), "price")
    found = run_trial(raw, card, Plan(splits=1, seconds=1e6), lambda *_: None)
    assert "ft_transformer: cut short by its time limit" in found.notes
    assert "the transformer may do better with more time (--minutes)" in found.notes


def test_a_transformer_without_any_score_is_an_error_that_says_why(tmp_path, monkeypatch):
    _, raw, card = read_own(write_file(tmp_path), "price")
    monkeypatch.setattr(Clock, "over", property(lambda clock: True))
    monkeypatch.setattr(experiment, "run_cell", cut_short)
    with pytest.raises(TabpetError, match=r"cut short by its time limit. Give it more time"):
        run_trial(raw, card, Plan(splits=1, seconds=600), lambda *one: None)


def cut_short(cell, split, files, progress):
    """A cell whose time was over before the first epoch was."""
    made = partial(Run, dataset="d", split=0, model=cell.model, seed=0, task="regression")
    made = partial(made, status="timeout", reason="the time was over")
    runs = [made(encoding=cell.encoding, alpha=alpha) for alpha in (0, *cell.alphas)]
    return CellResult(runs, pd.DataFrame())


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path, capsys):
    path = write_file(tmp_path, **{"a [/m]": 1.5, "[red]": 2.5})
    _, _, card = read_own(path, "price")
    command._print_reading(card)
    shown = capsys.readouterr().out
    assert "a [/m]" in shown and "[red]" in shown
    Console().print(cli._frame_table([("b [/m]",)], ["dataset"]))
    assert "b [/m]" in capsys.readouterr().out
