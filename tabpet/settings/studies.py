"""The paper's studies, each a run of its own beside the run."""

from typing import Any, Literal

from pydantic import Field, model_validator

from tabpet.section import NonNegative, Section, Seed, Share
from tabpet.settings.by_key import GraphKey


class StudySettings(Section):
    """What a study trains: FT-Transformer with settings of its own."""

    splits: list[Seed] = Field([42], min_length=1, description="Seeds of the splits.")
    seeds: list[Seed] = Field([1], min_length=1, description="Seeds of weights and batches.")
    graphs: list[GraphKey] = Field(
        ["spearman", "true"], min_length=1, description="Graphs whose encodings are trained with."
    )
    controls: list[str] = Field(
        ["spearman-random", "spearman-shuffled"],
        description="Encodings without a graph's structure, as in `controls`.",
    )
    alphas: list[NonNegative] = Field(
        [0.05, 0.1, 0.2, 0.5, 0.7, 1, 2, 5, 10],
        min_length=1,
        description="Scales of the encodings; 0 is always trained too.",
    )
    model: dict[str, Any] = Field(
        {}, description="What differs from `model_settings.ft_transformer`."
    )
    training: dict[str, Any] = Field(
        {}, description="What differs from `training`; time limits and checkpoints do not."
    )


class GeneratedStudySettings(StudySettings):
    """A study of generated tables."""

    d: int = Field(30, ge=2, description="Features of a table.")
    n: int = Field(2000, ge=10, description="Rows of a table; the paper does not say.")
    tables: list[Seed] = Field(
        [1, 2, 3, 4, 5], min_length=1, description="Seeds of tables: one of each kind per seed."
    )
    recovery: list[GraphKey] = Field(
        ["spearman", "pearson", "chow_liu", "lingam", "notears", "pc"],
        description="Graph estimators whose edges are compared with the true ones.",
    )


class GroupsStudySettings(GeneratedStudySettings):
    """Tables of Algorithm 1 (paper, section "Synthetic Experiments")."""

    groups: list[int] = Field(
        [*range(1, 31)], min_length=1, description="Numbers of groups k, each a kind of table."
    )
    target_weights: Literal["per_table", "per_sample"] = Field(
        "per_table",
        description="How often Algorithm 1 draws the target's weight and bias: once per table, or "
        "for each sample, as its text can be read, which makes the target noise.",
    )

    @model_validator(mode="after")
    def _groups_fit(self) -> "GroupsStudySettings":
        if not all(1 <= k <= self.d for k in self.groups):
            raise ValueError(f"groups lists {self.groups}: {self.d} features have 1 to {self.d}")
        return self


class DagsStudySettings(GeneratedStudySettings):
    """Tables of random linear DAGs with noise that is not Gaussian."""

    graphs: list[GraphKey] = Field(
        ["spearman", "lingam", "notears", "true"],
        min_length=1,
        description="Graphs whose encodings are trained with.",
    )
    densities: list[Share] = Field(
        [0.05, 0.1, 0.2], min_length=1, description="Shares of pairs that are joined."
    )
    noise: Literal["laplace", "uniform", "exponential"] = Field(
        "laplace", description="Distribution of the noise, of variance 1."
    )


class EffectiveRankStudySettings(StudySettings):
    """Effective rank of CLS embeddings (paper, appendix A)."""

    datasets: list[str] = Field(
        ["@effective_rank"], min_length=1, description="Datasets: names, or `@group`."
    )
    graphs: list[GraphKey] = Field(
        ["spearman"], min_length=1, description="Graphs whose encodings are trained with."
    )
    controls: list[str] = Field(
        ["spearman-random"], description="Encodings without a graph's structure."
    )
    alphas: list[NonNegative] = Field(
        [*range(1, 31)], min_length=1, description="Scales of the encodings; 0 is trained too."
    )
    model: dict[str, Any] = Field(
        {"n_layers": 1, "n_heads": 1, "width": 192},
        description="What differs from `model_settings.ft_transformer`.",
    )
    training: dict[str, Any] = Field(
        {"learning_rate": 1e-4, "max_epochs": 50, "min_epochs": 10, "patience": 20},
        description="What differs from `training`; time limits and checkpoints do not.",
    )


class StudiesSettings(Section):
    """Studies beside the run: `snakemake synthetic_study` and `snakemake effective_rank_study`."""

    groups: GroupsStudySettings = Field(
        GroupsStudySettings(), description="Synthetic study: tables of Algorithm 1."
    )
    dags: DagsStudySettings = Field(
        DagsStudySettings(), description="Synthetic study: tables of linear DAGs."
    )
    effective_rank: EffectiveRankStudySettings = Field(
        EffectiveRankStudySettings(), description="Effective-rank study."
    )
