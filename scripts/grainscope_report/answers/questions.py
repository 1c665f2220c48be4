"""The questions that every run is asked, in the order in which they are answered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import reasons
from grainscope_report.analysis import Analysis
from grainscope_report.answers import (
    gathers,
    hot_rows,
    latencies,
    links,
    networks,
    segments,
    traversals,
    walls,
)
from grainscope_report.figures.parts import ARROWS
from grainscope_report.fits import methods
from grainscope_report.fits.flight import Fewest
from grainscope_report.result import Result
from grainscope_report.units import format_bytes


@dataclass(frozen=True)
class Answer:
    """A question in a word or two and its answer in sentences; `known` is false where they say why not."""

    question: str
    sentences: tuple[str, ...]
    known: bool = True

    @property
    def text(self) -> str:
        """All that is said."""
        return " ".join(self.sentences)


@dataclass(frozen=True)
class Question:
    """What is asked, what answers it, and which families of rows it takes."""

    name: str
    answer: Callable[[Analysis], list[str]]
    families: tuple[str, ...]


def answers(run: Analysis) -> list[Answer]:
    """An answer to each question, or why this run has none."""
    found = []
    for question in QUESTIONS:
        if said := question.answer(run):
            found.append(Answer(question.name, tuple(f"{one}." for one in said)))
        else:
            found.append(Answer(question.name, (f"{_why_not(run.result, question)}.",), known=False))
    return found


def _why_not(result: Result, question: Question) -> str:
    rows = [row for row in result.rows if row.case.family.startswith(question.families)]
    if any(row.ok for row in rows):
        return "The run has too few rows to tell"
    if reason := reasons.most(row.reason for row in rows if not row.ok):
        return f"Not measured: {reason}"
    asked = f", filter {result.run.filter}" if result.run.filter else ""
    return f"Not part of this run (preset {result.run.preset}{asked})"


def _methods(run: Analysis) -> list[str]:
    said = []
    for direction in methods.WAYS:
        rates = {
            curve.name: dict(zip(curve.x, curve.y, strict=True))
            for curve in methods.ways(run.machine, direction)
        }
        if found := segments.segments(rates):
            said.append(f"Fastest {ARROWS[direction]}: {segments.text(found, format_bytes)}")
    return said


def _fewest(run: Analysis) -> list[str]:
    return [_full(*one) for one in _least(run.fits.fewest)]


def _least(found: Sequence[Fewest]) -> Iterator[tuple[str, Fewest]]:
    """Of each direction the grid that needs fewest."""
    for direction in dict.fromkeys(one.direction for one in found):
        there = [one for one in found if one.direction == direction]
        yield direction, min(there, key=lambda one: (one.sms, -one.saturated_gb_s))


def _full(direction: str, one: Fewest) -> str:
    of = f" of {one.sms_available:g}" if one.sms_available else ""
    return (
        f"{one.sms:g}{of} fill the link with {direction}s of {format_bytes(one.width)} a lane "
        f"({one.saturated_gb_s:.1f} of {one.full_gb_s:.1f} GB/s)"
    )


QUESTIONS = (
    Question("Peak", links.said, ("transfer/memcpy", "transfer/peer", "host/memcpy")),
    Question("Latency", latencies.said, ("latency/", "transfer/memcpy", "host/latency")),
    Question("Translation wall", walls.said, ("reach/gather",)),
    Question("Which method at which size", _methods, ("transfer/",)),
    Question("Which gather", gathers.said, ("gather",)),
    Question("Which rows in the GPU's memory", networks.tiering, ("tiering/", "gather")),
    Question("When hot rows pay", hot_rows.said, ("pipeline/graphsage",)),
    Question("Which way to feed a training", networks.training, ("pipeline/",)),
    Question("Which share of the GPU", networks.shared, ("sm_share/",)),
    Question("Which traversal", traversals.said, ("traversal/", "lean/", "model/bfs")),
    Question("Fewest multiprocessors", _fewest, ("grain/saturation",)),
)
