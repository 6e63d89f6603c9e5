"""Fit time and test score of the estimators beside two other FT-Transformers.

    python bench/estimator.py                            two tables, three seeds, 20 epochs
    python bench/estimator.py --pytabkit other/bin/python    pytabkit from another environment

All sides have the same rows, size (3 blocks of width 192, 8 heads), batches of 32, learning rate,
epochs and one thread; each keeps the epoch that validation rows like best. rtdl is Gorishniy's own
package rtdl_revisiting_models in a plain loop on tensors, pytabkit is its FTT_D estimator. A fit is
a process of its own, sides take turns, and seconds are those of the processor. Tables come from the
catalog: set TABPET_MIRROR to use a mirror.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tabpet import TabPETClassifier, TabPETRegressor
from tabpet.catalog import read_catalogs
from tabpet.data.fetch import fetch_dataset
from tabpet.data.prepare import Split, prepare_split
from tabpet.models.layout import Layout
from tabpet.places import find_sheets
from tabpet.runs import score
from tabpet.settings import FetchSettings, PrepareSettings, TrainingSettings
from tabpet.training.table import Table, build_table

TABLES = ("credit-g", "concrete_compressive_strength")
BATCH = 32
Predict = Callable[[], np.ndarray]  # predictions of the test rows in the terms of the split


def load(name: str, seed: int) -> tuple[pd.DataFrame, Split]:
    """The raw table and its split."""
    catalog = read_catalogs(find_sheets([Path("datasets.csv")]))
    raw, card = fetch_dataset(catalog[name], FetchSettings())
    return raw, prepare_split(raw, card, seed, PrepareSettings())


def fit_tabpet(raw: pd.DataFrame, split: Split, epochs: int, seed: int, **options: Any) -> Predict:
    """The estimator on the raw rows of each part."""
    kind = TabPETClassifier if split.info.task == "classification" else TabPETRegressor
    X, y, rows = _raw_parts(raw, split)
    model = kind(
        epochs=epochs, patience=epochs, batch_size=BATCH, random_state=seed, device="cpu", **options
    )
    model.fit(X.iloc[rows["train"]], y[rows["train"]], None, X.iloc[rows["val"]], y[rows["val"]])
    return lambda: _coded(split, model.predict(X.iloc[rows["test"]]))


def fit_pytabkit(raw: pd.DataFrame, split: Split, epochs: int, seed: int) -> Predict:
    """pytabkit's FT-Transformer with its defaults, which are the same size."""
    from pytabkit import FTT_D_Classifier, FTT_D_Regressor  # type: ignore[import-not-found]

    kind = FTT_D_Classifier if split.info.task == "classification" else FTT_D_Regressor
    X, y, rows = _raw_parts(raw, split)
    model = kind(
        max_epochs=epochs, es_patience=epochs, batch_size=BATCH, n_threads=1, device="cpu",
        random_state=seed,
    )  # fmt: skip
    model.fit(X.iloc[rows["train"]], y[rows["train"]], X.iloc[rows["val"]], y[rows["val"]])
    return lambda: _coded(split, model.predict(X.iloc[rows["test"]]))


def fit_rtdl(split: Split, epochs: int, seed: int) -> Predict:
    """The authors' module in a plain loop."""
    from rtdl_revisiting_models import FTTransformer

    torch.manual_seed(seed)
    layout = Layout.of(split.info)
    table = build_table(split, layout, TrainingSettings(), torch.device("cpu"))
    model = FTTransformer(
        n_cont_features=len(layout.numeric),
        cat_cardinalities=list(layout.cardinalities),
        d_out=layout.n_outputs,
        **FTTransformer.get_default_kwargs(n_blocks=3),
    )
    optimizer = torch.optim.AdamW(model.make_parameter_groups(), lr=1e-4, weight_decay=1e-5)
    train = table.parts["train"]
    best, kept = -np.inf, None
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(train)).split(BATCH):
            optimizer.zero_grad()
            outputs = model(*_inputs(train, rows))
            if split.info.task == "classification":
                loss = F.cross_entropy(outputs, train.target[rows], table.class_weights)
            else:
                loss = F.mse_loss(outputs.squeeze(-1), train.target[rows])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        value = score(split.info.task, table.parts["val"].truth, _predict(model, table, "val"))
        value = value if split.info.task == "classification" else -value
        if value > best:
            best, weights = value, model.state_dict()
            kept = {name: weight.clone() for name, weight in weights.items()}
    assert kept is not None
    model.load_state_dict(kept)
    return lambda: _predict(model, table, "test")


