"""The history of a machine: where the time of a family steps, and all of it as OpenMetrics text.

Each run's times are compared with the machine's own medians and averaged by family, clock and card, as nodes
of a fleet are (fleet/screening.py); what a run is known by are its uncertainties of type A and B. Where type
B is unknown all runs count alike, and how far they are known is what they scatter by (fleet/changes.py).
Source: OpenMetrics, a cloud-native, highly scalable metrics protocol, version 1.0 (text format).
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

from grainscope_report import uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.fleet import changes
from grainscope_report.fleet.document import CHANGE, FAMILY, of_change, of_families, of_family, of_gpu
from grainscope_report.fleet.screening import TIMED, nearly_all
from grainscope_report.units import format_change, plural
from grainscope_report.writing import Column, Section

FEWEST_RUNS = 4
FEWEST_ALONE = 8  # where type B is unknown: in fewer even a step of ten times the scatter may be chance
ROWS_AT_A_TIME = 10_000
_OF_NODE = "(? IS NULL OR node = ? OR machine = ?)"

# A series is of a family's version, a clock and a card, whatever number the card has among a run's GPUs.
# It has the runs with the question that most have. Of questions it has those that nearly all of these runs
# have: of others one side of a change may have none. What gaps do to the level of a question is taken out.
_POINTS = f"""
WITH mine AS (SELECT run, started, ['driver ' || coalesce(driver, 'unknown'),
      'firmware ' || coalesce(firmware, 'unknown'), 'kernel ' || coalesce(kernel, 'unknown'),
      'GrainScope ' || version || ' ' || "commit"] AS software, CAST(environment AS JSON) AS environment
    FROM runs WHERE machine = ?),
  cards AS (SELECT run, CAST(one ->> '$.cuda.ordinal' AS INTEGER) AS gpu, any_value(one ->> '$.uuid') AS card
    FROM (SELECT run, unnest(CAST(environment -> '$.gpus' AS JSON[])) AS one FROM mine) GROUP BY ALL),
  timed AS (SELECT c.run, started, family, c.gpu, clock, coalesce(k.card, CAST(c.gpu AS VARCHAR)) AS card,
      ln(coalesce(operation_s, median_s)) AS y, a, b, b_freedom,
      hash(family, version, clock, coalesce(k.card, CAST(c.gpu AS VARCHAR))) AS series,
      hash(question, regexp_replace(site, '"(gpu|peer)":[0-9]+', '', 'g'),
        coalesce(p.card, site ->> '$.peer')) AS asked
    FROM (SELECT run, family, version, clock, gpu, question, site, median_s, operation_s, a, b, b_freedom,
        TRY_CAST(site ->> '$.peer' AS INTEGER) AS peer
      FROM cases WHERE run IN (SELECT run FROM mine) AND {TIMED}) c
    JOIN mine USING (run) LEFT JOIN cards k ON k.run = c.run AND k.gpu = c.gpu
    LEFT JOIN cards p ON p.run = c.run AND p.gpu = c.peer),
  counted AS (SELECT *, count(*) OVER (PARTITION BY series, asked) AS n,
      max(started) OVER (PARTITION BY series, asked) AS newest FROM timed),
  most AS (SELECT series, arg_max(asked, (n, newest, asked)) AS asked FROM counted GROUP BY series),
  with_it AS (SELECT DISTINCT series, run FROM timed JOIN most USING (series, asked)),
  among AS (SELECT timed.* FROM timed JOIN with_it USING (series, run)),
  runs_of AS (SELECT series, count(DISTINCT run) AS runs FROM among GROUP BY series HAVING runs > 1),
  shared AS (SELECT among.* FROM among JOIN runs_of USING (series)
    QUALIFY count(*) OVER (PARTITION BY series, asked) >= greatest(2, {nearly_all("runs")})),
  far AS (SELECT *, y - median(y) OVER (PARTITION BY series, asked) AS x FROM shared),
  left_over AS (SELECT *, x - avg(x) OVER (PARTITION BY series, run) AS r FROM far),
  level AS (SELECT *, x - avg(r) OVER (PARTITION BY series, asked) AS v FROM left_over)
