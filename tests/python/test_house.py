"""Rules of the house that a reader of the sources could check."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FAMILIES = [path for path in sorted((ROOT / "benchmarks").glob("*.[ch]pp")) if path.stem != "presets"]
PRESET = re.compile(r"Preset::|\bpreset\s*[=!]=|\.preset\b")
PACKAGE = ROOT / "scripts" / "grainscope_report"
# What reads a result file, declares its format and checks its numbers. Not counted: loading.py finds, unpacks
# and parses JSON; cases.py and result.py hold what others ask of rows; analysis.py works out what a run says.
READER = ("typed.py", "model.py", "reader.py", "checks.py")
READER_LINES = 835
SAMPLED = re.compile(r"virtual double \w+\(\) = 0")


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_family_decides_by_preset():
    assert lines_with(PRESET, FAMILIES) == []


def test_one_interface_is_sampled():
    headers = sorted((ROOT / "include").rglob("*.hpp"))
    found = lines_with(SAMPLED, headers)
    assert [line.split(":")[0] for line in found] == ["include/grainscope/core/operation.hpp"], found


def test_families_see_nothing_of_google_benchmark():
    library = re.compile(r"#include <benchmark/")
    outside = [path for path in FAMILIES if path.name != "main.cpp"]
    assert lines_with(library, [*outside, *(ROOT / "include").rglob("*.hpp")]) == []


def test_the_reader_and_its_checks_do_not_grow():
    lines = {name: len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) for name in READER}
    assert sum(lines.values()) <= READER_LINES, lines
