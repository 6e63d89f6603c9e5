"""The package of docs/extending.md, installed in a folder as pip would do it."""

import re
import tomllib
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs/extending.md"


def guide_modules() -> dict[str, str]:
    """The modules of the guide, by path."""
    text = GUIDE.read_text("utf-8")
    return dict(re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text, re.S))


def guide_entry_points() -> dict[str, dict[str, str]]:
    """The entry points of the guide, by group."""
    toml = re.search(r"```toml\n(.*?)```", GUIDE.read_text("utf-8"), re.S)
    assert toml
    return tomllib.loads(toml[1])["project"]["entry-points"]


def install(
    folder: Path,
    name: str,
    modules: dict[str, str],
    entry_points: dict[str, dict[str, str]],
) -> None:
    """Write a package and what says that it is installed; `folder` goes to PYTHONPATH."""
    for path, text in modules.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, points in entry_points.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def install_guide(folder: Path) -> None:
    """Install the package of the guide."""
    install(folder, "tabpet-extras", guide_modules(), guide_entry_points())
