"""docs/papers.md: what the papers report, what reference runs have of it, and by how much they differ."""

import math
from collections.abc import Callable, Sequence
from functools import cache

from documents import FULL, part, result, rows_of, table
from documents.claims import WORDS, Cell, Headline, Ratio
from documents.headlines import PAPERS, WAYS
from grainscope_report.model import Row
from grainscope_report.resources import DISSERTATION, paper


@part("papers.count")
def count() -> str:
    """How many headlines have which word, by paper."""
    rows = [
        [TITLES[name], *(str(sum(one.word == word for one in headlines)) for word in WORDS)]
        for name, headlines in PAPERS.items()
    ]
    return table(["paper", *WORDS], rows, right=True)


TITLES = {
    "emogi": "[EMOGI](#emogi), and chapter 2 of the dissertation",
    "comm_scope": "[Comm\\|Scope](#commscope)",
    "dissertation": "[Dissertation](#dissertation), chapters 3 and 4",
    "graphpeg": "[GraphPEG](#graphpeg)",
}


@part("papers.verdicts")
def verdicts(name: str) -> str:
    """A paper's headlines, its values and ours."""
    rows = [
        [str(number), one.says, one.there, one.here, one.word] for number, one in enumerate(PAPERS[name], 1)
    ]
    return table(["", "what", "there", "here", "so"], rows)


@part("papers.rows")
def rows_behind(name: str) -> str:
    """Where each headline stands in its paper, and which rows ours is of; why both differ."""
    lines = []
    for number, one in enumerate(PAPERS[name], 1):
        cited, said = paper(one.paper).cite(one.number), paper(one.paper)[one.number].text
        ours = f"Not measured, because {one.absent}." if one.absent else f"{named(one)}."
        stand_in = f"By a stand-in: {one.stand_in}." if one.stand_in else ""
        remarks = " ".join(filter(None, (ours, stand_in, one.why)))
        lines.append(f"{number}. {cited}: “{said}”. {remarks}".replace("..", "."))
    return "\n".join(lines)


def named(headline: Headline) -> str:
    """The rows of a headline: what is compared, its tops over its bottoms, by run."""
    tops, bottoms = [], []
    for one in headline.ours:
        tops += one.top.cells if isinstance(one, Ratio) else one.cells
        bottoms += one.bottom.cells if isinstance(one, Ratio) else []
    runs = ", ".join(f"`{file}`" for file in sorted({one.file for one in (*tops, *bottoms)}))
    saved = "1 − " if any(isinstance(one, Ratio) and one.saved for one in headline.ours) else ""
    return f"Here, of {runs}: {saved}{sides(tops, bottoms)}"


def sides(tops: Sequence[Cell], bottoms: Sequence[Cell]) -> str:
    """What is compared of which rows; words that both sides share stand once, before them."""
    (what, words), (other, others) = merged(tops), merged(bottoms)
    if not bottoms:
        return f"{what} of `{' '.join(words)}`"
    if what != other or words[0] != others[0]:
        return f"{what} of `{' '.join(words)}` over {other} of `{' '.join(others)}`"
    shared = [word for word in words if word in others]
    one, two = ([word for word in side if word not in shared] for side in (words, others))
    return f"{what} of `{' '.join(shared)}`, `{' '.join(one)}` over `{' '.join(two)}`"


def merged(cells: Sequence[Cell]) -> tuple[str, list[str]]:
    """What is compared of rows, and their families and axes, each axis with all of its values."""
    axes: dict[str, dict[str, None]] = {}
    for one in cells:
        for name, value in (axis.split("=") for axis in one.axes):
            axes.setdefault(name, {})[value or "none"] = None
    families = dict.fromkeys(one.family for one in cells)
    words = [",".join(families), *(f"{name}={','.join(found)}" for name, found in axes.items())]
    return " and ".join(dict.fromkeys(one.what for one in cells)), words


@cache
def trained() -> list[Row]:
    """Rows of training of the runs that the headlines rest on."""
    return [
        row
        for run in (FULL, WAYS)
        for row in rows_of(run)
        if row.ok and row.case.family == "pipeline/graphsage"
    ]


def all_of(axis: str) -> str:
    """The values that an axis of training has, in order."""
    values = {row.case.axes[axis] for row in trained() if axis in row.case.axes}
    return ", ".join(str(value).replace("x", "×") for value in sorted(values, key=in_order))


def in_order(value: str | float) -> tuple[float, str]:
    """Numbers by size, written as text or not; then words."""
    try:
        return float(value), ""
    except ValueError:
        return math.inf, str(value)


@part("papers.gather_sms")
def gather_sms() -> str:
    """How many multiprocessors a gather in training is held to."""
    held = {row.counters["gather_sms"] for row in trained() if row.counters.get("gather_sms")}
    return ", ".join(f"{count:.0f}" for count in sorted(held))


def machines(of: Callable[[dict], str]) -> str:
    contexts = [result(run).context.raw for run in (FULL, WAYS)]
    return "; ".join(dict.fromkeys(of(context["environment"]) for context in contexts))


def processors(environment: dict) -> str:
    cpu = environment["cpu"]
    return f"{cpu['model']}, {cpu['cores']} cores of a virtual machine"


def cards(environment: dict) -> str:
    names = [gpu["name"] for gpu in environment["gpus"]]
    return f"{len(names)} × {names[0]}"


# Ours beside each line of the dissertation's training_setup.
SETUP: dict[str, Callable[[], str]] = {
    "graph": lambda: f"generated: {all_of('graph')}",
    "vertices": lambda: (
        ", ".join(sorted({f"{row.graph.vertices / 1e6:.1f}" for row in trained() if row.graph}))
        + " million each"
    ),
    "row": lambda: f"rows of {all_of('row')} bytes, float32",
    "sampler": lambda: (
        "our own, on the GPU beside the training; on the CPU for `cpu_only` and `placement=host`"
    ),
    "fanout": lambda: all_of("fanout"),
    "batch": lambda: all_of("batch"),
    "hidden": lambda: all_of("hidden"),
    "model": lambda: "our own GraphSAGE on cuBLAS, plain SGD",
    "gather": lambda: (
        gather_sms()
        + " multiprocessors for every mapped or tiered gather, `naive` too; by MPS "
        + all_of("percent").replace(", ", " %, ")
        + " %; the whole GPU with `bounded=off`"
    ),
    "cpu": lambda: machines(processors),
    "gpu": lambda: machines(cards),
}
NAMES = {
    "row": "features",
    "fanout": "fan-out",
    "batch": "batch",
    "hidden": "hidden size",
    "gather": "the gather's part of the GPU",
    "cpu": "CPU",
    "gpu": "GPU",
}


@part("papers.training")
def training() -> str:
    """The dissertation's training beside ours."""
    rows = [
        [NAMES.get(line["what"], line["what"]), f"{line['stated']} ({line['source']})", SETUP[line["what"]]()]
        for line in paper(DISSERTATION).tables["training_setup"]["rows"]
    ]
    return table(["", "there", "here"], rows)
