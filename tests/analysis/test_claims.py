"""The table of published gains: the paper's own numbers come back from a grid made of them."""

from tabpet.analysis.paper import claims_table, read_reference
from tabpet.analysis.results import Results
from tests.analysis.grid import full_results


def test_a_grid_of_the_papers_scores_has_the_papers_gains():
    data = claims_table(full_results()).data.set_index("dataset")
    assert len(data) == 50
    # The paper rounds its scores, so a gain computed from them is as exact as these are.
    exact = data[(data["published"].abs() > 0.2) & (data["published"].abs() < 20)]
    assert (exact["validation"] - exact["published"]).abs().median() < 0.01


def test_random_and_shuffled_stand_beside_them():
    results = full_results()
    line = claims_table(results).data.set_index("dataset").loc["vehicle"]
    averages = results.averages.set_index(["dataset", "model", "encoding"])
    for kind in ("random", "shuffled"):
        cell = averages.loc["vehicle", "ft_transformer", f"spearman-{kind}"]
        assert line[kind] == cell["improvement"]
        assert line[f"{kind}_oracle"] == cell["oracle_improvement"]
    abbreviation = read_reference("datasets").set_index("name").loc["vehicle", "abbr"]
    claims = read_reference("graph_methods").set_index(["abbr", "method"])
    assert line["published"] == float(claims.loc[(abbreviation, "spearman"), "improvement_pct"])


def test_without_a_dataset_of_the_paper_there_is_a_reason():
    scores = full_results().scores
    own = scores[scores["dataset"] == "vehicle"].assign(dataset="mine")
    assert "none of its tables" in str(claims_table(Results(own)).reason)
