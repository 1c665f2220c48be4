"""Every row in one table, which the page's script sorts and filters; and what was not measured."""

from collections.abc import Iterator, Sequence

from grainscope_report import analysis
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.page import markup
from grainscope_report.units import format_percent, format_rate, format_time

# Name, and whether it is sorted by a number.
COLUMNS = (
    ("case", False),
    ("median", True),
    ("95 % interval", True),
    ("one operation", True),
    ("GB/s", True),
    ("of link", True),
    ("samples", True),
    ("remarks", False),
)
# In this order, too: what failed is what a reader must see.
STATUSES = ("failed", "ok", "skipped")


def part(machines: Sequence[Machine]) -> str:
    """The section with the controls, which only a script makes work, and the table."""
    several = len(machines) > 1
    rows = [(machine, row) for machine in machines for row in machine.result.rows]
    whys = {id(row): why for machine in machines for why, one in _reasons(machine) for row in one.rows}
    rows.sort(key=lambda one: STATUSES.index(one[1].status))
    columns = [("file", False)] * several + list(COLUMNS)
    head = "".join(
        f'<th{" class=n" * number} data-by="{"number" if number else "text"}"><button>{name}</button>'
        for name, number in columns
    )
    body = "".join(_row(machine, row, several, whys.get(id(row), "")) for machine, row in rows)
    return (
        f'<section id="rows"><h2>Every row</h2>{_controls(rows, several)}<p class="count" role="status"></p>'
        f'<div class="wide"><table class="rows"><thead><tr>{head}<tbody>{body}</table></div>'
        '<p class="more" hidden><button id="all">Show all</button></p></section>'
    )


def _controls(rows: Sequence[tuple[Machine, Row]], several: bool) -> str:
    families = list(dict.fromkeys(row.case.family for _, row in rows))
    labels = list(dict.fromkeys(row.label for _, row in rows))
    flags = sorted({flag for _, row in rows for flag in row.flags})
    there = {row.status for _, row in rows}
    choices = [
        _choice("family", "all families", families),
        _choice("status", "every status", [status for status in STATUSES if status in there]),
        _choice("label", "measured and modelled", labels) if len(labels) > 1 else "",
        _choice("flag", "with and without flags", flags) if flags else "",
    ]
    if several:
        choices.append(
            _choice("file", "all files", list(dict.fromkeys(machine.letter for machine, _ in rows)))
        )
    return (
        '<form class="controls" hidden><input type="search" name="text" aria-label="filter" '
        'placeholder="words or a regular expression: pinned.*bytes:65536" autocomplete="off">'
        f'{"".join(choices)}<button type="reset">Reset</button></form>'
    )


def _choice(name: str, everything: str, values: Sequence[str]) -> str:
    options = "".join(f"<option>{markup.escaped(value)}" for value in values)
    return f'<select name="{name}" aria-label="{name}"><option value="">{everything}{options}</select>'


def _row(machine: Machine, row: Row, several: bool, why: str) -> str:
    letter = f"<td>{machine.letter}" * several
    name = markup.escaped(row.name).replace("/", "/<wbr>")
    state = "" if row.status == "ok" else f' class="{row.status}" data-why="{why}"'
    modelled = "" if row.label == "measured" else f' data-label="{markup.escaped(row.label)}"'
    remarks = _remarks(row)
    cells = f"{''.join(_cells(row))}<td>{remarks}" if row.ok else f"<td colspan=7>{remarks}"
    return f'<tr{state} data-f="{markup.escaped(row.case.family)}"{modelled}>{letter}<th>{name}{cells}'


def _cells(row: Row) -> Iterator[str]:
    """The numbers of a row that was measured or modelled."""
    yield _number(row.median_s, format_time)
    if (time_s := row.time) and time_s.high > time_s.low:
        half = (time_s.high - time_s.low) / 2 / time_s.value
        yield f"<td data-v={half:.3g}>{format_time(time_s.low)} – {format_time(time_s.high)}"
    else:
        yield "<td>"
    yield _number(row.operation_s, format_time)
    yield _number(row.bandwidth_gb_s, format_rate)
    yield _number(row.link_fraction, format_percent)
    yield f"<td>{len(row.samples_s)}" if row.samples_s else "<td>"


def _number(value: float | None, spoken) -> str:
    return f"<td data-v={value:.5g}>{spoken(value)}" if value else "<td>"


def _remarks(row: Row) -> str:
    """What is not as usual: the status and why, the label, the flags."""
    said = []
    if not row.ok:
        said.append(f"<b>{row.status}</b> {markup.spoken(row.reason)}")
    if row.label != "measured":
        said.append(f"<i>{markup.escaped(row.label)}</i>")
    return " ".join([*said, *(f"<i>{markup.escaped(flag)}</i>" for flag in sorted(row.flags))])


def _reasons(machine: Machine) -> list[tuple[str, analysis.Reason]]:
    """Why rows are not ok, each with a name for its rows to refer to."""
    found = analysis.reasons_of(machine.result)
    return [(f"{machine.letter}{order}", one) for order, one in enumerate(found)]


def skips(machines: Sequence[Machine]) -> str:
    """Why rows failed or were skipped, the failed first."""
    said = "".join(_not_measured(machine, len(machines) > 1) for machine in machines)
    return f'<section id="skips"><h2>Not measured</h2>{said}</section>'


def _not_measured(machine: Machine, several: bool) -> str:
    heading = f"<h3>{markup.escaped(machine.letter)}: {markup.escaped(machine.label)}</h3>" * several
    found = _reasons(machine)
    if not found:
        return heading + markup.paragraph("Every row that was asked for was measured.", "fine")
    rows = "".join(_reason(why, one) for why, one in found)
    head = "<th>status<th class=n>rows<th>why<th>families"
    return f'{heading}<div class="wide"><table class="reasons"><thead><tr>{head}<tbody>{rows}</table></div>'


def _reason(why: str, one: analysis.Reason) -> str:
    said = f"{one.status}, {one.text}"
    link = f'<a href="#rows" data-why="{why}" data-says="{markup.escaped(said)}">{one.count}</a>'
    return (
        f'<tr class="{one.status}"><td><b>{one.status}</b><td class=n>{link}<td>{markup.escaped(one.text)}'
        f"<td>{markup.escaped(', '.join(one.families))}"
    )
