"""What a value would differ by if it were measured again: the numbers of src/core/statistics.cpp once more.

Type A comes from the visits of a run, type B from a table of what runs are known to differ by. Values are
logarithms of times, so every uncertainty is relative: 0.01 is one percent. Rows are JSON as in a file.
Sources: JCGM 100:2008, the Guide to the Expression of Uncertainty in Measurement; Smyth, Linear models and
empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 3 (2004). The standard library alone.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

from grainscope_report import model, resources, typed
from grainscope_report.errors import ReportError
from grainscope_report.model import Result, Row
from grainscope_report.typed import Problem, Record

FORMAT = "grainscope type-b 2"
TABLE = resources.PACKAGE / "type_b.json"
COVERAGE = 0.95
FEWEST_FOR_PRIOR = 8
DIFFERS = 3  # so many times the usual spread is no luck of three visits
WIDE = 0.05  # a number that is known no better than this is marked
DERIVED = ("uncertainty", "interval_s", "flags")
FLAGS = ("wide_interval", "visits_differ")
ROUNDING = 1e-6  # as rules have it
# So many CPUs of a machine others took on average while a run measured: up to the first its host is not
# shared, from the second on it is, from the third on it is crowded, and between the first two nobody says
# (docs/uncertainty.md, A host that others use).
QUIET_CPUS, SHARED_CPUS, CROWDED_CPUS = 0.004, 0.01, 0.3
NOT_SHARED, SHARED, CROWDED = range(3)
# CPUs lie far from each other where a cache line takes so many times as long between them as elsewhere: less
# is clocks and neighbours, another cache is more. In fewer nanoseconds two halves of one core hand it over,
# and that is no nearness which others are held to.
FAR, TWO_CORES = 2.5, 20.0
# Standard uncertainties, by clock, that stand beside type B of each of two runs where the host of one is
# shared and that of the other is not: with them 95 % of the rows of such runs lie where they should.
# They stand between one that is crowded and one that is shared, too.
BETWEEN_HOSTS = {"gated": 0.02, "open": 0.05, "quiet": 0.098, "host": 0.18}
FREEDOM = 8.0  # of what a table says: it is made of few machines
MANY = 100  # degrees of freedom
LEAST_FREEDOM = 1e-2  # less is of no sample
MOST_LOG = 700.0  # that a number holds
AS_NORMAL = 1e7  # from so many on Student's t is the normal distribution, in seven digits
_TINY = 1e-12

Raw = dict[str, Any]


class Uncertainty(NamedTuple):
    """A relative standard uncertainty, and the degrees of freedom that it was found with."""

    standard: float
    freedom: float


class Prior(NamedTuple):
    """What variances of rows that are alike have in common: their scale, worth so many degrees of freedom."""

    variance: float
    freedom: float


# No cache has more bytes: what says so was not read right.
LARGEST_CACHE = 1 << 36

NO_PRIOR = Prior(0.0, 0.0)


class TypeB:
    """The table of what runs differ by; an empty one knows nothing."""

    def __init__(self, content: bytes = b"") -> None:
        table = json.loads(content) if content else {"format": FORMAT, "families": [], "machines": []}
        if table.get("format") != FORMAT:
            raise ReportError(f"{TABLE} is no `{FORMAT}`: install grainscope-report again")
        self.date = table.get("date")
        self.sha256 = hashlib.sha256(content).hexdigest() if content else None
        self._latest: Mapping[str, Any] | None = None
        self._kind: tuple[str, str] = ("", "")
        self._machines = {(one["gpu"], one["cpu"]): at for at, one in enumerate(table["machines"])}
        self._ran = {family.get("machine", 0) for family in table["families"] if "run" in family}
        self._families = {
            (family.get("machine", 0), family["family"], family["version"], family["clock"]): family
            for family in table["families"]
        }
        self._rows = {
            (row["family"], row["version"], row["clock"], axes_text(row["axes"])): row
            for row in table.get("rows", ())
        }
        for row in self._rows.values():
            if not len(row["visit"]) == len(row["run"]) == len(table["machines"]):
                raise LookupError("a row has not a number, or null, for each of the machines")

    def knows(self, context: Mapping[str, Any]) -> bool:
        """Whether it says what runs of machines like the one of this context differ by."""
        return self._machines.get(kind_of(context)) in self._ran

    def between_runs(self, row: Mapping[str, Any], context: Mapping[str, Any]) -> Uncertainty | None:
        """What runs differ by in this row, else in its family, by version and clock."""
        family, own = self._of(row, "run", self._at(context))
        return uncertainty_of(family | ({"standard": own} if own else {})) if family else None

    def between_visits(self, row: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[Prior, float]:
        """The variance between visits to the middle row of its family, and that to this row as a share of it.

        Of a row that the table does not know, of rows of its family at large, and a share of 1. Of a kind of
        machine that the table does not know, as of its first.
        """
        at = self._at(context)
        family, own = self._of(row, "visit", 0 if at is None else at)
        if not family:
            return NO_PRIOR, 1.0
        told, middle = uncertainty_of(family), family.get("middle")
        if own and middle:
            return Prior(middle**2, told.freedom), (own / middle) ** 2
        return Prior(told.standard**2, told.freedom), 1.0

    def _at(self, context: Mapping[str, Any]) -> int | None:
        if self._latest is not context["environment"]:  # rows of one context come one after another
            self._latest, self._kind = context["environment"], kind_of(context)
        return self._machines.get(self._kind)

    def _of(
        self, row: Mapping[str, Any], level: str, at: int | None
    ) -> tuple[Mapping[str, float] | None, float | None]:
        """What a family's values differ by at a level, and what those of the row do, as far as known."""
        case = row["case"]
        key = (case["family"], case.get("version", 1), clock_of(row))
        found = self._families.get((at, *key), {}).get(level)
        if not found:
            return None, None
        own = self._rows.get((*key, axes_text(case.get("axes") or {})), {}).get(level)
        return found, own[at] if own else None

    def of_kind(self, kind: tuple[str, str]) -> Iterator[tuple[tuple[str, int, str, str], Uncertainty]]:
        """What runs of a kind of machine differ by, by family, version, clock and axes.

        Of a family as a whole the axes are empty.
        """
        at = self._machines.get(kind)
        families = {
            key[1:]: family["run"]
            for key, family in self._families.items()
            if key[0] == at and "run" in family
        }
        for key, told in families.items():
            yield (*key, ""), uncertainty_of(told)
        for (*key, axes), row in self._rows.items():
            if (told := families.get(tuple(key))) and row["run"][at] is not None:
                yield (*key, axes), uncertainty_of(told | {"standard": row["run"][at]})

    def summary(self, context: Mapping[str, Any]) -> Raw | None:
        """What a context says of it; None of an empty one."""
        if self.sha256 is None:
            return None
        return {"date": self.date, "sha256": self.sha256, "known": self.knows(context)}


