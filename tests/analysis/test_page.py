"""The page: complete, self-contained, and usable in a real browser on a screen and on a phone."""

import os
import re
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from selenium.common.exceptions import SessionNotCreatedException
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from tabpet.analysis.captions import FIGURES
from tabpet.analysis.figures import draw_all
from tabpet.analysis.headline import headline
from tabpet.analysis.page import (
    failures,
    inline_svg,
    key_numbers,
    render_page,
    result_rows,
    used_versions,
)
from tabpet.analysis.results import Results
from tabpet.files import read_json
from tabpet.runs import Run, runs_frame, write_runs
from tests.analysis import grid, screenshots
from tests.analysis.screenshots import CHROMIUM, DRIVER, open_browser, resize
from tests.workflow.conftest import Workflow

SETTINGS = {"seeds": [1, 2, 3, 4, 5], "analysis": {"main_encoding": "spearman"}}
# Long names, tables with and without categories, one that fails and one that is cut short.
DATASETS = {
    "GesturePhaseSegmentationProcessed", "first-order-theorem-proving", "madeline", "credit-g",
    "concrete_compressive_strength", "diamonds", "munich-rent-index-1999", "cloud",
}  # fmt: skip


def write_page(results: Results, folder: Path) -> Path:
    draw_all(results, folder / "figures")
    svg = {path.stem: path.read_text("utf-8") for path in (folder / "figures").glob("*.svg")}
    page = folder / "index.html"
    page.write_text(render_page(results, headline(results), svg, SETTINGS), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def results() -> Results:
    runs = [run for run in grid.broken_runs() if run.dataset in DATASETS]
    return Results(runs_frame(runs), graphs=grid.graphs_frame(), datasets=grid.datasets_frame())


@pytest.fixture(scope="module")
def page(results, tmp_path_factory) -> Path:
    return write_page(results, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def empty_page(tmp_path_factory) -> Path:
    return write_page(Results(runs_frame([])), tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not (CHROMIUM.exists() and DRIVER.exists()):
        if os.environ.get("TABPET_REQUIRE_BROWSER"):
            pytest.fail(f"TABPET_REQUIRE_BROWSER is set, but {CHROMIUM} or {DRIVER} is missing")
        pytest.skip("Chromium and its driver are not installed")
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, page) -> Chrome:
    return show(browser, page, 1280)


def show(browser: Chrome, page: Path, width: int, **media: str) -> Chrome:
    """Open the page at a width, as a fresh reader with these media features would."""
    features = [
        {"name": "prefers-color-scheme", "value": media.get("scheme", "light")},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # a click must not meet a glide
    ]
    emulated = {"media": media.get("media", ""), "features": features}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    resize(browser, width, 900)
    browser.get(page.as_uri())
    wait(browser, lambda _: browser.execute_script("return document.readyState") == "complete")
    return browser


def wait(browser: Chrome, condition) -> None:
    WebDriverWait(browser, 20).until(condition)


def visible_rows(browser: Chrome) -> list[dict[str, str]]:
    """Data of the rows that a reader sees, in their order, with the improvement as it is sorted."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#results-table tbody tr')]"
        ".filter((row) => row.offsetHeight > 0)"
        ".map((row) => ({...row.dataset, value: row.cells[1].dataset.value}))"
    )


def heading(browser: Chrome, name: str) -> WebElement:
    path = f"//table[@id='results-table']//th[button[text()='{name}']]"
    return browser.find_element(By.XPATH, path)


def choose(browser: Chrome, name: str, text: str) -> None:
    Select(browser.find_element(By.NAME, name)).select_by_visible_text(text)


def test_it_holds_everything_and_asks_for_nothing(page, results):
    text = page.read_text("utf-8")
    for dataset in results.tasks:
        assert text.count(f'data-dataset="{dataset}"') > 1
    for words in ("8 GiB used", "cut after 600 s", "torch 2.13.0", "main_encoding: spearman"):
        assert words in text
    addresses = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(one.startswith(("#", "data:")) for one in addresses)
    assert "@import" not in text and "url(http" not in text
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert not re.search(r">\s*(nan|None|NaN)\s*<", text)


def test_what_people_type_stays_text():
    name = "<script>alert('$x$')</script>"
    runs = [
        Run(name, 1, "saint", "spearman", 1, "regression", alpha, 1.0, 2.0 - alpha)
        for alpha in (0.0, 1.0)
    ]
    runs.append(Run(name, 1, "saint", "pearson", 1, "regression", status="error", reason="<b>no"))
    results = Results(runs_frame(runs))
    figures = dict.fromkeys(FIGURES, MINIMAL_SVG)
    text = render_page(results, headline(results), figures, {"datasets": [name]})
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text and "&lt;b&gt;no" in text


def test_trees_alone_have_a_page():
    run = Run("d", 1, "xgboost", "tuned", 1, "regression", None, 2.0, 3.0)
    results = Results(runs_frame([run]))
    text = render_page(results, headline(results), dict.fromkeys(FIGURES, MINIMAL_SVG), {})
    assert '<th scope="row" title="d">d</th>' in text
    assert not re.search(r">\s*(nan|None|NaN)\s*<", text)


MINIMAL_SVG = (
    '<?xml version="1.0"?><svg xmlns:xlink="http://www.w3.org/1999/xlink" width="36pt" '
    'height="9pt" viewBox="0 0 36 9" xmlns="http://www.w3.org/2000/svg"><style>*{x: y}</style>'
    '<g id="figure_1"><path id="m1" style="fill: #1d2730"/><use xlink:href="#m1"/>'
    '<g clip-path="url(#p1)"/><clipPath id="p1"/></g></svg>'
)


def test_warnings_about_tables_stand_where_people_look(results):
    table = grid.datasets_frame().assign(warnings=None)
    table.loc[0, "warnings"] = "when: dates such as '2024-01-01' were read as <12> categories"
    blank = '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt" viewBox="0 0 9 9"/>'
    figures = dict.fromkeys(FIGURES, blank)
    told = render_page(replace(results, datasets=table), headline(results), figures, SETTINGS)
    name = table.loc[0, "dataset"]
    assert f"<li><strong>{name}</strong>: when: dates such as" in told and "&lt;12&gt;" in told
    silent = render_page(
        replace(results, datasets=table.assign(warnings="")), headline(results), figures, SETTINGS
    )
    assert "table-warnings" not in silent


def test_figures_become_part_of_the_page():
    svg = inline_svg(MINIMAL_SVG, "size")
    assert svg.startswith("<svg") and "<style" not in svg
    assert 'style="--natural: 48px"' in svg  # 36 points
    assert " width=" not in svg and 'id="figure_1"' not in svg
    assert 'id="size-m1"' in svg and 'href="#size-m1"' in svg
    assert "url(#size-p1)" in svg and 'id="size-p1"' in svg
    assert "fill: var(--ink)" in svg


def test_large_numbers_are_not_taken_for_the_oracles(results):
    labels = [label for _, label in key_numbers(results)]
    [random] = [label for label in labels if "random" in label]
    assert "alpha chosen on validation rows, 8 datasets (oracle +" in random
    assert sum("test rows" in label for label in labels) == 1


def test_the_large_p_value_says_what_it_was_corrected_for(results):
    labels = [label for _, label in key_numbers(results)]
    assert "Wilcoxon signed-rank, two-sided, corrected over 3 models" in labels


def test_pairs_come_before_ranks_and_the_mixed_model_says_why_there_is_none(page):
    text = page.read_text("utf-8")
    assert text.index('id="figure-comparison_matrix"') < text.index(
        'id="figure-critical_difference"'
    )
    assert (
        "No mixed model: 8 datasets with a size and a gain with Spearman encodings; 10 are needed."
        in text
    )


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([(1, 1), (2, 2), (3, 3)], "3 splits, each with a seed of its own."),
        ([(1, 1), (1, 2), (2, 1), (2, 2)], "2 splits, 2 seeds."),
        ([(42, 1)], "1 split, 1 seed."),
    ],
)
def test_it_says_how_often_everything_was_trained(pairs, words):
    runs = [
        Run("d", split, "saint", "spearman", seed, "regression", alpha, 1.0, 2.0 - alpha)
        for split, seed in pairs
        for alpha in (0.0, 1.0)
    ]
    split, seed = pairs[0]
    lost = Run("e", split, "saint", "spearman", seed, "regression", status="error", reason="no")
    results = Results(runs_frame([*runs, lost]))
    pictures = dict.fromkeys(FIGURES, MINIMAL_SVG)
    text = render_page(results, headline(results), pictures, {}, whereabouts="Over there.")
    assert f" {words}" in " ".join(text.split())
    assert "2 datasets (2 regression), 1 of them with results, 1 learner" in " ".join(text.split())
    assert "Over there.</p></footer>" in text
    only_base = Run("e", split, "saint", "spearman", seed, "regression", 0.0, 1.0, 2.0)
    results = Results(runs_frame([*runs, only_base]))
    text = render_page(results, headline(results), pictures, {}, whereabouts="")
    assert "2 datasets (2 regression), 1 learner" in " ".join(text.split())


def test_jobs_that_failed_alike_share_a_line(results):
    lines = failures(results).set_index(["dataset", "model", "outcome"])
    lost = lines.loc["madeline", "FT-Transformer", "oom"]
    assert lost[["reason", "jobs", "encodings"]].tolist() == ["8 GiB used", 1, "NOTEARS"]
    # Skipped with the main encoding and both controls, with five seeds each.
    skipped = lines.loc["madeline", "TabTransformer", "skipped"]
    assert (skipped["jobs"], skipped["encodings"].count(";")) == (15, 2)
    assert failures(Results(runs_frame(grid.small_runs(1)))).empty


def test_rows_of_the_page_hold_every_cell_and_every_learner(results):
    rows = result_rows(results)
    assert (
        len(rows)
        == len(results.averages)
        + (
            results.methods["method"].isin(
                ["xgboost", "xgboost-default", "catboost-default", "linear"]
            )
        ).sum()
    )
    assert set(rows["encoding"][rows["model"] == "Linear"]) == {"none, default"}
    assert rows["improvement"].notna().sum() == results.averages["improvement"].notna().sum()
    assert result_rows(Results(runs_frame([]))).empty


def test_versions_list_all_that_were_used():
    runs = [
        Run("d", 1, "xgboost", "tuned", seed, "regression", None, 1.0, 1.0, device="cpu",
            versions={"tabpet": "0.1.0", "xgboost": version})
        for seed, version in enumerate(["3.2.0", "3.1.0"])
    ]  # fmt: skip
    assert used_versions(Results(runs_frame(runs))) == {
        "devices": "cpu",
        "tabpet": "0.1.0",
        "xgboost": "3.1.0, 3.2.0",
    }


def test_it_renders_without_complaint_or_request(opened, results):
    verdict = opened.find_element(By.CLASS_NAME, "verdict")
    assert verdict.is_displayed()
    assert verdict.text.replace("\N{NO-BREAK SPACE}", " ") == headline(results).verdict.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    sizes = opened.execute_script(
        "return [...document.querySelectorAll('main > section:not(#graphs) svg')]"
        ".map((one) => one.getBoundingClientRect()).map((box) => [box.width, box.height])"
    )
    assert len(sizes) > 10 and np.min(sizes) > 5
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert opened.get_log("browser") == []


def test_sorting_goes_both_ways_and_keeps_missing_values_last(opened):
    choose(opened, "encoding", "all")
    header = heading(opened, "Improvement, %")
    assert header.get_attribute("aria-sort") == "none"
    for direction, sign in (("descending", -1), ("ascending", 1)):
        header.find_element(By.TAG_NAME, "button").click()
        assert header.get_attribute("aria-sort") == direction
        values = [row["value"] for row in visible_rows(opened)]
        known = [float(value) for value in values if value]
        assert known == sorted(known, key=lambda value: sign * value)
        assert 0 < len(known) < len(values)
        assert all(values[: len(known)])  # trees have none
    by_name = heading(opened, "Dataset")
    by_name.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert by_name.get_attribute("aria-sort") == "ascending"
    assert header.get_attribute("aria-sort") == "none"
    names = [row["dataset"].lower() for row in visible_rows(opened)]
    assert names == sorted(names)


def test_filters_choose_rows_and_curves(opened, results):
    spearman = results.averages[results.averages["encoding"] == "spearman"]
    assert len(visible_rows(opened)) == len(spearman)  # the main encoding, to begin with
    count = opened.find_element(By.CLASS_NAME, "count")
    assert count.text.startswith(f"{len(spearman)} of ")

    opened.find_element(By.NAME, "dataset").send_keys("CREDIT")
    wait(opened, lambda _: len(visible_rows(opened)) < len(spearman))
    assert {row["dataset"] for row in visible_rows(opened)} == {"credit-g"}
    panels = opened.find_elements(By.CLASS_NAME, "panel")
    shown = [one.get_attribute("data-dataset") for one in panels if one.is_displayed()]
    assert shown == ["credit-g"]

    choose(opened, "model", "SAINT")
    assert [row["model"] for row in visible_rows(opened)] == ["SAINT"]
    choose(opened, "task", "regression")
    assert visible_rows(opened) == []
    assert count.text.startswith("0 of ")

    opened.find_element(By.CSS_SELECTOR, ".filters [type=reset]").click()
    wait(opened, lambda _: len(visible_rows(opened)) == len(spearman))
    assert all(panel.is_displayed() for panel in panels)


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_no_width_needs_sideways_scrolling(browser, page, width):
    show(browser, page, width)
    browser.execute_script("document.querySelectorAll('details').forEach((one) => one.open = true)")
    assert browser.execute_script("return innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_reason_without_spaces_is_broken(opened):
    widths = opened.execute_script(
        "const cell = document.querySelector('#failures-table td.wrap:last-child');"
        "cell.textContent = 'x'.repeat(2000);"
        "const table = cell.closest('table');"
        "return [table.scrollWidth, table.parentElement.clientWidth]"
    )
    assert widths[0] <= widths[1]


def test_a_browser_that_does_not_come_up_is_started_again(monkeypatch, tmp_path):
    outcomes = [SessionNotCreatedException("too slow"), "browser"]
    profiles = []

    def start(options, service):
        profiles.append(options.arguments[-1])
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(screenshots, "Chrome", start)
    assert open_browser(tmp_path) == "browser"
    assert len(set(profiles)) == 2
    outcomes[:] = [SessionNotCreatedException("too slow")] * 2
    with pytest.raises(SessionNotCreatedException):
        open_browser(tmp_path)


def test_a_phone_shows_the_numbers_first(browser, page):
    show(browser, page, 375)
    box = browser.execute_script(
        "const row = document.querySelector('#results-table tbody tr:not([hidden])');"
        "return [row.cells[1].getBoundingClientRect().right,"
        " getComputedStyle(document.querySelector('.lines dd')).fontSize,"
        " document.querySelector('.filters select').getBoundingClientRect().height]"
    )
    right, font, height = box
    assert right <= 375
    assert float(font.removesuffix("px")) >= 16
    assert height >= 36


CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (rgb) => rgb.map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (node) => {
  for (let one = node; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return parse(colour);
  }
};
return arguments[0].map((selector) => {
  const node = document.querySelector(selector);
  const style = getComputedStyle(node);
  const ink = node.namespaceURI.endsWith('svg') ? style.fill : style.color;
  const pair = [light(parse(ink)), light(ground(node))].sort((a, b) => b - a);
  return [selector, (pair[0] + 0.05) / (pair[1] + 0.05)];
});
"""
INKS = [
    ".verdict", ".note", ".numbers dt", "nav a", "td.better", "td.worse", "td.oracle", "td small",
    "thead button", "figcaption span", ".drawing svg text", ".panel svg text",
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_the_light_and_in_the_dark(browser, page, scheme):
    show(browser, page, 1280, scheme=scheme)
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = np.mean([int(part) for part in re.findall(r"\d+", ground)[:3]])
    assert (brightness < 60) == (scheme == "dark")
    ratios = dict(browser.execute_script(CONTRAST, INKS))
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


def test_paper_gets_whole_tables_and_opened_parts(browser, page):
    show(browser, page, 1280, media="print")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    state = browser.execute_script(
        "return {nav: document.querySelector('nav').offsetHeight,"
        " height: getComputedStyle(document.querySelector('.scroll.tall')).maxHeight,"
        " closed: document.querySelectorAll('details:not([open])').length}"
    )
    assert state == {"nav": 0, "height": "none", "closed": 0}


def test_a_run_without_results_still_has_a_page(browser, empty_page):
    show(browser, empty_page, 375)
    assert browser.find_element(By.CLASS_NAME, "verdict").text.startswith("No answer yet")
    assert "No run has finished." in browser.find_element(By.ID, "results").text
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 375
    assert browser.get_log("browser") == []


def test_rules_write_the_page_and_a_report_that_needs_no_network(tmp_path):
    runs = grid.small_runs(1)
    names = sorted({run.dataset for run in runs})
    tables = tmp_path / "results" / "tables"
    tables.mkdir(parents=True)
    write_runs(runs, tmp_path / "results" / "scores.parquet")
    for name, frame in {"graphs": grid.graphs_frame(), "datasets": grid.datasets_frame()}.items():
        frame[frame["dataset"].isin(names)].to_csv(tables / f"{name}.csv", index=False)
    workflow = Workflow(tmp_path)
    workflow.configure(datasets=names, graphs=["spearman"])
    targets = ("results/summary/index.html", "results/tables/main.csv")
    rules = ("--allowed-rules", "tabulate_results", "plot_results", "write_page")

    first = workflow.run(*targets, *rules)
    assert first.code == 0, first.text
    told = read_json(tmp_path / "results/summary/headline.json")
    assert told["verdict"].startswith("Too few datasets to tell: ")
    assert told["verdict"] in (tmp_path / "results/summary/index.html").read_text("utf-8")

    report = workflow.run(*targets, "--report", "report.zip", *rules)
    assert report.code == 0, report.text
    with ZipFile(tmp_path / "report.zip") as archive:
        held = {Path(name).name for name in archive.namelist()}
        text = archive.read("report/report.html").decode("utf-8")
    assert held >= {"index.html", "main.csv", *(f"{name}.svg" for name in FIGURES)}
    assert "Which methods can be told apart?" in text
