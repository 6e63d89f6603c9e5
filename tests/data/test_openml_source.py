"""Downloads against a loopback server that speaks OpenML's API, with one fault at a time."""

import errno
import io
import os
from pathlib import Path

import openml
import pandas as pd
import pytest
import requests

from tabpet.catalog import CatalogRow
from tabpet.data.card import table_hash
from tabpet.data.convention import as_convention
from tabpet.data.fetch import fetch_dataset
from tabpet.data.openml_source import download
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings
from tests.openml_server import OpenMLServer

ARFF = """@RELATION toy
@ATTRIBUTE id INTEGER
@ATTRIBUTE 'a size' REAL
@ATTRIBUTE colour {'dark red',blue,unused}
@ATTRIBUTE label {no,yes}
@DATA
1,1.5,'dark red',no
2,?,blue,yes
3,2.5,?,yes
4,0.5,blue,no
"""
EXPECTED = pd.DataFrame(
    {
        "a size": [1.5, None, 2.5, 0.5],
        "colour": pd.Categorical(["dark red", "blue", None, "blue"], ["dark red", "blue"]),
        "label": pd.Categorical(["no", "yes", "yes", "no"]),
    }
)


def parquet_bytes() -> bytes:
    buffer = io.BytesIO()
    EXPECTED.assign(id=[1, 2, 3, 4]).to_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture(params=["arff", "parquet"])
def server(request, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(openml.config, "_root_cache_directory", tmp_path / "cache")
    parquet = parquet_bytes() if request.param == "parquet" else None
    running = OpenMLServer(ARFF, parquet)
    running.kind = request.param
    yield running
    running.close()


def settings(server, **options) -> FetchSettings:
    return FetchSettings(
        server=server.api, **{"backoff": 0, "timeout": 60.0, "attempts": 3, **options}
    )


def patience(fault: str) -> dict[str, float]:
    """How long to wait for a server that hangs; a busy machine may then seem to hang as well."""
    return {"timeout": 1.0, "attempts": 9} if fault == "hang" else {}


def converted(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: as_convention(frame[name]) for name in EXPECTED})


def fetch(server, **options) -> pd.DataFrame:
    table = download(server.id, "toy", 3, settings(server, **options))
    assert table.default_target == "label"
    return converted(table.frame)


def test_by_id(server):
    pd.testing.assert_frame_equal(fetch(server), EXPECTED)
    assert server.hits["parquet" if server.kind == "arff" else "arff"] == 0


def test_by_name_and_version(server):
    table = download(None, "toy", 3, settings(server))
    pd.testing.assert_frame_equal(converted(table.frame), EXPECTED)
    assert table.origin.startswith("OpenML dataset 7")
    assert server.hits["list"] == 1


def test_row_identifier_is_no_feature(server):
    assert "id" not in download(server.id, "toy", 3, settings(server)).frame


def test_second_fetch_comes_from_the_cache(server):
    fetch(server)
    before = dict(server.hits)
    pd.testing.assert_frame_equal(fetch(server), EXPECTED)
    assert dict(server.hits) == before


@pytest.mark.parametrize("fault", ["500", "truncate", "hang", "corrupt"])
def test_passing_fault_of_the_data_file_is_retried(server, fault):
    server.faults = {server.kind: [fault]}
    pd.testing.assert_frame_equal(fetch(server, **patience(fault)), EXPECTED)
    tries = sum(server.hits[kind] for kind in ("arff", "parquet"))
    assert tries == 2 or (tries > 2 and fault == "hang")


