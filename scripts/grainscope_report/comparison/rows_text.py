"""A compared row as cells of a table."""

from collections.abc import Sequence

from grainscope_report import statistics
from grainscope_report.comparison.joined import Row
from grainscope_report.comparison.questions import MEASURED, Answer
from grainscope_report.terminal import Column
from grainscope_report.units import format_rate, format_time

COLUMNS = (
    Column("time ×", right=True),
    Column("95 %", optional=1),
    Column("base", right=True),
    Column("new", right=True),
    Column("visits", right=True, optional=2),
    Column("probability", right=True, optional=3),
    Column("family"),
    Column("question"),
)


def cells(row: Row) -> tuple[str, ...]:
    """The row's cells under COLUMNS; rates where both sides have one, else times."""
    found = row.verdict
    rates = row.base.gb_s and row.new.gb_s
    label = "" if row.question.label == MEASURED else f" ({row.question.label})"
    return (
        f"{found.ratio:.3f}",
        f"[{found.low:.3f}, {found.high:.3f}]" if found.low is not None else "-",
        _quantity(row.base, bool(rates)),
        _quantity(row.new, bool(rates)),
        f"{len(row.base.visits)}, {len(row.new.visits)}",
        f"{min(found.probability, 0.999):.1%}".replace("%", " %") if found.probability else "-",
        row.question.family if row.question.axes else "-",
        row.base.spoken + label,
    )


def _quantity(answer: Answer, rate: bool) -> str:
    return f"{format_rate(answer.gb_s)} GB/s" if rate else format_time(answer.seconds)


def overall(rows: Sequence[Row]) -> str:
    """The geometric mean of the ratios of all rows."""
    return f"{statistics.geometric_mean([row.verdict.ratio for row in rows]):.3f}" if rows else "-"
