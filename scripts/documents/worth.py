"""What the suite's own checks are worth: intervals on runs held out, planted changes, physical limits.

A table of type B is made without a machine, or where too few runs remain without one run, and is tried on
the runs that it was not made of. What is asked of it (`ASKED`) is asked of all kinds of machine together; how
each kind does stands beside it.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from statistics import fmean, median
from typing import NamedTuple
from zlib import crc32

import documents
from documents import PROJECT, part, table
from grainscope_report import uncertainty, visits
from grainscope_report.comparison import verdicts
from grainscope_report.comparison.sides import Answer
from grainscope_report.model import Row
from grainscope_report.uncertainty import FREEDOM, Uncertainty
from grainscope_report.visits import Difference, Key, Measured, Spreads

BOUND_TO_CPUS = "study/cpus/no-gpu-xeon.gz"
# Whole runs of `quick` on one H100 each: from the first the hypervisor took least, and of these the hosts of
# two were not shared.
QUIETEST = "acceptance/h100-d.json.gz"
ON_ONE_H100 = (
    QUIETEST,
    "h100-quick-short.json.gz",
    *(f"acceptance/h100-{run}.json.gz" for run in ("a", "b1", "b2", "c1", "c2")),
)

MACHINE, RUN = "machine", "run"  # what a table may be made without
Machines = tuple[str, str]  # of a kind, or of ALL, and what tables were made without: either, if empty
ALL = "all"
H200 = "NVIDIA H200"
CROWDED = "acceptance/two-h200-6.json.gz"  # the one run whose host was crowded
UNSEEN = "h200-quick-unseen.json.gz"  # of a machine that came when all was chosen: nothing is made of it
# Clocks that are looked at together.
GROUPS = {
    "gated": ("gated",),
    "open": ("open",),
    "host and quiet": ("host", "quiet"),
    "host": ("host",),
    "quiet": ("quiet",),
    "all": ("gated", "open", "host", "quiet"),
}


class Pair(NamedTuple):
    """A row in two runs, and what a table that may know neither says of it."""

    clock: str
    covered: bool  # the second value lies in the first's 95 % prediction interval
    apart: bool  # the two intervals do not touch
    half: float  # half-width of the first interval
    differs: float  # the logarithm of their ratio, without its sign

    @property
    def sharp(self) -> bool:
        """Whether both are said to be known to 5 %."""
        return self.half <= uncertainty.WIDE


class Trial(NamedTuple):
    """Two runs of a kind of machine, and a table that was made without one of them at least."""

    machine: str  # the GPU, or else the CPU
    by: str  # what the table was made without: a `machine`, or else a `run` of it
    runs: tuple[Measured, Measured]
    told: Spreads  # what runs differ by

    def rows(self) -> Iterator[tuple[Key, Difference, float]]:
        """The rows that both have and the table knows, and what runs differ by in each."""
        for row in self.told.differences(*self.runs):
            if (run := self.told.run(row)) is not None:
                yield (row.of[0], row.of[2]), row, run

    def pairs(self, chosen: Callable[[Difference], bool] = lambda _: True) -> Iterator[Pair]:
        """What the table says of these rows."""
        for (_, clock), row, run in self.rows():
            if not chosen(row):
                continue
            one, other = row.between(run)
            half, others = visits.half_width(one), visits.half_width(other)
            inside = abs(row.value) <= visits.half_width(uncertainty.combined(one, other))
            yield Pair(clock, inside, abs(row.value) > half + others, half, abs(row.value))


class Worth(NamedTuple):
    """How intervals do on rows that two runs share."""

    rows: int
    covered: float  # shares of rows
    apart: float
    half: float  # the middle half-width of an interval
    sharp: float
    further: float  # share of the sharp rows that are further apart than that


class Held(NamedTuple):
    """How tables do on two runs' common rows of one clock, on one kind of machine."""

    machine: str
    by: str
    runs: int  # pairs of them that have rows in common
    clock: str
    worth: Worth


