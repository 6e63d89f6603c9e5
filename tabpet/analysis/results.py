"""All results of a run as tables in memory: what every table, figure and page is made from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from tabpet.analysis.selection import average_splits, choose_alphas, curves_over_alpha, scored_runs
from tabpet.names import EncodingName, Method, encoding_label
from tabpet.registry import CONTROLS, DEFAULT, MODELS, TUNED, tuned_learners, untuned_learners
from tabpet.runs import read_runs
from tabpet.settings import AnalysisSettings
from tabpet.stats import Ranks, rank_methods

# What tables and figures name, in their order.
TASKS = {"classification": "Classification", "regression": "Regression"}
METRICS = {"classification": "balanced accuracy", "regression": "RMSE"}
TRANSFORMERS, TREES = tuple(MODELS.entries), tuple(tuned_learners())
# Controls that nothing can be learned from: no structure, and no weights of their own.
NULL_CONTROLS = tuple(key for key, control in CONTROLS.items() if not control.trained)
# Methods of the main table, in the paper's order; then those that only this project has.
_METHODS = (
    *map(Method, TREES),
    *(Method(model, variant) for model in reversed(TRANSFORMERS) for variant in ("", "pet")),
    *map(Method, untuned_learners()),
    *(Method(learner, "default") for learner in TREES),
)
METHODS = tuple(map(str, _METHODS))
GAINS = ["improvement", "oracle_improvement"]
SCORE_COLUMNS = ["dataset", "task", "method", "test", "sd", "oracle", "seeds", "splits"]
METHOD_COLUMNS = [*SCORE_COLUMNS, *GAINS, "oracle_sd"]  # the last three of models with encodings


@dataclass(frozen=True)
class Results:
    """Runs, and what follows from them.

    `graphs` and `datasets`: the tables of these names, where they were made.
    """

    scores: pd.DataFrame  # columns of `tabpet.runs.SCHEMA`
    settings: AnalysisSettings = field(default_factory=AnalysisSettings)
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    graphs: pd.DataFrame | None = None
    datasets: pd.DataFrame | None = None

    @classmethod
    def load(
        cls,
        scores_path: Path,
        settings: AnalysisSettings,
        abbreviations: Mapping[str, str],
        graphs_path: Path | None = None,
        datasets_path: Path | None = None,
    ) -> "Results":
        """Read `scores.parquet`, and `tables/graphs.csv` and `tables/datasets.csv` if given."""
        tables = [read_table(path) if path else None for path in (graphs_path, datasets_path)]
        return cls(read_runs(scores_path), settings, abbreviations, *tables)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The scores over alpha that choices are made from."""
        return curves_over_alpha(self.scores)

    @cached_property
    def choices(self) -> pd.DataFrame:
        """The choices of alpha: a row per dataset, split, model and encoding."""
        return choose_alphas(self.curves)

    @cached_property
    def averages(self) -> pd.DataFrame:
        """Choices averaged over splits: a row per dataset, model and encoding."""
        return average_splits(self.choices)

    @cached_property
    def methods(self) -> pd.DataFrame:
        """Test scores of whole methods: a row per dataset and method, averaged over splits."""
        averages = self.averages[self.averages["encoding"] == self.settings.main_encoding]
        return _method_scores(self.scores, averages)

    @cached_property
    def tasks(self) -> dict[str, str]:
        """The task of every dataset of the run, in the order of the scores."""
        datasets = self.scores.drop_duplicates("dataset")
        return dict(zip(datasets["dataset"], datasets["task"], strict=True))

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """Dataset and number of rows, where the table of datasets was made."""
        if self.datasets is None:
            return pd.DataFrame({"dataset": pd.Series(dtype=str), "rows": pd.Series(dtype=float)})
        return self.datasets.drop_duplicates("dataset")[["dataset", "rows"]]

    @property
    def words(self) -> dict[str, str]:
        """What captions of tables say of the settings."""
        settings = self.settings
        return {
            "encoding": encoding_label(settings.main_encoding),
            "significance": f"{settings.level:g}",
            "confidence": f"{100 * (1 - settings.level):g} %",
            "rope": f"{settings.rope:g}",
        }

    def datasets_of(self, task: str) -> list[str]:
        """The datasets of one task, or of both for `all`."""
        return [name for name, kind in self.tasks.items() if task in (kind, "all")]

    def gains(self, model: str, encoding: str, task: str) -> pd.DataFrame:
        """Improvements of a model and encoding per dataset; an empty line where it failed.

        Datasets that the model skips, or that were not planned, have no line.
        """
        averages = self.averages
        rows = averages[(averages["model"] == model) & (averages["encoding"] == encoding)]
        planned = self._planned.get((model, encoding), set())
        datasets = [name for name in self.datasets_of(task) if name in planned]
        return rows.set_index("dataset")[GAINS].reindex(datasets)

    def paired(self, model: str, encoding: str, other: str, task: str = "all") -> pd.DataFrame:
        """Improvements of two encodings per dataset, on the splits that have both.

        Columns of `other` end in `_other`.
        """
        choices = self.choices[self.choices["model"] == model].dropna(subset=GAINS)
        choices = choices[choices["dataset"].isin(self.datasets_of(task))]
        ours, theirs = (
            choices[choices["encoding"] == name].set_index(["dataset", "split"])[GAINS]
            for name in (encoding, other)
        )
        both = ours.join(theirs, how="inner", rsuffix="_other")
        return both.groupby(level="dataset", sort=False).mean()

    @cached_property
    def _planned(self) -> dict[tuple[str, str], set[str]]:
        """Datasets of every model and encoding, without those that the model can't be used on."""
        scores = self.scores
        # A graph that could not be estimated is a result that is missing, not one not planned.
        failed = (scores["graph_state"] == "failed").fillna(False)
        unusable = (scores["status"] == "skipped") & ~failed
        skips = unusable.groupby([scores["model"], scores["dataset"]])
        # A job of such a dataset that has no file yet would only find that out.
        runs = scores[~skips.transform("any") | scores["test_score"].notna()]
        grouped = runs.groupby(["model", "encoding"])["dataset"]
        return {(str(model), str(encoding)): set(names) for (model, encoding), names in grouped}

    def graph_note(self, dataset: str, encoding: str) -> str:
        """`empty graph`, `cut graph`, or nothing."""
        return self._graph_notes.get((dataset, encoding), "")

    @cached_property
    def _graph_notes(self) -> dict[tuple[str, str], str]:
        noted = self.scores[self.scores["graph_state"].isin(["empty", "cut"])]
        keys = zip(noted["dataset"], noted["encoding"], strict=True)
        return dict(zip(keys, noted["graph_state"] + " graph", strict=True))

    def control_of_main(self, kind: str) -> str:
        """The encoding that is the control of this kind of the main one."""
        return str(EncodingName(self.settings.main_encoding, kind))

    def encodings_of(self, model: str) -> list[str]:
        """The encodings that a model has choices for, in the order of the scores."""
        return list(self.averages[self.averages["model"] == model]["encoding"].unique())

    def planned_encodings(self, model: str) -> list[str]:
        """The encodings that a model has rows for, with or without a score, in their order."""
        return list(self.scores[self.scores["model"] == model]["encoding"].unique())

    @cached_property
    def models(self) -> list[str]:
        """The transformers that have choices."""
        return present(TRANSFORMERS, self.choices["model"])

    def method_table(self, task: str, column: str = "test") -> pd.DataFrame:
        """Datasets x methods of one task, in the order of the main table."""
        rows = self.methods[self.methods["task"] == task]
        table = rows.pivot_table(index="dataset", columns="method", values=column)
        methods = dict.fromkeys([*METHODS, *rows["method"].unique()])
        return table.reindex(
            index=present(self.tasks, table.index), columns=present(methods, table)
        ).astype(float)

    def ranked_table(self, task: str) -> pd.DataFrame:
        """The same without plain references, which are shown and not ranked."""
        scores = self.method_table(task)
        return scores[[method for method in scores if not Method.parse(str(method)).is_reference]]

    @cached_property
    def ranks(self) -> dict[str, Ranks]:
        """Ranks of transformers and tuned trees by task."""
        level, samples = self.settings.level, self.settings.bootstrap
        return {task: rank_methods(task, self.ranked_table(task), level, samples) for task in TASKS}

    def first_duel(self, control: str) -> tuple[str, pd.DataFrame] | None:
        """The first model that has the main encoding and this control, and both improvements."""
        other = self.control_of_main(control)
        for model in self.models:
            if len(both := self.paired(model, self.settings.main_encoding, other)):
                return model, both
        return None

    def by_dataset(self, data: pd.DataFrame) -> pd.DataFrame:
        """The same data with datasets as index, in the order of the run."""
        return data.set_index("dataset").loc[present(self.tasks, data["dataset"])]

    def short(self, dataset: str) -> str:
        """The abbreviation of a dataset, or its name where the catalog has none."""
        return self.abbreviations.get(dataset, dataset)


