"""Packages that only the workflow needs: imported where they are used, named where they miss."""

import importlib
from typing import Any

from tabpet.errors import TabpetError


def need(module: str, purpose: str) -> Any:
    """Import a module that stands on packages of the extra `workflow`; say what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("tabpet"):
            raise
        raise TabpetError(
            f"{purpose} needs {error.name}, which is not installed: pip install 'tabpet[workflow]'"
        ) from None
