"""Time FT-Transformer training of all alphas together against a plain loop over alphas.

    python bench/training.py                 vehicle-, phoneme- and madeline-like tables
    python bench/training.py --quick         fewer steps, in about a minute
    python bench/training.py --memory CASE   peak memory of a few steps: diamonds, madeline, saint

The reference (bench/plain_training.py) has one model per alpha, three q/k/v layers, a DataLoader
and torch's defaults. Both sides have the same model, data and thread. They run in processes of
their own, in turns, so that other work on the machine meets both; the best turn counts. Seconds
are those of the processor, which are the wall clock's when nothing else runs.
"""

import argparse
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.plain_training import PlainLoop, PlainTransformer
from tabpet.encodings import Encoding
from tabpet.models.build import build_model
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.layers import MemberLinear
from tabpet.models.layout import Layout
from tabpet.models.saint import SaintSettings
from tabpet.models.weights import Members
from tabpet.settings import TrainingSettings
from tabpet.training.device import numerics
from tabpet.training.memory import bounded_memory, keep_freed_memory
from tabpet.training.table import Part, Table
from tabpet.training.trainer import Job, Trainer, fit_members

BATCH = 32
D_PE = 8
ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)
CPU = torch.device("cpu")
Side = Literal["tabpet", "plain", "plain, freed memory kept"]


