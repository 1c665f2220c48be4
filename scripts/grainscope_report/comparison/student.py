"""Student's t distribution for arrays, since numpy alone has none."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
_STEPS = 300
_ENOUGH = 1e-12
_TINY = 1e-300
_log_gamma = np.vectorize(math.lgamma, otypes=[float])


def above(t: ArrayLike, freedom: ArrayLike) -> Floats:
    """The chance that a t variable with so many degrees of freedom lies above `t`; infinities are fine."""
    t, freedom = np.broadcast_arrays(np.asarray(t, float), np.asarray(freedom, float))
    with np.errstate(over="ignore"):
        place = freedom / (freedom + t * t)
    half = 0.5 * _incomplete_beta(place, freedom / 2)
    return np.where(t >= 0, half, 1 - half)


def _incomplete_beta(x: Floats, a: Floats) -> Floats:
    """The regularised incomplete beta function I_x(a, 1/2), by its continued fraction on the side where
    that converges quickly.
    """
    b = np.full_like(a, 0.5)
    swap = x > (a + 1) / (a + b + 2)
    first, second = np.where(swap, b, a), np.where(swap, a, b)
    at = np.where(swap, 1 - x, x)
    with np.errstate(divide="ignore"):
        log_front = (
            _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b) + first * np.log(at) + second * np.log1p(-at)
        )
    part = np.exp(log_front) / first * _fraction(at, first, second)
    return np.where(swap, 1 - part, part)


def _fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """Lentz's method for the continued fraction of the incomplete beta function.

    Source: Press et al., Numerical Recipes, 3rd edition, section 6.4.
    """
    c = np.ones_like(x)
    d = 1 / _away(1 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value = value * c * d
        if np.all(np.abs(c * d - 1) < _ENOUGH):
            break
    return value


def _away(value: Floats) -> Floats:
    """The value, or a tiny one where it is too near zero to divide by."""
    return np.where(np.abs(value) < _TINY, _TINY, value)