SELECT series, any_value(family), any_value(clock), any_value(card), started, level.run, any_value(gpu),
  any_value(software), avg(v), count(*), sqrt(sum(coalesce(a, 0) ** 2)) / count(*), avg(b), min(b_freedom)
FROM level JOIN mine USING (run, started)
GROUP BY series, started, level.run ORDER BY 2, 3, 4, series, started, level.run"""
_OF_CASES = f"""
WITH chosen AS (SELECT run, machine FROM runs WHERE {_OF_NODE})
SELECT node, kind, machine, family, version, clock, axes AS "case", site, started, @value@ AS value
FROM cases c JOIN chosen ON chosen.run = c.run
WHERE status = 'ok' AND label = 'measured' AND @value@ IS NOT NULL ORDER BY ALL"""
_OF_LINKS = f"""
WITH each AS (SELECT node, kind, machine, started, unnest(links, recursive := true)
  FROM runs WHERE {_OF_NODE})
SELECT node, kind, machine, gpu, numa, direction, started, @value@ AS value
FROM each WHERE @value@ IS NOT NULL ORDER BY ALL"""
# Numbers as OpenMetrics has them: the name, the query, its value, its unit, and in words. The last columns of
# a query are the time and the value, all others are labels.
METRICS = (
    ("grainscope_median_seconds", _OF_CASES, "coalesce(operation_s, median_s)", "seconds",
     "Median time of a case, of one operation where it has operations."),
    ("grainscope_uncertainty_ratio", _OF_CASES, "sqrt(a ** 2 + coalesce(b, 0) ** 2)", "ratio",
     "Relative standard uncertainty of that time, of type A and B."),
    ("grainscope_bandwidth_bytes_per_second", _OF_CASES, "bandwidth_gb_s * 1e9", "bytes_per_second",
     "Bytes of a case over its median time."),
    ("grainscope_link_width_lanes", _OF_LINKS, "width", "lanes", "Lanes of a PCIe link, under load."),
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A run's time of a family over the machine's usual one, as a logarithm; `gpu` is the card's number."""

    started: datetime
    run: str
    gpu: int | None
    software: tuple[str, ...]
    value: float
    questions: int
    uncertainty: float


@dataclass(frozen=True)
class Series:
    """What a family took over time, and its steps; `freedom` is that of type B, 0 where it is unknown."""

    family: str
    clock: str
    card: str | None
    points: tuple[Point, ...]
    freedom: float
    steps: tuple[changes.Step, ...]

    gpu = property(lambda self: self.points[-1].gpu)


@dataclass(frozen=True)
class Trend:
    """The history of a machine."""

    node: str
    runs: int
    first: datetime
    last: datetime
    threshold: float
    series: tuple[Series, ...]

    @property
    def steps(self) -> list[tuple[Series, changes.Step]]:
        """Steps of more than the threshold, the largest first."""
        found = [(one, step) for one in self.series for step in one.steps]
        large = [(one, step) for one, step in found if abs(step.size) > math.log1p(self.threshold)]
        return sorted(large, key=lambda pair: -abs(pair[1].size))

    @property
    def needed(self) -> int:
        """How many runs it takes to tell a change."""
        alone = self.series and not any(one.freedom for one in self.series)
        return FEWEST_ALONE if alone else FEWEST_RUNS

    decided = property(lambda self: bool(self.steps) or self.runs >= self.needed)


