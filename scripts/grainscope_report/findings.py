"""What a run says, as one list: the summary, its JSON and the page's answers all show what is in it. All fits
are here as data, as plain data and as sentences, with the questions that every run is asked.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

from grainscope_report import analysis, naming
from grainscope_report.analysis import Analysis
from grainscope_report.figures import parts
from grainscope_report.fits import shape, translation
from grainscope_report.fits.translation import Translation
from grainscope_report.groups import (
    contention,
    gather,
    gnn,
    gnn_answers,
    grain,
    latency,
    lean,
    programs,
    reach,
    transfer,
    transfer_duplex,
    traversal_answers,
)
from grainscope_report.machine import Machine, asked_for, between
from grainscope_report.model import Result, Row
from grainscope_report.statistics import plain
from grainscope_report.units import format_time

# Fits, and the questions that every run is asked.

# Latencies closer than this share are the same.
SAME = 0.02
Section = tuple[str, list[str]]


@dataclass(frozen=True)
class Fits:
    """What the rows of a run come to."""

    paths: list[transfer.Path]
    farther: list[transfer.Farther]
    swaps: list[transfer.Swap]
    duplexes: list[transfer_duplex.Duplex]
    accesses: list[transfer_duplex.Access]
    many: list[contention.AtOnce]
    walls: list[reach.Wall]
    readers: list[reach.Readers]
    fewest: list[grain.Fewest]
    flights: list[grain.Flight]
    between: str


def all_fits(machine: Machine, choices: Sequence[transfer.Choice], every: bool = True) -> Fits:
    """Fits everything that the run has rows for, paths at every site or at the first of each."""
    result = machine.result
    paths = transfer.paths(result, every)
    return Fits(
        paths,
        transfer.farther(paths),
        [swap for choice in choices for swap in choice.swaps],
        transfer_duplex.duplexes(result),
        transfer_duplex.accesses(result),
        contention.at_once(result),
        reach.walls_of(result),
        reach.readers(result),
        grain.fewest(result),
        grain.flights(result),
        between(result),
    )


def fit_sections(fits: Fits) -> Iterator[Section]:
    """Headings with their sentences; only those that have any."""
    yield "Remote memory against local", [_farther(farther) for farther in fits.farther]
    for direction, arrow in parts.ARROWS.items():
        there = [one.text for one in fits.swaps if one.direction == direction]
        yield f"Which way is faster from which size on, {arrow}", there
    yield "Both ways at once", [duplex.text for duplex in fits.duplexes]
    yield "Peer access", transfer_duplex.accesses_text(fits.accesses)
    yield "Many GPUs at once", contention.said(fits.many)
    yield from _walls(fits)
    yield "Several GPUs that read one table", reach.said_of_readers(fits.readers)
    yield "What fills the link", [one.text for one in [*fits.fewest, *fits.flights]]


def _walls(fits: Fits) -> Iterator[Section]:
    """The first wall of host memory and the first of another GPU's in full, the others in a line each."""
    full: dict[str, reach.Wall] = {}
    for wall in fits.walls:
        full.setdefault(wall.link, wall)
    for number, (_, wall) in enumerate(sorted(full.items())):
        said = [edge.text for edge in wall.edges] or [wall.short]
        said += reach.model_text(wall.model) if wall.model else ["too few rows in the wall to fit a model"]
        more = [other.short for other in fits.walls if other.link == wall.link and other is not wall]
        yield f"Translation wall, {wall.where}", [*said, *more, *([] if number else [fits.between])]


def _farther(farther: transfer.Farther) -> str:
    rate = farther.rate
    later = f"{format_time(abs(farther.latency_s))} {'later' if farther.latency_s >= 0 else 'earlier'}"
    if abs(farther.latency_s) < SAME * farther.local_latency_s:
        later = "as late"
    share = f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}] of the local bandwidth"
    return f"{farther.family} {farther.name}: {share}, {later}"


def _path(path: transfer.Path) -> dict[str, Any]:
    return {
        "family": path.family,
        "name": path.name,
        "axes": {axis: value for axis, value in path.case.axes.items() if axis != "bytes"},
        "site": dict(path.case.site),
        **_plain_fields(asdict(path.line)),
        "theoretical_gb_s": path.theoretical_gb_s,
        "copy_peak_gb_s": path.peak_gb_s,
        "negotiated": path.negotiated,
        "of_link": path.of_link,
    }


def _wall(wall: reach.Wall) -> dict[str, Any]:
    knees = [
        {
            "order": edge.order,
            "row": edge.row,
            "rows": edge.rows,
            "span": plain(edge.knee.span),
            "reached": edge.knee.reached,
            "small_span_gb_s": plain(edge.knee.small),
            "link_full": edge.full,
        }
        for edge in wall.edges
    ]
    return {
        "memory": wall.memory,
        "site": dict(wall.site),
        "knees": knees,
        "model": _model(wall.model) if wall.model else None,
    }


