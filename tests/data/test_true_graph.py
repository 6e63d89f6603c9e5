"""Generators and files that say what graph a table has."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kurtosis

from tabpet.catalog import CatalogRow, read_catalogs
from tabpet.data.fetch import fetch_dataset
from tabpet.data.synthetic import NOISES, generate_dag, generate_groups, generate_table
from tabpet.data.true_graph import TrueGraph, read_edges
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings


def synthetic_row(**options) -> CatalogRow:
    return CatalogRow(name="s", source="synthetic", task="regression", target="y", options=options)


def test_groups_are_blocks_on_the_card():
    options = {"d": 7, "k": 3, "n": 40, "seed": 2}
    _, card = fetch_dataset(synthetic_row(**options), FetchSettings())
    _, group = generate_groups(**options)
    names = tuple(f"x{i + 1}" for i in range(7))
    expected = (group[:, None] == group) & ~np.eye(7, dtype=bool)
    assert not card.true_graph.directed
    np.testing.assert_array_equal(card.true_graph.adjacency(names), expected)
    # Each edge once: 7 features in groups of 3, 2 and 2 have 3 + 1 + 1 pairs.
    assert len(card.true_graph.edges) == 5


def test_the_other_reading_of_algorithm_1_has_noise_for_a_target():
    options = {"d": 6, "k": 2, "n": 4000, "seed": 1}
    plain, _ = generate_groups(**options)
    other, _ = generate_groups(**options, target_weights="per_sample")
    pd.testing.assert_frame_equal(other.drop(columns="y"), plain.drop(columns="y"))
    best = [table.corr()["y"].drop("y").abs().max() for table in (plain, other)]
    assert best[0] > 0.9 and best[1] < 0.1


def test_a_dag_is_what_its_weights_say():
    frame, weights = generate_dag(d=6, n=50_000, density=0.5, seed=3)
    x = frame.drop(columns="y").to_numpy()
    # x = x W + e, and e is independent of mean 0 and variance 1.
    noise = x - x @ weights
    np.testing.assert_allclose(np.cov(noise.T), np.eye(6), atol=0.05)
    # Acyclic: the powers of W end.
    assert not np.linalg.matrix_power(weights, 6).any()
    sizes = np.abs(weights[weights != 0])
    assert len(sizes) and sizes.min() >= 0.5 and sizes.max() <= 1.5


@pytest.mark.parametrize("name", NOISES)
def test_noise_is_standard_and_not_gaussian(name):
    values = NOISES[name](np.random.default_rng(0), 100_000)
    assert abs(values.mean()) < 0.02 and abs(values.var() - 1) < 0.05
    assert abs(kurtosis(values)) > 1


def test_density_of_a_dag():
    counts = [
        np.count_nonzero(generate_dag(d=20, n=1, density=0.3, seed=seed)[1]) for seed in range(20)
    ]
    assert np.mean(counts) == pytest.approx(0.3 * 190, rel=0.1)
    empty, _ = generate_dag(d=3, n=5000, density=0, seed=0)
    assert empty.corr()["y"].drop("y").abs().max() > 0.3  # the target always has a cause


def test_dag_options_from_a_sheet(tmp_path):
    sheet = tmp_path / "mine.csv"
    sheet.write_text(
        "name,source,task,target,options\n"
        "a,synthetic,regression,y,generator=dag;d=4;n=30;density=0.5;seed=1;noise=uniform\n"
    )
    row = read_catalogs([sheet])["a"]
    assert row.options["density"] == 0.5 and row.options["d"] == 4
    _, card = fetch_dataset(row, FetchSettings())
    assert card.true_graph.directed
    expected, graph = generate_table(row.options)
    assert card.true_graph == graph and card.rows == len(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"generator": "cube"}, "known are groups, dag"),
        ({"generator": "dag", "d": 4, "n": 9, "density": 2.0, "seed": 1}, "density from 0 to 1"),
        ({"generator": "dag", "d": 4, "n": 9, "density": 0.2, "seed": 1, "noise": "x"}, "laplace"),
        ({"generator": "dag", "d": 4, "k": 2}, "generator=dag;d=..;n=..;density=..;seed=.."),
        ({"d": 4, "k": 2, "n": 9, "seed": 1, "target_weights": "x"}, "per_table, per_sample"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(TabpetError, match=f"^s: .*{message}"):
        fetch_dataset(synthetic_row(**options), FetchSettings())


def table_with_edges(folder, edges: str) -> CatalogRow:
    (folder / "t.csv").write_text("a,b,c,y\n" + "1,2,3,4\n2,1,5,3\n4,4,1,2\n")
    (folder / "edges.csv").write_text(edges)
    sheet = folder / "mine.csv"
    sheet.write_text("name,path,target,task,graph\nt,t.csv,y,regression,edges.csv\n")
    return read_catalogs([sheet])["t"]


def test_edges_that_a_row_names(tmp_path):
    row = table_with_edges(tmp_path, "source,target,weight\na,b,2\nc,a,-0.5\n")
    _, card = fetch_dataset(row, FetchSettings())
    assert card.true_graph == TrueGraph(directed=True, edges=[("a", "b", 2.0), ("c", "a", -0.5)])
    assert "graph" in row.fetch_fields()
    without = CatalogRow(name="t", path="t.csv", target="y", task="regression")
    assert "graph" not in without.fetch_fields()  # what has none is fetched as ever
    row = table_with_edges(tmp_path, "source,target\na,b\n")
    assert fetch_dataset(row, FetchSettings())[1].true_graph.edges == [("a", "b", 1.0)]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("from,to\na,b\n", "needs the columns source and target"),
        ("source,target\na,y\n", "line 2: 'y' is not a feature"),
        ("source,target\na,b\nb,b\n", "line 3: 'b' can't be joined with itself"),
        ("source,target,weight\na,b,0\n", "line 2: a weight is a number other than 0"),
        ("source,target,weight\na,b,much\n", "line 2: a weight is a number"),
        ("source,target\na,b\na,b\n", "line 3: the edge from 'a' to 'b' is listed twice"),
        ("source,target,weight\na,b,nan\n", "line 2: a weight is a number"),
        ("source,target,weight\na,b,\n", "line 2: a weight is a number"),
        ("source,target,weight\na,b,-inf\n", "line 2: a weight is a number"),
        ("source,target\na,b,c\n", "more values than its header"),
        ("source;target\na;b\n", "needs the columns source and target"),
        ("", "can't be read as a CSV file of edges"),
    ],
)
def test_bad_edges(tmp_path, edges, message):
    row = table_with_edges(tmp_path, edges)
    with pytest.raises(TabpetError, match=message):
        fetch_dataset(row, FetchSettings())


def test_no_such_file_of_edges(tmp_path):
    with pytest.raises(TabpetError, match="no.csv can't be read"):
        read_edges(tmp_path / "no.csv", {"a"})
