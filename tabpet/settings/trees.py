"""From a split to tuned trees and plain references."""

from typing import Any, Literal

from pydantic import Field

from tabpet.registry import LEARNERS
from tabpet.section import Section


class TreeSettings(Section):
    """How tree learners are tuned (paper, appendix F.1)."""

    trials: int = Field(100, ge=1, description="Trials per dataset, learner and seed.")
    max_seconds: float | None = Field(
        None,
        gt=0,
        description="Time for one search, earlier jobs of it included; when it is over, the best "
        "trial so far is kept and labelled `timeout`.",
    )
    rounds: int = Field(2000, ge=1, description="Most boosting rounds of a trial.")
    patience: int = Field(
        50, ge=1, description="Rounds without a better validation score that end a trial."
    )
    stopping: Literal["score", "loss"] = Field(
        "score",
        description="What ends a trial's rounds: the validation score, or the validation loss "
        "with the weights of training.",
    )
    objective: Literal["score", "loss"] = Field(
        "loss",
        description="What the search optimises: the validation score, or the validation loss with "
        "the weights of training; the other one decides between equal trials.",
    )
    od_pval: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="CatBoost's overfitting detector by p-value, in the place of `patience` "
        "(paper: 0.001).",
    )
    balanced: bool = Field(
        True, description="Weight training rows so that all classes count the same."
    )
    prune: bool = Field(False, description="End trials early that are worse than the median.")
    device: Literal["cpu", "cuda"] = Field("cpu", description="Where trees are grown.")

    def experiment_fields(self) -> dict[str, Any]:
        """The settings that decide a search, as plain JSON values; a time limit is none."""
        return self.model_dump(mode="json", exclude={"max_seconds"})

    def used_by(self, reference: str) -> dict[str, Any]:
        """The settings that decide an untuned reference."""
        return self.model_dump(mode="json", include=set(LEARNERS.find(reference).reads))
