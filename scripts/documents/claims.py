"""Headlines of papers as data: what is claimed, rows of ours that answer it, and the word for both.

A headline names numbers of results/papers and rows of results/reference by family and axes. Rows of one ratio
are of one run, and so of one machine, or of the halves of `full`: of two machines of one kind.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from documents import Names, digits, files_of, is_plain, rows_of
from grainscope_report.model import Row
from grainscope_report.resources import paper

REPRODUCED, IN_FORM, NOT, ABSENT = "reproduced", "in form", "not", "not measured"
UNTOLD = "cannot be told"  # on which side ours is
WORDS = (REPRODUCED, IN_FORM, NOT, UNTOLD, ABSENT)
CLOSE = (0.85, 1.15)  # ours over theirs, to be reproduced
NEAR = (0.5, 2.0)  # ours over theirs, to be in form


@dataclass(frozen=True)
class Claim:
    """What a paper reports: a number or a range, or where `stated` is false only a side of `even`.

    `even` is the ratio at which neither side is ahead; None of a share, which has no sides. A claim of `even`
    itself is of parity.
    """

    least: float
    most: float
    even: float | None = 1.0
    stated: bool = True

    @property
    def parity(self) -> bool:
        return self.stated and self.least == self.most == self.even

    @property
    def admits_even(self) -> bool:
        """Whether a machine beside itself would do as the claim says."""
        return self.stated and self.even is not None and self.least <= self.even <= self.most


def verdict(ours: float, claim: Claim, capped: bool = False) -> str:
    """The word for a value of ours: how near it is to the nearest value that the claim admits.

    `capped` is of what is modelled or shown by a stand-in. Of parity nothing farther off has the form: beyond
    15 % one side is ahead.
    """
    nearest = min(max(ours, claim.least), claim.most)
    even = claim.even
    if even is not None and nearest != even and (ours - even) * (nearest - even) <= 0:
        return NOT
    if not claim.stated:
        return IN_FORM if ours == nearest and ours != even else NOT
    ratio = ours / nearest
    if CLOSE[0] <= ratio <= CLOSE[1]:
        return IN_FORM if capped else REPRODUCED
    return IN_FORM if NEAR[0] <= ratio <= NEAR[1] and not claim.parity else NOT


def of_requests(chosen: Callable[[int], bool]) -> Callable[[Row], float]:
    """The share of requests whose bytes are chosen."""

    def share(row: Row) -> float:
        sizes = row.traffic.requests_by_size
        return sum(count for size, count in sizes.items() if chosen(int(size))) / sum(sizes.values())

    return share


def counter(name: str) -> Callable[[Row], float]:
    return lambda row: row.counters[name]


# What of a row is compared; those of TRAFFIC are modelled also where the row's time is measured.
TRAFFIC = {
    "share of requests of 128 bytes": of_requests(lambda size: size == 128),
    "share of requests above 32 bytes": of_requests(lambda size: size > 32),
    "requests": lambda row: row.traffic.requests,
    "bytes read over bytes of the edge list": counter("amplification_data_set"),
}
WHAT: dict[str, Callable[[Row], float]] = {
    "time": lambda row: row.median_s,
    "GB/s": lambda row: row.bandwidth_gb_s,
    "GB/s that the link can have": lambda row: row.limit_gb_s,
    "GB/s on the link": counter("link_gb_s"),
    "bytes over the link": lambda row: row.link_bytes_least,
    "hits of the first 10 %": counter("hit_rate_10"),
    "hits of the first 25 %": counter("hit_rate_25"),
    "use of lanes": counter("lane_use"),
    "imbalance of blocks": counter("block_imbalance"),
    "bytes of the GPU's memory": counter("gpu_memory_bytes"),
    "bytes mapped": lambda row: row.case.axes["bytes"],
    **TRAFFIC,
}


@dataclass(frozen=True)
class Cell:
    """One number of one row: the only row of a run and family with these axes (`axis=value`)."""

    run: Names
    family: str
    axes: tuple[str, ...]
    what: str

    @property
    def rows(self) -> list[Row]:
        """All rows with these axes."""
        wanted = [axis.split("=") for axis in self.axes]
        return [
            row
            for row, said in placed(self.run).get(self.family, ())
            if all(said.get(axis, "") == value for axis, value in wanted)
            and is_plain(said, [axis for axis, _ in wanted])
        ]

    @property
    def row(self) -> Row:
        found = self.rows
        if len(found) != 1:
            asked = " ".join(self.axes)
            raise ValueError(
                f"{' and '.join(files_of(self.run))} has {len(found)} rows of {self.family} with {asked}"
            )
        return found[0]

    @property
    def file(self) -> str:
        """The file that holds the row, of those of the run."""
        name = self.row.name
        return next(file for file in files_of(self.run) if any(row.name == name for row in rows_of(file)))

    value = property(lambda self: float(WHAT[self.what](self.row)))
    cells = property(lambda self: [self])

    @property
    def modelled(self) -> bool:
        row = self.row
        counted = row.traffic is not None and row.traffic.label == "counted"
        return row.label == "modelled" or (self.what in TRAFFIC and not counted)


@cache
def placed(run: Names) -> dict[str, list[tuple[Row, dict[str, str]]]]:
    """The rows of a run that are ok, by family, each with its place and axes as text."""
    found: dict[str, list[tuple[Row, dict[str, str]]]] = defaultdict(list)
    for row in rows_of(run):
        if row.ok:
            said = {axis: str(value) for axis, value in {**row.case.site, **row.case.axes}.items()}
            found[row.case.family].append((row, said))
    return found


@dataclass(frozen=True)
class Fewest:
    """The fewest multiprocessors that reach so much of the best rate of rows that differ in them alone."""

    of: Cell
    enough: float = 0.95

    @property
    def cells(self) -> list[Cell]:
        asked = sorted({row.case.axes["sms"] for row in self.of.rows})
        return [replace(self.of, axes=(*self.of.axes, f"sms={count}")) for count in asked]

    modelled = property(lambda self: any(cell.modelled for cell in self.cells))

    @property
    def value(self) -> float:
        best = max(cell.value for cell in self.cells)
        return next(cell.row.case.axes["sms"] for cell in self.cells if cell.value >= self.enough * best)


@dataclass(frozen=True)
class Ratio:
    """One number over another of the same run; or what the first saves of the second."""

    top: "Cell | Fewest | Ratio"
    bottom: "Cell | Fewest | Ratio"
    saved: bool = False

    @property
    def cells(self) -> list[Cell]:
        cells = [*self.top.cells, *self.bottom.cells]
        if len({cell.run for cell in cells}) > 1:
            named = ", ".join(file for cell in cells for file in files_of(cell.run))
            raise ValueError(f"a ratio of several runs: {named}")
        return cells

    modelled = property(lambda self: any(cell.modelled for cell in self.cells))

    @property
    def value(self) -> float:
        ratio = self.top.value / self.bottom.value if self.cells else math.nan
        return 1 - ratio if self.saved else ratio


@dataclass(frozen=True)
class Headline:
    """A claim of a paper by the ids of its numbers, and what we have of it.

    `most` ends a range, `over` is what the number is divided by. `side` is what the claim admits beside a
    number, or alone where none is stated: `above`, `below`, or `up to`, `from` a number. `stand_in` says what
    imitates the system, mechanism or data set that the claim names. `lost`: what shares lack of all is
    compared, since 98 % and 88 % are near each other, and losses of 2 % and 12 % are not.
    """

    paper: str
    number: str
    says: str
    ours: Sequence[Cell | Fewest | Ratio] = ()
    why: str = ""
    most: str = ""
    over: str = ""
    side: str = ""
    even: float | None = 1.0
    absent: str = ""
    stand_in: str = ""
    lost: bool = False

    @property
    def claim(self) -> Claim:
        numbers = paper(self.paper)
        if self.side in ("above", "below"):
            ends = (self.even, math.inf) if self.side == "above" else (-math.inf, self.even)
            return Claim(*ends, self.even, stated=False)
        divisor = numbers[self.over].value if self.over else 1
        least = numbers[self.number].value / divisor
        most = numbers[self.most].value / divisor if self.most else least
        if self.lost:
            least, most = 1 - most, 1 - least
        least, most = (
            (-math.inf if self.side == "up to" else least),
            (math.inf if self.side == "from" else most),
        )
        return Claim(least, most, self.even)

    @property
    def values(self) -> list[float]:
        return [1 - one.value if self.lost else one.value for one in self.ours]

    @property
    def mean(self) -> float:
        """The geometric mean of what we have; the arithmetic one where something is lost instead of saved."""
        if min(self.values) <= 0:
            return math.fsum(self.values) / len(self.values)
        return math.exp(math.fsum(map(math.log, self.values)) / len(self.values))

    @property
    def modelled(self) -> bool:
        return any(one.modelled for one in self.ours)

    @property
    def told(self) -> bool:
        """Whether ours is further from even than the intervals of its rows reach."""
        even = self.claim.even
        if even is None or self.mean <= 0:
            return True
        reach = math.sqrt(math.fsum(reach_of(one) ** 2 for one in self.ours)) / len(self.ours)
        return abs(math.log(self.mean / even)) >= reach

    @property
    def word(self) -> str:
        if self.absent:
            return ABSENT
        word = verdict(self.mean, self.claim, self.modelled or bool(self.stand_in))
        untold = not self.told and not self.claim.admits_even
        return UNTOLD if untold and not (self.claim.stated and word == NOT) else word

    @property
    def there(self) -> str:
        claim = self.claim
        if not claim.stated:
            return f"{self.side} {claim.even:g}"
        if self.side:
            return f"{self.side} {plain(claim.most if self.side == 'up to' else claim.least)}"
        return "–".join(dict.fromkeys(map(plain, (claim.least, claim.most))))

    @property
    def here(self) -> str:
        if self.absent:
            return ""
        ends = "–".join(dict.fromkeys(plain(end(self.values)) for end in (min, max)))
        ends = f" ({ends})" if "–" in ends else ""
        marks = [", modelled"] * self.modelled + [", by a stand-in"] * bool(self.stand_in)
        return plain(self.mean) + ends + "".join(marks)


def reach_of(one: Cell | Fewest | Ratio) -> float:
    """How far the interval of what was timed reaches, as a logarithm; of a ratio both in quadrature."""
    if isinstance(one, Ratio):
        return math.hypot(reach_of(one.top), reach_of(one.bottom))
    if isinstance(one, Cell) and one.what in ("time", "GB/s") and not one.modelled:
        time = one.row.time
        return math.log(time.high / time.low) / 2
    return 0.0


def plain(value: float) -> str:
    """Three significant digits, without zeros that say nothing."""
    text = digits(value)
    return text.rstrip("0").rstrip(".") if "." in text else text
