"""Write what the effective-rank study found.

Reads: scores and effective ranks. Writes: tables as CSV and LaTeX, figures as SVG
with their numbers as CSV.
"""

from pathlib import Path

from tabpet.analysis.effective_rank_study import load_effective_rank_study
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    study = load_effective_rank_study(Path("results/studies"), snakemake.params.level)
    for line in study.lines:
        log.info("%s", line)
    study.write(Path("results/studies/effective_rank"))
