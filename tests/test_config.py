"""Settings, presets and the files generated from them."""

from pathlib import Path

import pytest

from tabpet.catalog import read_catalogs, select_datasets
from tabpet.cli import generated_files
from tabpet.config import Settings, read_settings, settings_table

ROOT = Path(__file__).parents[1]
CONFIGS = [ROOT / "config.yaml", *sorted((ROOT / "configs").glob("*.yaml"))]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_presets_are_valid_and_select_datasets(path):
    settings = read_settings(path)
    catalog = read_catalogs([ROOT / sheet for sheet in settings.catalogs])
    assert select_datasets(catalog, settings.datasets, settings.exclude)


@pytest.mark.parametrize("path", generated_files(), ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path):
    assert path.read_text("utf-8") == generated_files()[path], "run `make docs`"


def test_the_first_graph_is_the_main_encoding_unless_one_is_named():
    def main(**settings):
        return Settings.model_validate({"datasets": ["a"], **settings}).analysis.main_encoding

    assert main() == "spearman"
    assert main(graphs=["chow_liu", "spearman"]) == "chow_liu"
    assert main(graphs=["chow_liu", "pc"], analysis={"main_encoding": "pc"}) == "pc"
    assert main(graphs=["pc"], analysis={"level": 0.1}) == "pc"
    # Without transformers there is no encoding to name.
    assert main(graphs=[], models=[]) == "spearman"


def test_every_setting_is_described():
    def undescribed(section):
        for name, field in section.model_fields.items():
            if not (field.description or "").endswith("."):
                yield name
            if hasattr(field.annotation, "model_fields"):
                yield from undescribed(field.annotation)

    assert not list(undescribed(Settings))


def test_table_names_nested_settings():
    assert "| `prepare.max_missing` | `0.7` |" in settings_table()


def test_preset_of_the_released_code_keeps_k_on_few_nodes():
    assert read_settings(ROOT / "configs/authors.yaml").encoding.few_nodes == "repeat"
    assert read_settings(ROOT / "configs/paper.yaml").encoding.few_nodes == "lower"


def test_catalog_holds_the_papers_tables():
    catalog = read_catalogs([ROOT / "datasets.csv"])
    paper = [row for row in catalog.values() if "paper" in row.groups]
    assert len(paper) == 50
    assert sum(row.task == "classification" for row in paper) == 25
    assert len({row.abbreviation for row in catalog.values()}) == len(catalog)
    # The paper's effective-rank study takes the tables with 4,500 to 50,000 rows.
    studied = {row.name for row in paper if "effective_rank" in row.groups}
    assert studied == {row.name for row in paper if 4500 <= row.n_rows <= 50_000}
    # SAINT's batch shrinks above 100 features; DN, JA and MA have a reduced NOTEARS grid.
    assert {row.name for row in paper if row.batch_size_saint == 64} == {
        row.name for row in paper if row.n_features > 100
    }
    assert {row.abbreviation for row in paper if row.notears_lambdas} == {"DN", "JA", "MA"}


def test_own_sheet_needs_one_short_row(tmp_path):
    (tmp_path / "mine.csv").write_text(
        "name,path,target,task\nsales,sales.csv,revenue,regression\n"
    )
    catalog = read_catalogs([ROOT / "datasets.csv", tmp_path / "mine.csv"])
    assert catalog["sales"].path == tmp_path / "sales.csv"
    assert select_datasets(catalog, ["sales", "@demo"])[-1] == "sales"
