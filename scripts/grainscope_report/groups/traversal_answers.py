"""What the traversals of one run come to: the best access to each graph, what it is better than, what managed
memory would move on smaller cards, sentences about them; and who needs how much of the GPU's memory for which
time, each way side by side.

`best` is the fastest way that leaves the edges in host memory and needs no managed memory, vertices in their
original order. Managed memory as measured is cold and not oversubscribed; modelled, it is under pressure.

Side by side, whole lists are of the edges that the papers have, in the original order; the fewest bytes are
of the fastest technique that keeps no edges in the GPU. Modelled managed memory stands beside rows of bfs
alone, since other algorithms need fewer levels on a GPU than in the model.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from grainscope_report import statistics
from grainscope_report.analysis import Analysis
from grainscope_report.figures.parts import grouped, in_order
from grainscope_report.groups import lean, traversal
from grainscope_report.groups.lean import Gain
from grainscope_report.groups.traversal import ORDERS, PRESSURE_CARD, Run, Work
from grainscope_report.machine import Machine
from grainscope_report.model import MODEL, Level, Row
from grainscope_report.statistics import Estimate, plain
from grainscope_report.units import format_bytes, format_percent, format_time, plural, significant
from grainscope_report.writing import Column, Terminal

BASES = ("managed", "device")
# What is no way to read edges of the host in place.
NOT_IN_PLACE = ("managed", *traversal.IN_GPUS)

# Times that differ by less than this share are one: a model says the same of accesses that ask for the same.
SAME_TIME = 1e-9

COLD = "cold, not oversubscribed unless --allow-managed-oversubscription was given"


@dataclass(frozen=True)
class Answer:
    """The best way to do a work; `over` by placement, how much faster it is than the fastest way there.

    Of several that take the same time `best` is the first.
    """

    work: Work
    best: Run
    ways: tuple[Run, ...]
    over: dict[str, Estimate]

    @property
    def label(self) -> str:
        """`measured` or `modelled`."""
        return self.best.label

    @property
    def others(self) -> tuple[Run, ...]:
        """The other ways over edges in host memory."""
        return tuple(run for run in self.ways if run is not self.best and run.placement not in NOT_IN_PLACE)

    @property
    def tied(self) -> tuple[Run, ...]:
        """The ways that take just as long as the best."""
        return tuple(
            run
            for run in self.others
            if math.isclose(run.time.value, self.best.time.value, rel_tol=SAME_TIME)
        )

    @property
    def certain(self) -> bool:
        """Whether the best is faster than each other way by more than their intervals reach."""
        return all(traversal.speedup(run, self.best).low > 1 for run in self.others)

    def like(self, way: Run) -> Run | None:
        """The way here with the same access and placement."""
        alike = (way.access, way.placement)
        return next((run for run in self.ways if (run.access, run.placement) == alike), None)

    @property
    def amplification(self) -> float | None:
        """Bytes over the link for each byte of the edges read."""
        traffic = self.best.traffic("counted") or self.best.traffic("modelled")
        return traffic.amplification if traffic else None

    @property
    def busiest(self) -> Level | None:
        """The level of the first trial that took longest."""
        timed = [level for level in self.best.row.levels if level.seconds]
        return max(timed, key=lambda level: level.seconds, default=None)


def answers(machine: Machine) -> list[Answer]:
    """The measured answers, then the modelled ones, by algorithm and graph."""
    here = [run for run in traversal.measured(machine) if run.order == ORDERS[0]]
    model = traversal.modelled(machine)
    pressed: list[Run] = []
    if model:
        paged = traversal.paged(machine)
        link = traversal.one_link(model, paged)
        model = [run for run in model if run.link == link]
        pressed = traversal.under_pressure(paged, link)
    return [*_answers(here, here), *_answers(model, pressed)]


def _answers(runs: Sequence[Run], bases: Iterable[Run]) -> list[Answer]:
    all_answers = []
    for work in _in_order({run.work for run in runs}, runs):
        ways = sorted((run for run in runs if run.work == work), key=lambda run: run.time.value)
        best = next((run for run in ways if run.placement not in NOT_IN_PLACE), None)
        if best is None:
            continue
        over = {}
        for placement in BASES:
            own = [run for run in bases if run.work == work and (run.placement or "managed") == placement]
            if slow := traversal.fastest(own):
                over[placement] = traversal.speedup(slow, best)
        all_answers.append(Answer(work, best, tuple(ways), over))
    return all_answers


@dataclass(frozen=True)
class Together:
    """A traversal by several GPUs beside one that has the whole graph.

    `scaling` is the share of what as many GPUs could do, from the same sources; `edges` how many times as
    many edges are read together, None where the run has no row of one GPU.
    """

    run: Run
    gpus: int
    alone_s: float
    scaling: float
    edges: float | None

    @property
    def faster(self) -> float:
        """How many times as fast as one GPU."""
        return self.scaling * self.gpus

    @property
    def how(self) -> str:
        """Where whole lists lie and what is alike in the parts, or by what technique fewer bytes move."""
        if not self.run.placement:
            return lean.of(self.run).text
        divide = self.run.row.case.axes.get("divide")
        return self.run.placement + (f", parts of as many {divide}" if divide else "")


def together(machine: Machine) -> list[Together]:
    """Every such traversal of which one GPU's time is known, in the order of works."""
    runs = [run for run in traversal.together(machine) if run.counter("scaling") and run.counter("alone_s")]
    by_one = (*traversal.measured(machine), *traversal.of_family(machine, traversal.LEAN))
    alone = {_by_one(run): run for run in by_one}
    found = []
    for work in _in_order({run.work for run in runs}, runs):
        for run in (run for run in runs if run.work == work):
            one = alone.get(_by_one(run))
            ours, theirs = run.counter("edges_read"), one.counter("edges_read") if one else None
            edges = ours / theirs if ours and theirs else None
            gpus = int(run.row.case.axes["gpus"])
            found.append(Together(run, gpus, run.counter("alone_s"), run.counter("scaling"), edges))
    return found


