"""Checks of gathers, tiers, shares of a GPU and training pipelines: counts, and what follows from them."""

import itertools
import math

from grainscope_report.checks_parts import ROUNDING, Raw, RowProblems, differ

GATHERS = ("gather", "gather/bag")
SHARES = ("sm_share/gather", "sm_share/split")
PIPELINE = "pipeline/graphsage"
FACTORS = {
    "gather": ("row", "rows", "window"),
    "gather/bag": ("row", "tables", "bags", "pooling"),
    "sm_share/gather": ("row", "rows"),
    "sm_share/split": ("row", "rows"),
}
OPTIONAL = {"window"}
# Drivers give multiprocessors in groups of up to so many; a grid cap is no driver's.
GROUP, CAP = 8, "grid_cap"
# Medians of stages and of the pipeline are taken apart: their overlap is good to this.
OVERLAP = 0.01
LITTLE = 1e-3
STAGES = ("sample_s", "gather_s", "train_s")
# Stores of which GPUs keep a part.
FILLED = ("tiered", "multi_gpu")


def _counters(row: Raw, *families: str) -> Raw:
    """The counters of an `ok` row of these families, else none."""
    known = row["case"]["family"] in families and row["status"] == "ok"
    return row.get("counters", {}) if known else {}


def _asked(row: Raw) -> RowProblems:
    axes, factors = row["case"]["axes"], FACTORS.get(row["case"]["family"], ())
    missing = [name for name in factors if name not in axes and name not in OPTIONAL]
    if "bytes" not in row or not factors or missing:
        return
    if row["bytes"] != (right := math.prod(axes.get(name, 1) for name in factors)):
        yield "bytes", f"is {row['bytes']}, {' × '.join(factors)} is {right}"


def _unique(row: Raw) -> RowProblems:
    """What was asked for, what of it is different, what of that is on the host."""
    counters, axes = _counters(row, *GATHERS), row["case"]["axes"]
    if not counters or "bytes" not in row:
        return
    asked, unique, crossed = row["bytes"], counters.get("unique_bytes"), row.get("link_bytes")
    if unique is not None and unique > asked:
        yield "counters.unique_bytes", f"is {unique}, more than the {asked} bytes asked for"
    # Managed memory moves by pages.
    if crossed is not None and unique is not None and crossed > unique and axes.get("store") != "managed":
        yield "link_bytes", f"is {crossed}, more than the {unique} bytes of different rows"
    rights = {
        "unique_bytes": _times(counters.get("unique_rows"), axes.get("row")),
        "unique_gb_s": _times(unique, 1e-9 / row["median_s"]),
        "link_gb_s": _times(crossed, 1e-9 / row["median_s"]),
        "rows_per_s": _times(asked, 1 / axes["row"] / row["median_s"]) if axes.get("row") else None,
        "host_share": _times(crossed, 1 / unique) if unique else None,
    }
    yield from _agree(counters, rights)


def _times(one: float | None, two: float | None) -> float | None:
    return None if one is None or two is None else one * two


def _agree(counters: Raw, rights: dict[str, float | None], tolerance: float = ROUNDING) -> RowProblems:
    for name, right in rights.items():
        if right is not None and name in counters and differ(counters[name], right, tolerance):
            yield f"counters.{name}", f"is {counters[name]}, the row's other numbers make it {right}"


def _hits(row: Raw) -> RowProblems:
    """Shares of accesses, by percent of the rows and as a curve."""
    counters = _counters(row, "tiering/score")
    optimal = row["case"]["axes"].get("score") == "optimal"
    curve = {round(100 * rows, 9): accesses for rows, accesses in row.get("hit_curve", ())}
    rates = sorted((int(name.removeprefix("hit_rate_")), name) for name in counters if _numbered(name))
    for percent, name in rates:
        if counters[name] > 1 + ROUNDING:
            yield f"counters.{name}", f"is {counters[name]}: more than all accesses"
        elif percent in curve and differ(counters[name], curve[percent]):
            yield f"counters.{name}", f"is {counters[name]}, hit_curve has {curve[percent]} there"
        share = counters.get(f"of_optimal_{percent}")
        if share is not None and share > 1 + ROUNDING:
            yield f"counters.of_optimal_{percent}", f"is {share}: no order beats the optimal one"
        elif share is not None and optimal and differ(share, 1.0):
            yield f"counters.of_optimal_{percent}", f"is {share}, but this is the optimal order"
    for (_, one), (_, two) in itertools.pairwise(rates):
        if counters[one] > counters[two] * (1 + ROUNDING):
            yield f"counters.{two}", f"is {counters[two]}, less than {one}, which is {counters[one]}"


def _numbered(name: str) -> bool:
    return name.startswith("hit_rate_") and name.removeprefix("hit_rate_").isdigit()


def _curve(row: Raw) -> RowProblems:
    points = row.get("hit_curve", ())
    if not points:
        return
    pairs = list(itertools.pairwise(points))
    if any(two[0] <= one[0] or two[1] < one[1] * (1 - ROUNDING) for one, two in pairs):
        yield "hit_curve", "does not rise"
    elif differ(points[-1][0], 1.0) or differ(points[-1][1], 1.0):
        yield "hit_curve", f"ends at {list(points[-1])}, not at [1, 1]"


