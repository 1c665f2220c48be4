"""What a data set says of its nodes: which are slow at what, links that trained down, software, drift.

The logarithm of each time is compared with the median of its question and site over nodes of that kind: GPU k
with GPU k of the others. It is averaged over the questions of a family on one clock that nearly all nodes
have: rows on two clocks are not compared. A node is slow where its average over its last run is further above
that of nodes with its software than chance makes one in a thousand nodes, whatever it is tested for. What
chance makes is known by type A and B, and better the more nodes there are (uncertainty.moderate). Everything
but the last step is done by the engine, which needs no more memory for more nodes: medians of questions are
those of at most 500.
Sources: Rousseeuw and Croux, Alternatives to the median absolute deviation, J. Am. Stat. Assoc. 88 (1993).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePosixPath
from statistics import NormalDist
from typing import Any

from grainscope_report import uncertainty
from grainscope_report.fleet import changes
from grainscope_report.fleet.changes import ABOVE, MAD_WORTH, OF_MAD
from grainscope_report.fleet.sources import Refused
from grainscope_report.machine import spoken_ends
from grainscope_report.model import ends
from grainscope_report.uncertainty import Prior
from grainscope_report.units import plural

FALSE_ALARMS = 0.001  # of nodes
ALPHA = 0.05  # of all that is said of software
FEWEST_NODES = 5
FEWEST_DATES = 4
SAMPLED = 500  # nodes of a kind, for the median of a question
MEDIAN_SPREAD = math.sqrt(math.pi / 2)  # of a median, over that of a mean
OFTEN = 3  # nodes that make a usual one
FEW = 0.05  # nodes with fewer GPUs, beside those with more, that are not meant to be so
MOST_FREEDOM = 8.0  # of what a date's nodes say of it, as type B has: dates may differ by more than nodes do
DAY_S = 86_400
WEAK, OF_PEAKS = 0.95, 6  # of the usual copy peak, and how many of the spreads between nodes
STRAY_DAYS = 7
CLOCK_S = 5.0
QUANTILES = (0.01, 0.05, 0.5, 0.95, 0.99)
_NORMAL = NormalDist().inv_cdf
NEARLY_ALL = 0.9
Labels = Callable[[str, str], str]  # of a machine and its node


def nearly_all(count: str) -> str:
    """In SQL, how many of so many are nearly all: one may be missing, and of many a tenth."""
    return f"least({count} - 1, {NEARLY_ALL} * {count})"


_CHOSEN = """
CREATE TEMP TABLE chosen AS
SELECT run, kind, machine, node, started, CAST(date AS VARCHAR) AS date,
  concat_ws(', ', 'driver ' || driver, 'firmware ' || firmware) AS software,
  row_number() OVER (PARTITION BY kind, machine ORDER BY started DESC, run) AS back,
  count(*) OVER (PARTITION BY kind, machine) AS runs
FROM runs"""
TIMED = "status = 'ok' AND label = 'measured' AND median_s > 0 AND coalesce(operation_s, median_s) > 0"
# A question that few nodes have is compared with hardly more than these nodes: in it, each is as fast as the
# others. So those count that nearly all nodes have which measured a family on a clock and GPU at all.
_USUAL = f"""
CREATE TEMP TABLE usual AS
WITH few AS (SELECT run, kind, row_number() OVER (PARTITION BY kind ORDER BY machine) AS place,
    least({FEWEST_NODES}, count(*) OVER (PARTITION BY kind)) AS fewest
  FROM chosen WHERE back = 1)
SELECT kind, question, site, family, clock, y, dense_rank() OVER (ORDER BY kind, family, clock) AS part
FROM (SELECT c.kind, question, site, any_value(family) AS family, any_value(clock) AS clock,
    any_value(gpu) AS gpu, count(*) AS n, any_value(fewest) AS fewest,
    median(ln(coalesce(operation_s, median_s))) AS y
  FROM cases c JOIN few ON few.run = c.run AND few.place <= {SAMPLED} WHERE {TIMED}
  GROUP BY c.kind, question, site)
QUALIFY n >= greatest(fewest, {nearly_all("max(n) OVER (PARTITION BY kind, family, clock, gpu)")})"""
# Kinds, families, clocks and software are few: the engine compares their places in the alphabet.
_NUMBERED = """
CREATE TYPE word AS ENUM (SELECT DISTINCT word FROM (SELECT unnest([kind, family, clock]) AS word FROM usual
  UNION ALL SELECT unnest([kind, software]) FROM chosen) WHERE word IS NOT NULL ORDER BY word);
