"""What a run says about itself, in every situation that it can end in."""

import pytest

from tabpet.analysis.headline import headline, scores_of_both
from tabpet.analysis.results import Results
from tabpet.runs import Run, runs_frame
from tabpet.settings import AnalysisSettings
from tests.analysis import grid

SPACE = "\N{NO-BREAK SPACE}"


def cell(
    dataset: str, gain: float, oracle: float, encoding="spearman", model="saint", split=42
) -> list[Run]:
    """A classification cell with base 0.5: alpha 1 is chosen and gains, alpha 2 is the oracle's."""
    test = {0.0: 0.5, 1.0: 0.5 * (1 + gain / 100), 2.0: 0.5 * (1 + oracle / 100)}
    task = "classification"
    return [
        Run(dataset, split, model, encoding, seed, task, alpha, float(alpha == 1), score)
        for alpha, score in test.items()
        for seed in (1, 2)
    ]


def tree(dataset: str, score: float, model="xgboost") -> Run:
    return Run(dataset, 42, model, "tuned", 1, "classification", None, score, score)


def run_of(gains: list[float], *, random: list[float] | None = None, **kinds) -> list[Run]:
    """A run of SAINT on as many datasets as there are gains; the oracle adds one percent."""
    columns = {"spearman": gains, **({"spearman-random": random} if random else {})}
    columns |= {f"spearman-{kind}": values for kind, values in kinds.items()}
    return [
        run
        for encoding, values in columns.items()
        for number, gain in enumerate(values)
        for run in cell(f"d{number}", gain, gain + 1, encoding)
    ]


def told(runs: list[Run], **settings):
    return headline(Results(runs_frame(runs), AnalysisSettings(bootstrap=100, **settings)))


def verdict(runs: list[Run], **settings) -> str:
    return told(runs, **settings).verdict.replace(SPACE, " ")


def line(result, label: str) -> str:
    [text] = [text for text in result.lines if text.startswith(f"{label}: ")]
    return text.replace(SPACE, " ")


SEVEN = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_a_gain_without_controls_says_that_it_has_none():
    result = told(run_of(SEVEN))
    assert result.verdict.replace(SPACE, " ") == (
        "Spearman encodings help SAINT (median +4.00 % on 7 datasets), but no encodings without "
        "structure were run to compare with."
    )
    effect = line(result, "SAINT")
    assert "median +4.00 %, mean +4.00 %" in effect
    assert "better on 7 of 7 datasets" in effect
    assert "Wilcoxon p = 0.016," in effect  # 2 / 2^7 = 0.015625
    # The third of all averages of two from either end: 3 / 2^7 is below 2.5 %, 5 / 2^7 is not.
    assert "95 % interval of the typical gain +2.00 % to +6.00 %." in effect
    assert "cannot be told from a gain by choosing" in line(result, "Null controls")
    assert line(result, "Oracle").endswith("a median of +5.00 % for SAINT (instead of +4.00 %).")
    assert line(result, "Trees") == "Trees: no tuned ones were run to compare with."
    assert line(result, "Coverage") == "Coverage: 14 of 14 jobs finished."


def test_a_gain_that_random_encodings_have_too_is_not_one_of_structure():
    # Differences of 0.1, -0.1, 0.2, -0.2 and so on: no sign of a lead.
    random = [g + d for g, d in zip(SEVEN, (0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.4), strict=True)]
    result = told(run_of(SEVEN, random=random))
    assert "help SAINT" in result.verdict and "but not clearly more than" in result.verdict
    controls = line(result, "Null controls")
    assert "is not clearly different from random ones in SAINT (p = " in controls


def test_a_gain_beyond_all_controls_is_one_of_structure():
    result = told(run_of(SEVEN, random=[0.0] * 7, shuffled=[-1.0] * 7))
    assert "and more than encodings without structure do" in result.verdict
    controls = line(result, "Null controls")
    assert "SAINT random 0.00 % on 7 datasets (oracle +1.00 %), shuffled −1.00 % on 7" in controls
    # Both p-values are 0.015625; both must be small, so neither is corrected for the other.
    assert "ahead of all of them (p at most 0.016)" in controls


