"""Training learns what there is to learn, on tables that ship with the project."""

from tabpet.data.bundled import load_bundled
from tabpet.data.synthetic import generate_groups
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.settings import TrainingSettings
from tabpet.training.cell import run_cell
from tests.training.tiny import CPU, make_cell, split_of, write_encoding

SMALL = FTTransformerSettings(n_layers=2, n_heads=4, width=64)


def train(split, folder, epochs, **changes):
    cell = make_cell(
        alphas=(1.0,),
        batch_size=32,
        model_settings=SMALL,
        training=TrainingSettings(learning_rate=1e-3, max_epochs=epochs),
        **changes,
    )
    return run_cell(cell, split, write_encoding(split, folder), device=CPU).runs


def test_ft_transformer_learns_tic_tac_toe(tmp_path):
    split = split_of(load_bundled("demo-tic-tac-toe"), "Class", "classification")
    runs = train(split, tmp_path, 30)
    assert min(run.test_score for run in runs) > 0.95


def test_encodings_of_a_structured_table_do_not_hurt(tmp_path):
    frame, _ = generate_groups(d=8, k=2, n=400, seed=1)
    split = split_of(frame, "y", "regression")
    baseline, encoded = train(split, tmp_path, 15)
    assert baseline.test_score < 0.5 * split.info.target.scale
    assert encoded.test_score < 1.2 * baseline.test_score