ALTER TABLE chosen ALTER kind TYPE word;
ALTER TABLE chosen ALTER software TYPE word"""
_EFFECT = f"""
CREATE TEMP TABLE effect AS
WITH each AS (SELECT run, part, gpu, CAST(count(*) AS INTEGER) AS questions,
    avg(ln(coalesce(operation_s, median_s)) - y) AS x, coalesce(sum(a * a), 0) / count(*) ** 2 AS a2,
    avg(coalesce(b, 0)) ** 2 AS b2, coalesce(min(b_freedom), 1e9) AS b_freedom
  FROM cases c JOIN usual u ON u.kind = c.kind AND u.question = c.question
    AND u.site IS NOT DISTINCT FROM c.site
  WHERE {TIMED} GROUP BY run, part, gpu),
  parts AS (SELECT DISTINCT part, CAST(kind AS word) AS kind, CAST(family AS word) AS family,
    CAST(clock AS word) AS clock FROM usual)
SELECT * EXCLUDE (part) FROM each JOIN parts USING (part)"""
# Each node's last run, over the median of what nodes with its software have, where these are enough.
_NODES = f"""
CREATE TEMP TABLE nodes AS
WITH last AS (SELECT e.*, machine, node, started, software FROM effect e JOIN chosen c USING (run)
    WHERE back = 1),
  alike AS (SELECT kind, family, clock, gpu, software, count(DISTINCT machine) AS n, median(x) AS x
    FROM last GROUP BY ALL),
  every AS (SELECT kind, family, clock, gpu, median(x) AS x FROM last GROUP BY ALL)
SELECT l.*, l.x - if(a.n >= {FEWEST_NODES}, a.x, e.x) AS far
FROM last l JOIN alike a ON a.kind = l.kind AND a.family = l.family AND a.clock = l.clock
    AND a.gpu IS NOT DISTINCT FROM l.gpu AND a.software = l.software
  JOIN every e ON e.kind = l.kind AND e.family = l.family AND e.clock = l.clock
    AND e.gpu IS NOT DISTINCT FROM l.gpu"""
# Whatever a fifth of the nodes do, the spread is that of the others; tails may be longer than normal ones.
_SPREADS = f"""
WITH middle AS (SELECT kind, family, clock, median(far) AS m, median(a2) AS a2 FROM nodes GROUP BY ALL)
SELECT kind, family, clock, count(DISTINCT machine), count(DISTINCT gpu),
  greatest({OF_MAD} * median(abs(far - m)), (any_value(m) - quantile_cont(far, 0.1)) / {_NORMAL(0.9)},
    (quantile_cont(far, 0.75) - any_value(m)) / {_NORMAL(0.75)}), any_value(middle.a2),
  median(b2), median(b_freedom), count(*)
FROM nodes JOIN middle USING (kind, family, clock) GROUP BY kind, family, clock ORDER BY ALL"""
_LIMITS = """
CREATE TEMP TABLE limits(kind word, family word, clock word, variance DOUBLE, freedom DOUBLE,
  critical DOUBLE, a2 DOUBLE)"""
_SLOW = """
SELECT n.kind, n.machine, n.node, (SELECT any_value(source) FROM runs r WHERE r.run = n.run), n.started,
  n.gpu, n.family, n.clock, n.questions, n.far,
  l.variance + greatest(0, n.a2 - l.a2) AS variance, l.freedom
FROM nodes n JOIN limits l USING (kind, family, clock)
WHERE n.far > ? AND n.far > l.critical * sqrt(l.variance + greatest(0, n.a2 - l.a2))"""
_LINKS = f"""
WITH each AS (SELECT c.kind, c.machine, c.node, unnest(r.links) AS link
    FROM runs r JOIN chosen c ON c.run = r.run WHERE back = 1),
  flat AS (SELECT kind, machine, node, link.* FROM each),
  usual AS (SELECT kind, direction, gpu, peer, mode(width) AS width, mode(generation) AS generation,
    mode(nvlinks) AS nvlinks, median(peak_gb_s) AS peak, count(DISTINCT machine) AS n FROM flat GROUP BY ALL),
  told AS (SELECT f.*, u.peak, u.n,
    coalesce(greatest(f.most_width, if(u.n >= {FEWEST_NODES}, u.width, NULL)), u.width) AS width_due,
    if(u.n >= {FEWEST_NODES}, u.generation, coalesce(f.most_generation, u.generation)) AS generation_due,
    u.nvlinks AS nvlinks_due
    FROM flat f JOIN usual u ON u.kind = f.kind AND u.direction = f.direction AND u.gpu = f.gpu
      AND u.peer IS NOT DISTINCT FROM f.peer)
