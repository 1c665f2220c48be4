"""Version 1 of the result file as version 2: what is called otherwise, and its rows of one case as visits.

What is off the format stays so, for the reader to tell.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from grainscope_report import uncertainty

Raw = dict[str, Any]

# By where it stands, what version 1 calls by other names; what has none in version 2 goes.
NAMES: Mapping[str, Mapping[str, str | None]] = {
    "context": {"family_versions": None},
    "link": {"ci95_gb_s": "within_gb_s"},
    "row": {
        "link_bytes": "link_bytes_least",
        "repetitions": None,
        "repetition_index": None,
        "dropped_samples": None,
        "dropped_median_s": None,
    },
    "visit": {"ci95_s": "within_s", "session_s": "visit_s"},
    "lane": {"ci95_s": "within_s"},
}
# What a row of version 1 says of its visit.
OF_VISIT = dict.fromkeys(("samples_s", "ci95_s", "session_s", "cpu_s", "preemptions", "stolen_s"))


def upgrade(document: Raw) -> Raw:
    """A document of version 1 as one of version 2."""
    old, rows = document["context"], document["benchmarks"]
    context = _renamed("context", old) | {"schema_version": 2}
    context |= _each(old, "links", lambda link: _renamed("link", link))
    versions = old.get("family_versions")
    made = [_row(case, versions if isinstance(versions, dict) else {}) for case in _cases(rows)]
    if isinstance(run := old.get("run"), dict):
        context["run"] = run | {"visits": _asked(rows)} | _counts(run, rows, made)
    upgraded = document | {"context": context, "benchmarks": made}
    try:
        table = uncertainty.at_hand()
        uncertainty.apply(made, context, table)
        context |= {"type_b": said} if (said := table.summary(context)) else {}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass  # Nothing can be reckoned with what is off the format.
    return upgraded


def _asked(rows: list[Any]) -> int:
    """How often the run was to come to each case."""
    told = [row.get("repetitions") for row in rows if isinstance(row, dict)]
    return max((count for count in told if type(count) is int), default=0) or 1


def _counts(run: Raw, rows: list[Any], made: list[Any]) -> Raw:
    """Rows by status, now one a case; what did not fit before does not now."""
    if not isinstance(counts := run.get("counts"), dict):
        return {}
    before, now = (Counter(map(_status, each)) for each in (rows, made))
    fixed = {
        status: count - before[status] + now[status] if type(count) is int else count
        for status, count in counts.items()
    }
    return {"counts": fixed}


def _renamed(where: str, thing: Any) -> Any:
    """A thing by the names of version 2."""
    if not isinstance(thing, dict):
        return thing
    now = NAMES[where].get
    found = {now(name, name): value for name, value in thing.items()}
    for name in (None, ""):
        found.pop(name, None)
    return found


def _each(thing: Mapping[str, Any], name: str, made: Callable[[Any], Any]) -> Raw:
    """A list of a thing, made anew; nothing where there is none."""
    there = thing.get(name)
    return {name: [made(one) for one in there]} if isinstance(there, list) else {}


def _cases(rows: list[Any]) -> list[list[Any]]:
    """The rows of each case, one a visit; a visit that is there twice begins another."""
    cases: dict[Any, list[Any]] = {}
    seen: set[tuple[Any, Any]] = set()
    for at, row in enumerate(rows):
        told = isinstance(row, dict) and isinstance(row.get("name"), str)
        name, visit = (row["name"], str(row.get("repetition_index"))) if told else (at, None)
        cases.setdefault((name, at) if (name, visit) in seen else (name, None), []).append(row)
        seen.add((name, visit))
    return list(cases.values())


def _row(rows: list[Any], versions: Mapping[str, Any]) -> Any:
    """The row of a case: of its first visit that failed, else of the middle one of those that are right."""
    if not isinstance(rows[0], dict):
        return rows[0]
    failed = [row for row in rows if _status(row) not in ("ok", "skipped")]
    shown = failed[:1] or [row for row in rows if _status(row) == "ok"] or rows[:1]
    medians = [row.get("median_s") for row in shown]
    told = all(type(median) in (int, float) for median in medians)
    middle = uncertainty.middle_visit(medians) if told else 0
    row = {name: value for name, value in shown[middle].items() if name not in OF_VISIT}
    if (
        told
        and row.get("label") != "modelled"
        and (visits := [_visit(one) for one in shown if one.get("samples_s")])
    ):
        row |= {"visits": visits, "middle": middle}
    if row.get("status") != "ok" and len(rows) > 1:
        of = f"in visit {_visit_number(row)} of {row.get('repetitions', len(rows))}: "
        row["reason"] = f"{of}{row.get('reason', '')}"
    if isinstance(case := row.get("case"), dict):
        row["case"] = case | {"version": versions.get(str(case.get("family")), 1)}
    return _renamed("row", row) | _each(row, "lanes", lambda lane: _renamed("lane", lane))


def _visit(row: Raw) -> Raw:
    """What a row says of its visit; of trials, which differ, there is no interval within it."""
    there = {name: row[name] for name in (*OF_VISIT, "median_s") if name in row}
    if "trials" in row:
        there.pop("ci95_s", None)
    return {"round": _visit_number(row)} | _renamed("visit", there)


def _status(row: Any) -> str:
    return str(row.get("status")) if isinstance(row, dict) else ""


def _visit_number(row: Raw) -> Any:
    index = row.get("repetition_index", 0)
    return index + 1 if type(index) is int else index
