"""What `summary` says of graph neural networks: a short table for each question that the run answers."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from grainscope_report.groups import gather, gnn, traversal
from grainscope_report.groups.gnn_answers import Answer
from grainscope_report.units import format_bytes, format_percent, format_time, significant
from grainscope_report.writing import Column, Terminal, known

Cells = Callable[[Answer], tuple[str, ...]]
MOST_LINES = 12
# What is computed beside a gather; products of matrices go without saying.
BESIDE = {gather.PRODUCTS: "", gather.STEPS: ", training steps"}
# What tells cases of one name apart.
APART = {
    "gathers": ("element", ", elements of {:g} B"),
    "modelled_gathers": ("element", ", elements of {:g} B"),
    "row_copies": ("element", ", elements of {:g} B"),
    "tiers": ("batch", ", batch {:g}"),
    "reordering": ("score", " by {}"),
    "training": ("hidden", ", hidden {:g}"),
    "training_variants": ("hidden", ", hidden {:g}"),
    "payback": ("hidden", ", hidden {:g}"),
}


def lines(answers: dict[str, list[Answer]], out: Terminal) -> Iterator[str]:
    """Table by table, each with a line about how to read it."""
    first = True
    for question, (columns, cells, said) in TABLES.items():
        there = answers[question]
        if not there:
            continue
        if not first:
            yield ""
        first = False
        yield from out.headed(*known(columns, _rows(question, cells, there)))
        if len(there) > MOST_LINES:
            yield f"  … and {len(there) - MOST_LINES} more (--json has all)"
        if said:
            yield out.note(said)


def _rows(question: str, cells: Cells, there: Sequence[Answer]) -> list[tuple[str, ...]]:
    """The cells of the lines that are shown, their names with what tells cases of one name apart."""
    axis, said = APART.get(question, ("", ""))
    found = [(answer.get(axis), *cells(answer)) for answer in there]
    values: dict[str, set] = defaultdict(set)
    for value, name, *_ in found:
        values[name].add(value)
    return [
        (name + said.format(value) * (len(values[name]) > 1), *rest)
        for value, name, *rest in found[:MOST_LINES]
    ]


def _value(answer: Answer, name: str) -> float | None:
    return answer[name]["value"] if answer[name] else None


def _ratio(answer: Answer, base: str) -> str:
    return f"{answer['over'][base]:.2f}" if base in answer["over"] else "-"


def _gather(answer: Answer) -> tuple[str, ...]:
    where = answer["graph"] or answer["indices"]
    window = f", window {answer['window']:g}" if (answer["window"] or 1) > 1 else ""
    return (
        f"  rows of {answer['row']:g} B, {format_bytes(answer['span'])}, {where}",
        f"{gather.spoken(answer['way'])}{window}",
        f"{_value(answer, 'gb_s'):.1f}",
        format_percent(answer["of_peak"]) if answer["of_peak"] else "-",
        *(_ratio(answer, base) for base in ("cpu_gather_dma", "naive", "graphbolt")),
    )


def _helped(answer: Answer) -> tuple[str, ...]:
    where = answer["graph"] or answer["indices"]
    return (
        f"  rows of {answer['row']:g} B, {format_bytes(answer['span'])}, {where}, {answer['memory']}",
        gather.spoken(answer["way"]),
        f"{answer['neighbours']:g}",
        f"{_value(answer, 'gb_s'):.1f}",
        f"{_value(answer, 'alone_gb_s'):.1f}",
        f"{_value(answer, 'over'):.2f}",
    )


def _bounded(answer: Answer) -> tuple[str, ...]:
    window = f", window {answer['window']:g}" if (answer["window"] or 1) > 1 else ""
    tied = f" (tied with {len(answer['tied'])})" if answer["tied"] else ""
    where = answer["graph"] or answer["indices"]
    return (
        f"  rows of {answer['row']:g} B, {format_bytes(answer['span'])}, {where}",
        f"{gather.spoken(answer['way'])}{window}{tied}",
        format_time(answer["time_s"]),
        traversal.link_name(answer["link"]),
        significant(answer["requests_per_row"]) if answer["requests_per_row"] else "-",
        _ratio(answer, "naive"),
    )


def _copied(answer: Answer) -> tuple[str, ...]:
    rows = f"{answer['rows']:g} rows" if answer["rows"] else "rows"
    largest = answer["sizes"][-1]
    return (
        f"  {rows}, {format_bytes(answer['span'])}, {answer['graph'] or answer['indices']}",
        answer["spoken"],
        format_bytes(largest["row"]),
        f"{_value(largest, 'gb_s'):.1f}",
        f"{_value(largest, 'kernel_gb_s'):.1f}",
    )


def _tier(answer: Answer) -> tuple[str, ...]:
    hits, optimal, degree = answer["hits"], answer["of_optimal"]["10"], answer["degree_hits"]["10"]
    return (
        f"  {answer['graph']}, {answer['fanout'].replace('x', '×')}, {answer['trained_on']}",
        gnn.SCORES.get(answer["score"], answer["score"]),
        *(format_percent(hits[at]) if hits[at] is not None else "-" for at in ("1", "10", "25")),
        f"{optimal:.3f}" if optimal is not None else "-",
        format_percent(degree) if degree is not None else "-",
        format_time(_value(answer, "time_s")),
    )


def _million(answer: Answer) -> str:
    return significant(_value(answer, "edges_per_s") / 1e6)


def _sampling(answer: Answer) -> tuple[str, ...]:
    fanout = (answer["fanout"] or "").replace("x", "×")
    return (
        f"  {answer['graph']}, {fanout}, batch {answer['batch']}",
        f"{(answer['by'] or '').upper()}, lists in {answer['placement']} memory",
        _million(answer),
        format_time(_value(answer, "time_s")),
    )


def _reordering(answer: Answer) -> tuple[str, ...]:
    return (
        f"  {answer['graph']}",
        str(answer["lists"]),
        _million(answer),
        format_time(_value(answer, "time_s")),
    )


def _share(answer: Answer) -> tuple[str, ...]:
    return (
        f"  {gather.BY.get(answer['by'], answer['by'])}",
        f"{answer['width']:g} B",
        f"{answer['given_sms']:g}",
        format_percent(answer["share"]) if answer["share"] else "-",
        f"{_value(answer, 'gb_s'):.1f}",
        format_percent(answer["link_fraction"]) if answer["link_fraction"] else "-",
    )


def _split(answer: Answer) -> tuple[str, ...]:
    beside = BESIDE.get(answer["consumer"], f", {answer['consumer']}")
    return (
        f"  {gather.BY.get(answer['by'], answer['by'])}{beside}",
        f"{answer['given_sms']:g}" if answer["given_sms"] else "-",
        format_percent(answer["share"]) if answer["share"] else "-",
        format_time(_value(answer, "time_s")),
        *(_two(answer[name]) for name in ("gather_slowdown", "compute_slowdown", "overlap")),
    )


def _two(value: float | None) -> str:
    return f"{value:.2f}" if value is not None else "-"


def _trained(answer: Answer) -> str:
    gpus = f", {answer['gpus']:g} GPUs" if answer["gpus"] > 1 else ""
    return (
        f"  {answer['graph']}, {answer['fanout'].replace('x', '×')}, batch {answer['batch']:g}, rows of "
        f"{answer['row']:g} B{gpus}"
    )


def _training(answer: Answer) -> tuple[str, ...]:
    hot = f", {answer['hot']:g} % hot" if answer["hot"] else ""
    return (
        _trained(answer),
        f"{gnn.spoken(answer['method'])}{hot}",
        format_time(_value(answer, "time_s")),
        _two(answer["overlap"]),
        format_bytes(answer["gpu_bytes"]) if answer["gpu_bytes"] else "-",
        *(_ratio(answer, base) for base in (gnn.BASE, "naive", "device")),
    )


def _variant(answer: Answer) -> tuple[str, ...]:
    hot = f", {answer['hot']:g} % hot" if answer["hot"] and answer["method"] != "device" else ""
    return (
        _trained(answer),
        f"{gnn.spoken(answer['method'])}{hot}, {answer['variant']}",
        format_time(_value(answer, "time_s")),
        format_time(_value(answer, "usual_s")),
        f"{_value(answer, 'over'):.2f}",
        format_bytes(answer["gpu_bytes"]) if answer["gpu_bytes"] else "-",
    )


def _payback(answer: Answer) -> tuple[str, ...]:
    window = f", window {answer['window']:g}" if (answer["window"] or 1) > 1 else ""
    return (
        _trained(answer),
        f"{gather.spoken(answer['mode'])}{window}, {answer['hot']:g} % hot",
        answer["spoken"],
        format_time(answer["cost_s"]),
        format_time(answer["saved_s"]["value"]) if answer["saved_s"]["value"] > 0 else "-",
        format_time(_value(answer, "mapped_s")),
        format_time(_value(answer, "tiered_s")),
    )


def _columns(first: str, second: str, *others: str) -> tuple[Column, ...]:
    """Words, then numbers; the last ones go first where there is no room."""
    numbers = (Column(name, right=True, optional=order) for order, name in enumerate(others))
    return Column(first), Column(second), *numbers


TABLES: dict[str, tuple[Sequence[Column], Cells, str]] = {
    "gathers": (
        _columns("gathers", "fastest way", "GB/s", "of peak", "× CPU gather", "× naive", "× GraphBolt"),
        _gather,
        "From host memory; GB/s of the rows asked for, over the measured copy peak. Above 100 % rows came "
        "that had come before: those that several mini-batches of a window share, and with GraphBolt and "
        "others that sort those that one mini-batch asks for twice, which the GPU's cache serves. ×: how "
        "many times faster than that way over the same table.",
    ),
    "helped_gathers": (
        _columns("gathers over neighbours' links", "way", "neighbours", "GB/s", "over one link", "×"),
        _helped,
        "Each GPU gathers a share over its own link, right into the memory of the one that asked; ×: how "
        "many times faster than over that one's link alone.",
    ),
    "modelled_gathers": (
        _columns("gathers, modelled", "best way", "time", "over", "requests a row", "× naive"),
        _bounded,
        "An estimate of the time that the link needs, with no cache; tied: so many other ways take exactly "
        "as long.",
    ),
    "row_copies": (
        _columns("a copy a row", "pays", "at", "GB/s", "fastest kernel"),
        _copied,
        "The size from which on copies are clearly ahead of the fastest kernel for the same rows; at: both "
        "rates for the largest rows.",
    ),
    "tiers": (
        _columns("tiers", "best score", "1 %", "10 %", "25 %", "of optimal", "by degree", "cost"),
        _tier,
        "Best: the score, known beforehand, whose first 10 % of rows take most accesses; of optimal and by "
        "degree: at 10 %; cost: scoring and ranking.",
    ),
    "sampling": (_columns("sampling", "by", "M edges/s", "a mini-batch"), _sampling, ""),
    "reordering": (_columns("reordering", "lists", "M entries/s", "time"), _reordering, ""),
    "shares": (
        _columns("shares of the GPU", "loads", "SMs", "share", "GB/s", "of peak"),
        _share,
        f"The fewest multiprocessors with which a gather reaches {100 * gather.ENOUGH:.0f} % of the best "
        "rate of its width of loads, of those that were tried.",
    ),
    "splits": (
        _columns("splits", "SMs", "share", "together", "gather ×", "computation ×", "overlap"),
        _split,
        "The split with the shortest time of both together; ×: slowdown over alone with all of the GPU.",
    ),
    "training": (
        _columns(
            "training",
            "fastest way",
            "step",
            "overlap",
            "GPU memory",
            "× CPU gather",
            "× naive",
            "× all in GPU",
        ),
        _training,
        "Step: the time of a mini-batch, one on each GPU. Fastest of those whose rows are not all in the "
        "GPU; ×: how many times faster than that way.",
    ),
    "training_variants": (
        _columns("training, another way", "fed by", "step", "usual", "× usual", "GPU memory"),
        _variant,
        "Usual: the same with gathers bounded and the graph's lists in each GPU's memory, of a process for "
        "each GPU the same in one process; × usual: how many times longer a step takes.",
    ),
    "payback": (
        _columns("hot rows", "gathered by", "pay", "once", "an epoch", "step mapped", "tiered"),
        _payback,
        "Once: scoring, ranking, renumbering (where tiering/score and tiering/reorder have the same training "
        "and graph, else the pipeline's own), and filling the GPU's part; an epoch: what its steps save "
        "against the same way with all rows mapped.",
    ),
}