def stolen(rows: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """For how many seconds of the CPUs others had them while these rows were measured, and how long that was.

    Their ratio is the number of CPUs that others took; both are 0 where nothing is told.
    """
    visits = [visit for row in rows if row.get("status") == "ok" for visit in row.get("visits") or ()]
    told = [visit for visit in visits if visit.get("stolen_s") is not None and visit.get("visit_s")]
    return math.fsum(visit["stolen_s"] for visit in told), math.fsum(visit["visit_s"] for visit in told)


def sharing(rows: Iterable[Mapping[str, Any]]) -> int | None:
    """Whether others took CPUs of the machine while these rows were measured; None where it is not clear.

    NOT_SHARED, SHARED or CROWDED, each a step more.
    """
    had, measured = stolen(rows)
    if not measured:
        return None
    taken = had / measured
    if taken >= CROWDED_CPUS:
        return CROWDED
    return NOT_SHARED if taken <= QUIET_CPUS else SHARED if taken >= SHARED_CPUS else None


def between_hosts(clock: str, steps: float = 1.0) -> Uncertainty:
    """What rows of two runs differ by beside type B whose hosts are so many steps apart (`sharing`).

    Of means over runs the steps are those between the means of both sides.
    """
    more = BETWEEN_HOSTS.get(clock, max(BETWEEN_HOSTS.values()))
    return Uncertainty(steps * math.sqrt(2) * more, FREEDOM)


def kind_of(context: Mapping[str, Any]) -> tuple[str, str]:
    """Machines of one kind have the same GPUs, if any (`NVIDIA H200 ×2`, or `A, B ×2`), in whatever order,
    and the same CPU: its name and its caches (`AMD EPYC 32/1024/32768 KiB`).

    Beside a second GPU short operations take longer, whether or not a run uses both (docs/uncertainty.md).
    In a virtual machine CPUs of several generations may have one name, and their caches tell them apart.
    """
    environment = context["environment"]
    cpu = environment["cpu"]
    sizes = [f"{size >> 10}" for _, size in data_caches(cpu)]
    name = cpu["model"] or ""
    if sizes and isinstance(name, str):
        name = f"{name} {'/'.join(sizes)} KiB"
    models = Counter(gpu["name"] for gpu in environment["gpus"])
    gpus = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in sorted(models.items()))
    return gpus, name