def present(order: Iterable[str], values: Iterable[object]) -> list[str]:
    """The names of an order that occur among the values."""
    occurring = set(values)
    return [name for name in order if name in occurring]


def read_table(path: Path) -> pd.DataFrame | None:
    """A CSV table; none where no line was written yet."""
    return pd.read_csv(path) if path.read_text(encoding="utf-8").strip() else None


def by_variant(averages: pd.DataFrame) -> pd.DataFrame:
    """Scores of a model without (`variant` "") and with its encodings ("pet"), a row each."""
    plain = {"base_test": "test", "base_sd": "sd"}
    encoded = {"test": "test", "test_sd": "sd", "oracle_test": "oracle"}
    shared = ["dataset", "task", "model", "encoding", "seeds", "splits"]
    rows = [
        averages[[*shared, *plain]].rename(columns=plain).assign(variant=""),
        averages[[*shared, *encoded, *GAINS, "oracle_sd"]]
        .rename(columns=encoded)
        .assign(variant="pet"),
    ]
    return pd.concat(rows, ignore_index=True)


def _method_scores(scores: pd.DataFrame, averages: pd.DataFrame) -> pd.DataFrame:
    """Test scores of methods: trees, references, and transformers without and with Tab-PET."""
    models = by_variant(averages)
    names = map(Method, models["model"], models["variant"])
    frames = [_learner_scores(scored_runs(scores)), models.assign(method=list(map(str, names)))]
    filled = [frame for frame in frames if len(frame)] or [pd.DataFrame(columns=METHOD_COLUMNS)]
    methods = pd.concat(filled, ignore_index=True).reindex(columns=METHOD_COLUMNS)
    # Datasets as they stand in the scores, methods as in the main table.
    order = {
        "dataset": list(scores["dataset"].unique()),
        "method": [*METHODS, *sorted(set(methods["method"]) - set(METHODS))],
    }
    return methods.sort_values(
        list(order), key=lambda names: names.map(order[str(names.name)].index), ignore_index=True
    )


def _learner_scores(runs: pd.DataFrame) -> pd.DataFrame:
    """Tuned trees under their name, plain references as `<name>-default`, linear as `linear`."""
    learners = runs[~runs["model"].isin(TRANSFORMERS) & runs["encoding"].isin([TUNED, DEFAULT])]
    method = [
        str(Method.of_learner(model, encoding))
        for model, encoding in zip(learners["model"], learners["encoding"], strict=True)
    ]
    keys = ["dataset", "task", "method"]
    by_split = learners.assign(method=method).groupby([*keys, "split"], sort=False)
    splits = by_split.agg(
        test=("test_score", "mean"), variance=("test_score", "var"), seeds=("seed", "nunique")
    )
    grouped = splits.reset_index().groupby(keys, sort=False)
    frame = grouped.agg(test=("test", "mean"), seeds=("seeds", "min"), splits=("split", "nunique"))
    # Over seeds within splits; over splits where each has a single seed.
    frame["sd"] = (grouped["variance"].mean() ** 0.5).fillna(grouped["test"].std(ddof=1))
    return frame.reset_index()
