"""Numbers as people read them."""

import math

import pytest

from tabpet import formats
from tabpet.formats import SPACE

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8379, "0.838"),
        (0.00712, "0.00712"),
        (2467.61, "2467.6"),
        (0.0, "0.000"),
        (3.21e-11, "3.21e-11"),
        (NAN, "–"),
    ],
)
def test_scores_keep_three_digits(value, text):
    assert formats.score(value) == text


def test_nothing_is_a_negative_zero():
    values = (1.234, -1.2, -0.001, 0.001, NAN)
    assert list(map(formats.percent, values)) == ["+1.23", "−1.20", "0.00", "0.00", "–"]
    assert list(map(formats.number, values)) == ["1.23", "−1.20", "0.00", "0.00", "–"]
    assert formats.interval(-0.001, 0.5) == "[0.00, 0.50]"
    assert formats.narrow_interval(-0.04, 1.26) == "0.0–1.3"
    assert formats.interval(-1, NAN) == formats.narrow_interval(NAN, 1) == "–"


def test_small_p_values_keep_their_size():
    assert list(map(formats.p_value, (0.5, 0.0012, 5.96e-8, NAN))) == [
        "0.500",
        "0.001",
        "6.0e-08",
        "–",
    ]


def test_spreads_have_the_digits_of_their_score():
    assert formats.with_deviation(0.83791, 0.00731) == "0.8379±0.0073"
    assert formats.with_deviation(3.21e-11, 4.5e-12) == "3.21e-11±4.5e-12"
    assert formats.with_deviation(2467.61, 12.34) == "2467.6±12.3"
    assert formats.with_deviation(0.5, NAN) == "0.5000"


def test_shares_and_counts():
    assert list(map(formats.share, (88.0, 87.5, 99.99, NAN))) == ["88", "87.5", "100", "–"]
    assert [formats.used(24, 1), formats.used(25, 0)] == ["24/25", "25"]
    assert [formats.count(1, "dataset"), formats.count(5000, "job")] == ["1 dataset", "5,000 jobs"]


def test_words_for_numbers():
    values = (1.234, -0.001, -12.34, NAN)
    assert [formats.percent_words(value).replace(SPACE, " ") for value in values] == [
        "+1.23 %", "0.00 %", "−12.34 %", "unknown",
    ]  # fmt: skip
    assert [formats.p_words(p).replace(SPACE, " ") for p in (0.5, 1e-9, NAN)] == [
        "p = 0.500", "p < 0.0001", "p unknown",
    ]  # fmt: skip
    assert [formats.p_words(p, "at most").replace(SPACE, " ") for p in (0.02, 1e-9)] == [
        "p at most 0.020", "p < 0.0001",
    ]  # fmt: skip


def test_ticks_and_times():
    assert list(map(formats.tick, (2, -0.5, 0, 12.5))) == ["+2", "−0.5", "0", "+12.5"]
    assert list(map(formats.duration, (1.5, 0.25, 0.001))) == ["1.5 h", "15.0 min", "3.6 s"]


def test_scores_on_the_page_have_the_digits_of_their_metric():
    assert formats.score_of(0.5, "classification") == "0.5000"
    assert formats.score_of(12345.67, "regression") == "12,345.7"
    assert formats.score_of(0.0123456, "regression") == "0.01235"
