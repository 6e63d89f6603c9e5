"""What a study shows, in the forms in which it is shown: sentences, tables, figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tabpet.analysis.plot import Drawing, save_drawing
from tabpet.analysis.table import Table
from tabpet.names import EncodingName


@dataclass(frozen=True)
class Study:
    """A section of the page: the question, the answer, and the evidence."""

    name: str
    title: str
    lines: list[str]
    tables: tuple[Table, ...]
    drawings: Mapping[str, Drawing]

    def write(self, folder: Path) -> None:
        """Write every table and figure into `tables` and `figures` below a folder."""
        for table in self.tables:
            table.write(folder / "tables")
        for name, drawing in self.drawings.items():
            save_drawing(drawing, folder / "figures", name)


def random_control(encodings: Iterable[str]) -> str | None:
    """The random encoding, where it was trained."""
    return next((name for name in encodings if EncodingName.parse(name).control == "random"), None)
