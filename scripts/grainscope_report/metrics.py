"""Quantities of a row: their names, which way is better, their units; the row that stands for many; and what
pairs of places reach: GPU and GPU, node and GPU, node and node.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from grainscope_report import families, statistics
from grainscope_report.families import PAIRS, Best, Pairs
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, TO_PEER, Link, Result, Row, Visit
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_percent

RATE, TIME, SHARE, NUMBER = "rate", "time", "share", "number"
# Each unit with its kind and how many of the file's own (GB/s, seconds, fractions, counts) it is.
UNITS = {
    "GB/s": (RATE, 1.0), "MB/s": (RATE, 1e-3), "TB/s": (RATE, 1e3),
    "s": (TIME, 1.0), "ms": (TIME, 1e-3), "µs": (TIME, 1e-6), "us": (TIME, 1e-6), "ns": (TIME, 1e-9),
    "1": (SHARE, 1.0), "%": (SHARE, 0.01),
    "count": (NUMBER, 1.0),
}  # fmt: skip
OWN = {RATE: "GB/s", TIME: "s", SHARE: "1", NUMBER: "count"}
HIGHER, LOWER = "higher", "lower"
OF_ROW = ("bandwidth_gb_s", "link_fraction", "median_s", "operation_s")
RATES = ("gb_s", "_per_s")
# Rates over a time of their own: of a larger grid, of copies and walks that were tried, of one stage.
OWN_TIME = {"full_gb_s", "segments_copied_gb_s", "segments_read_gb_s", "gather_gb_s"}
SAME = 1e-6
DIGITS, MOST_PLACES = 4, 9  # that numbers are shown with
PLACES = ("local", "unknown", "remote")


@dataclass(frozen=True)
class Unit:
    """A unit and its size in the file's own."""

    name: str
    scale: float

    def text(self, value: float, digits: int = DIGITS) -> str:
        """A value, given in the file's own unit, in this one."""
        said = self.number(value, digits)
        return said if self.name in ("1", "count") else f"{said} {self.name}"

    def number(self, value: float, digits: int = DIGITS) -> str:
        """The same without the unit's name."""
        shown = value / self.scale
        known = shown != 0 and math.isfinite(shown)
        places = max(0, digits - 1 - math.floor(math.log10(abs(shown)))) if known else 0
        said = f"{shown:.{min(places, MOST_PLACES + digits - DIGITS)}f}"
        return said.rstrip("0").rstrip(".") if "." in said else said


def kind(metric: str) -> str:
    """Whether a quantity is a rate, a time, a share or a plain number."""
    if metric.endswith("gb_s"):
        return RATE
    if metric.endswith("_per_s"):
        return NUMBER
    if metric.endswith("_s"):
        return TIME
    return SHARE if metric in ("cv", "link_fraction", "of_theoretical") else NUMBER


def better(metric: str) -> str | None:
    """`higher` or `lower`; None where the name does not say."""
    if metric.endswith(("gb_s", "_per_s", "teps")) or metric in ("link_fraction", "hit_rate"):
        return HIGHER
    return LOWER if metric.endswith("_s") or metric == "cv" else None


def value(row: Row, metric: str) -> float | None:
    """The quantity of a row, in the file's own unit; None where the row has none of it."""
    if metric in OF_ROW:
        return getattr(row, metric)
    if metric in ("p5_s", "p95_s"):
        return statistics.percentile(row.samples_s, float(metric[1:-2])) if row.samples_s else None
    return cv(row.samples_s) if metric == "cv" else row.counters.get(metric)


def follows_median(row: Row, metric: str) -> bool:
    """Whether the quantity is the row's median time, or work over it, and so varies with the samples.

    By its name every rate is, but for those over a time of their own. `link_gb_s` of some traversals is over
    the first trial's time, which the row's other numbers tell.
    """
    if metric in OF_ROW:
        return True
    if not metric.endswith(RATES) or metric in OWN_TIME:
        return False
    if metric == "link_gb_s" and row.trials:
        return math.isclose(
            row.counters.get(metric, 0.0), (row.link_bytes_least or 0) / row.median_s / 1e9, rel_tol=SAME
        )
    return True