def _model(model: Translation) -> dict[str, Any]:
    return {
        "granule_bytes": plain(model.granule),
        "reach_bytes": plain(model.reach),
        "misses_per_s": plain(model.misses_per_s),
        "bytes_a_miss": model.bytes_a_miss,
        "holds": model.holds,
        "median_error": model.median_error,
        "worst_error": model.worst.error,
        "worst_row": reach.gather_text(model.worst.gather),
        "rows_in_the_wall": len(model.wall),
        "failing": [
            {"row": reach.gather_text(one.gather), "rows": one.gather.rows, "error": one.error}
            for one in model.failing
        ],
    }


def _plain_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Estimates without their numbers of visits, sites as objects."""
    return {name: _value(name, value) for name, value in fields.items()}


def _value(name: str, value: Any) -> Any:
    if name == "site":
        return dict(value)
    if isinstance(value, dict) and value.keys() >= {"value", "low", "high"}:
        return {part: value[part] for part in ("value", "low", "high")}
    return value


def _fields(one: Any) -> dict[str, Any]:
    return _plain_fields({name: _whole(getattr(one, name)) for name in _names(one)})


def _names(one: Any) -> list[str]:
    """The fields that are told; rows are evidence."""
    return [each.name for each in fields(one) if each.name != "rows"]


def _whole(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) else value


# What is fitted as plain data, by its name there: where `Fits` has it, and how one is written.
PLAIN_FITS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "paths": ("paths", _path),
    "remote_over_local": ("farther", _fields),
    "crossovers": ("swaps", _fields),
    "both_ways": ("duplexes", _fields),
    "peer_access": ("accesses", _fields),
    "many_gpus": ("many", _fields),
    "walls": ("walls", _wall),
    "readers": ("readers", _fields),
    "fewest_multiprocessors": ("fewest", _fields),
    "requests_in_flight": ("flights", _fields),
}
FIT_METHODS = {"path_method": transfer.METHOD, "wall_method": translation.METHOD}


@dataclass(frozen=True)
class Answer:
    """A question in a word or two and its answer in sentences; `known` is false where they say why not."""

    question: str
    sentences: tuple[str, ...]
    known: bool = True
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def text(self) -> str:
        """All that is said."""
        return " ".join(self.sentences)


@dataclass(frozen=True)
class Question:
    """What is asked, what answers it, which families of rows it takes, and on which facts it rests.

    Without facts it rests on all rows of its families that are right.
    """

    name: str
    answer: Callable[[Analysis], list[str]]
    families: tuple[str, ...]
    facts: Callable[[Analysis], Sequence[Any]] | None = None

    def rows(self, run: Analysis) -> tuple[Row, ...]:
        """What an answer rests on; where there is none, the rows that are of these families."""
        if self.facts and (facts := self.facts(run)):
            return tuple(row for fact in facts for row in fact.rows)
        there = [row for row in run.result.rows if row.case.family.startswith(self.families)]
        return tuple([row for row in there if row.ok] or there)


def answers(run: Analysis) -> list[Answer]:
    """An answer to each question, or why this run has none."""
    all_answers = []
    for question in QUESTIONS:
        if said := question.answer(run):
            sentences, known = [f"{one}." for one in said], True
        else:
            sentences, known = [f"{_why_not(run.result, question)}."], False
        all_answers.append(Answer(question.name, tuple(sentences), known, question.rows(run)))
    return all_answers


def answer_as_json(one: Answer) -> dict[str, Any]:
    """Everything, plain."""
    return {"question": one.question, "sentences": one.sentences, "known": one.known}


def _why_not(result: Result, question: Question) -> str:
    rows = [row for row in result.rows if row.case.family.startswith(question.families)]
    if any(row.ok for row in rows):
        return "The run has too few rows to tell"
    if reason := naming.main_reason(row.reason for row in rows if not row.ok):
        return f"Not measured: {reason}"
    return f"Not part of this run ({asked_for(result.run)})"


QUESTIONS = (
    Question("Peak", transfer.peaks, transfer.PEAK_FAMILIES),
    Question(
        "Many GPUs at once",
        lambda run: contention.said(run.fits.many),
        (contention.COLLECTIVE,),
        lambda run: run.fits.many,
    ),
    Question("Latency", lambda run: latency.said(run.result, run.fits.paths), latency.FAMILIES),
    Question(
        "Translation wall",
        lambda run: reach.said(run.fits.walls),
        (reach.FAMILY,),
        lambda run: run.fits.walls,
    ),
    Question("Which method at which size", lambda run: transfer.fastest_ways(run.choices), ("transfer/",)),
    Question("Which gather", gather.fastest, (gather.FAMILY,)),
    Question("Which rows in the GPU's memory", gnn_answers.tiering, ("tiering/", gather.FAMILY)),
    Question("When hot rows pay", gnn_answers.hot_rows, (gnn.FAMILY,)),
    Question("Which way to feed a training", gnn_answers.training, ("pipeline/",)),
    Question("Which share of the GPU", gnn_answers.shared, ("sm_share/",)),
    Question("Which traversal", traversal_answers.said, traversal_answers.FAMILIES),
    Question(
        "Fewest multiprocessors",
        lambda run: grain.said(run.fits.fewest),
        (grain.SATURATION,),
        lambda run: run.fits.fewest,
    ),
)


# Findings.


@dataclass(frozen=True)
class Topic:
    """A kind of findings: how they come from a run, how they are plain data, and on which rows they rest."""

    name: str
    facts: Callable[[Analysis], Iterable[Any]]
    data: Callable[[Any], Any]
    rows: Callable[[Any], Iterable[Row]] = lambda _fact: ()
    figure: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that a run says: the fact itself, from which a sentence or the cells of a table are made."""

    topic: Topic
    fact: Any

    @property
    def id(self) -> str:
        """The topic's name."""
        return self.topic.name

    @property
    def data(self) -> Any:
        """The fact as plain data: seconds, bytes, GB/s; estimates as `value`, `low`, `high`."""
        return self.topic.data(self.fact)

    @property
    def evidence(self) -> list[str]:
        """The names of the rows that it rests on, where the fact keeps them."""
        return list(dict.fromkeys(row.name for row in self.topic.rows(self.fact)))

    @property
    def figure(self) -> str:
        """The number of the figure that draws it, if any."""
        return self.topic.figure


