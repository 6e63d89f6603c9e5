"""One self-contained page about a run: what was run, what came out, and everything behind it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import yaml
from markupsafe import Markup

from tabpet import __version__
from tabpet.analysis import plot
from tabpet.analysis.captions import ALL_FIGURES
from tabpet.analysis.coverage import coverage_table, job_outcomes
from tabpet.analysis.figures import draw_single_curves
from tabpet.analysis.gains import significance_table
from tabpet.analysis.headline import Headline, main_effects
from tabpet.analysis.mixed import mixed_model_table
from tabpet.analysis.results import TRANSFORMERS, Results
from tabpet.analysis.selection import scored_runs
from tabpet.analysis.sentences import load_template, write_sentences
from tabpet.analysis.study import Study
from tabpet.data.summary import dataset_warnings
from tabpet.formats import count, percent, score_of
from tabpet.names import Method, encoding_label, model_label
from tabpet.registry import DEFAULT, TUNED

# Of plot.LINES, as SVG has them.
_DASHES = ("none", "8 4", "2 3", "8 3 2 3", "8 2 2 2 2 2", "2 2")
# What the page's style sheet calls the colours of the figures, so that it can change them.
_COLOURS = {
    plot.INK: "ink",
    plot.SOFT: "soft",
    plot.RULE: "rule",
    plot.PAPER: "paper",
    plot.MAIN: "main",
    plot.WARM: "warm",
    plot.PALE: "pale",
    "#000000": "ink",
    **{shade: f"shade-{number}" for number, shade in enumerate(plot.SHADES[:-1])},
}
WHEREABOUTS = (
    "The numbers behind every figure are in figures/*.csv beside this page's folder, all tables in "
    "tables/ as CSV and LaTeX."
)
_POINT = 4 / 3  # CSS pixels
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", _XLINK)


def render_page(
    results: Results,
    headline: Headline,
    figures: Mapping[str, str],
    settings: Mapping[str, Any],
    studies: Sequence[Study] = (),
    whereabouts: str = WHEREABOUTS,
) -> str:
    """The page as HTML.

    `figures` maps names to the SVG that the figure's file holds; `whereabouts` says where the
    numbers of the page are as files.
    """
    drawn = {
        name: plot.svg_text(drawing.figure)
        for study in studies
        for name, drawing in study.drawings.items()
    }
    template = load_template(
        "page.html",
        count=count,
        score=_unless_missing(score_of),
        percent=_unless_missing(percent),
        raw=_unless_missing(lambda value: repr(float(value))),  # for sorting
    )
    learned = results.scores[~results.scores["encoding"].isin([TUNED, DEFAULT])]
    return template.render(
        verdict=headline.verdict,
        lines=[line.partition(": ")[::2] for line in headline.lines],
        numbers=key_numbers(results),
        tasks=pd.Series(results.tasks).value_counts(),
        learners=[model_label(model) for model in results.scores["model"].unique()],
        encodings=[encoding_label(name) for name in learned["encoding"].unique()],
        n_scored=scored_runs(results.scores)["dataset"].nunique(),
        repeats=_repeats(results.scores),
        rows=result_rows(results).to_dict("records"),
        main_encoding=encoding_label(results.settings.main_encoding),
        significance=significance_table(results),
        mixed=mixed_model_table(results),
        coverage=coverage_table(results),
        failures=failures(results).to_dict("records"),
        warnings=dataset_warnings(results.datasets),
        figures={name: Markup(inline_svg(svg, name)) for name, svg in {**figures, **drawn}.items()},
        captions=ALL_FIGURES,
        studies=studies,
        panels=_curve_panels(results),
        curve_models=[_curve_model(model) for model in results.models],
        settings=yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True),
        versions=used_versions(results),
        version=__version__,
        whereabouts=whereabouts,
        style=Markup(_template("page.css")),
        script=Markup(_template("page.js")),
    )


def _repeats(scores: pd.DataFrame) -> str:
    """How often everything was trained on a dataset: seeds on each split, or pairs of both."""
    splits, seeds = scores["split"].nunique(), scores["seed"].nunique()
    if len(scores[["split", "seed"]].drop_duplicates()) == splits == seeds > 1:
        return f"{count(splits, 'split')}, each with a seed of its own"
    return f"{count(splits, 'split')}, {count(seeds, 'seed')}"


def _template(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def key_numbers(results: Results) -> list[list[str]]:
    """The large numbers under the headline, each with what it is."""
    encoding = encoding_label(results.settings.main_encoding)
    lines = write_sentences("key_numbers", effects=main_effects(results), encoding=encoding)
    return [line.split(": ", 1) for line in lines]


def result_rows(results: Results) -> pd.DataFrame:
    """Every model with every encoding on every dataset, then trees and references."""
    averages, methods, keys = results.averages, results.methods, ["dataset", "model", "encoding"]
    alphas = results.choices.groupby(keys)["alpha"].agg(_alpha_text).rename("alpha").reset_index()
    transformers = averages.merge(alphas, on=keys, how="left").assign(
        model=[model_label(model) for model in averages["model"]],
        encoding=[encoding_label(encoding) for encoding in averages["encoding"]],
        note=list(map(results.graph_note, averages["dataset"], averages["encoding"])),
    )
    parsed = list(map(Method.parse, methods["method"]))
    learners = methods.rename(columns={"sd": "test_sd"}).assign(
        model=[model_label(method.model) for method in parsed],
        encoding=[f"none, {DEFAULT if method.is_reference else TUNED}" for method in parsed],
        note="",
        alpha="",
    )[[method.model not in results.models for method in parsed]]
    filled = [frame for frame in (transformers, learners) if len(frame)]
    rows = pd.concat(filled or [transformers], ignore_index=True)
    return rows.reindex(columns=transformers.columns)  # trees alone have no improvement


def _alpha_text(alphas: pd.Series) -> str:
    """The chosen alpha, or those of several splits."""
    return ", ".join(f"{alpha:g}" for alpha in sorted(alphas.unique()))


def failures(results: Results) -> pd.DataFrame:
    """Jobs that did not end well, a line for those that share dataset, model and reason."""
    jobs = job_outcomes(results.scores)
    jobs = jobs.assign(
        model=jobs["model"].map(model_label),
        encoding=jobs["encoding"].map(encoding_label),
    )
    jobs = jobs[jobs["outcome"] != "ok"]
    grouped = jobs.groupby(["dataset", "model", "outcome", "reason"], sort=False, dropna=False)
    return grouped.agg(
        jobs=("encoding", "size"), encodings=("encoding", lambda names: "; ".join(names.unique()))
    ).reset_index()


def used_versions(results: Results) -> dict[str, str]:
    """Packages and devices that the runs name, each with every version that was used."""
    used: dict[str, set[str]] = {}
    for text in results.scores["versions"].dropna().unique():
        for package, version in json.loads(text).items():
            used.setdefault(package, set()).add(version)
    if devices := set(results.scores["device"].dropna()):
        used["devices"] = devices
    return {name: ", ".join(sorted(versions)) for name, versions in sorted(used.items())}


def _curve_panels(results: Results) -> list[dict[str, Any]]:
    """A small figure per dataset."""
    try:
        with plot.style():
            figures = draw_single_curves(results)
    except plot.NothingToDraw:
        return []
    return [
        {
            "dataset": dataset,
            "task": results.tasks[dataset],
            "svg": Markup(inline_svg(plot.svg_text(figure), f"curve-{number}")),
        }
        for number, (dataset, figure) in enumerate(figures.items())
    ]


def _curve_model(model: str) -> dict[str, str]:
    """A line of the legend of the curves."""
    place = TRANSFORMERS.index(model) % len(_DASHES)
    colour = _COLOURS[plot.SERIES[place]]
    return {"name": model_label(model), "colour": colour, "dashes": _DASHES[place]}


def inline_svg(svg: str, name: str) -> str:
    """An SVG file as part of a page: its size free, its ids its own, its colours the page's."""
    root = ElementTree.fromstring(svg)
    # Matplotlib's rule for all elements would reach the rest of the page.
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    values = [value for element in root.iter() for value in element.attrib.values()]
    used = {link.partition(")")[0] for value in values for link in value.split("#")[1:]}
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for key, value in element.items():
            element.set(key, _inline_attribute(key, value, name))
        if not (element.text or "").strip():
            element.text = None
        if not (element.tail or "").strip():
            element.tail = "\n"
    width = float(root.attrib.pop("width").removesuffix("pt")) * _POINT
    del root.attrib["height"]
    title = ALL_FIGURES[name].title if name in ALL_FIGURES else "Improvement over alpha"
    root.attrib |= {"style": f"--natural: {width:.0f}px", "role": "img", "aria-label": title}
    return ElementTree.tostring(root, encoding="unicode")


def _inline_attribute(key: str, value: str, name: str) -> str:
    """Ids and what refers to them with the name of the figure, colours as the page's variables."""
    if key == "id":
        return f"{name}-{value}"
    if key == f"{{{_XLINK}}}href":
        return f"#{name}-{value.removeprefix('#')}"
    for colour, variable in _COLOURS.items():
        value = value.replace(colour, f"var(--{variable})")
    return value.replace("url(#", f"url(#{name}-")


def _unless_missing(write: Callable[..., str]) -> Callable[..., str]:
    """The same format, and nothing for a number that is missing."""
    return lambda value, *about: write(value, *about) if np.isfinite(value) else ""
