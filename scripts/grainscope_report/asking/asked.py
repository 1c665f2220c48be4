"""A run under a question: the rows that are meant, those of the sizes, how they are called, and which is
first.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from grainscope_report import findings, metrics, naming, statistics, uncertainty
from grainscope_report.analysis import Analysis, of_link
from grainscope_report.asking.sentence import (
    BY,
    CROSSOVER,
    UNCERTAINTY,
    Sentence,
    Sizes,
    Word,
    families,
    has,
    nearest,
    value_of,
)
from grainscope_report.comparison import sides
from grainscope_report.families import BYTES, may_be_cached
from grainscope_report.figures import parts
from grainscope_report.figures.parts import select
from grainscope_report.fits import shape
from grainscope_report.groups import gather, reach, transfer
from grainscope_report.machine import Machine, asked_for, spoken_site
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, MODEL, Case, Row, Uncertainty
from grainscope_report.statistics import Estimate
from grainscope_report.units import (
    format_bytes,
    format_interval,
    format_rate,
    format_time,
    plural,
    some,
    time_unit,
)

MOST = 12  # rows of an answer
FEWEST_PLACES = 3  # sizes of rows that stand side by side
RANKED = ("best", "slowest", "peak")
PLACES = {"gpu": "GPU", "numa": "node"}  # whose sites are compared
# What rows must share to be ranked: what they work on, not how.
WORK = ("graph", "row", "rows", "span", "fanout", "batch", "weights", "planes", "tables", "pooling")
CLOSE = 1.1  # 64 MB are as good as 64 MiB, and 1 TB as 1 TiB
BOX = ("width", "pitch", "bytes")
PAGED = ("pages", "order", "pool")
REACHED, READERS = ("order",), ("gpus",)
# Values that go without saying.
PLAIN = {
    ("allocation", "host_alloc"), ("offset", 0), ("order", "original"), ("window", 1), ("element", 4),
    ("indices", "uniform"), ("planes", 1), ("order", "drawn"), ("pool", "usual"), ("blocks", "usual"),
}  # fmt: skip
ORDERS = {("order", "as_asked"), ("order", "sorted")}
LOCAL = "within a GPU"
MANAGED, MANAGED_ON_HOST = "managed memory", "managed_host"
LEFT_OUT = f"{gather.NOT_TO_GPU} brings no rows to a GPU and is not ranked: 'gather cpu' asks for it."
DIRECTIONS = (HOST_TO_GPU, GPU_TO_HOST, "local")  # as paths, which the heading of a ranking says
ALONE = "the ± {whose}of this run alone: nobody knows yet what runs of such a machine differ by there"


class Asked:
    """A run under a question: the rows that are meant, those of the sizes, and how they are called."""

    def __init__(self, machine: Machine, sentence: Sentence) -> None:
        self.machine, self.sentence = machine, sentence
        self.matching = [row for row in machine.result.rows if sentence.matches(row.case, sizes=False)]
        self.usable = [row for row in self.matching if row.ok and row.time]
        self.staying = self._staying()
        self.matching, self.usable = (
            [row for row in rows if row.name not in self.staying] for rows in (self.matching, self.usable)
        )
        self.exact = [row for row in self.usable if sentence.matches_size(row.case)]
        said = {word.says for word in sentence.words}
        self.by_time = "latency" in said
        self.by_links = "links" in said
        self.by_share = "share of the link" in said
        self.by_places = [
            (place, sorted(numbers, key=int))
            for place in PLACES
            if len(numbers := set(sentence.axes.get(place, []))) > 1 and all(map(str.isdecimal, numbers))
        ]
        if self.by_share:
            self.usable = [row for row in self.usable if row.link_fraction]

    def _staying(self) -> set[str]:
        """The names of rows of the gather that brings no rows to a GPU, where ways are ranked without it.

        It has its place where it is asked for, and where there is nothing else of a size asked for.
        """
        named = "mode" in self.sentence.axes or any(word.about == BY for word in self.sentence.words)
        others = {self._sizes_met(row) for row in self.usable if not _stays(row)}
        if self.sentence.want not in RANKED or named or not others:
            return set()
        staying = [row for row in self.matching if _stays(row)]
        return {row.name for row in staying if self._sizes_met(row) in (None, *others)}

    def _sizes_met(self, row: Row) -> tuple[Sizes, ...] | None:
        """Which of the sizes asked for a row has; None where it lacks one."""
        if not self.sentence.matches_size(row.case):
            return None
        asked = self.sentence.sizes_of(row.case.family).items()
        return tuple(
            size for axis, sizes in asked for size in sizes if _is_within(_number(row, axis), [size])
        )

    @property
    def left_out(self) -> list[str]:
        """Which way is not ranked, and how it is asked for."""
        return [LEFT_OUT] if self.staying and not any(map(_stays, self.exact)) else []

    @cached_property
    def rows(self) -> list[Row]:
        """What is meant, whatever became of it."""
        return [row for row in self.matching if self.sentence.matches_size(row.case)]

    @property
    def counted(self) -> str:
        """How many rows are meant, and how many of them have no number."""
        without = len(self.rows) - len(self.exact)
        said = plural(len(self.rows), "row")
        return f"{said}, {without} without a number" if without and self.exact else said

    @property
    def places(self) -> tuple[str, list[str]] | None:
        """GPUs or nodes that are compared with each other, where nothing else is wanted of them."""
        return self.by_places[0] if self.by_places and not self.sentence.want else None

    def answers(self, place: str, number: str) -> sides.Answers:
        """What one GPU or node answers to each question."""
        there = [row for row in self.exact if row.measured and str(value_of(row.case, place)) == number]
        return sides.answers(there)

    @property
    def across(self) -> str:
        """The size that stands in columns: one that was not asked for, of families that have two."""
        if self.sentence.want not in ("", "best", CROSSOVER):
            return ""
        all_families = {row.case.family for row in self.exact}
        if len(self.exact) <= MOST or len(all_families) != 1:
            return ""
        [family] = all_families
        asked = self.sentence.sizes_of(family)
        axes = families().get(family, ())
        if len(axes) < 2:
            return ""
        for axis in axes:
            sizes = {row.case.axes.get(axis) for row in self.exact}
            if axis not in asked and len(sizes - {None}) >= FEWEST_PLACES and None not in sizes:
                return axis
        return ""

    @property
    def basis(self) -> list[str]:
        """Whether the uncertainties are all that is to know."""
        if self.places or self.sentence.want == CROSSOVER or (self.by_links and not self.sentence.sizes):
            return []
        there = [row for row in self.shown if row.measured]
        alone = [row for row in there if not row.both_known]
        if not alone or self.sentence.want == UNCERTAINTY:
            return []
        whose = "is " if len(alone) == len(there) else f"of {plural(len(alone), 'row')} is "
        return [f"({ALONE.format(whose=whose)})"]

    @property
    def shown(self) -> list[Row]:
        """The rows that a table is made of."""
        return self.exact if self.across else self.chosen

    @property
    def from_caches(self) -> list[str]:
        """Why rates are above what the link gives, where they are."""
        peaks = {peak for row in self.shown if (peak := self._beaten_peak(row))}
        if self.places or not peaks:
            return []
        value = f", {format_rate(*peaks)} GB/s" if len(peaks) == 1 else ""
        return [
            "Rates count every row that was asked for: repeated ones are read from caches and may beat the "
            f"link's copy peak{value}."
        ]

    def _beaten_peak(self, row: Row) -> float | None:
        """The copy peak of a row's link where the row's rate is above it and not all bytes cross the link."""
        link = self.machine.result.link(row.case.ends)
        held = row.case.axes.get("store") == "tiered"  # hot rows lie in the GPU's own memory
        fewer = bool(row.bytes and row.link_bytes_least and row.link_bytes_least < row.bytes)
        beaten = link and fewer and not held and self.by_rate(row) and row.bandwidth_gb_s > link.peak_gb_s
        return link.peak_gb_s if beaten else None

    @property
    def held_on_the_host(self) -> list[str]:
        """That rows of managed memory are of such as stays on the host, where they are."""
        asked = any(word.says == MANAGED for word in self.sentence.words)
        there = any(row.case.axes.get("memory") == MANAGED_ON_HOST for row in self.shown)
        if not asked or not there or self.sentence.families != [reach.FAMILY]:
            return []
        return [
            f"Managed memory here is {MANAGED_ON_HOST}: it stays on the host, and the GPU reads it over the "
            "link. docs/host-memory.md has more."
        ]

    @cached_property
    def dropped(self) -> list[str]:
        """Which words about one thing, or else which families, no row has with the values asked for."""
        if not self.sentence.axes or not self.sentence.words or self.by_places:
            return []
        free = replace(self.sentence, axes={})
        rows = [row for row in self.machine.result.rows if free.matches(row.case, sizes=False)]
        there, left = ([row.case for row in part if row.ok] for part in (rows, self.matching))
        if self._choices:
            meant = [word for word in self._choices if any(map(word.matches, there))]
            return [word.says for word in meant if not any(map(word.matches, left))]
        lost = {case.family for case in there} - {case.family for case in left}
        return [name for name in self.sentence.families if name in lost]

    @property
    def _choices(self) -> list[Word]:
        """Words that stand beside others about the same thing."""
        return [word for words in self.sentence.subjects if len(words) > 1 for word in words]

    @property
    def one_is_left(self) -> bool:
        """Whether of several words fewer than two have rows with the values asked for."""
        return bool(self.dropped) and 0 < len(self._choices) < len(self.dropped) + 2

    @property
    def dropped_text(self) -> str:
        """`No row of zero-copy has flush on`; empty where all have."""
        values = " and ".join(f"{axis} {' or '.join(asked)}" for axis, asked in self.sentence.axes.items())
        return f"No row of {some(self.dropped, 4)} has {values}" if self.dropped else ""

    @property
    def why_nothing(self) -> str:
        """Why no row has a number."""
        result = self.machine.result
        if told := naming.main_reason(row.reason for row in self.matching):
            return f"Not measured: {told}."
        there = [row for row in result.rows if row.case.family in self.sentence.families]
        run = asked_for(result.run)
        if not there:
            return f"Not part of this run ({run}): `grainscope ask` runs it."
        few = f"The run ({run}) has {plural(len(there), 'row')} of these families"
        return next(self._lacking(there, few), f"{few}, but none of that kind.")

    def _lacking(self, there: Sequence[Row], few: str) -> Iterator[str]:
        """Which axis, or which value of it, no row has; else what none is."""
        values = [row.case.axes | row.case.site for row in there]
        for axis, asked in self.sentence.axes.items():
            found = {value for row in there if (value := value_of(row.case, axis)) is not None}
            if not found:
                near = nearest(axis, sorted({name for each in values for name in each}))
                yield f"{few}, but none has an axis '{axis}'{f'; did you mean {near}?' if near else '.'}"
            elif not any(has(row.case, axis, asked) for row in there):
                known = some([str(one) for one in sorted(found, key=lambda one: (str(type(one)), one))], 4)
                yield f"{few}, but none has {axis} {' or '.join(asked)}: they have {axis} {known}."
        for words in self.sentence.subjects:
            if not any(word.matches(row.case) for word in words for row in there):
                yield f"{few}, but none of that kind: {' or '.join(word.says for word in words)}."

    @cached_property
    def curves(self) -> list[list[Row]]:
        """Rows that differ in their size alone, by rising size."""
        found: dict[tuple, list[Row]] = {}
        for row in self.usable:
            found.setdefault(self._but_size(row), []).append(row)
        return [sorted(rows, key=self.size_of) for rows in found.values()]

    @cached_property
    def chosen(self) -> list[Row]:
        """The rows of the sizes asked for, where there are none those of the sizes next to them.

        Of no size asked for, where that is much, the best of each curve.
        """
        if self.by_share:
            shares = [max(rows, key=_share) for rows in self.curves]
            return sorted(self.exact if self.sentence.sizes else shares, key=_share, reverse=True)
        if self.by_time and not self.sentence.sizes:
            curves = filter(None, map(self._of_memory, self.curves))
            return sorted((min(rows, key=_time) for rows in curves), key=_time)
        if not self.sentence.sizes and len(self.exact) > MOST:
            return self._tops
        return self.exact or self.nearest

    @property
    def nearest(self) -> list[Row]:
        """The rows of the sizes next to those asked for, below and above, or of one that is as good as it.

        A size that a family has rows of is kept, and the other one varies.
        """
        return self._near[0]

    @property
    def unmet(self) -> Mapping[str, Sequence[str]]:
        """By family the axes that have no row of the size asked for."""
        return {} if self.exact else self._near[1]

    @cached_property
    def _near(self) -> tuple[list[Row], Mapping[str, Sequence[str]]]:
        rows, unmet = self.usable, {}
        # Of two axes the second first: rows of one size are what is read over a span.
        for at in reversed(range(max(map(len, families().values())))):
            met: list[Row] = []
            left: list[tuple[Row, str]] = []
            for family in dict.fromkeys(row.case.family for row in rows):
                there = [row for row in rows if row.case.family == family]
                axis = next(iter(families()[family][at : at + 1]), "")
                wanted = self.sentence.sizes_of(family).get(axis)
                fitting = [row for row in there if not wanted or _is_within(_number(row, axis), wanted)]
                met += fitting
                if not fitting:
                    left += [(row, axis) for row in there]
                    unmet[family] = [axis, *unmet.get(family, ())]
            rows = met + self._next_to(left)
        return rows, unmet

    def _next_to(self, left: Sequence[tuple[Row, str]]) -> list[Row]:
        """Of rows, each with an axis, those of the sizes next to the sizes asked for.

        Where all are too small, and rows have a second size, that of each kind of row is its own largest.
        """
        left = [one for one in left if _number(*one)] or left
        sizes = {row.name: _number(row, axis) for row, axis in left}
        asked = {size for row, axis in left for size in self.sentence.sizes_of(row.case.family)[axis]}
        found: dict[str, Row] = {}
        for low, high in sorted(asked):
            below = max((size for size in sizes.values() if size < low), default=None)
            above = min((size for size in sizes.values() if size > high), default=None)
            ends = [size for size in (below, above) if size is not None]
            meant = [size for size in ends if low <= size * CLOSE and size <= high * CLOSE]
            wanted = [min(meant, key=lambda size: abs(size - low))] if meant else ends
            found |= {row.name: row for row, _ in left if sizes[row.name] in wanted}
            if above is None and not meant:
                kinds: dict[tuple, list[Row]] = {}
                for row, axis in left:
                    if len(families()[row.case.family]) > 1:
                        kinds.setdefault(self.but(row, axis), []).append(row)
                largest = [max(rows, key=lambda row: sizes[row.name]) for rows in kinds.values()]
                # What is ranked is ranked among all rows of a size.
                also = {sizes[row.name] for row in largest} if self.sentence.want else set()
                found |= {row.name: row for row in largest}
                found |= {row.name: row for row, _ in left if sizes[row.name] in also}
        return list(found.values())

    @property
    def notes(self) -> list[str]:
        """What to know of the sizes."""
        if self.sentence.want == CROSSOVER or (self.by_links and not self.sentence.sizes):
            return []
        if self.places:
            return []
        if self.exact and (lost := self._not_measured):
            return [f"Not measured: {' and '.join(lost)}."]
        if self.across:
            return []
        if not self.sentence.sizes:
            best = "shortest time" if self.by_time else "highest rate or shortest time"
            best = "highest share of the link's copy peak" if self.by_share else best
            few = self.sentence.want or len(self.chosen) == len(self.exact)
            held = [_may_be_cached(row) for row in self.chosen]
            if all(held):
                best = "largest size, of which caches hold least"
            elif any(held):
                best += ", or the largest size where caches may hold small ones"
            return [] if few else [f"Of each kind of row the {best}; name a size for others."]
        if not self.exact:
            return list(self._unmeasured())
        wanted = " and ".join(dict.fromkeys(self.sentence.size_text(size) for size, _ in self.sentence.sizes))
        has: dict[str, bool] = {}
        for rows in self.curves:
            met = any(self.sentence.matches_size(row.case) for row in rows)
            has[self._named(rows[0])] = met or has.get(self._named(rows[0]), False)
        names = [name for name, met in has.items() if not met]
        if not names or not self.sentence.want:
            return []
        return [f"Not measured at {wanted}: {some(names, 4)}."]

    @property
    def _not_measured(self) -> list[str]:
        """The sizes that no row has."""
        met = {
            size
            for row in self.usable
            for axis, wanted in self.sentence.sizes_of(row.case.family).items()
            for size in wanted
            if _is_within(_number(row, axis), [size])
        }
        lost = (self.sentence.size_text(size, axes) for size, axes in self.sentence.sizes if size not in met)
        return list(dict.fromkeys(lost))

    def _unmeasured(self) -> Iterator[str]:
        """`Span of 200 GiB was not measured with rows of 128 B; the nearest is 2 GiB.`"""
        of: dict[tuple, list[tuple[Sizes, Sequence[str]]]] = {}
        for size, axes in self.sentence.sizes:
            places = ((family, axis) for family, unmet in self.unmet.items() for axis in unmet)
            at = tuple(one for one in places if size in self.sentence.sizes_of(one[0]).get(one[1], ()))
            of.setdefault(at, []).append((size, axes))
        met = " and ".join(self.sentence.size_text(*one) for one in of.pop((), ()))
        for at, sizes in of.items():
            texts = (self.sentence.size_text(size, axes if met else ()) for size, axes in sizes)
            wanted = " and ".join(dict.fromkeys(texts))
            near = {
                _number(row, axis) for row in self.nearest for family, axis in at if row.case.family == family
            }
            if near == {0.0}:
                yield f"These rows have no size, so {wanted} is passed over."
                continue
            told = _near_text(near, min(low for (low, _), _ in sizes))
            beside = f" with {met}" if met else ""
            yield f"{wanted[0].upper()}{wanted[1:]} was not measured{beside}; {told}."

    @cached_property
    def rankings(self) -> list[tuple[str, list[Row]]]:
        """Rows that do the same work, the first first."""
        if self.sentence.want == "best" or self.sentence.sizes:
            rows = self.chosen if self.sentence.sizes else self._tops
        else:
            rows = self._tops
        found: dict[str, list[Row]] = {}
        for row in rows:
            found.setdefault(self.work(row), []).append(row)
        turned = self.sentence.want == "slowest"
        ranked = [(title, sorted(there, key=self._order, reverse=turned)) for title, there in found.items()]
        # Things of which there are several by rising size, those that only one way does last.
        return sorted(ranked, key=lambda one: (len(one[1]) < 2, self._at(one[1][0])))

    def _at(self, row: Row) -> list[tuple]:
        """Sorts what rows work on: words in the order of the file, sizes by rising size."""
        axes = row.case.axes
        return [
            (axis, -1.0 if isinstance(axes[axis], str) else float(axes[axis]))
            for axis in _work_of(row.case)
            if axis in axes
        ]

    @cached_property
    def _tops(self) -> list[Row]:
        """The top of each curve, but for those that end where caches may hold all of it and others do not."""
        return [self.top(rows) for rows in self.curves if self._of_memory(rows)]

    def top(self, rows: Sequence[Row]) -> Row:
        """The fastest, or what else is asked for most of."""
        return min(self._of_memory(rows) or rows, key=self._order)

    def _of_memory(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Of rows that differ in size, if none is asked for: of what caches may hold the largest."""
        if self.sentence.sizes or not _may_be_cached(rows[0]):
            return rows
        most = self._largest[rows[0].case.family, rows[0].case.site_key]
        return [row for row in rows if self.size_of(row) == most]

    @cached_property
    def _largest(self) -> Mapping[tuple, float]:
        """The largest size of what caches may hold, by family and place."""
        found: dict[tuple, float] = {}
        for row in filter(_may_be_cached, self.usable):
            at = row.case.family, row.case.site_key
            found[at] = max(found.get(at, 0.0), self.size_of(row))
        return found

    def _order(self, row: Row) -> float:
        """The best first: highest shares where asked for, else highest rates, else shortest times."""
        if self.by_share:
            return -_share(row)
        return -row.bandwidth_gb_s if self.by_rate(row) else _time(row)

    def by_rate(self, row: Row) -> bool:
        return bool(row.bandwidth_gb_s and row.bytes) and not self.by_time and not row.trials

    def work(self, row: Row, told: Collection[str] = (), turned: bool = False) -> str:
        """What a row works on: `host → GPU`, `graph kron20`, `host → GPU, 4 KiB`.

        Axes that are `told` are left out, and where bytes go if `turned`.
        """
        axes = row.case.axes
        said: list[str] = []
        if self.by_rate(row) and not turned:
            said = [parts.ARROWS.get(row.case.direction or "", LOCAL if axes.get("path") == "local" else "")]
        elif not self.by_rate(row):
            said = [row.case.family.rpartition("/")[2]]
        if self.sentence.want != "peak":
            sized = self.sentence.sizes_of(row.case.family)
            left_out = {*sized, *self._implied, *told}
            said += [_axis_text(axis, axes[axis]) for axis in _work_of(row.case) if axis not in left_out]
        if self.sentence.sizes and not self.exact:
            said.append(format_bytes(self.size_of(row)))
        # What is measured and what is modelled are never ranked together.
        said += [row.label] if row.label != "measured" else []
        return ", ".join(filter(None, said))

    @cached_property
    def _implied(self) -> set[str]:
        """`rows`, where how many were asked for follows from what else rows work on."""
        counts: dict[tuple, set] = {}
        for row in self.exact:
            axes = row.case.axes
            counts.setdefault((axes.get("row"), axes.get("span")), set()).add(axes.get("rows"))
        return set() if any(len(one) > 1 for one in counts.values()) else {"rows"}

    @cached_property
    def ways(self) -> Mapping[str, list[tuple[str, transfer.Curve]]]:
        """By direction the ways of `methods` that the question means."""
        found = {}
        for direction in transfer.WAYS:
            there = [
                (curve.name, curve)
                for curve in transfer.ways(self.machine, direction)
                if self._means(direction, curve.name)
            ]
            if there:
                found[direction] = there
        return found

    def _means(self, direction: str, name: str) -> bool:
        [(_, _, family, axes)] = [way for way in transfer.WAYS[direction] if way[0] == name]
        rows = select([row for row in self.matching if row.case.family == family and row.ok], axes)
        return bool(rows)

    @cached_property
    def segments(self) -> Mapping[str, list[shape.Segment]]:
        """Which way is first at which size, by direction, where there are several."""
        found = {}
        for direction, ways in self.ways.items():
            rates = {name: dict(zip(curve.x, curve.y, strict=True)) for name, curve in ways}
            if len(rates) < 2 or not (there := shape.segments(rates)):
                continue
            if self.sentence.want == CROSSOVER:
                # A way overtakes none where it was not measured.
                first = {name for segment in there for name in segment.first}
                both = set.intersection(*(set(rates[name]) for name in first))
                met = {name: {size: at[size] for size in both & set(at)} for name, at in rates.items()}
                there = shape.segments(met) or there
            found[direction] = shape.bounded(there, partial(self._overtaken, direction))
        return found

    @cached_property
    def _all_swaps(self) -> list[transfer.Swap]:
        """Where any way overtakes another."""
        return [swap for choice in transfer.choices(self.machine) for swap in choice.swaps]

    def _overtaken(self, direction: str, faster: str, slower: str) -> list[Estimate]:
        asked = (direction, faster, slower)
        return [one.size for one in self._all_swaps if (one.direction, one.faster, one.slower) == asked]

    @property
    def stretches(self) -> list[str]:
        """The same in sentences."""
        return [
            f"Fastest {parts.ARROWS[direction]}: {shape.segments_text(found, format_bytes)}"
            for direction, found in self.segments.items()
        ]

    @property
    def swaps(self) -> list[transfer.Swap]:
        """Where a way overtakes another, both of them meant; of two words each of another."""
        names = {(direction, name) for direction, ways in self.ways.items() for name, _ in ways}
        return [
            swap
            for swap in self._all_swaps
            if {(swap.direction, swap.faster), (swap.direction, swap.slower)} <= names
        ]

    @property
    def finding(self) -> list[str]:
        """What the run answers to the question of a whole family, where nothing else is asked.

        A word beside the subject that leaves out no row, as of `SMs that saturate PCIe`, asks nothing else.
        """
        subjects = [word for word in self.sentence.words if word.about == "subject"]
        beside = [word for word in self.sentence.words if word not in subjects]
        if (beside and not subjects) or self.sentence.axes:
            return []
        alone = replace(self.sentence, words=subjects)
        rows = self.machine.result.rows
        if beside and sum(alone.matches(row.case, sizes=False) for row in rows) > len(self.matching):
            return []
        fitting = [
            question
            for question in findings.QUESTIONS
            if question.name.startswith(("Which", "Translation", "Fewest"))
            and all(_is_about(question.families, name) for name in self.sentence.families)
        ]
        return [f"{said}." for one in fitting for said in one.answer(Analysis(self.machine))]

    @property
    def remedy(self) -> list[str]:
        """In which memory rows at random places come faster than in pinned memory, where one is asked for."""
        if self.sentence.families != [reach.FAMILY]:
            return []
        found = reach.remedy(self.machine.result)
        return [f"{found.text[0].upper()}{found.text[1:]}"] if found else []

    @cached_property
    def _varying(self) -> Mapping[str, set[str]]:
        """The axes and sites in which rows of a family differ."""
        found: dict[str, set[str]] = {}
        for family in {row.case.family for row in self.usable}:
            cases = [row.case for row in self.usable if row.case.family == family]
            axes = {axis for case in cases for axis in case.axes}
            sites = {site for case in cases for site in case.site}
            found[family] = {axis for axis in axes if len({case.axes.get(axis) for case in cases}) > 1}
            found[family] |= {
                site for site in sites if len({case.site[site] for case in cases if site in case.site}) > 1
            }
        return found

    @cached_property
    def _families(self) -> set[str]:
        return {row.case.family for row in self.usable}

    def name(self, row: Row, across: str = "") -> str:
        """What tells a row from the others, whatever its size `across`."""
        ranked = self.sentence.want in ("best", "slowest") and not across
        told = _work_of(row.case) if ranked else [across, "rows"] if across else ()
        sizes = self._sizes(row) if not across or self.sentence.sizes else set()
        varying = self._varying[row.case.family] - set(told) - sizes
        axes = {
            axis: value
            for axis, value in row.case.axes.items()
            if axis in varying and (axis, value) not in PLAIN and not (ranked and value in DIRECTIONS)
        }
        said = [row.case.family] if len(self._families) > 1 else []
        if ranked and not self.by_rate(row):
            # What is done stands in the heading.
            groups = {family.partition("/")[0] for family in self._families}
            said = [row.case.family.partition("/")[0]] if len(groups) > 1 else []
        said += [naming.words(replace(row.case, axes=axes))]
        said += [naming.number(axis, value) for axis, value in axes.items() if not isinstance(value, str)]
        said += [f"flush {axes['flush']}"] if "flush" in axes else []
        if row.case.family.startswith(MODEL):
            said += [str(axes.get("link", ""))]
        else:
            said += naming.place(row.case) if varying & {"locality", "link"} else []
        return " ".join(filter(None, said)) or naming.words(row.case) or row.case.family

    def _axis(self, row: Row) -> str:
        """The axis of a row's size: that asked for, of two one that was not met; else the first that it has.

        Empty where it has none.
        """
        family = row.case.family
        asked = (*self.unmet.get(family, ()), *self.sentence.sizes_of(family))
        there = (*asked, *families().get(family, (BYTES,)))
        return next((axis for axis in there if isinstance(row.case.axes.get(axis), (int, float))), "")

    def size_of(self, row: Row) -> float:
        """The size of a row; 0 where it has none."""
        axis = self._axis(row)
        return float(row.case.axes[axis]) if axis else 0.0

    def _sizes(self, row: Row) -> set[str]:
        """The axis of the size, and those that follow from it."""
        axis = self._axis(row)
        follow = {"rows"} if axis in ("span", "row") else set()
        return {axis} | follow | ({BYTES} - set(families().get(row.case.family, (BYTES,))))

    def _but_size(self, row: Row) -> tuple:
        site = tuple(sorted(row.case.site.items()))
        return row.case.family, row.case.without(*self._sizes(row)), site

    def but(self, row: Row, across: str) -> tuple:
        """What rows have in common that differ in this size alone."""
        site = tuple(sorted(row.case.site.items()))
        return row.case.family, row.label, row.case.without(across, "rows"), site

    def best_at(self, across: str) -> set[str]:
        """The names of the rows that are first, or as good, among those of the same work and size."""
        alike: dict[tuple, list[Row]] = {}
        for row in self.exact:
            axes = row.case.axes
            work = tuple(axes[axis] for axis in (*_work_of(row.case), across) if axis in axes)
            alike.setdefault((self.by_rate(row), row.label, work), []).append(row)
        found = set()
        for rows in (rows for rows in alike.values() if len(rows) > 1):
            first = self.top(rows)
            found |= {row.name for row in rows if row is first or self.alike(first, row)}
        return found

    def starred_by(self, across: str) -> list[str]:
        """The axes that rows must share for one to be first among them, where rows differ in these."""
        axes = dict.fromkeys(axis for row in self.exact for axis in _work_of(row.case))
        return [
            axis
            for axis in axes
            if axis not in (across, *self._implied)
            and len({row.case.axes.get(axis) for row in self.exact}) > 1
        ]

    def short(self, row: Row) -> str:
        """The rate or the time without its uncertainty."""
        return format_rate(row.bandwidth_gb_s) if self.by_rate(row) else format_time(_time(row))

    def size(self, row: Row) -> str:
        """The size of a row, where it has one."""
        axis = self._axis(row)
        return format_bytes(float(row.case.axes[axis])) if axis else ""

    def value(self, row: Row) -> str:
        """`27.4 GB/s ± 0.4 %`, or the time where rates do not count."""
        if self.by_rate(row):
            rate = statistics.rate_gb_s(row.time, row.bytes)
            return metrics.with_error(f"{_digits(rate)} GB/s", rate)
        return _time_text(row)

    def cells(self, row: Row, first: Row | None) -> tuple[str, ...]:
        """A row of the table."""
        rate = self.by_rate(row)
        against = self.against(first, row) if first is not None and first is not row else ""
        return (
            self._named(row),
            self.size(row),
            self.value(row),
            _time_text(row, error=False) if rate else "",
            of_link(row) if rate else "",
            against,
        )

    def _named(self, row: Row) -> str:
        """Its name and, where rows differ in it, its place."""
        site = row.case.site if row.case.site.keys() & self._varying[row.case.family] else {}
        return ", ".join(filter(None, (self.name(row), spoken_site(tuple(sorted(site.items()))))))

    def sure(self, row: Row) -> tuple[str, ...]:
        """A row of the table of uncertainties."""
        parts = row.uncertainty
        return (
            self._named(row),
            self.size(row),
            self.value(row),
            str(len(row.visits) or ""),
            _part(row, parts and parts.a),
            _part(row, parts and parts.b),
            " ".join(sorted(row.flags)),
        )

    def against(self, first: Row, row: Row) -> str:
        """How a row compares with the first: `0.29 ×`, `alike`."""
        return "alike" if self.alike(first, row) else _times(self._order(first), self._order(row))

    def alike(self, first: Row, row: Row) -> bool:
        """Whether the uncertainties or `ALIKE` cover the difference."""
        one, other = (_per_operation(each) for each in (first, row))
        if self.by_rate(first) and self.by_rate(row):
            one, other = (statistics.rate_gb_s(each.time, each.bytes) for each in (first, row))
        close = abs(one.value - other.value) <= statistics.ALIKE * max(one.value, other.value)
        return close or (one.low <= other.high and other.low <= one.high)