def of(run: Analysis, *, but: Sequence[str] = ()) -> list[Finding]:
    """Everything that a run says, in the order of the summary; `but` these topics, which may cost time."""
    return [Finding(topic, fact) for topic in TOPICS if topic.name not in but for fact in topic.facts(run)]


def facts(found: Sequence[Finding], topic: str) -> list[Any]:
    """The facts of a topic."""
    return [one.fact for one in found if one.id == topic]


def data(found: Sequence[Finding], topic: str) -> list[Any]:
    """The facts of a topic as plain data."""
    return [one.data for one in found if one.id == topic]


def fits(found: Sequence[Finding], result: Result) -> Fits:
    """What was fitted, together with what stands between the GPUs and the host."""
    lists = (facts(found, f"fits.{name}") for name in PLAIN_FITS)
    return Fits(*lists, between(result))


def _network(question: str) -> Topic:
    return Topic(f"networks.{question}", lambda run: run.networks[question], dict, lambda one: one.rows)


def _fit(name: str) -> Topic:
    field, plain = PLAIN_FITS[name]
    return Topic(f"fits.{name}", lambda run: getattr(run.fits, field), plain, lambda one: one.rows)


TOPICS = (
    Topic("groups", lambda run: run.groups, analysis.group_as_json, lambda one: one.rows),
    Topic(
        "traversals",
        lambda run: run.traversals,
        traversal_answers.as_json,
        lambda one: (one.best.row,),
        figure="16",
    ),
    Topic(
        "several_gpus",
        lambda run: run.together,
        traversal_answers.together_as_json,
        lambda one: (one.run.row,),
    ),
    Topic(
        "lanes_at_work",
        lambda run: run.at_work,
        traversal_answers.at_work_as_json,
        lambda one: (one.more.row, one.fewer.row),
        figure="22",
    ),
    Topic(
        "managed_under_pressure",
        lambda run: run.pressed,
        traversal_answers.moved_as_json,
        lambda one: one.rows,
        figure="9",
    ),
    Topic("fewer_bytes", lambda run: run.gains, lean.as_json, lambda one: (one.best.run.row,)),
    Topic(
        "gpu_memory",
        lambda run: run.needs,
        traversal_answers.needs_as_json,
        lambda one: [need.run.row for need in one.ways.values()],
    ),
    Topic(
        "predicted",
        lambda run: run.predictions.qualities,
        programs.as_json,
        lambda one: [each.row for each in one.predicted],
        figure="20",
    ),
    *map(_network, gnn_answers.QUESTIONS),
    *map(_fit, PLAIN_FITS),
    Topic("shape", lambda run: run.shape, shape.as_json, lambda one: one.rows),
    Topic("reasons", lambda run: run.reasons, analysis.reason_as_json, lambda one: one.rows),
    Topic("answers", answers, answer_as_json, lambda one: one.rows),
)