def _edges(row: Raw) -> RowProblems:
    counters = _counters(row, "sampling/neighbours", "tiering/reorder")
    if counters and "operations" in row:
        # A sample is one of several mini-batches, and `operations` a whole number.
        yield from _agree(counters, {"edges_per_s": row["operations"] / row["median_s"]}, LITTLE)


def _given(row: Raw) -> RowProblems:
    """Multiprocessors: asked for, given, seen, there."""
    counters, by = _counters(row, *SHARES, PIPELINE), row["case"]["axes"].get("by")
    given, there = counters.get("given_sms"), counters.get("available_sms")
    if given is None:
        return
    asked = counters.get("asked_sms", given)
    more = given - asked
    if more >= (1 if by == CAP else GROUP) and not row.get("reason", "").strip():
        yield "counters.given_sms", f"is {given}, only {asked} were asked for, and no reason says why"
    for name in ("given_sms", "seen_sms", "asked_sms", "rest_sms") if there is not None else ():
        if name in counters and counters[name] > there:
            yield f"counters.{name}", f"is {counters[name]}, the GPU has {there}"
    yield from _agree(counters, {"given_share": given / there if there else None})


def _slowdowns(row: Raw) -> RowProblems:
    """Both sides of a split against themselves alone."""
    counters = _counters(row, "sm_share/split")
    lanes = {lane["name"]: lane for lane in row.get("lanes", ())} if counters else {}
    for side, lane in lanes.items():
        if "alone_s" in lane:
            yield from _agree(counters, {f"{side}_slowdown": lane["median_s"] / lane["alone_s"]})
    alone = [lane["alone_s"] for lane in lanes.values() if "alone_s" in lane]
    if len(alone) == 2 and "pipeline_overlap" in counters:
        right = (sum(alone) - row["median_s"]) / min(alone)
        if abs(counters["pipeline_overlap"] - right) > OVERLAP:
            said = f"is {counters['pipeline_overlap']}, the lanes' times alone make it {right:.4g}"
            yield "counters.pipeline_overlap", said


def _stages(row: Raw) -> RowProblems:
    """Overlap: what the pipeline saves of what it could save of its stages one after another."""
    counters = _counters(row, PIPELINE)
    if (p99 := counters.get("p99_batch_s")) and p99 < row["median_s"] * (1 - ROUNDING):
        yield "counters.p99_batch_s", f"is {p99}, less than the median of {row['median_s']}"
    stages = [counters[name] for name in STAGES if name in counters]
    if len(stages) < len(STAGES) or "overlap" not in counters:
        return
    spare = sum(stages) - max(stages)
    if spare > 0 and abs(counters["overlap"] - (right := (sum(stages) - row["median_s"]) / spare)) > OVERLAP:
        yield (
            "counters.overlap",
            f"is {counters['overlap']}, stages of {sum(stages):.4g} s, the longest {max(stages):.4g} s, make "
            f"it {right:.4g}",
        )


def _processes(row: Raw) -> RowProblems:
    """Two processes of a pipeline: each beside the other against itself alone on the whole GPU."""
    counters, axes = _counters(row, PIPELINE), row["case"]["axes"]
    if row["case"]["family"] == PIPELINE and ("processes" in axes) != ("percent" in axes):
        yield "case.axes", "has one of `processes` and `percent`: the share belongs to two processes"
    rights = {
        f"{side}_slowdown": counters[f"{side}_beside_s"] / counters[f"{side}_alone_s"]
        for side in ("gather", "train")
        if counters.get(f"{side}_beside_s") and counters.get(f"{side}_alone_s")
    }
    if "bytes" in row and counters.get("gather_beside_s"):
        rights["gather_gb_s"] = row["bytes"] / counters["gather_beside_s"] / 1e9
    yield from _agree(counters, rights)


def _filling(row: Raw) -> RowProblems:
    """Filling the part of a table that GPUs keep: of tables that have one, and in some time."""
    counters, axes = _counters(row, "gather", "pipeline/graphsage"), row["case"]["axes"]
    fill_s = counters.get("fill_s")
    if fill_s is not None and axes.get("store") not in FILLED:
        yield "counters.fill_s", f"is {fill_s}, but of a {axes.get('store')} table no part is filled"
    elif fill_s is not None and fill_s <= 0:
        yield "counters.fill_s", f"is {fill_s}: filling takes time"
    batches = counters.get("epoch_batches")
    if batches is not None and (batches < 1 or batches != int(batches)):
        yield "counters.epoch_batches", f"is {batches}: an epoch has whole mini-batches, one at least"


def _own(row: Raw) -> RowProblems:
    """A table of one's own: its rows are as large as its columns, and one for each vertex."""
    own, axes = row.get("features"), row["case"]["axes"]
    if not own:
        return
    if "row" in axes and axes["row"] != (right := own["columns"] * own["element"]):
        yield "case.axes.row", f"is {axes['row']}, columns × element of the features is {right}"
    if "span" in axes and axes["span"] != (right := own["rows"] * own["columns"] * own["element"]):
        yield "case.axes.span", f"is {axes['span']}, the features take {right}"
    if row.get("graph") and row["graph"]["vertices"] != own["rows"]:
        yield "features.rows", f"is {own['rows']}, the graph has {row['graph']['vertices']} vertices"


CHECKS = (_asked, _unique, _hits, _curve, _edges, _given, _slowdowns, _stages, _processes, _filling, _own)
