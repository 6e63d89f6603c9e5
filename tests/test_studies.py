"""Studies as runs of their own: settings, tables, files."""

from pathlib import Path

import pytest

from tabpet.catalog import read_catalogs
from tabpet.errors import TabpetError
from tabpet.plan import Cell, planned_cells, run_settings
from tabpet.settings import Settings, read_settings
from tabpet.studies import STUDIES, generated_tables, structure_of, study_run

ROOT = Path(__file__).parents[1]


def settings_with(**studies) -> Settings:
    return Settings.model_validate({"datasets": ["demo-wine"], "studies": studies})


def catalog_of(settings: Settings):
    return read_catalogs([ROOT / "datasets.csv"]) | generated_tables(settings)


def test_the_preset_is_the_papers():
    settings = read_settings(ROOT / "configs/studies.yaml")
    catalog = catalog_of(settings)
    groups, _, ranks = (study_run(settings, study, catalog) for study in STUDIES)
    assert len(groups.datasets) == 30 * 5 and max(groups.alphas) == 10
    assert (
        groups.model_settings.ft_transformer
        == Settings(datasets=["a"]).model_settings.ft_transformer
    )
    assert len(ranks.datasets) == 15 and ranks.alphas == list(range(1, 31))
    model, training = ranks.model_settings.ft_transformer, ranks.training
    assert (model.n_layers, model.n_heads, model.width) == (1, 1, 192)
    assert (training.max_epochs, training.min_epochs, training.patience) == (50, 10, 20)
    assert training.learning_rate == 1e-4
    # The same as the settings' own defaults, so that the preset can't drift from them.
    defaults = Settings.model_validate({**dict(settings), "studies": {}})
    for study in STUDIES:
        assert study_run(defaults, study, catalog) == study_run(settings, study, catalog)


def test_the_small_preset_is_what_the_docs_show():
    settings = read_settings(ROOT / "configs/studies-small.yaml")
    catalog = catalog_of(settings)
    groups, dags, ranks = (study_run(settings, study, catalog) for study in STUDIES)
    assert [structure_of(name) for name in groups.datasets[::3]] == [2, 6, 15, 30]
    assert groups.controls == ["spearman-random", "spearman-shuffled"]
    assert groups.graphs == ["spearman", "true"] and len(groups.alphas) == 5
    assert len(dags.datasets) == 3 and "lingam" in dags.graphs
    assert len(settings.studies.groups.recovery) == len(settings.studies.dags.recovery) == 6
    assert ranks.datasets == ["Satellite", "phoneme", "wilt"]
    # The model and the training of the effective-rank study are the paper's.
    preset = read_settings(ROOT / "configs/studies.yaml")
    paper = study_run(preset, "effective_rank", catalog)
    assert (ranks.model_settings, ranks.training) == (paper.model_settings, paper.training)


def test_a_study_says_what_differs_from_the_run():
    settings = Settings.model_validate(
        {
            "datasets": ["demo-wine"],
            "training": {"learning_rate": 0.5, "max_epochs": 7},
            "studies": {"groups": {"training": {"max_epochs": 3}, "model": {"n_layers": 1}}},
        }
    )
    run = study_run(settings, "groups", catalog_of(settings))
    assert (run.training.learning_rate, run.training.max_epochs) == (0.5, 3)
    assert run.model_settings.ft_transformer.n_layers == 1
    assert run.models == ["ft_transformer"] and not run.learners and not run.references


def test_generated_tables_are_catalog_rows():
    settings = settings_with(
        groups={"d": 6, "groups": [2, 6], "n": 50, "tables": [7]},
        dags={"d": 5, "densities": [0.25], "n": 40, "tables": [1], "noise": "uniform"},
    )
    rows = generated_tables(settings)
    assert list(rows) == [
        "groups-d6-k02-n50-table7",
        "groups-d6-k06-n50-table7",
        "dag-d5-density0.25-uniform-n40-table1",
    ]
    assert rows["groups-d6-k02-n50-table7"].options == {"d": 6, "k": 2, "n": 50, "seed": 7}
    assert [structure_of(name) for name in rows] == [2, 6, 0.25]
    other = settings_with(groups={"target_weights": "per_sample", "groups": [3], "tables": [1]})
    name = next(iter(generated_tables(other)))
    assert name.endswith("-per_sample") and structure_of(name) == 3
    with pytest.raises(TabpetError, match="not a table that a study generates"):
        structure_of("phoneme")


def test_files_of_a_study_lie_apart():
    settings = settings_with(effective_rank={"datasets": ["demo-wine"], "alphas": [1]})
    run = study_run(settings, "effective_rank", catalog_of(settings))
    cells = list(planned_cells(run, run.datasets, "effective_rank"))
    assert [cell.encoding for cell in cells] == ["spearman", "spearman-random"]
    place = "demo-wine/split42/ft_transformer/spearman/seed1.parquet"
    assert cells[0].run == Path(f"results/studies/effective_rank/runs/{place}")
    assert cells[0].journal == Path(f"results/studies/effective_rank/journals/{place}")
    assert Cell.parse(cells[0].run) == cells[0]
    assert cells[0].stages[-1].rule == "train_study"
    # Tables, graphs and encodings are those of every run.
    plain = Cell("demo-wine", 42, "ft_transformer", "spearman", 1)
    assert cells[0].inputs == plain.inputs and cells[0].identity == plain.identity
    assert Cell.parse(plain.run) == plain


def test_settings_of_a_run_know_nothing_of_studies():
    catalog = read_catalogs([ROOT / "datasets.csv"])
    plain = Settings(datasets=["demo-wine"])
    other = settings_with(groups={"training": {"max_epochs": 1}})
    row = catalog["demo-wine"]
    for encoding in ("spearman", "tuned"):
        model = "ft_transformer" if encoding == "spearman" else "xgboost"
        assert run_settings(plain, row, model, encoding) == run_settings(
            other, row, model, encoding
        )


@pytest.mark.parametrize(
    ("studies", "message"),
    [
        ({"groups": {"d": 4, "groups": [5]}}, "4 features have 1 to 4"),
        ({"groups": {"groups": [2], "training": {"epochs": 3}}}, "`training.epochs` is not a sett"),
        ({"groups": {"groups": [2], "controls": ["pc-random"]}}, "controls lists 'pc-random'"),
        ({"effective_rank": {"datasets": ["nowhere"]}}, "no dataset or group 'nowhere'"),
    ],
)
def test_bad_studies(studies, message):
    with pytest.raises((TabpetError, ValueError), match=message):
        settings = settings_with(**studies)
        for study in studies:
            study_run(settings, study, catalog_of(settings))


def test_true_is_a_graph_and_no_boolean():
    settings = Settings.model_validate({"datasets": ["a"], "graphs": ["spearman", True]})
    assert settings.graphs == ["spearman", "true"]
