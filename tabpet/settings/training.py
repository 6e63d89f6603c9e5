"""From encodings to trained transformers."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from tabpet.registry import MODELS
from tabpet.section import Section
from tabpet.settings.by_key import settings_by_key


class ModelSettings(settings_by_key(MODELS)):  # type: ignore[misc]
    """Architecture of the transformers."""


class LimitSettings(Section):
    """What one job may ask for; profiles set it, since a scheduler refuses a request beyond it."""

    mem_mb: int | None = Field(None, ge=100, description="Most memory of a job in MB.")
    runtime: int | None = Field(None, ge=1, description="Most minutes of a job.")


class TrainingSettings(Section):
    """How a transformer is trained (paper, appendix E and F.2)."""

    # What decides where and for how long training runs, and not what it gives.
    ASIDE: ClassVar = ("checkpoint", "checkpoint_seconds", "max_seconds", "device", "jobs_per_gpu")

    learning_rate: float = Field(1e-4, gt=0, description="Learning rate of AdamW.")
    weight_decay: float = Field(1e-5, ge=0, description="Weight decay of AdamW.")
    gradient_norm: float = Field(
        1.0, gt=0, description="Gradients of a model are scaled down to at most this norm."
    )
    max_epochs: int = Field(500, ge=1, description="Most epochs.")
    min_epochs: int = Field(50, ge=0, description="Epochs before early stopping begins to count.")
    patience: int = Field(50, ge=1, description="Epochs without a better score that end training.")
    min_delta: float = Field(1e-6, ge=0, description="Differences below this are not better.")
    max_seconds: float | None = Field(
        None,
        gt=0,
        description="Time for one job (all alphas of a seed); when it is over, the best state so "
        "far is scored and labelled `timeout`.",
    )
    target_scaling: Literal["standard", "none"] = Field(
        "standard",
        description="Regression targets: standardised by training rows, predictions scaled back; "
        "or raw (released code).",
    )
    integration: Literal["concatenate", "project"] = Field(
        "concatenate",
        description="How an encoding joins a token: concatenated (paper), or added through a "
        "learned projection.",
    )
    learn_alpha: bool = Field(
        False, description="Train alpha as a scalar that starts from each value of the grid."
    )
    checkpoint: bool = Field(
        False, description="Save the state of training, so that a stopped job goes on from there."
    )
    checkpoint_seconds: float = Field(60.0, ge=0, description="Seconds between two checkpoints.")
    keep_predictions: bool = Field(
        False, description="Store the kept model's predictions of validation and test rows."
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="Where transformers are trained: on a GPU if torch sees one, on the CPU, or on "
        "a GPU or not at all.",
    )
    jobs_per_gpu: int = Field(
        1, ge=1, description="Training jobs that share a GPU of this machine at the same time."
    )
    tf32: bool = Field(False, description="Allow TF32 products on CUDA devices.")
    deterministic: bool = Field(
        True, description="Refuse operations that give different results from run to run."
    )

    def experiment_fields(self) -> dict[str, Any]:
        """The fields that decide what a run gives, as plain JSON values.

        Saving the state of training changes no result, so it must not make one out of date; what
        a time limit cut short is labelled by itself.
        """
        return self.model_dump(mode="json", exclude=set(self.ASIDE))
