"""A comparison for programs: every row as CSV, everything as JSON."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from grainscope_report.comparison import sentences, verdicts
from grainscope_report.comparison.joined import Against, Comparison, Row, Unmatched
from grainscope_report.comparison.questions import Answer, Question
from grainscope_report.comparison.sides import Side
from grainscope_report.escaping import in_csv

FORMAT = 2
COLUMNS = (
    "new", "verdict", "label", "family", "question", "axes", "ratio", "low", "high", "probability", "p",
    "clock", "base_s", "new_s", "each", "base_gb_s", "new_gb_s", "base_visits", "new_visits", "base_sites",
    "new_sites", "why",
)  # fmt: skip


def as_csv(comparison: Comparison) -> str:
    """Every row of every new side, those that are not on both sides with `failed`, `missing` or `new`."""
    out = io.StringIO()
    # With a dictionary a row a DictWriter takes twice as long, and there may be a hundred thousand.
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    axes: dict[Question, str] = {}
    for against in comparison.against:
        for question, row in _questioned(against):
            if question not in axes:
                axes[question] = json.dumps(row["axes"], ensure_ascii=False)
            row |= {"new": against.new.label, "axes": axes[question]}
            writer.writerow([in_csv(row.get(column)) for column in COLUMNS])
    return out.getvalue()


def as_json(comparison: Comparison) -> str:
    """The whole comparison; what is not known is null."""
    document = {
        "comparison_format": FORMAT,
        "threshold": comparison.threshold,
        "alpha": verdicts.ALPHA,
        "likely": verdicts.LIKELY,
        "base": _side(comparison.base),
        "new": [
            _side(against.new)
            | {
                "verdict": sentences.verdict(against, comparison),
                "decided": against.decided,
                "counts": dict(against.counts),
                "differences": [vars(one) | {"cause": one.cause} for one in against.differences],
                "power": [vars(one) for one in against.power],
                "families": [
                    {"family": one.name, "counts": dict(one.counts), "ratio": one.ratio}
                    for one in against.families
                ],
                "rows": list(_rows(against)),
            }
            for against in comparison.against
        ],
        "nodes": comparison.nodes,
        "outliers": [vars(one) for one in comparison.outliers],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _side(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "files": [str(path) for path in side.paths],
        "machine": side.provenance,
        "date": side.date,
        "warnings": list(side.warnings),
    }


def _rows(against: Against) -> Iterator[dict[str, Any]]:
    for _, row in _questioned(against):
        yield row


def _questioned(against: Against) -> Iterator[tuple[Question, dict[str, Any]]]:
    """Every row with its question."""
    for one in (*against.rows, *against.modelled):
        yield one.question, _row(one)
    for one in against.unmatched:
        yield one.question, _unmatched(one)


def _question(question: Question, spoken: str) -> dict[str, Any]:
    return {
        "label": question.label,
        "family": question.family,
        "question": spoken,
        "axes": dict(question.axes),
    }


def _row(row: Row) -> dict[str, Any]:
    found = row.verdict
    return {
        "verdict": found.verdict,
        **_question(row.question, row.base.spoken),
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
        "probability": found.probability,
        "p": found.p,
        "clock": row.base.clock,
        "each": row.base.each,
        **_answer("base", row.base),
        **_answer("new", row.new),
        "why": found.why,
    }


def _answer(side: str, answer: Answer) -> dict[str, Any]:
    return {
        f"{side}_s": answer.seconds,
        f"{side}_gb_s": answer.gb_s,
        f"{side}_visits": len(answer.visits),
        f"{side}_sites": answer.sites,
    }


def _unmatched(one: Unmatched) -> dict[str, Any]:
    return {"verdict": one.kind, **_question(one.question, one.spoken), "why": one.reason}
