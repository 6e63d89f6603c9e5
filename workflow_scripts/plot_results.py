"""Draw every figure of the results.

Reads: `scores.parquet`, `tables/graphs.csv` (if there are graphs), `tables/datasets.csv`. Writes:
the figures that `tabpet.analysis.captions.FIGURES` lists, as SVG, and their numbers as CSV.
"""

from pathlib import Path

from tabpet.analysis.figures import draw_all
from tabpet.analysis.results import Results
from tabpet.settings import AnalysisSettings
from tabpet.workflow import run_job

with run_job(snakemake):
    results = Results.load(
        Path(snakemake.input.scores),
        AnalysisSettings.model_validate(snakemake.params.analysis),
        snakemake.params.abbreviations,
        graphs_path=next(map(Path, snakemake.input.graphs), None),
        datasets_path=Path(snakemake.input.datasets),
    )
    draw_all(results, Path(snakemake.output[0]).parent)