def _stays(row: Row) -> bool:
    """Whether the CPU gathers rows into host memory, and no GPU has them in the end."""
    return row.case.family == gather.FAMILY and row.case.axes.get("mode") == gather.NOT_TO_GPU


def _work_of(case: Case) -> list[str]:
    """The axes of what a case works on; of boxes the shape, of pages how many there are and how they lie."""
    more = BOX if "planes" in case.axes else PAGED if "page" in case.axes else ()
    more, last = (REACHED, READERS) if case.family == reach.FAMILY else (more, ())
    axes = case.axes
    return [
        axis
        for axis in (*more, *WORK, *last)
        if axis in axes and (axis not in PAGED or (axis, axes[axis]) not in PLAIN)
    ]


def _is_about(prefixes: Sequence[str], family: str) -> bool:
    """Whether a question is about a family: the first of what it takes, or a whole group."""
    return family == prefixes[0] or any(one.endswith("/") and family.startswith(one) for one in prefixes)


def _part(row: Row, part: Uncertainty | None) -> str:
    """`± 1.1 %`: what a part has in half of the 95 % interval, whose square is the sum of those of both.

    Alone it may reach further, since fewer degrees of freedom are behind it.
    """
    if part is None:
        return "not known"
    whole = row.uncertainty.combined
    half = (
        metrics.half_width(row.time) * part.standard / whole.standard
        if whole and whole.standard
        else math.sinh(uncertainty.expanded(uncertainty.of_record(part)))
    )
    return f"± {metrics.side_text(half)}".replace("± <", "<")