def _by_one(run: Run) -> tuple:
    """The same by one GPU."""
    case = run.row.case
    return case.family, case.without("gpus", "divide"), case.site_key


def together_as_json(one: Together) -> dict[str, Any]:
    """Everything, plain."""
    work = one.run.work
    return {
        "algorithm": work.algorithm,
        "graph": work.graph,
        "edge": work.edge,
        "weights": work.weights or None,
        "access": one.run.access,
        "placement": one.run.placement,
        "how": one.how,
        "divide": one.run.row.case.axes.get("divide", "edges" if one.run.placement else None),
        "gpus": one.gpus,
        "time_s": plain(one.run.time),
        "alone_s": one.alone_s,
        "scaling": one.scaling,
        "edges_over_alone": one.edges,
    }


LANES = "lane_use"
APART = 0.1  # of all lanes: what one access has at work more than another
# Where edges lie, as it is said of a time.
OVER = {"mapped": "over the link", "device": "in the GPU's memory"}


@dataclass(frozen=True)
class AtWork:
    """Two accesses to a work, of which one has more lanes at work; their times clearly differ.

    `slower` is the time of the access with `more` lanes over that of the one with `fewer`.
    """

    more: Run
    fewer: Run
    slower: Estimate


def at_work(machine: Machine) -> list[AtWork]:
    """For each placement what lanes at work are worth, by rows of which type A and B are known.

    Of the first work in which an access with more lanes is slower, the one with most against the fastest, or
    EMOGI's where that is as fast. Where there is none, of the first work that tells, the most lanes against
    the fewest.
    """
    runs = [run for run in traversal.measured(machine) if run.order == ORDERS[0] and run.row.both_known]
    runs = [run for run in runs if run.counter(LANES) is not None]
    found = []
    for placement in in_order({run.placement for run in runs}, tuple(OVER)):
        there = [run for run in runs if run.placement == placement]
        works = [list(_apart(there, work)) for work in _in_order({run.work for run in there}, there)]
        slower = [[one for one in work if one.slower.low > 1] for work in works]
        if pairs := next(filter(None, [*slower, *works]), []):
            found.append(_most_telling(pairs))
    return found


