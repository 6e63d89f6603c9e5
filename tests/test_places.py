"""Where catalogs and mirrors are found, and what is said when they are not."""

from pathlib import Path

import pytest

from tabpet.errors import TabpetError
from tabpet.places import PACKAGE, ROOT, find_mirror, find_sheets
from tabpet.settings import FetchSettings


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A working directory, and a config file in another folder."""
    (tmp_path / "work").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("TABPET_MIRROR", raising=False)
    return tmp_path / "work", tmp_path / "project" / "config.yaml"


def test_sheets_by_place(folders):
    work, config = folders
    assert find_sheets([Path("datasets.csv")], [config]) == [ROOT / "datasets.csv"]
    (config.parent / "mine.csv").touch()
    (config.parent / "datasets.csv").touch()
    found = find_sheets([Path("datasets.csv"), Path("mine.csv")], [config])
    assert found == [config.parent / "datasets.csv", config.parent / "mine.csv"]
    (work / "mine.csv").touch()
    # Rules have a relative path as a parameter, so it stays relative.
    assert find_sheets([Path("mine.csv")], [config]) == [Path("mine.csv")]
    assert (PACKAGE / "datasets.csv").read_text() == (ROOT / "datasets.csv").read_text()


def test_missing_sheets_are_named_once_with_every_place(folders):
    work, config = folders
    with pytest.raises(TabpetError) as caught:
        find_sheets([Path("a.csv"), Path("datasets.csv"), Path("/nowhere/b.csv")], [config])
    first, second, advice = str(caught.value).splitlines()
    places = [work / "a.csv", config.parent / "a.csv", ROOT / "a.csv", PACKAGE / "a.csv"]
    assert first == f"There is no catalog a.csv. Tried: {', '.join(map(str, places))}."
    assert second == "There is no catalog /nowhere/b.csv. Tried: /nowhere/b.csv."
    assert advice == "Correct `catalogs` in the config."


def test_mirror_by_place(folders, monkeypatch):
    work, config = folders
    wanted = FetchSettings(mirror=Path("tables"))
    with pytest.raises(TabpetError, match=f"Tried: {work}/tables, {config.parent}/tables. Correct"):
        find_mirror(wanted, [config])
    (config.parent / "tables").mkdir()
    assert find_mirror(wanted, [config]).mirror == config.parent / "tables"
    (work / "other").mkdir()
    monkeypatch.setenv("TABPET_MIRROR", "other")
    assert find_mirror(wanted, [config]).mirror == Path("other")
    monkeypatch.delenv("TABPET_MIRROR")
    assert find_mirror(FetchSettings(), [config]).mirror is None