def test_one_control_that_keeps_up_is_enough_for_doubt():
    result = told(run_of(SEVEN, random=[0.0] * 7, shuffled=SEVEN))
    assert "but not clearly more than" in result.verdict
    controls = line(result, "Null controls")
    assert "is ahead of random ones in SAINT (p = 0.016); not clearly different from" in controls


def test_a_control_that_is_clearly_better_is_said_to_be():
    result = told(run_of(SEVEN, random=[gain + 1 for gain in SEVEN]))
    assert "but less than encodings without structure do" in result.verdict
    assert "Spearman is behind random ones in SAINT (p = 0.016)." in line(result, "Null controls")


def test_six_datasets_are_enough_against_two_controls():
    result = told(run_of(SEVEN[:6], random=[0.0] * 6, shuffled=[0.0] * 6))
    assert "and more than encodings without structure do" in result.verdict
    assert "ahead of all of them (p at most 0.031)" in line(result, "Null controls")  # 2 / 2^6


def test_a_control_on_one_dataset_decides_nothing():
    result = told(run_of(SEVEN, random=[2.0]))
    assert "have results on too few datasets to compare with" in result.verdict
    controls = line(result, "Null controls")
    assert controls.endswith("the medians are SAINT random +2.00 % on 1 dataset (oracle +3.00 %).")


def test_controls_without_a_usable_result_were_still_run():
    lost = [
        Run(f"d{number}", 42, "saint", "spearman-random", 1, "classification", status="error",
            reason="lost")
        for number in range(7)
    ]  # fmt: skip
    result = told(run_of(SEVEN) + lost)
    assert "have results on too few datasets to compare with" in result.verdict
    assert "those that were run have no usable result" in line(result, "Null controls")
    some = told(run_of(SEVEN, shuffled=[0.0] * 7) + lost)
    assert "SAINT random without a usable result, shuffled 0.00 % on" in line(some, "Null controls")


def test_controls_are_compared_on_shared_splits():
    # A second split is ten points better, and the control has that one alone.
    runs = [
        run
        for number, gain in enumerate(SEVEN)
        for split in (1, 2)
        for run in cell(f"d{number}", gain + 10 * split, gain + 10 * split, split=split)
    ]
    runs += [
        run
        for number, gain in enumerate(SEVEN)
        for run in cell(f"d{number}", gain + 20, gain + 20, "spearman-random", split=2)
    ]
    assert "not clearly more than" in verdict(runs)


def test_no_clear_effect_and_harm():
    mixed = told(run_of([1.0, -1.5, 2.0, -2.5, 3.0, -3.5, 0.5]))
    text = mixed.verdict.replace(SPACE, " ")
    assert "have no clear effect on SAINT (median +0.50 % on 7 datasets)" in text
    harm = told(run_of([-gain for gain in SEVEN], random=[0.0] * 7))
    assert harm.verdict.startswith("Spearman encodings make SAINT (median −4.00")
    assert harm.verdict.endswith("worse.")


def test_several_models_are_told_apart_and_corrected_together():
    runs = run_of(SEVEN)
    runs += [
        run
        for number, gain in enumerate([1.0, -1.5, 2.0, -2.5, 3.0, -3.5, 0.5])
        for run in cell(f"d{number}", gain, gain, model="ft_transformer")
    ]
    result = told(runs)
    assert "help SAINT" in result.verdict
    assert "; Spearman encodings have no clear effect on FT-Transformer" in result.verdict
    # Twice 0.015625, for two models.
    assert "Wilcoxon p = 0.031 (corrected over 2 models)" in line(result, "SAINT")