def _apart(runs: Sequence[Run], work: Work) -> Iterator[AtWork]:
    """Every two accesses to a work that differ in lanes and in time."""
    for more, fewer in itertools.permutations([run for run in runs if run.work == work], 2):
        slower = statistics.ratio(more.time, fewer.time)
        apart = more.counter(LANES) - fewer.counter(LANES) >= APART
        if apart and (slower.low > 1 or slower.high < 1):
            yield AtWork(more, fewer, slower)


def _most_telling(pairs: Sequence[AtWork]) -> AtWork:
    most = max(one.more.counter(LANES) for one in pairs)
    there = [one for one in pairs if one.more.counter(LANES) == most]
    if there[0].slower.value < 1:
        return min(there, key=lambda one: one.fewer.counter(LANES))
    fastest = min(there, key=lambda one: one.fewer.time.value)
    usual = [one for one in there if one.fewer.access == traversal.EMOGIS]
    return next((one for one in usual if one.fewer.time.low <= fastest.fewer.time.high), fastest)


def at_work_as_json(one: AtWork) -> dict[str, Any]:
    """Everything, plain."""
    work = one.more.work
    sides = {"more": one.more, "fewer": one.fewer}
    return {
        "algorithm": work.algorithm,
        "graph": work.graph,
        "edge": work.edge,
        "weights": work.weights or None,
        "placement": one.more.placement,
        **{name: _way(run) | {LANES: run.counter(LANES)} for name, run in sides.items()},
        "more_over_fewer": plain(one.slower),
    }


def _in_order(works: Iterable[Work], runs: Sequence[Run]) -> list[Work]:
    """Algorithm by algorithm, the largest graph first, wide edges first."""
    algorithms, graphs = traversal.algorithms(runs), traversal.graphs(runs)

    def place(work: Work) -> tuple:
        return algorithms.index(work.algorithm), graphs.index(work.graph), -work.edge, work.weights

    return sorted(works, key=place)


def as_json(answer: Answer) -> dict[str, Any]:
    """Everything, plain: seconds, edges a second, GB/s."""
    best, busiest = answer.best, answer.busiest
    return {
        "algorithm": answer.work.algorithm,
        "graph": answer.work.graph,
        "edge": answer.work.edge,
        "weights": answer.work.weights or None,
        "label": answer.label,
        "link": best.link or None,
        "best": _way(best),
        "tied": [_way(run) for run in answer.tied],
        "over_managed": plain(answer.over.get("managed")),
        "over_device": plain(answer.over.get("device")),
        "managed": "under pressure, modelled" if answer.label == "modelled" else COLD,
        "busiest_level": busiest and {
            "level": busiest.level,
            "seconds": busiest.seconds,
            "edges": busiest.edges,
            "link_gb_s": busiest.link_bytes / busiest.seconds / 1e9 if busiest.link_bytes else None,
        },
        "amplification": answer.amplification,
        "ways": [_way(run) for run in answer.ways],
    }  # fmt: skip


def _way(run: Run) -> dict[str, Any]:
    return {
        "access": run.access,
        "placement": run.placement or None,
        "time_s": plain(run.time),
        "trials": len(run.trials) or None,
        "teps": run.counter("teps"),
        "link_gb_s": run.counter("link_gb_s"),
        "link_fraction": run.link_fraction,
    }


COUNTER = "amplification_data_set"


@dataclass(frozen=True)
class Moved:
    """How often a work's data set crosses the link, by the percent of it that the card holds."""

    work: Work
    link: str
    page: float
    times: dict[float, float]
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)


def moved(machine: Machine) -> list[Moved]:
    """Each work, of the link and page that figure 9 has."""
    paged = [run for run in traversal.paged(machine) if run.counter(COUNTER) is not None]
    link = traversal.one_link(paged, traversal.modelled(machine)) if paged else ""
    pressed = traversal.under_pressure(traversal.like_the_paper(paged), link)
    by_work = grouped(
        (run for run in paged if pressed and (run.link, run.page) == (pressed[0].link, pressed[0].page)),
        lambda run: run.work,
    )
    return [
        Moved(
            work,
            there[0].link,
            there[0].page,
            {run.card: run.counter(COUNTER) for run in sorted(there, key=lambda run: run.card)},
            tuple(run.row for run in there),
        )
        for work, there in by_work.items()
    ]


