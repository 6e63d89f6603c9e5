"""Graphs and encodings through snakemake: files of the design, and what a change re-runs."""

import json

import pandas as pd


def test_graphs_and_encodings_and_what_a_change_runs_again(workflow):
    base = {"datasets": ["demo-wine", "demo-groups-mixed"], "graphs": ["spearman", "chow_liu"]}
    workflow.configure(**base)
    first = workflow.run()
    assert first.code == 0, first.text
    results = workflow.folder / "results"
    graph = json.loads((results / "graphs/demo-wine/split42/chow_liu.json").read_text())
    edges = pd.read_parquet(results / "graphs/demo-wine/split42/chow_liu.parquet")
    assert list(edges) == ["source", "target", "weight"]
    assert len(edges) == graph["n_edges"] == graph["n_nodes"] - 1 == 12  # a tree over 13 nodes
    assert graph["status"] == "ok"
    assert graph["rows"] == 106  # training rows alone

    split = json.loads((results / "data/demo-groups-mixed/split42.json").read_text())
    encoding = pd.read_parquet(results / "encodings/demo-groups-mixed/split42/spearman.parquet")
    about = json.loads((results / "encodings/demo-groups-mixed/split42/spearman.json").read_text())
    assert list(encoding["feature"]) == [feature["name"] for feature in split["features"]]
    assert list(encoding)[1:] == [f"pe_{i}" for i in range(1, 2 * about["k"] + 1)]
    assert encoding.drop(columns="feature").abs().to_numpy().max() <= 10
    assert len(list((results / "logs/estimate_instant_graphs").glob("*.log"))) == 2
    # All that take a moment are made, those in the config are tabulated.
    assert len(list((results / "figures/graphs").rglob("*.svg"))) == 6
    assert len(pd.read_csv(results / "tables/graphs.csv")) == 4

    assert "Nothing to be done" in workflow.run("--dry-run").text

    again = {"estimate_instant_graphs": 2, "tabulate_graphs": 1, "all": 1}
    workflow.configure(**base, encoding={"laplacian": "normalized"})
    assert workflow.run("--dry-run").jobs == again
    workflow.configure(**base, graph_methods={"chow_liu": {"bins": 5}})
    assert workflow.run("--dry-run").jobs == again

    # These two never look at the clock.
    workflow.configure(**base, graph_seconds=7)
    assert "Nothing to be done" in workflow.run("--dry-run").text

    workflow.configure(**{**base, "graphs": ["spearman", "chow_liu", "pearson"]})
    assert workflow.run("--dry-run").jobs == {"tabulate_graphs": 1, "all": 1}

    # A slow one has jobs of its own; another Laplacian then keeps its graph.
    workflow.configure(**{**base, "graphs": ["spearman", "lingam"], "datasets": ["demo-wine"]})
    slow = workflow.run()
    assert slow.code == 0, slow.text
    assert slow.jobs["estimate_graph"] == slow.jobs["encode_positions"] == 1
    assert "estimate_instant_graphs" not in slow.jobs
    normalized = {"laplacian": "normalized"}
    workflow.configure(
        **{**base, "graphs": ["spearman", "lingam"], "datasets": ["demo-wine"]}, encoding=normalized
    )
    planned = workflow.run("--dry-run").jobs
    assert planned["encode_positions"] == 1 and "estimate_graph" not in planned