@dataclass(frozen=True)
class Shape:
    """Training rows and features of a table, and how much of an epoch is timed."""

    name: str
    rows: int
    numeric: int
    categorical: int = 0
    classes: int = 2  # 1 for regression
    alphas: int = len(ALPHAS)
    steps: int = 16  # timed in a turn
    batch: int = BATCH

    @property
    def layout(self) -> Layout:
        """Features x0 ..., c0 ..., the latter with 8 codes."""
        return Layout(
            numeric=tuple(f"x{i}" for i in range(self.numeric)),
            categorical=tuple(f"c{i}" for i in range(self.categorical)),
            cardinalities=(8,) * self.categorical,
            n_outputs=self.classes,
        )

    @property
    def encoding(self) -> Encoding:
        """Normal numbers for every feature."""
        names = self.layout.features
        values = np.random.default_rng(0).standard_normal((len(names), D_PE))
        zeros = np.zeros(len(names))
        return Encoding(names, values, D_PE // 2, zeros, zeros, tuple(range(D_PE)))

    def part(self, rows: int, seed: int) -> Part:
        """Rows with a target that depends on two features."""
        generator = torch.Generator().manual_seed(seed)
        numeric = torch.randn(rows, self.numeric, generator=generator)
        codes = torch.randint(8, (rows, self.categorical), generator=generator)
        target = numeric[:, 0] + numeric[:, 1]
        if self.classes > 1:
            target = ((target.sigmoid() * self.classes).long()).clamp(max=self.classes - 1)
        return Part(numeric, codes, target, target.numpy(), np.arange(rows))

    def table(self, rows: int) -> Table:
        """Training rows, and some to evaluate."""
        parts = {"train": self.part(rows, 0), "val": self.part(256, 1), "test": self.part(256, 2)}
        if self.classes == 1:
            return Table("regression", parts, None, 0.0, 1.0)
        return Table("classification", parts, torch.ones(self.classes), 0.0, 1.0)


SHAPES = (
    Shape("vehicle-like", 507, 18, classes=4, steps=16),
    Shape("phoneme-like", 3242, 5, steps=32),
    Shape("madeline-like", 1884, 259, alphas=3, steps=2),
)
MEMORY = {
    "diamonds": Shape("diamonds-like", 32364, 6, 3, classes=1, batch=256),
    "madeline": Shape("madeline-like", 1884, 259),
    "saint": Shape("SAINT, madeline-like", 1884, 259, alphas=1, batch=64),
}


def job_of(shape: Shape, rows: int, model: str = "ft_transformer") -> Job:
    """A job as the workflow trains it."""
    settings = SaintSettings() if model == "saint" else FTTransformerSettings()
    build: Any = partial(build_model, model, shape.layout, settings, shape.encoding, seed=1)
    return Job(
        build=build,
        table=shape.table(rows),
        settings=TrainingSettings(max_epochs=1),
        batch_size=shape.batch,
        seed=1,
        device=CPU,
        progress=lambda _: None,
    )


def make_turn(side: Side, shape: Shape) -> Callable[[], float]:
    """A function that trains `steps` batches and gives the seconds per step and member."""
    rows = shape.steps * BATCH
    if side != "plain":
        keep_freed_memory()
    alphas, work = ALPHAS[: shape.alphas], shape.steps * shape.alphas
    if side == "tabpet":
        trainer = Trainer(job_of(shape, rows), alphas)
        return lambda: timed(lambda: train_epoch(trainer)) / work
    part = shape.part(rows, 0)
    encoding = torch.tensor(shape.encoding.values, dtype=torch.float32)
    loops = [
        PlainLoop(part.numeric, part.target, encoding, alpha, shape.classes) for alpha in alphas
    ]
    return lambda: timed(lambda: [loop.train_epoch() for loop in loops]) / work


def train_epoch(trainer: Trainer) -> None:
    """An epoch from its first batch, as `Trainer.run` begins one."""
    trainer.step = 0
    trainer._train_epoch()


def timed(function: Callable[[], Any]) -> float:
    """Processor seconds of a call in one thread."""
    started = time.process_time()
    function()
    return time.process_time() - started


def multiply_rate() -> float:
    """Matrix products in operations per second, the best of torch's and tabpet's in some sizes."""
    best = 0.0
    for size in (512, 1024):
        a, layer = torch.randn(1, size, size), MemberLinear(Members(1, 1), size, size, bias="none")
        products: tuple[Callable[[], Tensor], ...] = (partial(torch.bmm, a, a), partial(layer, a))
        seconds = min(timed(product) for product in products for _ in range(10))
        best = max(best, 2 * size**3 / seconds)
    return best


def serve(side: Side, shape: Shape, pipe: Connection) -> None:
    """A process of its own: one turn for every request, with the rate of products beside it."""
    torch.set_num_threads(1)
    with numerics(TrainingSettings(), CPU):
        turn = make_turn(side, shape)
        while pipe.recv():
            pipe.send((turn(), multiply_rate()))


def compare(shape: Shape, turns: int) -> None:
    """Print seconds per epoch and member of both sides."""
    sides: tuple[Side, ...] = ("tabpet", "plain", "plain, freed memory kept")
    context = multiprocessing.get_context("spawn")
    pipes, workers = {}, []
    for side in sides:
        pipes[side], theirs = context.Pipe()
        workers.append(context.Process(target=serve, args=(side, shape, theirs), daemon=True))
        workers[-1].start()
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    rate = 0.0
    for turn in range(turns + 1):
        for side in sides:
            pipes[side].send(True)
            taken, measured = pipes[side].recv()
            rate = max(rate, measured)
            if turn:  # the first one warms up
                seconds[side].append(taken)
    for pipe, worker in zip(pipes.values(), workers, strict=True):
        pipe.send(False)
        worker.join()
    best = {side: min(values) for side, values in seconds.items()}
    steps = -(-shape.rows // BATCH)
    ours, plain, kept = (best[side] * steps for side in sides)
    model, executed = (count / best["tabpet"] / rate for count in count_operations(shape))
    print(
        f"{shape.name:15s}{shape.rows:6d} x {shape.numeric:<4d}{plain:9.3f} s{kept:9.3f} s"
        f"{ours:9.3f} s{plain / ours:8.2f} x{kept / ours:8.2f} x"
        f"{rate / 1e9:8.0f} G/s{model:8.0%}{executed:8.0%}   outputs to {largest_gap(shape):.0e}",
        flush=True,
    )


def count_operations(shape: Shape) -> tuple[float, float]:
    """Operations in matrix products of a step and member: of the model, and those that tabpet does.

    A forward pass needs two per weight and row, the backward pass twice as many. tabpet leaves out
    the first block's q/k/v of every row, and the last block's keys and values.
    """
    settings = FTTransformerSettings()
    tokens, width, layers = 1 + shape.numeric, settings.width, settings.n_layers
    ffn = 3 * width * int(width * settings.ffn_factor)
    block = tokens * (4 * width**2 + ffn + 2 * tokens * width)
    cls = 2 * width**2 + ffn
    last = cls + 2 * tokens * width**2 + 2 * tokens * width
    lean_first = block - 3 * tokens * width**2 * (1 - 2 / BATCH)
    lean_last = cls + 2 * width**2 + 2 * settings.n_heads * tokens * width
    scale = 6 * BATCH
    return (
        scale * ((layers - 1) * block + last),
        scale * (lean_first + (layers - 2) * block + lean_last),
    )


@torch.no_grad()
def largest_gap(shape: Shape) -> float:
    """Largest difference of the outputs of both sides when they have the same weights."""
    model: Any = build_model(
        "ft_transformer", shape.layout, FTTransformerSettings(), shape.encoding, (0.5,), seed=1
    ).eval()
    encoding = torch.tensor(shape.encoding.values, dtype=torch.float32)
    plain = PlainTransformer(encoding, 0.5, shape.classes).eval()
    copy_weights(model, plain)
    part = shape.part(BATCH, 3)
    expected = plain(part.numeric)
    return float((model(part.numeric, part.categorical)[0] - expected).abs().max())


def copy_weights(model: Any, plain: PlainTransformer) -> None:
    """Give the plain model the weights of the first member."""

    def copy(theirs: Any, ours: Any) -> None:
        weight = ours.weight[0]
        theirs.weight.data = weight.T.clone() if weight.ndim == 2 else weight.clone()
        theirs.bias.data = ours.bias[0].clone()

    tokens = model.tokenizer
    plain.cls.data, plain.weight.data = tokens.cls[0].clone(), tokens.weight[0].clone()
    plain.bias.data = tokens.bias[0].clone()
    for block, ours in zip(plain.blocks, model.blocks, strict=True):
        attention: Any = block.attention
        weights = ours.attention.qkv.weight[0].chunk(3, dim=-1)
        biases: tuple[Tensor, ...] = ours.attention.qkv.bias[0].chunk(3)
        for layer, weight, bias in zip(
            (attention.q, attention.k, attention.v), weights, biases, strict=True
        ):
            layer.weight.data, layer.bias.data = weight.T.clone(), bias.clone()
        copy(attention.out, ours.attention.out)
        if block is not plain.blocks[0]:
            copy(block.attention_norm, ours.attention_norm)
        copy(block.ffn_norm, ours.ffn_norm)
        copy(block.first, ours.ffn.first)
        copy(block.second, ours.ffn.second)
    copy(plain.norm, model.norm)
    copy(plain.head, model.head)


def show_memory(case: str) -> None:
    """Print the peak memory of a job with four batches, from the build to the predictions."""
    torch.set_num_threads(1)
    keep_freed_memory()
    shape = MEMORY[case]
    before = peak_memory()
    started = time.perf_counter()
    job = job_of(shape, 4 * shape.batch, "saint" if case == "saint" else "ft_transformer")
    with numerics(TrainingSettings(), CPU), bounded_memory(None):
        fitted = fit_members(job, ALPHAS[1 : 1 + shape.alphas])
    member = fitted.members[0]
    print(
        f"{shape.name}: {shape.alphas} alphas of {member.n_parameters:,} parameters, batches of "
        f"{shape.batch}: {member.status}, peak {peak_memory():.1f} GiB ({before:.1f} before), "
        f"{time.perf_counter() - started:.0f} s"
    )


def peak_memory() -> float:
    """Largest resident size of the process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--turns", type=int, default=8, help="turns of each side")
    parser.add_argument("--memory", choices=MEMORY, help="only the peak memory of a case")
    options = parser.parse_args()
    if options.memory:
        show_memory(options.memory)
        return
    print(
        f"{'seconds per epoch and member':30s}{'plain':>11s}{'plain kept':>11s}{'tabpet':>11s}"
        f"{'ratio':>10s}{'kept':>10s}{'products':>12s}{'model':>8s}{'done':>8s}"
    )
    for shape in SHAPES[: 2 if options.quick else None]:
        compare(shape, turns=2 if options.quick else options.turns)
    print(
        "plain kept: with glibc keeping freed memory, as tabpet's jobs have it. model, done: share "
        "of this\nmachine's rate of matrix products, counting those of the plain model, or those "
        "that tabpet has\nto do for the same outputs."
    )


if __name__ == "__main__":
    # Before any worker starts: one thread for both sides.
    os.environ["OMP_NUM_THREADS"] = "1"
    main()