SELECT kind, machine, node, gpu, peer, any_value(width), any_value(generation), any_value(nvlinks),
  any_value(width_due), any_value(generation_due), any_value(nvlinks_due), min(peak_gb_s), any_value(peak)
FROM told WHERE width < width_due OR generation < generation_due OR nvlinks < nvlinks_due
GROUP BY kind, machine, node, gpu, peer ORDER BY kind, node, gpu, peer"""
# Copy peaks of sound nodes lie close together, by a percent in results/reference/acceptance: one that is far
# below the usual one, and below what nodes differ by, is of a slow link, whatever it trained to.
_PEAKS = f"""
WITH each AS (SELECT c.kind, c.machine, c.node, unnest(r.links) AS link
    FROM runs r JOIN chosen c ON c.run = r.run WHERE back = 1),
  flat AS (SELECT kind, machine, node, link.direction, link.gpu, link.numa, link.peer,
    ln(link.peak_gb_s) AS y, link.peak_gb_s AS peak FROM each WHERE link.peak_gb_s > 0),
  usual AS (SELECT kind, direction, gpu, numa, peer, median(y) AS m, count(DISTINCT machine) AS n
    FROM flat GROUP BY ALL),
  beside AS (SELECT f.*, m, {OF_MAD} * median(abs(y - m)) OVER (PARTITION BY f.kind, f.direction, f.gpu,
      f.numa, f.peer) AS s
    FROM flat f JOIN usual u ON u.kind = f.kind AND u.direction = f.direction AND u.gpu = f.gpu
      AND u.numa IS NOT DISTINCT FROM f.numa AND u.peer IS NOT DISTINCT FROM f.peer
    WHERE n >= {FEWEST_NODES})
SELECT kind, machine, node, direction, gpu, numa, peer, peak, exp(m) FROM beside
WHERE m - y > greatest({math.log(1 / WEAK)}, {OF_PEAKS} * s)
ORDER BY kind, node, gpu, peer, direction, numa"""
# Nodes that ran with both, each as its own reference; else the nodes of both, as far as they are alike.
_PAIRED = f"""
WITH each AS (SELECT e.kind, machine, family, clock, software, avg(x) AS x, min(started) AS started
    FROM effect e JOIN chosen c USING (run) GROUP BY e.kind, machine, family, clock, software),
  begun AS (SELECT kind, software, min(started) AS begun FROM chosen GROUP BY ALL),
  pairs AS (SELECT a.kind, a.family, a.clock, a.software AS before, b.software AS after, b.x - a.x AS d
    FROM each a JOIN each b ON a.kind = b.kind AND a.machine = b.machine AND a.family = b.family
      AND a.clock IS NOT DISTINCT FROM b.clock AND a.software <> b.software
    JOIN begun p ON p.kind = a.kind AND p.software = a.software
    JOIN begun q ON q.kind = b.kind AND q.software = b.software
    WHERE (p.begun, p.software) < (q.begun, q.software)),
  middle AS (SELECT kind, family, clock, before, after, median(d) AS m FROM pairs GROUP BY ALL)
SELECT kind, family, clock, before, after, count(*) AS n, any_value(m),
  {OF_MAD} * median(abs(d - m)) / sqrt(count(*))
FROM pairs JOIN middle USING (kind, family, clock, before, after)
GROUP BY kind, family, clock, before, after HAVING count(*) >= {FEWEST_NODES} ORDER BY ALL"""
_BESIDE = f"""
WITH middle AS (SELECT kind, family, clock, software, median(x) AS m FROM nodes GROUP BY ALL),
  each AS (SELECT kind, family, clock, software, count(DISTINCT machine) AS n, any_value(m) AS m,
      {OF_MAD} * median(abs(x - m)) AS s, min(started) AS begun
    FROM nodes JOIN middle USING (kind, family, clock, software)
    GROUP BY kind, family, clock, software HAVING n >= {FEWEST_NODES})
SELECT a.kind, a.family, a.clock, a.software, b.software, least(a.n, b.n), b.m - a.m,
  sqrt(a.s ** 2 / a.n + b.s ** 2 / b.n)
