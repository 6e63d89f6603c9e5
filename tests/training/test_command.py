"""`tabpet train`: one cell by hand."""

import re

import typer
from typer.testing import CliRunner

from tabpet.errors import TabpetError
from tabpet.training import command
from tests.training.tiny import make_split, write_encoding

app = typer.Typer()
app.command()(command.train)

CATALOG = "name,task,path,target,batch_size\ntoy,classification,toy.csv,y,16\n"
CONFIG = """
catalogs: [sheet.csv]
datasets: [toy]
alphas: [1]
model_settings:
  ft_transformer: {n_layers: 1, n_heads: 2, width: 16}
training: {max_epochs: 2, checkpoint: true, checkpoint_seconds: 0}
"""


def call(folder, monkeypatch, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(command.console, "_width", 200)
    (folder / "sheet.csv").write_text(CATALOG)
    (folder / "mine.yaml").write_text(CONFIG)
    return CliRunner().invoke(app, [*arguments, "--config", "mine.yaml"])


def prepare(folder):
    split = make_split()
    split.save(
        folder / "results/data/toy/split42.parquet", folder / "results/data/toy/split42.json"
    )
    write_encoding(split, folder / "results/encodings/toy/split42")


def test_a_table_of_alphas_is_printed(tmp_path, monkeypatch):
    prepare(tmp_path)
    done = call(tmp_path, monkeypatch, "toy", "ft_transformer", "spearman-shuffled")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.output.splitlines()]
    header = lines.index(["alpha", "val", "test", "best", "epoch", "epochs", "status"])
    rows = lines[header + 1 : header + 3]
    assert [row[0] for row in rows] == ["0", "1"]
    assert [row[-2:] for row in rows] == [["2", "ok"]] * 2
    assert "2/2 alphas" in done.output and "d_pe 4" in done.output
    assert not list(tmp_path.rglob("*.pt")) and not list(tmp_path.rglob("seed*.parquet"))


def test_other_folders_and_splits(tmp_path, monkeypatch):
    done = call(tmp_path, monkeypatch, "toy", "saint", "spearman", "--split", "7")
    assert isinstance(done.exception, TabpetError)
    assert "results/data/toy/split7.parquet" in str(done.exception)


def test_missing_files_come_with_the_command_that_makes_them(tmp_path, monkeypatch):
    done = call(tmp_path, monkeypatch, "toy", "ft_transformer", "spearman-random")
    assert isinstance(done.exception, TabpetError)
    message = str(done.exception)
    # Targets come first: --configfile takes all that follows it for config files.
    assert re.search(r"snakemake results/\S.* --cores all --configfile mine.yaml$", message)
    assert "results/encodings/toy/split42/spearman.json" in message


def test_wrong_names_are_errors_that_list_the_right_ones(tmp_path, monkeypatch):
    for arguments, words in {
        ("toy", "mlp", "spearman"): "ft_transformer, saint, tab_transformer",
        (
            "toy",
            "saint",
            "kendall",
        ): "no graph 'kendall'; known are: notears, lingam, pearson, spearman",
        (
            "toy",
            "saint",
            "spearman-noise",
        ): "no control 'noise'; known are: random, shuffled, learnable",
        ("wine", "saint", "spearman"): "There is no dataset or group 'wine'",
    }.items():
        done = call(tmp_path, monkeypatch, *arguments)
        assert isinstance(done.exception, TabpetError)
        assert words in str(done.exception)
