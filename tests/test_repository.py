"""Things that must stay equal in several files, and what a checkout must not contain."""

import configparser
import importlib.util
import pkgutil
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
    entries = [*project["dependencies"], *project["optional-dependencies"]["workflow"]]
    return [normalised(re.split(r"[<>=\[]", entry)[0]) for entry in entries]


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
        "import sys, tabpet.catalog, tabpet.settings, tabpet.workflow; "
        "import tabpet.analysis.captions; "
        "heavy = {'torch', 'scipy', 'pandas', 'openml', 'sklearn', 'xgboost', 'optuna'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_links_in_the_documents_lead_somewhere():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", document.read_text("utf-8")):
            if "://" not in link:
                assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_targets_stand_before_the_config_files():
    """What follows `--configfile` up to the next option is read as a config file."""
    for file in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("configs/*.yaml")]:
        lines = re.sub(r"\n#? *", " ", file.read_text("utf-8"))
        for command in re.findall(r"snakemake [^`]*?--configfile ([\w/. -]+?)(?= --|`|$)", lines):
            wrong = [word for word in command.split() if not word.endswith((".yaml", "..."))]
            assert not wrong, f"{file.name}: {command}"


def make_commands(target: str) -> list[str]:
    """The commands of a target, as make would run them in a checkout that is set up."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert recipe, f"the Makefile has no target {target}"
    return [line.strip().removeprefix("@") for line in recipe[1].splitlines()]


def make_targets(text: str) -> list[str]:
    """The targets of `make ...` in a script or in the code of a document."""
    return re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M)


def test_pre_commit_runs_the_commands_of_make_lint_with_the_projects_tools():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    [source] = config["repos"]
    assert source["repo"] == "local"  # no versions beside those of the lock file
    hooks = source["hooks"]
    assert [hook["entry"] for hook in hooks] == [
        f".venv/bin/{command}" for command in make_commands("lint")
    ]
    # Each looks at the whole checkout, as make does, whenever a file that concerns it changed.
    assert not [hook["id"] for hook in hooks if hook["pass_filenames"]]


def test_pre_commit_hooks_see_the_files_that_concern_them():
    [source] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    triggers = {hook["id"]: re.compile(hook["files"]) for hook in source["hooks"]}

    def woken(path: str) -> set[str]:
        assert (ROOT / path).exists(), path
        return {name for name, pattern in triggers.items() if pattern.search(path)}

    python = {"ruff-check", "ruff-format", "mypy", "lint-imports"}
    assert woken("tabpet/data/fetch.py") == python
    assert woken("pyproject.toml") == python - {"lint-imports"}
    assert woken("Snakefile") == woken("rules/data.smk") == {"snakefmt", "snakemake-lint"}
    assert woken(".importlinter") == {"lint-imports"}
    assert woken("README.md") == set()


def test_github_runs_what_a_submission_must_pass_on_every_supported_python():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    [job] = workflow["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    script = ROOT / commands[0]
    assert commands == [".ci/run"]
    assert script.stat().st_mode & 0o100
    assert make_targets(script.read_text()) == ["test", "test-slurm", "lint"]
    pythons = job["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={pythons[0]}"
    # Text, or YAML would make 3.10 of a later list the number 3.1.
    assert all(isinstance(version, str) for version in pythons)


def test_contributing_names_targets_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(make_targets(text))
    submitted = make_targets((ROOT / ".ci/run").read_text())
    assert {*submitted, "docs"} <= named
    assert all(make_commands(target) for target in named)


def test_fidelity_notes_in_the_code_have_a_row_in_the_docs():
    fidelity = (ROOT / "docs/fidelity.md").read_text("utf-8")
    for path in (ROOT / "tabpet").rglob("*.py"):
        if "NOTE[" in path.read_text("utf-8"):
            assert path.relative_to(ROOT).as_posix() in fidelity, f"no row for {path}"


def test_the_walk_through_the_code_exists_and_goes_one_way():
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    section = text.partition("from its catalog row to the verdict")[2].partition("\n## ")[0]
    walk = re.findall(r"^\d+\. `([\w.]+)`", section, re.M)
    assert len(walk) > 10
    for name in re.findall(r"`(tabpet\.[\w.]+)`", section):  # those beside the way as well
        assert callable(pkgutil.resolve_name(name)), name
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    layers = config["importlinter:contract:stages"]["layers"].split("\n")[::-1]
    height = {
        module.strip(): depth for depth, layer in enumerate(layers) for module in layer.split("|")
    }
    depths = [height[name.split(".")[1]] for name in walk]
    assert depths == sorted(depths)


def test_the_table_of_modules_names_every_part_of_the_package_and_nothing_else():
    import tabpet

    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    table = text.partition("## Modules")[2].partition("\n## ")[0]
    named = set()
    for cell in re.findall(r"^\| (`[^|]+) \|", table, re.M):
        names = re.findall(r"`([\w.]+)`", cell)
        parent = names[0].rpartition(".")[0]  # `tabpet.data.fetch`, `.card`
        named |= {parent + name if name.startswith(".") else name for name in names}
    for name in named:
        assert importlib.util.find_spec(name), name
    parts = {module.name for module in pkgutil.iter_modules(tabpet.__path__)}
    assert parts == {name.split(".")[1] for name in named}
