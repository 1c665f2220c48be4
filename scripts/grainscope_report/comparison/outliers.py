"""Machines that stand out among many: nodes are the unit, each with its median for a question.

For each question the node furthest from the mean of the others is tested, left out, and so on for up to a
third of the nodes (generalised extreme Studentised deviate); the questions share the error by Bonferroni.
Source: Rosner, Percentage points for a generalized ESD many-outlier procedure, Technometrics 25 (1983).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from grainscope_report import statistics
from grainscope_report.comparison.questions import MEASURED, Answer, Answers, Question
from grainscope_report.comparison.verdicts import ALPHA
from grainscope_report.uncertainty import student_above

FEWEST_NODES = 5


@dataclass(frozen=True)
class Outlier:
    """A node that stands out in a family: in how many of its questions, its median and worst time ratio to
    the other nodes, and the question where that is.
    """

    node: str
    family: str
    slower: bool
    rows: int
    of: int
    ratio: float
    worst: float
    question: str


Nodes = Mapping[str, Mapping[Question, Sequence[Answer]]]


def by_node(sides: Sequence[tuple[str, Answers]]) -> dict[str, dict[Question, list[Answer]]]:
    """The answers of each node, runs of one node together: a node that ran twice is one node."""
    found: dict[str, dict[Question, list[Answer]]] = {}
    for node, answers in sides:
        there = found.setdefault(node, defaultdict(list))
        for question, answer in answers.items():
            if answer.visits and question.label == MEASURED:
                there[question].append(answer)
    return found


def find(nodes: Nodes, threshold: float) -> list[Outlier]:
    """The nodes that stand out by more than `threshold`, the worst first; none among fewer than five."""
    asked = list(dict.fromkeys(question for node in nodes.values() for question in node))
    logs = {question: _logs(question, nodes) for question in asked}
    logs = {question: there for question, there in logs.items() if len(there) >= FEWEST_NODES}
    steps = max(1, (len(nodes) - 1) // 3)
    apart = {
        question: {node: far for node, far in out.items() if abs(far) > math.log1p(threshold)}
        for question, there in logs.items()
        if (out := _standing_out(there, ALPHA / (len(logs) * steps)))
    }
    found = [outlier for name in nodes for outlier in _of_node(name, logs, apart, nodes)]
    return sorted(found, key=lambda one: (not one.slower, -one.rows, one.node, one.family))


def _logs(question: Question, nodes: Nodes) -> dict[str, float]:
    """The logarithms of the times of the nodes that have any."""
    times = {
        name: statistics.median([answer.seconds for answer in node[question]])
        for name, node in nodes.items()
        if node.get(question)
    }
    return {name: math.log(seconds) for name, seconds in times.items() if math.isfinite(seconds)}


def _standing_out(logs: Mapping[str, float], level: float) -> dict[str, float]:
    """How far the nodes that stand out are from the mean of the others."""
    rest, order, outside = dict(logs), [], 0
    for step in range(max(1, (len(logs) - 1) // 3)):
        mean = fmean(rest.values())
        order.append(max(rest, key=lambda name: abs(rest[name] - mean)))
        spread = math.sqrt(sum((value - mean) ** 2 for value in rest.values()) / (len(rest) - 1))
        if _p(abs(rest[order[-1]] - mean), spread, len(rest)) <= level:
            outside = step + 1
        del rest[order[-1]]
    out = order[:outside]
    others = [value for name, value in logs.items() if name not in out]
    return {name: logs[name] - fmean(others) for name in out}


def _p(far: float, spread: float, count: int) -> float:
    """Grubbs' test of the furthest of `count` nodes, two-sided."""
    if spread < 1e-12:
        return 1.0
    g = (far / spread) ** 2
    # Nearer to its bound than digits can tell is not further than that.
    room = max((count - 1) ** 2 - count * g, 1e-9)
    return min(1.0, 2 * count * student_above(math.sqrt(count * (count - 2) * g / room), count - 2))


def _of_node(
    name: str,
    logs: Mapping[Question, Mapping[str, float]],
    apart: Mapping[Question, Mapping[str, float]],
    nodes: Nodes,
) -> Iterator[Outlier]:
    has: dict[str, list[Question]] = defaultdict(list)
    for question, there in logs.items():
        if name in there:
            has[question.family if question.axes else "all"].append(question)
    for family, questions in has.items():
        far = {one: apart[one][name] for one in questions if name in apart.get(one, ())}
        for slower in (True, False):
            out = [question for question, value in far.items() if (value > 0) == slower]
            if out:
                worst = max(out, key=lambda question: abs(far[question]))
                yield Outlier(
                    name, family, slower, len(out), len(questions),
                    math.exp(statistics.median([far[question] for question in out])),
                    math.exp(far[worst]),
                    nodes[name][worst][0].spoken,
                )  # fmt: skip
