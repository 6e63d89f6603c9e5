"""Write the page about a run, and its headline.

Reads: `scores.parquet`, `tables/graphs.csv` (if there are graphs), `tables/datasets.csv`, all
figures. Writes: `summary/index.html`, one self-contained file, and `summary/headline.json` (the
verdict and the lines below it).
"""

from dataclasses import asdict
from pathlib import Path

from tabpet.analysis.headline import headline
from tabpet.analysis.page import render_page
from tabpet.analysis.results import Results
from tabpet.files import write_json, write_text
from tabpet.settings import AnalysisSettings
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    settings = snakemake.params.settings
    results = Results.load(
        Path(snakemake.input.scores),
        AnalysisSettings.model_validate(settings["analysis"]),
        snakemake.params.abbreviations,
        graphs_path=next(map(Path, snakemake.input.graphs), None),
        datasets_path=Path(snakemake.input.datasets),
    )
    found = headline(results)
    log.info("%s", found.verdict)
    figures = {Path(path).stem: Path(path).read_text("utf-8") for path in snakemake.input.figures}
    write_text(render_page(results, found, figures, settings), Path(snakemake.output.page))
    write_json(asdict(found), Path(snakemake.output.headline))