def comparable(axes: Mapping[str, Any]) -> Raw:
    """Axes that are equal where cases are: what is near is not known where a virtual machine hides its nodes,
    and older runs there say `local`."""
    return {**axes, **({"locality": "local"} if axes.get("locality") == "unknown" else {})}


def axes_text(axes: Mapping[str, Any]) -> str:
    """The same as text, as nlohmann::json and DuckDB write it."""
    return json.dumps(comparable(axes), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def data_caches(cpu: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Level and bytes of data and unified caches, once for each level and size, smallest first."""
    listed = cpu.get("caches")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    data = [one for one in found if str(one.get("type", "")).lower() != "instruction"]
    sizes = [(one.get("level"), one.get("bytes")) for one in data]
    known = [
        size for size in sizes if all(type(part) is int for part in size) and 0 < size[1] <= LARGEST_CACHE
    ]
    return sorted(set(known))


@cache
def at_hand() -> TypeB:
    """The table that comes with the package, if any."""
    return TypeB(TABLE.read_bytes()) if TABLE.is_file() else TypeB()


def table_of(context: Mapping[str, Any]) -> TypeB | None:
    """The table that a result was made with: empty where without one, None where it is not at hand."""
    used = context.get("type_b")
    if used is None:
        return TypeB()
    return at_hand() if at_hand().sha256 == used["sha256"] else None


def best_table(context: Mapping[str, Any], tables: Sequence[TypeB]) -> TypeB | None:
    """The first of these tables that knows the machine, else that at hand; None where the file's own stays.

    A file whose own table knows its machine and is newer keeps what it says, unless `tables` say more.
    """
    own = context.get("type_b") or {}
    newer = own.get("known") and (own["date"] or "") > (at_hand().date or "")
    there = (*tables, *(() if newer else (at_hand(),)))
    return next((table for table in there if table.knows(context)), None)


def renew(document: Raw, tables: Sequence[TypeB]) -> None:
    """Gives rows the type B of the best table, if any; what is off the format stays so: the reader tells."""
    context = document["context"]
    table = best_table(context, tables)
    if table and (context.get("type_b") or {}).get("sha256") != table.sha256:
        rows = document["benchmarks"]
        for row, found in zip(rows, derived(rows, context, table), strict=True):
            if found is not None and _is_right(row):
                _give(row, found)
        if _is_right(context):
            context["type_b"] = table.summary(context)


class Renewed(Record):
    """What `renew` gives anew."""

    OPEN = True
    uncertainty: model.Uncertainties | None = None
    interval_s: model.Interval | None = None
    flags: frozenset[model.Flag] = frozenset()
    type_b: model.TypeBTable | None = None


def _is_right(thing: Raw) -> bool:
    """Whether what a row or a context has of these follows the format."""
    return not typed.read(Renewed, thing)[1]


def clock_of(row: Mapping[str, Any]) -> str:
    """`gated` (events behind a gate), `open` (events), `host`, or `quiet`: the host's on quiet CPUs."""
    timing = row.get("timing") or {}
    if timing.get("clock") != "event":
        return "quiet" if timing.get("quiet") else "host"
    return "gated" if timing.get("gated") else "open"


def clock_of_row(row: Row) -> str:
    """The same of a row that was read."""
    return clock_of({"timing": vars(row.timing)} if row.timing else {})


def apply(rows: Sequence[Raw], context: Mapping[str, Any], type_b: TypeB | None) -> None:
    """Gives every measured row its uncertainty, its interval and the flags that follow from them.

    Where the table is None a row keeps what only the table tells.
    """
    for row, found in zip(rows, derived(rows, context, type_b), strict=True):
        if found is not None:
            _give(row, found)


def _give(row: Raw, found: Raw) -> None:
    for name in DERIVED:
        row.pop(name, None)
    row |= found


def derived(rows: Sequence[Raw], context: Mapping[str, Any], type_b: TypeB | None) -> Iterator[Raw | None]:
    """What `apply` gives each row, those of `DERIVED` that are known; None to one that was not measured."""
    for row, (a, differ) in zip(rows, _type_a(rows, context, type_b), strict=True):
        if not _is_measured(row):
            yield None
            continue
        b = _written(row, "b") if type_b is None else type_b.between_runs(row, context)
        whole = combined(a, b) if a and b else a
        parts = {"a": a, "b": b, "combined": whole if a and b else None}
        told = {name: _as_written(part) for name, part in parts.items() if part}
        found = {"uncertainty": told} if told else {}
        found |= {"interval_s": interval_around(row["median_s"], whole)} if whole else {}
        flags = [flag for flag in row.get("flags", ()) if flag not in FLAGS]
        stated = found.get("interval_s") or row["visits"][row["middle"]].get("within_s")
        wide = stated is None or bool((stated[1] - stated[0]) / 2 > WIDE * row["median_s"])
        yield found | {"flags": [*flags, *["wide_interval"] * wide, *["visits_differ"] * differ]}


def problems(result: Result) -> list[Problem]:
    """Where a result says otherwise than its visits and the table.

    Where that table is not at hand, type A and B are as written, and what follows from them is held to them.
    """
    rows, context = [row.raw for row in result.rows], result.context.raw
    found = []
    for at, (row, right) in enumerate(zip(rows, derived(rows, context, table_of(context)), strict=True)):
        for name in DERIVED if right else ():
            said, made = (_followed(one, name) for one in (row, right))
            if not _alike(said, made):
                why = f"is {json.dumps(said)}, the visits of all rows make it {json.dumps(made)}"
                found.append(Problem(f"$.benchmarks[{at}].{name}", why))
    return found


def _followed(row: Mapping[str, Any], name: str) -> Any:
    """Of flags that which follows from the spread of visits."""
    return "visits_differ" in row.get("flags", ()) if name == "flags" else row.get(name)


def _alike(one: Any, other: Any) -> bool:
    if type(one) is type(other) is dict:
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if type(one) is type(other) is list:
        return all(map(_alike, one, other))
    numbers = type(one) in (int, float) and type(other) in (int, float)
    return math.isclose(one, other, rel_tol=ROUNDING) if numbers else one == other


def _type_a(
    rows: Sequence[Raw], context: Mapping[str, Any], type_b: TypeB | None
) -> Iterator[tuple[Uncertainty | None, bool]]:
    """Of each row the uncertainty of its middle visit's median, and whether its visits differ unusually.

    Without a table what is written.
    """
    if type_b is None:
        return ((_written(row, "a"), "visits_differ" in row.get("flags", ())) for row in rows)
    known = [type_b.between_visits(row, context) for row in rows]
    return type_a(
        [[math.log(visit["median_s"]) for visit in _visits(row)] for row in rows],
        [(row["case"]["family"], clock_of(row)) for row in rows],
        [share for _, share in known],
        [prior for prior, _ in known],
    )


def type_a(
    logs: Sequence[Sequence[float]],
    keys: Sequence[tuple[str, str]],
    shares: Sequence[float],
    known: Sequence[Prior] = (),
) -> Iterator[tuple[Uncertainty | None, bool]]:
    """The same from the logarithms of visits' medians, the family and clock of each row, and the variance of
    its visits over that of the middle row of its family, as far as that is known.

    Three values alone tell too little of their spread, so the variance of a row, over its share, is moderated
    by those of its family and clock in this run; where these are fewer than 8, by what is `known` of visits;
    else by those of all families on that clock; else it stands alone.
    """
    counts = [len(log) for log in logs]
    clocks = [clock for _, clock in keys]
    own = [variance(log) / share if len(log) > 1 else 0.0 for log, share in zip(logs, shares, strict=True)]
    families, alike = _priors(keys, counts, own), _priors(clocks, counts, own)
    for at, (key, n, spread, share) in enumerate(zip(keys, counts, own, shares, strict=True)):
        prior = families.get(key, NO_PRIOR)
        if not prior.freedom:
            prior = known[at] if known and known[at].freedom else alike.get(key[1], NO_PRIOR)
        moderated, freedom = moderate(prior, spread, n - 1)
        if not n or not freedom:
            yield None, False
            continue
        differ = bool(prior.freedom > 0 and spread > DIFFERS**2 * prior.variance)
        yield Uncertainty(math.sqrt(share * moderated * middle_share(n)), freedom), differ


def moderate(prior: Prior, own: float, freedom: float) -> tuple[float, float]:
    """A variance with its degrees of freedom, drawn towards what is known beforehand; both may be 0."""
    both = prior.freedom + freedom
    if not both or math.isinf(both):
        return prior.variance, both
    return (prior.freedom * prior.variance + freedom * own) / both, both


def middle_visit(medians: Sequence[float]) -> int:
    """Which visit stands for all: that with the middle median, the lower of two, of equals the first."""
    return sorted(range(len(medians)), key=medians.__getitem__)[(len(medians) - 1) // 2]


def middle_share(count: int) -> float:
    """The variance of the middle one of `count` values over that of one value.

    Of normal values it is right within 2 % from 3 on. The lower of two in the middle, as an error of their
    mean, is that of one value fewer.
    """
    return math.pi / (2 * (count if count % 2 else count - 1) + math.pi - 2)


def median_share(count: int) -> float:
    """The variance of the median of `count` values over that of one; of an even number the mean of two.

    Of normal values it is right within 3 %, and of two without error.
    """
    return middle_share(count) if count % 2 else math.pi / (2 * (count + math.pi - 2))


def combined(a: Uncertainty, b: Uncertainty) -> Uncertainty:
    """Both together, with the effective degrees of freedom of Welch and Satterthwaite."""
    squares = a.standard**2 + b.standard**2
    parts = a.standard**4 / a.freedom + b.standard**4 / b.freedom
    return Uncertainty(math.sqrt(squares), squares**2 / parts if parts > 0 else min(a.freedom, b.freedom))


def expanded(uncertainty: Uncertainty) -> float:
    """Half the width of the interval that holds the value with 95 % probability."""
    return student_quantile((1 + COVERAGE) / 2, uncertainty.freedom) * uncertainty.standard


def interval_around(value: float, uncertainty: Uncertainty) -> list[float]:
    """That interval around a time or a rate."""
    factor = math.exp(min(expanded(uncertainty), MOST_LOG))
    return [value / factor, value * factor]


def fit_prior(variances: Sequence[float], freedom: float) -> Prior:
    """The prior that drew these sample variances of so many degrees of freedom; none of fewer than 8."""
    if len(variances) < FEWEST_FOR_PRIOR:
        return NO_PRIOR
    logs = [log_of_variance(variance, freedom) for variance in variances]
    excess = variance(logs) - _trigamma(freedom / 2)
    # No prior is worth more than all that it was made of.
    low, high = 1e-2, freedom * len(logs)
    for _ in range(60):
        worth = math.sqrt(low * high)
        low, high = (worth, high) if _trigamma(worth / 2) > excess else (low, worth)
    return Prior(math.exp(math.fsum(logs) / len(logs) + _digamma_less_log(high / 2)), high)


def log_of_variance(own: float, freedom: float) -> float:
    """The logarithm of a sample variance of so many degrees of freedom, without bias."""
    return math.log(max(own, _TINY)) - _digamma_less_log(freedom / 2)


@lru_cache(maxsize=1 << 16)  # the rows of some large files, each of which has a freedom of its own
def student_quantile(probability: float, freedom: float) -> float:
    """The value below which Student's t lies with this probability; `freedom` may be infinite."""
    if probability < 0.5:
        return -student_quantile(1 - probability, freedom)
    freedom = max(freedom, LEAST_FREEDOM)
    found = NormalDist().inv_cdf(probability)
    if freedom > AS_NORMAL:
        return found
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    # From the left the tangents of a concave curve never reach past where it is zero.
    for _ in range(200):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(found * found / freedom))
        step = (probability - 1 + student_above(found, freedom)) / density
        found += step
        if abs(step) <= 1e-13 * found:
            break
    return found


def student_above(t: float, freedom: float) -> float:
    """The probability that Student's t lies above a `t` of at least 0; both may be infinite.

    Of many degrees of freedom by Hill's series, right to ten digits up to a t of 6 and soon evaluated.
    Source: Hill, Algorithm 395: Student's t-distribution, Comm. ACM 13 (1970).
    """
    if freedom > MANY:
        square = t * t
        if math.isfinite(freedom):
            a = freedom - 0.5
            b, square = 48 * a * a, a * math.log1p(square / freedom)
        t = math.sqrt(square)
        if math.isfinite(freedom) and math.isfinite(t):
            more = ((4 * square + 33) * square + 240) * square + 855
            t += (square + 3) * t / b - more * t / (10 * b * (b + 0.8 * square * square + 100))
        return math.erfc(t / math.sqrt(2)) / 2
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction from behind."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    if x <= 0:
        return 0.0
    fraction = 1.0
    # It converges within some roots of the larger parameter.
    for m in range(20 + int(3 * math.sqrt(max(a, b))), 0, -1):
        top = a + 2 * m
        below = top - 1
        fraction = 1 + m * (b - m) * x / (below * top) / fraction
        fraction = 1 - (a + m - 1) * (a + b + m - 1) * x / ((top - 2) * below) / fraction
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(scale + a * math.log(x) + b * math.log1p(-x)) / (a * fraction)


def _digamma_less_log(x: float) -> float:
    """Digamma less the logarithm, by the asymptotic series from where it is exact."""
    total = -math.log(x)
    while x < 10:
        total -= 1 / x
        x += 1
    y = 1 / (x * x)
    return total + math.log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y / 252))


