"""Plain transformer, Tab-PET, random encodings and trees on several splits of one table.

Each learner is run by the function that the workflow runs it with.
"""

import importlib.util
import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from tabpet.analysis.selection import choose_alphas, curves_over_alpha
from tabpet.clock import Clock
from tabpet.data.card import Card
from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import Split, prepare_split
from tabpet.encodings import Encoding, encode
from tabpet.errors import TabpetError
from tabpet.files import write_json, write_parquet
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.graph import Graph
from tabpet.names import EncodingName, Method
from tabpet.registry import DEFAULT, MODELS, tuned_learners, untuned_learners
from tabpet.runs import METRICS, Run, runs_frame
from tabpet.settings import (
    EncodingSettings,
    ModelSettings,
    PrepareSettings,
    Settings,
    TrainingSettings,
    TreeSettings,
)
from tabpet.stats.improvement import improvement
from tabpet.stats.splits import FEWEST, SplitVerdict, judge_splits
from tabpet.training.cell import TrainingCell, run_cell
from tabpet.training.progress import Progress
from tabpet.trees.references import fit_reference

logger = logging.getLogger(__name__)
Size = Literal["small", "paper"]
PLAIN, ENCODED, RANDOM = "plain transformer", "Tab-PET", "random encodings"
SHARE_OF_SPLITS = 0.7  # of the time; what is left is for tuned trees
LEAST_TUNING = 5.0  # seconds for one search, below which there is none


@dataclass(frozen=True)
class Plan:
    """What is tried, and for how long."""

    model: str = "ft_transformer"
    graph: str = "spearman"
    size: Size = "small"
    splits: int = 10
    seconds: float = 300.0
    prepare: PrepareSettings = field(default_factory=PrepareSettings)

    @property
    def alphas(self) -> tuple[float, ...]:
        """The scales that Tab-PET chooses from."""
        return (0.2, 1, 5) if self.size == "small" else Settings.model_fields["alphas"].default

    @property
    def models(self) -> ModelSettings:
        """The sizes of the transformer; small ones learn in seconds."""
        if self.size == "paper":
            return ModelSettings()
        small = {"ft_transformer": {"n_layers": 2, "n_heads": 4, "width": 64}}
        return ModelSettings.model_validate(small)

    @property
    def training(self) -> TrainingSettings:
        """How it is trained."""
        if self.size == "paper":
            return TrainingSettings()
        return TrainingSettings(learning_rate=1e-3, max_epochs=60, min_epochs=10, patience=10)

    def batch_size(self, rows: int) -> int | None:
        """Rows per step; larger tables learn in larger steps."""
        if MODELS.find(self.model).batch_column != "batch_size":
            return None  # the model's own, by the number of features
        return 32 if self.size == "paper" or rows < 1000 else 64 if rows < 5000 else 256


@dataclass(frozen=True)
class Outcome:
    """Everything that was found, for the table, the sentence and the page."""

    card: Card
    plan: Plan
    scores: pd.DataFrame  # split, learner, test_score
    curves: pd.DataFrame  # over alpha: split, encoding, alpha, val, test, chosen
    history: pd.DataFrame  # learning curves of the first split
    graph: Graph
    encoding: Encoding
    verdict: SplitVerdict
    seconds: float
    notes: list[str]

    @property
    def splits(self) -> int:
        """Splits that were finished."""
        return self.scores["split"].nunique()

    @property
    def metric(self) -> str:
        """What is scored, in words."""
        return METRICS[self.card.task].replace("_", " ")


Step = Callable[[str, float], None]  # what is being done, and the share of the time that is gone