def trials(runs: Sequence[Measured], *, by_row: bool = True) -> Iterator[Trial]:
    """Tables beside runs that they were not made of; else of families alone.

    A table is made without the runs of one machine, and tried on every pair that has one of them. Where less
    than two runs of the others remain, it is made without each of that machine's runs in turn: one of the
    same GPU then stays in it. Runs that are narrow take no part.
    """
    runs = visits.as_today([run for run in runs if not run.narrow])
    for kind in sorted({run.kind for run in runs if run.kind}, key=lambda kind: (not kind[0], kind)):
        alike = [run for run in runs if run.kind == kind]
        for by, out in _parts(alike):
            rest = [run for run in alike if all(run is not each for each in out)]
            if len(rest) < 2:
                continue
            told = visits.spreads(rest, by_row=by_row)
            for pair in combinations(alike, 2):
                if any(run is each for run in pair for each in out):
                    yield Trial(kind[0] or kind[1], by, pair, told)


def _parts(runs: Sequence[Measured]) -> Iterator[tuple[str, list[Measured]]]:
    """Those of each machine if the others are two at least, else each of its runs alone."""
    machines: dict[str, list[Measured]] = defaultdict(list)
    for run in runs:
        machines[run.machine].append(run)
    for machine in machines.values():
        if len(runs) - len(machine) > 1:
            yield MACHINE, machine
        else:
            yield from ((RUN, [run]) for run in machine)


def held_out(tried: Iterable[Trial]) -> list[Held]:
    """What tables are worth on runs that they were not made of, by machine, what was left out, and clock."""
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    runs: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    for trial in tried:
        if common := [*trial.pairs()]:
            pairs[trial.machine, trial.by] += common
            runs[trial.machine, trial.by].add((id(trial.runs[0]), id(trial.runs[1])))
    return [
        Held(machine, by, len(runs[machine, by]), clock, worth([p for p in found if p.clock == clock]))
        for (machine, by), found in pairs.items()
        for clock in sorted({pair.clock for pair in found})
    ]


def worth(pairs: Sequence[Pair]) -> Worth:
    """How intervals do on these rows, one at least."""
    sharp = [pair for pair in pairs if pair.sharp]
    return Worth(
        len(pairs),
        fmean(pair.covered for pair in pairs),
        fmean(pair.apart for pair in pairs),
        median(pair.half for pair in pairs),
        len(sharp) / len(pairs),
        fmean(pair.differs > uncertainty.WIDE for pair in sharp) if sharp else 0.0,
    )


@cache
def studied() -> tuple[Measured, ...]:
    """The runs of the study of what they differ by."""
    paths = sorted((PROJECT / "results/reference/study").glob("*.gz"))
    return tuple(run for path in paths for run in visits.read(path))


@cache
def tried() -> tuple[Trial, ...]:
    """The runs of the study beside tables that were made without them."""
    return tuple(trials(studied()))


@cache
def unseen() -> tuple[Pair, ...]:
    """The run that nothing is made of beside each of its kind, by a table of all of these."""
    runs = visits.as_today(
        [run for run in (*studied(), *visits.read(documents.REFERENCE / UNSEEN)) if not run.narrow]
    )
    alike = [run for run in runs[:-1] if run.kind == runs[-1].kind]
    told = visits.spreads(alike)
    return tuple(pair for run in alike for pair in Trial(H200, MACHINE, (run, runs[-1]), told).pairs())


@cache
def runs_by_host() -> tuple[list[visits.Measured], list[visits.Measured]]:
    """Runs on one H100 whose host was not shared, and those that the table is made of, whose hosts were."""
    study = [*studied()]
    quiet = [run for name in ON_ONE_H100[:2] for run in visits.read(documents.REFERENCE / name)]
    quiet = visits.as_today([*study, *quiet])[-len(quiet) :]
    return quiet, [run for run in visits.as_today(study) if run.kind == quiet[0].kind]


