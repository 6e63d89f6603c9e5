"""Reading settings from one or several config files, with errors that teach."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from tabpet.errors import TabpetError
from tabpet.section import Section
from tabpet.settings.by_key import SettingsByKey
from tabpet.settings.experiment import Settings

SomeSection = TypeVar("SomeSection", bound=Section)


def load_settings(values: Mapping[str, Any], origin: str = "the config") -> Settings:
    """Check a config mapping."""
    return load_section(Settings, values, origin)


def load_section(section: type[SomeSection], values: Any, origin: str) -> SomeSection:
    """Check settings; wrong ones get an error that says what, where and how to fix it."""
    try:
        return section.model_validate(values)
    except ValidationError as error:
        problems = "\n".join(f"  - {_explain(problem, section)}" for problem in error.errors())
        raise TabpetError(
            f"{origin} has {error.error_count()} problem(s):\n{problems}\n"
            "All settings are described in docs/configuration.md."
        ) from None


def read_settings(*paths: Path) -> Settings:
    """Read and check YAML config files, each one laid over those before it."""
    values: dict[str, Any] = {}
    for path in paths:
        values = overlay(values, _read_yaml(Path(path)))
    return load_settings(values, " with ".join(map(str, paths)))


def overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One mapping laid over another, as `snakemake --configfile a.yaml b.yaml` does it.

    Sections are merged key by key; any other value, lists included, takes the place of the old one.
    """
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, Mapping):
            old = merged.get(key, {})
            # An empty section changes nothing.
            merged[key] = overlay(old if isinstance(old, Mapping) else {}, value) if value else old
        else:
            merged[key] = value
    return merged


def _read_yaml(path: Path) -> Mapping[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TabpetError(f"There is no config file {path}. Is the path right?") from None
    except (UnicodeDecodeError, OSError) as error:
        raise TabpetError(f"{path} can't be read as UTF-8 text: {error}") from None
    except yaml.YAMLError as error:
        raise TabpetError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(values, Mapping):
        raise TabpetError(f"{path} must hold `key: value` lines, but holds: {values!r}.")
    return values


def _explain(problem: Any, root: type[BaseModel]) -> str:
    """One line for one pydantic problem, with the nearest known key or a snippet to paste."""
    where = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        known = _keys_beside(problem["loc"], root)
        close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known keys here: {', '.join(known)}."
        return f"`{where}` is not a setting; {hint}"
    if problem["type"] == "unknown_key":
        return f"`{where}`: {problem['msg']}"
    if problem["type"] == "missing" and where == "datasets":
        return f'`{where}` is missing; add for example `{where}: ["@demo"]`.'
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "missing":
        return f"`{where}` is missing."
    if problem["input"] is None:
        return f"`{where}` is empty: remove the line, or put a value there."
    if problem["type"] == "list_type":
        message += f"; on the command line: --config '{where}=[\"...\"]'"
    if not where:
        return message + "."
    return f"`{where}` is {problem['input']!r}: {message[0].lower()}{message[1:]}."


def _keys_beside(location: tuple[int | str, ...], section: type[BaseModel]) -> list[str]:
    """The settings that exist in the section where `location` points."""
    for key in map(str, location[:-1]):
        field = section.model_fields.get(key)
        if field is not None:
            inner: Any = field.annotation
        else:  # of another package
            assert issubclass(section, SettingsByKey)
            inner = section.kind.find(key).settings
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        section = inner
    return list(section.model_fields)