FROM each a JOIN each b ON a.kind = b.kind AND a.family = b.family AND a.clock IS NOT DISTINCT FROM b.clock
WHERE (a.begun, a.software) < (b.begun, b.software) ORDER BY ALL"""
# By date what nodes differ from their own mean, without what their software makes. How well that is known is
# one spread of all dates: of what nodes beside each other in the list of a date differ by, which holds
# neither the date nor a median of few. `free` makes up for a node's mean, which follows each of its dates.
_SERIES = f"""
WITH each AS (SELECT e.kind, family, clock, software, machine, gpu, date, avg(x) AS x
    FROM effect e JOIN chosen c USING (run) WHERE runs > 1 GROUP BY ALL),
  own AS (SELECT *, x - avg(x) OVER (PARTITION BY kind, machine, family, clock, gpu) AS d FROM each),
  soft AS (SELECT kind, family, clock, software, median(d) AS m FROM own GROUP BY ALL),
  node AS (SELECT kind, family, clock, machine, date, avg(d - m) AS d FROM own JOIN soft USING (kind, family,
    clock, software) GROUP BY ALL),
  rest AS (SELECT *, 1 - 1 / count(*) OVER (PARTITION BY kind, family, clock, machine) AS free FROM node
    QUALIFY free > 0),
  apart AS (SELECT *, d / sqrt(free) - lag(d / sqrt(free)) OVER (PARTITION BY kind, family, clock, date ORDER
    BY machine) AS far FROM rest),
  spread AS (SELECT kind, family, clock, {OF_MAD / math.sqrt(2)} * median(abs(far)) AS s,
    {MAD_WORTH} * sum(free) FILTER (far IS NOT NULL) AS worth FROM apart GROUP BY ALL),
  day AS (SELECT kind, family, clock, date, count(*) AS n, median(d) AS m FROM rest GROUP BY ALL)
SELECT kind, family, clock, date, m, {MEDIAN_SPREAD} * s / sqrt(n), worth
FROM day JOIN spread USING (kind, family, clock) WHERE n >= {OFTEN} ORDER BY ALL"""
_PERCENTILES = f"""
SELECT kind, family, clock, count(DISTINCT machine), quantile_cont(exp(x), {list(QUANTILES)}),
  exp(greatest(?, any_value(critical * sqrt(variance))))
FROM nodes JOIN limits USING (kind, family, clock) GROUP BY kind, family, clock ORDER BY ALL"""
_NAMES = """
SELECT node, count(DISTINCT machine) FROM chosen GROUP BY node HAVING count(DISTINCT machine) > 1 ORDER BY
  node"""
# Without a GPU a host's name alone tells machines apart; folders of one node may have that name.
_FOLDERS = """
SELECT node, count(*), count(DISTINCT regexp_extract(source, '([^/]*)/[^/]*$', 1)) AS folders FROM runs
WHERE gpus = 0 AND NOT contains('/' || replace(source, ':', '/'), '/' || node || '/')
GROUP BY node, machine HAVING folders > 1 ORDER BY node"""
# Runs that skip something else than most: rows that have a time in most others are looked for in these alone.
# What is skipped has no clock, so questions of it are of their own.
_APART = f"""
CREATE TEMP TABLE apart AS
WITH each AS (SELECT run, bit_xor(hash(question, site)) AS skips FROM cases WHERE status = 'skipped'
    GROUP BY run)
SELECT run, c.kind FROM chosen c LEFT JOIN each USING (run) WHERE back = 1
QUALIFY count(*) OVER (PARTITION BY c.kind) >= {OFTEN} AND skips IS NOT NULL
  AND 2 * count(*) OVER (PARTITION BY c.kind, skips) < count(*) OVER (PARTITION BY c.kind)"""
_SKIPPED = f"""
WITH few AS (SELECT run, kind, row_number() OVER (PARTITION BY kind ORDER BY machine) AS place
    FROM chosen WHERE back = 1),
  others AS (SELECT run, kind, count(*) OVER (PARTITION BY kind) AS n FROM few WHERE place <= {SAMPLED}),
  skipped AS (SELECT p.kind, run, family, concat_ws(' ', family, version, label, axes, site) AS row, reason
    FROM cases x JOIN apart p USING (run) WHERE status = 'skipped'),
  timed AS (SELECT o.kind, concat_ws(' ', family, version, label, axes, site) AS row, any_value(n) AS n,
      count(DISTINCT run) AS times
    FROM cases x JOIN others o USING (run) WHERE status = 'ok' AND family IN (SELECT family FROM skipped)
    GROUP BY ALL)
