"""What a run consists of: its cells, the files of each stage, and the settings behind each result.

A cell is one run file: a dataset, split, learner, encoding and seed. Light: the Snakefile imports
this, and so does whatever looks at a run from outside.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tabpet.catalog import CatalogRow
from tabpet.errors import TabpetError
from tabpet.names import EncodingName
from tabpet.registry import DEFAULT, GRAPHS, MODELS, TUNED
from tabpet.settings import Settings

RULES = {TUNED: "tune_trees", DEFAULT: "fit_references"}
RUN_FILE = re.compile(
    r"(studies/(?P<study>[^/]+)/)?runs/(?P<dataset>[^/]+)/split(?P<split>\d+)/(?P<model>[^/]+)/"
    r"(?P<encoding>[^/]+)/seed(?P<seed>\d+)\.parquet$"
)


@dataclass(frozen=True)
class Stage:
    """A job on the way to a result: its rule, the file that says that it is done, and its log."""

    rule: str
    output: Path
    log: Path

    @classmethod
    def of(cls, rule: str, output: Path, *names: str) -> "Stage":
        """A job by the file it makes and the wildcards that its log is named by, if there are."""
        log = f"{rule}/{'-'.join(names)}" if names else rule
        return cls(rule, output, Path(f"results/logs/{log}.log"))


@dataclass(frozen=True)
class Cell:
    """One run file: names as they stand in its path."""

    dataset: str
    split: int
    model: str
    encoding: str  # a graph's name, `<graph>-<control>`, or `tuned` or `default` for trees
    seed: int
    study: str | None = None  # that it belongs to; None for the run itself

    @classmethod
    def parse(cls, path: Path | str) -> "Cell":
        """The cell that the path of a run file names."""
        match = RUN_FILE.search(Path(path).as_posix())
        if match is None:
            raise TabpetError(
                f"{path} is not a run file: expected "
                "runs/<dataset>/split<split>/<model>/<encoding>/seed<seed>.parquet."
            )
        names: dict[str, Any] = match.groupdict()
        return cls(**{**names, "split": int(names["split"]), "seed": int(names["seed"])})

    @property
    def identity(self) -> dict[str, Any]:
        """The columns of its rows that name the cell."""
        named = [field.name for field in fields(Cell) if field.name != "study"]
        return {name: getattr(self, name) for name in named}

    @property
    def graph(self) -> str | None:
        """The graph behind its encoding; None for learners without tokens."""
        return None if self.encoding in RULES else EncodingName.parse(self.encoding).graph

    @property
    def run(self) -> Path:
        """Its run file, from the folder that holds `results`."""
        return Path(f"{self._folder}/runs/{self._place}.parquet")

    @property
    def trials(self) -> Path:
        """The trials of a search, beside its run file."""
        return self.run.with_suffix(".trials.parquet")

    @property
    def journal(self) -> Path:
        """What an interrupted or extended job goes on from; no rule's output, so it stays."""
        if self.encoding == TUNED:
            return Path(f"results/journals/{self._split}/{self.model}/seed{self.seed}.log")
        return Path(f"{self._folder}/journals/{self._place}.parquet")

    @property
    def inputs(self) -> dict[str, Path]:
        """The files that its result is made from, by what they are."""
        files = {"split": Path(f"results/data/{self._split}.parquet")}
        files["split info"] = files["split"].with_suffix(".json")
        if self.graph is not None:
            files["encoding"] = Path(f"results/encodings/{self._split}/{self.graph}.parquet")
            files["encoding info"] = files["encoding"].with_suffix(".json")
        return files

    @property
    def graph_info(self) -> Path:
        """The description of the graph behind its encoding."""
        return Path(f"results/graphs/{self._split}/{self.graph}.json")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Every job that must be done before its run file is there, in order."""
        split = self.dataset, f"split{self.split}"
        raw = Path(f"results/data/{self.dataset}/raw.parquet")
        stages = [
            Stage.of("fetch_dataset", raw, self.dataset),
            Stage.of("prepare_split", self.inputs["split info"], *split),
        ]
        if self.graph is None:
            rule, names = RULES[self.encoding], [self.model]
        else:
            rule = "train_transformer" if self.study is None else "train_study"
            names = [self.model, self.encoding]
            encoded = self.inputs["encoding info"]
            if shares_job(self.graph):
                stages.append(Stage.of("estimate_instant_graphs", encoded, *split))
            else:
                stages.append(Stage.of("estimate_graph", self.graph_info, *split, self.graph))
                stages.append(Stage.of("encode_positions", encoded, *split, self.graph))
        names += [f"seed{self.seed}", *filter(None, [self.study])]
        return (*stages, Stage.of(rule, self.run, *split, *names))

    @property
    def _folder(self) -> str:
        return "results" if self.study is None else f"results/studies/{self.study}"

    @property
    def _split(self) -> str:
        return f"{self.dataset}/split{self.split}"

    @property
    def _place(self) -> str:
        return f"{self._split}/{self.model}/{self.encoding}/seed{self.seed}"


def shares_job(graph: str) -> bool:
    """Whether one job makes a graph with all others of tabpet's own that take a moment.

    Not one of another package, whose coming or going would be a reason to make the others again,
    nor one from the card, which few tables have.
    """
    entry = GRAPHS.own.get(graph)
    return entry is not None and entry.cost == "instant" and not entry.from_card


def member_alphas(encoding: str, alphas: Sequence[float]) -> tuple[float, ...]:
    """The alphas to train: the grid and 0, ascending; a learnable encoding finds its own scale."""
    grid = (1.0,) if EncodingName.parse(encoding).is_trained else alphas
    return tuple(sorted({0.0, *map(float, grid)}))


def planned_cells(
    settings: Settings, datasets: Iterable[str], study: str | None = None
) -> Iterator[Cell]:
    """Every cell of some datasets, in the order of the tables."""
    pairs = settings.treatments
    pairs += [(learner, TUNED) for learner in settings.learners]
    pairs += [(reference, DEFAULT) for reference in settings.references]
    for dataset in datasets:
        for model, encoding in pairs:
            for split, seed in settings.split_seeds:
                yield Cell(dataset, split, model, encoding, seed, study)


def run_settings(settings: Settings, row: CatalogRow, model: str, encoding: str) -> dict[str, Any]:
    """The settings that decide the result of a cell, as plain JSON values.

    Alphas are not among them: each member goes its own way. Nor are time limits: what one cut
    short says so.
    """
    if encoding == TUNED:
        return settings.trees.experiment_fields()
    if encoding == DEFAULT:
        return settings.trees.used_by(model)
    return {
        "model": settings.model_settings.of(model).model_dump(mode="json"),
        "training": settings.training.experiment_fields(),
        "batch_size": batch_size(row, model),
    }


def batch_size(row: CatalogRow, model: str) -> int | None:
    """Rows per training step of a transformer; None leaves it to the model."""
    column = MODELS.find(model).batch_column
    return None if column is None else getattr(row, column)


def graph_settings(settings: Settings, row: CatalogRow, graph: str) -> dict[str, Any]:
    """The settings of one estimator, with the dataset's own where its catalog row has some."""
    chosen = settings.graph_methods.of(graph).model_dump(mode="json")
    for name, column in GRAPHS.find(graph).from_catalog.items():
        if values := getattr(row, column):
            chosen[name] = list(values)
    return chosen


def input_settings(settings: Settings, row: CatalogRow, cell: Cell) -> dict[Path, dict]:
    """What the descriptions of a cell's inputs, as far back as the split, should say of how they
    were made."""
    wanted = {cell.inputs["split info"]: {"prepare": settings.prepare.model_dump(mode="json")}}
    if cell.graph is not None:
        wanted[cell.graph_info] = {
            "node_settings": settings.nodes.model_dump(mode="json"),
            "settings": graph_settings(settings, row, cell.graph),
        }
        wanted[cell.inputs["encoding info"]] = {
            "settings": settings.encoding.model_dump(mode="json")
        }
    return wanted


def describe_differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> str:
    """What differs between two nested mappings: `training.max_epochs: 3, now 30`."""
    differences = []
    for key in dict.fromkeys([*old, *new]):
        was, now = old.get(key), new.get(key)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            differences.append(describe_differences(was, now, f"{prefix}{key}."))
        elif was != now:
            differences.append(f"{prefix}{key}: {_shown(was)}, now {_shown(now)}")
    return "; ".join(filter(None, differences))


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value)