def moved_as_json(one: Moved) -> dict[str, Any]:
    """Everything, plain; the times by percent of the edge list that the card holds."""
    return {
        "algorithm": one.work.algorithm,
        "graph": one.work.graph,
        "edge": one.work.edge,
        "weights": one.work.weights or None,
        "link": one.link,
        "page": one.page,
        "data_set_times": {f"{card:g}": times for card, times in one.times.items()},
    }


FAMILIES = (traversal.TRAVERSAL, traversal.LEAN, f"{MODEL}bfs")


def said(run: Analysis) -> list[str]:
    """A sentence on what was measured, or where nothing was, on what is modelled; then what else there is."""
    found = run.traversals
    measured = [answer for answer in found if answer.label == "measured"]
    fewer = [*said_of_lanes(run.at_work), *_fewer_bytes(run.gains), *said_together(run.together)]
    there = measured or found
    if not there:
        return fewer
    chosen = [answer for answer in there if answer.others]
    sure = [answer for answer in chosen if answer.tied or answer.certain]
    counted = Counter(map(_spoken_way, sure))
    ways = ", ".join(f"{way} in {count}" for way, count in counted.most_common())
    if sure and len(sure) < len(chosen):
        ways += f", and in {len(chosen) - len(sure)} none for certain"
    works = plural(len(there), "measured traversal" if measured else "traversal") + " of edges in host memory"
    if not measured:
        works += f", modelled over {traversal.link_name(there[0].best.link)},"
    if not chosen:
        one = "each by one access" if len(there) > 1 else "by one access"
        return [f"{works.removesuffix(',')}, {one}{_against(there, 'its speed')}", *fewer]
    if len(chosen) < len(there):
        ran = "was" if len(chosen) == 1 else "were"
        fastest = f"the fastest is {ways}" if sure else "none is the fastest for certain"
        ways = f"{len(chosen)} {ran} run by several accesses, of which {fastest}"
    else:
        ways = f"the fastest access is {ways}" if sure else "no access is the fastest for certain"
    return [f"Of {works} {ways}{_against(there)}", *fewer]


def said_of_lanes(found: Sequence[AtWork]) -> list[str]:
    """What lanes at work are worth, in a sentence; none where nothing tells."""
    said = []
    for one in found:
        work, times = one.more.work, one.slower.value
        where = OVER.get(one.more.placement, one.more.placement)
        many, few = (
            f"{traversal.spoken(run.access)} has {format_percent(run.counter(LANES))}"
            for run in (one.more, one.fewer)
        )
        worth = "takes {} times as long" if times > 1 else "is {} times as fast"
        said.append(
            f"in {work.algorithm} of {work.graph} {where} {many} of lanes at work where {few}, and "
            f"{worth.format(significant(max(times, 1 / times), 2))}"
        )
    text = "; ".join(said)
    return [text[0].upper() + text[1:]] if text else []


def said_together(found: Sequence[Together]) -> list[str]:
    """For each graph and placement how many times as fast as one GPU the most GPUs are, at their best."""
    said = []
    for (graph, edge, placement), there in grouped(found, _place_together).items():
        most = max(one.gpus for one in there)
        fastest: dict[str, Together] = {}
        for one in sorted(there, key=lambda one: -one.run.time.value):
            if one.gpus == most:
                fastest[one.run.work.algorithm] = one
        times = ", ".join(
            f"{name} {fastest[name].faster:.1f}"
            for name in dict.fromkeys(one.run.work.algorithm for one in there)
            if name in fastest
        )
        where = placement or "fewer bytes"
        said.append(f"{graph}, {edge} B, {where}: by {most} GPUs {times} times as fast as by one")
    return said


def _place_together(one: Together) -> tuple[str, int, str]:
    work = one.run.work
    return work.graph, work.edge, one.run.placement


