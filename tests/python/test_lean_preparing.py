"""What is worked out before runs that move fewer bytes: in `summary --full`, figure 19 and docs/lean.md."""

import json
import re

import pytest

from grainscope_report import reader
from grainscope_report.cli import main
from grainscope_report.groups import lean, lean_preparing
from grainscope_report.machine import machines
from planted import made, only, table
from planted_traversals import KRON, machine_file, steady, traverse
from stored import PROJECT
from synthetic_lean import add_lean

ANSWERS = PROJECT / "results/reference/h100-lean24-answers-kron.json.gz"
WALKED = PROJECT / "results/reference/h100-kron24.json.gz"
EVERY = "bfs, direction-optimising: every technique (measured, its model beside)"


def beside_a_walk(seconds: float = 0.04):
    """A walk of 80 ms over whole lists, and rows that number, compress and choose."""
    file = machine_file()
    traverse(file, steady(0.08, 16), edge=4)
    add_lean(file, "bfs", KRON, seconds)
    add_lean(file, "bfs", KRON, seconds / 2, "heads", 25, lists="compressed")
    return file


def crossing_nothing(file, tier: str = "lists") -> dict:
    """A row whose edges are all in the card."""
    row = add_lean(file, "bfs", KRON, 0.01, tier, 25, model_off=-1.0)
    row["link_bytes_least"] = 0
    row["traffic"] |= {"requests": 0, "requests_by_size": {}, "bytes": 0, "amplification": 0.0}
    for trial in row["trials"]:
        trial["counters"]["link_bytes"] = 0.0
    return row


def screen(path, capsys, monkeypatch, width: int = 300) -> list[str]:
    """The table of these traversals and what stands under it."""
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["summary", "--full", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("traversals that m"))
    return lines[begin : lines.index("", begin)]


def cells(lines: list[str]) -> list[dict[str, str]]:
    """Its lines by the names of columns."""
    names = re.split(r" {2,}", lines[0])
    rows = [re.split(r" {2,}", line.strip()) for line in lines[1:] if len(line.split("  ")) > len(names) - 1]
    return [dict(zip(names, row, strict=True)) for row in rows]


def prepared(row: dict, tmp_path) -> lean_preparing.Prepared:
    file = machine_file()
    file.rows.append(row)
    [run] = reader.read(file.write(tmp_path / "result.json")).rows
    return lean_preparing.prepared(run)


def test_a_line_has_all_gpu_memory_and_the_seconds_of_each_part(tmp_path, capsys, monkeypatch):
    lines = screen(beside_a_walk().write(tmp_path / "result.json"), capsys, monkeypatch)
    alone, hot = cells(lines)
    assert (alone["fastest"], alone["GPU memory"]) == ("the algorithm alone", "512 MiB")
    assert (alone["prepared"], alone["order"], alone["compression"]) == ("3.1 s", "3.1 s", "-")
    assert alone["choosing hot"] == "-", "it has nothing hot"
    assert hot["fastest"] == "25 % hot (heads), compressed"
    parts = ("prepared", "order", "compression", "choosing hot")
    assert [hot[part] for part in parts] == ["4 s", "3.1 s", "500 ms", "400 ms"]
    assert int(hot["pays after"].removesuffix(" runs")) == pytest.approx(4 / 0.06, abs=2)
    said = " ".join(" ".join(lines).split())
    assert "Prepared once before all runs, in none of their times: order 3.1 s, compression (of bfs" in said
    assert "Not timed by these rows, and not counted: first neighbours of plain lists." in said


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("file", [ANSWERS, WALKED])
def test_what_is_prepared_stays_on_a_narrow_screen(file, width, capsys, monkeypatch):
    lines = screen(file, capsys, monkeypatch, width)
    assert max(map(len, lines)) <= width
    there = cells(lines)
    assert all(re.fullmatch(r"[\d.]+ s", one["prepared"]) for one in there)
    if file is WALKED:
        assert all(one["pays after"].endswith(" runs") for one in there)
    if width == 160:
        assert all("GPU memory" in one and one["order"].endswith(" s") for one in there)


def test_where_there_is_no_walk_to_pay_beside_it_is_said(tmp_path, capsys, monkeypatch):
    said = " ".join(" ".join(screen(ANSWERS, capsys, monkeypatch)).split())
    assert "No walk over whole lists of these graphs in host memory is there" in said
    assert "EMOGI" not in said
    file = beside_a_walk()
    add_lean(file, "sssp", KRON, 0.1, weights="1-255")
    said = " ".join(" ".join(screen(file.write(tmp_path / "r.json"), capsys, monkeypatch)).split())
    assert f"No walk over whole lists of sssp {KRON}, weights 1-255 in host memory is there" in said
    assert "beside EMOGI's best" in said
    both = " ".join(" ".join(screen(WALKED, capsys, monkeypatch)).split())
    assert "No walk" not in both


def test_what_is_not_faster_pays_never(tmp_path, capsys, monkeypatch):
    file = beside_a_walk(0.2)
    alone, hot = cells(screen(file.write(tmp_path / "result.json"), capsys, monkeypatch))
    assert (alone["pays after"], hot["pays after"]) == ("never", "never")


