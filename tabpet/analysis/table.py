"""A result table by declaration: columns over a data frame, as CSV, LaTeX and texts."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from tabpet import formats
from tabpet.analysis.captions import ALL_TABLES
from tabpet.files import write_text

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "±": r"$\pm$", "†": r"\dag{}", "–": "--", "−": "$-$", "×": r"$\times$", "≤": r"$\le$",
        "<": r"$<$", ">": r"$>$", "[": "{[}", "*": "{*}",
    }
)  # fmt: skip
HEAD = r"""%% %s. Needs \usepackage{booktabs,longtable,pdflscape} and A4 with margins of 2 cm.
\begin{landscape}
\setlength{\tabcolsep}{3pt}\setlength{\LTcapwidth}{\linewidth}
"""
GAP = r"@{\hspace{10pt}}"  # between groups of columns
MARKS = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}


@dataclass(frozen=True)
class Column:
    """What a column shows: a key of the frame, under a group and a heading, in a format.

    A format for several keys gets a value of each.
    """

    keys: tuple[str, ...]
    group: str
    heading: str
    format: Callable[..., str] = str

    def texts(self, frame: pd.DataFrame) -> list[str]:
        """The column as text, row by row."""
        return [self.format(*values) for values in zip(*(frame[k] for k in self.keys), strict=True)]


def declared(table: str, *groups: str) -> list[Column]:
    """The columns that `captions.yaml` declares for a table: all, or those of some groups."""
    columns = ALL_TABLES[table].columns
    return [
        Column(tuple(keys), group, heading, getattr(formats, form))
        for group in groups or columns
        for heading, (form, *keys) in columns[group].items()
    ]


def show(frame: pd.DataFrame, columns: Iterable[Column], corner: str = "") -> pd.DataFrame:
    """The texts of some columns under (group, heading), with the index of the frame."""
    texts = {(column.group, column.heading): column.texts(frame) for column in columns}
    names = pd.MultiIndex.from_tuples(list(texts), names=["", corner])
    return pd.DataFrame(dict(enumerate(texts.values())), frame.index).set_axis(names, axis=1)


def spread(
    frame: pd.DataFrame,
    across: str,
    columns: Mapping[str, Iterable[Column]],
    corner: str,
    label: Callable[[str], str] = str,
) -> pd.DataFrame:
    """Rows of a long frame beside each other: for every value of `across`, columns of its own.

    The index says which belong together; `label` is what people call its values.
    """
    rows = list(frame.index.unique())
    blocks = [
        show(frame[frame[across] == value].reindex(rows), its_columns, corner)
        for value, its_columns in columns.items()
    ]
    return pd.concat(blocks, axis=1).set_axis(list(map(label, rows)))


def panels_by(
    keys: list[str],
    frame: pd.DataFrame,
    columns: list[Column],
    corner: str,
    heading: Callable[..., str] = str,
) -> list["Panel"]:
    """A panel for every group of rows, in their order, under what is made of its keys."""
    groups = frame.groupby(keys, sort=False)
    return [Panel(show(rows, columns, corner), heading(*values)) for values, rows in groups]


def under(group: str, columns: Iterable[Column]) -> list[Column]:
    """The same columns under another group."""
    return [replace(column, group=group) for column in columns]


@dataclass(frozen=True)
class Panel:
    """One block of a table: texts under (group, heading), labels in the index.

    The name of the headings is that of the labels. `marks` has the shape of `texts` and holds
    `best`, `second` or nothing. The last `footer` rows are set apart by a line. LaTeX puts
    `beside` groups of columns beside each other and the others below, or else all.
    """

    texts: pd.DataFrame
    heading: str = ""
    marks: pd.DataFrame | None = None
    footer: int = 0
    beside: int | None = None

    def with_footer(self, texts: pd.DataFrame) -> "Panel":
        """The same with further rows; headings that these do not have are empty there."""
        added = texts.reindex(columns=self.texts.columns, fill_value="")
        marks = self.marks
        if marks is not None:
            marks = pd.concat([marks, added.map(lambda _: "")])
        footer = self.footer + len(added)
        return replace(self, texts=pd.concat([self.texts, added]), marks=marks, footer=footer)

    @property
    def corner(self) -> str:
        """The heading of the row labels."""
        return str(self.texts.columns.names[-1] or "")

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Neighbouring columns of the same group, with how many they are."""
        groups = itertools.groupby(self.texts.columns.get_level_values(0))
        return [(str(name), len(list(members))) for name, members in groups]

    def to_latex(self, caption: str, label: str) -> Iterator[str]:
        """Long tables, which LaTeX breaks over pages."""
        frame, widths = self._latex_texts(), [width for _, width in self.groups]
        most, start = self.beside or len(widths), 0
        for first in range(0, len(widths), most):
            beside = widths[first : first + most]
            texts = frame.iloc[:, start : start + sum(beside)]
            if not any(texts.columns.get_level_values(0)):
                texts = texts.droplevel(0, axis=1)
            yield texts.style.to_latex(
                environment="longtable",
                column_format=GAP.join(["l", *("r" * width for width in beside)]),
                hrules=True,
                multicol_align="c",
                caption=caption,
                label=f"{label}-from-{start + 1}" if start else label,
            )
            start += sum(beside)

    def _latex_texts(self) -> pd.DataFrame:
        """Escaped texts, marks as commands, and a line above the footer."""
        texts = self.texts.map(escape)
        if self.marks is not None:
            for mark, command in MARKS.items():
                marked = (self.marks == mark).to_numpy()
                texts = texts.mask(marked, texts.map(command.format))
        labels = [escape(str(label)) for label in texts.index]
        if self.footer:
            labels[-self.footer] = rf"\midrule {labels[-self.footer]}"
        names = [tuple(escape(str(text)) for text in pair) for pair in texts.columns]
        header = pd.MultiIndex.from_tuples(names, names=["", escape(self.corner)])
        return texts.set_axis(labels).set_axis(header, axis=1)


