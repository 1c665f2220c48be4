"""What `summary --json` prints: the findings of a run as plain data."""

from dataclasses import asdict
from typing import Any

from grainscope_report import findings
from grainscope_report.analysis import Analysis
from grainscope_report.fits import everything
from grainscope_report.groups import gnn_answers
from grainscope_report.machine import between, machines, provenance
from grainscope_report.result import Result

FORMAT = 1


def document(result: Result) -> dict[str, Any]:
    """The whole summary; what a run does not know is null."""
    [machine] = machines([result])
    found = findings.of(Analysis(machine, every=True), but=("answers",))

    def each(*topics: str) -> dict[str, Any]:
        return {topic.rpartition(".")[2]: findings.data(found, topic) for topic in topics}

    fits = each(*(f"fits.{name}" for name in everything.PLAIN))
    return {
        "summary_format": FORMAT,
        "file": str(result.path),
        "machine": provenance(result),
        "complete": result.run.complete,
        "links": [
            asdict(link) | {"from": link.ends[0], "to": link.ends[1], "negotiated": link.negotiated}
            for link in result.links
        ],
        **each("groups", "traversals", "managed_under_pressure", "fewer_bytes"),
        "networks": each(*(f"networks.{question}" for question in gnn_answers.QUESTIONS)),
        "fits": fits | everything.METHODS | {"between": between(result)},
        **each("shape", "reasons"),
    }
