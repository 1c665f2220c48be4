"""Writes quantities for people: sizes in KiB/MiB/GiB, times, decimal GB/s, lists in short."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZE = re.compile(r"(\d+) *([a-z]*)")
_FACTORS = {"": 1, "b": 1, "byte": 1, "bytes": 1}
_FACTORS |= {name: 1 << 10 * power for power, k in enumerate("kmgt", 1) for name in (k, f"{k}ib")}
_FACTORS |= {f"{k}b": 1000**power for power, k in enumerate("kmgt", 1)}
_LONGEST = 20  # digits of a size


def format_bytes(size: float) -> str:
    """A size in the largest binary unit that keeps it at or above one: 1536 is `1.5 KiB`."""
    for unit, name in _SIZES:
        if size >= unit:
            return f"{significant(size / unit)} {name}"
    return f"{significant(size)} B"


def parse_bytes(text: str) -> int | None:
    """A number of bytes from `4096`, `64KiB`, `64 mib`, `1M` (binary), `64MB` (decimal); else None."""
    found = _SIZE.fullmatch(text.strip().lower())
    if not found or len(found[1]) > _LONGEST or found[2] not in _FACTORS or not found[1].isascii():
        return None
    return int(found[1]) * _FACTORS[found[2]]


def format_time(seconds: float) -> str:
    """A time with three significant digits in the fitting unit: 1.6e-6 is `1.6 µs`."""
    unit, name = time_unit(seconds)
    return f"{significant(seconds / unit)} {name}"


def format_duration(seconds: float) -> str:
    """How long something went on: `14 min 8 s`, `1 h 3 min`, below two minutes as `format_time`."""
    if seconds < 120:
        return format_time(seconds)
    minutes, left = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {left} s"


def time_unit(seconds: float) -> tuple[float, str]:
    """The fitting unit, in seconds, and its name: 1.6e-6 goes in `(1e-6, "µs")`."""
    return next((time_s for time_s in _TIMES if seconds >= time_s[0] * 0.9995), (1e-12, "ps"))


def format_rate(gb_s: float) -> str:
    """A rate in GB/s, without the unit: 54.73, 7.7, 0.0912."""
    return significant(gb_s, 4 if gb_s >= 10 else 3)


def significant(value: float, digits: int = 3) -> str:
    """The value with so many significant digits, no exponent, no trailing zeros after the point."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_count(count: float) -> str:
    """A count of things that come in powers of two: 1048576 is `1 Mi`."""
    said = format_bytes(count)
    return said.removesuffix("B").rstrip()


def format_large(count: float) -> str:
    """A count in words: 2239591 is `2.24 million`."""
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if count >= unit:
            return f"{significant(count / unit)} {name}"
    return f"{count:g}"


def format_interval(value: float, low: float, high: float) -> tuple[str, str]:
    """The value and its `[low, high]`, with the decimals that the width of the interval justifies."""
    width = high - low
    wanted = 2 if width <= 0 else 1 - math.floor(math.log10(width))
    room = max(2, 3 - math.floor(math.log10(value))) if value > 0 else 4
    places = min(max(wanted, 0), room)
    return f"{value:.{places}f}", f"[{low:.{places}f}, {high:.{places}f}]"


def format_error(fraction: float) -> str:
    """A relative error in whole percent with its sign: `+12 %`, `-6 %`, `0 %`."""
    percent = round(100 * fraction)
    return f"{percent:+d} %" if percent else "0 %"


def format_percent(fraction: float) -> str:
    """A fraction as a percentage with one decimal: 0.929 is `92.9 %`."""
    return f"{100 * fraction:.1f} %"


def format_change(ratio: float) -> str:
    """What a ratio changes, with one decimal: 1.031 is `+3.1 %`."""
    return f"{100 * (ratio - 1):+.1f} %"


def plural(count: int, thing: str, things: str = "") -> str:
    """`1 row`, `2 rows`; `things` of what has a plural of its own."""
    return f"{count} {thing if count == 1 else things or f'{thing}s'}"


def some(names: Sequence[str], most: int) -> str:
    """The first of several, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def cut(text: str, most: int) -> str:
    """A text of at most so many letters, the last of which says where it is cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def filled(
    said: Iterable[Sequence[str]],
    room: float,
    width: Callable[[str], float],
    first: str = "",
    further: str = "",
    gap: str = "  ",
) -> Iterator[str]:
    """Each as lines no wider than `room`, by `width`, that break between words that stay together."""
    for words in said:
        line = first + words[0]
        for more in words[1:]:
            longer = f"{line}{gap}{more}"
            if width(longer) > room:
                yield line
                longer = further + more
            line = longer
        yield line
