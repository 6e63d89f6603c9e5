"""The cells of a run."""

from tabpet.models.saint import SaintSettings
from tabpet.plan import Cell, describe_differences, planned_cells
from tabpet.settings import Settings, TrainingSettings
from tabpet.training.cell import TrainingCell

CONFIG = {"datasets": ["a"], "graphs": ["spearman"], "models": ["saint"], "learners": []}


def pairs(**settings) -> list[tuple[int, int]]:
    cells = planned_cells(Settings.model_validate({**CONFIG, "references": [], **settings}), ["a"])
    return [(cell.split, cell.seed) for cell in cells]


def test_seeds_run_on_all_splits_or_on_their_own():
    both = {"splits": [7, 8], "seeds": [1, 2]}
    assert pairs(**both) == [(7, 1), (7, 2), (8, 1), (8, 2)]
    assert pairs(**both, seeds_of_splits="paired") == [(7, 1), (8, 2)]


def test_files_of_a_cell():
    cell = Cell("wine", 7, "saint", "spearman-random", 3)
    assert cell.graph == "spearman"
    assert str(cell.run) == "results/runs/wine/split7/saint/spearman-random/seed3.parquet"
    assert Cell.parse(cell.run) == cell
    assert {str(path) for path in cell.inputs.values()} == {
        "results/data/wine/split7.parquet",
        "results/data/wine/split7.json",
        "results/encodings/wine/split7/spearman.parquet",
        "results/encodings/wine/split7/spearman.json",
    }
    assert [stage.rule for stage in cell.stages] == [
        *("fetch_dataset", "prepare_split", "estimate_instant_graphs", "train_transformer"),
    ]
    for alone in ("notears", "true"):
        stages = Cell("wine", 7, "saint", alone, 3).stages[2:4]
        assert [stage.rule for stage in stages] == ["estimate_graph", "encode_positions"]
    tree = Cell("wine", 7, "xgboost", "tuned", 3)
    assert tree.graph is None and set(tree.inputs) == {"split", "split info"}
    assert str(tree.journal) == "results/journals/wine/split7/xgboost/seed3.log"


def test_differences_are_named_by_their_path():
    old = {"training": {"max_epochs": 3, "patience": 5}, "batch_size": None}
    new = {"training": {"max_epochs": 30, "patience": 5}, "batch_size": 32}
    said = describe_differences(old, new)
    assert said == "training.max_epochs: 3, now 30; batch_size: not set, now 32"
    assert describe_differences(old, old) == ""


def test_what_names_a_cell_is_the_same_of_one_that_knows_more():
    named = {"dataset": "wine", "split": 7, "model": "saint", "encoding": "spearman", "seed": 3}
    assert Cell(**named).identity == named
    more = {"alphas": (1.0,), "batch_size": 8}
    settings = {"model_settings": SaintSettings(), "training": TrainingSettings()}
    assert TrainingCell(**named, **more, **settings).identity == named