def _number(row: Row, axis: str) -> float:
    """A size of a row; 0 where it has none."""
    value = row.case.axes.get(axis, 0.0)
    return 0.0 if isinstance(value, str) else float(value)


def _is_within(size: float, wanted: Sequence[Sizes]) -> bool:
    return any(low <= size <= high for low, high in wanted)


def _near_text(near: Collection[float], low: float) -> str:
    """`the nearest are 64 KiB and 128 KiB`; of sizes that are all too small the largest, then the others."""
    if len(near) > 1 and max(near) < low:
        first, *others = sorted(near, reverse=True)
        largest = format_bytes(first)
        return f"the nearest is {largest}, or {_listed(others)} where {largest} was not measured either"
    return f"the nearest {'are' if len(near) > 1 else 'is'} {_listed(sorted(near))}"


def _axis_text(axis: str, value: str | float) -> str:
    if axis == "graph" or (axis, value) in ORDERS:
        return str(value).replace("_", " ")
    return f"{axis} {value}" if isinstance(value, str) else naming.number(axis, value)


def _per_operation(row: Row) -> Estimate:
    return row.time.scaled(1 / (row.operations or 1))


def _time(row: Row) -> float:
    return _per_operation(row).value


def _may_be_cached(row: Row) -> bool:
    return may_be_cached(row.case.family, row.case.axes)


def _share(row: Row) -> float:
    return row.link_fraction or 0.0


def _time_text(row: Row, error: bool = True) -> str:
    time_s = _per_operation(row)
    scale, unit = time_unit(time_s.value)
    each = " each" if row.operations else ""
    text = f"{_digits(time_s.scaled(1 / scale))} {unit}{each}"
    return metrics.with_error(text, time_s) if error else text


def _digits(value: Estimate) -> str:
    """A value with the decimals that its interval justifies."""
    return format_interval(value.value, value.low, value.high)[0]


def _times(first: float, other: float) -> str:
    """How many times as much as the first: rates are negative here."""
    ratio = other / first
    return f"{ratio:.2f} ×"


def _listed(sizes: Sequence[float]) -> str:
    said = [format_bytes(size) for size in sizes]
    return ", ".join(said[:-1]) + (" and " if len(said) > 1 else "") + said[-1] if said else "none"
