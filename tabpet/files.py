"""Reading and writing files so that a killed job or a full disk never leaves half a file behind."""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from tabpet.errors import TabpetError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place only when the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # One fixed name: what a killed job leaves behind is overwritten by the next one.
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise TabpetError(
            f"Could not write {path}: {error.strerror or error}. "
            "Nothing was changed there; free some space or fix the permissions and run again."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
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


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))
