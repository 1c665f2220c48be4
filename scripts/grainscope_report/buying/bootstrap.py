"""The bootstrap over node, run and sample: what medians of resampled visits would have been.

The median of a resample is drawn without making it: with replacement, the k-th smallest of n drawn
samples is the ⌈n u⌉-th smallest of the visit, where u is the k-th smallest of n uniform numbers, which
is beta distributed. That is exact and costs two draws, however many samples a visit has. (Efron, *The
jackknife, the bootstrap and other resampling plans*, 1982, has the distribution.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grainscope_report import metrics, statistics
from grainscope_report.buying import ways
from grainscope_report.buying.machines import Machine
from grainscope_report.buying.ways import Visits
from grainscope_report.model import Row

Array = np.ndarray


@dataclass(frozen=True)
class Estimates:
    """A quantity: what was measured, and what each resample gives."""

    value: float
    draws: Array = field(repr=False)


@dataclass(frozen=True)
class Resampling:
    """How one machine is resampled, the same for all of its rows: nodes, then visits."""

    nodes: Array  # draws × nodes: which node stands there
    visits: Array  # draws × nodes × most visits: 0 to 1, which visit stands there
    seed: tuple[int, ...]


def resampling(machine: Machine, draws: int, seed: tuple[int, ...]) -> Resampling:
    """Draws nodes and visits; of one node there is nothing to draw."""
    random = np.random.default_rng(seed)
    count = len(machine.nodes)
    most = max(sum(max((len(row.visits) for row in result.rows), default=1) for result in node)
               for node in machine.nodes)  # fmt: skip
    return Resampling(
        random.integers(count, size=(draws, count)), random.random((draws, count, max(most, 1))), seed
    )


def estimates(
    found: Visits, metric: str, plan: Resampling, trials: dict[tuple, Array], stream: tuple[int, ...]
) -> Estimates:
    """The quantity of a case: the median over nodes of medians over sites of medians over visits.

    `trials` keeps which trials a resample has, so that all machines that ran the same have the same;
    `stream` tells the samples of one case from those of another.
    """
    value = float(np.median([np.median([_median(rows, metric) for rows in sites]) for sites in found]))
    random = np.random.default_rng((*plan.seed, 1, *stream))
    draws, slots = plan.nodes.shape
    out = np.empty((draws, slots))
    for slot in range(slots):
        for node, sites in enumerate(found):
            mask = plan.nodes[:, slot] == node
            if mask.any():
                uniform = plan.visits[mask, slot]
                by_site = [_visits(rows, metric, uniform, mask, random, trials) for rows in sites]
                out[mask, slot] = np.median(by_site, axis=0)
    return Estimates(value, np.median(out, axis=1))


def spread_known(found: Visits, metric: str) -> bool:
    """Whether nodes, visits, trials or samples tell how far the quantity varies."""
    there = [rows for sites in found for rows in sites]
    several = len(found) > 1 or any(len(rows) > 1 for rows in there)
    return several or all(_varies(row, metric) for rows in there for row in rows)


def _varies(row: Row, metric: str) -> bool:
    """Whether one visit alone says how far the quantity varies."""
    follows = metrics.follows_median(row, metric)
    if row.trials:
        return len(row.trials) > 1 and (follows or all(metric in trial.counters for trial in row.trials))
    return follows and len(row.samples_s) > 1


def _visits(
    rows: Sequence[Row], metric: str, uniform: Array, mask: Array, random: np.random.Generator, trials: dict
) -> Array:
    """For each resample the median over as many visits as there are, each resampled within."""
    count = len(rows)
    chosen = (uniform[:, :count] * count).astype(int)
    if chosen.shape[1] < count:  # more visits of this row than of others: take turns
        chosen = np.resize(chosen, (len(chosen), count))
    if rows[0].trials:
        within = np.stack([_trials(row, metric, mask, random, trials) for row in rows])
        return np.median(within[chosen, np.arange(len(chosen))[:, None]], axis=1)
    return np.median(_samples(rows, metric, chosen, random), axis=1)


def _samples(rows: Sequence[Row], metric: str, chosen: Array, random: np.random.Generator) -> Array:
    """The quantity of each chosen visit, from the median of a resample of its samples."""
    fixed = np.array([_value(row, metric) for row in rows])
    if not all(metrics.follows_median(row, metric) and row.samples_s for row in rows):
        return fixed[chosen]  # a quantity of the whole visit, or a modelled row
    ordered = [np.sort(row.samples_s) for row in rows]
    counts = np.array([len(one) for one in ordered])
    table = np.full((len(rows), counts.max()), np.nan)
    for at, one in enumerate(ordered):
        table[at, : len(one)] = one
    low, high = _middle(counts[chosen], random)
    medians = (table[chosen, low] + table[chosen, high]) / 2
    was = np.array([statistics.median(row.samples_s) for row in rows])[chosen]
    factor = medians / was
    return fixed[chosen] * factor if metrics.better(metric) == metrics.LOWER else fixed[chosen] / factor


def _middle(counts: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """The 0-based ranks, in the visit, of the one or two samples in the middle of a resample."""
    odd = counts % 2 == 1
    lower = np.where(odd, (counts + 1) // 2, counts // 2)
    first = random.beta(lower, counts + 1 - lower)
    next_one = first + (1 - first) * (1 - random.random(counts.shape) ** (1 / np.maximum(counts - lower, 1)))
    second = np.where(odd, first, next_one)
    return tuple(np.minimum((one * counts).astype(int), counts - 1) for one in (first, second))


def _trials(
    row: Row, metric: str, mask: Array, random: np.random.Generator, trials: dict[tuple, Array]
) -> Array:
    """The quantity of each resample of the row's trials; where they are inputs, all machines share them."""
    own = _value(row, metric)
    labels = tuple(trial.label for trial in row.trials)
    if ways.inputs(row):
        if labels not in trials:
            shared = np.random.default_rng((2, len(labels)))
            trials[labels] = shared.integers(len(labels), size=(len(mask), len(labels)))
        chosen = trials[labels][mask]
    else:
        chosen = random.integers(len(labels), size=(int(mask.sum()), len(labels)))
    if metrics.follows_median(row, metric):
        times = np.array([statistics.median(trial.samples_s) for trial in row.trials])
        factor = np.median(times[chosen], axis=1) / np.median(times)
        return own * factor if metrics.better(metric) == metrics.LOWER else own / factor
    if not all(metric in trial.counters for trial in row.trials):
        return np.full(len(chosen), own)
    there = np.array([trial.counters[metric] for trial in row.trials], dtype=float)
    # TEPS are rates of equal work: their mean is harmonic.
    return 1 / np.mean(1 / there[chosen], axis=1) if metric == "teps" else np.median(there[chosen], axis=1)


def _median(rows: Sequence[Row], metric: str) -> float:
    return float(np.median([_value(row, metric) for row in rows]))


def _value(row: Row, metric: str) -> float:
    found = metrics.value(row, metric)
    return float("nan") if found is None else float(found)
