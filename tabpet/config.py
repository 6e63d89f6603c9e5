"""Every setting of the experiment, once: its type, its default and one sentence about it.

`config.schema.json` (for editors) and `docs/configuration.md` are generated from these models by
`tabpet settings --write`; a test fails when they drift. Threads, memory and GPUs are not settings:
they live in rules and profiles.
"""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tabpet.errors import TabpetError

Seed = Annotated[int, Field(ge=0, lt=2**32)]


class Section(BaseModel):
    """Base of all settings: unknown keys are errors, values never change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FetchSettings(Section):
    """How tables are fetched. None of these changes what a table contains."""

    mirror: Path | None = Field(
        None,
        description="Folder with `<name>_v<version>.parquet` files that is tried before OpenML. "
        "The environment variable `TABPET_MIRROR` takes precedence.",
    )
    server: str = Field(
        "https://www.openml.org/api/v1/xml", description="Address of the OpenML REST API."
    )
    attempts: int = Field(
        4, ge=1, le=20, description="How often a download is tried before the dataset fails."
    )
    backoff: float = Field(
        2.0, ge=0, description="Seconds before the second attempt; doubles with each further one."
    )
    timeout: float = Field(
        60.0, gt=0, description="Seconds without a byte from the server that end an attempt."
    )
    on_mismatch: Literal["error", "warn"] = Field(
        "error",
        description="What to do with a table whose shape differs from its catalog row.",
    )


class PrepareSettings(Section):
    """From a raw table to training, validation and test rows (paper, appendix B.2)."""

    fractions: tuple[float, float, float] = Field(
        (0.6, 0.2, 0.2), description="Shares of training, validation and test rows; they sum to 1."
    )
    max_missing: float = Field(
        0.7,
        ge=0,
        le=1,
        description="A feature with a larger share of missing training values is dropped.",
    )
    min_complete: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Rows with missing numbers are dropped when at least this share of training "
        "rows is complete; otherwise the numbers are imputed.",
    )

    @field_validator("fractions")
    @classmethod
    def _sum_to_one(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if min(value) <= 0 or abs(sum(value) - 1) > 1e-9:
            raise ValueError("must be three positive numbers that sum to 1")
        return value


class Settings(Section):
    """A complete run."""

    catalogs: list[Path] = Field(
        [Path("datasets.csv")],
        min_length=1,
        description="Dataset sheets; a path is looked up in the working directory, then beside "
        "the Snakefile.",
    )
    datasets: list[str] = Field(
        min_length=1,
        description="Datasets to run: names from the catalogs, or `@group` for a whole group.",
    )
    exclude: list[str] = Field(
        [], description="Datasets to leave out of that selection: names or `@group`."
    )
    splits: list[Seed] = Field(
        [42], min_length=1, description="Seeds of the train/validation/test splits."
    )
    fetch: FetchSettings = Field(FetchSettings(), description="How tables are fetched.")
    prepare: PrepareSettings = Field(
        PrepareSettings(), description="How a raw table becomes a split."
    )

    @model_validator(mode="after")
    def _no_repeats(self) -> "Settings":
        for name in ("datasets", "splits"):
            values = getattr(self, name)
            repeated = sorted({value for value in values if values.count(value) > 1})
            if repeated:
                raise ValueError(f"{name} lists {repeated} more than once: remove the repeats")
        return self


def load_settings(values: Mapping[str, Any], origin: str = "the config") -> Settings:
    """Check a config mapping; a wrong one gets an error that says what, where and how to fix it."""
    try:
        return Settings.model_validate(dict(values))
    except ValidationError as error:
        problems = "\n".join(f"  - {_explain(problem)}" for problem in error.errors())
        raise TabpetError(
            f"{origin} has {error.error_count()} problem(s):\n{problems}\n"
            "All settings are described in docs/configuration.md."
        ) from None


def read_settings(path: Path) -> Settings:
    """Read and check a YAML config file."""
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TabpetError(f"There is no config file {path}. Is the path right?") from None
    except yaml.YAMLError as error:
        raise TabpetError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(values, Mapping):
        raise TabpetError(f"{path} must hold `key: value` lines, but holds: {values!r}.")
    return load_settings(values, str(path))


def _explain(problem: Any) -> str:
    """One line for one pydantic problem, with the nearest known key or a snippet to paste."""
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = _keys_beside(problem["loc"])
        close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known keys here: {', '.join(known)}."
        return f"`{where}` is not a setting; {hint}"
    if problem["type"] == "missing":
        return f'`{where}` is missing; add for example `{where}: ["@demo"]`.'
    message = problem["msg"].removeprefix("Value error, ")
    if not where:
        return message + "."
    return f"`{where}` is {problem['input']!r}: {message[0].lower()}{message[1:]}."


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The settings that exist in the section where `location` points."""
    section: type[BaseModel] = Settings
    for part in location[:-1]:
        annotation = section.model_fields[str(part)].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        section = annotation
    return list(section.model_fields)


def schema_text() -> str:
    """The JSON schema that editors use to check and complete a config file."""
    return json.dumps(Settings.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def settings_table() -> str:
    """The Markdown page that describes every setting."""
    rows = "\n".join(_table_rows(Settings, ""))
    return (
        "# Settings\n\n"
        "Generated from `tabpet/config.py` by `tabpet settings --write`: edit there, not here.\n"
        "Every key is optional unless its default says *required*; unknown keys are errors.\n\n"
        "| setting | default | allowed | what it does |\n|---|---|---|---|\n"
        f"{rows}\n"
    )


def _table_rows(section: type[BaseModel], prefix: str) -> list[str]:
    rows = []
    schema = section.model_json_schema()["properties"]
    for name, field in section.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            rows.extend(_table_rows(annotation, f"{prefix}{name}."))
            continue
        default = "*required*" if field.is_required() else f"`{_yaml(field.default)}`"
        rows.append(
            f"| `{prefix}{name}` | {default} | {_allowed(schema[name])} | {field.description} |"
        )
    return rows


def _yaml(value: Any) -> str:
    plain = json.loads(json.dumps(value, default=str))
    return yaml.safe_dump(plain, default_flow_style=True).replace("\n...", "").strip()


def _allowed(schema: dict[str, Any]) -> str:
    """A short phrase for what a JSON schema accepts."""
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_allowed(option) for option in schema["anyOf"])
    if "prefixItems" in schema:
        return f"{len(schema['prefixItems'])} × {_allowed(schema['prefixItems'][0])}"
    if schema.get("type") == "array":
        return f"list of {_allowed(schema['items'])}"
    if schema.get("format") == "path":
        return "path"
    limits = [
        f"{sign} {schema[key]}"
        for key, sign in (
            ("minimum", "≥"),
            ("exclusiveMinimum", ">"),
            ("maximum", "≤"),
            ("exclusiveMaximum", "<"),
        )
        if key in schema
    ]
    return " ".join([schema.get("type", "any"), *limits])
