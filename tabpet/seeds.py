"""Independent streams of random numbers from the one seed of a run."""

from typing import Literal, get_args

import numpy as np

Stream = Literal["weights", "order", "dropout", "control", "context"]
STREAMS: tuple[Stream, ...] = get_args(Stream)


def derive_seed(seed: int, stream: Stream, epoch: int = 0) -> int:
    """The seed of one stream in one epoch.

    A seed per epoch leaves no generator to carry on, so a resumed run draws what an uninterrupted
    one draws.
    """
    sequence = np.random.SeedSequence([seed, STREAMS.index(stream), epoch])
    return int(sequence.generate_state(1)[0])