SELECT run, count(*), min(family || ': ' || reason)
FROM skipped JOIN timed USING (kind, row) WHERE 2 * times > n GROUP BY run"""
# Commits are named by seven digits or more: one whose digits another begins with is the same.
_COMMIT = r"""regexp_replace("commit", '^([0-9a-f]{7})[0-9a-f]*', '\1')"""
_TOLD_ELSEWHERE = r"'--(preset|shard)=\S+', '', 'g'"  # of flags: by a column, and as parts of a run
# A run with fewer GPUs than others has lost some, unless a later run of its node has more, and its own too.
# One without any has where it has a driver, or its node had some before: a login node has none to lose.
_UUIDS = "({}.environment ->> '$.gpus[*].uuid')"
_ODD = f"""
WITH last AS (SELECT r.*, trim(concat_ws(' ', preset, regexp_replace(flags, {_TOLD_ELSEWHERE}))) AS asked,
    max(version || ' ' || "commit") OVER (PARTITION BY version, {_COMMIT}) AS suite,
    epoch(r.started) AS began, regexp_extract(flags, '--shard=(\\S+)', 1) AS shard
    FROM runs r JOIN chosen c ON c.run = r.run WHERE back = 1),
  usual AS (SELECT kind, mode(asked) AS asked, mode(suite) AS suite, median(began) AS began, count(*) AS n,
    map_values(histogram(asked)) AS asks, map_values(histogram(suite)) AS suites,
    any_value(gpu) AS gpu, any_value(gpus) AS gpus, any_value(cpu) AS cpu FROM last GROUP BY kind),
  whole AS (SELECT few.kind, max(u.n) AS n, arg_max(u.gpus, u.n) AS gpus
    FROM usual few JOIN usual u ON u.cpu = few.cpu AND u.gpus > few.gpus
      AND (u.gpu = few.gpu OR few.gpus = 0 AND few.cpu <> '')
    WHERE u.n >= {OFTEN} * few.n AND few.n <= greatest({OFTEN - 1}, {FEW} * u.n) GROUP BY few.kind),
  alike AS (SELECT node FROM chosen GROUP BY node HAVING count(DISTINCT machine) > 2),
  short AS (SELECT l.run, any_value(w.gpus) AS gpus, any_value(w.n) AS n
    FROM last l JOIN whole w USING (kind) LEFT JOIN runs o ON o.node = l.node AND o.cpu = l.cpu
      AND o.gpus > l.gpus AND list_has_all({_UUIDS.format("o")}, {_UUIDS.format("l")})
      AND (l.gpus > 0 OR l.node NOT IN (SELECT node FROM alike))
    GROUP BY l.run, l.started
    HAVING (any_value(l.gpus) > 0 OR any_value(l.driver) <> '' OR count(o.run) > 0)
      AND coalesce(max(o.started) < l.started, true))
SELECT l.machine, l.node, l.source, l.run, epoch(l.ended) - l.began, l.wall_s, l.started, l.asked, u.asked,
  l.suite, u.suite, l.began - u.began, u.n, u.asks, u.suites, l.complete, l.gpus, short.gpus, short.n,
  l.shard
FROM last l JOIN usual u USING (kind) LEFT JOIN short USING (run)
WHERE u.n >= {OFTEN} AND (l.asked <> u.asked OR l.suite <> u.suite
    OR abs(l.began - u.began) > {STRAY_DAYS * DAY_S})
  OR epoch(l.ended) < l.began OR epoch(l.ended) - l.began < l.wall_s - {CLOCK_S} OR l.started > ?
  OR NOT l.complete OR l.shard <> '' OR short.n > 0 OR list_contains(?, l.run)
ORDER BY l.kind, l.node, l.run"""
_FAILED = """
SELECT c.kind, c.machine, c.node, count(*), any_value(x.family), any_value(x.reason)
FROM cases x JOIN chosen c ON c.run = x.run WHERE x.status = 'failed' AND back = 1
GROUP BY c.kind, c.machine, c.node ORDER BY ALL"""
_KINDS = """
SELECT r.kind, any_value(gpu), any_value(gpus), any_value(cpu), count(DISTINCT machine), count(*),
  CAST(min(started) AS DATE), CAST(max(started) AS DATE)
