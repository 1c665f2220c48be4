"""A whole `full` run: every synthetic family on one machine with two GPUs, 5,000 visits of 32 samples."""

import synthetic_busy
import synthetic_links
import synthetic_machines
import synthetic_traversals
from synthetic import File

VISITS = 5000


def full() -> File:
    """The machine of `two_nodes` with the rows of all others, and second visits until there are enough."""
    file = synthetic_machines.two_nodes()
    file.context["host_name"] = "node-full"
    more = (
        synthetic_links.linked(),
        synthetic_busy.busy(),
        synthetic_traversals.traversing(
            names=("kron24", "urand24", "web20", "power"), trials=8, pages=(64 << 10,)
        ),
    )
    for other in more:
        _add(file, other)
    again = [_again(row) for row in file.rows if row["label"] == "measured" and row["status"] == "ok"]
    file.rows += again[: VISITS - len(file.rows)]
    return file


def _again(row: dict) -> dict:
    """A second visit with the same times."""
    return row | {"visits": [visit | {"round": 2} for visit in row["visits"]]}


def _add(file: File, other: File) -> None:
    """The rows of another machine as if they were of this one; its links where this one has none."""
    known = {_ends(link) for link in file.links}
    file.links += [link for link in other.links if _ends(link) not in known]
    there = {row["name"] for row in file.rows}
    for row in other.rows:
        if row["name"] not in there:
            row.pop("link_fraction", None)  # of another machine's peak
            file.rows.append(row)


def _ends(link: dict) -> tuple:
    return link["gpu"], link.get("numa"), link.get("peer"), link["direction"]
