"""Machines that stand out among many: nodes are the unit, each with its median for a question.

For each question the node furthest from the mean of the others is tested, left out, and so on for up to a
third of the nodes (generalised extreme Studentised deviate); the questions share the error by Bonferroni.
Source: Rosner, Percentage points for a generalized ESD many-outlier procedure, Technometrics 25 (1983).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grainscope_report import statistics
from grainscope_report.comparison import student
from grainscope_report.comparison.bootstrap import Floats
from grainscope_report.comparison.questions import MEASURED, Answer, Answers, Question
from grainscope_report.comparison.verdicts import ALPHA

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
            if answer.sessions and question.label == MEASURED:
                there[question].append(answer)
    return found


def find(nodes: Nodes, threshold: float) -> list[Outlier]:
    """The nodes that stand out by more than `threshold`, the worst first; none among fewer than five."""
    if len(nodes) < FEWEST_NODES:
        return []
    names = list(nodes)
    asked = list(dict.fromkeys(question for node in nodes.values() for question in node))
    times = np.array([[_seconds(nodes[name].get(question)) for name in names] for question in asked])
    kept = np.isfinite(times).sum(axis=1) >= FEWEST_NODES
    asked = [question for question, keep in zip(asked, kept, strict=True) if keep]
    if not asked:
        return []
    logs = np.log(times[kept])
    apart = _standing_out(logs)
    apart[np.abs(apart) <= math.log1p(threshold)] = 0.0
    found = [
        outlier for at, name in enumerate(names) for outlier in _of_node(name, at, asked, logs, apart, nodes)
    ]
    return sorted(found, key=lambda one: (not one.slower, -one.rows, one.node, one.family))


def _seconds(answers: Sequence[Answer] | None) -> float:
    return statistics.median([answer.seconds for answer in answers]) if answers else math.nan


def _standing_out(logs: Floats) -> Floats:
    """How far each node stands from the mean of those that do not stand out; 0 for these.

    `logs` are logarithms of times, a question a row and a node a column, NaN where a node has none.
    """
    count = np.isfinite(logs).sum(axis=1)
    steps = max(1, (logs.shape[1] - 1) // 3)
    rest = logs.copy()
    order = np.empty((len(logs), steps), int)
    outside = np.zeros(len(logs), int)
    for step in range(steps):
        left = count - step
        far = np.abs(rest - np.nanmean(rest, axis=1, keepdims=True))
        order[:, step] = np.nanargmax(far, axis=1)
        p = _p(np.nanmax(far, axis=1), np.nanstd(rest, axis=1, ddof=1), left)
        allowed = (step < np.maximum(1, (count - 1) // 3)) & (p <= ALPHA / (len(logs) * steps))
        outside[allowed] = step + 1
        rest[np.arange(len(logs)), order[:, step]] = np.nan
    apart = np.zeros_like(logs)
    for row in np.flatnonzero(outside):
        out = order[row, : outside[row]]
        others = np.delete(logs[row], out)
        apart[row, out] = logs[row, out] - np.nanmean(others)
    return apart


def _p(far: Floats, spread: Floats, count: Floats) -> Floats:
    """Grubbs' test of the furthest of `count` nodes, two-sided, for all of them."""
    g = np.square(far / np.maximum(spread, 1e-12))
    # Nearer to its bound than digits can tell is not further than that.
    room = np.maximum((count - 1.0) ** 2 - count * g, 1e-9)
    t = np.sqrt(count * (count - 2.0) * g / room)
    return np.where(spread < 1e-12, 1.0, np.minimum(1.0, 2 * count * student.above(t, count - 2.0)))


def _of_node(
    name: str, at: int, asked: Sequence[Question], logs: Floats, apart: Floats, nodes: Nodes
) -> Iterator[Outlier]:
    has: dict[str, list[int]] = defaultdict(list)
    for row in np.flatnonzero(np.isfinite(logs[:, at])):
        has[asked[row].family if asked[row].axes else "all"].append(row)
    for family, rows in has.items():
        for slower in (True, False):
            out = [row for row in rows if (apart[row, at] > 0 if slower else apart[row, at] < 0)]
            if out:
                worst = max(out, key=lambda row: abs(apart[row, at]))
                yield Outlier(
                    name, family, slower, len(out), len(rows),
                    math.exp(statistics.median([apart[row, at] for row in out])),
                    math.exp(apart[worst, at]),
                    nodes[name][asked[worst]][0].spoken,
                )  # fmt: skip
