"""The questions that every run is asked, in the order in which they are answered."""

from collections.abc import Callable
from dataclasses import dataclass

from grainscope_report import naming
from grainscope_report.analysis import Analysis
from grainscope_report.groups import grain, latency
from grainscope_report.groups.gather import fastest, gathers
from grainscope_report.groups.gnn import pipelines, sentences
from grainscope_report.groups.reach import walls
from grainscope_report.groups.transfer import methods, peaks
from grainscope_report.groups.traversal import sentences as traversals
from grainscope_report.model import Result


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
    if reason := naming.main_reason(row.reason for row in rows if not row.ok):
        return f"Not measured: {reason}"
    asked = f", filter {result.run.filter}" if result.run.filter else ""
    return f"Not part of this run (preset {result.run.preset}{asked})"


QUESTIONS = (
    Question("Peak", peaks.said, peaks.FAMILIES),
    Question("Latency", lambda run: latency.said(run.result, run.fits.paths), latency.FAMILIES),
    Question("Translation wall", lambda run: walls.said(run.fits.walls), (walls.FAMILY,)),
    Question("Which method at which size", lambda run: methods.said(run.choices), ("transfer/",)),
    Question("Which gather", fastest.said, (gathers.FAMILY,)),
    Question("Which rows in the GPU's memory", sentences.tiering, ("tiering/", gathers.FAMILY)),
    Question("When hot rows pay", sentences.hot_rows, (pipelines.FAMILY,)),
    Question("Which way to feed a training", sentences.training, ("pipeline/",)),
    Question("Which share of the GPU", sentences.shared, ("sm_share/",)),
    Question("Which traversal", traversals.said, traversals.FAMILIES),
    Question("Fewest multiprocessors", lambda run: grain.said(run.fits.fewest), (grain.SATURATION,)),
)
