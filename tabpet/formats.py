"""How numbers are written, in tables, on the page, in figures and in sentences."""

import math
from functools import partial

NOTHING = "–"
TINY = 1e-6  # scores below it are written in scientific form
SPACE = "\N{NO-BREAK SPACE}"


def _fixed(value: float, decimals: int, sign: str = "") -> str:
    """So many decimals, with a real minus sign and never a negative zero."""
    return f"{value:{sign}z.{decimals}f}".replace("-", "−")


def number(value: float, decimals: int = 2) -> str:
    """A plain number."""
    return _fixed(value, decimals) if math.isfinite(value) else NOTHING


whole, tenths, number3, number4 = (partial(number, decimals=n) for n in (0, 1, 3, 4))
text = str  # as it is


def percent(value: float) -> str:
    """A change in percent, with its sign unless it is zero to two decimals."""
    return _fixed(value, 2, "+").replace("+0.00", "0.00") if math.isfinite(value) else NOTHING


def noted_percent(value: float, note: str) -> str:
    """The same with a sign for what is to be known of the graph behind it."""
    return percent(value) + {"empty graph": "*", "cut graph": "†"}.get(note, "")


def verdict_sign(verdict: str) -> str:
    """How a score of this run stands beside the paper's."""
    return {"within": "=", "better": "+", "worse": "−"}.get(verdict, "")


def percent_words(value: float) -> str:
    """A change with its unit, for a sentence."""
    return f"{percent(value)}{SPACE}%" if math.isfinite(value) else "unknown"


def share(value: float) -> str:
    """A share in whole percent, with a digit more where it is not whole."""
    return number(value, 0 if not math.isfinite(value) or abs(value - round(value)) < 0.05 else 1)


def p_value(p: float) -> str:
    """A p-value: three decimals, or scientific when small."""
    if not math.isfinite(p):
        return NOTHING
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def p_words(p: float, relation: str = "=") -> str:
    """A p-value for a sentence; `relation` may say that it is the largest of several."""
    if not math.isfinite(p):
        return f"p{SPACE}unknown"
    return f"p{SPACE}<{SPACE}0.0001" if p < 1e-4 else f"p{SPACE}{relation}{SPACE}{p_value(p)}"


def score(value: float, decimals: int = 3) -> str:
    """A score with so many decimals, more for small ones so that three digits are left."""
    if not math.isfinite(value):
        return NOTHING
    if 0 < abs(value) < TINY:
        return f"{value:.2e}"
    if value:
        decimals = max(decimals, 2 - math.floor(math.log10(abs(value))))
    return number(value, 1 if abs(value) >= 1000 else decimals)


def score_of(value: float, task: str) -> str:
    """A score with the digits that its metric needs."""
    if task == "classification":
        return f"{value:.4f}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def with_deviation(value: float, deviation: float) -> str:
    """A score with its standard deviation, if there is one."""
    shown = score(value, 4)
    if not (math.isfinite(value) and math.isfinite(deviation)):
        return shown
    if "e" in shown:
        return f"{shown}±{deviation:.1e}"
    return f"{shown}±{deviation:.{len(shown.partition('.')[2])}f}"


def interval(low: float, high: float) -> str:
    """An interval, or nothing where there is none."""
    known = math.isfinite(low) and math.isfinite(high)
    return f"[{number(low)}, {number(high)}]" if known else NOTHING


def narrow_interval(low: float, high: float, decimals: int = 1) -> str:
    """An interval in few characters."""
    known = math.isfinite(low) and math.isfinite(high)
    return f"{number(low, decimals)}–{number(high, decimals)}" if known else NOTHING


def slashed(*counts: int) -> str:
    """Counts beside each other."""
    return "/".join(map(str, counts))


def used(datasets: int, missing: int) -> str:
    """How many datasets were used, and of how many where some are missing."""
    return f"{datasets}/{datasets + missing}" if missing else f"{datasets}"


def count(n: int, noun: str) -> str:
    """`1 dataset`, `50 datasets`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def tick(value: float) -> str:
    """A number beside an axis: with its sign, and no more digits than it needs."""
    return "0" if value == 0 else f"{value:+,g}".replace("-", "−")


def duration(hours: float) -> str:
    """A time in the unit that suits it."""
    if hours >= 1:
        return f"{hours:,.1f} h"
    return f"{hours * 60:.1f} min" if hours >= 1 / 60 else f"{hours * 3600:.1f} s"
