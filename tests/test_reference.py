"""The shipped results are what today's code makes of the shipped scores."""

import pytest
from typer.testing import CliRunner

from tabpet import reference
from tabpet.cli import app
from tabpet.errors import TabpetError
from tabpet.files import read_json
from tabpet.reference import BLOCKS, SHIPPED, compare_runs, make_block, read_about, ship_block
from tabpet.runs import Run, runs_frame

SHIPPED_BLOCKS = [name for name in BLOCKS if (SHIPPED / name).is_dir()]


def test_the_main_block_is_shipped():
    assert "main" in SHIPPED_BLOCKS


@pytest.mark.parametrize("block", SHIPPED_BLOCKS)
def test_shipped_scores_give_the_shipped_tables_and_headline(block, tmp_path):
    shipped = SHIPPED / block
    make_block(shipped, tmp_path, read_about(shipped)["settings"])
    for name in ("headline.json", "about.json"):
        assert read_json(tmp_path / name) == read_json(shipped / name)
    tables = {path.name: path.read_text() for path in (shipped / "tables").iterdir()}
    assert {path.name: path.read_text() for path in (tmp_path / "tables").iterdir()} == tables


def test_the_readme_opens_with_the_shipped_answer():
    readme = (SHIPPED.parent / "README.md").read_text(encoding="utf-8")
    verdict = read_json(SHIPPED / "main/headline.json")["verdict"]
    assert " ".join(verdict.split()) in " ".join(readme[:3000].split())


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


def test_a_folder_without_scores_ships_nothing(tmp_path):
    with pytest.raises(TabpetError, match="snakemake partial"):
        ship_block(tmp_path, tmp_path / "block", {"datasets": ["cloud"]})
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_the_answer_and_the_comparison(tmp_path, monkeypatch):
    monkeypatch.setattr(reference.console, "width", 1000)
    text = CliRunner().invoke(app, ["reference", str(SHIPPED / "main")]).output
    about = read_about(SHIPPED / "main")
    assert read_json(SHIPPED / "main/headline.json")["verdict"] in text
    assert f"{about['finished']:,} of {about['planned']:,} cells finished" in text
    assert "test scores are equal to the last digit" in text


def test_an_unknown_block_is_named():
    with pytest.raises(TabpetError, match="no block 'mian'"):
        CliRunner().invoke(app, ["reference", "--block", "mian"], catch_exceptions=False)