@pytest.mark.parametrize("fault", ["500", "truncate", "hang"])
def test_passing_fault_of_the_description_is_retried(server, fault):
    server.faults = {"description": [fault]}
    pd.testing.assert_frame_equal(fetch(server, **patience(fault)), EXPECTED)
    tries = server.hits["description"]
    assert tries == 2 or (tries > 2 and fault == "hang")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("500", "HTTP status 500"),
        ("truncate", "dropped"),
        ("hang", "did not answer in time"),
        ("corrupt", "Checksum"),
    ],
)
def test_lasting_fault_says_what_was_tried_and_what_to_do(server, fault, said):
    server.faults = {"arff": [fault] * 9, "parquet": ["corrupt"] * 9}
    with pytest.raises(TabpetError) as caught:
        fetch(server, **{**patience(fault), "attempts": 4})
    message = str(caught.value)
    assert said in message
    assert "toy: could not download id 7" in message
    assert "attempt 4" in message
    assert "TABPET_MIRROR" in message


def test_unreadable_parquet_falls_back_to_arff(server):
    if server.kind == "arff":
        pytest.skip("no Parquet offered")
    server.faults = {"parquet": ["corrupt"] * 9}
    pd.testing.assert_frame_equal(fetch(server), EXPECTED)
    assert server.hits["arff"] == 1


def test_parquet_server_that_is_gone_falls_back_to_arff(server, tmp_path):
    if server.kind == "arff":
        pytest.skip("no Parquet offered")
    description = server._description().replace(f"{server.root}/datasets", "http://127.0.0.1:1/d")
    server._description = lambda: description
    pd.testing.assert_frame_equal(fetch(server, attempts=1), EXPECTED)


def test_page_of_a_portal_is_not_kept_as_a_description(server, tmp_path):
    right = server._description
    server._description = lambda: "<html><body>Please log in<br></body></html>"
    with pytest.raises(TabpetError, match="not a description of a dataset"):
        fetch(server)
    assert server.hits["description"] == 3
    server._description = right
    pd.testing.assert_frame_equal(fetch(server, attempts=1), EXPECTED)


def test_nothing_of_the_process_is_changed_while_a_table_is_downloaded(server):
    def state():
        return requests.Session.request, dict(os.environ), openml.config.get_config_as_dict()

    before, during, answer = state(), [], server.answer
    server.answer = lambda path: (during.append(state()), answer(path))[1]
    fetch(server)
    assert [*during, state()] == [before] * (len(during) + 1)
    assert during


def test_cache_is_that_of_openmls_own_client(server, tmp_path, monkeypatch):
    fetch(server)
    monkeypatch.setattr(openml.config, "server", server.api)
    before = dict(server.hits)
    theirs = openml.datasets.get_dataset(server.id, download_data=True)
    assert dict(server.hits) == before
    assert theirs.version == 3


def test_key_goes_to_openml_alone_and_into_no_message(server, monkeypatch):
    monkeypatch.setattr(openml.config, "apikey", "my-key")
    elsewhere = OpenMLServer(ARFF, server.parquet)
    try:
        server.files = elsewhere.root
        fetch(server)
        assert server.asked == [f"/api/v1/xml/data/{server.id}?api_key=my-key"]
        assert elsewhere.asked
        assert not [path for path in elsewhere.asked if "my-key" in path]
        with pytest.raises(TabpetError) as caught:
            download(99, "toy", 3, settings(server))
        assert "my-key" not in str(caught.value)
    finally:
        elsewhere.close()


def test_unknown_id_is_not_retried(server):
    with pytest.raises(TabpetError, match="toy: OpenML has no usable table for id 99"):
        download(99, "toy", 3, settings(server))
    assert server.hits["description"] == 1


def test_unknown_version_is_not_retried(server):
    with pytest.raises(TabpetError, match="name 'toy', version 8"):
        download(None, "toy", 8, settings(server))
    assert server.hits["list"] == 1


def test_missing_description_is_not_retried(server):
    server.faults = {"description": ["404"] * 9}
    with pytest.raises(TabpetError, match="HTTP status 404"):
        fetch(server)
    assert server.hits["description"] == 1


def test_corrupt_cache_is_discarded_and_fetched_again(server, tmp_path):
    fetch(server)
    [cached] = [*tmp_path.rglob("dataset*.arff"), *tmp_path.rglob("dataset*.pq")]
    cached.write_bytes(cached.read_bytes()[:-22])  # an ARFF file without its last rows
    pd.testing.assert_frame_equal(fetch(server), EXPECTED)


