"""Result files whose texts are more than text: a terminal, a page or a spreadsheet shows no more."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grainscope_report.cli import main
from grainscope_report.escaping import for_terminal, in_csv, in_markdown
from grainscope_report.figures import csv_table
from grainscope_report.page import tables
from planted import SITE, pinned_copy, table
from synthetic import KIB, MIB, File

TERMINAL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe"
MARKUP = "<script>alert(1)</script> [click](javascript:alert(1))\n# heading | cell"
FORMULAS = ('=HYPERLINK("http://x")', "+1", "-1+2", "@SUM(A1)")


def spoil(path: Path, change: Callable[[dict], None]) -> str:
    """The file with a change in it."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return str(path)


def say_everywhere(text: str) -> Callable[[dict], None]:
    """Puts a text where a file names a machine, explains a row or warns."""

    def change(document: dict) -> None:
        context = document["context"]
        context["host_name"] = f"host {text}"
        context["environment"]["cpu"]["model"] = f"cpu {text}"
        context["environment"]["driver"]["version"] = f"driver {text}"
        for warning in ("finding", "effect", "remedy"):
            context["environment"]["warnings"] = [
                {"id": "x", "severity": "severe", "finding": "f", "effect": "e", "remedy": "r", warning: text}
            ]
        for row in document["benchmarks"]:
            if "reason" in row:
                row["reason"] = f"because {text}"

    return change


COMMANDS = (
    ["summary"], ["list"], ["validate"], ["export", "csv"], ["export", "md"], ["list", "--json"],
    ["summary", "--json"],
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_sends_control_letters_to_a_terminal(small, capsys, command):
    path = spoil(small, say_everywhere(TERMINAL))
    main([*command, path])
    shown = "".join(capsys.readouterr())
    assert not [letter for letter in "\x1b\x07\x9b\u202e" if letter in shown]


@pytest.mark.parametrize("command", [["compare"], ["env", "diff"]], ids=" ".join)
def test_nor_does_one_that_takes_two(small, tmp_path, capsys, command):
    other = tmp_path / "other.json"
    other.write_text(small.read_text())
    main([*command, spoil(small, say_everywhere(TERMINAL)), str(other)])
    shown = "".join(capsys.readouterr())
    assert shown
    assert not [letter for letter in "\x1b\x07\x9b\u202e" if letter in shown]


def test_a_message_about_a_bad_file_neither(tmp_path, capsys):
    path = tmp_path / "\x1b[2J.json"
    main(["summary", str(path)])
    err = capsys.readouterr().err
    assert "\\u001b[2J.json does not exist" in err
    assert "\x1b" not in err


def test_json_stays_json_with_the_same_text(small, capsys):
    path = spoil(small, say_everywhere(TERMINAL))
    main(["summary", "--json", path])
    assert json.loads(capsys.readouterr().out)


def test_colours_of_our_own_stay_where_they_are_wanted():
    assert for_terminal("\x1b[31mred\x1b[0m \x1b[2J", colour=True) == "\x1b[31mred\x1b[0m \\u001b[2J"
    assert for_terminal("\x1b[31mred", colour=False) == "\\u001b[31mred"
    assert for_terminal("a\tb\nü×→") == "a\tb\nü×→"


def test_markdown_has_no_markup_of_a_file(small, capsys):
    path = spoil(small, say_everywhere(MARKUP))
    assert main(["export", "md", path]) == 0
    shown = capsys.readouterr().out
    assert "because &lt;script>" in shown
    assert "<script" not in shown
    assert "](javascript" not in shown
    assert "\n# heading" not in shown
    assert in_markdown("a|b") == "a\\|b"


def test_a_spreadsheet_gets_no_formula(small, capsys):
    def change(document: dict) -> None:
        for formula, row in zip(FORMULAS, document["benchmarks"], strict=False):
            row["case"]["family"] = formula
            row["case"]["axes"][formula] = formula
            if "reason" in row:
                row["reason"] = formula

    path = spoil(small, change)
    assert main(["export", "csv", path]) == 0
    head, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert rows
    begins = {cell[:1] for line in (head, *rows) for cell in line}
    assert not begins & set("=+-@")
    assert "'" + FORMULAS[0] in rows[0]


def test_numbers_stay_numbers_in_a_spreadsheet():
    assert in_csv(-0.5) == -0.5
    assert in_csv("1e-6") == "1e-6"
    assert in_csv(None) is None


def test_the_table_of_a_figure_has_room_for_any_text():
    long = "x" * 200_000
    assert tables._read(f"panel,series\n{long},a\n") == [{"panel": long, "series": "a"}]


def test_a_text_without_end_is_shown_in_a_report(small, tmp_path):
    def change(document: dict) -> None:
        for row in document["benchmarks"]:
            row["case"]["axes"]["path"] = "x" * 200_000
        document["context"]["host_name"] = "y" * 200_000

    out = tmp_path / "page.html"
    assert main(["report", spoil(small, change), "--out", str(out)]) == 0
    assert out.is_file()


def test_nor_does_the_table_of_a_figure(tmp_path):
    files = []
    for name in FORMULAS:
        file = File(gpus=(name,), host=name)
        file.link("host_to_gpu", 55.0)
        for size in (KIB, MIB, 16 * MIB):
            file.add("transfer/memcpy", pinned_copy(size), SITE, size / 50e9)
        files.append(file)
    rows = table(tmp_path, "2", *files)
    begins = {cell[:1] for row in rows for cell in row.values() if cell}
    assert not begins & set("=+-@")
    assert {f"'{name} ({name})" for name in FORMULAS} <= {row["machine"] for row in rows}
    # A figure's own numbers are no texts.
    assert csv_table._cell(-0.5) == "-0.5"
