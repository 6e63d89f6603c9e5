"""A cell of the workflow and an estimator with the same rows and seed are the same."""

import numpy as np
import pandas as pd
import pytest

from tabpet.catalog import CatalogRow
from tabpet.data.card import make_card
from tabpet.data.convention import to_convention
from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import prepare_split
from tabpet.encodings import encode
from tabpet.files import write_json, write_parquet
from tabpet.graphs.estimate import estimate_graph
from tabpet.settings import EncodingSettings, ModelSettings, PrepareSettings, TrainingSettings
from tabpet.training.cell import TrainingCell, run_cell
from tests.estimators.tables import TINY, make, make_table, make_target
from tests.training.tiny import CPU

SIZES = {
    "ft_transformer": {"width": 16, "n_layers": 1, "n_heads": 2},
    "saint": {"width": 16, "depth": 1, "n_heads": 2},
    "tab_transformer": {"width": 16, "depth": 1, "n_heads": 2},
}


@pytest.mark.parametrize("graph", ["spearman", "chow_liu-random"])
@pytest.mark.parametrize(
    ("backbone", "task"),
    [
        ("ft_transformer", "classification"),
        ("ft_transformer", "regression"),
        ("saint", "regression"),
        ("tab_transformer", "classification"),
    ],
)
def test_same_curves_and_predictions(tmp_path, backbone, task, graph):
    X, y = make_table()
    target = make_target(task, y)

    # As the workflow does it, from a raw table to the rows of a cell.
    raw, _ = to_convention(X)
    raw["y"] = pd.Categorical(target) if task == "classification" else target
    row = CatalogRow(name="toy", path="toy.csv", task=task, target="y")
    split = prepare_split(
        raw, make_card(raw, row, "y", "test", []), 42, PrepareSettings(min_complete=1)
    )
    matrix = build_node_matrix(split)
    encoding = encode(estimate_graph(matrix, graph.partition("-")[0]), k_max=2)
    files = tmp_path / "encoding.parquet", tmp_path / "encoding.json"
    write_parquet(encoding.to_frame(), files[0])
    write_json(encoding.to_metadata(), files[1])
    settings = ModelSettings.model_validate({backbone: SIZES[backbone]})
    training = TrainingSettings(learning_rate=1e-2, max_epochs=4, keep_predictions=True)
    cell = TrainingCell(
        dataset="toy",
        split=42,
        model=backbone,
        encoding=graph,
        seed=1,
        alphas=(0.5, 2.0),
        batch_size=16,
        model_settings=settings.of(backbone),
        training=training,
    )
    result = run_cell(cell, split, files, device=CPU)
    rows = {part: split.part(part)["row"].to_numpy() for part in ("train", "val", "test")}

    # As a person does it.
    assert EncodingSettings(k_max=2).model_dump() == encoding.settings
    estimator = make(
        task, backbone=backbone, graph=graph, alpha="auto", alphas=(0.5, 2.0), batch_size=16
    )
    assert estimator.get_params()["random_state"] == TINY["random_state"] == cell.seed
    estimator.fit(
        X.iloc[rows["train"]],
        target[rows["train"]],
        X_val=X.iloc[rows["val"]],
        y_val=target[rows["val"]],
    )
    alphas = estimator.history_["alpha"].unique()
    ours = result.curves[result.curves["alpha"].isin(alphas)].reset_index(drop=True)
    pd.testing.assert_frame_equal(estimator.history_, ours, check_exact=True)

    chosen = result.predictions[
        (result.predictions["alpha"] == estimator.alpha_) & (result.predictions["part"] == "test")
    ]
    np.testing.assert_array_equal(chosen["row"], rows["test"])
    predicted = estimator.predict(X.iloc[rows["test"]])
    if task == "classification":
        codes = chosen["predicted"].to_numpy().astype(int)
        np.testing.assert_array_equal(predicted, estimator.classes_[codes])
        shares = chosen[["p_0", "p_1", "p_2"]].to_numpy()
        # The workflow scores in single precision.
        np.testing.assert_allclose(
            estimator.predict_proba(X.iloc[rows["test"]]), shares, rtol=1e-4, atol=1e-6
        )
    else:
        np.testing.assert_allclose(predicted, chosen["predicted"], rtol=1e-5)
    best = max if task == "classification" else min
    scores = {run.alpha: run.val_score for run in result.runs if run.alpha > 0}
    assert scores[estimator.alpha_] == best(scores.values())
