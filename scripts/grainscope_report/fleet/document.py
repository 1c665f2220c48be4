"""What a screen of a fleet and the history of a machine say: sections for a terminal, a page, Markdown."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from pathlib import PurePath
from typing import Any

from grainscope_report import writing
from grainscope_report.fleet.screening import FALSE_ALARMS, FEWEST_NODES, QUANTILES, WEAK, Screen
from grainscope_report.fleet.sources import Refused
from grainscope_report.fleet.store import Added
from grainscope_report.units import format_change, plural
from grainscope_report.writing import Column, Section, Terminal

MOST_LINES = 40
MOST_ROWS, FEWEST_ROWS = 12, 2


def verdict(screen: Screen) -> str:
    """The first line: how many nodes stand out, and why; or that too few are there to tell."""
    counted = f"{screen.nodes:,} {'node' if screen.nodes == 1 else 'nodes'}"
    parts = []
    if screen.slow:
        nodes = len({(one.kind, one.node) for one in screen.slow})
        worst = screen.slow[0]
        how_far = f"worst {worst.node}: {worst.family} {format_change(worst.ratio)}"
        parts.append(f"{nodes:,} slow in a family ({how_far})")
    if screen.links:
        nodes = len({(one.kind, one.node) for one in screen.links})
        parts.append(f"{nodes:,} with a link that trained down")
    if screen.weak:
        nodes = len({(one.kind, one.node) for one in screen.weak})
        parts.append(f"{nodes:,} with a link slower than usual")
    if screen.failed:
        parts.append(f"{len(screen.failed):,} with failed rows")
    if screen.odd:
        parts.append(f"{len(screen.odd):,} odd in name, clock, run or GPUs")
    said = f"{', '.join(parts)}, of {counted}" if parts else f"Nothing stands out among {counted}"
    if not parts and not screen.decided:
        said = f"Too few to tell who is slow: {counted}, fewer than {FEWEST_NODES} of a kind"
    more = [_software_said(screen)] if screen.software else []
    if screen.drift:
        more.append(f"{of_families(screen.drift)} drifted")
    return "; ".join([said, *more]) + "."


def _software_said(screen: Screen) -> str:
    worst = max(screen.software, key=lambda one: one.ratio)
    counted, changed = of_families(screen.software), format_change(worst.ratio)
    return f"{worst.before} to {worst.after} changes {counted} (worst {worst.family} {changed})"


def of_families(found: Iterable[Any]) -> str:
    """How many families these are of: `1 family`, `2 families`."""
    return plural(len({one.family for one in found}), "family", "families")


def sections(screen: Screen, added: Added | None) -> list[Section]:
    """Everything there is to say."""
    parts = [Section(verdict(screen), tuple(_of_what(screen, added)))]
    makers: tuple[Callable[[Screen], Section], ...] = (
        _slow, _links, _weak, _software, _drift, _failed, lambda one: _named(one, added), _shares,
    )  # fmt: skip
    return [*parts, *(part for make in makers if (part := make(screen)).rows)]


def _cut(part: Section, most: int) -> Section:
    if len(part.rows) <= most:
        return part
    title = f"{part.title}, the first {most} of {len(part.rows):,}"
    return dataclasses.replace(part, title=title, rows=part.rows[:most])


def _of_what(screen: Screen, added: Added | None) -> Iterator[str]:
    for kind in screen.kinds:
        when = f"{kind.first}" if kind.first == kind.last else f"{kind.first} to {kind.last}"
        few = "" if kind.nodes >= FEWEST_NODES else f": fewer than {FEWEST_NODES}, so none is called slow"
        yield f"{kind.spoken}: {plural(kind.nodes, 'node')}, {plural(kind.runs, 'run')}, {when}{few}"
    if added:
        yield taken(added)


def taken(added: Added) -> str:
    """How much was taken in."""
    parts = [f"{plural(added.runs, 'run')} taken in ({added.cases:,} rows)"]
    parts += [f"{added.renewed:,} of them went on since they were cut off"] if added.renewed else []
    parts += [f"{added.known:,} there already"] if added.known else []
    lost = sum(not one.kept for one in added.refused)
    parts += [f"{lost:,} refused"] if lost else []
    return ", ".join(parts)


FAMILY = (Column("family", whole=True), Column("clock"))
CHANGE = (Column("time", True), Column("95 % interval", True))


def of_family(one: Any) -> tuple[str, str]:
    """The cells of the family and the clock of what was found."""
    return one.family, one.clock or ""


def of_change(one: Any) -> tuple[str, str]:
    """The cells of the change of times that was found, and of its interval."""
    return format_change(one.ratio), f"{format_change(one.low)} to {format_change(one.high)}"


def of_gpu(gpu: int | None) -> str:
    """The cell of a GPU, if there is one."""
    return "" if gpu is None else str(gpu)


def _file(source: str) -> str:
    """What a file is called by: its folder's name where all are called alike."""
    path = PurePath(source)
    return path.parent.name if path.name in ("result.json", "fleet.jsonl.gz") else path.name


