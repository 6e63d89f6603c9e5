"""The tutorial runs as it stands, from the first line to the last."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabpet import cli

ROOT = Path(__file__).parents[1]


def blocks(language: str, document: str = "docs/tutorial.md") -> list[str]:
    text = (ROOT / document).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_block_runs_after_those_before_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    assert len(blocks("python")) == 8
    for block in blocks("python"):
        exec(compile(block, "docs/tutorial.md", "exec"), names)
    out = capsys.readouterr().out
    accuracy = float(re.search(r"accuracy (\d\.\d+)", out)[1])
    assert accuracy > 0.85  # a guess has 0.4
    assert "2 edges" in out and "% better than none" in out
    assert names["verdict"].plain.splits == 3


def test_commands_have_the_options_that_it_names():
    runner = CliRunner()
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(lines) == 3
    for line in lines:
        words = line.split()
        command = [word for word in words[1:] if word in ("try", "dataset", "add", "check")]
        shown = runner.invoke(cli.app, [*command, "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0, line
        for option in (word for word in words if word.startswith("--")):
            assert option in shown.output, f"{line}: {option}"


def test_the_readme_runs_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [block] = blocks("python", "README.md")
    small = block.replace(
        "epochs=100", "epochs=1, width=16, n_heads=2, encoding_settings={'k_max': 2}"
    )
    assert small != block
    names: dict[str, object] = {}
    exec(compile(small, "README.md", "exec"), names)
    assert (tmp_path / "wine.safetensors").is_file()
