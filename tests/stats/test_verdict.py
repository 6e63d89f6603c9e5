"""The verdict's decision: corrected levels, directions, and every answer, from plain numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tabpet.stats import Evidence, fewest_datasets, judge

SEVEN = np.arange(1.0, 8.0)  # all on one side: p = 2 / 2^7 = 0.015625
NINE = np.arange(1.0, 10.0)  # 2 / 2^9 = 0.00390625
MIXED = np.array([1.0, -1.5, 2.0, -2.5, 3.0, -3.5, 0.5])


def model(gains, name="saint", **controls) -> Evidence:
    return Evidence(name, np.asarray(gains, dtype=float), controls)


def answers(*evidence: Evidence, significance: float = 0.05) -> list[str]:
    return [decision.answer for decision in judge(evidence, significance)]


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        (model(SEVEN), "better"),
        (model(-SEVEN), "worse"),
        (model(-SEVEN, random=SEVEN), "worse"),
        (model(MIXED), "unclear"),
        (model(SEVEN[:5]), "too few"),
        (model([*SEVEN[:5], 0, 0, 0]), "too few"),  # five differ
        (model(SEVEN, random=SEVEN, shuffled=SEVEN), "better than controls"),
        (model(SEVEN, random=SEVEN, shuffled=MIXED), "no better than controls"),
        (model(SEVEN, random=SEVEN, shuffled=np.zeros(7)), "no better than controls"),
        (model(SEVEN, random=SEVEN, shuffled=-SEVEN), "behind controls"),
        (model(SEVEN, random=SEVEN, shuffled=SEVEN[:5]), "controls too few"),
        (model(SEVEN, random=[]), "controls too few"),
        (model(SEVEN, random=[], shuffled=MIXED), "no better than controls"),
    ],
)
def test_every_answer(evidence, answer):
    assert answers(evidence) == [answer]


def test_a_lead_over_controls_in_one_of_three_models_is_corrected_for_three():
    # 0.03125 against the control: enough for one model, and not for one of three.
    six = np.arange(1.0, 7.0)
    ours = model(NINE, random=six)
    assert answers(ours) == ["better than controls"]
    others = [model(MIXED, name, random=MIXED) for name in "bc"]
    [decision, *_] = judge([ours, *others])
    assert decision.p == pytest.approx(3 * 2 / 2**9)
    assert decision.p_more == pytest.approx(3 * 2 / 2**6)
    # Six datasets could not have told: 3 * 2 / 2^6 is above the level.
    assert decision.answer == "controls too few"
    [decision, *_] = judge([model(NINE, random=[*six, -0.5]), *others])
    assert decision.answer == "no better than controls"


def test_models_that_fail_at_different_controls_do_not_help_each_other():
    # Holm for each control by itself would leave 0.03125 for the last model in either.
    weak, strong = np.arange(1.0, 7.0), np.arange(1.0, 16.0)
    decisions = judge(
        [
            model(strong, "a", random=weak, shuffled=strong),
            model(strong, "b", random=strong, shuffled=weak),
        ]
    )
    assert [decision.p_more for decision in decisions] == pytest.approx([2 * 0.03125] * 2)
    assert [decision.answer for decision in decisions] == ["controls too few"] * 2


def test_the_share_of_a_finished_model_goes_to_the_others():
    # By hand, 0.015625 for both: twice that while two are left, once when the first is finished.
    decisions = judge([model(NINE, "a", random=NINE), model(SEVEN, "b", random=SEVEN)])
    assert [decision.p_more for decision in decisions] == pytest.approx([2 * 2 / 2**9, 2 / 2**7])
    # A model that is better, but not more than its controls, keeps its share.
    decisions = judge([model(NINE, "a", random=np.zeros(9)), model(SEVEN, "b", random=SEVEN)])
    assert [decision.p for decision in decisions] == pytest.approx([2 * 2 / 2**9, 2 * 2 / 2**7])
    # One that is worse, or has no controls, is finished.
    for first in (model(-NINE, "a", random=NINE), model(NINE, "a")):
        assert judge([first, model(SEVEN, "b", random=SEVEN)])[1].p == 2 / 2**7


def test_a_control_that_is_ahead_is_corrected_for_models_and_controls():
    [decision] = judge([model(SEVEN, random=-SEVEN, shuffled=SEVEN)])
    behind = decision.controls[0]
    assert behind.p_behind == pytest.approx(2 * 2 / 2**7)
    assert (behind.p_ahead, behind.outcome) == (1.0, "behind")
    [decision, _] = judge([model(NINE, random=-SEVEN, shuffled=NINE), model(MIXED)])
    assert decision.controls[0].p_behind == pytest.approx(2 * 2 * 2 / 2**7)
    assert decision.answer == "no better than controls"  # 0.0625 is not clear either way
    # A control without results is not counted.
    [decision] = judge([model(SEVEN, random=-SEVEN, shuffled=[])])
    assert decision.controls[0].p_behind == pytest.approx(2 / 2**7)


def test_more_models_need_more_datasets_for_controls_as_well():
    models = [model(NINE, name, random=SEVEN[:6]) for name in "abc"]
    decisions = judge(models)
    assert decisions[0].fewest == decisions[0].controls[0].fewest == 7  # 3 * 2 / 2^6 > 0.05
    assert answers(*models) == ["controls too few"] * 3
    assert judge(models[:1])[0].controls[0].fewest == 6


def test_a_test_against_the_median_is_no_claim():
    # 21 tiny losses and 19 large gains: ranks speak for a gain, the median is a loss.
    gains = [-0.05 - i / 1000 for i in range(21)] + [5 + i / 10 for i in range(19)]
    [decision] = judge([model(gains)])
    assert decision.p < 0.05 and decision.difference.direction == 0
    assert decision.disagreement and decision.answer == "unclear"
    [decision] = judge([model(np.arange(1, 41), random=gains)])
    assert decision.answer == "no better than controls"


def test_a_p_value_at_the_level_is_not_below_it():
    assert answers(model(SEVEN[:5]), significance=0.0625) == ["too few"]
    assert answers(model(SEVEN[:6]), significance=0.0625) == ["better"]
    assert [fewest_datasets(level) for level in (0.05, 0.25, 0.0625)] == [6, 4, 6]


def test_nothing_to_judge():
    assert judge([]) == []
    [decision] = judge([model([np.nan, np.nan], random=[np.nan])])
    assert decision.answer == "too few"
    assert decision.controls[0].outcome == "too few"


def test_the_decision_keeps_what_it_was_made_from():
    [decision] = judge([model([0.0, np.nan, 1.0, *SEVEN], random=SEVEN)], significance=0.1)
    test = decision.difference.test
    assert (test.pairs, test.zeros, test.missing, test.ties) == (9, 1, 1, 2)
    assert (decision.significance, decision.fewest) == (0.1, 5)
    assert decision.difference.median == 3.0
    assert decision.controls[0].name == "random"
    assert decision.controls[0].difference.test.p == 2 / 2**7


differences = st.lists(st.integers(-20, 60), min_size=8, max_size=14).map(np.array)
experiments = st.lists(
    st.tuples(differences, differences, differences).map(
        lambda three: model(three[0], random=three[1], shuffled=three[2])
    ),
    min_size=1,
    max_size=4,
)


@given(experiments)
def test_more_than_controls_is_holm_over_the_largest_p_of_every_model(evidence):
    decisions = judge(evidence)
    largest = [
        max(
            decision.difference.p_towards(1),
            *(control.difference.p_towards(1) for control in decision.controls),
        )
        for decision in decisions
    ]
    # Holm alone knows nothing of models that are worse, which are finished too.
    if not any(decision.difference.direction < 0 for decision in decisions):
        expected = multipletests(largest, method="holm")[1]
        assert [decision.p_more for decision in decisions] == pytest.approx(expected)


@given(experiments)
def test_corrections_lie_between_none_and_bonferroni(evidence):
    for decision in judge(evidence):
        raw = decision.difference.test.p
        assert raw - 1e-12 <= decision.p <= min(1, len(evidence) * raw) + 1e-12
        for control in decision.controls:
            ahead, behind = (control.difference.p_towards(sign) for sign in (1, -1))
            assert ahead - 1e-12 <= control.p_ahead <= min(1, len(evidence) * ahead) + 1e-12
            assert behind - 1e-12 <= control.p_behind <= min(1, 2 * len(evidence) * behind) + 1e-12


@given(experiments)
def test_a_claim_about_controls_includes_the_one_about_no_encodings(evidence):
    for decision in judge(evidence, significance=0.3):
        if decision.answer in ("better than controls", "behind controls"):
            assert decision.p < 0.3 and decision.difference.direction == 1
        if decision.answer == "better than controls":
            assert {control.outcome for control in decision.controls} == {"ahead"}
