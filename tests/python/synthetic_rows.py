"""Samples with known statistics, sizes and names: what every synthetic row is made of.

Statistics are computed here in the plainest way and not with the package under test.
"""

import random

SAMPLES = 32
LOWER, UPPER = 10, 23  # ranks of the interval of the median of 32 samples: ⌊(32 − 1.96 √32)/2⌋ and 33 − that
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def samples(median_s: float, spread: float = 0.01, count: int = SAMPLES, seed: int = 1) -> list[float]:
    """An even spread of ±`spread` about a median, in random order."""
    half = (count - 1) / 2
    found = [median_s * (1 + spread * (order - half) / half) for order in range(count)]
    random.Random(seed).shuffle(found)
    return found


def times(found: list[float], visit: int = 1) -> dict:
    """The statistics of a visit of 32 samples as the format has them."""
    ordered = sorted(found)
    middle = (ordered[15] + ordered[16]) / 2
    off = sorted(abs(one - middle) for one in found)
    within = [ordered[LOWER - 1], ordered[UPPER - 1]]
    return {
        "visits": [{"round": visit, "samples_s": found, "median_s": middle, "within_s": within}],
        "middle": 0,
        "median_s": middle,
        "mad_s": (off[15] + off[16]) / 2,
        "p5_s": ordered[1] + 0.55 * (ordered[2] - ordered[1]),
        "p95_s": ordered[29] + 0.45 * (ordered[30] - ordered[29]),
    }


def case_name(family: str, axes: dict, site: dict) -> str:
    """The name as the suite derives it: words first, then `key:value`."""
    words = [str(value) for axis, value in axes.items() if isinstance(value, str) and axis != "locality"]
    numbers = [f"{axis}:{value}" for axis, value in axes.items() if not isinstance(value, str)]
    where = [f"{axis}:{value}" for axis, value in site.items()]
    return "/".join([family, *words, *where, *numbers])
