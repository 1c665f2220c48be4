"""Parts of a page: figures as SVG within HTML, several drawn at a time where there are several CPUs; their
numbers as HTML tables, what their CSV has, for people; and the template of the report.

Styles that repeat become classes, numbers lose digits that nobody sees, and groups that only structured the
drawing go. Text stays text, so that a reader can search and copy it.

Where each series has one value at each place, places are lines of a table and series columns; else each value
is a line.
"""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from xml.etree import ElementTree

from grainscope_report import resources
from grainscope_report.drawing import together
from grainscope_report.errors import ReportError
from grainscope_report.figures import csv_table, model
from grainscope_report.figures.model import BarPanel, Figure, TablePanel
from grainscope_report.units import format_bytes, format_rate, format_time, significant

try:
    import jinja2
    from markupsafe import Markup, escape
except ModuleNotFoundError as error:
    raise ReportError(
        f"a report is made from a template and needs jinja2, and Python finds no module {error.name}: "
        "python3 -m pip install jinja2"
    ) from None

# Figures as SVG.

# What is left of an A4 page below a heading, at the width of the page.
TALLEST_IN = 9.0
# A hundredth of a point; pictures are some 500 points wide.
PLACES = 2
_DECIMAL = re.compile(r"-?\d*\.\d+(?:e-?\d+)?")
_SPACE = re.compile(r"\s+")
_AROUND_LETTER = re.compile(r" ?([A-Za-z]) ?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font-family:[^;]*;? ?")
_UPRIGHT = re.compile(r"rotate\(-?0 [^)]*\)")
_NUMERIC = {"x", "y", "width", "height", "r", "cx", "cy", "transform", "points"}
Pictures = Mapping[str, str]


@contextmanager
def drawing(figures: Sequence[Figure]) -> Iterator[Callable[[], Pictures]]:
    """Begins to draw; calling what it gives waits for the pictures: SVG elements by their figures' ids."""
    _need_matplotlib()
    with together.drawing(_picture, figures) as made:
        yield lambda: dict(zip([figure.id for figure in figures], made, strict=True))


def _picture(figure: Figure) -> str:
    """The figure as one SVG element, or as several below each other where it is taller than a sheet."""
    from grainscope_report.drawing import render

    sheets = []
    for order, part in enumerate(_sheets(render.without_long_tables(figure), render.height)):
        drawn = render.save(render.draw(part, framed=False), "svg", text="none")
        more = f", part {order + 1}" if order else ""
        sheets.append(inline(drawn, f"f{figure.id}p{order}", f"Figure {figure.id}: {figure.title}{more}"))
    return "".join(sheets)


def _sheets(figure: Figure, height: Callable[[Figure], float]) -> list[Figure]:
    """The figure's rows of panels in as few figures as are no taller than a sheet."""
    sheets: list[Figure] = []
    for row in figure.rows:
        longer = replace(figure, rows=(*sheets[-1].rows, row)) if sheets else None
        if longer and height(longer) <= TALLEST_IN:
            sheets[-1] = longer
        else:
            sheets.append(replace(figure, rows=(row,)))
    return sheets


def _need_matplotlib() -> None:
    """Imports it once, before there are several processes."""
    try:
        from grainscope_report.drawing import render  # noqa: F401
    except ModuleNotFoundError as error:
        raise ReportError(
            f"a report has figures and needs matplotlib, and Python finds no module {error.name}: "
            "python3 -m pip install matplotlib"
        ) from None


def inline(picture: bytes, name: str, title: str) -> str:
    """The picture as an element of HTML; `name` begins its classes and ids, `title` says what it shows."""
    root = ElementTree.fromstring(picture)
    box = root.get("viewBox", "")
    page = _Page(name)
    children = [kept for child in root for kept in page.keep(child)]
    svg = ElementTree.Element("svg", {"viewBox": box, "role": "img", "aria-label": title})
    styles = ElementTree.SubElement(svg, "style")
    svg.extend(children)
    styles.text = "".join(f".{known}{{{style}}}" for style, known in page.styles.items())
    return ElementTree.tostring(svg, encoding="unicode")


