"""Figure g: the rates of Google Benchmark's own JSON, by the number in a name where there are several.

Such files say nothing of a link or of intervals: repetitions are visits, and what is between them is the
interval.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grainscope_report import statistics
from grainscope_report.comparison.sides import Answer, foreign_answers
from grainscope_report.figures.model import Curve, CurvePanel, Dot, DotPanel, DotRow, Figure, Point
from grainscope_report.machine import Machine, letter
from grainscope_report.model import SCHEMA_VERSION, Context, Counts, Environment, Result, Run, Shard
from grainscope_report.statistics import Estimate

ID, STEM, TITLE = "g", "figure_g_google_benchmark", "Rates of Google Benchmark's own files"
NUMBER = re.compile(r"/(\d+)(?=/|$)")
METHODS = 8
MOST_CURVES, MOST_ROWS = 8, 60
# Such files do not say how they were asked for.
COMPLETE = Run("", "", "", (), "", "", True, None, Shard(1, 1), 0.0, Counts(0, 0, 0), 1)
Document = tuple[Path, Mapping[str, Any]]


class Foreign(Machine):
    """A file of Google Benchmark's own, which knows little of its machine."""

    @property
    def provenance(self) -> str:
        """What the file says of where and when it ran."""
        context = self.result.environment.raw
        cpus = f"{context['num_cpus']} CPUs" if context.get("num_cpus") else ""
        version = f"Google Benchmark {context['library_version']}" if context.get("library_version") else ""
        parts = (version or "Google Benchmark", self.result.host, cpus, self.result.date[:19])
        return " · ".join(part for part in parts if part)


def build(documents: Sequence[Document]) -> Figure:
    """Curves of benchmarks with a number in their names, rows of the others; only those with a rate."""
    found = [(machine, foreign_answers(document)) for machine, (_, document) in zip(
        _machines(documents), documents, strict=True)]  # fmt: skip
    rates: dict[str, dict[int, Estimate]] = defaultdict(dict)
    without: dict[str, str] = {}
    for machine, there in found:
        for question, answer in there.items():
            if answer.visits and answer.bytes:
                rates[question.family][machine.index] = _rate(answer)
            else:
                without[question.family] = answer.reason or "no bytes_per_second"
    shown = [machine for machine, _ in found]
    curves, rest = _curves(rates, shown)
    rows: list[tuple] = [(curves,)] if curves else []
    rows += [(_dots(rates, rest, shown),)] if rest else []
    notes = ["Repetitions are visits; bars span them, from 8 on they are the 95 % interval of the median."]
    if len(rest) > MOST_ROWS:
        notes.append(f"Not drawn: {len(rest) - MOST_ROWS} more benchmarks.")
    if left := without.keys() - rates.keys():
        first = min(left)
        notes.append(f"Not drawn: {len(left)} without a rate (first {first}: {without[first]}).")
    return Figure(shown, tuple(rows), tuple(notes) if rows else (), ID, STEM, TITLE)


def _machines(documents: Sequence[Document]) -> list[Foreign]:
    shown = []
    for order, (path, document) in enumerate(documents):
        context = document["context"]
        environment = Environment(
            cpu={"model": ""}, gpus=(), driver={"version": ""}, warnings=(), raw=context
        )
        host, date = str(context.get("host_name") or ""), str(context.get("date", ""))
        result = Result(path, Context(SCHEMA_VERSION, None, COMPLETE, environment, (), date, host), ())
        shown.append(Foreign(order, letter(order), f"{host or 'host unknown'} ({path})", result))
    return shown


def _rate(answer: Answer) -> Estimate:
    return statistics.rate_gb_s(statistics.middle_of(answer.visits), answer.bytes)


def _curves(
    rates: Mapping[str, Mapping[int, Estimate]], shown: Sequence[Machine]
) -> tuple[CurvePanel | None, list[str]]:
    """Benchmarks that differ in the first number of their names alone, and the names that are left."""
    groups: dict[str, dict[int, str]] = defaultdict(dict)
    for name in rates:
        if (number := NUMBER.search(name)) and int(number[1]) > 0:
            groups[name[: number.start()] + "/N" + name[number.end() :]][int(number[1])] = name
    drawn = {group: names for group, names in groups.items() if len(names) > 1}
    drawn = dict(list(drawn.items())[:MOST_CURVES])
    used = {name for names in drawn.values() for name in names.values()}
    curves = []
    for order, (group, names) in enumerate(drawn.items()):
        for machine in shown:
            points = [
                Point(float(at), rates[name][machine.index])
                for at, name in sorted(names.items())
                if machine.index in rates[name]
            ]
            if points:
                method = f"component {order % METHODS}"
                curves.append(Curve(group.removesuffix("/N"), method, machine, tuple(points)))
    rest = [name for name in rates if name not in used]
    if not curves:
        return None, rest
    values = [point.y.value for curve in curves for point in curve.points]
    wide = max(values) > 30 * min(values)
    label = "N, the first number in the benchmark's name"
    return CurvePanel("rates by the number in the name", tuple(curves), x_label=label, x_unit="count",
                      y_log=wide), rest  # fmt: skip


def _dots(
    rates: Mapping[str, Mapping[int, Estimate]], names: Sequence[str], shown: Sequence[Machine]
) -> DotPanel:
    rows = [
        DotRow(
            name,
            "",
            tuple(
                Dot(rates[name][machine.index], "single", machine)
                for machine in shown
                if machine.index in rates[name]
            ),
        )
        for name in names[:MOST_ROWS]
    ]
    values = [dot.value.value for row in rows for dot in row.dots]
    return DotPanel("rates", tuple(rows), "bandwidth (GB/s)", "GB/s", log=max(values) > 30 * min(values))
