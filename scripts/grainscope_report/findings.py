"""What a run says, as one list: the summary, its JSON and the page's answers all show what is in it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grainscope_report import analysis
from grainscope_report.analysis import Analysis
from grainscope_report.fits import everything, shape
from grainscope_report.groups import gnn_answers, lean, programs, traversal_answers
from grainscope_report.machine import between
from grainscope_report.model import Result, Row


@dataclass(frozen=True)
class Topic:
    """A kind of findings: how they come from a run, how they are plain data, and on which rows they rest."""

    name: str
    facts: Callable[[Analysis], Iterable[Any]]
    data: Callable[[Any], Any]
    rows: Callable[[Any], Iterable[Row]] = lambda _fact: ()
    figure: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that a run says: the fact itself, from which a sentence or the cells of a table are made."""

    topic: Topic
    fact: Any

    @property
    def id(self) -> str:
        """The topic's name."""
        return self.topic.name

    @property
    def data(self) -> Any:
        """The fact as plain data: seconds, bytes, GB/s; estimates as `value`, `low`, `high`."""
        return self.topic.data(self.fact)

    @property
    def evidence(self) -> list[str]:
        """The names of the rows that it rests on, where the fact keeps them."""
        return list(dict.fromkeys(row.name for row in self.topic.rows(self.fact)))

    @property
    def figure(self) -> str:
        """The number of the figure that draws it, if any."""
        return self.topic.figure


def of(run: Analysis, *, but: Sequence[str] = ()) -> list[Finding]:
    """Everything that a run says, in the order of the summary; `but` these topics, which may cost time."""
    return [Finding(topic, fact) for topic in TOPICS if topic.name not in but for fact in topic.facts(run)]


def facts(found: Sequence[Finding], topic: str) -> list[Any]:
    """The facts of a topic."""
    return [one.fact for one in found if one.id == topic]


def data(found: Sequence[Finding], topic: str) -> list[Any]:
    """The facts of a topic as plain data."""
    return [one.data for one in found if one.id == topic]


def fits(found: Sequence[Finding], result: Result) -> everything.Fits:
    """What was fitted, together with what stands between the GPUs and the host."""
    lists = (facts(found, f"fits.{name}") for name in everything.PLAIN)
    return everything.Fits(*lists, between(result))


def _network(question: str) -> Topic:
    return Topic(f"networks.{question}", lambda run: run.networks[question], dict, lambda one: one.rows)


def _fit(name: str) -> Topic:
    field, plain = everything.PLAIN[name]
    return Topic(f"fits.{name}", lambda run: getattr(run.fits, field), plain, lambda one: one.rows)


TOPICS = (
    Topic("groups", lambda run: run.groups, analysis.group_as_json, lambda one: one.rows),
    Topic(
        "traversals",
        lambda run: run.traversals,
        traversal_answers.as_json,
        lambda one: (one.best.row,),
        figure="16",
    ),
    Topic(
        "several_gpus",
        lambda run: run.together,
        traversal_answers.together_as_json,
        lambda one: (one.run.row,),
    ),
    Topic(
        "lanes_at_work",
        lambda run: run.at_work,
        traversal_answers.at_work_as_json,
        lambda one: (one.more.row, one.fewer.row),
        figure="22",
    ),
    Topic(
        "managed_under_pressure",
        lambda run: run.pressed,
        traversal_answers.moved_as_json,
        lambda one: one.rows,
        figure="9",
    ),
    Topic("fewer_bytes", lambda run: run.gains, lean.as_json, lambda one: (one.best.run.row,)),
    Topic(
        "gpu_memory",
        lambda run: run.needs,
        traversal_answers.needs_as_json,
        lambda one: [need.run.row for need in one.ways.values()],
    ),
    Topic(
        "predicted",
        lambda run: run.predictions.qualities,
        programs.as_json,
        lambda one: [each.row for each in one.predicted],
        figure="20",
    ),
    *map(_network, gnn_answers.QUESTIONS),
    *map(_fit, everything.PLAIN),
    Topic("shape", lambda run: run.shape, shape.as_json, lambda one: one.rows),
    Topic("reasons", lambda run: run.reasons, analysis.reason_as_json, lambda one: one.rows),
    Topic("answers", everything.answers, everything.answer_as_json, lambda one: one.rows),
)