def test_where_nothing_crosses_the_link_a_model_of_it_is_left_out(tmp_path, capsys, monkeypatch):
    file = beside_a_walk()
    crossing_nothing(file)
    made_of = cells(screen(file.write(tmp_path / "result.json"), capsys, monkeypatch))
    [inside] = [one for one in made_of if one["fastest"] == "25 % hot (lists)"]
    assert (inside["over the link"], inside["model"]) == ("0", "-")
    assert all(one["model"] == "-20 %" for one in made_of if one is not inside)
    panel = next(one for one in made(tmp_path, "19", file).panels if one.title == EVERY)
    [line] = [row for row in panel.rows if row.name == "25 % hot (lists)"]
    by_name = dict(zip(panel.columns[1:], (cell.text for cell in line.cells), strict=True))
    assert [by_name[name] for name in ("link bytes", "model", "off", "its bytes", "off by")] == [
        "0", "–", "–", "0", "–"
    ]  # fmt: skip


def test_figure_19_has_what_is_prepared_part_by_part(tmp_path):
    file = beside_a_walk()
    panel = made(tmp_path, "19", file).panels[-1]
    assert panel.columns == (
        "technique", "graph", "time", "prepared", "order", "compression", "choosing hot", "saves a run",
        "pays after",
    )  # fmt: skip
    lines = {row.name: [cell.text for cell in row.cells] for row in panel.rows}
    assert lines["bfs, alone"][2:6] == ["3.1 s", "3.1 s", "–", "–"]
    assert lines["bfs, compressed, 25 % hot (heads)"][2:6] == ["4 s", "3.1 s", "500 ms", "400 ms"]
    [seconds] = only(table(tmp_path, "19", file), panel=panel.title, series="bfs, alone", x="order")
    assert (float(seconds["y"]), seconds["y_unit"], seconds["label"]) == (3.1, "s", "measured")
    notes = " ".join(made(tmp_path, "19", file).notes)
    assert "Not timed by these rows, and not counted: first neighbours of plain lists." in notes
    assert "No walk" not in notes


def test_figure_19_says_that_it_has_no_walk(tmp_path):
    file = machine_file()
    add_lean(file, "cc", KRON, 0.03)
    figure = made(tmp_path, "19", file)
    assert any(note.startswith("No walk over whole lists of these graphs") for note in figure.notes)
    [line] = figure.panels[-1].rows
    assert [cell.text for cell in line.cells][-2:] == ["–", "–"]


@pytest.mark.parametrize(("algorithm", "lists", "untimed"), [
    ("bfs", "plain", ("first neighbours",)),
    ("bfs", "compressed", ()),
    ("cc", "plain", ("first neighbours", "list phases")),
    ("cc", "compressed", ("list phases",)),
    ("pr", "plain", ()),
    ("sssp", "plain", ()),
])  # fmt: skip
def test_what_a_row_needs_and_does_not_time_is_known(tmp_path, algorithm, lists, untimed):
    row = add_lean(machine_file(), algorithm, KRON, 0.1, lists=lists)
    assert prepared(row, tmp_path).untimed == untimed


def test_first_neighbours_and_phases_that_a_row_times_are_counted(tmp_path):
    row = add_lean(machine_file(), "cc", KRON, 0.1)
    row["counters"] |= {"firsts_s": 0.25, "phases_s": 0.125}
    found = prepared(row, tmp_path)
    assert found.untimed == ()
    assert found.seconds == pytest.approx(3.1 + 0.25 + 0.125)
    assert lean_preparing.spent([found]) == (
        "order 3.1 s, first neighbours of plain lists 250 ms, list phases of cc 125 ms"
    )


def test_where_nothing_is_read_no_list_is_without_a_hot_part(tmp_path):
    row = crossing_nothing(machine_file())
    assert prepared(row, tmp_path).untimed == ()


def test_rows_that_do_not_say_what_was_prepared_stand_without(tmp_path, capsys, monkeypatch):
    file = beside_a_walk()
    for row in file.rows:
        row.get("counters", {}).pop("prepare_s", None)
    path = file.write(tmp_path / "result.json")
    [machine] = machines([reader.read(path)])
    assert {gain.best.prepared for gain in lean.gains(machine)} == {None}
    assert {gain.best.paid(gain.emogi) for gain in lean.gains(machine)} == {""}
    said = " ".join(" ".join(screen(path, capsys, monkeypatch)).split())
    assert "in none of their times: no row says what." in said


def test_json_has_the_parts(tmp_path, capsys):
    path = beside_a_walk().write(tmp_path / "result.json")
    assert main(["summary", "--json", str(path)]) == 0
    alone, hot = json.loads(capsys.readouterr().out)["fewer_bytes"]
    assert alone["prepared"] == {"order": 3.1}
    assert alone["prepared_untimed"] == ["first neighbours"]
    assert hot["prepared"] == {"order": 3.1, "compression": 0.5, "choosing hot": 0.4}
    assert hot["prepared_s"] == pytest.approx(4.0)


@pytest.mark.parametrize("block", ["story", "pays", "answers", "together", "scale25", "scale27"])
def test_a_table_of_the_page_says_beside_it_what_was_prepared_before(block):
    """In the paragraph above, or of whole answers in the one below."""
    text = (PROJECT / "docs/lean.md").read_text()
    begin = text.index(f"<!-- begin: scripts/docs lean.{block} -->")
    above = text[:begin].rstrip().rpartition("\n\n")[2]
    below = text[begin:].split("<!-- end: scripts/docs -->")[1].lstrip().partition("\n\n")[0]
    assert "<!-- n: lean.once " in (below if block == "answers" else above)
