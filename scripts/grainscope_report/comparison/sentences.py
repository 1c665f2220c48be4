"""What a comparison says first: what was decided, or why nothing was and which command would decide it."""

from collections import Counter
from collections.abc import Callable, Sequence

from grainscope_report.comparison import verdicts
from grainscope_report.comparison.joined import Against, Comparison
from grainscope_report.comparison.questions import Answer
from grainscope_report.comparison.sides import Side
from grainscope_report.comparison.verdicts import FASTER, LIKELIES, LIKELY, SAME, SLOWER
from grainscope_report.machine import letter
from grainscope_report.units import format_percent


def verdict(against: Against, comparison: Comparison) -> str:
    """Faster in so many questions, slower in so many; or why that cannot be told."""
    name = letter(comparison.sides.index(against.new))
    if not against.decided:
        about = "" if len(comparison.against) == 1 else f" of {name}"
        return f"Nothing could be decided{about}, because {undecided(against, comparison)}"
    counts, asked = against.counts, len(against.rows)
    if counts[SAME] == asked:
        return f"{name} is the same within {share(comparison.threshold)} in all of {asked} questions."
    rest = (
        f"{counts[SAME]} are the same within {share(comparison.threshold)}, "
        f"{asked - against.decided} cannot be told"
    )
    if counts[FASTER] or counts[SLOWER]:
        faster, slower = counts[FASTER], counts[SLOWER]
        return f"{name} is faster in {faster} and slower in {slower} of {asked} questions; {rest}."
    return f"{name} is certainly faster or slower in none of {asked} questions; {rest}."


def undecided(against: Against, comparison: Comparison) -> str:
    """Why nothing was decided, and the command that would decide."""
    if not against.rows:
        return "no measured question is in both; this would: `grainscope --preset=quick --out DIR` on both."
    why, _ = Counter(row.verdict.why for row in against.rows).most_common(1)[0]
    if why == verdicts.TYPE_B_UNKNOWN:
        return unknown_type_b(against, comparison)
    if why == verdicts.NO_TYPE_A:
        names = _letters(against, comparison, lambda answer: not answer.a)
        return (
            f"{names} came to each case once and nothing tells what visits differ by; this would: "
            f"`grainscope --benchmark_repetitions=3 --out DIR` in place of {names}."
        )
    said = f"whatever changed is smaller than these runs can show; {share(comparison.threshold)} or less"
    visits = [one.visits for one in against.power]
    runs = [one.runs for one in against.power]
    if None not in visits:
        return f"{said}, this would: `grainscope --benchmark_repetitions={max(visits)} --out DIR` on both."
    if None not in runs:
        return f"{said}, this would: {max(runs)} runs of each side, compared with `--pool`."
    return f"{said}, no number of runs would: give a larger `--threshold`."


def unknown_type_b(against: Against, comparison: Comparison) -> str:
    """Whose runs differ by nobody knows what, and the command that would tell."""
    if comparison.base.foreign:
        return (
            "Google Benchmark's own JSON does not tell what runs differ by, and no table of type B knows it; "
            "runs of `grainscope` would."
        )
    names = _letters(against, comparison, lambda answer: not answer.b)
    same = comparison.base.machine == against.new.machine
    where = "that machine" if same or len(names) == 1 else "each of the two machines"
    files = " ".join(str(side.paths[0]) for side in (comparison.base, against.new))
    return (
        f"what runs on the machine{'' if same or len(names) == 1 else 's'} of {names} differ by (type B) is "
        "not known; this would: "
        f"`grainscope repeat 3 --out DIR` on {where}, then `grainscope-report compare {files} --type-b DIR`."
    )


def likely(against: Against, comparison: Comparison) -> list[str]:
    """What is likely and not certain, with what chance makes of that; and what type B keeps open."""
    counts, asked, unknown = against.counts, len(against.rows), _unknown(against)
    said = []
    if any(counts[name] for name in LIKELIES):
        by_chance = f"by chance about {_by_chance(against)} of {asked} look so where nothing differs"
        source = "two runs of one machine may differ as much" if unknown == asked else by_chance
        faster, slower = (counts[name] for name in LIKELIES)
        said.append(f"Likely but not certain: {faster} faster, {slower} slower; {source}.")
    if unknown and against.decided:
        said.append(f"Of {unknown} questions {unknown_type_b(against, comparison)}")
    return said


def more_than_chance(against: Against) -> bool:
    """Whether what is likely is worth a look: more than chance makes so, or nobody knows what it makes."""
    return _unknown(against) > 0 or sum(against.counts[name] for name in LIKELIES) > _by_chance(against)


def _by_chance(against: Against) -> int:
    return round(2 * (1 - LIKELY) * len(against.rows))


def _unknown(against: Against) -> int:
    return sum(row.verdict.why == verdicts.TYPE_B_UNKNOWN for row in against.rows)


def share(threshold: float) -> str:
    """A threshold in percent."""
    return format_percent(threshold).replace(".0 %", " %")


def _letters(against: Against, comparison: Comparison, lacks: Callable[[Answer], bool]) -> str:
    """The sides of which most answers lack something."""
    sides: Sequence[tuple[Side, list]] = [
        (comparison.base, [row.base for row in against.rows]),
        (against.new, [row.new for row in against.rows]),
    ]
    found = [
        letter(comparison.sides.index(side))
        for side, answers in sides
        if 2 * sum(map(lacks, answers)) > len(answers)
    ]
    return " and ".join(found) or "a side"
