"""Downloads from OpenML's REST API, with time-outs, retries and a checked cache.

OpenML's own client has no time-outs, so the requests are made here; the folder of its cache and the
user's key come from its configuration, and both find each other's files.
"""

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import openml
import pandas as pd
import requests

from tabpet import __version__
from tabpet.data.readers import parse_table
from tabpet.errors import TabpetError
from tabpet.files import replacing
from tabpet.settings import FetchSettings

DATABASE_IS_DOWN = "107"  # OpenML's code for a fault that passes
PASSING_STATUS = (408, 429)  # of HTTP, beside 500 and above
logger = logging.getLogger(__name__)
Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class OpenMLTable:
    """A downloaded table with what OpenML says about it."""

    frame: pd.DataFrame
    default_target: str | None
    openml_id: int
    version: int
    origin: str


class _Fault(Exception):
    """An answer or a file that can't be used; `passing` when another attempt may help."""

    def __init__(self, reason: str, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


def download(
    openml_id: int | None, name: str, version: int | None, settings: FetchSettings
) -> OpenMLTable:
    """Get a table by id, or by name and version; Parquet when it can be had, else ARFF."""
    server = _Server(settings.server.rstrip("/"), settings.timeout)
    wanted = f"id {openml_id}" if openml_id else f"name {name!r}, version {version}"
    problems: list[str] = []
    for attempt in range(1, settings.attempts + 1):
        try:
            dataset_id = openml_id or _find_id(server, name, version)
            return _download_table(server, dataset_id, refresh=attempt > 1)
        except (_Fault, OSError) as error:  # all errors of requests are OSErrors
            if isinstance(error, _Fault) and not error.passing:
                raise TabpetError(
                    f"{name}: OpenML has no usable table for {wanted}: {_reason(error)} "
                    f"(asked {settings.server}). Check the id, or the name and version, in "
                    "the catalog."
                ) from error
            problems.append(f"attempt {attempt}: {_reason(error)}")
            logger.warning("%s, %s", name, problems[-1])
        if attempt < settings.attempts:
            time.sleep(settings.backoff * 2 ** (attempt - 1))
    tried = "\n".join(f"  {problem}" for problem in problems)
    raise TabpetError(
        f"{name}: could not download {wanted} from {settings.server}:\n{tried}\n"
        "Check the network and run the same command again; only what is missing is fetched. "
        "Without a network, set TABPET_MIRROR to a folder that has "
        f"{name}_v{version if version else '<version>'}.parquet."
    )


@dataclass(frozen=True)
class _Server:
    """An OpenML server: requests with a time-out, and the part of the cache that is its own."""

    address: str  # of the REST API
    timeout: float  # seconds without a byte

    def get(self, url: str) -> bytes:
        """The body of the answer to a request."""
        own = urlsplit(url)[:2] == urlsplit(self.address)[:2]
        key = openml.config.apikey if own else None
        answer = requests.get(
            url,
            params={"api_key": key} if key else None,
            headers={"User-Agent": f"tabpet/{__version__}"},
            timeout=self.timeout,
        )
        if answer.status_code != requests.codes.ok:
            raise _refusal(answer)
        return answer.content

    def folder(self, openml_id: int) -> Path:
        """Where OpenML's client keeps the files of a dataset."""
        root = Path(openml.config.get_config_as_dict()["cachedir"])
        host = urlsplit(self.address).netloc.split(".")
        return root.joinpath(*reversed(host), "datasets", str(openml_id))


def _refusal(answer: requests.Response) -> _Fault:
    """The fault behind an answer that is not OK, in OpenML's own words where it has some."""
    status = answer.status_code
    passing = status >= 500 or status in PASSING_STATUS
    try:
        error = ElementTree.fromstring(answer.content)
    except ElementTree.ParseError:
        error = ElementTree.Element("wordless")
    passing = passing or _text(error, "code") == DATABASE_IS_DOWN
    words = filter(None, (_text(error, tag) for tag in ("message", "additional_information")))
    return _Fault(" - ".join(words) or f"the server answered with HTTP status {status}", passing)


@dataclass(frozen=True)
class _Description:
    """What OpenML says about a dataset."""

    version: int
    arff_url: str
    arff_md5: str | None
    parquet_url: str | None
    target: str | None
    no_features: list[str]  # row identifier and ignored columns


def _find_id(server: _Server, name: str, version: int | None) -> int:
    """The id of a dataset by name and version; without a version, of the oldest one."""
    chosen = "" if version is None else f"/data_version/{version}"
    content = server.get(f"{server.address}/data/list/data_name/{quote(name, safe='')}{chosen}")
    try:
        listing = ElementTree.fromstring(content)
    except ElementTree.ParseError:
        raise _Fault("the answer is not a list of datasets", passing=True) from None
    ids = [int(did.text or "") for did in listing.iterfind("{*}dataset/{*}did")]
    if not ids:
        raise _Fault("no dataset has this name and version", passing=False)
    return min(ids)


def _download_table(server: _Server, openml_id: int, refresh: bool) -> OpenMLTable:
    """The table of an id; `refresh` asks for its description again, which the cache may have."""
    folder = server.folder(openml_id)
    path, url = folder / "description.xml", f"{server.address}/data/{openml_id}"
    about = _obtain(server, url, path, _parse_description, refresh=refresh)
    frame, ending = _download_data(server, about, folder)
    frame = frame.drop(columns=[name for name in about.no_features if name in frame])
    target = about.target if about.target in frame else None
    origin = f"OpenML dataset {openml_id} ({ending})"
    return OpenMLTable(frame, target, openml_id, about.version, origin)


def _download_data(server: _Server, about: _Description, folder: Path) -> tuple[pd.DataFrame, str]:
    """The table itself and the ending of its file: Parquet, else ARFF, which has a checksum."""
    if about.parquet_url:
        path = folder / f"dataset_{folder.name}.pq"
        try:
            return _obtain(server, about.parquet_url, path, partial(_parse_data, path=path)), "pq"
        except (_Fault, OSError) as error:
            logger.warning("no Parquet file, trying ARFF: %s", _reason(error))
    path = folder / "dataset.arff"
    parse = partial(_parse_data, path=path, md5=about.arff_md5)
    return _obtain(server, about.arff_url, path, parse), "arff"


def _obtain(
    server: _Server,
    url: str,
    path: Path,
    parse: Callable[[bytes], Parsed],
    *,
    refresh: bool = False,
) -> Parsed:
    """What is in the cache, else at the address; only what can be parsed is used and kept."""
    if path.is_file() and not refresh:
        try:
            return parse(path.read_bytes())
        except (_Fault, OSError) as error:
            logger.warning("%s is discarded: %s", path, _reason(error))
    content = server.get(url)
    parsed = parse(content)
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(content)
    except TabpetError as error:  # the cache may be another user's
        logger.warning("not kept in the cache: %s", error)
    return parsed


def _parse_data(content: bytes, path: Path, md5: str | None = None) -> pd.DataFrame:
    """The table of a file; another checksum and unreadable bytes are faults."""
    if md5 not in (None, hashlib.md5(content, usedforsecurity=False).hexdigest()):
        raise _Fault("Checksum of the file is not the one that OpenML gives", passing=True)
    try:
        return parse_table(content, path)
    except TabpetError as error:
        raise _Fault(str(error), passing=True) from error


def _parse_description(content: bytes) -> _Description:
    try:
        root = ElementTree.fromstring(content)
        return _Description(
            version=int(_text(root, "version") or ""),
            arff_url=root.findtext("{*}url", "").strip(),
            arff_md5=_text(root, "md5_checksum"),
            parquet_url=_text(root, "parquet_url"),
            target=_text(root, "default_target_attribute"),
            no_features=[
                (element.text or "").strip()
                for tag in ("row_id_attribute", "ignore_attribute")
                for element in root.iterfind(f"{{*}}{tag}")
            ],
        )
    except (ElementTree.ParseError, ValueError) as error:
        raise _Fault(f"the answer is not a description of a dataset ({error})", True) from error


def _text(element: ElementTree.Element, tag: str) -> str | None:
    """The text of a child, in whichever namespace; None where it is absent or empty."""
    return element.findtext(f"{{*}}{tag}", "").strip() or None


def _reason(error: Exception) -> str:
    """One line that says what went wrong; addresses can hold the user's key and stay out."""
    if isinstance(error, requests.exceptions.Timeout):
        return "the server did not answer in time"
    if isinstance(
        error,
        requests.exceptions.ConnectionError | requests.exceptions.ChunkedEncodingError,
    ):
        return "the connection failed or was dropped"
    if isinstance(error, requests.exceptions.RequestException):
        return f"the request failed ({type(error).__name__})"
    text = " ".join(str(error).split())
    return text if len(text) < 300 else text[:300] + "..."
