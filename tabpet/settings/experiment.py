"""A complete experiment: what it consists of, and the settings of every stage."""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from tabpet.names import EncodingName
from tabpet.registry import CONTROLS
from tabpet.section import NonNegative, Section, Seed
from tabpet.settings.analysis import AnalysisSettings
from tabpet.settings.by_key import GraphKey, LearnerKey, ModelKey, ReferenceKey
from tabpet.settings.data import FetchSettings, PrepareSettings
from tabpet.settings.encoding import EncodingSettings
from tabpet.settings.graphs import MethodSettings, NodeSettings
from tabpet.settings.studies import StudiesSettings
from tabpet.settings.training import LimitSettings, ModelSettings, TrainingSettings
from tabpet.settings.trees import TreeSettings


class Settings(Section):
    """A complete experiment."""

    catalogs: list[Path] = Field(
        [Path("datasets.csv")],
        min_length=1,
        description="Dataset sheets; a path is looked up in the working directory, beside the "
        "config file, beside the Snakefile, then in the package.",
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
    graphs: list[GraphKey] = Field(
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
    models: list[ModelKey] = Field(
        ["ft_transformer", "saint", "tab_transformer"], description="Transformers to train."
    )
    controls: list[str] = Field(
        [],
        description="Encodings without a graph's structure, of the same width: "
        f"{' or '.join(f'`<graph>-{key}`' for key in CONTROLS)}.",
    )
    model_encodings: dict[ModelKey, list[str]] = Field(
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
    learners: list[LearnerKey] = Field(
        ["xgboost", "catboost"], description="Tree learners to tune."
    )
    references: list[ReferenceKey] = Field(
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
    limits: LimitSettings = Field(LimitSettings(), description="What one job may ask for.")
    analysis: AnalysisSettings = Field(
        AnalysisSettings(), description="How runs become conclusions."
    )
    studies: StudiesSettings = Field(
        StudiesSettings(), description="Studies beside the run, each a target of its own."
    )

    @property
    def encodings(self) -> list[str]:
        """Every encoding of the run: graphs, then controls."""
        return [*self.graphs, *self.controls]

    def encodings_of(self, model: str) -> list[str]:
        """The encodings that one model is trained with."""
        return self.model_encodings.get(model, self.encodings)

    @property
    def treatments(self) -> list[tuple[str, str]]:
        """Every model with each of its encodings."""
        return [(model, name) for model in self.models for name in self.encodings_of(model)]

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
        known = {str(EncodingName(graph, kind)) for graph in self.graphs for kind in CONTROLS}
        for name in self.controls:
            if name not in known:
                raise ValueError(
                    f"controls lists {name!r}: write a graph of this run and a kind, for example "
                    f"{self.graphs[0] if self.graphs else 'spearman'}-random; kinds are "
                    f"{', '.join(CONTROLS)}"
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
        trained = {name for _, name in self.treatments}
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
