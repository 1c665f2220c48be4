"""Which runs of a data set are one: what is there twice, the parts of a run, and what `merge` made of them.

Parts of a run (`--shard I/N`) are in a data set as they came. Where `merge` put them together, its result
alone counts. Other parts of one machine that were asked for alike make one run: each with those that came
next, until one comes a second time. Where some are missing, the flags of the run say which are there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grainscope_report.machine import run_ids

_SHARD = re.compile(r" ?--shard=(\d+)/(\d+)")
_BASENAME = "regexp_extract(filename, '[^/]*$')"
_TWICE = "SELECT count(*) > count(DISTINCT run) FROM {runs}"
_SOME = """
SELECT run, flags, (kind, machine, preset, version, "commit", driver) AS alike FROM {runs}
WHERE contains(run, '+') OR contains(flags, '--shard=') ORDER BY started, run"""
_TAKEN = f"""
CREATE TEMP TABLE taken AS SELECT run, file, coalesce(whole, run) AS whole, whole_flags
FROM (SELECT run, {_BASENAME} AS file FROM {{runs}}
  QUALIFY row_number() OVER (PARTITION BY run ORDER BY complete DESC, ended DESC, file) = 1)
LEFT JOIN united USING (run) WHERE whole IS NULL OR whole <> ''"""
_COUNTS = ", ".join(
    f"CAST(sum({name}) OVER parts AS INTEGER) AS {name}" for name in ("ok", "skipped", "failed")
)
_RUNS = f"""
CREATE TEMP TABLE runs AS SELECT r.* EXCLUDE (filename) REPLACE (whole AS run,
  min(started) OVER parts AS started, max(ended) OVER parts AS ended, sum(wall_s) OVER parts AS wall_s,
  bool_and(complete) OVER parts AS complete,
  {_COUNTS}, flatten(list(links) OVER parts) AS links, coalesce(whole_flags, flags) AS flags)
FROM {{runs}} r JOIN taken t ON t.run = r.run AND t.file = {_BASENAME}
WINDOW parts AS (PARTITION BY whole)
QUALIFY row_number() OVER (PARTITION BY whole ORDER BY r.started, r.run) = 1"""
_CASES = f"""
CREATE VIEW cases AS SELECT c.* EXCLUDE (filename) REPLACE (whole AS run, r.started AS started)
FROM {{cases}} c JOIN taken t ON t.run = c.run AND t.file = {_BASENAME} JOIN runs r ON r.run = whole"""


@dataclass
class _Whole:
    """Parts of one run: the id of each by its number, how many there should be, and the other flags."""

    count: int
    flags: str
    parts: dict[int, str] = field(default_factory=dict)

    @property
    def spoken(self) -> str:
        """The flags of the whole, or of the parts that are there."""
        if len(self.parts) == self.count:
            return self.flags
        return f"{self.flags} --shard={','.join(map(str, sorted(self.parts)))}/{self.count}".strip()


def make_tables(connection: Any, cases: str, runs: str) -> None:
    """Makes `runs`, a row a run, and `cases`, of what is read of files."""
    tables = {"cases": cases, "runs": runs}
    [(twice,)] = connection.execute(_TWICE.format(**tables)).fetchall()
    some = connection.execute(_SOME.format(**tables)).fetchall()
    if not (twice or some):
        for name, query in tables.items():
            connection.execute(f"CREATE VIEW {name} AS SELECT * EXCLUDE (filename) FROM {query}")
        return
    united = [*_united(some)]
    connection.execute("CREATE TEMP TABLE united(run VARCHAR, whole VARCHAR, whole_flags VARCHAR)")
    if united:
        columns = [list(column) for column in zip(*united, strict=True)]
        connection.execute("INSERT INTO united SELECT unnest(?), unnest(?), unnest(?)", columns)
    for query in (_TAKEN, _RUNS, _CASES):
        connection.execute(query.format(**tables))


def _united(some: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Iterator[tuple[str, str, str | None]]:
    """Runs, the whole of each, and its flags; the whole is empty where `merge` put the run into another."""
    merged: dict[str, str] = {}
    for run in sorted({run for run, _, _ in some}, key=lambda run: -len(run_ids(run))):
        for part in run_ids(run):
            merged.setdefault(part, run)
    open_ones: dict[Any, _Whole] = {}
    wholes: list[_Whole] = []
    for run, flags, alike in dict.fromkeys((run, flags, str(alike)) for run, flags, alike in some):
        parts = run_ids(run)
        if set(parts) < set(run_ids(merged[parts[0]])):
            yield run, "", None
        elif (shard := _SHARD.search(flags)) and int(shard[2]) > 1:
            at, count, rest = int(shard[1]), int(shard[2]), _SHARD.sub("", flags)
            key = alike, count, rest
            if key not in open_ones or at in open_ones[key].parts:
                open_ones[key] = _Whole(count, rest)
                wholes.append(open_ones[key])
            open_ones[key].parts[at] = run
    for whole in wholes:
        name = "+".join(whole.parts[at] for at in sorted(whole.parts))
        yield from ((run, name, whole.spoken) for run in whole.parts.values())