def of(connection: Any, node: str | None, threshold: float) -> Trend:
    """The history of a node; without a name of the only one."""
    machine, name = _machine(connection, node)
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for series, family, clock, card, *row in connection.execute(_POINTS, [machine]).fetchall():
        groups[series, family, clock, card].append(tuple(row))
    found = []
    for (_, *key), rows in groups.items():
        points, freedom = _known(rows)
        values, known = zip(*((point.value, point.uncertainty) for point in points), strict=True)
        found.append(Series(*key, points, freedom, tuple(changes.find(values, known, len(groups), freedom))))
    query = "SELECT count(*), min(started), max(started) FROM runs WHERE machine = ?"
    return Trend(name, *connection.execute(query, [machine]).fetchone(), threshold, tuple(found))


def _known(rows: list[tuple[Any, ...]]) -> tuple[tuple[Point, ...], float]:
    """The points of a series, with the degrees of freedom of type B; a run without it has the others'."""
    *_, bs, freedoms = zip(*rows, strict=True)
    others = [b for b in bs if b is not None]
    usual = median(others) if others else 0.0
    points = []
    for started, run, gpu, software, value, count, a, b, _ in rows:
        known = math.hypot(a, usual if b is None else b)
        points.append(Point(started, run, gpu, tuple(software), value, count, max(known, 1e-6)))
    exact = math.inf if others else 0.0
    return tuple(points), min((one for one in freedoms if one is not None), default=exact)


def _machine(connection: Any, node: str | None) -> tuple[str, str]:
    query = f"""SELECT machine, any_value(node), count(*) FROM runs WHERE {_OF_NODE} GROUP BY machine
        ORDER BY count(*) DESC, machine"""
    found = connection.execute(query, [node] * 3).fetchall()
    if len(found) == 1:
        return found[0][:2]
    if not found:
        raise ReportError(f"there is no node {node}: `grainscope-report fleet` lists those that stand out")
    hosts = Counter(name for _, name, _ in found)
    names = ", ".join(
        name if hosts[name] == 1 else f"{machine} ({name}, {plural(runs, 'run')})"
        for machine, name, runs in found
    )
    what = f"{len(found)} nodes" if node is None else f"{len(found)} machines that are called {node}"
    raise ReportError(f"these are {what}: choose one by --node ({names})")


def verdict(trend: Trend) -> str:
    """The first line: how often and how far the machine's times stepped."""
    when = f"{plural(trend.runs, 'run')} of {trend.node} from {trend.first:%Y-%m-%d} to {trend.last:%Y-%m-%d}"
    if not trend.decided:
        alone = "" if trend.needed == FEWEST_RUNS else ", since type B of the machine is unknown"
        return f"Too few to tell a change: {when}. It takes {trend.needed}{alone}."
    if not trend.steps:
        return f"No change of level in {when}."
    one, step = trend.steps[0]
    counted, changed = of_families(series for series, _ in trend.steps), format_change(step.ratio)
    return f"{counted} changed level in {when}: most {one.family}, {changed} between {_between(one, step)}."


def _between(one: Series, step: changes.Step) -> str:
    before, after = one.points[step.first - 1].started, one.points[step.last].started
    return f"{before:%Y-%m-%d} and {after:%Y-%m-%d}"


def sections(trend: Trend) -> list[Section]:
    """Everything there is to say."""
    columns = (*FAMILY, Column("GPU", True, 3), Column("first run after", whole=True), *CHANGE,
               Column("it may be from", optional=2), Column("what changed there"))  # fmt: skip
    said = (f"A step is further off than chance makes in one history of {1 / changes.ALPHA:,.0f}. The runs "
            f"that it may be between hold it with {100 * changes.COVERAGE:g} % probability.",)  # fmt: skip
    rows = tuple(_step(one, step) for one, step in trend.steps)
    steps = Section("Changes of level", said, columns, rows)
    columns = (*FAMILY, Column("GPU", True, 3), Column("runs", True), Column("questions", True, 2),
               Column("first", True), Column("last", True), Column("known to", True))  # fmt: skip
    rows = tuple(
        (*of_family(one), of_gpu(one.gpu), str(len(one.points)), str(one.points[-1].questions),
         *(format_change(math.exp(point.value)) for point in (one.points[0], one.points[-1])),
         _known_to(one))
        for one in sorted(trend.series, key=lambda one: -abs(one.points[-1].value))
    )  # fmt: skip
    said = ("Time of the first and the last run over the machine's own median. Where type B is unknown a "
            "change is told by what runs scatter by.",)  # fmt: skip
    families = Section("Families", said, columns, rows)
    return [Section(verdict(trend)), *(part for part in (steps, families) if part.rows)]