class Asked(NamedTuple):
    """What is asked of a share or a half-width of rows, on a group of clocks."""

    what: str
    group: str
    low: float = 0.0
    high: float = 1.0

    def met(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def text(self) -> str:
        """The limits in percent."""
        if self.low and self.high < 1:
            return f"{100 * self.low:g} to {100 * self.high:g} %"
        return f"≥ {100 * self.low:g} %" if self.low else f"≤ {100 * self.high:g} %"


# Of all machines together; and the same of clocks alone, where several are together there.
ASKED = (
    *(Asked("covered", group, 0.93, 0.98) for group in ("gated", "open", "host and quiet")),
    Asked("apart", "all", high=0.02),
    Asked("half", "gated", high=0.03),
    Asked("half", "host and quiet", high=0.15),
    Asked("sharp", "gated", low=0.8),
    Asked("sharp", "all", low=0.4),
    Asked("further", "all", high=0.03),
)
ALONE = (
    *(Asked("covered", group, 0.93, 0.98) for group in ("host", "quiet")),
    *(Asked("apart", group, high=0.02) for group in ("gated", "open", "host", "quiet")),
    *(Asked("half", group, high=0.15) for group in ("host", "quiet")),
    *(Asked("further", group, high=0.03) for group in ("gated", "open", "host", "quiet")),
)
SAID = {"half": "half-width", "sharp": "known to 5 %", "further": "of these further"}


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of machine of the study."""
    return tuple(dict.fromkeys(trial.machine for trial in tried()))


def kinds_held_whole() -> tuple[str, ...]:
    """Those of which there are machines enough that tables are made without one: all that have GPUs."""
    return tuple(kind for kind in kinds() if (kind, MACHINE) in columns())


@cache
def columns() -> tuple[Machines, ...]:
    """All machines, all of which tables were made without the whole machine, and each kind by what was."""
    each = dict.fromkeys((trial.machine, trial.by) for trial in tried())
    return ((ALL, ""), (ALL, MACHINE), *sorted(each, key=lambda one: (kinds().index(one[0]), one[1])))


def heading(machines: Machines) -> str:
    """A column's name."""
    name, by = machines
    return f"{name}, by {by}" if by else name


@cache
def _looked_at() -> tuple[tuple[Trial, tuple[Pair, ...]], ...]:
    return tuple((trial, tuple(trial.pairs())) for trial in tried())


@cache
def judged(machines: Machines, group: str) -> Worth | None:
    """How tables do on runs that they were not made of, on a group of clocks."""
    name, by = machines
    chosen = (pairs for trial, pairs in _looked_at() if name in (ALL, trial.machine) and by in ("", trial.by))
    pairs = [pair for each in chosen for pair in each if pair.clock in GROUPS[group]]
    return worth(pairs) if pairs else None


def held_out_table() -> str:
    """How tables of type B do on runs that they were not made of."""
    heads = ["machine", "held out by", "pairs of runs", "clock", "rows", "covered", "apart", "half-width"]
    rows = [
        [one.machine, one.by, f"{one.runs}", one.clock, f"{one.worth.rows}", *_percents(one.worth)]
        for one in held_out(tried())
    ]
    return table([*heads, "known to 5 %", "of these further"], rows, right=True)


def _percents(found: Worth) -> Iterator[str]:
    yield from (f"{share:.1%}" for share in (found.covered, found.apart, found.half))
    yield from (f"{found.sharp:.0%}", f"{found.further:.1%}")


def asked_table() -> str:
    """What is asked of tables on runs that they were not made of, and what each kind of machine has."""
    every = (*ASKED, *ALONE)
    rows = [[SAID.get(asked.what, asked.what), asked.group, asked.text, *_cells(asked)] for asked in every]
    return table(["", "clocks", "asked", *map(heading, columns())], rows, right=True)


def _cells(asked: Asked) -> Iterator[str]:
    for machines in columns():
        found = judged(machines, asked.group)
        yield told_of(getattr(found, asked.what), asked) if found else "–"


def told_of(share: float, asked: Asked) -> str:
    """A share in percent, bold where it is not what is asked."""
    return f"{100 * share:.1f} %" if asked.met(share) else f"**{100 * share:.1f} %**"


ALL_WHOLE, BETWEEN_HOSTS = "all, by machine", "H100, one host shared"
FOUND = 0.8  # the share of rows that should show what is planted


class Found(NamedTuple):
    """How many rows show a planted change: for certain, as likely; and how many the opposite."""

    rows: int = 0
    certain: int = 0
    likely: int = 0
    wrong: int = 0

    def share(self, certain: bool) -> float:
        """Of the rows those that show it: for certain, or as likely at least."""
        return (self.certain + (0 if certain else self.likely)) / self.rows


class Compared(NamedTuple):
    """Two runs as `compare` has them, and whether both looked for quiet CPUs, as every run does today."""

    pairs: tuple[tuple[Answer, Answer], ...]
    today: bool
    machines: frozenset[str]  # of the two runs


@cache
def compared(machines: str) -> tuple[Compared, ...]:
    """Every two runs of a kind of machine, by the first table that was made without one of them.

    BETWEEN_HOSTS: a run on a host that was not shared, and one of those that the table is made of.
    """
    if machines == BETWEEN_HOSTS:
        quiet, shared = runs_by_host()
        told = visits.spreads(shared)
        whole = [run for run in shared if not run.narrow]
        chosen = [Trial(machines, MACHINE, (one, other), told) for one in quiet for other in whole]
    else:
        first: dict[tuple[int, int], Trial] = {}
        for trial in tried():
            if trial.machine == machines:
                first.setdefault((id(trial.runs[0]), id(trial.runs[1])), trial)
        chosen = [*first.values()]
    hosts = (False, True) if machines == BETWEEN_HOSTS else (None, None)
    return tuple(
        Compared(tuple(_answers(trial, hosts)), all(map(_is_of_today, trial.runs)), _machines(trial))
        for trial in chosen
    )


def _machines(trial: Trial) -> frozenset[str]:
    return frozenset(run.machine for run in trial.runs)


def _is_of_today(run: Measured) -> bool:
    return any(clock == "quiet" for _, clock in run.clocks.values())


def _answers(trial: Trial, shared: tuple[bool | None, bool | None]) -> Iterator[tuple[Answer, Answer]]:
    for (_, clock), row, run in trial.rows():
        b = Uncertainty(run, FREEDOM)
        times = math.exp(row.value)
        yield (
            Answer(1.0, (1.0,), row.first, b, clock, shared=shared[0]),
            Answer(times, (times,), row.second, b, clock, shared=shared[1]),
        )


@cache
def planted(machines: str, factor: float) -> tuple[Mapping[str, Found], ...]:
    """What `compare` says of each pair of runs where the second's times are multiplied, by clock."""
    found = []
    for one in compared(machines):
        slower = [(base, replace(new, seconds=factor * new.seconds)) for base, new in one.pairs]
        counts = Counter(
            (base.clock, given.verdict)
            for (base, _), given in zip(slower, verdicts.verdicts(slower, uncertainty.WIDE), strict=True)
        )
        rows = Counter(base.clock for base, _ in one.pairs)
        said = (verdicts.SLOWER, verdicts.LIKELY_SLOWER, verdicts.FASTER)
        found.append({clock: Found(rows[clock], *(counts[clock, each] for each in said)) for clock in rows})
    return tuple(found)


def shown(machines: str, factor: float, group: str, today: bool = False) -> list[Found]:
    """The same on a group of clocks, pair by pair; of `today` those alone that both looked for quiet CPUs."""
    which = {ALL: kinds(), ALL_WHOLE: kinds_held_whole()}.get(machines, (machines,))
    found = [
        [by_clock.get(clock, Found()) for clock in GROUPS[group]]
        for one in which
        for runs, by_clock in zip(compared(one), planted(one, factor), strict=True)
        if runs.today or not today
    ]
    return [together for each in found if (together := _sum(each)).rows]


def _sum(found: Iterable[Found]) -> Found:
    return Found(*map(sum, zip(*found, strict=True)))


class Plan(NamedTuple):
    """A change that is planted, where it is looked for, and whether it has to be certain."""

    factor: float
    group: str
    today: bool
    certain: bool

    @property
    def cells(self) -> list[str]:
        runs = "that sought quiet CPUs" if self.today else "all"
        return [
            f"{100 * (self.factor - 1):.0f} %", self.group, runs, "certain" if self.certain else "or likely"
        ]  # fmt: skip

    def found(self, machines: str) -> list[float]:
        """The share of rows that show it, pair by pair, and at last of all together."""
        each = shown(machines, self.factor, self.group, self.today)
        return [one.share(self.certain) for one in [*each, *([_sum(each)] if each else [])]]


PLANS = tuple(
    Plan(factor, group, today, certain)
    for factor, group, today in (
        (1.1, "gated", False),
        (1.1, "gated", True),
        (1.2, "all", False),
        (1.2, "all", True),
        (1.2, "gated", True),
        (1.2, "open", True),
        (1.2, "host and quiet", True),
    )
    for certain in (True, False)
)
TO_FIND = Asked("found", "", low=FOUND)


@cache
def planted_on() -> tuple[str, ...]:
    """The machines on whose runs changes are planted."""
    return (ALL, ALL_WHOLE, *kinds(), BETWEEN_HOSTS)


def planted_table() -> str:
    """How many rows show a planted change, and in brackets the fewest of a pair of runs."""
    rows = [[*plan.cells, *(_planted_cell(plan.found(one)) for one in planted_on())] for plan in PLANS]
    return table(["planted", "clocks", "runs", "said", *planted_on()], rows, right=True)


def _planted_cell(found: Sequence[float]) -> str:
    return f"{told_of(found[-1], TO_FIND)} ({100 * min(found):.0f})" if found else "–"


# As src/core/operation.cpp: of what passes around a sample by another clock the sample is the most.
LEAST_OF_AROUND, MOST_OF_AROUND, BESIDE_S = 0.6, 1.02, 15e-6
# Runs whose rows all have limits: of one GPU, of two for what takes two, and of today with a second clock.
LIMITED = ("acceptance/h100-d.json.gz", "acceptance/two-h200-4.json.gz", "acceptance/h200-f.json.gz")
CLOCK_ERROR_S = 0.5e-6  # as the program allows (src/core/operation.cpp)


def is_impossible(row: Row, times: float) -> bool:
    """Whether a row whose samples all took its median, multiplied, is faster than its limit allows, or than
    another clock does."""
    if _clocks_differ(row, times):
        return True
    seconds = row.median_s * times + CLOCK_ERROR_S
    moved = row.link_bytes_least or row.bytes or 0
    if row.limit_gb_s and moved / seconds / 1e9 > row.limit_gb_s:
        return True
    return bool(row.limit_operation_s) and seconds / (row.operations or 1) < row.limit_operation_s


@cache
def not_caught(name: str, times: float = 0.5) -> tuple[str, ...]:
    """The families of a run of which no row is impossible in so many times its time."""
    rows = [row for row in documents.rows_of(name) if row.measured]
    caught = {row.case.family for row in rows if is_impossible(row, times)}
    return tuple(sorted({row.case.family for row in rows} - caught))


def caught_in_none(times: float, names: Sequence[str] = LIMITED) -> list[str]:
    """The families of which none of these runs has a row that is impossible in so many times its time."""
    each = [({*not_caught(name, times)}, _families(name)) for name in names]
    return sorted(
        set.union(*(there for _, there in each)) - set.union(*(there - left for left, there in each))
    )


def _families(name: str) -> set[str]:
    return {row.case.family for row in documents.rows_of(name) if row.measured}


@part("limits.caught")
def limits_caught(what: str) -> str:
    """Of how many families half of the time is impossible by limits alone (`caught`), of how many (`all`), of
    which or how many it is not (`families`, `left`), and of how many by limits or a second clock (`both`)."""
    every, left = set.union(*map(_families, LIMITED)), caught_in_none(0.5, LIMITED[:2])
    if what == "families":
        return ", ".join(f"`{one}`" for one in left)
    both = len(every) - len(caught_in_none(0.5))
    found = {"all": len(every), "caught": len(every) - len(left), "left": len(left)}
    if what == "both":
        return f"all {both}" if both == len(every) else f"{both} of {len(every)}"
    return str(found[what])


@part("limits.clocks")
def limits_clocks(what: str) -> str:
    """Of the rows that limits alone let pass in half their time, in percent: how many have a second clock
    (`there`), and of these in how many it catches half the time (`halved`) and twice (`doubled`)."""
    slow = caught_in_none(0.5, LIMITED[:2])
    rows = [row for row in documents.rows_of(LIMITED[2]) if row.measured and row.case.family in slow]
    told = [row for row in rows if row.visits[row.middle].around_s]
    caught = [row for row in told if _clocks_differ(row, {"halved": 0.5, "doubled": 2.0}.get(what, 1.0))]
    share = len(told) / len(rows) if what == "there" else len(caught) / len(told)
    return f"{100 * share:.0f}"


def _clocks_differ(row: Row, times: float) -> bool:
    around_s = row.visits[row.middle].around_s
    if not around_s:
        return False
    seconds = row.median_s * times
    return seconds + BESIDE_S < LEAST_OF_AROUND * around_s or seconds - BESIDE_S > MOST_OF_AROUND * around_s


@part("uncertainty.unseen")
def of_unseen(what: str, group: str = ALL) -> str:
    """What is asked of shares and half-widths, of the run that nothing is made of, in percent; or how many
    `runs` and `rows` it is compared with."""
    pairs = [pair for pair in unseen() if pair.clock in GROUPS[group.replace("+", " and ")]]
    if what == "rows":
        return f"{len(pairs):,}"
    if what == "runs":
        kind = visits.read(documents.REFERENCE / UNSEEN)[0].kind
        return f"{sum(run.kind == kind and not run.narrow for run in studied())}"
    return f"{100 * getattr(worth(pairs), what):.1f}"


@part("uncertainty.levels")
def levels(which: str) -> str:
    """How many rows of the study's table tell visit and process apart, or of how many."""
    found = visits.components(studied())
    return f"{sum('visit' in one.typical for one in found)}" if which == "apart" else f"{len(found)}"


@part("uncertainty.by_process")
def by_process(which: str) -> str:
    """Of how many families and clocks of the single H200 processes differ by `more` than visits, of how many
    they do not differ at all (`none`), and of how many both are known (`all`)."""
    spreads = [one.typical for one in visits.components(studied()) if one.machine == H200]
    told = [spread for spread in spreads if "visit" in spread]
    numbers = {
        "more": sum(spread["process"] > spread["visit"] for spread in told),
        "none": sum(spread["process"] == 0 for spread in told),
        "all": len(told),
    }
    return f"{numbers[which]}"


@part("uncertainty.by_cpu")
def by_cpu(which: str) -> str:
    """Of runs that were bound to one CPU each, in percent: what the `cpu` adds at most, and from what to what
    `visits` on one CPU differ, of any family."""
    runs = visits.read(documents.REFERENCE / BOUND_TO_CPUS)
    bound = [replace(run, machine=run.source.partition("-")[0]) for run in runs]
    spreads = [one.typical for one in visits.components(bound)]
    if which == "cpu":
        return f"{100 * max(spread['machine'] for spread in spreads):.1f}"
    differ = [100 * spread["process"] for spread in spreads]
    return f"{min(differ):.0f} to {max(differ):.0f}"


@part("uncertainty.across_generations")
def across_generations(clock: str) -> str:
    """How many percent of the rows of one CPU the table of another covers, whose name is the same."""
    older, newer = (
        [run for run in visits.as_today(studied()) if run.kind == ("", f"AMD EPYC {caches} KiB")]
        for caches in ("32/1024/32768", "48/1024/32768")
    )
    covered = visits.coverage([(one, other) for one in older for other in newer], older)
    return f"{100 * covered[clock]:.0f}"


@part("uncertainty.gpus_seen")
def gpus_seen() -> str:
    """How many GPUs stored runs are of, each of which was measured on one day."""
    days = defaultdict(set)
    for line in map(json.loads, (documents.REFERENCE / "manifest.jsonl").read_text().splitlines()):
        run = documents.result(line["file"])
        for gpu in run.context.raw["environment"]["gpus"]:
            days[gpu["uuid"]].add(line["started"][:10])
    if any(len(found) > 1 for found in days.values()):
        raise ValueError("a GPU was measured on two days: what a day adds can be told")
    return f"{len(days)}"


@cache
def without_each() -> dict[str, dict[str, float]]:
    """By machine of the study what all others have of what is asked, and their share of planted fifths."""
    found = {}
    for machine in sorted({name for trial in tried() for name in _machines(trial)}):
        pairs = [pair for trial, each in _looked_at() if machine not in _machines(trial) for pair in each]
        values = {
            f"{asked.what} {asked.group}": getattr(
                worth([pair for pair in pairs if pair.clock in GROUPS[asked.group]]), asked.what
            )
            for asked in ASKED
        }
        of_pairs = [
            _sum(counts.values())
            for kind in kinds()
            for runs, counts in zip(compared(kind), planted(kind, 1.2), strict=True)
            if machine not in runs.machines
        ]
        found[machine] = values | {"planted": _sum(of_pairs).share(certain=True)}
    return found


@part("uncertainty.without_one")
def without_one(what: str, group: str = "") -> str:
    """From what to what a share goes, in percent, where one machine of the study is left out."""
    shares = [of[f"{what} {group}".strip()] for of in without_each().values()]
    return f"{100 * min(shares):.1f} to {100 * max(shares):.1f}"


@part("uncertainty.asked")
def asked_cell(what: str, group: str, kind: str, by: str = "") -> str:
    """What one kind of machine has in that table, in percent: its first column is `all`."""
    [machines] = [one for one in columns() if one[0].replace(" ", "_") == kind and one[1] == by]
    return f"{100 * getattr(judged(machines, group.replace('+', ' and ')), what):.1f}"


@cache
def _others(which: str) -> tuple[Pair, ...]:
    """What `asked` is of, otherwise: by families alone (`by_family`), with the crowded run in the study
    (`crowded`), or by tables that do not know half of the rows, of these (`unknown`)."""
    if which == "crowded":
        runs = (*studied(), *visits.read(documents.REFERENCE / CROWDED))
        return tuple(pair for trial in trials(runs) for pair in trial.pairs())
    if which == "by_family":
        return tuple(pair for trial in trials(studied(), by_row=False) for pair in trial.pairs())
    less = {id(trial.told): _of_half(trial.told) for trial in tried()}
    return tuple(
        pair
        for trial in tried()
        for pair in trial._replace(told=less[id(trial.told)]).pairs(lambda row: not _is_known(row.of))
    )


def _is_known(row: visits.Row) -> bool:
    """Whether a row is of the half that a table is left with."""
    return crc32(row[-1].encode()) % 2 == 0


def _of_half(told: Spreads) -> Spreads:
    visits_to, between = (
        {row: value for row, value in rows.items() if _is_known(row)}
        for rows in (told.row_visits, told.row_runs)
    )
    return replace(told, row_visits=visits_to, row_runs=between, standards={})


@part("uncertainty.otherwise")
def otherwise(which: str, what: str, group: str) -> str:
    """What all machines together would have of what is asked, in percent, where something were otherwise."""
    clocks = GROUPS[group.replace("+", " and ")]
    return f"{100 * getattr(worth([pair for pair in _others(which) if pair.clock in clocks]), what):.1f}"


def of_rows(made: Mapping, family: Mapping, name: str, machine: int) -> str:
    """From what to what a table has `visit` or `run` in the rows of a family, in percent."""
    found = [
        row[name][machine]
        for row in made["rows"]
        if all(row[key] == family[key] for key in ("family", "version", "clock"))
        and row[name][machine] is not None
    ]
    return f"{100 * min(found):.2g} to {100 * max(found):.2g}" if found else "–"


@part("uncertainty.rows")
def rows_of_family(family: str, clock: str, kind: str) -> str:
    """From what to what runs differ by in the rows of a family (`family:version`) on a clock, in percent, of
    a kind of machine."""
    made = json.loads(uncertainty.TABLE.read_text())
    [at] = [n for n, one in enumerate(made["machines"]) if one["gpu"].replace(" ", "_") == kind]
    name, version = family.split(":")
    return of_rows(made, {"family": name, "version": int(version), "clock": clock}, "run", at)


@part("uncertainty.planted")
def planted_share(percent: str, group: str, runs: str, said: str, kind: str) -> str:
    """The percent of rows that show a planted change on a kind of machine, or on `all`."""
    plan = Plan(1 + float(percent) / 100, group.replace("+", " and "), runs == "today", said == "certain")
    [machines] = [one for one in planted_on() if one.replace(" ", "_") == kind]
    return f"{100 * plan.found(machines)[-1]:.0f}"
