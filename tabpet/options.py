"""What the commands share: the config files of a run, and the catalogs that these name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tabpet.catalog import CatalogRow, read_catalogs
from tabpet.errors import TabpetError
from tabpet.places import ROOT, find_sheets
from tabpet.registry import CONTROLS
from tabpet.settings import Settings, load_settings, read_settings

DEFAULT_CONFIG = tuple(path for path in [ROOT / "config.yaml"] if path.is_file())
_NO_CONFIG = {"datasets": ["@demo"]}
ConfigFiles = Annotated[
    list[Path],
    typer.Option(
        "--config",
        "--configfile",
        help="Config file; given again, each is laid over those before it.",
    ),
]

DatasetArgument = Annotated[str, typer.Argument(help="A dataset of the catalogs.")]
EncodingArgument = Annotated[
    str, typer.Argument(help=f"A graph's name, or that with -{', -'.join(CONTROLS)}.")
]


def require_files(files: Sequence[Path], results: Path, config: Sequence[Path]) -> list[Path]:
    """Files of the workflow in a results folder; the command that makes them, if one is missing."""
    places = {results / path.relative_to("results"): path for path in files}
    missing = [place for place in places if not place.is_file()]
    if missing:
        targets = " ".join(str(places[place]) for place in missing)
        raise TabpetError(
            f"There is no {missing[0]}. This makes what is missing:\n"
            f"snakemake {targets} --cores all --configfile {' '.join(map(str, config))}"
        )
    return list(places)


def read_experiment(config: list[Path]) -> tuple[Settings, dict[str, CatalogRow]]:
    """The settings in config files, and all rows of their catalogs."""
    # Outside a checkout there is no default config, but the package has its catalog.
    settings = read_settings(*config) if config else load_settings(_NO_CONFIG)
    return settings, read_catalogs(find_sheets(settings.catalogs, config))
