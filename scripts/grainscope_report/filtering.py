"""Filters on names of cases: sizes with units, and what to say where one leaves nothing."""

import re
from collections.abc import Iterable, Sequence

from grainscope_report.asking import sentence
from grainscope_report.errors import ReportError
from grainscope_report.model import Row
from grainscope_report.units import parse_bytes

SHOWN = 5
END = r"(?!\w)"
# A size; or letters in brackets, of which none is one.
_SIZE = re.compile(r"\[\^?.[^]]*\]|(?<![\w\\])(\d+) *([A-Za-z]\w*)")
_BETWEEN = re.compile(r"[/.*$^|()\\]+")


def pattern(text: str) -> re.Pattern[str]:
    """A filter as an expression, in which `bytes:64MiB` also finds `bytes:67108864` and `bytes 64 MiB`.

    A size at its end ends there: `bytes:1KiB` does not find `bytes:10240`.
    """
    try:
        re.compile(text)
        return re.compile(_SIZE.sub(lambda found: _size(found, found.end() == len(text)), text))
    except re.error as error:
        raise ReportError(f"--filter {text!r} is no regular expression ({error})") from None


def _size(found: re.Match[str], last: bool) -> str:
    size = parse_bytes(found[0]) if found[1] else None
    return found[0] if size is None else f"({found[1]} ?{found[2]}|{size}){END if last else ''}"


def why_none(text: str, rows: Sequence[Row]) -> str:
    """What to try where no name matches: what a word means in names, or the nearest parts of names."""
    names = [row.name for row in rows]
    lacking = [part for part in _parts([text]) if not any(part in name for name in names)]
    for part in lacking:
        if meant := _meant(part, rows):
            more = f" and {len(meant) - SHOWN} more" if len(meant) > SHOWN else ""
            return (
                f"no name has {part!r}, which as a word means {', '.join(meant[:SHOWN])}{more}: "
                f"`ask {part}` takes it"
            )
    known = _parts(names)
    near = {part: best for part in lacking if (best := _nearest(part, known))}
    near |= {part: sizes for part in lacking if (sizes := _near_sizes(part, names))}
    return "; ".join(
        f"no name has {part!r}" + (f" (did you mean {near[part]}?)" if part in near else "")
        for part in lacking
    )


def _near_sizes(part: str, names: Iterable[str]) -> str:
    """The sizes next to that of `bytes:63MiB`, below and above."""
    key, _, said = part.partition(":")
    size = parse_bytes(said)
    if size is None:
        return ""
    there = {int(found[1]) for name in names if (found := re.search(rf"/{re.escape(key)}:(\d+)(?!\w)", name))}
    below, above = (sorted(filter(side, there)) for side in (size.__gt__, size.__lt__))
    next_to = [*below[-1:], *above[:1]]
    return " or ".join(f"{key}:{sentence.exact(one).replace(' ', '')}" for one in next_to)


def _meant(part: str, rows: Iterable[Row]) -> list[str]:
    """The beginnings of the names of the rows that a word means."""
    try:
        asked = sentence.understand(part)
    except ReportError:
        return []
    found = (row.name for row in rows if asked.matches(row.case))
    return list(dict.fromkeys(re.split(r"/[a-z_]+:", name)[0] for name in found))


def _parts(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(part for name in names for part in _BETWEEN.split(name) if part))


def _nearest(part: str, known: Sequence[str]) -> str:
    most = max(1, len(part) // 3)
    near = [one for one in known if abs(len(one) - len(part)) <= most]
    best = min(near, key=lambda one: sentence.distance(part, one), default="")
    return best if best and sentence.distance(part, best) <= most else ""
