"""From run files to one table of scores, in which nothing that was planned is silently missing."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from tabpet.errors import TabpetError
from tabpet.runs import Run, read_runs, runs_frame

RUN_FILE = re.compile(
    r"runs/(?P<dataset>[^/]+)/split(?P<split>\d+)/(?P<model>[^/]+)/(?P<encoding>[^/]+)/"
    r"seed(?P<seed>\d+)\.parquet$"
)
NO_FILE = "no run file: its job failed or has not run"


def gather_runs(planned: Iterable[Path], tasks: Mapping[str, str]) -> pd.DataFrame:
    """All rows of the planned run files, in that order; a file that is missing is a row `error`."""
    frames = [
        read_run_file(path) if path.is_file() else runs_frame([_missing_run(path, tasks)])
        for path in map(Path, planned)
    ]
    return pd.concat(frames, ignore_index=True) if frames else runs_frame([])


def join_scores(paths: Iterable[Path]) -> pd.DataFrame:
    """The scores of all datasets as one table."""
    frames = [read_runs(path) for path in paths]
    return pd.concat(frames, ignore_index=True) if frames else runs_frame([])


def read_run_file(path: Path) -> pd.DataFrame:
    """One run file, checked to hold the cell that its path names."""
    try:
        frame = read_runs(path)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise TabpetError(
            f"{path} can't be read as a run file ({error}). Delete it and run again."
        ) from None
    for name, value in run_identity(path).items():
        found = set(frame[name])
        if found != {value}:
            listed = ", ".join(sorted(map(str, found))) or "nothing"
            raise TabpetError(
                f"{path} should hold {name} {value}, but holds {listed}. Was it copied or "
                "renamed? Delete it and run again."
            )
    if frame["alpha"].duplicated().any():
        raise TabpetError(f"{path} holds an alpha twice. Delete it and run again.")
    return frame


def run_identity(path: Path) -> dict[str, Any]:
    """Dataset, split, model, encoding and seed, as the path of a run file names them."""
    match = RUN_FILE.search(Path(path).as_posix())
    if match is None:
        raise TabpetError(
            f"{path} is not a run file: expected "
            "runs/<dataset>/split<split>/<model>/<encoding>/seed<seed>.parquet."
        )
    identity: dict[str, Any] = match.groupdict()
    return identity | {"split": int(identity["split"]), "seed": int(identity["seed"])}


def _missing_run(path: Path, tasks: Mapping[str, str]) -> Run:
    identity = run_identity(path)
    return Run(**identity, task=tasks[identity["dataset"]], status="error", reason=NO_FILE)