def by_visit(row: Row) -> list[Row]:
    """The row as each of its visits alone would have it; what does not follow its time is that of the row."""
    if len(row.visits) < 2:
        return [row]
    return [_of_visit(row, visit, visit.median_s / row.median_s) for visit in row.visits]


def _of_visit(row: Row, visit: Visit, longer: float) -> Row:
    names = ("operation_s", "bandwidth_gb_s", "link_fraction")
    fields = {name: getattr(row, name) for name in names if getattr(row, name) is not None}
    counters = {name: value for name, value in row.counters.items() if follows_median(row, name)}
    one_each = len(visit.samples_s) == len(row.trials)
    trials = zip(row.trials, visit.samples_s, strict=True) if one_each else ()
    return replace(
        row,
        visits=(visit,),
        middle=0,
        median_s=visit.median_s,
        interval_s=None,
        trials=tuple(replace(trial, samples_s=(time_s,)) for trial, time_s in trials) or row.trials,
        counters={**row.counters, **_longer(counters, longer)},
        **_longer(fields, longer),
    )


def _longer(values: Mapping[str, float], times: float) -> dict[str, float]:
    """Quantities where the time is so many times as long."""
    return {name: value * times if better(name) == LOWER else value / times for name, value in values.items()}


def cv(samples: tuple[float, ...] | list[float]) -> float | None:
    """Standard deviation over mean, in two passes; None of fewer than two samples."""
    if len(samples) < 2:
        return None
    mean = sum(samples) / len(samples)
    return math.sqrt(sum((sample - mean) ** 2 for sample in samples) / (len(samples) - 1)) / mean


def rows_for(result: Result, wanted: Best) -> list[Row]:
    """The measured rows that may be the best one."""
    there = [
        row
        for row in result.of(wanted.family)
        if row.measured
        and (row.operation_s or (row.time and wanted.at) if wanted.least else row.bandwidth_gb_s)
        and all(row.case.axes.get(axis) == value for axis, value in wanted.axes.items())
    ]
    if not wanted.at:
        return there
    axis, pick = wanted.at
    sizes = {row.name: size for row in there if isinstance(size := row.case.axes.get(axis), (int, float))}
    return [row for row in there if sizes.get(row.name) == pick(sizes.values())] if sizes else []


def best_row(found: Sequence[Row], least: bool) -> Row | None:
    """The one with the highest rate, or the shortest time of one operation."""
    if least:
        return min(found, key=_time_s, default=None)
    return max(found, key=lambda row: row.bandwidth_gb_s or 0.0, default=None)


def nearest_rows(found: Iterable[Row]) -> list[Row]:
    """Of rows of several places the local ones, else those of an unknown place, else the remote ones."""
    there = list(found)
    place = min((PLACES.index(row.case.locality) for row in there), default=0)
    return [row for row in there if PLACES.index(row.case.locality) == place]


def best_estimate(row: Row, least: bool) -> Estimate:
    """Its rate in GB/s, or the time of one operation in seconds, with the interval of its time."""
    if not least:
        return statistics.rate_gb_s(row.time, row.bytes)
    times = _time_s(row) / row.median_s
    time_s = row.time
    return Estimate(time_s.value * times, time_s.low * times, time_s.high * times, time_s.visits)


def peak_direction(pairs: Pairs) -> str | None:
    """Which links' copy peaks are of these pairs, if any: pinned copies, and what a GPU writes to a peer."""
    axes = pairs.best.axes
    if families.of(pairs.best.family).sets_peak:
        return HOST_TO_GPU if axes["path"].endswith("_to_gpu") else GPU_TO_HOST
    writes = axes.get("method") == "copy_engine" and axes.get("direction") == "write"
    return TO_PEER if writes and "between" not in axes else None


def peak_row(result: Result, link: Link) -> Row | None:
    """The row whose uncertainty is that of a link's copy peak, which is measured beforehand and has none.

    It is of the same copy; where the run lacks that, of the one most like it: at the same ends before the
    same size before the largest.
    """

    def alike(row: Row) -> tuple:
        size = row.bytes or 0
        cold = row.case.axes.get("flush") == "on"
        return row.case.ends == link.ends, size == link.bytes, size, cold, row.case.locality != "remote"

    best = next(pairs.best for pairs in PAIRS if peak_direction(pairs) == link.direction)
    return max(rows_for(result, best), key=alike, default=None)


