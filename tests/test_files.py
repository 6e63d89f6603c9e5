"""Files are written whole or not at all."""

import errno
import os
from pathlib import Path

import pandas as pd
import pytest

from tabpet.errors import TabpetError
from tabpet.files import read_json, replacing, write_json, write_parquet


def test_round_trip(tmp_path):
    write_json({"a": [1, 2.5, "ä"]}, tmp_path / "deep" / "x.json")
    assert read_json(tmp_path / "deep" / "x.json") == {"a": [1, 2.5, "ä"]}


def test_a_file_that_is_no_json_is_named(tmp_path):
    half = tmp_path / "half.json"
    for content in (b'{"a": 1', b"", b"\xff\x00"):
        half.write_bytes(content)
        with pytest.raises(TabpetError, match="half.json is no JSON .*Delete it and run again"):
            read_json(half)


def test_nan_is_refused_and_the_old_file_stays(tmp_path):
    write_json({"a": 1}, tmp_path / "x.json")
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json({"a": float("nan")}, tmp_path / "x.json")
    assert read_json(tmp_path / "x.json") == {"a": 1}


def test_interrupted_write_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "x") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_full_disk_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    def full(self, path, **_):
        Path(path).write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with pytest.raises(TabpetError, match="No space left on device.*free some space"):
        write_parquet(pd.DataFrame({"a": [1]}), tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_made_is_named(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(TabpetError, match="Could not write .*x.json: .*fix the permissions"):
        write_json({}, tmp_path / "taken/here/x.json")


def test_two_writers_of_one_file_do_not_meet_and_old_leftovers_go(tmp_path):
    path = tmp_path / "a.txt"
    young, old = tmp_path / ".a.txt.other-1.tmp", tmp_path / ".a.txt.other-2.tmp"
    for left in (young, old):
        left.write_text("half of it")
    os.utime(old, (1, 1))
    with replacing(path) as temporary:
        assert temporary not in (young, old)
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert young.exists() and not old.exists()
