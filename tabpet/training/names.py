"""What an encoding's name says about training. Light: the Snakefile may import it."""

from collections.abc import Sequence

from tabpet.config import CONTROL_KINDS


def split_encoding_name(name: str) -> tuple[str, str | None]:
    """The graph, and the kind of control that is built on it, if it is one."""
    graph, _, kind = name.rpartition("-")
    return (graph, kind) if kind in CONTROL_KINDS else (name, None)


def member_alphas(encoding: str, alphas: Sequence[float]) -> tuple[float, ...]:
    """The alphas to train: the grid and 0, ascending; a learnable encoding finds its own scale."""
    grid = (1.0,) if split_encoding_name(encoding)[1] == "learnable" else alphas
    return tuple(sorted({0.0, *map(float, grid)}))
