"""What the checks share: when two numbers that should agree differ, and how a check answers."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

Raw = Mapping[str, Any]
# The field of a row, and what is wrong with it.
RowProblems = Iterator[tuple[str, str]]

# Numbers that follow from others in the file may differ by what printing rounds away.
ROUNDING = 1e-6


def differ(left: float, right: float, tolerance: float = ROUNDING) -> bool:
    """Whether two numbers that should be the same are not."""
    return not math.isclose(left, right, rel_tol=tolerance, abs_tol=1e-15)