def run_trial(raw: pd.DataFrame, card: Card, plan: Plan, step: Step) -> Outcome:
    """Try split after split while the time lasts, then tune trees with what is left of it."""
    clock = Clock(plan.seconds)
    trees, notes = _installed_trees()
    runs: list[Run] = []
    splits: list[Split] = []
    first: tuple[Graph, Encoding, pd.DataFrame] | None = None
    longest = 0.0
    for number in range(plan.splits):
        started = clock.elapsed
        # An answer needs some splits; only beyond these is time kept for tuning.
        share = 1.0 if number < FEWEST else SHARE_OF_SPLITS
        if number and started + longest > share * plan.seconds:
            notes.append(f"the time was enough for {number} of {plan.splits} splits")
            break
        say = _teller(step, clock, f"split {number + 1} of at most {plan.splits}")
        split = prepare_split(raw, card, number, plan.prepare)
        graph, encoding, history, trained = _try_transformer(split, card, plan, clock, say)
        first = first or (graph, encoding, history)
        runs += trained
        for name in (*trees, *untuned_learners()):
            if clock.over:
                notes.append("no time was left for some references")
                break
            say(name)
            runs.append(fit_reference(split, name, number, TreeSettings()))
        splits.append(split)
        longest = max(longest, clock.elapsed - started)
    scores, _ = _scores(runs)
    if not {PLAIN, ENCODED} <= set(scores["learner"]):
        failed = [run for run in runs if run.alpha is not None and run.status != "ok"]
        reasons = "; ".join(dict.fromkeys(_describe(run) for run in failed))
        hurried = {run.status for run in failed} == {"timeout"}
        advice = " Give it more time (--minutes)." if hurried else ""
        raise TabpetError(f"The transformer could not be trained on this table: {reasons}.{advice}")
    tuned, more = _tune(splits, trees, clock, step)
    runs += [_or_untuned(run, runs) for run in tuned]
    notes += more
    assert first is not None
    scores, curves = _scores(runs)
    notes += sorted({f"{run.model}: {_describe(run)}" for run in runs if run.reason})
    if any(run.status == "timeout" and run.alpha is not None for run in runs):
        notes.append("the transformer may do better with more time (--minutes)")
    sizes = splits[0].info.rows
    return Outcome(
        card=card,
        plan=plan,
        scores=scores,
        curves=curves,
        history=first[2],
        graph=first[0],
        encoding=first[1],
        verdict=judge(scores, card.task, sizes["test"] / sizes["train"]),
        seconds=clock.elapsed,
        notes=[*dict.fromkeys([*splits[0].info.warnings, *notes])],
    )


def judge(scores: pd.DataFrame, task: str, test_ratio: float) -> SplitVerdict:
    """The verdict over splits, from percent by which Tab-PET is better."""
    table = scores.pivot_table(index="split", columns="learner", values="test_score")
    gain = improvement(task, table[PLAIN], table[ENCODED])
    beyond = improvement(task, table[RANDOM], table[ENCODED]) if RANDOM in table else None
    return judge_splits(gain, beyond, test_ratio)


def _describe(run: Run) -> str:
    """What is special about a run, the same for all splits that ended so."""
    return "cut short by its time limit" if run.status == "timeout" else run.reason or run.status


def _teller(step: Step, clock: Clock, where: str) -> Callable[[str], None]:
    def say(what: str) -> None:
        assert clock.limit is not None
        step(f"{where}: {what}", clock.elapsed / clock.limit)

    return say


def _installed_trees() -> tuple[list[str], list[str]]:
    """The tree learners that can be imported, and a note on those that can't."""
    there = [name for name in tuned_learners() if importlib.util.find_spec(name)]
    missing = [name for name in tuned_learners() if name not in there]
    if not missing:
        return there, []
    names = " and ".join(missing)
    return there, [f"without {names}: pip install 'tabpet[workflow]' adds trees"]