def peak_estimate(result: Result, link: Link) -> Estimate:
    """A link's copy peak in GB/s with its interval: by that row, without one that within its only visit."""
    if (row := peak_row(result, link)) is None:
        return Estimate(link.peak_gb_s, *link.within_gb_s)
    rate = best_estimate(row, least=False)
    return rate.scaled(link.peak_gb_s / rate.value)


def plus_minus(estimate: Estimate) -> str:
    """Half of the 95 % interval in percent of the value; `-` where nothing tells one."""
    return side_text(half_width(estimate))


def side_text(side: float) -> str:
    """Half of an interval, a share of the value, in percent."""
    if side <= 0:
        return "-"
    return "< 0.1 %" if side < 0.001 else format_percent(side) if side < 0.1 else f"{100 * side:.0f} %"


def with_error(text: str, estimate: Estimate) -> str:
    """`55.2 GB/s ± 1.1 %`: a value as it is written, with half of its interval as every screen shows it."""
    error = plus_minus(estimate)
    return text if error == "-" else f"{text} ± {error}"


def half_width(estimate: Estimate) -> float:
    """Half of the 95 % interval as a share of the value, as `grainscope` prints it.

    By uncertainties an interval reaches by one factor to either side, so that of a rate this is what it is of
    its time.
    """
    return (estimate.high - estimate.low) / 2 / estimate.value


def _time_s(row: Row) -> float:
    return row.operation_s or row.median_s


# Pairs of places.

Pair = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """What is known of a pair: GB/s or seconds, at how many bytes, by which case; of a link's peak none."""

    value: Estimate
    bytes: float | None
    both_known: bool
    case: str | None


@dataclass(frozen=True)
class Matrix:
    """What each pair of places reaches."""

    pairs: Pairs
    cells: dict[Pair, Cell]

    @property
    def rows(self) -> list[int]:
        """The places that stand at the left."""
        return self._places[0]

    @property
    def columns(self) -> list[int]:
        """The places that stand above."""
        return self._places[1]

    @property
    def _places(self) -> tuple[list[int], list[int]]:
        """Of pairs of one kind every place stands at both sides."""
        rows, columns = ({pair[side] for pair in self.cells} for side in (0, 1))
        if place_kind(self.pairs.rows) == place_kind(self.pairs.columns):
            rows = columns = rows | columns
        return sorted(rows), sorted(columns)


def place_kind(name: str) -> str:
    """What a site's place is: `GPU` or `node`."""
    return "GPU" if name in ("gpu", "peer") else "node"


def matrices(result: Result, family: str = "") -> list[Matrix]:
    """All that the run has pairs for, of a family or group alone where one is asked for."""
    wanted = [pair for pair in PAIRS if not family or f"{pair.best.family}/".startswith(f"{family}/")]
    return [found for one in wanted if (found := matrix(result, one)).cells]


def matrix(result: Result, pairs: Pairs) -> Matrix:
    """The best row of each pair, and the copy peaks of links that have no row."""
    there: dict[Pair, list[Row]] = {}
    for row in rows_for(result, pairs.best):
        site = row.case.site
        if pairs.rows in site and pairs.columns in site:
            there.setdefault((site[pairs.rows], site[pairs.columns]), []).append(row)
    cells = {pair: _pair_cell(best_row(rows, pairs.best.least), pairs) for pair, rows in there.items()}
    way = peak_direction(pairs)
    for link in (link for link in result.links if link.direction == way):
        # Every link's copy peak is measured, also of GPUs that a preset has no rows of.
        pair = getattr(link, pairs.rows), getattr(link, pairs.columns)
        if pair not in cells:
            row = peak_row(result, link)
            known = bool(row and row.both_known)
            cells[pair] = Cell(peak_estimate(result, link), link.bytes, known, None)
    return Matrix(pairs, cells)


def _pair_cell(row: Row, pairs: Pairs) -> Cell:
    size = row.case.axes.get("bytes")
    size = size if isinstance(size, (int, float)) else None
    return Cell(best_estimate(row, pairs.best.least), size, row.both_known, row.name)