@dataclass(frozen=True)
class Table:
    """Panels below each other, or a reason in their place when there is nothing to show."""

    name: str
    caption: str
    data: pd.DataFrame
    panels: tuple[Panel, ...] = ()
    reason: str | None = None

    @classmethod
    def of(cls, name: str, data: pd.DataFrame, panels: Iterable[Panel], **words: str) -> "Table":
        """A table under its caption, with these words in it."""
        return cls(name, ALL_TABLES[name].text.format(**words), data, tuple(panels))

    @classmethod
    def empty(cls, name: str, reason: str) -> "Table":
        """A table whose input was not run."""
        return cls(name, "", pd.DataFrame({"reason": [reason]}), (), reason)

    @property
    def title(self) -> str:
        """What the table is about."""
        return ALL_TABLES[self.name].title

    def to_csv(self) -> str:
        """Full numbers, one header line; a missing number is an empty cell."""
        return self.data.to_csv(index=False, lineterminator="\n")

    def to_latex(self) -> str:
        """Booktabs in landscape: the caption, then a long table per panel."""
        if self.reason is not None:
            return f"\\emph{{{escape(self.title)}: {escape(self.reason)}}}\n"
        text = HEAD % self.title + f"\\noindent {escape(self.caption)}\\par\n\\scriptsize\n"
        for number, panel in enumerate(self.panels):
            heading = f" {escape(panel.heading)}." if panel.heading else ""
            label = f"tab:{self.name.replace('_', '-')}" + (f"-{number + 1}" if number else "")
            text += "".join(panel.to_latex(f"{escape(self.title)}.{heading}", label))
        return text + "\\end{landscape}\n"

    def write(self, folder: Path) -> None:
        """Write `<name>.csv` and `<name>.tex`."""
        write_text(self.to_csv(), folder / f"{self.name}.csv")
        write_text(self.to_latex(), folder / f"{self.name}.tex")


def escape(text: str) -> str:
    """Text for LaTeX."""
    return text.translate(LATEX)
