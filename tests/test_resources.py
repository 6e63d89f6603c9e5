"""Estimates of memory: near what was measured, by the settings of the model."""

import pytest

from tabpet.catalog import CatalogRow
from tabpet.resources import training_megabytes, training_minutes, tuning_minutes
from tabpet.settings import Settings

NINE = [0.05, 0.1, 0.2, 0.5, 0.7, 1, 2, 5, 10]


def megabytes(
    model, features, categorical=0, attempt=1, alphas=NINE, batch=None, **settings
) -> int:
    row = CatalogRow(
        name="a",
        path="a.csv",
        target="y",
        task="classification",
        n_features=features,
        n_categorical=categorical,
        **({"batch_size": batch} if batch else {}),
    )
    config = {"datasets": ["a"], "alphas": alphas, "model_settings": {model: settings}}
    return training_megabytes(Settings.model_validate(config), row, model, "spearman", attempt)


# Largest resident size of a job on the CPU, in MB: ten alphas, tables of 600 rows.
MEASURED = [
    ("ft_transformer", {"features": 10}, 857),
    ("ft_transformer", {"features": 30, "categorical": 10}, 1302),
    ("ft_transformer", {"features": 30, "categorical": 10, "batch": 256}, 3188),
    ("saint", {"features": 10}, 1239),
    ("saint", {"features": 30, "categorical": 10}, 4130),
    ("tab_transformer", {"features": 20, "categorical": 10}, 1142),
    ("tab_transformer", {"features": 40, "categorical": 40, "alphas": [1, 2, 5]}, 2719),
]


@pytest.mark.parametrize(("model", "table", "peak"), MEASURED)
def test_estimates_hold_what_was_measured_and_not_much_more(model, table, peak):
    assert peak < megabytes(model, **table) < 2.5 * peak


def test_memory_follows_the_settings_of_the_model():
    assert megabytes("ft_transformer", 20, width=768) > 4 * megabytes("ft_transformer", 20)
    assert megabytes("saint", 20, width=64) > 1.5 * megabytes("saint", 20)
    assert megabytes("tab_transformer", 20, 20, width=128) > megabytes("tab_transformer", 20, 20)
    assert megabytes("ft_transformer", 20, alphas=[1]) < megabytes("ft_transformer", 20)


def test_members_that_do_not_fit_together_are_counted_by_groups():
    # A row of 100 features is 3,232 numbers wide: 12 times its square are 125 million parameters.
    one = megabytes("saint", 100, alphas=[1])
    assert one == megabytes("saint", 100) and 3000 < one < 12_000
    # A single member that is larger than a group gets what it needs.
    assert megabytes("saint", 250) > 25_000


def test_another_try_gets_twice_as_much():
    first, second = (megabytes("saint", 10, attempt=attempt) for attempt in (1, 2))
    assert second == 2 * first
    row = CatalogRow(name="a", path="a.csv", target="y", task="regression", n_rows=25_000)
    settings = Settings(datasets=["a"])
    assert [training_minutes(settings, row, 1, attempt) for attempt in (1, 2)] == [750, 1500]
    assert training_minutes(settings, row, cells=5) == 760
    limited = Settings.model_validate({"datasets": ["a"], "training": {"max_seconds": 600}})
    assert training_minutes(limited, row) == 40 and training_minutes(limited, row, cells=5) == 80
    assert [tuning_minutes(settings, cells) for cells in (1, 5)] == [735, 745]
    limited = Settings.model_validate({"datasets": ["a"], "trees": {"max_seconds": 600}})
    assert tuning_minutes(limited, 5, attempt=2) == 130