def _trigamma(x: float) -> float:
    total = 0.0
    while x < 10:
        total += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    return total + 1 / x + y / 2 + y / x * (1 / 6 - y * (1 / 30 - y / 42))


def _priors(keys: Iterable[Hashable], counts: Iterable[int], own: Iterable[float]) -> dict[Hashable, Prior]:
    """Priors by key, of the rows with equally many visits: of the numbers of visits that which most have."""
    variances: dict[Hashable, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key, count, one in zip(keys, counts, own, strict=True):
        if count > 1:
            variances[key][count].append(one)
    found = {}
    for key, by_count in variances.items():
        count, most = max(sorted(by_count.items()), key=lambda item: len(item[1]))
        found[key] = fit_prior(most, count - 1)
    return found


def variance(values: Sequence[float]) -> float:
    """The sample variance of two values or more."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _is_measured(row: Mapping[str, Any]) -> bool:
    return row["status"] == "ok" and row["label"] == "measured" and "visits" in row


def _visits(row: Mapping[str, Any]) -> Sequence[Raw]:
    return standing(row["visits"]) if _is_measured(row) else ()


def standing(visits: Sequence[Raw]) -> Sequence[Raw]:
    """The visits that stand for a row: those that are neither busy nor far where there is any, else all."""
    return [visit for visit in visits if not (visit.get("busy") or visit.get("far"))] or visits


def lie_apart(near_ns: float, far_ns: float) -> bool:
    """Whether a cache line took so much longer between some CPUs than between others that those are far."""
    return near_ns >= TWO_CORES and far_ns > FAR * near_ns


def line_ns(visit: Mapping[str, Any]) -> float:
    """How long a cache line took between the CPUs of a visit; 0 where it does not say."""
    told = visit.get("state", {}).get("cache_line_ns")
    return float(told) if isinstance(told, int | float) else 0.0


def of_record(part: model.Uncertainty) -> Uncertainty:
    """That of a row that was read."""
    return Uncertainty(part.standard, part.freedom or math.inf)


def uncertainty_of(written: Mapping[str, float]) -> Uncertainty:
    """What a file says of an uncertainty; without `freedom` it is infinite."""
    return Uncertainty(written["standard"], written.get("freedom", math.inf))


def _written(row: Mapping[str, Any], name: str) -> Uncertainty | None:
    part = row.get("uncertainty", {}).get(name)
    return uncertainty_of(part) if part else None


def _as_written(part: Uncertainty) -> Raw:
    return {"standard": part.standard} | ({} if math.isinf(part.freedom) else {"freedom": part.freedom})
