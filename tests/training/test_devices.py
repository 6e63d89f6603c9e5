"""A training step and a prediction on other devices than the CPU.

Torch's `meta` device has shapes and no numbers, and refuses to mix with another device: a tensor
that was made on the wrong one is found without a GPU.
"""

import dataclasses
from typing import Any

import pytest
import torch

from tabpet.encodings import Encoding
from tabpet.models.build import build_model
from tabpet.models.context import Context
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.settings import TrainingSettings
from tabpet.training.device import numerics
from tabpet.training.table import Part, Table
from tabpet.training.trainer import Job, Trainer
from tests.models.tables import MODELS, SMALL, encoding_of, layout_of, rows_of, small_model

META = torch.device("meta")
OPTIONS: list[dict[str, Any]] = [{}, {"integration": "project", "learn_alpha": True}]


def settings_of(name: Any) -> Any:
    """With every kind of dropout that the model has."""
    rates = {key for key in type(SMALL[name]).model_fields if key.endswith("dropout")}
    return SMALL[name].model_copy(update=dict.fromkeys(rates, 0.3))


def job_of(name: Any, layout: Layout, device: torch.device, **options: Any) -> Job:
    """Five rows of training in two batches."""
    numeric, codes = rows_of(layout, n=5)
    target = torch.tensor([0, 1, 0, 1, 1])
    train = Part(numeric.to(device), codes.to(device), target.to(device), target.numpy(), None)
    encoding: Encoding = encoding_of(layout.features, kind=options.pop("kind", "graph"))
    weights = torch.ones(2, device=device)

    def build(alphas: Any) -> MemberModel:
        return build_model(name, layout, settings_of(name), encoding, alphas, seed=1, **options)

    return Job(
        build=build,
        table=Table("classification", {"train": train}, weights, 0.0, 1.0),
        settings=TrainingSettings(),
        batch_size=3,
        seed=1,
        device=device,
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["graph", "learnable"])
@pytest.mark.parametrize("options", OPTIONS)
def test_an_epoch_stays_on_the_meta_device(name: Any, kind: str, options: dict[str, Any]):
    trainer = Trainer(job_of(name, layout_of(2, 3), META, kind=kind, **options), (0.0, 0.5))
    # Fused AdamW has no meta kernel.
    trainer.optimizer = torch.optim.AdamW(trainer.model.parameters())
    losses = trainer._train_epoch()
    assert losses is not None and losses.device == META and losses.shape == (2,)
    for key, parameter in trainer.model.named_parameters():
        assert parameter.device == META, key
        assert parameter.grad is not None and parameter.grad.device == META, key
        assert trainer.optimizer.state[parameter]["exp_avg"].device == META, key


@pytest.mark.parametrize("name", MODELS)
def test_scored_rows_stay_on_the_meta_device(name: Any):
    layout = layout_of(2, 3)
    model = small_model(name, layout, encoding_of(layout.features)).to(META)
    context = Context(*(one.to(META) for one in rows_of(layout, n=4)))
    outputs = model.given(context)(*(one.to(META) for one in rows_of(layout)))
    assert outputs.device == META and outputs.shape == (3, 6, 2)
    model.keep(torch.tensor([0, 2], device=META))
    assert model(*(one.to(META) for one in rows_of(layout))).shape == (2, 6, 2)


def test_a_tensor_on_another_device_is_found():
    layout = layout_of(2, 3)
    model = small_model("ft_transformer", layout, encoding_of(layout.features)).to(META)
    model.positions.table = model.positions.table.new_zeros(5, 4, device="cpu")
    with pytest.raises(RuntimeError, match="device"):
        model(*(one.to(META) for one in rows_of(layout)))


@pytest.mark.gpu
@pytest.mark.parametrize("name", MODELS)
def test_outputs_on_a_gpu_are_those_on_the_cpu(name: Any):
    layout = layout_of(2, 3)
    model = small_model(name, layout, encoding_of(layout.features))
    rows, context = rows_of(layout), Context(*rows_of(layout, n=4, seed=9))
    with numerics(TrainingSettings(tf32=False), torch.device("cuda")), torch.no_grad():
        expected = model(*rows), model.given(context)(*rows)
        model.cuda()
        there = [one.cuda() for one in rows]
        moved = Context(context.numeric.cuda(), context.categorical.cuda())
        for ours, other in zip((model(*there), model.given(moved)(*there)), expected, strict=True):
            torch.testing.assert_close(ours.cpu(), other, rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("name", MODELS)
def test_members_on_a_gpu_are_what_they_are_alone(name: Any):
    job = job_of(name, layout_of(2, 3), torch.device("cuda"))
    settings = TrainingSettings(tf32=False)
    job = dataclasses.replace(job, settings=settings)
    with numerics(settings, job.device):
        together = Trainer(job, (0.0, 0.5))
        losses = together._train_epoch()
        for member, alpha in enumerate((0.0, 0.5)):
            trainer = Trainer(job, (alpha,))
            alone = trainer._train_epoch()
            assert losses is not None and alone is not None
            torch.testing.assert_close(alone[0], losses[member], rtol=1e-4, atol=1e-4)
            for one, other in zip(
                trainer.model.parameters(), together.model.parameters(), strict=True
            ):
                torch.testing.assert_close(one[0], other[member], rtol=1e-3, atol=1e-4)
