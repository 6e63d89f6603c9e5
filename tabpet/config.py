"""Every setting of the experiment, once: its type, its default and one sentence about it.

`config.schema.json` (for editors) and `docs/configuration.md` are generated from these models by
`tabpet settings --write`; a test fails when they drift. Threads, memory and GPUs are not settings:
they live in rules and profiles.
"""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tabpet.errors import TabpetError

GraphName = Literal["pearson", "spearman", "chow_liu", "lingam", "notears", "pc"]
ModelName = Literal["ft_transformer", "saint", "tab_transformer"]
LearnerName = Literal["xgboost", "catboost"]
ReferenceName = Literal["xgboost", "catboost", "linear"]
REFERENCES: tuple[ReferenceName, ...] = get_args(ReferenceName)
CONTROL_KINDS = ("random", "shuffled", "learnable")
# Graphs that take a moment and never look at the clock; all others have the time budget.
INSTANT_GRAPHS = ("pearson", "spearman", "chow_liu")
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]


class Section(BaseModel):
    """Base of all settings: unknown keys are errors, values never change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


SomeSection = TypeVar("SomeSection", bound=Section)


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


class NodeSettings(Section):
    """The node matrix that graphs are estimated on."""

    rows: Literal["train", "all"] = Field(
        "train", description="Rows that a graph may see: training rows, or all (released code)."
    )
    max_rows: int = Field(
        5000,
        ge=10,
        description="At most this many rows, by a stratified sample for classification.",
    )
    max_levels: int = Field(
        10,
        ge=2,
        description="A categorical feature with more levels keeps its most frequent ones and "
        "pools the others, so that it has this many nodes.",
    )


class NoSettings(Section):
    """Of an estimator that has none."""


class ChowLiuSettings(Section):
    """Settings of the Chow-Liu tree."""

    bins: int = Field(10, ge=2, description="Equal-width bins per node.")


class LingamSettings(Section):
    """Settings of LiNGAM (paper, appendix C)."""

    thresholds: tuple[NonNegative, ...] = Field(
        (0.01, 0.05, 0.1, 0.2),
        min_length=1,
        description="Cuts on absolute weights; the first with an allowed number of edges is taken.",
    )
    min_edges: int = Field(10, ge=0, description="Fewest edges that a threshold may leave.")
    max_edges: int = Field(50, ge=0, description="Most edges that a threshold may leave.")

    @model_validator(mode="after")
    def _ordered(self) -> "LingamSettings":
        if self.min_edges > self.max_edges:
            raise ValueError(
                f"min_edges ({self.min_edges}) is larger than max_edges ({self.max_edges})"
            )
        return self


class NotearsSettings(Section):
    """Settings of NOTEARS (paper, appendix C)."""

    lambdas: tuple[NonNegative, ...] = Field(
        (0.01, 0.05, 0.1, 0.2),
        min_length=1,
        description="l1 penalties, tried in ascending order until the thresholded graph is "
        "acyclic; a catalog row may have a grid of its own.",
    )
    max_iter: int = Field(100, ge=1, description="Most steps of the augmented Lagrangian.")
    h_tol: float = Field(
        1e-8, gt=0, description="Acyclicity value at which the optimisation has converged."
    )
    rho_max: float = Field(
        1e16, gt=1, description="Largest penalty weight of the augmented Lagrangian."
    )
    w_threshold: float = Field(
        0.3, ge=0, description="Edges with a smaller absolute weight are dropped."
    )


class PcSettings(Section):
    """Settings of PC, which is not in the paper."""

    alpha: float = Field(0.05, gt=0, lt=1, description="Level of the independence tests.")
    max_conditions: int = Field(2, ge=0, description="Most nodes that a test conditions on.")
    shrinkage: float = Field(
        1e-3,
        gt=0,
        lt=1,
        description="Share by which correlations are shrunk, so that collinear nodes can be "
        "tested.",
    )


class MethodSettings(Section):
    """Settings of the graph estimators that have any."""

    chow_liu: ChowLiuSettings = Field(ChowLiuSettings(), description="Chow-Liu tree.")
    lingam: LingamSettings = Field(LingamSettings(), description="DirectLiNGAM.")
    notears: NotearsSettings = Field(NotearsSettings(), description="Linear NOTEARS.")
    pc: PcSettings = Field(PcSettings(), description="PC.")


class EncodingSettings(Section):
    """From a graph to positional encodings (paper, section "Positional Encoding Creation")."""

    symmetrize: Literal["mean", "max"] = Field(
        "mean",
        description="How a directed graph becomes undirected: mean of both directions (paper), or "
        "the larger (released code).",
    )
    laplacian: Literal["combinatorial", "normalized"] = Field(
        "combinatorial",
        description="Laplacian whose eigenvectors are taken: D - A (paper), or normalized "
        "(released code).",
    )
    k_min: int = Field(2, ge=1, description="Fewest eigenvectors from each end of the spectrum.")
    k_max: int = Field(10, ge=1, description="Most eigenvectors from each end of the spectrum.")
    clip: float = Field(10.0, gt=0, description="Encodings are cut at this absolute value.")
    few_nodes: Literal["lower", "repeat"] = Field(
        "lower",
        description="A graph with fewer than 2 k + 1 nodes: lower k until no eigenvector is used "
        "twice, or keep k and repeat those that belong to both ends (released code).",
    )

    @model_validator(mode="after")
    def _ordered(self) -> "EncodingSettings":
        if self.k_min > self.k_max:
            raise ValueError(f"k_min ({self.k_min}) is larger than k_max ({self.k_max})")
        return self


class FTTransformerSettings(Section):
    """FT-Transformer (paper, appendix F.2)."""

    n_layers: int = Field(3, ge=1, description="Transformer blocks.")
    n_heads: int = Field(8, ge=1, description="Attention heads.")
    width: int = Field(192, ge=2, description="Width of a token, positional encoding included.")
    ffn_factor: float = Field(
        4 / 3, gt=0, description="Hidden width of the feed-forward part, as a multiple of `width`."
    )
    attention_dropout: Share = Field(0.2, description="Dropout of attention weights.")
    ffn_dropout: Share = Field(0.1, description="Dropout inside the feed-forward part.")
    residual_dropout: Share = Field(0.0, description="Dropout of what a residual branch adds.")

    @model_validator(mode="after")
    def _heads_fit(self) -> "FTTransformerSettings":
        if self.width % self.n_heads:
            raise ValueError(
                f"width ({self.width}) is not a multiple of n_heads ({self.n_heads}), so it can't "
                "be shared out between them"
            )
        return self


class SaintSettings(Section):
    """SAINT (paper, appendix F.2)."""

    width: int = Field(32, ge=2, description="Width of a token, positional encoding included.")
    depth: int = Field(1, ge=1, description="Pairs of column and row attention.")
    n_heads: int = Field(4, ge=1, description="Attention heads.")
    attention_dropout: Share = Field(
        0.0,
        description="Dropout of attention weights; SAINT's own code declares it and never applies "
        "it, the paper lists 0.8.",
    )
    ffn_dropout: Share = Field(0.8, description="Dropout inside the feed-forward part.")


class TabTransformerSettings(Section):
    """TabTransformer (paper, appendix F.2)."""

    width: int = Field(32, ge=8, description="Width of a token, positional encoding included.")
    depth: int = Field(6, ge=1, description="Transformer blocks.")
    n_heads: int = Field(8, ge=1, description="Attention heads.")
    head_width: int = Field(16, ge=1, description="Width of an attention head.")
    attention_dropout: Share = Field(0.1, description="Dropout of attention weights.")
    ffn_dropout: Share = Field(0.1, description="Dropout inside the feed-forward part.")
    residual_streams: int = Field(4, ge=1, description="Residual streams (hyper-connections).")


class ModelSettings(Section):
    """Architecture of the transformers."""

    ft_transformer: FTTransformerSettings = Field(
        FTTransformerSettings(), description="FT-Transformer."
    )
    saint: SaintSettings = Field(SaintSettings(), description="SAINT.")
    tab_transformer: TabTransformerSettings = Field(
        TabTransformerSettings(), description="TabTransformer."
    )


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
        """The part that decides what a run gives, as plain JSON values.

        Saving the state of training changes no result, so it must not make one out of date; what
        a time limit cut short is labelled by itself.
        """
        return self.model_dump(mode="json", exclude=set(self.ASIDE))


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

    def used_by(self, reference: ReferenceName) -> dict[str, Any]:
        """The settings that decide an untuned reference."""
        used = {"balanced"}
        if reference != "linear":
            used |= {"rounds", "patience", "stopping", "device"}
        if reference == "catboost":
            used.add("od_pval")
        return self.model_dump(mode="json", include=used)


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
    nodes: NodeSettings = Field(NodeSettings(), description="What graphs are estimated on.")
    graphs: list[GraphName] = Field(
        ["spearman", "pearson", "chow_liu", "lingam", "notears"],
        description="Graph estimators to run; each gives an encoding of its name.",
    )
    graph_seconds: float = Field(
        300.0,
        gt=0,
        le=10_000_000,
        description="Time for one graph; when it is over, the best valid graph so far is kept and "
        "labelled `timeout`.",
    )
    graph_methods: MethodSettings = Field(
        MethodSettings(), description="Settings of single estimators."
    )
    encoding: EncodingSettings = Field(
        EncodingSettings(), description="How a graph becomes positional encodings."
    )

    seeds: list[Seed] = Field(
        [1, 2, 3, 4, 5], min_length=1, description="Seeds of weights, batches, dropout and trials."
    )
    seeds_of_splits: Literal["all", "paired"] = Field(
        "all",
        description="Which seeds run on which split: every seed on every split, or the first seed "
        "on the first split, the second on the second, and so on.",
    )
    models: list[ModelName] = Field(
        ["ft_transformer", "saint", "tab_transformer"], description="Transformers to train."
    )
    controls: list[str] = Field(
        [],
        description="Encodings without a graph's structure, of the same width: "
        "`<graph>-random`, `<graph>-shuffled` or `<graph>-learnable`.",
    )
    model_encodings: dict[ModelName, list[str]] = Field(
        {},
        description="Encodings that a model is trained with; all graphs and controls for a model "
        "that is not listed.",
    )
    alphas: list[NonNegative] = Field(
        [0.05, 0.1, 0.2, 0.5, 0.7, 1, 2, 5, 10],
        min_length=1,
        description="Scales of the encodings; 0, the model without them, is always trained too.",
    )
    model_settings: ModelSettings = Field(
        ModelSettings(), description="Architecture of the transformers."
    )
    training: TrainingSettings = Field(
        TrainingSettings(), description="How transformers are trained."
    )
    learners: list[LearnerName] = Field(
        ["xgboost", "catboost"], description="Tree learners to tune."
    )
    references: list[ReferenceName] = Field(
        ["linear"],
        description="Plain references: untuned trees, and logistic or ridge regression.",
    )
    trees: TreeSettings = Field(TreeSettings(), description="How tree learners are tuned.")
    bundle_minutes: float = Field(
        10.0,
        ge=0,
        description="Seeds of a transformer's cell or of a tree search run one after the other in "
        "one job while all of them together take at most this long by estimate, on one core.",
    )
    analysis: AnalysisSettings = Field(
        AnalysisSettings(), description="How runs become conclusions."
    )

    @property
    def encodings(self) -> list[str]:
        """Every encoding of the run: graphs, then controls."""
        return [*self.graphs, *self.controls]

    def encodings_of(self, model: ModelName) -> list[str]:
        """The encodings that one model is trained with."""
        return self.model_encodings.get(model, self.encodings)

    @property
    def split_seeds(self) -> list[tuple[int, int]]:
        """Every split with every seed that runs on it."""
        if self.seeds_of_splits == "paired":
            return list(zip(self.splits, self.seeds, strict=True))
        return [(split, seed) for split in self.splits for seed in self.seeds]

    @model_validator(mode="after")
    def _pairs_fit(self) -> "Settings":
        if self.seeds_of_splits == "paired" and len(self.splits) != len(self.seeds):
            raise ValueError(
                f"seeds_of_splits is paired, but there are {len(self.splits)} splits and "
                f"{len(self.seeds)} seeds: list as many of one as of the other"
            )
        return self

    @model_validator(mode="after")
    def _controls_have_graphs(self) -> "Settings":
        for name in self.controls:
            graph, _, kind = name.rpartition("-")
            if kind not in CONTROL_KINDS or graph not in self.graphs:
                raise ValueError(
                    f"controls lists {name!r}: write a graph of this run and a kind, for example "
                    f"{self.graphs[0] if self.graphs else 'spearman'}-random; kinds are "
                    f"{', '.join(CONTROL_KINDS)}"
                )
        for model, names in self.model_encodings.items():
            if unknown := sorted(set(names) - set(self.encodings)):
                raise ValueError(
                    f"model_encodings of {model} lists {unknown}, which are neither in `graphs` "
                    "nor in `controls`"
                )
        return self

    @model_validator(mode="after")
    def _first_graph_is_main(self) -> "Settings":
        if self.graphs and "main_encoding" not in self.analysis.model_fields_set:
            main = self.analysis.model_copy(update={"main_encoding": self.graphs[0]})
            self.__dict__["analysis"] = main  # still loading: the settings are not frozen yet
        return self

    @model_validator(mode="after")
    def _can_give_an_answer(self) -> "Settings":
        """What could only train for nothing is refused before anything is trained."""
        for model in self.models:
            if not self.encodings_of(model):
                raise ValueError(
                    f"{model} would be trained without any encoding, so there is nothing to "
                    "compare: list a graph, for example `graphs: [spearman]`, or set `models: []` "
                    "to run no transformers"
                )
        if self.models and not any(alpha > 0 for alpha in self.alphas):
            raise ValueError(
                f"alphas is {self.alphas}, but 0 is the model without encodings: add a scale to "
                "compare it with, for example `alphas: [0.2, 1, 5]`"
            )
        main = self.analysis.main_encoding
        trained = {name for model in self.models for name in self.encodings_of(model)}
        usable = [name for name in self.graphs if name in trained]
        if self.models and main not in usable:
            raise ValueError(
                f"analysis.main_encoding is {main!r}, which is not a graph that a model of this "
                f"run is trained with ({', '.join(usable) or 'there is none'}): name one of these"
            )
        return self

    @model_validator(mode="after")
    def _no_repeats(self) -> "Settings":
        for name in (
            *("datasets", "splits", "graphs", "seeds", "models", "controls", "alphas"),
            *("learners", "references"),
        ):
            values = getattr(self, name)
            repeated = sorted({value for value in values if values.count(value) > 1})
            if repeated:
                raise ValueError(f"{name} lists {repeated} more than once: remove the repeats")
        return self


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


def read_settings(path: Path) -> Settings:
    """Read and check a YAML config file."""
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TabpetError(f"There is no config file {path}. Is the path right?") from None
    except (UnicodeDecodeError, OSError) as error:
        raise TabpetError(f"{path} can't be read as UTF-8 text: {error}") from None
    except yaml.YAMLError as error:
        raise TabpetError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(values, Mapping):
        raise TabpetError(f"{path} must hold `key: value` lines, but holds: {values!r}.")
    return load_settings(values, str(path))


def _explain(problem: Any, root: type[BaseModel]) -> str:
    """One line for one pydantic problem, with the nearest known key or a snippet to paste."""
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = _keys_beside(problem["loc"], root)
        close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known keys here: {', '.join(known)}."
        return f"`{where}` is not a setting; {hint}"
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
