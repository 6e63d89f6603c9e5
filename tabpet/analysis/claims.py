"""Published gains beside those of this run: by validation, by test, and without structure."""

import pandas as pd

from tabpet.analysis.formats import percent
from tabpet.analysis.names import MODELS, NULL_CONTROLS
from tabpet.analysis.paper import GRAPH_MODEL, PAPER_ENCODING, read_reference
from tabpet.analysis.results import GAINS, Results
from tabpet.analysis.table import Column, Panel, Table, declared, show
from tabpet.names import EncodingName
from tabpet.stats import summarize


def claims_table(results: Results) -> Table:
    """A line per dataset of the paper that was run with Spearman encodings."""
    published = read_reference("graph_methods")
    published = published[published["method"] == PAPER_ENCODING]
    names = read_reference("datasets").set_index("abbr")["name"]
    claims = published.set_index(published["abbr"].map(names))["improvement_pct"].astype(float)
    data = _gains(results, PAPER_ENCODING, "validation", "oracle")
    data = data.join(claims.rename("published"), how="inner")
    if data.empty:
        reason = f"{MODELS[GRAPH_MODEL]} with {PAPER_ENCODING} encodings ran on none of its tables"
        return Table.empty("claims", reason)
    columns = declared("claims")
    for kind in NULL_CONTROLS:
        both = {kind: "by validation", f"{kind}_oracle": "by test"}
        data = data.join(_gains(results, str(EncodingName(PAPER_ENCODING, kind)), *both))
        group = f"This run, {kind}"
        columns += [Column((key,), group, heading, percent) for key, heading in both.items()]
    numbers = [key for column in columns for key in column.keys]
    data = data[numbers].rename_axis("dataset")
    # Not by pandas: it warns of a control that was not run.
    summaries = [summarize(data[name]) for name in numbers]
    means, medians = [s.mean for s in summaries], [s.median for s in summaries]
    summary = pd.DataFrame([means, medians], index=["mean", "median"], columns=numbers)
    labelled = data.set_axis([results.short(str(name)) for name in data.index])
    panel = Panel(show(labelled, columns, "Dataset"))
    panel = panel.with_footer(show(summary, columns, "Dataset"))
    return Table.of("claims", data.reset_index(), [panel])


def _gains(results: Results, encoding: str, validation: str, oracle: str) -> pd.DataFrame:
    averages = results.averages
    gains = averages[(averages["model"] == GRAPH_MODEL) & (averages["encoding"] == encoding)]
    return gains.set_index("dataset")[GAINS].set_axis([validation, oracle], axis=1)