def test_a_lead_over_controls_is_corrected_over_models():
    # Behind on one tiny difference of nine: 4 / 2^9 = 0.0078 by itself, 0.023 with three models.
    gains = [float(n) for n in range(1, 10)]
    lead = [-0.1, *gains[1:]]
    kept_up = [gain - lead for gain, lead in zip(gains, lead, strict=True)]

    def runs_of(model: str, control: list[float]) -> list[Run]:
        columns = {"spearman": gains, "spearman-random": control}
        return [
            run
            for encoding, values in columns.items()
            for number, gain in enumerate(values)
            for run in cell(f"d{number}", gain, gain, encoding, model)
        ]

    others = [run for one in ("ft_transformer", "tab_transformer") for run in runs_of(one, gains)]
    result = told(runs_of("saint", kept_up) + others)
    text = result.verdict.replace(SPACE, " ")
    assert "help SAINT (median +5.00 % on 9 datasets), and more than" in text
    assert "ahead of random ones in SAINT (p = 0.023)" in line(result, "Null controls")
    # Two against it, 10 / 2^9: 0.0195 by itself, 0.059 with three models.
    lead = [-0.1, -0.2, *gains[2:]]
    kept_up = [gain - lead for gain, lead in zip(gains, lead, strict=True)]
    alone = verdict(runs_of("saint", kept_up))
    assert "and more than encodings without structure do" in alone
    result = told(runs_of("saint", kept_up) + others)
    assert "and more than" not in result.verdict
    assert "not clearly different from" in line(result, "Null controls")
    assert "random ones in SAINT (p = 0.059)" in line(result, "Null controls")


def test_a_test_against_the_median_is_no_clear_effect():
    # 21 tiny losses and 19 large gains: ranks speak for a gain, the median is a loss.
    gains = [-0.05 - i / 1000 for i in range(21)] + [5 + i / 10 for i in range(19)]
    result = told(run_of(gains))
    text = result.verdict.replace(SPACE, " ")
    assert "have no clear effect on SAINT (median −0.05 % on 40" in text
    assert "do not point in the same direction" in line(result, "SAINT")


def test_a_model_on_too_few_datasets_is_not_one_without_effect():
    runs = run_of(SEVEN) + cell("d0", 1, 2, model="ft_transformer")
    runs += cell("d1", 2, 3, model="ft_transformer")
    assert verdict(runs).endswith(
        "; Spearman encodings have results on too few datasets to tell for FT-Transformer (median "
        "+1.50 % on 2 datasets)."
    )


def test_several_models_need_more_datasets():
    # Three times 2 / 2^6 is above 0.05, three times 2 / 2^7 below.
    models = ("ft_transformer", "saint", "tab_transformer")
    runs = [
        run for model in models for n in range(6) for run in cell(f"d{n}", n + 1, 9, model=model)
    ]
    assert verdict(runs).startswith("Too few datasets to tell: ")
    assert "on fewer than 7 that differ can be significant with 3 models" in verdict(runs)
    runs += [run for model in models for run in cell("d6", 7, 9, model=model)]
    assert "help FT-Transformer (median +4.00 % on 7 datasets), SAINT" in verdict(runs)


def test_datasets_without_a_difference_do_not_count_for_a_test():
    text = verdict(run_of([1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0]))
    assert text == (
        "Too few datasets to tell: Spearman encodings gave a median of +1.50 % for SAINT (on 8 "
        "datasets, of which only 5 differ), and no outcome on fewer than 6 that differ can be "
        "significant."
    )


def test_a_p_value_at_the_level_is_not_below_it():
    # Five datasets reach 2 / 2^5 = 0.0625 and no less.
    assert verdict(run_of(SEVEN[:5]), level=0.0625).startswith("Too few datasets to tell")