def _slow(screen: Screen) -> Section:
    columns = (Column("node", whole=True), *FAMILY, Column("GPU", True, 2), *CHANGE,
               Column("questions", True, 3), Column("file"))  # fmt: skip
    rows = tuple(
        (one.node, *of_family(one), of_gpu(one.gpu), *of_change(one),
         str(one.questions), _file(one.source))
        for one in screen.slow
    )  # fmt: skip
    said = (f"Last runs, beside nodes of the kind with the same software; at least "
            f"{100 * screen.threshold:g} % slower, and further off than chance makes 1 node in "
            f"{1 / FALSE_ALARMS:,.0f}.",)  # fmt: skip
    return Section("Slow nodes", said, columns, rows)


def _links(screen: Screen) -> Section:
    columns = (Column("node", whole=True), Column("link"), Column("trained to"), Column("due"),
               Column("copy peak GB/s", True), Column("usual", True))  # fmt: skip
    rows = tuple(
        (one.node, f"GPU {one.gpu}" + (f" to GPU {one.peer}" if one.peer is not None else ""), one.trained,
         one.due, f"{one.peak_gb_s:.1f}", f"{one.usual_gb_s:.1f}")
        for one in screen.links
    )  # fmt: skip
    return Section("Links that trained down", (), columns, rows)


def _weak(screen: Screen) -> Section:
    columns = (
        Column("node", whole=True),
        Column("link"),
        Column("copy peak GB/s", True),
        Column("usual", True),
    )
    rows = tuple((one.node, one.link, f"{one.peak_gb_s:.1f}", f"{one.usual_gb_s:.1f}") for one in screen.weak)
    said = (
        f"Copy peaks below {100 * WEAK:.0f} % of what the same link has on most nodes of the kind, and "
        "further below than nodes differ by.",
    )
    return Section("Slow links", said, columns, rows)


def _software(screen: Screen) -> Section:
    columns = (*FAMILY, Column("before"), Column("after"), *CHANGE, Column("nodes", True, 3),
               Column("", optional=5))  # fmt: skip
    rows = tuple(
        (*of_family(one), one.before, one.after, *of_change(one), str(one.nodes),
         "the same nodes" if one.paired else "nodes beside each other")
        for one in screen.software
    )  # fmt: skip
    return Section("Driver and firmware", (), columns, rows)


def _drift(screen: Screen) -> Section:
    rows = tuple((*of_family(one), f"{one.first} and {one.last}", *of_change(one)) for one in screen.drift)
    said = ("Steps of what nodes differ from their own mean, without what their software makes.",)
    return Section("Drift", said, (*FAMILY, Column("between"), *CHANGE), rows)


def _failed(screen: Screen) -> Section:
    columns = (Column("node", whole=True), Column("rows", True), Column("family"), Column("one reason"))
    rows = tuple((one.node, str(one.rows), one.family, one.reason) for one in screen.failed)
    return Section("Nodes with failed rows", (), columns, rows)


def named(screen: Screen, added: Added | None) -> list[Refused]:
    """Files and nodes with which something is wrong, what was refused first."""
    given = [*added.refused, *added.twice] if added else []
    return sorted(given, key=lambda one: one.kept) + screen.odd


