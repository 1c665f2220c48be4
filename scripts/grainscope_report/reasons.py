"""Why rows are not ok, in few words: reasons that differ in amounts alone are told once."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
# Numbers that name something are no amounts, nor is what stands within a word or a path.
_NAMED = r"(?:GPU|node|CPU|CUDA|error)s? \d+(?:(?:[.,-]|, | and )\d+)*"
_AMOUNT = re.compile(rf"{_NAMED}|(?<![\w.-])(-?\d+(?:\.\d+)?)( (?:[KMGT]i)?B\b)?(?!\.?\w|-)")


def told(reasons: Iterable[str]) -> dict[str, str]:
    """What to say of each reason: of those that are alike but for their amounts the one with the largest."""
    alike: dict[str, list[str]] = defaultdict(list)
    for reason in dict.fromkeys(reasons):
        alike[_AMOUNT.sub(_masked, reason)].append(reason)
    said = {}
    for there in alike.values():
        hint = f" (the largest of {len(there)} such)" if len(there) > 1 else ""
        said |= dict.fromkeys(there, max(there, key=_amounts) + hint)
    return said


def counted(reasons: Iterable[str]) -> Counter[str]:
    """How many rows have each reason, as it is told."""
    found = list(reasons)
    said = told(found)
    return Counter(said[reason] for reason in found)


def most(reasons: Iterable[str]) -> str:
    """The reason of most rows, and how many more there are; nothing for none."""
    found = counted(reasons).most_common()
    hint = f" (and {more(len(found) - 1)})" if len(found) > 1 else ""
    return found[0][0] + hint if found else ""


def more(count: int) -> str:
    """`1 more reason`, `2 more reasons`."""
    return f"{count} more reason{'s' * (count > 1)}"


def _masked(found: re.Match[str]) -> str:
    number, unit = found.groups()
    return found[0] if number is None else "# B" if unit else "#"


def _amounts(reason: str) -> list[float]:
    found = (one.groups() for one in _AMOUNT.finditer(reason))
    return [float(number) * _UNITS[(unit or "B").strip()] for number, unit in found if number]
