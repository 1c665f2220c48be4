"""All fits of one run, as data, as plain data and as sentences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grainscope_report.figures import parts
from grainscope_report.fits import line, translation_fit
from grainscope_report.fits.translation import Translation
from grainscope_report.groups import grain
from grainscope_report.groups.reach import walls as wall
from grainscope_report.groups.transfer import methods, paths, together
from grainscope_report.machine import Machine, between
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_time

# Latencies closer than this share are the same.
SAME = 0.02
Section = tuple[str, list[str]]


@dataclass(frozen=True)
class Fits:
    """What the rows of a run come to."""

    paths: list[paths.Path]
    farther: list[paths.Farther]
    swaps: list[methods.Swap]
    duplexes: list[together.Duplex]
    accesses: list[together.Access]
    walls: list[wall.Wall]
    fewest: list[grain.Fewest]
    flights: list[grain.Flight]
    between: str


def of(machine: Machine, choices: Sequence[methods.Choice], every: bool = True) -> Fits:
    """Fits everything that the run has rows for, paths at every site or at the first of each."""
    result = machine.result
    found = paths.paths(result, every)
    return Fits(
        found,
        paths.farther(found),
        [swap for choice in choices for swap in choice.swaps],
        together.duplexes(result),
        together.accesses(result),
        wall.walls(result),
        grain.fewest(result),
        grain.flights(result),
        between(result),
    )


def sections(fits: Fits) -> Iterator[Section]:
    """Headings with their sentences; only those that have any."""
    yield "Remote memory against local", [_farther(one) for one in fits.farther]
    for direction, arrow in parts.ARROWS.items():
        there = [one.text for one in fits.swaps if one.direction == direction]
        yield f"Which way is faster from which size on, {arrow}", there
    yield "Both ways at once", [one.text for one in fits.duplexes]
    yield "Peer access", together.accesses_text(fits.accesses)
    yield from _walls(fits)
    yield "What fills the link", [one.text for one in [*fits.fewest, *fits.flights]]


def _walls(fits: Fits) -> Iterator[Section]:
    """The first wall of host memory and the first of another GPU's in full, the others in a line each."""
    full: dict[str, wall.Wall] = {}
    for one in fits.walls:
        full.setdefault(one.link, one)
    for number, (_, one) in enumerate(sorted(full.items())):
        said = [edge.text for edge in one.edges] or [one.short]
        said += wall.model_text(one.model) if one.model else ["too few rows in the wall to fit a model"]
        more = [other.short for other in fits.walls if other.link == one.link and other is not one]
        yield f"Translation wall, {one.where}", [*said, *more, *([] if number else [fits.between])]


def _farther(one: paths.Farther) -> str:
    rate = one.rate
    later = f"{format_time(abs(one.latency_s))} {'later' if one.latency_s >= 0 else 'earlier'}"
    if abs(one.latency_s) < SAME * one.local_latency_s:
        later = "as late"
    share = f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}] of the local bandwidth"
    return f"{one.family} {one.name}: {share}, {later}"


def _path(one: paths.Path) -> dict[str, Any]:
    return {
        "family": one.family,
        "name": one.name,
        "axes": {axis: value for axis, value in one.case.axes.items() if axis != "bytes"},
        "site": dict(one.case.site),
        **_plain(asdict(one.line)),
        "theoretical_gb_s": one.theoretical_gb_s,
        "copy_peak_gb_s": one.peak_gb_s,
        "negotiated": one.negotiated,
        "of_link": one.of_link,
    }


def _wall(one: wall.Wall) -> dict[str, Any]:
    knees = [
        {
            "order": edge.order,
            "row": edge.row,
            "rows": edge.rows,
            "span": estimate(edge.knee.span),
            "reached": edge.knee.reached,
            "small_span_gb_s": estimate(edge.knee.small),
            "link_full": edge.full,
        }
        for edge in one.edges
    ]
    return {
        "memory": one.memory,
        "site": dict(one.site),
        "knees": knees,
        "model": _model(one.model) if one.model else None,
    }


def _model(model: Translation) -> dict[str, Any]:
    return {
        "granule_bytes": estimate(model.granule),
        "reach_bytes": estimate(model.reach),
        "misses_per_s": estimate(model.misses_per_s),
        "bytes_a_miss": model.bytes_a_miss,
        "holds": model.holds,
        "median_error": model.median_error,
        "worst_error": model.worst.error,
        "worst_row": wall.gather_text(model.worst.gather),
        "rows_in_the_wall": len(model.wall),
        "failing": [
            {"row": wall.gather_text(one.gather), "rows": one.gather.rows, "error": one.error}
            for one in model.failing
        ],
    }


def estimate(value: Estimate) -> dict[str, float]:
    """An estimate as JSON has it."""
    return {"value": value.value, "low": value.low, "high": value.high}


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Estimates without their numbers of visits, sites as objects."""
    return {name: _value(name, value) for name, value in fields.items()}


def _value(name: str, value: Any) -> Any:
    if name == "site":
        return dict(value)
    if isinstance(value, dict) and value.keys() >= {"value", "low", "high"}:
        return {part: value[part] for part in ("value", "low", "high")}
    return value


def _fields(one: Any) -> dict[str, Any]:
    return _plain(asdict(one))


# What is fitted as plain data, by its name there: where `Fits` has it, and how one is written.
PLAIN: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "paths": ("paths", _path),
    "remote_over_local": ("farther", _fields),
    "crossovers": ("swaps", _fields),
    "both_ways": ("duplexes", _fields),
    "peer_access": ("accesses", _fields),
    "walls": ("walls", _wall),
    "fewest_multiprocessors": ("fewest", _fields),
    "requests_in_flight": ("flights", _fields),
}
METHODS = {"path_method": line.METHOD, "wall_method": translation_fit.METHOD}