def _named(screen: Screen, added: Added | None) -> Section:
    found = named(screen, added)
    rows = tuple((one.name, "kept" if one.kept else "refused", one.why) for one in found)
    return Section(
        "Odd nodes and files", (), (Column("node or file"), Column("it is"), Column("what is odd")), rows
    )


def _shares(screen: Screen) -> Section:
    first, *inner, last = (f"{100 * share:g} %" for share in QUANTILES)
    names = [first, *inner, last, "slow from"]
    # A family may stand there twice, by its clock: percentiles within go before that.
    shares = (Column(name, True, 1 if name in inner else 0) for name in names)
    kinds = {one.kind for one in screen.shares}
    spoken = {kind.name: kind.spoken for kind in screen.kinds if kind.name in kinds}
    short = {name: text.partition(", ")[0] for name, text in spoken.items()}
    spoken = short if len({*short.values()}) == len(kinds) else spoken
    several = len(kinds) > 1
    columns = (*FAMILY, *(Column("kind"),) * several, Column("nodes", True), *shares)
    wide = sorted(screen.shares, key=lambda one: -one.ratios[-1] / one.ratios[0])
    rows = tuple(
        (*of_family(one), *(spoken[one.kind],) * several, str(one.nodes),
         *(f"{ratio:.3f}" for ratio in one.ratios), f"≥ {one.slow_from:.3f}")
        for one in wide
    )  # fmt: skip
    said = (
        "Time over the median of the nodes, at these percentiles of the nodes, and from which one is slow, "
        "later where its visits differ more.",
    )
    return Section("Percentiles by family", said, columns, rows)


def fitted(parts: Sequence[Section], out: Terminal) -> str:
    """Sections with as many rows as MOST_LINES leave room for."""
    for most in range(MOST_ROWS, FEWEST_ROWS - 1, -1):
        cut = [_cut(part, most) for part in parts]
        lines = "\n".join(writing.section_lines(cut, out)).split("\n")
        if sum(map(out.height, lines)) <= MOST_LINES:
            return "\n".join(lines) + "\n"
    heights = itertools.accumulate(map(out.height, lines))
    kept = [line for line, height in zip(lines, heights, strict=True) if height < MOST_LINES]
    return "\n".join([*kept, f"{len(lines) - len(kept)} lines more: --full shows everything."]) + "\n"


def whole(parts: Sequence[Section], out: Terminal) -> str:
    """All of the sections."""
    return "\n".join(writing.section_lines(parts, out, whole=True)) + "\n"


def page(subject: str, parts: Sequence[Section]) -> str:
    """One HTML file that asks for nothing else."""
    from grainscope_report import resources
    from grainscope_report.page.parts import Table, template

    shown = [
        {
            "heading": part.title if at else "",
            "paragraphs": part.paragraphs,
            "table": Table(
                [column.name for column in part.columns], part.rows, [column.right for column in part.columns]
            )
            if part.columns
            else None,
        }
        for at, part in enumerate(parts)
    ]
    style = resources.asset("report.css").read_text(encoding="utf-8")
    text = template().render(parts=shown, title=parts[0].title, subject=subject, style=style)
    return f"{text}\n"


def as_json(screen: Screen, added: Added | None) -> dict[str, Any]:
    """Everything, for programs."""
    told: dict[str, Any] = {"fleet_format": 1, "verdict": verdict(screen), "nodes": screen.nodes}
    told |= {
        name: _plain(getattr(screen, name))
        for name in ("threshold", "kinds", "slow", "links", "weak", "software", "drift", "failed")
    }
    told["odd"] = _plain(named(screen, added))
    told["percentiles"] = _plain(screen.shares)
    if added:
        told["taken"] = {
            "runs": added.runs, "rows": added.cases, "gone_on": added.renewed, "there_already": added.known
        }  # fmt: skip
    return told


def _plain(thing: Any) -> Any:
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {name: _plain(value) for name, value in vars(thing).items()}
    if isinstance(thing, list | tuple):
        return [_plain(one) for one in thing]
    return thing.isoformat() if isinstance(thing, date | datetime) else thing
