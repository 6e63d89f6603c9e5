"""Things that must stay equal in several files, and what a checkout must not contain."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_versions() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {normalised(name): version for name, version in pairs}


def requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [normalised(re.split(r"[<>=\[]", entry)[0]) for entry in project["dependencies"]]


def test_conda_environment_has_the_locked_versions():
    environment = yaml.safe_load((ROOT / "envs/tabpet.yaml").read_text())
    [pip] = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    versions = {normalised(name): version for name, version in (line.split("==") for line in pip)}
    locked = locked_versions()
    assert versions == {name: locked[name] for name in requirements()}


def test_every_requirement_is_locked_without_local_suffix():
    locked = locked_versions()
    assert locked["torch"] == "2.13.0"
    assert set(requirements()) <= set(locked)
    assert not [version for version in locked.values() if "+" in version]


def test_one_version_number():
    import tabpet

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["version"] == tabpet.__version__ == citation["version"]
    assert f"## [{tabpet.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_what_the_snakefile_imports_is_light():
    code = (
        "import sys, tabpet.catalog, tabpet.config, tabpet.workflow; "
        "import tabpet.analysis.captions, tabpet.analysis.names; "
        "print([m for m in ('torch', 'numpy', 'pandas', 'openml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_links_in_the_documents_lead_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", document.read_text("utf-8")):
            if "://" not in link:
                assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_fidelity_notes_in_the_code_have_a_row_in_the_docs():
    fidelity = (ROOT / "docs/fidelity.md").read_text("utf-8")
    for path in (ROOT / "tabpet").rglob("*.py"):
        if "NOTE[" in path.read_text("utf-8"):
            assert path.relative_to(ROOT).as_posix() in fidelity, f"no row for {path}"