FROM runs r GROUP BY r.kind ORDER BY count(DISTINCT machine) DESC, r.kind"""


@dataclass(frozen=True)
class Kind:
    """Machines of one kind: how many there are, of how many runs, and when these were."""

    name: str
    spoken: str
    nodes: int
    runs: int
    first: date
    last: date


@dataclass(frozen=True)
class Slow:
    """A node that is slow in a family: its time over that of the others, with the 95 % interval."""

    kind: str
    node: str
    gpu: int | None
    family: str
    clock: str
    questions: int
    ratio: float
    low: float
    high: float
    source: str
    started: datetime


@dataclass(frozen=True)
class Down:
    """A link of fewer lanes or an older generation than it is due, and its copy peak beside the usual one."""

    kind: str
    node: str
    gpu: int
    peer: int | None
    trained: str
    due: str
    peak_gb_s: float
    usual_gb_s: float


@dataclass(frozen=True)
class Weak:
    """A link whose copy peak is below the usual one, in one direction, though it trained as it should."""

    kind: str
    node: str
    direction: str
    gpu: int
    numa: int | None
    peer: int | None
    peak_gb_s: float
    usual_gb_s: float

    @property
    def link(self) -> str:
        """`node 0 → GPU 1`."""
        return spoken_ends(ends(vars(self), self.direction) or (f"gpu:{self.gpu}",))


@dataclass(frozen=True)
class Software:
    """What changing drivers or firmware changes of a family's time; `paired`: on the same nodes."""

    kind: str
    family: str
    clock: str
    before: str
    after: str
    nodes: int
    paired: bool
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Drift:
    """A step of a family's time over all nodes that ran more than once; it is between these dates."""

    kind: str
    family: str
    clock: str
    first: date
    last: date
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Shares:
    """The time of nodes over the median of all, at QUANTILES of the nodes, and the least of a slow one."""

    kind: str
    family: str
    clock: str
    nodes: int
    ratios: tuple[float, ...]
    slow_from: float


@dataclass(frozen=True)
class Failed:
    """A node with failed rows: how many, and of one the family and the reason."""

    kind: str
    node: str
    rows: int
    family: str
    reason: str


@dataclass
class Screen:
    """All that is said of a data set."""

    threshold: float
    kinds: list[Kind] = field(default_factory=list)
    slow: list[Slow] = field(default_factory=list)
    links: list[Down] = field(default_factory=list)
    weak: list[Weak] = field(default_factory=list)
    software: list[Software] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)
    shares: list[Shares] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    odd: list[Refused] = field(default_factory=list)

    nodes = property(lambda self: sum(kind.nodes for kind in self.kinds))
    decided = property(lambda self: [kind for kind in self.kinds if kind.nodes >= FEWEST_NODES])
    found = property(
        lambda self: any((self.slow, self.links, self.weak, self.software, self.drift, self.failed, self.odd))
    )


def screen(connection: Any, threshold: float) -> Screen:
    """Looks at a data set; less than `threshold`, a share of the time, is not worth a word."""
    for statement in (_CHOSEN, _USUAL, _NUMBERED, _EFFECT, _NODES):
        connection.execute(statement)
    labels = _labels(connection)
    said = Screen(threshold)
    said.kinds = [Kind(row[0], _spoken(*row[1:4]), *row[4:]) for row in _all(connection, _KINDS)]
    said.slow = _slow(connection, threshold, labels)
    said.links = list(_down(connection, labels))
    said.weak = list(_weak(connection, labels, said.links))
    said.software = _software(connection, threshold)
    said.drift = list(_drift(connection, threshold))
    shares = _all(connection, _PERCENTILES, math.log1p(threshold))
    said.shares = [Shares(*row[:4], tuple(row[4]), row[5]) for row in shares]
    said.failed = [
        Failed(kind, labels(machine, node), *rest) for kind, machine, node, *rest in _all(connection, _FAILED)
    ]
    said.odd = list(_odd(connection, labels))
    return said


