"""Puts the page together: one file that asks for nothing else, from any network."""

import base64
import hashlib
from collections.abc import Sequence

from grainscope_report import resources
from grainscope_report.machine import Machine
from grainscope_report.page import answers_part, figures_part, machine_part, markup, pictures, rows_part

SECTIONS = (("answers", "Answers"), ("figures", "Figures"), ("rows", "Every row"), ("skips", "Not measured"))


def write(machines: Sequence[Machine]) -> str:
    """The whole document."""
    made = figures_part.figures(machines)
    with pictures.drawing([one for _, one in made if one.rows]) as drawn:
        before = machine_part.part(machines) + answers_part.part(machines)
        after = rows_part.part(machines) + rows_part.skips(machines)
        figures = figures_part.part(machines, made, drawn())
    return f"{_head(machines)}{_header(machines)}<main>{before}{figures}{after}</main>{_script()}\n"


def _head(machines: Sequence[Machine]) -> str:
    title = f"GrainScope: {', '.join(machine.label for machine in machines)}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">'
        f"<title>{markup.escaped(title)}</title><style>{_asset('report.css')}</style></head><body>"
    )


def _policy() -> str:
    """Nothing may be loaded, and no script but the page's own may run."""
    digest = base64.b64encode(hashlib.sha256(_asset("report.js").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _header(machines: Sequence[Machine]) -> str:
    dates = sorted({machine.result.date[:10] for machine in machines})
    names = dict.fromkeys(machine_part.title(machine) for machine in machines)
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    first = f"machine-{machines[0].letter}"
    title = "Machines" if len(machines) > 1 else "Machine"
    links = "".join(f'<a href="#{name}">{said}</a>' for name, said in ((first, title), *SECTIONS))
    return (
        f"<header><p>GrainScope report, measured {when}</p>"
        f"<h1>{markup.escaped(' and '.join(names))}</h1><nav>{links}</nav></header>"
    )


def _script() -> str:
    return f"<script>{_asset('report.js')}</script></body></html>"


def _asset(name: str) -> str:
    return resources.asset(name).read_text(encoding="utf-8")
