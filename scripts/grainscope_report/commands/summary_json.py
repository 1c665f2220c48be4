"""What `summary --json` prints: the summary as plain data."""

from dataclasses import asdict
from typing import Any

from grainscope_report import digest
from grainscope_report.fits import everything
from grainscope_report.fits.everything import estimate
from grainscope_report.gnn import answers as networks
from grainscope_report.machine import machines, provenance
from grainscope_report.result import Result
from grainscope_report.shape import findings
from grainscope_report.traversal import answers, lean_answers, pressure

FORMAT = 1


def document(result: Result) -> dict[str, Any]:
    """The whole summary; what a run does not know is null."""
    [machine] = machines([result])
    return {
        "summary_format": FORMAT,
        "file": str(result.path),
        "machine": provenance(result),
        "complete": result.run.complete,
        "links": [
            asdict(link) | {"from": link.ends[0], "to": link.ends[1], "negotiated": link.negotiated}
            for link in result.links
        ],
        "groups": [_group(group) for group in digest.groups(result)],
        "traversals": [answers.as_json(answer) for answer in answers.answers(machine)],
        "managed_under_pressure": [pressure.as_json(one) for one in pressure.moved(machine)],
        "fewer_bytes": [lean_answers.as_json(gain) for gain in lean_answers.gains(machine)],
        "networks": networks.of(machine),
        "fits": everything.as_json(everything.of(machine)),
        "shape": findings.as_json(findings.findings(result)),
        "reasons": [_reason(reason) for reason in digest.reasons(result)],
    }


def _reason(reason: digest.Reason) -> dict[str, Any]:
    return {
        "status": reason.status,
        "text": reason.text,
        "count": reason.count,
        "families": reason.families,
        "names": reason.names,
    }


def _group(group: digest.Group) -> dict[str, Any]:
    peak = group.peak
    return {
        "family": group.family,
        "name": group.name,
        "counts": dict(group.counts),
        "peak": peak
        and {
            "gb_s": estimate(peak.rate),
            "bytes": peak.bytes,
            "axes": dict(peak.axes),
            "link_fraction": peak.link_fraction,
        },
        "flushed": group.flushed,
        "smallest": group.smallest and asdict(group.smallest),
        "largest": group.largest and asdict(group.largest),
    }
