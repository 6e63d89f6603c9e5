"""Titles and captions of the figures; imports nothing heavy, because the Snakefile reads it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Caption:
    """What a figure shows, and how to read it."""

    title: str
    text: str


# By file name, in the order in which the page shows them. `report/figures/` holds the same texts.
FIGURES = {
    "null_controls": Caption(
        "Is it the structure?",
        "The main encoding beside random and shuffled ones of the same width, whose alpha was "
        "chosen in the same way. A point is a dataset, n their number. Hollow boxes show what "
        "choosing alpha on the test rows would have claimed.",
    ),
    "improvement_by_graph": Caption(
        "Which graph?",
        "Improvement over the same model without encodings, for every graph estimator. A box holds "
        "the middle half of the datasets (n: how many), its thick line is the median. Hollow "
        "boxes: alpha chosen on the test rows.",
    ),
    "learnable": Caption(
        "Fixed or learned?",
        "A line per dataset: filled circles are encodings from the graph, squares learned ones of "
        "the same width. Large hollow circles: alpha chosen on the test rows.",
    ),
    "size": Caption(
        "Does the size of a dataset matter?",
        "Improvement against the number of rows. Black lines are the medians of the small, middle "
        "and large third of the datasets. Hollow: alpha chosen on the test rows.",
    ),
    "comparison_matrix": Caption(
        "Which methods can be told apart?",
        "Every method (row) against every other (column) on the datasets that have both: mean "
        "relative difference, positive when the row is better; wins, ties and losses of the row; "
        "p of the Wilcoxon test, and corrected by Holm over all pairs; bold where that is "
        "significant. No other method has a say in a cell but through Holm, which counts the "
        "pairs. A few datasets with large differences can carry a mean: look at the wins too. "
        "Methods are in order of their mean difference to all others.",
    ),
    "critical_difference": Caption(
        "The same by mean ranks, as the paper has it",
        "Mean rank of every method, best on the left, with its bootstrap interval over datasets. A "
        "bar joins methods whose ranks are closer than Nemenyi's critical difference. Methods "
        "missing on half of the datasets are left out. What is wrong with it: the rank of a method "
        "depends on which others are there, so that adding or leaving out a method can change what "
        "is said of two others. Trust the matrix above where they differ.",
    ),
    "rank_heatmap": Caption(
        "Who wins where?",
        "The rank of every method on every dataset; the strongest colour is best, and a dash was "
        "not run. At the end of a line: the mean rank, its bootstrap interval over datasets, and "
        "n, the datasets behind it. Ranks depend on which methods are compared.",
    ),
    "alpha_curves": Caption(
        "How much does alpha matter?",
        "Improvement on test rows over alpha, for the main encoding. Filled marks: the alpha that "
        "validation chose. Hollow marks: the one that the test rows would have chosen. Every panel "
        "has its own scale.",
    ),
    "graph_entropy": Caption(
        "How even are the weights of a graph?",
        "Normalised entropy of edge weights, a line of bars per estimator: 0 for a node with one "
        "edge, 1 for equal edges to all others.",
    ),
    "graph_histograms": Caption(
        "Entropy and connectivity by task",
        "Graph entropy and Fiedler value (algebraic connectivity; 0 for a graph in pieces), a line "
        "of bars per estimator.",
    ),
    "graph_boxes": Caption(
        "The same as boxes",
        "Graph entropy and Fiedler value of every graph; a point is a dataset.",
    ),
    "graph_scatter": Caption(
        "Do such graphs help more?",
        "Improvement against graph entropy and Fiedler value. Hollow: alpha chosen on the test "
        "rows. A line is the mean of all filled points up to that value; its mark is the mean of "
        "all.",
    ),
    "time": Caption(
        "What did it cost?",
        "Hours of all jobs together, for every graph estimator and learner.",
    ),
}

# Of the studies, by report.
STUDY_FIGURES = {
    "synthetic": {
        "synthetic_curves": Caption(
            "RMSE over alpha by structure",
            "Tables of Algorithm 1 in the paper's three regimes; alpha 0 is the model without "
            "encodings. Lines are means over tables and seeds, the band around the first is one "
            "standard deviation.",
        ),
        "synthetic_gains": Caption(
            "Does the gain grow with structure?",
            "Improvement over the number of groups: a small mark is a table, a line joins the "
            "means. Fewer groups are more structure; random and shuffled encodings know nothing of "
            "it.",
        ),
        "synthetic_dags": Caption(
            "Tables of linear DAGs",
            "Improvement with alpha chosen on validation rows. A dot is a table, a diamond the "
            "mean.",
        ),
        "edge_recovery": Caption(
            "Are the true edges found?",
            "Average precision of edge weights against the true pairs, mean over tables. Whoever "
            "guesses has the share of true pairs.",
        ),
    },
    "effective_rank": {
        "effective_rank": Caption(
            "Effective rank and score over alpha",
            "Left: effective rank of the CLS embeddings of test rows; thin lines are datasets, "
            "thick ones their mean, crosses the means that the paper quotes (15 datasets). Right: "
            "improvement of the test score over alpha 0 for the same models.",
        ),
        "theory": Caption(
            "The bounds against a simulation",
            "Effective rank minus 1 of attention outputs under the conditions of the theorems "
            "(solid: mean of ten draws, shaded: their range), and the bounds (dashed).",
        ),
    },
}

# Of every figure, by its name.
CAPTIONS = {
    name: caption
    for figures in (FIGURES, *STUDY_FIGURES.values())
    for name, caption in figures.items()
}


def figure_files(folder: str) -> list[str]:
    """Every figure with its numbers, as the workflow writes them."""
    return [f"{folder}/{name}.{kind}" for name in FIGURES for kind in ("svg", "csv")]
