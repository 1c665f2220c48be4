"""What `summary` says of the fits: a table of lines, then sentences."""

from collections.abc import Iterator, Sequence

from grainscope_report.fits import everything
from grainscope_report.fits.everything import Fits
from grainscope_report.groups import transfer
from grainscope_report.statistics import Estimate
from grainscope_report.terminal import Column, Terminal
from grainscope_report.units import (
    format_bytes,
    format_error,
    format_interval,
    format_percent,
    format_time,
    time_unit,
)

COLUMNS = (
    Column("time = latency + bytes / bandwidth"),
    Column("latency", right=True),
    Column("95 % interval", optional=4),
    Column("GB/s", right=True),
    Column("95 % interval", optional=3),
    Column("half of it at", right=True, optional=1),
    Column("of theoretical", right=True),
    Column("off by: median, worst", right=True, optional=2),
)
# A latency below this share of the smallest time cannot be told from nothing.
NOTHING = 1e-12


def lines(fits: Fits, out: Terminal) -> Iterator[str]:
    """The table and the sentences; nothing where there is nothing to fit."""
    if fits.paths:
        yield from _table(fits.paths, out)
        yield out.paint(out.wrap(_explained(fits.paths), "  "), "dim")
    said = bool(fits.paths)
    for heading, sentences in everything.sections(fits):
        if sentences:
            yield from [""] * said
            said = True
            yield out.paint(heading, "bold")
            yield from (line for said in sentences for line in _sentence(said, out))


def _explained(shown: Sequence[transfer.Path]) -> str:
    links = list(dict.fromkeys(path.negotiated for path in shown if path.of_link and path.negotiated))
    theory = f" Of theoretical: of {', '.join(links)}, as negotiated under load." if links else ""
    return (
        "Lines with the least absolute relative errors, intervals by bootstrap over sizes; the first site of "
        "each. Off by: how far the line is from the times, with the size of the worst." + theory
    )


def _sentence(said: str, out: Terminal) -> list[str]:
    first, *rest = out.wrap(said, "    ").splitlines()
    return [f"  - {first.strip()}", *rest]


def _table(shown: Sequence[transfer.Path], out: Terminal) -> Iterator[str]:
    cells, family = [], ""
    for path in shown:
        if path.family != family:
            family = path.family
            cells.append((family, *[""] * (len(COLUMNS) - 1)))
        cells.append(_cells(path))
    first, *rest = out.table(COLUMNS, cells)
    yield out.paint(first, "bold")
    for text, row in zip(rest, cells, strict=True):
        yield text if row[-1] else out.paint(text, "bold")


def _cells(path: transfer.Path) -> tuple[str, ...]:
    line = path.line
    rate = line.bandwidth_gb_s
    bandwidth, between = format_interval(rate.value, rate.low, rate.high)
    latency, interval = _latency(line.latency_s)
    worst = f"{format_error(line.worst_error)} at {format_bytes(line.worst_bytes)}"
    return (
        f"  {path.name or 'all'}",
        latency,
        interval,
        bandwidth,
        between,
        format_bytes(line.half_bytes.value) if line.latency_s.value > NOTHING else "-",
        format_percent(path.of_link) if path.of_link else "-",
        f"{100 * line.median_error:.0f} %, {worst}",
    )


def _latency(time_s: Estimate) -> tuple[str, str]:
    if time_s.value <= NOTHING:
        return "-", f"below {format_time(time_s.high)}"
    scale, unit = time_unit(time_s.value)
    value, interval = format_interval(time_s.value / scale, time_s.low / scale, time_s.high / scale)
    return f"{value} {unit}", interval
