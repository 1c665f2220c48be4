"""Checks of rows with trials, levels and a graph, and of rows that only a model answers."""

import itertools
from statistics import fmean, harmonic_mean

from grainscope_report import statistics
from grainscope_report.checks_parts import ROUNDING, Raw, RowProblems, differ
from grainscope_report.model import MODEL

# Times of levels are taken one by one: their sum may be a little above that of the whole.
LEVELS_SLACK = 0.05
LITTLE = 1e-3
# What bounds a modelled time, each by itself, as means over the trials.
CAUSES = ("bytes_s", "requests_s", "translations_s")


def _label(row: Raw) -> RowProblems:
    if row["case"]["family"].startswith(MODEL) and row["status"] == "ok" and row["label"] != "modelled":
        yield "label", f"is {row['label']}, but {row['case']['family']} only models"


def _trials(row: Raw) -> RowProblems:
    trials, samples = row.get("trials", ()), row.get("samples_s")
    labels = [trial["label"] for trial in trials]
    if len(set(labels)) < len(labels):
        yield "trials", "has a label twice"
    if not trials or samples is None:
        return
    if len(samples) != len(trials):
        yield "samples_s", f"has {len(samples)} times for {len(trials)} trials"
        return
    for index, (trial, time_s) in enumerate(zip(trials, samples, strict=True)):
        if differ(time_s, right := statistics.median(trial["samples_s"])):
            yield f"samples_s[{index}]", f"is {time_s}, the median of trials[{index}].samples_s is {right}"
            return


def _teps(row: Raw) -> RowProblems:
    said = row.get("counters", {}).get("teps")
    rates = [trial.get("counters", {}).get("teps", 0) for trial in row.get("trials", ())]
    if said is None or not rates or min(rates) <= 0:
        return
    if differ(said, right := harmonic_mean(rates), LITTLE):
        yield "counters.teps", f"is {said}, the harmonic mean of the trials' is {right}"


def _causes(row: Raw) -> RowProblems:
    """No cause alone takes longer than the time that has the longest cause of each level."""
    if not row["case"]["family"].startswith(MODEL) or row["status"] != "ok" or "median_s" not in row:
        return
    times = [statistics.median(trial["samples_s"]) for trial in row.get("trials", ())]
    mean_s = fmean(times or row.get("samples_s") or [row["median_s"]])
    for name in CAUSES:
        said = row.get("counters", {}).get(name, 0.0)
        if said > mean_s * (1 + ROUNDING):
            yield f"counters.{name}", f"is {said}, more than the mean time of a trial of {mean_s}"


def _levels(row: Raw) -> RowProblems:
    levels = row.get("levels", ())
    if [level["level"] for level in levels] != list(range(len(levels))):
        yield "levels", "are not counted from 0"
    if row.get("trials") and all("seconds" in level for level in levels):
        total, whole = sum(level["seconds"] for level in levels), max(row["trials"][0]["samples_s"])
        if total > whole * (1 + LEVELS_SLACK):
            yield "levels", f"take {total:.4g} s together, the first trial {whole:.4g} s"


def _graph(row: Raw) -> RowProblems:
    points = row.get("graph", {}).get("degree_cdf", ())
    if any(
        two[0] <= one[0] or differ(max(one[1], two[1]), two[1]) for one, two in itertools.pairwise(points)
    ):
        yield "graph.degree_cdf", "does not rise"
    elif points and differ(points[-1][1], 1.0):
        yield "graph.degree_cdf", f"ends at {points[-1][1]}, not at 1"


def _sectors(row: Raw) -> RowProblems:
    counted = row.get("counted", {})
    if {"sectors", "bytes"} <= counted.keys() and differ(counted["bytes"], right := 32 * counted["sectors"]):
        yield "counted.bytes", f"is {counted['bytes']}, its sectors of 32 bytes are {right}"


CHECKS = (_label, _trials, _teps, _causes, _levels, _graph, _sectors)
