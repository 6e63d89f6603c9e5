"""Settings, presets and the files generated from them."""

import copy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake.utils import update_config

from tabpet.catalog import read_catalogs, select_datasets
from tabpet.cli import generated_files
from tabpet.entries import Estimator
from tabpet.errors import TabpetError
from tabpet.plan import describe_differences
from tabpet.registry import CONTROLS, GRAPHS, LEARNERS, MODELS
from tabpet.settings import Settings, overlay, read_settings
from tabpet.settings.docs import settings_table

ROOT = Path(__file__).parents[1]
PAPER, AUTHORS = ROOT / "configs/paper.yaml", ROOT / "configs/authors.yaml"
CONFIGS = {path.name: (path,) for path in (ROOT / "configs").glob("*.yaml")}
CONFIGS |= {"config.yaml": (ROOT / "config.yaml",), AUTHORS.name: (PAPER, AUTHORS)}


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_presets_are_valid_and_select_datasets(name):
    settings = read_settings(*CONFIGS[name])
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


@pytest.mark.parametrize(
    "entries",
    [GRAPHS.own, CONTROLS, MODELS.own, LEARNERS.own],
    ids=["graphs", "controls", "models", "learners"],
)
def test_table_has_cost_and_source_of_every_entry(entries):
    lines = [line.strip("| ").split(" | ") for line in settings_table().splitlines()]
    table = {cells[0]: cells[1:] for cells in lines if len(cells) == 5}
    for key, entry in entries.items():
        _, label, cost, source = table[f"`{key}`"]
        growth = [entry.growth] if isinstance(entry, Estimator) else []
        shown = [label, *cost.split(": ", 1), source]
        assert shown == [entry.label, entry.cost, *growth, entry.citation]


def test_the_released_code_differs_from_the_text_in_these_settings_alone():
    text, code = read_settings(PAPER), read_settings(PAPER, AUTHORS)
    assert describe_differences(text.model_dump(), code.model_dump()) == (
        "nodes.rows: train, now all; encoding.symmetrize: mean, now max; "
        "encoding.laplacian: combinatorial, now normalized; "
        "encoding.few_nodes: lower, now repeat; "
        "model_settings.saint.attention_dropout: 0.8, now 0.0"
    )


NESTED = st.recursive(
    st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(st.sampled_from("abc"), NESTED, max_size=3)


@given(MAPPINGS, MAPPINGS)
def test_files_are_laid_over_each_other_as_snakemake_does_it(below, above):
    theirs = copy.deepcopy(below)
    update_config(theirs, copy.deepcopy(above))
    before = copy.deepcopy(below)
    assert overlay(below, above) == theirs
    assert below == before


def test_an_overlay_alone_says_what_is_missing():
    with pytest.raises(TabpetError, match="authors.yaml has 1 problem.*\n.*`datasets` is missing"):
        read_settings(AUTHORS)


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
