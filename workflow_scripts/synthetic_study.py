"""Write what the synthetic study found.

Reads: scores and edge recovery of both generators. Writes: tables as CSV and LaTeX, figures as SVG
with their numbers as CSV.
"""

from pathlib import Path

from tabpet.analysis.synthetic_study import load_synthetic_study
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    study = load_synthetic_study(Path("results/studies"), snakemake.params.level)
    for line in study.lines:
        log.info("%s", line)
    study.write(Path("results/studies/synthetic"))
