"""Published gains beside those of this run: by validation, by test, and without structure."""

import pandas as pd

from tabpet.analysis.formats import percent
from tabpet.analysis.names import MODELS
from tabpet.analysis.paper import GRAPH_MODEL, PAPER_ENCODING, read_reference
from tabpet.analysis.results import Results
from tabpet.analysis.table import Column, Panel, Table, show

NULL_KINDS = ("random", "shuffled")
COLUMNS = (
    Column("published", "Paper", "gain, %", percent),
    Column("validation", "This run, graph", "by validation", percent),
    Column("oracle", "This run, graph", "by test", percent),
    *(
        column
        for kind in NULL_KINDS
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
    for kind in NULL_KINDS:
        gains = _gains(results, f"{PAPER_ENCODING}-{kind}")
        data = data.join(gains.rename(columns=_named(kind, f"{kind}_oracle")))
    data = data[NUMBERS].rename_axis("dataset")
    summary = data.agg(["mean", "median"])
    panel = Panel(
        show(data.set_axis([results.short(str(name)) for name in data.index]), COLUMNS, "Dataset")
    )
    panel = panel.with_footer(show(summary, COLUMNS, "Dataset"))
    return Table.of("claims", results.settings, data.reset_index(), [panel])


def _gains(results: Results, encoding: str) -> pd.DataFrame:
    cells = results.cells
    mine = cells[(cells["model"] == GRAPH_MODEL) & (cells["encoding"] == encoding)]
    return mine.set_index("dataset")[["improvement", "oracle_improvement"]]


def _named(validation: str, oracle: str) -> dict[str, str]:
    return {"improvement": validation, "oracle_improvement": oracle}
