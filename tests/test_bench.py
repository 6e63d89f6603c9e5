"""Benchmarks time what they say they time."""

import pytest
from torch.optim.optimizer import register_optimizer_step_post_hook

from bench.training import Shape, Side, make_turn


@pytest.mark.parametrize("side", ["tabpet", "plain"])
def test_every_turn_trains_all_its_batches(side: Side):
    shape = Shape("tiny", rows=64, numeric=2, alphas=1, steps=2)
    steps: list[None] = []
    hook = register_optimizer_step_post_hook(lambda *_: steps.append(None))
    try:
        turn = make_turn(side, shape)
        for turns in (1, 2, 3):
            assert turn() > 0
            assert len(steps) == turns * shape.steps
    finally:
        hook.remove()
