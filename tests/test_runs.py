"""The row of a run: its types survive the file, its rules hold, and the score is sklearn's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, root_mean_squared_error

from tabpet.errors import TabpetError
from tabpet.files import replacing, write_json, write_parquet
from tabpet.runs import (
    SCHEMA,
    Run,
    is_transient,
    make_provenance,
    read_runs,
    score,
    stored_runs,
    used_versions,
    write_runs,
)

CELL = {"dataset": "a", "split": 42, "model": "xgboost", "encoding": "tuned", "seed": 1}


def test_rows_come_back_with_their_types(tmp_path):
    runs = [
        Run(**CELL, task="regression", val_score=1.5, test_score=2.5, parameters={"depth": 3}),
        Run(**CELL, task="regression", alpha=0.5, status="oom", reason="too large", epochs=7),
    ]
    write_runs(runs, tmp_path / "r.parquet")
    frame = read_runs(tmp_path / "r.parquet")
    assert list(frame.columns) == SCHEMA.names
    assert frame["epochs"].tolist()[1] == 7 and frame["epochs"].isna().tolist() == [True, False]
    assert frame["test_score"].tolist()[0] == 2.5 and np.isnan(frame["test_score"].tolist()[1])
    assert frame["metric"].tolist() == ["rmse", "rmse"]
    assert frame["parameters"].tolist()[0] == '{"depth": 3}'
    assert frame["reason"].isna().tolist() == [True, False]


def test_a_file_with_nothing_but_missing_values_keeps_its_types(tmp_path):
    write_runs(
        [Run(**CELL, task="classification", status="error", reason="no rows")], tmp_path / "r"
    )
    frame = read_runs(tmp_path / "r")
    assert str(frame["val_score"].dtype) == "float64"
    assert str(frame["best_epoch"].dtype) == "Int64"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "fine", "reason": "x"}, "status is 'fine'"),
        ({}, "has a validation and a test score"),
        ({"status": "error"}, "says why"),
    ],
)
def test_rows_that_would_mislead_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Run(**CELL, task="regression", **changes)


def test_score_is_sklearns():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    assert score("classification", truth, predicted) == pytest.approx(
        balanced_accuracy_score(truth, predicted), abs=1e-12
    )
    numbers, guesses = rng.normal(size=50), rng.normal(size=50)
    assert score("regression", numbers, guesses) == pytest.approx(
        root_mean_squared_error(numbers, guesses), abs=1e-12
    )


def test_classes_without_rows_do_not_count():
    truth, predicted = np.array([0, 0, 2, 2]), np.array([0, 1, 2, 3])
    assert score("classification", truth, predicted) == 0.5


def test_versions_name_the_package_itself():
    import tabpet

    assert used_versions("numpy")["tabpet"] == tabpet.__version__


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError("full"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA error: unspecified launch failure"), True),
        (OSError(28, "No space left on device"), True),
        (OSError(116, "Stale file handle"), True),
        (FileNotFoundError(2, "No such file"), False),
        (ValueError("odd"), False),
        (TabpetError("the encoding has no row for 'a'"), False),
    ],
)
def test_what_another_try_may_mend(error, expected):
    assert is_transient(error) is expected


def test_a_full_disk_is_worth_another_try(tmp_path):
    with pytest.raises(TabpetError) as failed, replacing(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    assert is_transient(failed.value)


def test_rows_come_back_as_objects(tmp_path):
    runs = [
        Run(**CELL, task="regression", val_score=1.5, test_score=2.5, parameters={"depth": 3}),
        Run(
            **{**CELL, "encoding": "spearman"},
            task="regression",
            alpha=0.5,
            status="oom",
            reason="too large",
            graph_state="cut",
            provenance={"settings": {"a": 0.1}, "inputs": {}},
        ),
    ]
    write_runs(runs, tmp_path / "r.parquet")
    assert stored_runs(tmp_path / "r.parquet") == runs


def provenance_of(folder, shift=0.0, text="a"):
    """The provenance of a run whose inputs are written to a folder, with some shift in numbers."""
    inputs = {"split": folder / "s.parquet", "split info": folder / "s.json"}
    inputs |= {"encoding": folder / "e.parquet", "encoding info": folder / "e.json"}
    write_parquet(pd.DataFrame({"x": [1e-9, 2.0]}), inputs["split"])
    write_json({"rows": 2}, inputs["split info"])
    values = np.array([1.4189168913457393, 0.0, -0.25]) + shift
    write_parquet(pd.DataFrame({"feature": [text, "b", "c"], "pe_1": values}), inputs["encoding"])
    write_json({"k": 1, "eigenvalues": [shift, 0.157]}, inputs["encoding info"])
    return inputs, make_provenance({}, inputs)["inputs"]


@pytest.mark.parametrize("shift", [2e-16, -3e-16, 1e-9, -1e-9])
def test_the_last_digits_of_an_encoding_make_no_other_provenance(tmp_path, shift):
    # They are those of the kernels that a library has for a processor.
    assert provenance_of(tmp_path, shift)[1] == provenance_of(tmp_path)[1]


def test_another_encoding_or_split_makes_another_provenance(tmp_path):
    inputs, made = provenance_of(tmp_path)
    changed = {
        name for name, digest in provenance_of(tmp_path, 2e-6)[1].items() if digest != made[name]
    }
    assert changed == {"encoding", "encoding info"}
    assert provenance_of(tmp_path, text="z")[1]["encoding"] != made["encoding"]
    provenance_of(tmp_path)
    # The target of a table may be that small.
    write_parquet(pd.DataFrame({"x": [1.1e-9, 2.0]}), inputs["split"])
    assert make_provenance({}, inputs)["inputs"]["split"] != made["split"]


def test_the_order_of_its_columns_belongs_to_an_encoding(tmp_path):
    inputs, made = provenance_of(tmp_path)
    frame = pd.read_parquet(inputs["encoding"])
    write_parquet(frame[frame.columns[::-1]], inputs["encoding"])
    assert make_provenance({}, inputs)["inputs"]["encoding"] != made["encoding"]


@pytest.mark.parametrize("name", ["encoding", "encoding info"])
def test_an_encoding_that_cannot_be_read_is_another_one(tmp_path, name):
    inputs, made = provenance_of(tmp_path)
    content = inputs[name].read_bytes()
    # Text that is nothing, bytes that are no text, and a damaged page in a file that is whole.
    for damaged in (b"cut off", b"\xff\xfe", content[:4] + bytes(40) + content[44:]):
        inputs[name].write_bytes(damaged)
        assert make_provenance({}, inputs)["inputs"][name] != made[name]


def test_a_file_system_that_fails_is_not_taken_for_another_encoding(tmp_path, monkeypatch):
    inputs, _ = provenance_of(tmp_path)

    def fail(path):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("tabpet.files.read_json", fail)
    with pytest.raises(OSError, match="Input/output"):
        make_provenance({}, inputs)
