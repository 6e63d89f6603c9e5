"""Reading and writing files so that a killed job or a full disk never leaves half a file behind."""

import contextlib
import glob
import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabpet.errors import FileError, TabpetError

if TYPE_CHECKING:  # what only reads JSON stays light
    import pandas as pd

_OLD_SECONDS = 6 * 3600
_BACKUPS = Path(".snakemake/backups")  # of outputs that are declared with `update`


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place only when the block succeeds."""
    path = Path(path)
    # A name of its own: a job may outlive a killed snakemake, beside the one that repeats it.
    temporary = path.with_name(f".{path.name}.{platform.node()}-{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            _remove_if_old(left)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise TabpetError(
            f"Could not write {path}: {error.strerror or error}. "
            "Nothing was changed there; free some space or fix the permissions and run again."
        ) from error
    finally:
        with contextlib.suppress(OSError):  # there may not even be a folder
            temporary.unlink()


def _remove_if_old(left: Path) -> None:
    """Remove what a killed job left behind; nobody writes one file for hours."""
    with contextlib.suppress(OSError):
        if time.time() - left.stat().st_mtime > _OLD_SECONDS:
            left.unlink()


def remove_result(path: Path, folder: Path = Path()) -> None:
    """Remove a result in a working directory, and the copy that Snakemake may keep of it.

    If the job fails, it would bring this back and note it as made with the new settings.
    """
    for old in (folder / path, folder / _BACKUPS / path):
        old.unlink(missing_ok=True)


def write_parquet(frame: "pd.DataFrame", path: Path) -> None:
    """Write a table as zstd Parquet, whole or not at all."""
    with replacing(path) as temporary:
        frame.to_parquet(temporary, compression="zstd", index=False)


def write_text(text: str, path: Path) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(content: Any, path: Path) -> None:
    """Write JSON that a person can read, whole or not at all; NaN is refused."""
    write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)


def file_digest(path: Path) -> str:
    """Sixteen hexadecimal digits that stand for the content of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def rounded_digest(path: Path) -> str:
    """The same of a JSON or Parquet file with its numbers to six decimals, marked by a tilde.

    It does not matter what wrote the file. One that can't be read stands for itself.
    """
    import pyarrow.parquet as pq

    path = Path(path)
    try:
        if path.suffix == ".json":
            content = read_json(path)
        else:
            with pq.ParquetFile(path) as file:
                columns = file.read(use_threads=False).to_pydict()
            content = list(columns.items())  # their order counts
    except ValueError:
        return file_digest(path)
    except OSError as error:
        if error.errno is not None:  # of the file system; without a number, of the content
            raise
        return file_digest(path)
    text = json.dumps(_rounded(content), sort_keys=True, default=str)
    return f"~{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _rounded(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _rounded(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value) for value in content]
    return round(content, 6) + 0.0 if isinstance(content, float) else content  # no -0.0


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileError(f"{path} is no JSON ({error}). Delete it and run again.") from error
