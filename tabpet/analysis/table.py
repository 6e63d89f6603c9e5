"""A result table: full numbers for CSV, short cells for people, and LaTeX that fits a page."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tabpet.files import write_text

NOTHING = "–"
TINY = 1e-6  # scores below it are written in scientific form
# Landscape A4 with margins of 2 cm, in points, less the lines of a caption.
PAGE_WIDTH, PAGE_HEIGHT, CAPTION_HEIGHT = 731, 483, 70
COLUMN_GAP = 6  # points, twice \tabcolsep
EXTRA_ROWS, MORE_ROWS = 3, 2  # headings and rules of a block, and of each of its pieces
ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "†": r"\dag{}", "–": "--", "×": r"$\times$", "≤": r"$\le$",
    "<": r"$<$", ">": r"$>$",
}  # fmt: skip


class Font(NamedTuple):
    """A size of LaTeX, with the points of a character (digits, capitals) and of a line."""

    name: str
    character: float
    line: float


FONTS = (Font("small", 5.0, 11.0), Font("footnotesize", 4.6, 9.5), Font("scriptsize", 4.3, 8.0))


@dataclass(frozen=True)
class Part:
    """One block of a table: text cells under headings, a frame's index holds the row labels.

    Headings of two levels are pairs (group, name). `marks` has the shape of `cells` and holds
    `best`, `second` or nothing. The last `footer` rows are set apart by a line.
    """

    cells: pd.DataFrame
    heading: str = ""
    marks: pd.DataFrame | None = None
    footer: int = 0

    @property
    def corner(self) -> str:
        """The heading of the row labels."""
        return str(self.cells.index.name or "")


@dataclass(frozen=True)
class Table:
    """A table of the results, or a reason in its place when there is nothing to show."""

    name: str
    title: str
    caption: str
    data: pd.DataFrame
    parts: tuple[Part, ...] = ()
    reason: str | None = None

    @classmethod
    def empty(cls, name: str, title: str, reason: str) -> "Table":
        """A table whose input was not run."""
        return cls(name, title, "", pd.DataFrame({"reason": [reason]}), (), reason)

    def to_csv(self) -> str:
        """Full numbers, one header line; a missing number is an empty cell."""
        return self.data.to_csv(index=False, lineterminator="\n")

    def to_latex(self) -> str:
        """Blocks of booktabs, each of which fits a landscape A4 page."""
        head = f"% {self.title}. For landscape A4; needs \\usepackage{{booktabs}}.\n"
        if self.reason is not None:
            return head + f"\\emph{{{escape(self.title)}: {escape(self.reason)}}}\n"
        blocks = enumerate(paginate(self.parts))
        return head + "\n".join(_latex_block(self, block, number) for number, block in blocks)

    def write(self, folder: Path) -> None:
        """Write `<name>.csv` and `<name>.tex`."""
        write_text(self.to_csv(), folder / f"{self.name}.csv")
        write_text(self.to_latex(), folder / f"{self.name}.tex")


@dataclass(frozen=True)
class Block:
    """What stands on one page: slices of parts with the same columns, in a font that fits."""

    pieces: tuple[Part, ...]
    font: Font
    width: float  # estimated, in points

    @property
    def height(self) -> float:
        """Estimated height in points, with the caption."""
        rows = sum(len(piece.cells) + MORE_ROWS for piece in self.pieces)
        return (rows + EXTRA_ROWS) * self.font.line + CAPTION_HEIGHT


def paginate(parts: Iterable[Part]) -> list[Block]:
    """Cut parts into blocks that fit a page, and let small ones with the same columns share one."""
    blocks: list[Block] = []
    for part in parts:
        for block in _cut(part):
            joined = _join(blocks[-1], block) if blocks else None
            blocks = [*blocks[:-1], joined] if joined else [*blocks, block]
    return blocks


def _join(above: Block, below: Block) -> Block | None:
    """Both blocks as one, if they have the same columns and still fit."""
    if not above.pieces[0].cells.columns.equals(below.pieces[0].cells.columns):
        return None
    font = min(above.font, below.font, key=lambda one: one.line)
    block = Block((*above.pieces, *below.pieces), font, max(above.width, below.width))
    return block if block.height <= PAGE_HEIGHT else None


def _cut(part: Part) -> Iterator[Block]:
    """Blocks of one part: cut by groups of columns, then by rows."""
    fitting = [f for f in FONTS if _width(part, part.cells.columns, f.character) <= PAGE_WIDTH]
    font = fitting[0] if fitting else FONTS[-1]
    rows = int((PAGE_HEIGHT - CAPTION_HEIGHT) / font.line) - EXTRA_ROWS - MORE_ROWS
    for columns in _column_slices(part, font.character):
        for start in range(0, len(part.cells), rows):
            cut = slice(start, start + rows)
            piece = Part(
                part.cells[columns].iloc[cut],
                part.heading,
                None if part.marks is None else part.marks[columns].iloc[cut],
                part.footer if start + rows >= len(part.cells) else 0,
            )
            yield Block((piece,), font, _width(part, columns, font.character))


def _column_slices(part: Part, character: float) -> Iterator[list]:
    """Columns for one page after the other; a group of columns stays together."""
    taken: list = []
    for group in _column_groups(part.cells.columns):
        if taken and _width(part, [*taken, *group], character) > PAGE_WIDTH:
            yield taken
            taken = []
        taken = [*taken, *group]
    yield taken


def _column_groups(columns: pd.Index) -> list[list]:
    """Neighbouring columns with the same group; a column without groups stands alone."""
    if columns.nlevels == 1:
        return [[column] for column in columns]
    return [list(group) for _, group in itertools.groupby(columns, key=lambda pair: pair[0])]


def _width(part: Part, columns: Sequence | pd.Index, character: float) -> float:
    """Estimated width of some columns with the row labels, in points."""
    labels = [part.corner, *map(str, part.cells.index)]
    widths = [max(map(len, labels))]
    for column in columns:
        name = column[-1] if isinstance(column, tuple) else column
        widths.append(max([len(str(name)), *map(len, part.cells[column])]))
    return sum(width * character + COLUMN_GAP for width in widths)


def _latex_block(table: Table, block: Block, number: int) -> str:
    first, several = block.pieces[0], len(block.pieces) > 1
    caption = escape(f"{table.title}. {table.caption}" if number == 0 else f"{table.title}.")
    if first.heading and not several:
        caption += rf" \emph{{{escape(first.heading)}}}."
    if number:
        caption += f" (part {number + 1})"
    label = f"tab:{table.name.replace('_', '-')}" + (f"-{number + 1}" if number else "")
    columns = first.cells.shape[1]
    lines = [
        r"\begin{table}[p]",
        rf"\centering\{block.font.name}",
        rf"\setlength{{\tabcolsep}}{{{COLUMN_GAP // 2}pt}}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{l{'r' * columns}}}",
        r"\toprule",
        *_latex_headings(first),
    ]
    for piece in block.pieces:
        lines.append(r"\midrule")
        if several:
            heading = escape(piece.heading)
            lines.append(rf"\multicolumn{{{columns + 1}}}{{l}}{{\emph{{{heading}}}}} \\")
        lines.extend(_latex_rows(piece))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_headings(part: Part) -> list[str]:
    columns = list(part.cells.columns)
    if not part.cells.columns.nlevels > 1:
        return [_latex_row(part.corner, [escape(str(name)) for name in columns])]
    groups = _column_groups(part.cells.columns)
    top = [rf"\multicolumn{{{len(group)}}}{{c}}{{{escape(group[0][0])}}}" for group in groups]
    rules, start = [], 2
    for group in groups:
        if group[0][0]:
            rules.append(rf"\cmidrule(lr){{{start}-{start + len(group) - 1}}}")
        start += len(group)
    names = [escape(str(column[1])) for column in columns]
    return [_latex_row("", top), "".join(rules), _latex_row(part.corner, names)]


def _latex_rows(part: Part) -> Iterator[str]:
    commands = {"best": r"\textbf", "second": r"\underline"}
    for place, (label, row) in enumerate(part.cells.iterrows()):
        if part.footer and place == len(part.cells) - part.footer:
            yield r"\midrule"
        texts = []
        for position, cell in enumerate(row):
            mark = "" if part.marks is None else part.marks.iloc[place, position]
            text, command = escape(cell), commands.get(str(mark))
            texts.append(f"{command}{{{text}}}" if command else text)
        yield _latex_row(str(label), texts)


def _latex_row(label: str, cells: list[str]) -> str:
    return " & ".join([escape(label), *cells]) + r" \\"


def make_part(
    labels: Sequence[str],
    corner: str,
    columns: Mapping[tuple[str, str], Iterable[str]],
    heading: str = "",
    footer: int = 0,
) -> Part:
    """A part from its columns, given as texts under (group, name)."""
    texts = [list(column) for column in columns.values()]
    frame = pd.DataFrame(
        dict(enumerate(texts)),
        index=pd.Index(list(labels), name=corner),
    )
    frame.columns = pd.MultiIndex.from_tuples(list(columns))
    return Part(frame, heading, footer=footer)


def escape(text: str) -> str:
    """Text for LaTeX."""
    return "".join(ESCAPES.get(character, character) for character in text)


def score_text(value: float, decimals: int = 3) -> str:
    """A score with so many decimals, more for small ones so that three digits are left."""
    if not np.isfinite(value):
        return NOTHING
    if 0 < abs(value) < TINY:
        return f"{value:.2e}"
    if value:
        decimals = max(decimals, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{1 if abs(value) >= 1000 else decimals}f}"


def spread_text(value: float, spread: float, decimals: int = 4) -> str:
    """A score with its standard deviation, if there is one."""
    if not np.isfinite(value) or not np.isfinite(spread):
        return score_text(value, decimals)
    text = score_text(value, decimals)
    if "e" in text:
        return f"{text}±{spread:.1e}"
    return f"{text}±{spread:.{len(text.partition('.')[2])}f}"


def percent_text(value: float, decimals: int = 2) -> str:
    """A change in percent, with its sign unless it is zero to these decimals."""
    if not np.isfinite(value):
        return NOTHING
    text = f"{value:+.{decimals}f}"
    return text if float(text) else text[1:]


def share_text(value: float) -> str:
    """A share in whole percent, with a digit more where it is not whole."""
    if not np.isfinite(value):
        return NOTHING
    return f"{value:.0f}" if abs(value - round(value)) < 0.05 else f"{value:.1f}"


def p_text(value: float) -> str:
    """A p-value: three decimals, or scientific when small."""
    if not np.isfinite(value):
        return NOTHING
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"


def interval_text(low: float, high: float, decimals: int = 2) -> str:
    """An interval, or nothing where there is none."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return NOTHING
    return f"[{low:z.{decimals}f}, {high:z.{decimals}f}]"


def range_text(low: float, high: float, decimals: int = 1) -> str:
    """An interval in few characters, for narrow columns."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return NOTHING
    return f"{low:z.{decimals}f}–{high:z.{decimals}f}"


def number_text(value: float, decimals: int = 2) -> str:
    """A plain number."""
    return f"{value:z.{decimals}f}" if np.isfinite(value) else NOTHING
