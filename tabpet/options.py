"""What the commands share: the config files of a run, and the catalogs that these name."""

from pathlib import Path
from typing import Annotated

import typer

from tabpet.catalog import CatalogRow, read_catalogs
from tabpet.settings import Settings, read_settings

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_CONFIG = (ROOT / "config.yaml",)
ConfigFiles = Annotated[
    list[Path],
    typer.Option("--config", help="Config file; given again, each is laid over those before it."),
]


def read_run(config: list[Path]) -> tuple[Settings, dict[str, CatalogRow]]:
    """The settings in config files, and all rows of their catalogs."""
    settings = read_settings(*config)
    sheets = (path if path.exists() else ROOT / path for path in settings.catalogs)
    return settings, read_catalogs(sheets)
