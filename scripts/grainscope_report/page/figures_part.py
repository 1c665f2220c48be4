"""Every figure that the rows make, each with its notes and its table; then those that they do not make."""

from collections import defaultdict
from collections.abc import Sequence

from grainscope_report.figures.model import Entry, Figure, why_not
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.machine import Machine
from grainscope_report.page import figure_tables, markup
from grainscope_report.page.pictures import Pictures

BARS = (
    "Bars are the 95 % interval by all uncertainties that are known; where none is, that of the median "
    "within one visit."
)


def figures(machines: Sequence[Machine]) -> list[tuple[Entry, Figure]]:
    """All figures as data, also those without panels."""
    return [(entry, figure(entry, machines)) for entry in FIGURES]


def part(machines: Sequence[Machine], made: Sequence[tuple[Entry, Figure]], pictures: Pictures) -> str:
    """The section of all figures."""
    drawn = [(entry, one) for entry, one in made if one.rows]
    listed = "" if len(machines) < 2 else _machines(machines)
    shown = "".join(_figure(entry, one, pictures[entry.id]) for entry, one in drawn)
    intro = markup.paragraph(BARS, "bars") if drawn else markup.paragraph("The rows make no figure.")
    return (
        f'<section id="figures"><h2>Figures</h2>{intro}{listed}{_contents(drawn)}{shown}'
        f"{_absent(machines, made)}</section>"
    )


def _machines(machines: Sequence[Machine]) -> str:
    return markup.listed(f"{machine.letter}: {machine.provenance}" for machine in machines)


def _contents(drawn: Sequence[tuple[Entry, Figure]]) -> str:
    links = "".join(
        f'<li><a href="#f{entry.id}">{entry.id} {markup.escaped(entry.title)}</a>' for entry, _ in drawn
    )
    return f'<ul class="contents">{links}</ul>' if links else ""


def _figure(entry: Entry, made: Figure, picture: str) -> str:
    families = " ".join((*made.families, *entry.beside))
    notes = markup.listed((*made.subtitle, *made.notes), "notes")
    heading = f"<figcaption><h3>Figure {entry.id} · {markup.escaped(entry.title)}</h3></figcaption>"
    its_rows = (
        f'<p class="its-rows"><a href="#rows" data-families="{markup.escaped(families)}" '
        f'data-says="figure {entry.id}">Its rows</a></p>'
    )
    return (
        f'<section class="figure" id="f{entry.id}">'
        f'<figure>{heading}<div class="picture">{picture}</div></figure>'
        f"{notes}{figure_tables.tables(made)}{its_rows}</section>"
    )


def _absent(machines: Sequence[Machine], made: Sequence[tuple[Entry, Figure]]) -> str:
    """Why the other figures are not there, by the reason."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for entry, one in made:
        if not one.rows:
            why = why_not(entry, machines)
            reasons[why].append(f"{entry.id} {entry.title}")
    said = [f"{'; '.join(names)}: {why}" for why, names in reasons.items()]
    return f"<h3>Figures that the rows do not make</h3>{markup.listed(said)}" if said else ""
