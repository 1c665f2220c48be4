"""The steps of rows as a trace in Chrome's trace event format, which Perfetto and chrome://tracing open.

Of a `timeline` each GPU is a process and each stage a thread, a step a complete event. Of `levels` the row
is a process with one thread, and with counters of the frontier and of the rates. Every process begins at 0,
so that rows of one file lie beside each other.

Perfetto knows a thread by its number alone, and does not draw steps that overlap where they are: no two
numbers are alike, and a step ends where the next one begins.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from typing import Any

from grainscope_report import families
from grainscope_report.errors import ReportError
from grainscope_report.groups.gnn import STAGES, mini_batches
from grainscope_report.machine import cpu, machines
from grainscope_report.model import Level, Result, Row, Stage
from grainscope_report.units import plural, significant

DIGITS = 5  # of rates, which people read
OPENS = "open it at ui.perfetto.dev or chrome://tracing"
_COUNTERS = {stage: name for name, stage in STAGES.items()}
Event = dict[str, Any]


def write(results: Sequence[Result]) -> tuple[str, int]:
    """The trace of every row that has one, and how many these are; ReportError where none has."""
    shown, rows, events = machines(results), 0, []
    numbers = count(1)
    for machine in shown:
        for row in filter(_is_traced, machine.result.rows):
            said = "" if row.label == "measured" else f"{row.label}: "
            owner = f"{machine.letter}: " if len(shown) > 1 else ""
            events += _row(machine.result, row, owner + said, numbers)
            rows += 1
    if not rows:
        raise ReportError(_why_none(results))
    head = {"displayTimeUnit": "ms", "otherData": {one.letter: one.provenance for one in shown}}
    lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "traceEvents": [\n{lines}\n]}}\n', rows


def _is_traced(row: Row) -> bool:
    return row.ok and bool(row.timeline or any(level.seconds for level in row.levels))


def _why_none(results: Sequence[Result]) -> str:
    rows = sum(len(result.rows) for result in results)
    algorithms = " and ".join(f"{name}/*" for name in families.having("walks"))
    return (
        f"{', '.join(str(result.path) for result in results)}: a trace is made of a timeline or of the times "
        f"of levels, and no ok row has any (of {plural(rows, 'row')}); rows of "
        f"{' and '.join(families.having('staged'))} have a timeline, rows of {algorithms} have levels"
    )


def _row(result: Result, row: Row, said: str, numbers: Iterator[int]) -> Iterator[Event]:
    """The processes of a row, named by where they ran and by the case."""
    if not row.timeline:
        process = next(numbers)
        yield from _named("process", f"{said}{_place(result, row)} · {row.name}", pid=process)
        yield from _levels(row, process, next(numbers))
        return
    for stage in row.timeline:
        if len(stage.begin_s) != len(stage.end_s):
            begun, ended = plural(len(stage.begin_s), "step"), len(stage.end_s)
            raise ReportError(
                f"{result.path}: in {row.name} {begun} of {stage.lane} began and {ended} ended: see all with "
                f"`grainscope-report validate {result.path}`"
            )
    for gpu in sorted({stage.gpu for stage in row.timeline}, key=lambda gpu: -1 if gpu is None else gpu):
        process = next(numbers)
        yield from _named("process", f"{said}{_processor(result, gpu)} · {row.name}", pid=process)
        for stage in (one for one in row.timeline if one.gpu == gpu):
            ids = {"pid": process, "tid": next(numbers)}
            yield from _named("thread", stage.lane, **ids)
            yield from _stage(row, stage, ids)


def _processor(result: Result, gpu: int | None) -> str:
    """`GPU 0, NVIDIA H100 80GB HBM3`; without a GPU the CPU."""
    names = result.environment.gpu_names
    if gpu is None:
        return cpu(result)
    return f"GPU {gpu}, {names[gpu]}" if gpu < len(names) else f"GPU {gpu}"


def _place(result: Result, row: Row) -> str:
    """Where all of a row ran; a model ran nowhere."""
    several = row.case.axes.get("gpus", 1)
    if "gpu" not in row.case.site:
        return "no GPU" if row.label == "modelled" else cpu(result)
    first = _processor(result, row.case.site["gpu"])
    return f"{several} GPUs, first {first}" if several != 1 else first


def _named(kind: str, name: str, **ids: int) -> Iterator[Event]:
    """The name of a process or a thread, and its place: in the order of the numbers."""
    yield {"name": f"{kind}_name", "ph": "M", **ids, "args": {"name": name}}
    yield {"name": f"{kind}_sort_index", "ph": "M", **ids, "args": {"sort_index": [*ids.values()][-1]}}


def _stage(row: Row, stage: Stage, ids: dict[str, int]) -> Iterator[Event]:
    """A stage's steps, each of a mini-batch or of a window of them."""
    begins = [round(1e9 * begin) for begin in stage.begin_s]
    for at, batches in enumerate(mini_batches(row, stage)):
        end = min([round(1e9 * stage.end_s[at]), *begins[at + 1 : at + 2]])
        several = f"mini-batches {batches[0]} to {batches[-1]}"
        name = f"mini-batch {batches[0]}" if len(batches) == 1 else several
        times = {"ts": begins[at] / 1000, "dur": max(0, end - begins[at]) / 1000}
        args = _of_step(row, stage, len(batches), stage.end_s[at] - stage.begin_s[at])
        yield {"name": name, "cat": stage.lane, "ph": "X", **times, **ids, "args": args}


