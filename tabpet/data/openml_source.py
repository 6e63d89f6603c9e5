"""Downloads from OpenML through its own client, with time-outs, retries and a checked cache."""

import contextlib
import hashlib
import logging
import os
import re
import time
import xml.parsers.expat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minio
import openml
import pandas as pd
import requests
import urllib3
from openml.exceptions import (
    OpenMLHashException,
    OpenMLPrivateDatasetError,
    OpenMLServerError,
    OpenMLServerException,
    OpenMLServerNoResult,
)

from tabpet.config import FetchSettings
from tabpet.data.readers import parse_arff, read_table
from tabpet.errors import TabpetError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OpenMLTable:
    """A downloaded table with what OpenML says about it."""

    frame: pd.DataFrame
    default_target: str | None
    openml_id: int | None
    version: int | None
    origin: str


class _UnreadableCache(Exception):
    """The file in the cache is corrupt or partial."""


_FAULTS = (
    OpenMLServerError,  # and its subclasses: an error status, or an error in OpenML's own XML
    OpenMLPrivateDatasetError,
    OpenMLHashException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    minio.error.MinioException,
    xml.parsers.expat.ExpatError,
    OSError,
    RuntimeError,  # the client's word for "no dataset of this name and version"
    _UnreadableCache,
)


def download(
    openml_id: int | None, name: str, version: int | None, settings: FetchSettings
) -> OpenMLTable:
    """Get a table by id, or by name and version; Parquet when it can be read, else ARFF."""
    wanted = f"id {openml_id}" if openml_id else f"name {name!r}, version {version}"
    problems: list[str] = []
    refresh = skip_parquet = False
    with _client(settings):
        for attempt in range(1, settings.attempts + 1):
            try:
                return _attempt(openml_id or name, version, refresh, skip_parquet)
            except _FAULTS as error:
                if not _worth_retrying(error):
                    raise TabpetError(
                        f"{name}: OpenML has no usable table for {wanted}: {_reason(error)} "
                        f"(asked {settings.server}). Check the id, or the name and version, in "
                        "the catalog."
                    ) from error
                problems.append(f"attempt {attempt}: {_reason(error)}")
                logger.warning("%s, %s", name, problems[-1])
                # A cached file that can't be trusted is fetched again, and the second time
                # through ARFF, the format that has a checksum.
                skip_parquet = skip_parquet or (refresh and isinstance(error, _UnreadableCache))
                refresh = True
            if attempt < settings.attempts:
                time.sleep(settings.backoff * 2 ** (attempt - 1))
    tried = "\n".join(f"  {problem}" for problem in problems)
    raise TabpetError(
        f"{name}: could not download {wanted} from {settings.server}:\n{tried}\n"
        "Check the network and run the same command again; only what is missing is fetched. "
        "Without a network, set TABPET_MIRROR to a folder that has "
        f"{name}_v{version if version else '<version>'}.parquet."
    )


def _attempt(key: int | str, version: int | None, refresh: bool, skip_parquet: bool) -> OpenMLTable:
    if skip_parquet:
        os.environ["OPENML_SKIP_PARQUET"] = "true"
    dataset = openml.datasets.get_dataset(
        key, version=version, download_data=True, force_refresh_cache=refresh
    )
    path = Path(dataset.parquet_file or dataset.data_file or "")
    try:
        frame = read_table(path) if dataset.parquet_file else _read_checked_arff(path, dataset)
    except TabpetError as error:
        raise _UnreadableCache(str(error)) from error
    ignored = [dataset.row_id_attribute, *(dataset.ignore_attribute or [])]
    frame = frame.drop(columns=[column for column in ignored if column in frame])
    target = dataset.default_target_attribute
    origin = f"OpenML dataset {dataset.dataset_id} ({path.suffix.lstrip('.')})"
    return OpenMLTable(
        frame, target if target in frame else None, dataset.dataset_id, dataset.version, origin
    )


def _read_checked_arff(path: Path, dataset: openml.OpenMLDataset) -> pd.DataFrame:
    """Parse the very bytes that have the right checksum; another process may rewrite the cache.

    The client checks what it downloads, but not what it finds in its cache.
    """
    content = path.read_bytes()
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if dataset.md5_checksum not in (None, found):
        raise _UnreadableCache(f"Checksum of the cached file {path} is wrong")
    return parse_arff(content, path)


@contextlib.contextmanager
def _client(settings: FetchSettings) -> Iterator[None]:
    """Point the client at the server, and give its connections the time-outs it does not set."""
    openml.config.server = settings.server
    openml.config.connection_n_retries = 1  # the retries are ours: one place, logged
    plain_request, plain_minio = requests.Session.request, minio.Minio
    pool = urllib3.PoolManager(timeout=settings.timeout, retries=False)

    def request(self: requests.Session, *args: Any, **options: Any) -> requests.Response:
        return plain_request(self, *args, **{"timeout": settings.timeout, **options})

    def client(**options: Any) -> minio.Minio:
        return plain_minio(**{**options, "http_client": options.get("http_client") or pool})

    setattr(requests.Session, "request", request)  # noqa: B010 (a method, for a while)
    setattr(minio, "Minio", client)  # noqa: B010
    try:
        yield
    finally:
        setattr(requests.Session, "request", plain_request)  # noqa: B010
        setattr(minio, "Minio", plain_minio)  # noqa: B010


def _worth_retrying(error: Exception) -> bool:
    """Whether the same request may succeed later: faults of the network, the server, the file."""
    if isinstance(error, OpenMLServerNoResult | OpenMLPrivateDatasetError | RuntimeError):
        return False
    if isinstance(error, OpenMLServerException):
        return error.code == openml._api_calls.DATABASE_CONNECTION_ERRCODE
    status = re.search(r"Status code: (\d+)", str(error))
    return status is None or int(status[1]) >= 500 or int(status[1]) in (408, 429)


def _reason(error: Exception) -> str:
    """One line that says what went wrong."""
    if isinstance(error, requests.exceptions.Timeout):
        return "the server did not answer in time"
    if isinstance(
        error,
        requests.exceptions.ConnectionError | requests.exceptions.ChunkedEncodingError,
    ):
        return "the connection failed or was dropped"
    status = re.search(r"Status code: (\d+)", str(error))
    if status:
        return f"the server answered with HTTP status {status[1]}"
    text = " ".join(str(error).split())
    return text if len(text) < 300 else text[:300] + "..."