def _all(connection: Any, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return connection.execute(query, list(values)).fetchall()


def _spoken(gpu: str, gpus: int, cpu: str) -> str:
    return ", ".join(part for part in (f"{gpu} ×{gpus}" if gpus > 1 else gpu, cpu) if part) or "machines"


def _labels(connection: Any) -> Labels:
    """What nodes are called: where machines share a name, with the folder that a run of each came from."""
    rows = _all(
        connection,
        "SELECT machine, any_value(source) FROM runs "
        f"WHERE node IN (SELECT node FROM ({_NAMES})) GROUP BY machine",
    )
    folders = {machine: PurePosixPath(source).parent.name or machine for machine, source in rows}
    counts = Counter(folders.values())
    shared = {key: name if counts[name] == 1 else key for key, name in folders.items()}
    return lambda machine, node: f"{node} ({shared[machine]})" if machine in shared else node


def _slow(connection: Any, threshold: float, labels: Labels) -> list[Slow]:
    spreads = [row for row in _all(connection, _SPREADS) if row[3] >= FEWEST_NODES]
    tests: dict[str, int] = defaultdict(int)
    for kind, _, _, _, gpus, *_ in spreads:
        tests[kind] += max(1, gpus)
    limits = []
    for kind, family, clock, _, _, spread, a2, b2, b_freedom, count in spreads:
        # Nodes in a narrow range do not make a known uncertainty of none: fewer nodes, more of what is known.
        prior = Prior(a2 + b2, b_freedom if a2 + b2 > 0 and b_freedom < 1e8 else 0.0)
        variance, freedom = uncertainty.moderate(prior, spread**2, MAD_WORTH * (count - 1))
        critical = uncertainty.student_quantile(1 - FALSE_ALARMS / tests[kind], freedom)
        limits.append([kind, family, clock, variance, freedom, critical, a2])
    connection.execute(_LIMITS)
    if limits:
        connection.executemany("INSERT INTO limits VALUES (?, ?, ?, ?, ?, ?, ?)", limits)
    best: dict[tuple[Any, ...], tuple[float, Slow]] = {}
    for kind, machine, node, source, started, gpu, family, clock, questions, far, variance, freedom in _all(
        connection, _SLOW, math.log1p(threshold)
    ):
        spread = math.sqrt(variance)
        half = uncertainty.student_quantile(ABOVE, freedom) * spread
        one = Slow(kind, labels(machine, node), gpu, family, clock, questions,
                   *(math.exp(end) for end in (far, far - half, far + half)), source, started)  # fmt: skip
        key = (machine, gpu, family)
        if key not in best or far / spread > best[key][0]:
            best[key] = far / spread, one
    return sorted((one for _, one in best.values()), key=lambda one: (-one.ratio, one.node, one.family))


def _down(connection: Any, labels: Labels) -> Iterator[Down]:
    for kind, machine, node, gpu, peer, *told, peak, usual in _all(connection, _LINKS):
        trained, due = _trained(*told[:3]), _trained(*told[3:])
        yield Down(kind, labels(machine, node), gpu, peer, trained, due, peak, usual)


def _weak(connection: Any, labels: Labels, down: Sequence[Down]) -> Iterator[Weak]:
    """What trained down is not said twice."""
    told = {(one.kind, one.node, one.gpu, one.peer) for one in down}
    for kind, machine, node, direction, gpu, numa, peer, *peaks in _all(connection, _PEAKS):
        if (kind, name := labels(machine, node), gpu, peer) not in told:
            yield Weak(kind, name, direction, gpu, numa, peer, *peaks)


def _trained(width: int | None, generation: int | None, nvlinks: int | None) -> str:
    if nvlinks is not None:
        return f"NVLink ×{nvlinks}"
    return f"PCIe {generation or '?'} ×{width or '?'}"


def _software(connection: Any, threshold: float) -> list[Software]:
    paired = _all(connection, _PAIRED)
    told = {row[:5] for row in paired}
    rows = [(*row, True) for row in paired]
    rows += [(*row, False) for row in _all(connection, _BESIDE) if row[:5] not in told]
    found = []
    for kind, family, clock, before, after, nodes, apart, mean_spread, same in rows:
        spread, freedom = max(MEDIAN_SPREAD * mean_spread, 1e-9), MAD_WORTH * (nodes - 1)
        chance = 2 * uncertainty.student_above(abs(apart) / spread, freedom)
        if abs(apart) > math.log1p(threshold) and chance * len(rows) <= ALPHA:
            half = uncertainty.student_quantile(ABOVE, freedom) * spread
            ends = (math.exp(end) for end in (apart, apart - half, apart + half))
            found.append(Software(kind, family, clock, before, after, nodes, same, *ends))
    return sorted(found, key=lambda one: (one.kind, one.before, one.after, -abs(math.log(one.ratio))))


def _drift(connection: Any, threshold: float) -> Iterator[Drift]:
    series: dict[tuple[str, str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for kind, family, clock, *point in _all(connection, _SERIES):
        series[kind, family, clock].append(tuple(point))
    long = {key: points for key, points in series.items() if len(points) >= FEWEST_DATES}
    for (kind, family, clock), points in long.items():
        days, levels, known, worths = zip(*points, strict=True)
        freedom = min(MOST_FREEDOM, worths[0])
        for step in changes.find(levels, [max(one, 1e-6) for one in known], len(long), freedom):
            if abs(step.size) > math.log1p(threshold):
                dates = (date.fromisoformat(days[at]) for at in (step.first - 1, step.last))
                yield Drift(kind, family, clock, *dates, step.ratio, step.low, step.high)


def _odd(connection: Any, labels: Labels) -> Iterator[Refused]:
    [(nodes,)] = _all(connection, "SELECT count(DISTINCT machine) FROM chosen")
    for node, count in _all(connection, _NAMES):
        # Hosts that are all called alike have the names of their folders.
        if count > max(2, nodes / 2):
            continue
        yield Refused(node, f"is the name of {count} machines, which are kept apart", kept=True)
    for node, count, folders in _all(connection, _FOLDERS):
        why = (
            f"is the host of {count} runs in {folders} folders, of which the last alone is looked at: "
            "without a GPU only the host's name tells machines apart. Where these are several nodes, give "
            "each a host name of its own and measure them again"
        )
        yield Refused(node, why, kept=True)
    now = (datetime.now(UTC) + timedelta(hours=1)).replace(tzinfo=None)
    connection.execute(_APART)
    some = _all(connection, "FROM apart LIMIT 1")  # of none the engine would still read all rows
    skipped = {run: told for run, *told in _all(connection, _SKIPPED)} if some else {}
    found = _all(connection, _ODD, now, list(skipped))
    for machine, node, source, run, took, wall, started, *beside in found:
        asked, usual, suite, usual_suite, apart, count, *counts, complete, gpus, gpus_due, others, shard = (
            beside
        )
        why = []
        if others:
            has, of = (plural(gpus, "GPU"), "GPU and CPU") if gpus else ("no GPU", "CPU")
            why.append(f"has {has} where {others:,} others of the same {of} model have {gpus_due}: "
                       f"it may have lost {gpus_due - gpus}")  # fmt: skip
        if not complete:
            why.append("ended before its run was complete: `grainscope --resume` goes on with it")
        if shard:
            why.append(_in_part(shard))
        if run in skipped:
            rows, one = skipped[run]
            why.append(f"skips {plural(rows, 'row')} that most nodes of its kind have ({one})")
        if took < 0:
            why.append(f"ended {-took:.0f} s before it started: its clock was set back")
        elif wall is not None and took < wall - CLOCK_S:
            why.append(f"took {wall:.0f} s, which its clock says were {took:.0f}: it was set back")
        if started > now:
            why.append(f"started {started:%Y-%m-%d %H:%M} UTC, which is yet to come: its clock is ahead")
        elif count >= OFTEN and abs(apart) > STRAY_DAYS * DAY_S:
            days = f"{abs(apart) / DAY_S:.0f} days {'after' if apart > 0 else 'before'} most"
            why.append(f"started {days}: it is of another run, or its clock is off")
        if count >= OFTEN and asked != usual:
            why.append(f"is of another run: `{asked}`, {_of_most(f'`{usual}`', counts[0])}")
        if count >= OFTEN and suite != usual_suite:
            why.append(f"is of GrainScope {suite}, {_of_most(usual_suite, counts[1])}")
        yield Refused(labels(machine, node), f"{'; '.join(why)} (run {run}, {source})", kept=True)


def _in_part(shard: str) -> str:
    """What a run is of which there are these parts: `1,3/4`."""
    there, _, count = shard.partition("/")
    missing = [str(at) for at in range(1, int(count) + 1) if str(at) not in there.split(",")]
    parts = f"part{'s' if ',' in there else ''} {there.replace(',', ', ')}"
    flag = f"`--shard {missing[0]}/{count}`" + (" and so on" if len(missing) > 1 else "")
    return f"is {parts} of {count} of a run: give the others, too, or measure them by {flag}"


def _of_most(usual: str, counts: Sequence[int]) -> str:
    """What more than half of the nodes of a kind are of; where there is none, of how many they are."""
    nodes = sum(counts)
    if 2 * max(counts) > nodes:
        return f"most are of {usual}"
    return f"the {nodes:,} nodes of its kind are of {len(counts)} different ones"
