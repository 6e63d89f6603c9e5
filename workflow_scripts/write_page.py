"""Write the page about a run, and its headline.

Reads: `scores.parquet`, `tables/graphs.csv` (if there are graphs), `tables/datasets.csv`, all
figures, and what the studies in `params.studies` found. Writes: `summary/index.html`, one
self-contained file, and `summary/headline.json` (the verdict and the lines below it).
"""

from dataclasses import asdict
from pathlib import Path

from tabpet.analysis.effective_rank_study import load_effective_rank_study
from tabpet.analysis.headline import headline
from tabpet.analysis.page import render_page
from tabpet.analysis.results import Results
from tabpet.analysis.synthetic_study import load_synthetic_study
from tabpet.files import write_json, write_text
from tabpet.settings import AnalysisSettings
from tabpet.workflow import run_job

LOADERS = {"synthetic": load_synthetic_study, "effective_rank": load_effective_rank_study}

with run_job(snakemake) as log:
    settings = snakemake.params.settings
    results = Results.load(
        Path(snakemake.input.scores),
        AnalysisSettings.model_validate(settings["analysis"]),
        snakemake.params.abbreviations,
        graphs_path=next(map(Path, snakemake.input.graphs), None),
        datasets_path=Path(snakemake.input.datasets),
    )
    summary = headline(results)
    log.info("%s", summary.verdict)
    figures = {Path(path).stem: Path(path).read_text("utf-8") for path in snakemake.input.figures}
    level = results.settings.level
    studies = [LOADERS[name](Path("results/studies"), level) for name in snakemake.params.studies]
    page = render_page(results, summary, figures, settings, studies)
    write_text(page, Path(snakemake.output.page))
    write_json(asdict(summary), Path(snakemake.output.headline))