class _Page:
    """The names given so far within one picture."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.styles: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    def keep(self, element: ElementTree.Element) -> list[ElementTree.Element]:
        """The element made small, or what is left of it: its children, or nothing."""
        tag = element.tag.rpartition("}")[2]
        if tag in ("metadata", "style"):
            return []
        children = [kept for child in element for kept in self.keep(child)]
        attributes = dict(self._attributes(tag, element))
        if tag in ("g", "defs") and not attributes.keys() - {"id"} and (tag == "g" or not children):
            return children
        small = ElementTree.Element(tag, attributes)
        small.text = element.text if tag == "text" else None
        small.extend(children)
        return [small]

    def _attributes(self, tag: str, element: ElementTree.Element) -> list[tuple[str, str]]:
        kept = []
        for spelled, value in element.items():
            name = spelled.rpartition("}")[2]
            if name == "id":
                if tag != "g":
                    kept.append((name, self._id(value)))
            elif name == "href":
                kept.append((name, f"#{self._id(value[1:])}"))
            elif name == "style":
                kept.append(("class", self._class(value)))
            elif name == "d":
                kept.append((name, _path(value)))
            elif name == "clip-path":
                kept.append((name, self._referring(value)))
            elif name in _NUMERIC:
                if not _UPRIGHT.fullmatch(value):
                    kept.append((name, _rounded(value)))
            else:
                kept.append((name, value))
        return kept

    def _id(self, text: str) -> str:
        return self.ids.setdefault(text, f"{self.name}i{len(self.ids)}")

    def _referring(self, text: str) -> str:
        """The text with the new names of what it refers to: clips, and patterns of hatched bars."""
        return _REFERENCE.sub(lambda found: f"url(#{self._id(found[1])})", text)

    def _class(self, style: str) -> str:
        small = _FONT.sub("", self._referring(style)).replace(": ", ":").replace("; ", ";").strip()
        return self.styles.setdefault(small, f"{self.name}c{len(self.styles)}")


def _path(data: str) -> str:
    return _AROUND_LETTER.sub(r"\1", _SPACE.sub(" ", _rounded(data)).strip())


def _rounded(text: str) -> str:
    return _DECIMAL.sub(_shorter, text)


def _shorter(found: re.Match[str]) -> str:
    return (
        f"{float(found[0]):.{PLACES}f}".rstrip("0").rstrip(".").replace("-0.", "-.").removeprefix("0") or "0"
    )


# Figures as tables, and the template.

Cells = dict[str, str]
# Lines and marks across a panel, beside its values.
LINES = {"peak", "double", "theoretical", "even", "cache", "reach", "working"}
# The notes say these in words.
TOLD = {"crossover", "knee", "dip", "slow", "roof"}
MARKS = {"wide_interval": "†", "bimodal": "‡", "slower_alone": "§"}
MEANS = {"†": "wide interval", "‡": "bimodal", "§": "slower alone than beside the other"}
LIST = ("series", "x", "value", "note")
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Table:
    """Texts under the names of columns; columns that are `right` hold numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool] = ()
    caption: str = ""

    def numeric(self, column: int) -> bool:
        """Whether the column holds numbers."""
        return column < len(self.right) and self.right[column]


@dataclass(frozen=True)
class Part:
    """The table of a panel, if it has values, and a line under it."""

    table: Table | None
    under: str = ""


def spoken(text: object) -> Markup:
    """Text in which `code` is set as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))


@cache
def template() -> jinja2.Template:
    """The layout of a page; its macros can be called as functions of `template().module`."""
    environment = jinja2.Environment(autoescape=True)
    environment.filters["spoken"] = spoken
    environment.filters["breaking"] = lambda text: escape(text).replace("/", Markup("/<wbr>"))
    lines = resources.asset("report.html").read_text(encoding="utf-8").splitlines()
    return environment.from_string("".join(line.strip() for line in lines))


def tables(figure: Figure) -> Markup:
    """All panels' tables behind one line to click."""
    rows = _read(csv_table.write(figure))
    bars = {panel.title or panel.y_label: panel for panel in figure.panels if isinstance(panel, BarPanel)}
    letters = {machine.label: machine.letter for machine in figure.machines}
    panels: dict[str, list[Cells]] = defaultdict(list)
    for row in rows:
        panels[row["panel"]].append(row)
    for title, there in panels.items():
        if title in bars:
            _spell(bars[title], there)
    written = {panel.title: panel for panel in figure.panels if isinstance(panel, TablePanel)}
    parts = [Part(_written(panel)) for panel in written.values()]
    parts += [
        _panel(title, there, letters if len(letters) > 1 else {})
        for title, there in panels.items()
        if title not in written
    ]
    return template().module.numbers(parts, len(rows))


def _read(text: str) -> list[Cells]:
    """Its rows, however long a text in them is."""
    before = csv.field_size_limit(len(text))
    try:
        return list(csv.DictReader(io.StringIO(text)))
    finally:
        csv.field_size_limit(before)


