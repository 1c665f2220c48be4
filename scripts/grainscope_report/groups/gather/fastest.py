"""Which way to gather rows from host memory is first, by the size of a row."""

from collections import defaultdict
from collections.abc import Mapping

from grainscope_report import statistics
from grainscope_report.analysis import Analysis
from grainscope_report.answers import segments
from grainscope_report.groups.gather import gathers
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes

# Tables that lie in host memory altogether; what keeps a part on a GPU answers another question.
STORES = ("pageable", "pinned", "mapped", "managed")
# It brings nothing to a GPU.
NOT_TO_GPU = "cpu_gather"
# How a way does it is its own affair: the best of each is taken.
OWN = ("mode", "store", "row", "rows", "width", "window", "element", "locality")
REQUEST = 128
LEAST = 8 << 20  # bytes; of a shorter mini-batch its start decides
NEAREST = ("local", "unknown", "remote")
Question = tuple[tuple[str, str | float], ...]


def said(run: Analysis) -> list[str]:
    """A sentence about the work that most ways and sizes of row were measured for."""
    works: dict[Question, list[Row]] = defaultdict(list)
    for row in run.result.of(gathers.FAMILY):
        if _usable(row):
            works[row.case.without(*OWN)].append(row)
    if not works:
        return []
    most = max(works.items(), key=_most)
    # Beyond the reach of translations another way may be first.
    widest = max(works.items(), key=lambda one: (_span(one[0]), len(one[1])))
    found = [_answer(*one) for one in ([most] if _span(widest[0]) <= _span(most[0]) else [most, widest])]
    return [one for one in found if one]


def _span(work: Question) -> float:
    span = dict(work).get("span")
    return float(span) if isinstance(span, (int, float)) else 0.0


def _answer(work: Question, rows: list[Row]) -> str:
    """Which way is first at which size of row; nothing where there is one way."""
    nearest = min((row.case.locality for row in rows), key=NEAREST.index)
    near = [row for row in rows if row.case.locality == nearest]
    rates = _rates([row for row in near if row.bytes >= LEAST])
    found = segments.segments(rates, half=False)
    if not found:
        return ""
    best = {one: max((rates[name][one.high].value, name) for name in one.first) for one in found}
    rate = ", ".join(f"{best[one][0]:.1f} GB/s at {_size(one.high)}" for one in found)
    ways = segments.text(found, _size)
    return f"From host memory, {_spoken(dict(work))} come fastest by {ways} ({rate})"


def _size(row: float) -> str:
    """Rows that are no round number of bytes stand as they are."""
    return format_bytes(row) if row % REQUEST == 0 else f"{row:g} B"


def _most(one: tuple[Question, list[Row]]) -> tuple[int, float]:
    """By how many rows, and of as many by the larger table."""
    return len(one[1]), _span(one[0])


def _usable(row: Row) -> bool:
    axes = row.case.axes
    return bool(
        row.measured
        and row.bytes
        and axes.get("store") in STORES
        and axes.get("mode") != NOT_TO_GPU
        and isinstance(axes.get("row"), (int, float))
    )


def _rates(rows: list[Row]) -> dict[str, dict[float, Estimate]]:
    """By mode and store, the best over what is its own affair."""
    found: dict[str, dict[float, Estimate]] = defaultdict(dict)
    for row in rows:
        axes = row.case.axes
        name = f"{axes['mode']} ({axes['store']})".replace("_", " ")
        rate = statistics.rate_gb_s(row.time, row.bytes)
        known = found[name].get(axes["row"])
        if known is None or rate.value > known.value:
            found[name][axes["row"]] = rate
    return found


def _spoken(axes: Mapping[str, str | float]) -> str:
    numbers = {name: value for name, value in axes.items() if isinstance(value, (int, float))}
    kind = f"{axes['indices']} " if "indices" in axes else ""
    over = f" over {format_bytes(numbers['span'])}" if "span" in numbers else ""
    graph = f" of {axes['graph']}" if "graph" in axes else ""
    return f"{kind}rows{over}{graph}"
