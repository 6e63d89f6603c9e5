"""From a catalog row to prepared splits."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from tabpet.section import Section


class FetchSettings(Section):
    """How tables are fetched. None of these changes what a table contains."""

    mirror: Path | None = Field(
        None,
        description="Folder with `<name>_v<version>.parquet` files that is tried before OpenML, "
        "from the working directory or beside the config file. The environment variable "
        "`TABPET_MIRROR` takes precedence.",
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
        description="What to do with a table whose shape or content hash differs from its catalog "
        "row.",
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
        "rows is complete; otherwise the numbers are imputed. 0 always drops, 1 always imputes.",
    )

    @field_validator("fractions")
    @classmethod
    def _sum_to_one(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if min(value) <= 0 or abs(sum(value) - 1) > 1e-9:
            raise ValueError("must be three positive numbers that sum to 1")
        return value
