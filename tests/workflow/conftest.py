"""Runs snakemake as a user would, in an empty working directory."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@dataclass
class Outcome:
    code: int
    text: str

    @property
    def jobs(self) -> dict[str, int]:
        """Job counts of the plan, by rule."""
        table = re.search(r"Job stats:\n(?:.*\n){2}((?:\w+ +\d+\n)+)", self.text)
        pairs = (line.split() for line in table[1].splitlines()) if table else ()
        return {rule: int(count) for rule, count in pairs if rule != "total"}


class Workflow:
    """A working directory with a config of its own, and the sources that it is run with."""

    def __init__(self, folder: Path, sources: Path = ROOT, before: Sequence[str] = ()):
        self.folder, self.sources = folder, sources
        self.before = before  # a command that runs snakemake

    def configure(self, **settings) -> None:
        """Write the config; nothing is trained unless the test says so."""
        untrained = {"models": [], "learners": [], "references": []}
        (self.folder / "mine.yaml").write_text(yaml.safe_dump({**untrained, **settings}))

    def command(self, *arguments: str) -> list[str]:
        snakemake = Path(sys.executable).with_name("snakemake")
        return [
            *(*self.before, str(snakemake), "--snakefile", str(self.sources / "Snakefile")),
            *("--directory", str(self.folder), "--cores", "2"),
            *arguments,
        ]

    def environment(self) -> dict[str, str]:
        # A user's mirror, or a network, must not decide whether the tests pass.
        nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
        kept = {key: value for key, value in os.environ.items() if key != "TABPET_MIRROR"}
        return {**kept, **nowhere, "no_proxy": "127.0.0.1", "HOME": str(self.folder)}

    def run(self, *arguments: str, configfile: str | None = "mine.yaml") -> Outcome:
        chosen = ["--configfile", str(self.folder / configfile)] if configfile else []
        done = subprocess.run(
            self.command(*arguments, *chosen),
            env=self.environment(),
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=900,
        )
        return Outcome(done.returncode, done.stdout)


@pytest.fixture
def workflow(tmp_path) -> Workflow:
    return Workflow(tmp_path)
