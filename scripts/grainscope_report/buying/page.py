"""The verdict as one HTML page: no network, a picture of the predicted times inline as SVG."""

from collections.abc import Iterator
from html import escape
from typing import Any

from grainscope_report.buying import tables

# Colour-blind safe, after Okabe and Ito.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999")
WIDTH, LEFT, BAR, GAP = 720, 150, 26, 16
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; }
.verdict { font-size: 1.2rem; border-left: 4px solid #0072b2; padding-left: 1rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25rem 0.75rem 0.25rem 0; text-align: left;
  vertical-align: top; }
svg { width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } }
"""


def write(document: dict[str, Any]) -> str:
    """The whole page."""
    title = escape(document["workload"]["name"])
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(_sections(document))
        + "\n</body>\n</html>\n"
    )


def _sections(document: dict[str, Any]) -> Iterator[str]:
    said = document["sentences"]
    lines = [*said["headline"], *filter(None, [said["buy"]])]
    yield f'<p class="verdict">{"<br>".join(map(escape, lines))}</p>'
    if document["label"] == "modelled":
        yield "<p><em>All of this is modelled, nothing of it measured.</em></p>"
    yield from (f"<p>{escape(line)}</p>" for line in [*said["excluded"], said["disclaimer"]])
    if document["workload"]["about"]:
        yield f"<p>{escape(document['workload']['about'])}</p>"
    yield from _list("Warnings", document["warnings"])
    if ranked := [one for one in document["candidates"] if one["passed"]]:
        yield f"<section><h2>Predicted time</h2>{_bars(document, ranked)}</section>"
    yield from _list("Why", said["why"])
    yield from _list("How it flips", said["flips"])
    yield from _list("What it costs", said["cost"])
    for title, columns, rows in tables.all_of(document):
        head = "".join(f"<th>{escape(one)}</th>" for one in columns)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        yield (
            f'<section><h2>{escape(title)}</h2><div class="table"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></section>"
        )
    machines = [
        f"{one['name']}: {' · '.join(one['machine'])} ({', '.join(one['files'])})"
        for one in [document["reference"], *document["candidates"]]
    ]
    yield from _list("Machines", machines)
    yield f"<p>{escape(said['method'])}</p>"


def _list(heading: str, lines: list[str]) -> Iterator[str]:
    if lines:
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        yield f"<section><h2>{heading}</h2><ul>{items}</ul></section>"


def _bars(document: dict[str, Any], ranked: list[dict[str, Any]]) -> str:
    """A stacked bar a candidate, a part a component, with the sum's interval; the reference is a line."""
    most = max(1.0, *(one["time"]["high"] or one["time"]["value"] for one in ranked)) * 1.05
    scale = (WIDTH - LEFT - 20) / most
    names = [one["name"] for one in document["components"]]
    legend = -(-len(names) // 3)  # rows of three
    top = 24 * legend + 20
    height = top + len(ranked) * (BAR + GAP) + 30
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" font-size="13" '
        'aria-label="Predicted time by component, the reference is 1">'
    ]
    for at, name in enumerate(names):
        x, y = LEFT + (at % 3) * 185, 4 + 24 * (at // 3)
        parts.append(f'<rect x="{x}" y="{y}" width="14" height="14" fill="{COLOURS[at % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 20}" y="{y + 12}">{escape(_short(name))}</text>')
    for at, one in enumerate(ranked):
        parts += _bar(one, top + at * (BAR + GAP), scale)
    one_at, bottom = LEFT + scale, height - 22
    parts.append(
        f'<line x1="{one_at:.1f}" x2="{one_at:.1f}" y1="{top - 6}" y2="{bottom}" stroke="#222" '
        'stroke-dasharray="4 3"/>'
    )
    parts.append(
        f'<text x="{one_at:.1f}" y="{height - 6}" text-anchor="middle">1 (the reference)</text></svg>'
    )
    return "".join(parts)


def _bar(one: dict[str, Any], y: float, scale: float) -> Iterator[str]:
    yield f'<text x="{LEFT - 8}" y="{y + BAR / 2 + 5}" text-anchor="end">{escape(_short(one["name"]))}</text>'
    x = float(LEFT)
    for at, part in enumerate(one["components"]):
        wide = part["time"]["value"] * scale
        title = f"{part['name']}: {part['time']['value']:.3f}"
        yield (
            f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR}" '
            f'fill="{COLOURS[at % len(COLOURS)]}"><title>{escape(title)}</title></rect>'
        )
        x += wide
    if one["time"]["low"] is None:
        return
    low, high = (LEFT + one["time"][end] * scale for end in ("low", "high"))
    middle = y + BAR / 2
    yield (
        f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 5}v10M{high:.1f} {middle - 5}v10" '
        'stroke="#222" stroke-width="1.5"/>'
    )


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"
