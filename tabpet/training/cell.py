"""One cell of the experiment: a dataset, split, model, encoding and seed, with all its alphas.

Whatever happens, a cell has a row per alpha: that is how a failure reaches the tables.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from tabpet.clock import Clock
from tabpet.data.prepare import Split
from tabpet.encodings import Encoding, load_encoding
from tabpet.errors import TabpetError
from tabpet.interrupt import Interrupt
from tabpet.models.build import build_model, unusable_reason
from tabpet.models.layout import Layout
from tabpet.names import EncodingName
from tabpet.plan import Cell, member_alphas
from tabpet.registry import MODELS
from tabpet.runs import Run, Status, is_out_of_memory, is_transient, score, used_versions
from tabpet.seeds import Stream, derive_seed
from tabpet.settings import TrainingSettings
from tabpet.theory import exp_entropy
from tabpet.training.checkpoint import Checkpoint, fingerprint
from tabpet.training.device import choose_device, device_name, numerics
from tabpet.training.files import RANKS, CellResult, Journal
from tabpet.training.memory import bounded_memory
from tabpet.training.progress import LogProgress, Progress
from tabpet.training.table import Table, build_table
from tabpet.training.trainer import Fitted, Job, Member, fit_members

logger = logging.getLogger(__name__)
# Settings that change what is kept of a run, but not the run.
_NO_EFFECT = {*TrainingSettings.ASIDE, "keep_predictions"}


@dataclass(frozen=True, kw_only=True)
class TrainingCell(Cell):
    """A cell of a transformer, with the settings that it is trained with."""

    alphas: tuple[float, ...]
    batch_size: int | None  # None: the model's own, by the number of features
    model_settings: Any
    training: TrainingSettings
    ranks: bool = False  # whether effective ranks of the kept models are measured


def run_cell(
    cell: TrainingCell,
    split: Split,
    encoding_files: tuple[Path, Path],
    *,
    device: torch.device | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    journal: Journal | None = None,
    provenance: dict[str, Any] | None = None,
    memory_mb: int | None = None,
    retries_left: int = 0,
    interrupt: Interrupt | None = None,
) -> CellResult:
    """Train a cell; every alpha has its row, also when the cell could not even begin.

    Alphas that the journal has with the same provenance are not trained again. While there are
    retries left, what another try may mend is raised and not made a row. A job that is asked to
    end saves its checkpoint and raises `Interrupted`.
    """
    clock = Clock(cell.training.max_seconds)
    device = device or choose_device(cell.training.device)
    journal = journal or Journal()
    alphas = member_alphas(cell.encoding, cell.alphas)
    row = Run(
        **cell.identity,
        task=split.info.task,
        status="error",
        reason="not trained",
        device=device_name(device, cell.training.device),
        versions=used_versions("torch", "numpy", *MODELS.find(cell.model).needs),
        provenance=provenance,
    )
    watch = _Watch(
        clock,
        progress or LogProgress(),
        checkpoint or Checkpoint(),
        interrupt or Interrupt(),
        memory_mb,
    )
    done = _nothing(cell)
    try:
        encoding = load_encoding(EncodingName.parse(cell.encoding), cell.seed, *encoding_files)
        row = replace(row, d_pe=encoding.d_pe, graph_state=encoding.graph_state)
        # The journal may have further alphas, of earlier grids.
        done = done.joined_with(journal.load(provenance))
        missing = _missing(alphas, done)
        if len(missing) < len(alphas):
            logger.info(
                "%d of %d alphas were trained before with these settings and inputs",
                *(len(alphas) - len(missing), len(alphas)),
            )
        if missing:
            done = done.joined_with(_train(cell, missing, split, encoding, row, device, watch))
            journal.save(done)
    except Exception as error:  # a cell that failed is a row that says so, like any other result
        if retries_left and is_transient(error):
            raise
        logger.exception("training failed")
        failed = replace(row, **describe_failure(error), seconds=clock.elapsed)  # type: ignore[arg-type]
        untrained = _untrained(_missing(alphas, done), failed)
        return done.of_alphas(alphas).joined_with(untrained)
    done = done.of_alphas(alphas)
    short = [run for run in done.runs if run.status == "oom"]
    if short and retries_left:
        # What did fit is in the journal, so the next try trains the rest alone.
        raise TabpetError(
            f"{len(short)} of {len(alphas)} alphas ran out of memory: {short[0].reason}. "
            "The job is tried again with more memory."
        )
    return done


def lost_cell(
    cell: TrainingCell,
    task: str,
    journal: Journal,
    provenance: dict[str, Any],
    status: Status,
    reason: str,
) -> CellResult:
    """The rows of a cell whose process is gone, or was never begun: what its journal has, and why
    the rest is not there."""
    alphas = member_alphas(cell.encoding, cell.alphas)
    done = _nothing(cell).joined_with(journal.load(provenance)).of_alphas(alphas)
    row = Run(**cell.identity, task=task, status=status, reason=reason, provenance=provenance)
    return done.joined_with(_untrained(_missing(alphas, done), row))


def describe_failure(error: Exception) -> dict[str, str]:
    """Status and reason of the rows of a cell that failed."""
    if isinstance(error, TabpetError):
        return {"status": "error", "reason": str(error)}
    status = "oom" if is_out_of_memory(error) else "error"
    return {"status": status, "reason": f"{type(error).__name__}: {error}"}


def _nothing(cell: TrainingCell) -> CellResult:
    """What a cell has before anything is trained."""
    return CellResult([], ranks=pd.DataFrame() if cell.ranks else None)


def _missing(alphas: Sequence[float], done: CellResult) -> tuple[float, ...]:
    """The alphas that are still to be trained."""
    have = [run.alpha for run in done.runs]
    return tuple(alpha for alpha in alphas if alpha not in have)


@dataclass(frozen=True)
class _Watch:
    """What goes along with training and does not change it."""

    clock: Clock
    progress: Progress
    checkpoint: Checkpoint
    interrupt: Interrupt
    memory_mb: int | None


def _train(
    cell: TrainingCell,
    alphas: tuple[float, ...],
    split: Split,
    encoding: Encoding,
    row: Run,
    device: torch.device,
    watch: _Watch,
) -> CellResult:
    """Train some alphas, unless there is no graph or no such model for this table."""
    training = cell.training
    layout = Layout.of(split.info)
    reason = unusable_reason(
        cell.model, layout, cell.model_settings, encoding, integration=training.integration
    )
    if encoding.graph_state == "failed":
        reason = encoding.graph_reason
    if reason is not None:
        logger.warning("skipped: %s", reason)
        seconds = watch.clock.elapsed
        return _untrained(alphas, replace(row, status="skipped", reason=reason, seconds=seconds))
    table = build_table(split, layout, training, device)
    logger.info("%d alphas on %s, d_pe %d", len(alphas), row.device, encoding.d_pe)
    names: tuple[Stream, ...] = ("weights", "order", "dropout", "context")
    streams = {name: derive_seed(cell.seed, name) for name in names}
    logger.info(
        "seed %d gives the streams %s (order, dropout: anew each epoch)", cell.seed, streams
    )
    # Which GPU the job was given, and could not use, is no matter of the result.
    used = row if device.type != "cpu" else replace(row, device="cpu")
    job = Job(
        build=partial(
            build_model,
            cell.model,
            layout,
            cell.model_settings,
            encoding,
            seed=derive_seed(cell.seed, "weights"),
            integration=training.integration,
            learn_alpha=training.learn_alpha,
        ),
        table=table,
        settings=training,
        batch_size=cell.batch_size or MODELS.find(cell.model).batch_size(len(layout.features)),
        seed=cell.seed,
        device=device,
        clock=watch.clock,
        progress=watch.progress,
        measure_ranks=cell.ranks,
        interrupt=watch.interrupt,
        checkpoint=replace(watch.checkpoint, fingerprint=_fingerprint(cell, table, encoding, used)),
    )
    # On a GPU it is the device's memory that counts, and torch knows how much that is.
    megabytes = watch.memory_mb if device.type == "cpu" else None
    with numerics(training, device), bounded_memory(megabytes):
        fitted = fit_members(job, alphas)
    row = replace(row, seconds=watch.clock.elapsed)
    runs = [_member_run(row, member, table, encoding) for member in fitted.members]
    for run in runs:
        logger.info("alpha %g: %s", run.alpha, describe_run(run))
    predictions = _predictions(fitted, table) if training.keep_predictions else pd.DataFrame()
    ranks = _ranks(fitted, table) if cell.ranks else None
    return CellResult(runs, fitted.curves, predictions, ranks)


def _member_run(row: Run, member: Member, table: Table, encoding: Encoding) -> Run:
    """The row of one trained alpha."""
    scores: dict[str, float] = {}
    if member.predicted is not None:
        for part, predicted in member.predicted.items():
            scores[f"{part}_score"] = score(table.task, table.parts[part].truth, predicted)
    return replace(
        row,
        alpha=member.alpha,
        status=member.status,
        reason="; ".join(filter(None, [member.reason, encoding.graph_reason])) or None,
        best_epoch=member.best_epoch,
        epochs=member.epochs,
        n_parameters=member.n_parameters,
        **scores,  # type: ignore[arg-type]
    )


def _untrained(alphas: Sequence[float], row: Run) -> CellResult:
    """The same row for every alpha that was not trained."""
    return CellResult([replace(row, alpha=alpha) for alpha in alphas])


def describe_run(run: Run) -> str:
    """How one alpha ended, in a few words."""
    words: list[str] = [run.status]
    if run.val_score is not None:
        words.append(f"validation {run.val_score:.4f}, test {run.test_score:.4f}")
        words.append(f"best epoch {run.best_epoch} of {run.epochs}")
    return ", ".join([*words, *filter(None, [run.reason])])


def _fingerprint(cell: TrainingCell, table: Table, encoding: Encoding, row: Run) -> str:
    """The key of all that the result of training depends on."""
    facts: dict[str, Any] = {
        "cell": [cell.dataset, cell.split, cell.model, cell.encoding, cell.seed, cell.batch_size],
        "model": cell.model_settings.model_dump(mode="json"),
        "training": cell.training.model_dump(mode="json", exclude=_NO_EFFECT),
        "features": encoding.features,
        "device": row.device,
        "versions": row.versions,
    }
    return fingerprint(table, encoding.values, facts)


def _predictions(fitted: Fitted, table: Table) -> pd.DataFrame:
    """Validation and test rows of every alpha: what was predicted, with the classes' shares."""
    frames = []
    for member in fitted.members:
        for part, predicted in (member.predicted or {}).items():
            assert member.outputs is not None
            rows = table.parts[part]
            frame = pd.DataFrame({"alpha": member.alpha, "part": part, "row": rows.rows})
            frame["truth"], frame["predicted"] = rows.truth, predicted
            if table.task == "classification":
                shares = torch.from_numpy(member.outputs[part]).softmax(dim=-1).numpy()
                frame[[f"p_{index}" for index in range(shares.shape[1])]] = shares
            frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _ranks(fitted: Fitted, table: Table) -> pd.DataFrame:
    """Both effective ranks of every alpha, on training and test rows."""
    rows = [
        (member.alpha, part, len(table.parts[part]), exp_entropy(values), exp_entropy(values**2))
        for member in fitted.members
        for part, values in (member.singular_values or {}).items()
    ]
    return pd.DataFrame(rows, columns=list(RANKS))