def _fewer_bytes(gains: Sequence[Gain]) -> list[str]:
    """What a better algorithm buys beside that access: without edges in GPU memory, then with the most."""
    said = []
    for algorithm in dict.fromkeys(gain.work.algorithm for gain in gains):
        own = [gain for gain in gains if gain.work.algorithm == algorithm]
        most = max(gain.best.hot for gain in own)
        parts = [_faster([gain for gain in own if not gain.best.hot])]
        if most and (hot := _faster([gain for gain in own if gain.best.hot == most])):
            parts.append(f"with {most:.3g} % of the edges in GPU memory as well {hot}")
        if any(parts):
            name = f"{algorithm} ({lean.spoken(own[0].best.strategy)})"
            said.append(f"{name} {', '.join(part for part in parts if part)}")
    if not said:
        works = len({gain.work for gain in gains})
        alone = (
            "1 traversal that moves fewer bytes has none of EMOGI's beside it"
            if works == 1
            else f"{works} traversals that move fewer bytes have none of EMOGI's beside them"
        )
        return [alone] if works else []
    after = [gain.best.pays_after(gain.emogi) for gain in gains if "mapped" in gain.over]
    runs = [one for one in after if one is not None]
    never = f", in {len(after) - len(runs)} of {len(after)} cases never" if len(runs) < len(after) else ""
    paid = f". What is prepared once for that has paid after {_range(runs)} runs{never}" if runs else ""
    return [
        "What an algorithm that moves fewer bytes buys beside the fastest walk over whole lists (EMOGI's or "
        "GraphPEG's), in speed and of the bytes asked over the link: " + "; ".join(said) + paid
    ]


def _faster(gains: Sequence[Gain]) -> str:
    """`3.1 to 4.2 times (12 to 14 % of the bytes)`."""
    ratios = [gain.over["mapped"].value for gain in gains if "mapped" in gain.over]
    asked = [100 / gain.bytes_over for gain in gains if gain.bytes_over]
    if not ratios:
        return ""
    of_bytes = f" ({_range(asked)} % of the bytes)" if asked else ""
    return f"{_range(ratios)} times{of_bytes}"


def _range(values: Sequence[float]) -> str:
    low, high = significant(min(values), 2), significant(max(values), 2)
    return low if low == high else f"{low} to {high}"


def _spoken_way(answer: Answer) -> str:
    """`aligned`, or where several take the same time `merged = aligned (a tie)`."""
    names = [
        "Subway" if run.placement == "subway" else traversal.spoken(run.access)
        for run in (answer.best, *answer.tied)
    ]
    return f"{' = '.join(names)} (a tie)" if answer.tied else names[0]


def _against(chosen_answers: Sequence[Answer], speed: str = "the speed of the best") -> str:
    """The range of how many times as fast the best is as managed memory and as the GPU's own."""
    managed = (
        "that of managed memory under pressure"
        if chosen_answers[0].label == "modelled"
        else "that of cold managed memory"
    )
    parts = []
    for base, name in (("managed", managed), ("device", "that of edges in the GPU's memory")):
        ratios = sorted(answer.over[base].value for answer in chosen_answers if base in answer.over)
        if ratios:
            parts.append(f"{_range(ratios)} times {name}")
    return f"; {speed} is {' and '.join(parts)}" if parts else ""


# Who needs how much of the GPU's memory for which time.

WEIGHT_BYTES = 4
FEWER, PRESSED = "fewer bytes", "half managed"
# What each way is called, in the order of columns; what a narrow screen leaves out first.
WAYS = {
    "mapped": ("zero-copy", 0),
    "subway": ("Subway", 2),
    FEWER: (FEWER, 0),
    "managed": ("managed", 0),
    PRESSED: ("half managed, modelled", 3),
    "device": ("in the GPU", 1),
}
MOST_LINES = 12
NEEDS_SAID = (
    "GPU memory and the median time of each way, edges as in the first column; fewer bytes: lists by degree, "
    "edges of 4 bytes, none of them in the GPU. Managed: cold, with all pages at the end."
)
NEEDS_SAID_MODELLED = (
    "Half managed: moving and faults where the card holds half of the pages, not validated on hardware."
)


@dataclass(frozen=True)
class Need:
    """The GPU's memory that a way takes, bytes, and its run."""

    gpu_bytes: float
    run: Run


@dataclass(frozen=True)
class Needs:
    """What each way takes to do a work."""

    work: Work
    ways: dict[str, Need]