def _try_transformer(
    split: Split, card: Card, plan: Plan, clock: Clock, say: Callable[[str], None]
) -> tuple[Graph, Encoding, pd.DataFrame, list[Run]]:
    """All alphas of the graph's encoding, 0 (without) among them, and of random encodings."""
    say(f"{plan.graph} graph")
    graph = estimate_graph(build_node_matrix(split), plan.graph, seconds=0.1 * plan.seconds)
    encoding = encode(graph, **EncodingSettings().model_dump())
    runs: list[Run] = []
    history = pd.DataFrame()
    # So that the time is enough for some splits, also of a table that is large for it.
    limit = max(1.0, SHARE_OF_SPLITS * plan.seconds / (2 * FEWEST))
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "encoding.parquet", Path(folder) / "encoding.json"
        write_parquet(encoding.to_frame(), files[0])
        write_json(encoding.to_metadata(), files[1])
        for name in map(str, (EncodingName(plan.graph), EncodingName(plan.graph, "random"))):
            cell = TrainingCell(
                dataset=card.dataset,
                split=split.info.split,
                model=plan.model,
                encoding=name,
                seed=split.info.split,
                alphas=plan.alphas,
                batch_size=plan.batch_size(split.info.rows["train"]),
                model_settings=plan.models.of(plan.model),
                training=plan.training.model_copy(update={"max_seconds": limit}),
            )
            result = run_cell(cell, split, files, progress=_epochs(say, name))
            runs += result.runs
            history = result.curves if history.empty else history
    return graph, encoding, history, runs


def _epochs(say: Callable[[str], None], name: str) -> Progress:
    return lambda now: say(f"{name}, epoch {now.epoch}, best {now.best_text}")


def _tune(
    splits: Sequence[Split], trees: Sequence[str], clock: Clock, step: Step
) -> tuple[list[Run], list[str]]:
    """A search per split and learner with an equal share of the time that is left."""
    jobs = [(split, name) for name in trees for split in splits]
    if not jobs or importlib.util.find_spec("optuna") is None:
        return [], []
    seconds = clock.left / len(jobs)
    if seconds < LEAST_TUNING:
        return [], ["no time was left to tune trees"]
    from tabpet.trees.tuning import tune_trees

    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for place, (split, name) in enumerate(jobs):
            _teller(step, clock, f"search {place + 1} of {len(jobs)}")(name)
            # What one search leaves of its time, the others have.
            settings = TreeSettings(max_seconds=max(1.0, clock.left / (len(jobs) - place)))
            journal = Path(folder) / f"{name}{split.info.split}.log"
            run, _ = tune_trees(split, name, split.info.split, settings, journal)
            runs.append(run)
    return runs, [f"trees were tuned for about {seconds:.0f} s per split"]


def _or_untuned(tuned: Run, runs: Sequence[Run]) -> Run:
    """A short search may find nothing better on validation rows than the library's parameters."""
    same = (tuned.model, tuned.split, DEFAULT)
    [untuned] = [run for run in runs if (run.model, run.split, run.encoding) == same]
    if untuned.val_score is None:
        return tuned
    sign = 1 if tuned.task == "classification" else -1
    if tuned.val_score is not None and sign * (tuned.val_score - untuned.val_score) >= 0:
        return tuned
    return replace(tuned, val_score=untuned.val_score, test_score=untuned.test_score)


def _scores(runs: Sequence[Run]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Test scores by split and learner, and the curves over alpha."""
    frame = runs_frame(runs)
    curves = curves_over_alpha(frame)
    choices = choose_alphas(curves)
    controls = [EncodingName.parse(name).control for name in choices["encoding"]]
    random = np.array([control == "random" for control in controls], dtype=bool)
    others = frame[frame["alpha"].isna() & frame["test_score"].notna()]
    names = [
        Method.of_learner(model, encoding).label
        for model, encoding in zip(others["model"], others["encoding"], strict=True)
    ]
    parts = [
        choices[~random].assign(learner=PLAIN, test_score=choices["base_test"]),
        choices.assign(learner=np.where(random, RANDOM, ENCODED), test_score=choices["test"]),
        others.assign(learner=names),
    ]
    scores = [part[["split", "learner", "test_score"]] for part in parts]
    return pd.concat(scores, ignore_index=True), curves
