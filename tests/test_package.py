"""The package as people install it: light, lazy, and what it declares is what it imports."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUN_ONLY = {
    "pygments": "snakemake's report",
    "snakemake-executor-plugin-slurm": "found by snakemake",
    "snakemake-logger-plugin-rich": "found by snakemake",
}
FIT = """
import numpy as np, pandas as pd, sys
from tabpet import TabPETClassifier, TabPETRegressor, encode, estimate_graph
X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40) % 7, "c": list("uv") * 20})
tiny = dict(width=16, depth=1, n_heads=2, epochs=1, alphas=(0.5,), random_state=0)
model = TabPETClassifier(**tiny).fit(X, X["c"])
model.save("m.safetensors")
assert (TabPETClassifier.load("m.safetensors").predict(X) == model.predict(X)).all()
for plot in (model.plot_graph, model.plot_encoding, model.plot_history, model.plot_alphas):
    plot()
try:
    TabPETRegressor(graph="lingam", **tiny).fit(X, X["a"])
except ValueError as error:
    print(error)
print(sorted({"snakemake", "xgboost", "lingam", "optuna", "openml"} & set(sys.modules)))
"""


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(entries: list[str]) -> set[str]:
    return {normalised(re.split(r"[<>=\[ ]", entry)[0]) for entry in entries}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder outside the checkout with the wheel's content."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "tabpet", source / "tabpet")  # a build leaves folders behind
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = ["wheel", ".", "--no-deps", "--no-build-isolation", "-qq", "-w", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *build], cwd=source, check=True)
    [wheel] = folder.glob("*.whl")
    site = folder / "site"
    zipfile.ZipFile(wheel).extractall(site)
    return site


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess:
    """The installed package in a folder of its own, where only the core's packages are."""
    work = installed.parent / "work"
    work.mkdir(exist_ok=True)
    script = [sys.executable, str(ROOT / "tests/core_only.py"), str(installed)]
    environment = {"PATH": "", "HOME": str(work), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.run(
        [*script, *arguments], cwd=work, capture_output=True, text=True, env=environment
    )


def test_estimators_need_the_core_alone(installed):
    done = run(installed, "-c", FIT)
    assert done.returncode == 0, done.stderr
    missing, imported = done.stdout.splitlines()
    assert "LiNGAM needs lingam, which is not installed: pip install 'tabpet[workflow]'" in missing
    assert imported == "[]"


def test_catalog_and_version_are_in_the_package(installed):
    done = run(installed, "tabpet", "datasets", "@demo")
    assert done.returncode == 0, done.stderr
    assert "demo-wine" in done.stdout and "6 datasets" in done.stdout
    assert run(installed, "tabpet", "--version").stdout.strip() == f"tabpet {PROJECT['version']}"


def test_a_file_gets_its_answer(installed):
    work = installed.parent / "work"
    work.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "y"])
    frame.to_csv(work / "t.csv", index=False)
    options = ["t.csv", "--target", "y", "--splits", "1", "--minutes", "10000"]
    done = run(installed, "tabpet", "try", *options)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "can't tell whether encodings help" in text
    assert "without xgboost and catboost: pip install 'tabpet[workflow]' adds trees" in text
    assert (work / "t.tabpet.html").is_file()


LOADED = """
import sys
before = set(sys.modules)
import tabpet
packages = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(packages - sys.stdlib_module_names))
"""


def test_import_is_quick_because_it_loads_no_other_package():
    command = [sys.executable, "-c", LOADED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tabpet']"


def test_every_public_name_is_there_and_documented():
    import tabpet

    for name in tabpet.__all__:
        assert getattr(tabpet, name).__doc__ and f"`{name}`" in tabpet.__doc__, name
    assert set(tabpet.__all__) <= set(dir(tabpet))
    with pytest.raises(AttributeError, match="no attribute 'TabPet'"):
        tabpet.TabPet  # noqa: B018


def imported_packages() -> set[str]:
    """Distributions that the package, its rules and scripts import, also by `need`."""
    modules = set()
    for path in [*(ROOT / "tabpet").rglob("*.py"), *(ROOT / "workflow_scripts").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules.add(str(node.module))
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "need":
                modules.add(node.args[0].value if isinstance(node.args[0], ast.Constant) else "os")
    for path in [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]:
        modules |= set(re.findall(r"^(?:from|import) (\w+)", path.read_text("utf-8"), re.M))
    owners = packages_distributions()
    tops = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    return {normalised(owners[top][0]) for top in tops - {"tabpet"}}


def test_what_is_imported_is_declared_and_the_other_way_round():
    extras = PROJECT["optional-dependencies"]
    expected = declared(PROJECT["dependencies"]) | declared(extras["workflow"])
    # pydantic comes in two distributions.
    assert imported_packages() - {"pydantic-core"} == expected - set(RUN_ONLY)


def test_versions_are_ranges_that_admit_the_locked_torch():
    assert not [entry for entry in PROJECT["dependencies"] if "==" in entry]
    [torch] = [entry for entry in PROJECT["dependencies"] if entry.startswith("torch")]
    assert "torch==2.13.0" in (ROOT / "requirements.lock").read_text().splitlines()
    assert torch == "torch>=2.6"