def test_a_cache_of_another_user_is_no_reason_to_fail(server, tmp_path, caplog):
    (tmp_path / "cache").touch()  # a folder that can't be made, also by root
    pd.testing.assert_frame_equal(fetch(server, attempts=1), EXPECTED)
    assert "not kept in the cache" in caplog.text


def test_a_file_of_the_cache_that_can_not_be_read_is_fetched(server, tmp_path, monkeypatch):
    fetch(server)
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if tmp_path / "cache" in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    pd.testing.assert_frame_equal(fetch(server, attempts=1), EXPECTED)


def test_no_server_at_all(server):
    server.close()
    with pytest.raises(TabpetError, match="Check the network"):
        fetch(server)


def test_default_target_when_the_catalog_has_none(server):
    row = CatalogRow(name="toy", source="openml", openml_id=7, task="classification")
    raw, card = fetch_dataset(row, settings(server))
    assert card.target.name == "label"
    assert (card.openml_id, card.version) == (7, 3)  # as found, though the row has no version
    assert list(raw) == ["a size", "colour", "label"]


def test_mirror_comes_before_openml(server, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    EXPECTED.to_parquet(mirror / "toy_v3.parquet")
    monkeypatch.setenv("TABPET_MIRROR", str(mirror))
    row = CatalogRow(
        name="toy", source="openml", version=3, openml_id=7, target="label", task="classification"
    )
    _, card = fetch_dataset(row, settings(server))
    assert card.origin == "toy_v3.parquet"
    assert not server.hits


def test_another_version_than_the_catalog_says(server):
    row = CatalogRow(name="toy", source="openml", openml_id=7, version=99, task="classification")
    with pytest.raises(TabpetError, match="catalog says version 99, but .* 7 is version 3"):
        fetch_dataset(row, settings(server))


def test_mirror_without_a_version_in_the_catalog(server, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    EXPECTED.to_parquet(mirror / "toy_v3.parquet")
    monkeypatch.setenv("TABPET_MIRROR", str(mirror))
    row = CatalogRow(
        name="toy", source="openml", openml_id=7, target="label", task="classification"
    )
    assert fetch_dataset(row, settings(server))[1].origin == "toy_v3.parquet"
    EXPECTED.to_parquet(mirror / "toy_v4.parquet")
    with pytest.raises(TabpetError, match="by `version` in the catalog"):
        fetch_dataset(row, settings(server))


def test_content_hash_is_that_of_the_table_in_either_format(server):
    row = CatalogRow(
        name="toy", source="openml", openml_id=7, task="classification", sha256=table_hash(EXPECTED)
    )
    assert fetch_dataset(row, settings(server))[1].sha256 == row.sha256


def test_table_that_changed_at_openml_is_an_error(server):
    row = CatalogRow(
        name="toy", source="openml", openml_id=7, version=3, task="classification", sha256="0" * 16
    )
    with pytest.raises(TabpetError, match="changed under the same name and version"):
        fetch_dataset(row, settings(server))


def test_hash_of_a_mirrors_copy_binds_the_mirror_and_warns_about_openml(
    server, tmp_path, monkeypatch
):
    row = CatalogRow(
        name="toy",
        source="openml",
        openml_id=7,
        version=3,
        target="label",
        task="classification",
        sha256="0" * 16,
        sha256_of="mirror",
    )
    _, card = fetch_dataset(row, settings(server))
    [warning] = [text for text in card.warnings if "sha256" in text]
    assert card.sha256[:16] in warning
    assert "not compared with OpenML" in warning
    EXPECTED.to_parquet(tmp_path / "toy_v3.parquet")
    monkeypatch.setenv("TABPET_MIRROR", str(tmp_path))
    with pytest.raises(TabpetError, match="sha256: catalog 0000000000000000, table"):
        fetch_dataset(row, settings(server))
