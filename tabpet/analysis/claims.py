"""Published gains beside those of this run: by validation, by test, and without structure."""

import pandas as pd

from tabpet.analysis.formats import percent
from tabpet.analysis.names import MODELS, NULL_CONTROLS
from tabpet.analysis.paper import GRAPH_MODEL, PAPER_ENCODING, read_reference
from tabpet.analysis.results import GAINS, Results
from tabpet.analysis.table import Column, Panel, Table, show
from tabpet.names import EncodingName
from tabpet.stats import summarize

COLUMNS = (
    Column("published", "Paper", "gain, %", percent),
    Column("validation", "This run, graph", "by validation", percent),
    Column("oracle", "This run, graph", "by test", percent),
    *(
        column
        for kind in NULL_CONTROLS
        for column in (
            Column(kind, f"This run, {kind}", "by validation", percent),
            Column(f"{kind}_oracle", f"This run, {kind}", "by test", percent),
        )
    ),
)
NUMBERS = [str(column.key) for column in COLUMNS]


def claims_table(results: Results) -> Table:
    """A line per dataset of the paper that was run with Spearman encodings."""
    published = read_reference("graph_methods")
    published = published[published["method"] == PAPER_ENCODING]
    names = read_reference("datasets").set_index("abbr")["name"]
    claims = published.set_index(published["abbr"].map(names))["improvement_pct"].astype(float)
    ours = _gains(results, PAPER_ENCODING).rename(columns=_named("validation", "oracle"))
    data = ours.join(claims.rename("published"), how="inner")
    if data.empty:
        reason = f"{MODELS[GRAPH_MODEL]} with {PAPER_ENCODING} encodings ran on none of its tables"
        return Table.empty("claims", reason)
    for kind in NULL_CONTROLS:
        gains = _gains(results, str(EncodingName(PAPER_ENCODING, kind)))
        data = data.join(gains.rename(columns=_named(kind, f"{kind}_oracle")))
    data = data[NUMBERS].rename_axis("dataset")
    # Not by pandas: it warns of a control that was not run.
    summaries = [summarize(data[name]) for name in NUMBERS]
    means, medians = [s.mean for s in summaries], [s.median for s in summaries]
    summary = pd.DataFrame([means, medians], index=["mean", "median"], columns=NUMBERS)
    panel = Panel(
        show(data.set_axis([results.short(str(name)) for name in data.index]), COLUMNS, "Dataset")
    )
    panel = panel.with_footer(show(summary, COLUMNS, "Dataset"))
    return Table.of("claims", results.settings, data.reset_index(), [panel])


def _gains(results: Results, encoding: str) -> pd.DataFrame:
    averages = results.averages
    mine = averages[(averages["model"] == GRAPH_MODEL) & (averages["encoding"] == encoding)]
    return mine.set_index("dataset")[GAINS]


def _named(validation: str, oracle: str) -> dict[str, str]:
    return {"improvement": validation, "oracle_improvement": oracle}
