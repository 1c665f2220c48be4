"""Student's t distribution, which the standard library lacks."""

import math

_STEPS = 300
_ENOUGH = 1e-12
_TINY = 1e-300


def above(t: float, freedom: float) -> float:
    """The chance that a t variable with so many degrees of freedom lies above `t`; infinities are fine."""
    half = 0.5 * _incomplete_beta(freedom / (freedom + t * t), freedom / 2)
    return half if t >= 0 else 1 - half


def _incomplete_beta(x: float, a: float) -> float:
    """The regularised incomplete beta function I_x(a, 1/2), by its continued fraction on the side where
    that converges quickly.
    """
    swap = x > (a + 1) / (a + 2.5)
    first, second, at = (0.5, a, 1 - x) if swap else (a, 0.5, x)
    part = 0.0
    if at > 0:
        gammas = math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5)
        front = math.exp(gammas + first * math.log(at) + second * math.log1p(-at)) / first
        part = front * _fraction(at, first, second)
    return 1 - part if swap else part


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's method for the continued fraction of the incomplete beta function.

    Source: Press et al., Numerical Recipes, 3rd edition, section 6.4.
    """
    c = 1.0
    value = d = 1 / _away(1 - (a + b) * x / (a + 1))
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _ENOUGH:
            break
    return value


def _away(value: float) -> float:
    """The value, or a tiny one where it is too near zero to divide by."""
    return _TINY if abs(value) < _TINY else value
