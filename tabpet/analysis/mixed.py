"""The table of a mixed model: what encoding, model and size of table add to a gain."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tabpet.analysis.gains import no_main_encoding
from tabpet.analysis.results import GAINS, Results
from tabpet.analysis.table import Column, Panel, Table, declared, show
from tabpet.formats import count, number
from tabpet.names import EncodingName, encoding_label, model_label
from tabpet.stats import Limits, MixedModel, fit_mixed_model, limit_gains
from tabpet.stats.mixed import WHISKER, WITHIN

FEWEST_DATASETS = 10  # below, a variance between datasets means little
# How gains enter: the result, the same without limits, and those of the alpha chosen by test.
WINSORISED, MEASURED, ORACLE = "winsorised", "as measured", "oracle, winsorised"
BASELINE = ", and models within a dataset, where encodings share a baseline, as another"
DEVIATION = Column(("deviation",), "", "points", number)


def mixed_model_table(results: Results) -> Table:
    """Gains of all transformers and encodings in one model, with datasets as random effect."""
    main = results.settings.main_encoding
    gains = sized_gains(results)
    if main not in set(results.averages["encoding"]):
        return Table.empty("mixed_model", no_main_encoding(results))
    datasets = gains[gains["encoding"] == main]["dataset"].nunique()
    if datasets < FEWEST_DATASETS:
        reason = (
            f"{count(datasets, 'dataset')} with a size and a gain with {encoding_label(main)} "
            f"encodings; {FEWEST_DATASETS} are needed"
        )
        return Table.empty("mixed_model", reason)
    levels = {
        "encoding": sorted(gains["encoding"].unique(), key=lambda name: name != main),
        "model": [name for name in results.models if (gains["model"] == name).any()],
    }
    first, *others = levels["model"]
    limited, limits = limit_gains(gains["improvement"])
    # The oracle of a learned encoding has nothing to choose from.
    chosen = gains[[not EncodingName.parse(name).is_trained for name in gains["encoding"]]]
    oracle, oracle_limits = limit_gains(chosen["oracle_improvement"])
    variants: dict[str, tuple[pd.Series, Limits | None]] = {
        WINSORISED: (limited, limits),
        MEASURED: (gains["improvement"], None),
        ORACLE: (oracle, oracle_limits),
    }
    frames, panels = [], []
    effects: set[str] = set()
    for kind, (values, bounds) in variants.items():
        rows = gains.loc[values.index].assign(gain=values)
        there = {
            term: [name for name in names if (rows[term] == name).any()]
            for term, names in levels.items()
        }
        fit = fit_mixed_model(rows, there, results.settings.level)
        effects.update(fit.deviations)
        frames.append(_rows(fit, kind, there, bounds))
        panels.append(_panel(fit, frames[-1], kind))
    return Table.of(
        "mixed_model",
        pd.concat(frames, ignore_index=True),
        panels,
        **results.words,
        within=BASELINE if WITHIN in effects else "",
        compared=f", models with {model_label(first)}" if others else "",
        whisker=f"{WHISKER:g}",
        limited=f"{limits.limited} of {len(gains)}",
    )


def sized_gains(results: Results) -> pd.DataFrame:
    """A row per dataset, model and encoding that has both gains, with the size of the dataset."""
    columns = ["dataset", "model", "encoding", *GAINS]
    gains = results.averages[columns].merge(results.sizes, on="dataset").dropna()
    return gains.assign(size=np.log10(gains["rows"].astype(float)))


def _rows(
    fit: MixedModel, kind: str, levels: Mapping[str, Sequence[str]], limits: Limits | None
) -> pd.DataFrame:
    """A line per coefficient, with what is said of the whole fit in every one."""
    columns = {"estimate": "coefficient", "error": "standard_error"}
    frame = fit.coefficients.rename(columns=columns)
    compared = [
        levels[term][0] if name else ""
        for term, name in zip(frame["term"], frame["name"], strict=True)
    ]
    frame.insert(0, "gains", kind)
    frame.insert(3, "reference", compared)
    bounds = (limits.low, limits.high, limits.limited) if limits else (np.nan, np.nan, 0)
    frame["datasets"], frame["observations"] = fit.datasets, fit.observations
    frame["limit_low"], frame["limit_high"], frame["limited"] = bounds
    for effect in ("datasets", "models within a dataset", "residual"):
        frame[f"sd_{effect.replace(' ', '_')}"] = fit.deviations.get(effect, np.nan)
    frame["status"], frame["note"] = fit.status, fit.note
    return frame


def _panel(fit: MixedModel, rows: pd.DataFrame, kind: str) -> Panel:
    """Coefficients, and below them the standard deviations of the random effects."""
    status = f"{fit.status}: {fit.note}" if fit.note else fit.status
    heading = f"Gains {kind}; {fit.datasets} datasets, {fit.observations} observations; {status}"
    labelled = rows.set_axis(list(map(_label, rows["term"], rows["name"])))
    panel = Panel(show(labelled, declared("mixed_model"), "Term"), heading)
    deviations = pd.Series(fit.deviations, dtype=float).rename("deviation").add_prefix("sd of ")
    return panel.with_footer(show(deviations.to_frame(), [DEVIATION], "Term"))


def _label(term: str, name: str) -> str:
    if term == "encoding":
        return f"Encoding: {encoding_label(name)}"
    if term == "model":
        return f"Model: {model_label(name)}"
    return {"intercept": "Intercept", "size": "Size: ten times the rows"}[term]