def _spell(panel: BarPanel, rows: Sequence[Cells]) -> None:
    """Gives bars in groups the names of their categories: the CSV has that of the group alone."""
    bars = [row for row in rows if row["kind"] in ("bar", "paper")]
    if panel.groups and len(bars) % len(panel.categories) == 0:
        for order, row in enumerate(bars):
            category = " ".join(panel.categories[order % len(panel.categories)].split())
            row["x"] = ", ".join(part for part in (row["x"], category) if part)


def _written(panel: TablePanel) -> Table:
    """A table that the figure itself is."""
    head, *lines = model.table_texts(panel)
    return Table(head, lines, (False, *panel.right), panel.title)


def _panel(title: str, rows: Sequence[Cells], letters: Cells) -> Part:
    values = [row for row in rows if row["kind"] not in LINES | TOLD]
    units = dict.fromkeys(row["y_unit"] for row in values if row["y_unit"])
    units.pop("s", None)  # times carry theirs
    caption = f"{title} ({', '.join(units)})" if units and not title.endswith(")") else title
    table = (_pivot(values, letters, caption) or _list(values, letters, caption)) if values else None
    marks = sorted({mark for row in values for mark in _marks(row)})
    under = [f"{mark} {MEANS[mark]}" for mark in marks]
    under += dict.fromkeys(_line(row) for row in rows if row["kind"] in LINES)
    return Part(table, "; ".join(under))


def _line(row: Cells) -> str:
    value = _value(row["y"], row["y_unit"]) if row["y"] else _value(row["x"], row["x_unit"])
    unit = f" {row['y_unit']}" if row["y"] and row["y_unit"] not in ("", "s") else ""
    where = f" ({row['site'].replace('=', ' ')})" if row["site"] else ""
    return f"{row['series']} {value}{unit}{where}"


def _pivot(rows: Sequence[Cells], letters: Cells, caption: str) -> Table | None:
    """A line a place, a column a series; None where two values would share a cell."""
    sites: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        sites[row["series"]].add(row["site"])
    lines: dict[tuple[str, str], Cells] = defaultdict(dict)
    columns: dict[str, None] = {}
    for row in rows:
        column = _column(row, letters, len(sites[row["series"]]) > 1)
        place = row["x"], row["x_unit"]
        if row["kind"] in ("dot", "lane") or not row["x"] or column in lines[place]:
            return None
        columns[column] = None
        lines[place][column] = _said(row)
    numeric = all(unit for _, unit in lines)
    order = sorted(lines, key=_number) if numeric else list(lines)
    body = [[_value(*place), *(lines[place].get(column, "") for column in columns)] for place in order]
    return Table(["at", *columns], body, [numeric, *[True] * len(columns)], caption)


def _number(place: tuple[str, str]) -> float:
    return float(place[0])


def _column(row: Cells, letters: Cells, spell_site: bool) -> str:
    owner = f"{letters[row['machine']]}: " if row["machine"] in letters else ""
    site = f", {row['site'].replace('=', ' ')}" if spell_site and row["site"] else ""
    label = f" ({row['label']})" if row["label"] not in ("", "measured", "paper") else ""
    return f"{owner}{row['series'] or 'value'}{site}{label if label not in row['series'] else ''}"


def _list(rows: Sequence[Cells], letters: Cells, caption: str) -> Table:
    """A value a line."""
    lines = []
    for row in rows:
        kind = f"{row['note']}: " if row["kind"] == "lane" else ""
        note = row["note"] if row["kind"] != "lane" and row["y"] else ""
        place = _value(row["x"], row["x_unit"])
        lines.append([kind + _column(row, letters, True), place, _said(row), note])
    kept = [at for at, _ in enumerate(LIST) if any(line[at] for line in lines)]
    head = [("", "at", "value", "note")[at] for at in kept]
    return Table(head, [[line[at] for at in kept] for line in lines], caption=caption)


def _said(row: Cells) -> str:
    """`9.99 [9.84, 10.07]†`, or why there is no value."""
    if not row["y"]:
        return row["note"]
    unit = row["y_unit"]
    told = _value(row["y"], unit)
    if row["y_low"] and row["y_low"] != row["y_high"]:
        told += f" [{_value(row['y_low'], unit)}, {_value(row['y_high'], unit)}]"
    return told + "".join(_marks(row))


def _marks(row: Cells) -> list[str]:
    return [MARKS[flag] for flag in row["flags"].split() if flag in MARKS]


def _value(text: str, unit: str) -> str:
    """A number as people read it; what is no number as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    if unit == "bytes":
        return format_bytes(number)
    if unit == "s":
        return format_time(number)
    return format_rate(number) if unit == "GB/s" else significant(number, 4)
