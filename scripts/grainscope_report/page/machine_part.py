"""What machine this is and what is wrong with it, the worst first."""

from collections import Counter
from collections.abc import Iterator, Sequence

from grainscope_report import machine, naming
from grainscope_report.machine import Machine, between, concerns, cpu, gpus, took
from grainscope_report.model import Concern, Link, Result
from grainscope_report.page import markup

SEVERITIES = ("severe", "warning", "info")


def part(machines: Sequence[Machine]) -> str:
    """A section for each machine."""
    several = len(machines) > 1
    return "".join(_machine(machine, several) for machine in machines)


def title(machine: Machine) -> str:
    """The machine in a few words."""
    return gpus(machine.result) or cpu(machine.result)


def _machine(machine: Machine, several: bool) -> str:
    result = machine.result
    heading = f"{machine.letter}: {machine.label}" if several else "Machine"
    name = f"machine-{machine.letter}"
    found = sorted(_findings(machine), key=lambda one: SEVERITIES.index(one.severity))
    loud = "".join(_finding(one) for one in found if one.severity != "info")
    quiet = [_finding(one) for one in found if one.severity == "info"]
    folded = markup.folded(f"Remarks ({len(quiet)})", "".join(quiet)) if quiet else ""
    warnings = loud or markup.paragraph("No warnings.", "fine")
    return (
        f'<section id="{name}"><h2>{markup.escaped(heading)}</h2>{warnings}{folded}'
        f"{markup.definitions(_facts(result), 'facts')}{_links(result.links)}</section>"
    )


def _findings(machine: Machine) -> Iterator[Concern]:
    """The machine's own warnings and what else spoils the file."""
    result = machine.result
    if not result.run.complete:
        yield Concern(
            "incomplete", "severe", f"the run is not complete: {result.run.why_incomplete}",
            "rows are missing, and figures and answers may be for lack of them",
            "finish it with `grainscope --resume DIR`",
        )  # fmt: skip
    if result.contradictions:
        count, first = len(result.contradictions), result.contradictions[0]
        yield Concern(
            "contradiction", "severe",
            f"the file contradicts itself ({count} problem{'s' * (count > 1)}, first {first})",
            "some numbers of this report are wrong",
            f"see all with `grainscope-report validate {result.path}`",
        )  # fmt: skip
    failed = naming.counted_reasons(row.reason for row in result.rows if row.status == "failed")
    if failed:
        [(reason, most)] = failed.most_common(1)
        rows = f"{failed.total()} row{'s' * (failed.total() > 1)} failed"
        yield Concern(
            "failed", "severe", f"{rows}, {most} because: {reason}",
            "failed rows are in no figure and no answer",
            "see them below, under Not measured",
        )  # fmt: skip
    for finding in concerns(result):
        yield (
            finding
            if finding.severity in SEVERITIES
            else Concern(finding.id, "warning", finding.finding, finding.effect, finding.remedy)
        )
    wide = sum("wide_interval" in row.flags for row in result.rows)
    two = sum("bimodal" in row.flags for row in result.rows)
    if wide or two:
        yield Concern(
            "unsteady", "info",
            f"{wide} rows have a wider interval than asked for, {two} are bimodal",
            "their medians are less certain; figures draw them hollow",
            "choose them under Every row; a longer run narrows them",
        )  # fmt: skip
    if slower := sum("slower_alone" in row.flags for row in result.rows):
        yield Concern(
            "slower_alone", "info",
            f"{slower} {'row has' if slower == 1 else 'rows have'} a side that took longer alone than beside "
            "the other",
            "what it took alone was disturbed, or measures something else: no slowdown over it holds",
            "choose them under Every row; measure them again",
        )  # fmt: skip


def _finding(one: Concern) -> str:
    said = [f"<b>{markup.escaped(one.severity)}</b> {markup.spoken(one.finding)}"]
    if one.effect:
        said.append(f"<span>Effect: {markup.spoken(one.effect)}</span>")
    if one.remedy:
        said.append(f"<span>Remedy: {markup.spoken(one.remedy)}</span>")
    return f'<div class="finding {one.severity}">{" ".join(said)}</div>'


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    commit = "" if result.commit in ("", "unknown") else f" ({result.commit[:10]})"
    yield "GPU", gpus(result) or "none"
    yield "CPU", cpu(result)
    yield "Host", result.host or "unknown"
    yield "Driver", result.environment.driver_version or "no NVIDIA driver"
    yield "CUDA", result.cuda or "built without CUDA"
    yield "GPU ↔ memory", between(result)
    yield "Suite", f"GrainScope {result.version}{commit}"
    yield "Run", ", ".join(_run(result))
    yield "File", str(result.path)


def _run(result: Result) -> Iterator[str]:
    counts = Counter(row.status for row in result.rows)
    yield f"preset {result.run.preset}"
    if result.run.filter:
        yield f"filter {result.run.filter}"
    yield f"started {result.run.started}"
    if length := took(result):
        yield f"took {length}"
    yield ", ".join(f"{counts[status]} {status}" for status in ("ok", "failed", "skipped") if counts[status])


def _links(links: Sequence[Link]) -> str:
    if not links:
        return ""
    return markup.table(
        machine.LINK_NAMES,
        map(machine.link_cells, links),
        machine.LINK_RIGHT,
        "Measured copy peaks of the links",
    )