def _of_step(row: Row, stage: Stage, batches: int, seconds: float) -> Event:
    """What a row knows of a step of so many mini-batches: of bytes and rows the mean over all."""
    found: Event = {"seeds": _number(row, "batch", 0) * batches or None}
    if stage.lane == STAGES["gather_s"]:
        share = batches / _number(row, "gpus", 1)
        nodes, asked, crossed = row.counters.get("nodes"), row.bytes, row.link_bytes_least
        found["rows, on average"] = nodes and round(nodes * batches)
        found["bytes, on average"] = asked and round(asked * share)
        found["bytes over the link, on average"] = None if crossed is None else round(crossed * share)
        found["GB/s by these bytes"] = _rate(asked and asked * share, seconds)
    alone = row.counters.get(_COUNTERS.get(stage.lane, ""))
    found["alone, median (µs)"] = alone and round(1e6 * alone * batches, 3)
    return {name: value for name, value in found.items() if value is not None}


# What is drawn as a curve, and what Perfetto calls it: by the track and the unit together.
ASKED, LINK = "asked for", "over the link, modelled"
TRACKS = {"vertices": "frontier", f"GB/s {ASKED}": ASKED, f"GB/s {LINK}": LINK}


def _levels(row: Row, process: int, thread: int) -> Iterator[Event]:
    """The rounds of the first trial one after another, with curves of what all that were timed know."""
    ids = {"pid": process, "tid": thread}
    yield from _named("thread", f"levels of {row.trials[0].label}" if row.trials else "levels", **ids)
    ends = [round(1e9 * end) for end in accumulate(level.seconds or 0.0 for level in row.levels)]
    known = [_of_level(row, level) for level in row.levels]
    timed = [args for level, args in zip(row.levels, known, strict=True) if level.seconds]
    tracks = [name for name in TRACKS if all(name in args for args in timed)]
    for level, args, begin, end in zip(row.levels, known, [0, *ends[:-1]], ends, strict=True):
        # How long a level without a time took is not known: it is a moment.
        long = {"ph": "X", "dur": (end - begin) / 1000} if level.seconds else {"ph": "i", "s": "t"}
        long |= {"cat": "levels", "ts": begin / 1000}
        yield {"name": f"level {level.level}", **long, **ids, "args": args}
        if level.seconds:
            yield from (_counter(name, process, begin, args[name]) for name in tracks)
    yield from (_counter(name, process, ends[-1], 0) for name in tracks)


def _counter(name: str, process: int, at: int, value: float) -> Event:
    args = {name.split()[0]: value}
    return {"name": TRACKS[name], "ph": "C", "ts": at / 1000, "pid": process, "args": args}


def _of_level(row: Row, level: Level) -> Event:
    """What a row knows of a level; all edges have as many bytes."""
    read = row.counters.get("edges_read")
    asked = level.edges * row.bytes / read if row.bytes and read else None
    found: Event = {"vertices": level.active, "edges": level.edges, "requests, modelled": level.requests}
    for what, size in {ASKED: asked, LINK: level.link_bytes}.items():
        found[f"bytes {what}"] = size and round(size)
        found[f"GB/s {what}"] = _rate(size, level.seconds)
    return {name: value for name, value in found.items() if value is not None}


def _rate(size: float | None, seconds: float | None) -> float | None:
    return None if size is None or not seconds else float(significant(size / seconds / 1e9, DIGITS))


def _number(row: Row, axis: str, otherwise: int) -> int:
    value = row.case.axes.get(axis, otherwise)
    return int(value) if isinstance(value, (int, float)) else otherwise
