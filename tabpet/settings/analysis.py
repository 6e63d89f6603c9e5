"""From runs to conclusions."""

from pydantic import Field

from tabpet.section import Section


class AnalysisSettings(Section):
    """How runs become conclusions."""

    main_encoding: str = Field(
        "spearman",
        description="Encoding that stands for Tab-PET in the main tables and the verdict; the "
        "first of `graphs` unless it is set.",
    )
    level: float = Field(0.05, gt=0, lt=1, description="Level of tests and intervals.")
    rope: float = Field(
        0.5,
        ge=0,
        description="Improvements below this many percent count as practically equal in the "
        "Bayesian test.",
    )
    bootstrap: int = Field(10_000, ge=100, description="Bootstrap samples over datasets.")