@torch.no_grad()
def _predict(model: torch.nn.Module, table: Table, part: str) -> np.ndarray:
    model.eval()
    rows = table.parts[part]
    return table.predict(model(*_inputs(rows, slice(None)))[None])[0]


def _inputs(part: Any, rows: Any) -> tuple[Any, Any]:
    numeric, categorical = part.numeric[rows], part.categorical[rows]
    return (numeric if numeric.shape[1] else None), (categorical if categorical.shape[1] else None)


def _raw_parts(raw: pd.DataFrame, split: Split) -> tuple[pd.DataFrame, np.ndarray, dict]:
    target = split.info.target.name
    y = raw[target].astype(str) if split.info.target.classes else raw[target]
    rows = {part: split.part(part)["row"].to_numpy() for part in ("train", "val", "test")}
    return raw.drop(columns=target), y.to_numpy(), rows


def _coded(split: Split, predicted: np.ndarray) -> np.ndarray:
    classes = split.info.target.classes
    if classes is None:
        return np.asarray(predicted, dtype=float).ravel()
    places = {name: place for place, name in enumerate(classes)}
    return np.array([places[str(label)] for label in predicted])


SIDES: dict[str, Callable[..., Predict]] = {
    "tabpet, no encodings": lambda raw, split, epochs, seed: fit_tabpet(
        raw, split, epochs, seed, graph="none"
    ),
    "tabpet, alpha 1": lambda raw, split, epochs, seed: fit_tabpet(
        raw, split, epochs, seed, alpha=1.0
    ),
    "rtdl": lambda raw, split, epochs, seed: fit_rtdl(split, epochs, seed),
    "pytabkit": fit_pytabkit,
}


def serve(side: str, table: str, epochs: int, seed: int) -> None:
    """One fit in this process: prints its seconds and its test score."""
    torch.set_num_threads(1)
    raw, split = load(table, seed)
    fit = SIDES[side]
    fit(raw, split, 1, seed)  # what is loaded once is not timed
    started = time.process_time()
    predict = fit(raw, split, epochs, seed)
    seconds = time.process_time() - started
    truth = split.part("test")[split.info.target.name].to_numpy()
    value = score(split.info.task, truth, predict())
    print(json.dumps({"seconds": seconds, "score": value}))


def ask(python: str, side: str, table: str, epochs: int, seed: int) -> dict[str, float]:
    """One fit in a process of its own."""
    options = ["--side", side, "--table", table, "--epochs", str(epochs), "--seed", str(seed)]
    with tempfile.TemporaryDirectory() as folder:  # where a side may leave files
        done = subprocess.run(
            [python, str(Path(__file__).resolve()), *options],
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise SystemExit(f"{side}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(table: str, epochs: int, seeds: int, pythons: dict[str, str]) -> None:
    """Print seconds, scores and ratios of one table."""
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in pythons}
    for seed in range(seeds):
        for side, python in pythons.items():
            runs[side].append(ask(python, side, table, epochs, seed))
    ours = min(run["seconds"] for run in runs["tabpet, no encodings"])
    for side, of_side in runs.items():
        seconds, scores = (sorted(run[key] for run in of_side) for key in ("seconds", "score"))
        spread = statistics.stdev(scores) if len(scores) > 1 else float("nan")
        print(
            f"{table:30s}{side:22s}{seconds[0]:9.2f} s{seconds[0] / ours:8.2f} x"
            f"{statistics.mean(scores):12.4f} ± {spread:.4f}",
            flush=True,
        )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pytabkit", default=sys.executable, help="a Python that has pytabkit")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        serve(options.side, options.table, options.epochs, options.seed)
        return
    pythons = dict.fromkeys(SIDES, sys.executable)
    pythons["pytabkit"] = options.pytabkit
    print(f"{'table':30s}{'side':22s}{'fit':>11s}{'ratio':>10s}{'test score':>21s}")
    for table in TABLES:
        compare(table, options.epochs, options.seeds, pythons)
    print("ratio: seconds of a side over those of tabpet without encodings; best of all seeds.")


if __name__ == "__main__":
    main()