def needs(machine: Machine) -> list[Needs]:
    """Each work that two ways do at least, by algorithm, the largest graph first."""
    whole = [run for run in traversal.measured(machine) if run.order == ORDERS[0]]
    whole = [run for run in traversal.like_the_paper(whole) if run.counter("gpu_bytes") is not None]
    fewer = [one.run for one in lean.measured(machine) if not one.hot and one.run.counter("gpu_bytes")]
    paged = traversal.paged(machine)
    algorithms, graphs = traversal.algorithms(whole), traversal.graphs(whole)
    works = sorted({run.work for run in whole}, key=lambda work: _place(work, algorithms, graphs))
    found = [Needs(work, _ways(work, whole, fewer, paged)) for work in works]
    return [one for one in found if len(one.ways) > 1]


def _place(work: Work, algorithms: Sequence[str], graphs: Sequence[str]) -> tuple:
    return algorithms.index(work.algorithm), graphs.index(work.graph), work.weights


def _ways(work: Work, whole: Sequence[Run], fewer: Sequence[Run], paged: Sequence[Run]) -> dict[str, Need]:
    own = [run for run in whole if run.work == work]
    ways = {
        placement: fastest
        for placement in WAYS
        if (fastest := traversal.fastest(run for run in own if run.placement == placement))
    }
    less = (run for run in fewer if _same(run.work, work))
    if best := traversal.fastest(less):
        ways[FEWER] = best
    made = {name: Need(_gpu_bytes(run), run) for name, run in ways.items()}
    if "managed" in ways and work.algorithm == "bfs" and (half := _half(work, paged)):
        beside = ways["managed"].counter("gpu_bytes")
        made[PRESSED] = Need(beside + half.counter("card_bytes"), half)
    return {name: made[name] for name in WAYS if name in made}


def _same(one: Work, other: Work) -> bool:
    return (one.algorithm, one.graph, one.weights) == (other.algorithm, other.graph, other.weights)


def _half(work: Work, paged: Sequence[Run]) -> Run | None:
    """The model's row of this machine's own link, where the card holds half of the pages."""
    own = [run for run in paged if run.work == work and run.card == PRESSURE_CARD]
    own = [run for run in own if run.link == traversal.HERE and run.page == traversal.PRESSURE_PAGE]
    return next((run for run in own if run.counter("card_bytes")), None)


def _gpu_bytes(run: Run) -> float:
    """What a row counts, and of managed edges (and weights) the pages, which are there at the end."""
    beside = run.counter("gpu_bytes")
    if run.placement != "managed":
        return beside
    element = run.work.edge + (WEIGHT_BYTES if run.work.weights else 0)
    return beside + run.entries * element


def needs_as_json(one: Needs) -> dict[str, Any]:
    """Everything, plain: bytes, seconds."""
    return {
        "algorithm": one.work.algorithm,
        "graph": one.work.graph,
        "edge": one.work.edge,
        "weights": one.work.weights or None,
        "ways": {
            name: {"gpu_bytes": need.gpu_bytes, "time_s": plain(need.run.time), "label": need.run.label}
            for name, need in one.ways.items()
        },
    }


def needs_lines(found: Sequence[Needs], out: Terminal) -> Iterator[str]:
    """A line for each algorithm and graph; nothing without such rows."""
    if not found:
        return
    there = [name for name in WAYS if any(name in one.ways for one in found)]
    columns = [Column(WAYS[name][0], right=True, optional=WAYS[name][1]) for name in there]
    cells = [_need_cells(one, there) for one in found[:MOST_LINES]]
    yield from out.headed((Column("GPU memory for which time"), *columns), cells)
    if len(found) > MOST_LINES:
        yield f"  … and {len(found) - MOST_LINES} more (--json has all)"
    yield out.note(f"{NEEDS_SAID} {NEEDS_SAID_MODELLED}" if PRESSED in there else NEEDS_SAID)


def _need_cells(one: Needs, there: Sequence[str]) -> tuple[str, ...]:
    weights = f", weights {one.work.weights}" if one.work.weights else ""
    cells = (_need_cell(one.ways[name]) if name in one.ways else "-" for name in there)
    return f"  {one.work.algorithm} {one.work.graph}, {one.work.edge} B{weights}", *cells


def _need_cell(need: Need) -> str:
    return f"{format_bytes(need.gpu_bytes)}, {format_time(need.run.time.value)}"