def _known_to(one: Series) -> str:
    if not one.freedom:
        return "unknown"
    half = uncertainty.student_quantile(changes.ABOVE, one.freedom) * one.points[-1].uncertainty
    return f"±{100 * half:.1f} %"


def _step(one: Series, step: changes.Step) -> tuple[str, ...]:
    before, after = one.points[step.at - 1], one.points[step.at]
    pairs = zip(before.software, after.software, strict=True)
    changed = [f"{was} → {now.split(' ', 1)[-1]}" for was, now in pairs if was != now]
    if before.gpu != after.gpu:
        changed.append(f"GPU {before.gpu} → {after.gpu}")
    return (
        *of_family(one), of_gpu(one.gpu), f"{after.started:%Y-%m-%d %H:%M}", *of_change(step),
        _between(one, step), ", ".join(changed) or "nothing that is recorded",
    )  # fmt: skip


def as_json(trend: Trend) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "trend_format": 1,
        "verdict": verdict(trend),
        "node": trend.node,
        "runs": trend.runs,
        "series": [
            {
                "family": one.family,
                "clock": one.clock,
                "gpu": one.gpu,
                "card": one.card,
                "type_b_known": one.freedom > 0,
            }
            | {
                "points": [
                    vars(point)
                    | {"started": point.started.isoformat(), "software": ", ".join(point.software)}
                    for point in one.points
                ]
            }
            | {
                "steps": [
                    {
                        "after": one.points[step.at - 1].run,
                        "before": one.points[step.at].run,
                        "first": one.points[step.first - 1].started.isoformat(),
                        "last": one.points[step.last].started.isoformat(),
                        "ratio": step.ratio,
                        "low": step.low,
                        "high": step.high,
                        "p": step.p,
                    }
                    for step in one.steps
                ]
            }
            for one in trend.series
        ],
    }


def open_metrics(connection: Any, node: str | None) -> Iterator[str]:
    """Lines of OpenMetrics text, of one node or of all, with the times at which runs began."""
    for name, query, value, unit, words in METRICS:
        yield from (f"# TYPE {name} gauge", f"# UNIT {name} {unit}", f"# HELP {name} {words}")
        yield from _samples(name, connection.execute(query.replace("@value@", value), [node] * 3))
    yield "# EOF"


def _samples(name: str, cursor: Any) -> Iterator[str]:
    """A line a sample; of two at one time the first: times of a series must rise."""
    names = [column for column, *_ in cursor.description[:-2]]
    before: tuple[str, float] | None = None
    while rows := cursor.fetchmany(ROWS_AT_A_TIME):
        for *labels, at, value in rows:
            texts = zip(names, labels, strict=True)
            told = ",".join(
                f'{key}="{_escaped(_spoken(key, text))}"' for key, text in texts if text is not None
            )
            moment = at.replace(tzinfo=UTC).timestamp()
            if before and before[0] == told and moment <= before[1]:
                continue
            before = told, moment
            yield f"{name}{{{told}}} {value!r} {moment:.0f}"


def _spoken(key: str, value: Any) -> str:
    """The text of a label; axes and site, which are JSON, as `bytes=4096 numa=0`."""
    if key not in ("case", "site"):
        return str(value)
    return " ".join(f"{name}={part}" for name, part in json.loads(value or "{}").items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
