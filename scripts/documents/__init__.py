"""Parts of documents that follow from result files: tables, and single numbers in sentences.

A document holds them between markers, and `scripts/docs` writes them:

    <!-- begin: scripts/docs NAME -->      a part that has lines of its own, such as a table
    <!-- end: scripts/docs -->

    It takes <!-- n: NAME WORDS -->12.3<!-- /n --> ms.

NAME is that of a function with `@part` in the modules here, and WORDS are its arguments.
"""

import re
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from grainscope_report.commands import files
from grainscope_report.machine import Machine, machines, short_commit
from grainscope_report.model import Result

PROJECT = Path(__file__).resolve().parents[2]
REFERENCE = PROJECT / "results" / "reference"
PAGES = (PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md")), REFERENCE / "README.md")
PARTS: dict[str, Callable[..., str]] = {}
BLOCK = re.compile(r"(<!-- begin: scripts/docs (.+?) -->\n).*?(<!-- end: scripts/docs -->)", re.DOTALL)
INLINE = re.compile(r"(<!-- n: (.+?) -->).*?(<!-- /n -->)", re.DOTALL)
MARKER = re.compile(r"<!-- (?:begin: scripts/docs|n: )")


def part(name: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Gives a function the name by which documents ask for its text."""

    def keep(made: Callable[..., str]) -> Callable[..., str]:
        PARTS[name] = made
        return made

    return keep


def asked(text: str) -> list[str]:
    """What a document's markers ask for, in their order."""
    found = [*BLOCK.finditer(text), *INLINE.finditer(text)]
    if len(found) != len(MARKER.findall(text)):
        raise ValueError("a marker of scripts/docs lacks its name or its end")
    return [match[2] for match in sorted(found, key=re.Match.start)]


def filled(text: str) -> str:
    """A document with what stands between its markers made anew."""
    asked(text)
    text = BLOCK.sub(lambda match: f"{match[1]}{made(match[2])}\n{match[3]}", text)
    return INLINE.sub(lambda match: f"{match[1]}{made(match[2])}{match[3]}", text)


@cache
def made(words: str) -> str:
    """The text of a part."""
    name, *arguments = words.split()
    if name not in PARTS:
        raise ValueError(f"no part is called {name}: scripts/documents has {', '.join(sorted(PARTS))}")
    return PARTS[name](*arguments)


@cache
def read(path: Path) -> Result:
    """A result that several documents rest on: each is read once, with the type B that commands give it."""
    [found] = files.results([path])
    return found


# The file of a run, or the files that hold its rows together.
Names = str | tuple[str, ...]
# `full` of the H100: two halves of its cases, each measured by another machine of the kind.
FULL = ("h100-full-1of2.json.gz", "h100-full-2of2.json.gz")
# What a marker of a document may say in place of a file.
NAMED_RUNS = {"full": FULL}


@cache
def result(names: Names) -> Result:
    """A reference result, or what several say together: of one machine, or of machines of one kind."""
    if isinstance(names, str):
        return read(REFERENCE / names)
    first, *_ = found = [result(name) for name in names]
    return replace(first, rows=tuple(row for each in found for row in each.rows))


def machine_of(names: Names) -> Machine:
    """A run as figures show it; where its rows are of several files, the footer names all machines."""
    (machine,) = machines([result(names)])
    others = (result(file) for file in files_of(names)[1:])
    said = [f"and another of the kind: commit {short_commit(other)}, {other.date[:10]}" for other in others]
    return replace(machine, file="; ".join(said))


def raw(names: Names) -> list[dict]:
    """The rows of a reference result as they stand in its file."""
    return [row.raw for row in result(names).rows]


def rows_of(names: Names) -> tuple:
    return result(names).rows


def files_of(names: Names) -> tuple[str, ...]:
    """The files of a run."""
    return (names,) if isinstance(names, str) else names


@cache
def quick_rows() -> dict[str, dict]:
    """What was measured of the H100's `quick`, by name."""
    return {row["name"]: row for row in raw(QUICK[0]) if row["status"] == "ok"}


def digits(value: float, count: int = 3) -> str:
    """A number with so many significant digits, trailing zeros kept."""
    return f"{value:.0f}" if abs(value) >= 10**count - 0.5 else f"{value:#.{count}g}".rstrip(".")


def clock(seconds: float) -> str:
    """A time, in milliseconds up to a second."""
    return f"{digits(seconds)} s" if seconds >= 1 else f"{digits(1e3 * seconds)} ms"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], right: bool = False) -> str:
    """A table in Markdown; the columns after the first are aligned to the right on request."""
    heads = list(heads)
    rule = "|---|" + ("--:|" if right else "---|") * (len(heads) - 1)
    return "\n".join([line(heads), rule, *map(line, rows)])


def line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def axes_of(row, *names: str) -> tuple:
    return tuple(row.case.axes.get(name) for name in names)


# Axes that a row has only where managed memory got a hint, another kind of host memory is read, or edges are
# pulled. What asks for a row and names none of them means the row without.
SPECIAL = ("hint", "memory", "direction")


def is_plain(axes: Container[str], named: Container[str] = ()) -> bool:
    return not any(name in axes and name not in named for name in SPECIAL)


APART = 0.05  # above which a second machine's number stands beside the first's
# `quick` of the H100, and of two H200: the same cases, three visits each.
QUICK = ("h100-quick-now.json.gz", "acceptance/two-h200-1.json.gz")
# Rows of an H100 with what its hardware counters say of them.
COUNTERS = "h100-counters.json.gz"


def beside(one: float | None, two: float | None, write: Callable[[float], str] = "{:.1f}".format) -> str:
    """A number, and in brackets that of a second machine where they are apart."""
    if one is None:
        return ""
    return write(one) + (f" [{write(two)}]" if two and abs(two / one - 1) > APART else "")


def only(names: Names, family: str, *axes: str):
    """The one measured row of a file with these axes or site: `axis=value`, or `axis=` where it lacks it."""
    wanted = [axis.split("=") for axis in axes]
    found = [
        row
        for row in rows_of(names)
        if row.ok
        and row.case.family == family
        and all(str((row.case.site | row.case.axes).get(axis, "")) == value for axis, value in wanted)
    ]
    if len(found) != 1:
        raise ValueError(
            f"{' and '.join(files_of(names))} has {len(found)} rows of {family} with {' '.join(axes)}"
        )
    return found[0]


@part("rate")
def rate(name: str, family: str, *axes: str) -> str:
    """GB/s of a row; of `quick` those of the H100, and in brackets of the H200 where they are apart."""
    files = QUICK if name == "quick" else (NAMED_RUNS.get(name, name),)
    rates = [only(file, family, *axes).bandwidth_gb_s for file in files]
    return beside(rates[0], rates[1] if len(rates) > 1 else None)


@part("link_rate")
def link_rate(name: str, family: str, *axes: str) -> str:
    """GB/s of a row over the link, each different row once."""
    return f"{only(NAMED_RUNS.get(name, name), family, *axes).counters['link_gb_s']:.1f}"


@part("peak")
def peak(name: str) -> str:
    """GB/s of the copy peak to the GPU, in each file of a run."""
    peaks = [
        result(file).link(("host:0", "gpu:0")).peak_gb_s for file in files_of(NAMED_RUNS.get(name, name))
    ]
    return " and ".join(f"{each:.1f}" for each in peaks)


@part("ms")
def milliseconds(name: str, family: str, *axes: str) -> str:
    """The median time of a row, in milliseconds."""
    return f"{1e3 * only(NAMED_RUNS.get(name, name), family, *axes).median_s:.2f}"
