"""The context of scored rows: training rows, as many as in a batch, fixed by the seed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabpet.seeds import STREAMS, derive_seed
from tabpet.training.context import draw_context
from tests.training.tiny import make_job, make_split, make_table


def train_part(n):
    """The first n training rows of a small table."""
    part = make_table(make_split(n=90)).parts["train"]
    rows = {name: getattr(part, name)[:n] for name in ("numeric", "categorical", "target")}
    return replace(part, truth=part.truth[:n], rows=part.rows[:n], **rows)


def places(context, part):
    """Where the rows of a context stand in a part; its numbers are all different."""
    found = (context.numeric[:, None] == part.numeric[None]).all(dim=2)
    assert (found.sum(dim=1) == 1).all()
    return found.int().argmax(dim=1)


@pytest.mark.parametrize(
    ("n", "batch_size", "size"),
    [(54, 16, 15), (54, 54, 53), (54, 256, 53), (54, 1, 1), (2, 16, 1), (1, 16, 1), (1, 1, 1)],
)
def test_with_the_scored_row_as_many_as_in_a_batch(n, batch_size, size):
    part = train_part(n)
    context = draw_context(part, batch_size, seed=1)
    rows = places(context, part)
    assert len(context) == len(set(rows.tolist())) == size
    assert torch.equal(context.categorical, part.categorical[rows])


def test_the_seed_decides_and_rows_are_mixed():
    part = train_part(54)
    first, again, other = (places(draw_context(part, 16, seed), part) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert set(first.tolist()) != set(other.tolist())
    # All rows are drawn alike: 15 of 54 each, give or take five standard deviations.
    counts = np.zeros(54)
    for seed in range(1000):
        counts[places(draw_context(part, 16, seed), part)] += 1
    share = 15 / 54
    np.testing.assert_allclose(counts / 1000, share, atol=5 * (share * (1 - share) / 1000) ** 0.5)


def test_validation_and_test_rows_have_no_part_in_it():
    split = make_split()
    frame = split.frame.copy()
    scored = frame["part"] != "train"
    frame.loc[scored, ["a", "b"]] = 7.0
    frame = frame[~scored | (frame["row"] % 2 == 0)]
    ours, theirs = (make_job(one).context for one in (split, replace(split, frame=frame)))
    assert torch.equal(ours.numeric, theirs.numeric)
    assert torch.equal(ours.categorical, theirs.categorical)


def test_older_streams_keep_their_numbers():
    assert STREAMS == ("weights", "order", "dropout", "control", "context")
    # numpy's own generator of seeds: entropy is the seed, the stream's place, the epoch.
    for place, stream in enumerate(STREAMS):
        expected = np.random.SeedSequence([3, place, 4]).generate_state(1)[0]
        assert derive_seed(3, stream, 4) == expected