def test_too_few_datasets_get_no_verdict_and_no_test():
    result = told(run_of([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert result.verdict.startswith("Too few datasets to tell: ")
    assert "for SAINT (on 5 datasets), and no outcome on fewer than 6" in result.verdict
    effect = line(result, "SAINT")
    assert "from +1.00 % to +5.00 %" in effect
    assert "p =" not in effect and "interval" not in effect


@pytest.mark.parametrize(
    ("gain", "words"), [(2.0, "2.00 % better"), (-2.0, "2.00 % worse"), (0.0, "the same")]
)
def test_one_dataset_cannot_tell(gain, words):
    result = told(run_of([gain]))
    assert result.verdict == (
        f"One dataset cannot tell: on d0, SAINT did {words} with Spearman encodings."
    )
    assert line(result, "SAINT").endswith("on one dataset, so nothing to test.")


def test_nothing_at_all_trees_alone_and_failures():
    assert told([]).verdict.startswith("No answer yet")
    assert told([]).lines == ("Coverage: no run has been collected.",)
    trees = told([tree("d0", 0.9), tree("d0", 0.8, "catboost")])
    assert trees.verdict.startswith("No answer yet")
    assert trees.lines[0] == "Trees: results exist for XGBoost and CatBoost."
    failed = Run("d0", 1, "saint", "spearman", 1, "regression", status="error", reason="broken")
    assert told([failed]).lines == ("Coverage: 0 of 1 jobs finished; 1 failed.",)


def test_trees_are_compared_on_shared_datasets():
    runs = run_of(SEVEN) + [tree(f"d{number}", 0.512) for number in range(6)]  # 2.4 percent
    result = told(runs)
    assert line(result, "Trees").startswith(
        "Trees: SAINT with encodings is better than tuned XGBoost on 4 of 6 datasets (p = "
    )
    both = scores_of_both(Results(runs_frame(runs)), "saint+pet", "xgboost")
    assert both["gain"]["d0"] == pytest.approx(100 * (0.505 - 0.512) / 0.512)


def test_a_tree_without_an_error_is_a_lost_duel():
    runs = [
        Run(dataset, 1, "saint", "spearman", 1, "regression", alpha, 1.0 - alpha, 2.0 - alpha)
        for dataset in ("d0", "d1")
        for alpha in (0.0, 0.5)
    ]
    for dataset, error in (("d0", 0.0), ("d1", 3.0)):
        runs.append(Run(dataset, 1, "xgboost", "tuned", 1, "regression", None, error, error))
    assert "better than tuned XGBoost on 1 of 2 datasets" in line(told(runs), "Trees")


def test_learned_encodings_are_mentioned():
    result = told(run_of(SEVEN, learnable=[0.5] * 7))
    assert line(result, "Learned encodings") == (
        "Learned encodings: median +0.50 % in SAINT at the same width; Spearman is ahead on 7 of 7 "
        "datasets (p = 0.016)."
    )


def test_other_graphs_are_mentioned_without_their_controls():
    failed = Run(
        "d0", 42, "saint", "notears", 1, "classification", 0.0, status="error", reason="no"
    )
    runs = [*run_of(SEVEN), failed]
    assert line(told(runs), "Other graphs") == (
        "Other graphs: none of those that were run has a usable result."
    )
    for encoding, gain in {"chow_liu": 0.5, "lingam": -2.0, "chow_liu-random": 9.0}.items():
        runs += [run for number in range(6) for run in cell(f"d{number}", gain, 1.0, encoding)]
    assert line(told(runs), "Other graphs") == (
        "Other graphs: with alpha chosen the same way, the medians are SAINT NOTEARS without a "
        "usable result, Chow-Liu +0.50 % on 6 datasets (oracle +1.00 %), LiNGAM −2.00 % on 6 "
        "datasets (oracle +1.00 %)."
    )
    assert not [text for text in told(run_of(SEVEN)).lines if text.startswith("Other graphs")]


def test_the_full_grid_and_what_is_left_after_a_bad_week():
    result = headline(grid.full_results())
    assert "FT-Transformer (median +1.43" in result.verdict
    effect = line(result, "FT-Transformer")
    assert "better on 46 of 50 datasets" in effect  # 96 % of 25 and 88 % of 25 in the paper
    assert "34 of 50 datasets" in line(result, "Trees")  # 56 % and 80 % against XGBoost
    broken = told(grid.broken_runs())
    assert "of 49 datasets" in line(broken, "FT-Transformer")
    assert "CatBoost" not in line(broken, "Trees")
    assert "1 cut by a time limit, 1 out of memory" in line(broken, "Coverage")


def test_every_line_has_a_label():
    for result in (headline(grid.full_results()), told(run_of([1.0])), told([])):
        for text in result.lines:
            label, colon, rest = text.partition(": ")
            assert label and colon and rest and len(label) < 20


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (["ft_transformer", "saint"], "FT-Transformer {} and SAINT {}"),
        (
            ["ft_transformer", "saint", "tab_transformer"],
            "FT-Transformer {}, SAINT {} and TabTransformer {}",
        ),
    ],
)
def test_models_are_listed_in_words(models, words):
    gains = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    runs = [
        run
        for model in models
        for number, gain in enumerate(gains)
        for run in cell(f"d{number}", gain, gain, model=model)
    ]
    assert f"help {words.replace('{}', '(median +5.00 % on 9 datasets)')}, but" in verdict(runs)
