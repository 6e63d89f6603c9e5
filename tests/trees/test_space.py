"""Search spaces: the paper's tables, and what is drawn from them."""

import optuna
import pytest

from tabpet.entries import Range
from tabpet.registry import LEARNERS, tuned_learners
from tabpet.trees.space import suggest

SPACES = {name: LEARNERS.find(name).space for name in tuned_learners()}


def test_spaces_are_those_of_the_paper():
    assert SPACES["xgboost"]["min_child_weight"] == Range(1e-8, 1e5, log=True)
    assert SPACES["xgboost"]["learning_rate"] == Range(1e-5, 1.0, log=True)
    assert SPACES["catboost"]["l2_leaf_reg"] == Range(1.0, 10.0, log=True)
    uniform = {"subsample", "colsample_bylevel", "colsample_bytree"}
    assert {name for name, where in SPACES["xgboost"].items() if where == Range(0.5, 1)} == uniform
    with_zero = {name for name, where in SPACES["xgboost"].items() if where.or_zero}
    assert with_zero == {"gamma", "reg_lambda", "reg_alpha"}
    assert all(SPACES[learner]["max_depth"] == Range(3, 10, integer=True) for learner in SPACES)
    assert SPACES["catboost"]["leaf_estimation_iterations"] == Range(1, 10, integer=True)


@pytest.mark.parametrize("learner", SPACES)
def test_draws_are_inside_and_zero_is_one_choice_of_two(learner):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    draws = [suggest(study.ask(), SPACES[learner]) for _ in range(200)]
    for name, where in SPACES[learner].items():
        values = [draw[name] for draw in draws]
        drawn = [value for value in values if value != 0]
        assert where.low <= min(drawn) and max(drawn) <= where.high
        assert all(isinstance(value, int) for value in values) == where.integer
        if where.or_zero:
            assert 70 < len(values) - len(drawn) < 130
        if where.log:  # half of the draws are below the geometric middle
            middle = (where.low * where.high) ** 0.5
            assert 0.35 < sum(value < middle for value in drawn) / len(drawn) < 0.65
