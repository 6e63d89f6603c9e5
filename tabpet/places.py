"""Where the files and folders that a config names are looked for."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent  # the checkout, where the package is part of one


def find_sheets(sheets: Iterable[Path], configs: Sequence[Path] = ()) -> list[Path]:
    """Catalogs in the working directory, beside a config file, in the checkout or the package."""
    folders = [*_own_folders(configs), ROOT, PACKAGE]
    tried = {sheet: _candidates(sheet, folders) for sheet in sheets}
    missing = [sheet for sheet, places in tried.items() if not any(map(Path.is_file, places))]
    if missing:
        lines = [
            f"There is no catalog {sheet}. Tried: {_listing(tried[sheet])}." for sheet in missing
        ]
        raise TabpetError("\n".join([*lines, "Correct `catalogs` in the config."]))
    return [next(place for place in places if place.is_file()) for places in tried.values()]


def find_mirror(settings: FetchSettings, configs: Sequence[Path] = ()) -> FetchSettings:
    """The settings with the mirror's whole path: that of `TABPET_MIRROR`, else as it is set."""
    given = os.environ.get("TABPET_MIRROR") or settings.mirror
    if not given:
        return settings
    places = _candidates(Path(given), _own_folders(configs))
    for place in places:
        if place.is_dir():
            return settings.model_copy(update={"mirror": place})
    raise TabpetError(
        f"The mirror folder {given} does not exist. Tried: {_listing(places)}. Correct "
        "TABPET_MIRROR or `fetch: {mirror: ...}`, or remove it to use OpenML."
    )


def _own_folders(configs: Sequence[Path]) -> list[Path]:
    # What lies in the working directory keeps its relative path, which rules have as a parameter.
    return [Path(), *(Path(config).resolve().parent for config in configs)]


def _candidates(path: Path, folders: Iterable[Path]) -> list[Path]:
    """The places of a path, each once; an absolute one has a single place."""
    places = {(folder / path).resolve(): folder / path for folder in reversed([*folders])}
    return list(places.values())[::-1]


def _listing(places: Iterable[Path]) -> str:
    return ", ".join(str(place.resolve()) for place in places)
