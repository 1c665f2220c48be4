"""Screens: a summary, a comparison and a verdict each fit on one; the digest and findings behind them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stored
from grainscope_report import analysis, findings, metrics, reader, uncertainty
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.groups import transfer
from grainscope_report.machine import machines
from grainscope_report.reader import read
from grainscope_report.statistics import Estimate
from planted import SITE, add_copy, linked_file, pinned_copy
from stored import PROJECT, ROOT
from synthetic import KIB, MIB, File

LAUNCHER = PROJECT / "scripts" / "grainscope-report"
COMMITTED = sorted(path for pattern in ("*.json", "*.json.gz") for path in ROOT.rglob(pattern))
RUNS = [
    path
    for path in COMMITTED
    if path.parent in (ROOT, ROOT / "acceptance") and not path.name.startswith("manifest")
]
MADE = ("h100", "two_nodes", "cpu_only", "linked", "crowded", "modelling", "learning", "leaning")
MOST = 40


def screen(path: Path, capsys, monkeypatch, width: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["summary", str(path)]) == 0
    return capsys.readouterr().out.splitlines()


def height(lines: list[str], width: int) -> int:
    """How many lines of a terminal they take."""
    return sum(max(1, -(-len(line) // width)) for line in lines)


def wrapped(lines: list[str]) -> list[str]:
    """Without the commands, which are there to be copied, and without words that no line can hold."""
    return [line for line in lines[: lines.index("Next")] if " " in line.strip()]


def numbers(lines: list[str]) -> list[str]:
    """The five numbers with their units."""
    head = next(at for at, line in enumerate(lines) if line.startswith("Numbers"))
    return re.findall(r"[0-9.]+ (?:GB/s|[µnm]?s)\b", " ".join(lines[head + 1 :][:5]))


def test_the_most_that_a_board_takes_is_shown_where_it_was_read(capsys, monkeypatch):
    found = [
        line for line in screen(ROOT / "h200-power.json.gz", capsys, monkeypatch, 100) if "board" in line
    ]
    assert [re.sub(" +", " ", line) for line in found] == [
        "GPU's board at most 581 W transfer/local copy_engine 512 MiB"
    ]
    # A run that was not to read it has it of one row.
    for path in (ROOT / "h100-pages.json.gz", ACCEPTANCE / "h100-d.json.gz"):
        assert not any("board at most" in line for line in screen(path, capsys, monkeypatch, 100))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_a_committed_run_is_one_screen(path, capsys, monkeypatch):
    lines = screen(path, capsys, monkeypatch, 100)
    assert height(lines, 100) <= MOST
    assert max(map(len, wrapped(lines))) <= 100
    assert any(line.startswith("Numbers") for line in lines)
    assert lines[lines.index("Next") + 1].endswith(f"summary {path} --full")


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_run_of_any_kind_is_one_screen(name, width, files, capsys, monkeypatch):
    lines = screen(files[name], capsys, monkeypatch, width)
    assert height(lines, width) <= (MOST if width >= 100 else MOST + 6)
    assert max(map(len, wrapped(lines))) <= width


@pytest.mark.parametrize("name", MADE)
def test_40_columns_wrap_and_cut_no_number(name, files, capsys, monkeypatch):
    narrow = screen(files[name], capsys, monkeypatch, 40)
    wide = screen(files[name], capsys, monkeypatch, 160)
    assert numbers(narrow) == numbers(wide) != []


def test_a_smoke_of_one_row_is_a_screen(tmp_path, capsys, monkeypatch):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.add("transfer/memcpy", pinned_copy(MIB), SITE, 20e-6)
    lines = screen(file.write(tmp_path / "result.json"), capsys, monkeypatch, 100)
    assert "1 row: 1 measured" in " ".join(lines[:4])
    assert any("smallest pinned copy to the GPU" in line and "20 µs" in line for line in lines)


def test_a_run_without_rows_is_a_screen(tmp_path, capsys, monkeypatch):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    lines = screen(file.write(tmp_path / "result.json"), capsys, monkeypatch, 100)
    assert "No row has a number." in lines


def test_modelled_rows_are_called_modelled(files, capsys, monkeypatch):
    lines = screen(files["modelling"], capsys, monkeypatch, 100)
    start = next(at for at, line in enumerate(lines) if line.startswith("Numbers"))
    modelled = [line for line in lines[start + 1 : start + 6] if line.startswith("model/")]
    assert modelled
    assert all("modelled" in line for line in modelled)


def test_what_failed_comes_first_with_the_command_that_lists_it(tmp_path, capsys, monkeypatch):
    file = linked_file()
    add_copy(file, 50.0, "pinned_to_gpu", MIB)
    file.lose("failed", "bytes differ at 17", "transfer/memcpy", pinned_copy(2 * MIB), SITE)
    path = file.write(tmp_path / "result.json")
    lines = screen(path, capsys, monkeypatch, 100)
    assert lines[lines.index("Odd") + 1] == "  - failed: 1 of transfer/memcpy: bytes differ at 17"
    assert lines[lines.index("Next") + 2].endswith(f"list {path} --status failed")


def test_a_run_that_is_not_complete_says_so_and_how_to_go_on(tmp_path, capsys, monkeypatch):
    file = linked_file()
    add_copy(file, 50.0, "pinned_to_gpu", MIB)
    path = file.write(tmp_path / "result.json")
    document = json.loads(path.read_text())
    document["context"]["run"] |= {"complete": False, "why_incomplete": "stopped by SIGTERM"}
    path.write_text(json.dumps(document))
    # Without a journal there is nothing to go on from.
    lines = screen(path, capsys, monkeypatch, 100)
    assert "The run is not complete: stopped by SIGTERM" in lines
    assert not any("--resume" in line for line in lines)
    (tmp_path / "journal.jsonl").touch()
    lines = screen(path, capsys, monkeypatch, 100)
    assert lines[lines.index("Next") + 2].endswith(f"grainscope --resume {tmp_path}")
    renamed = path.rename(tmp_path / "h100.json")
    assert not any("--resume" in line for line in screen(renamed, capsys, monkeypatch, 100))


@pytest.mark.parametrize(("count", "said"), [
    (1, "1 differs by visit, 1 was slower alone, 1 has two speeds, 1 is uncertain by more than 5 %"),
    (2, "2 differ by visit, 2 were slower alone, 2 have two speeds, 2 are uncertain by more than 5 %"),
])  # fmt: skip
def test_flags_are_counted_in_grammar(tmp_path, capsys, monkeypatch, count, said):
    file = linked_file()
    for size in range(count):
        flags = ("visits_differ", "slower_alone", "bimodal", "wide_interval")
        file.add("transfer/memcpy", pinned_copy(MIB << size), SITE, 1e-4 * (1 << size), flags=flags)
    assert said in " ".join(map(str.strip, screen(file.write(tmp_path / "r.json"), capsys, monkeypatch, 140)))


def test_the_command_that_lists_flags_names_the_file(tmp_path, capsys, monkeypatch):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.add("transfer/memcpy", pinned_copy(MIB), SITE, 1e-4, flags=["bimodal"])
    path = file.write(tmp_path / "r.json")
    lines = screen(path, capsys, monkeypatch, 140)
    [command] = [line.split(":", 1)[1].split() for line in lines if line.startswith("  flags:")]
    assert command == ["grainscope-report", "list", str(path), "--flag"]
    assert main(command[1:]) == 0
    assert "bimodal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [(13.79, 10.0, 19.24, "34 %"), (1.0, 0.5, 2.0, "75 %"), (1.0, 0.99, 1.0, "0.5 %"), (1.0, 1.0, 1.0, "-")],
)
def test_plus_minus_is_half_of_the_interval_over_the_value(value, low, high, said):
    """As the program prints it, and not the wider side of an interval."""
    assert metrics.plus_minus(Estimate(value, low, high)) == said


def test_several_next_commands_are_told_apart(capsys, monkeypatch):
    path = ROOT / "acceptance" / "no-gpu-1.json.gz"
    out = " ".join(" ".join(shown(capsys, monkeypatch, 140, "check", path, "--rules", "nvlink")).split())
    assert "next: `grainscope --preset acceptance --out DIR` and `nvidia-smi -L`" in out


def test_one_family_is_shown_alone(files, capsys):
    assert main(["summary", str(files["h100"]), "host"]) == 0
    out = capsys.readouterr().out
    assert "host/memcpy" in out
    assert "transfer/memcpy" not in out.replace("of transfer/memcpy", "")
    assert main(["summary", str(files["h100"]), "transfer/memcpy/"]) == 0
    assert "\nhost/memcpy" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("run", "families"),
    [("h100-c2", ("host", "latency/chase", "transfer/memcpy")), ("two-h200-1", ("transfer/peer", "host"))],
)
def test_a_link_has_one_interval_whatever_family_is_shown(capsys, monkeypatch, run, families):
    """It is that of a row of the whole run, also where the family has no such row."""
    path = ROOT / "acceptance" / f"{run}.json.gz"

    def links(*arguments: str) -> list[str]:
        return [
            " ".join(line.split())
            for line in shown(capsys, monkeypatch, 140, "summary", path, *arguments)
            if re.match(r"GPU \d+.* → .*\[", line)
        ]

    whole = links("--full")
    assert whole
    for family in families:
        assert links(family) == whole


def test_a_family_that_is_not_there_is_a_sentence_with_the_nearest(files, capsys):
    assert main(["summary", str(files["h100"]), "tranfser/memcpy"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "has no family tranfser/memcpy: did you mean transfer/memcpy? It has " in said.err


def test_a_tie_that_one_interval_decides_is_not_told_in_two_ways(tmp_path):
    """Of two ways of which one leads by less than what counts, none overtakes the other there."""
    file = linked_file()
    for size, pinned, kernel in (
        (MIB, 30.0, 40.0),
        (2 * MIB, 40.0, 46.0),
        (4 * MIB, 48.4, 48.0),
        (16 * MIB, 54.0, 50.0),
        (64 * MIB, 55.0, 51.0),
    ):
        add_copy(file, pinned, "pinned_to_gpu", size, spread=1e-5)
        axes = {"path": "pinned_to_gpu", "bytes": size, "locality": "local"}
        file.add("transfer/kernel_copy", axes, SITE, size / kernel / 1e9, spread=1e-5)
    [choice] = transfer.choices(machines([reader.read(file.write(tmp_path / "result.json"))])[0])
    [swap] = choice.swaps
    low, high = choice.first
    assert (low.first, high.first) == (("kernel copy",), ("pinned copy",))
    # The stretches end where the crossing may be, and 4 MiB belongs to neither.
    assert low.high == pytest.approx(swap.size.low)
    assert high.low == pytest.approx(swap.size.high)
    assert 2 * MIB < swap.size.low < 4 * MIB < swap.size.high < 16 * MIB
    assert re.fullmatch(r"kernel copy up to [0-9.]+ MiB, pinned copy from [0-9.]+ MiB on", choice.text)


@pytest.mark.parametrize("path", [path for path in RUNS if "quick" in path.name or "h100-" in path.name])
def test_no_crossover_contradicts_who_is_first(path):
    [machine] = machines([reader.read(path)])
    for choice in transfer.choices(machine):
        for swap in choice.swaps:
            for one in choice.first:
                if (swap.faster in one.first) != (swap.slower in one.first):
                    assert not one.low < swap.size.value < one.high, (choice.text, swap.text)


@pytest.mark.parametrize("command", [["summary"], ["matrix"]])
def test_without_utf_8_arrows_and_units_are_spelled(files, command):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    ended = subprocess.run(
        [sys.executable, LAUNCHER, *command, files["linked"]],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "?" not in ended.stdout
    assert "+-" in ended.stdout
    assert "\033" not in ended.stdout
    assert ("node 0 -> GPU 0" in ended.stdout) == (command == ["summary"])


@pytest.mark.parametrize("command", ["summary", "summary --full", "matrix"])
def test_a_pipe_that_closes_ends_quietly(files, command):
    ended = subprocess.run(
        ["bash", "-c", f"{LAUNCHER} {command} {files['linked']} | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("\n") == 1


@pytest.mark.parametrize("name", ["h200x2-quick.json.gz", "no-gpu-quick.json", "h100-kron24.json.gz"])
def test_the_screen_is_the_golden_one(name, capsys, monkeypatch):
    # A new table of type B changes intervals and no screen.
    monkeypatch.setattr(uncertainty, "at_hand", uncertainty.TypeB)
    monkeypatch.chdir(PROJECT)
    lines = screen(Path("results/reference") / name, capsys, monkeypatch, 100)
    stored.hold(f"screen_{name.partition('.')[0]}.txt", "\n".join(lines) + "\n")


def test_many_links_are_a_line_a_kind_and_remote_ones_apart(files, capsys, monkeypatch):
    lines = screen(files["two_nodes"], capsys, monkeypatch, 100)
    start = next(at for at, line in enumerate(lines) if line.startswith("Links"))
    assert [line.split("  ")[0] for line in lines[start + 1 : start + 5]] == [
        "host → GPU, 2 links",
        "GPU → host, 2 links",
        "remote host → GPU, 2 links",
        "remote GPU → host, 2 links",
    ]


def test_sizes_on_the_screen_have_units(tmp_path, capsys, monkeypatch):
    file = linked_file()
    add_copy(file, 10.0, "pinned_to_gpu", 256 * KIB)
    lines = screen(file.write(tmp_path / "result.json"), capsys, monkeypatch, 100)
    assert any(line.endswith("  256 KiB") for line in lines)


def test_where_a_number_is_from_is_said_of_several_places_only(files, capsys, monkeypatch):
    alone = screen(files["h100"], capsys, monkeypatch, 100)
    several = screen(files["linked"], capsys, monkeypatch, 100)
    for lines, said in ((alone, False), (several, True)):
        start = next(at for at, line in enumerate(lines) if line.startswith("Numbers"))
        assert any("GPU 0" in line for line in lines[start : start + 6]) == said


def test_a_long_sentence_ends_between_its_parts(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    lines = screen(Path("h100-kron24.json.gz"), capsys, monkeypatch, 100)
    assert any(line.endswith("none for certain …") for line in lines)
    lines = screen(Path("no-gpu-quick.json"), capsys, monkeypatch, 100)
    assert any(line.endswith("no NVIDIA driver: install it …") for line in lines)


REFERENCE = Path(__file__).parents[2] / "results" / "reference"
ROWS = {"memory": "host_alloc", "order": "as_asked", "row": 128, "rows": 1 << 20, "locality": "local"}


def gathered(tmp_path, share: float, asked_bytes: int | None) -> analysis.Peak:
    """Rows of 128 MiB of which half are different, at this share of the copy peak."""
    file = File()
    file.link("host_to_gpu", 50.0)
    row = file.add("reach/gather", {**ROWS, "span": 256 * MIB}, SITE, 128 * MIB / 40e9)
    row |= {"bytes": 128 * MIB, "bandwidth_gb_s": 40.0, "link_bytes_least": 64 * MIB, "link_fraction": share}
    if asked_bytes:
        row["traffic"] = {"label": "modelled", "requests": 1, "requests_by_size": {}, "bytes": asked_bytes}
    [group] = analysis.groups_of(read(file.write(tmp_path / "file.json")))
    return group.peak


def families(tmp_path, rows: list[tuple[str, str]]) -> list[str]:
    file = File()
    for at, (family, status) in enumerate(rows):
        axes = {"bytes": MIB << at}
        if status == "ok":
            file.add(family, axes, SITE, 1e-3)
        else:
            file.lose(status, "no such thing", family, axes, SITE)
    result = read(file.write(tmp_path / "file.json"))
    return list(dict.fromkeys(group.family for group in analysis.groups_of(result)))


def test_families_stand_as_the_suite_runs_them_though_skipped_rows_come_first(tmp_path):
    skipped = ["transfer/duplex", "transfer/peer", "transfer/collective", "latency/chase", "model/uvm"]
    ran = ["host/memcpy", "transfer/duplex", "transfer/local", "latency/chase", "call"]
    rows = [*((one, "skipped") for one in skipped), *((one, "ok") for one in ran)]
    assert families(tmp_path, rows) == [
        "host/memcpy", "transfer/duplex", "transfer/local", "transfer/peer", "transfer/collective",
        "latency/chase", "call", "model/uvm",
    ]  # fmt: skip
    assert families(tmp_path, [(one, "skipped") for one in skipped]) == skipped
    assert families(tmp_path, [("model/cc", "skipped"), ("call", "failed"), ("model/cc", "ok")]) == [
        "call", "model/cc",
    ]  # fmt: skip


def test_families_of_two_reference_runs_stand_in_one_order():
    orders = []
    for name in ("h200x2-full.json.gz", "h100-full.json.gz", "h100-quick.json", "no-gpu-quick.json"):
        found = analysis.groups_of(read(REFERENCE / name))
        orders.append(list(dict.fromkeys(group.family for group in found)))
    for order in orders[1:]:
        assert order == orders[0]


@pytest.mark.parametrize(
    ("share", "asked", "said"),
    [
        (0.4, 128 * MIB, "40.0–80.0 %"),
        (0.8, 128 * MIB, "80.0–100.0 %"),  # the link is never more than full
        (0.4, 64 * MIB, "40.0 %"),
        (0.4, None, "40.0 %"),
    ],
)
def test_the_share_of_the_link_has_both_ends_where_rows_repeat(tmp_path, share, asked, said):
    assert gathered(tmp_path, share, asked).of_link == said
    [row] = read(tmp_path / "file.json").rows  # `list`, `ask` and the page say the same of a row
    assert analysis.of_link(row) == said


MOST_OF_VERDICTS = 30
ACCEPTANCE = ROOT / "acceptance"
PAIRS = {
    "two visits to a machine": (ACCEPTANCE / "h100-b1.json.gz", ACCEPTANCE / "h100-b2.json.gz"),
    "two H100": (ACCEPTANCE / "h100-a.json.gz", ACCEPTANCE / "h100-b1.json.gz"),
    "H100 and H200": (ROOT / "h100-quick.json", ROOT / "h200x2-quick.json.gz"),
    "no GPU": (ROOT / "no-gpu-quick.json", ROOT / "h100-quick.json"),
}


def shown(capsys, monkeypatch, width: int, *arguments) -> list[str]:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([str(one) for one in arguments]) in (0, 1, 5)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("width", [100, 160])
def test_a_comparison_is_one_screen(pair, width, capsys, monkeypatch):
    lines = shown(capsys, monkeypatch, width, "compare", *PAIRS[pair])
    assert height(lines, width) <= MOST_OF_VERDICTS
    # A command stands on one line, to be copied.
    assert max(len(line) for line in lines if not line.strip().startswith("`")) <= width
    assert lines[0].startswith(("B is ", "Nothing could be decided"))
    # Files keep their names, however narrow.
    for path in PAIRS[pair]:
        assert any(str(path) in line for line in lines) or len(str(path)) > width - 40


@pytest.mark.parametrize("flag", ["--full", "--all"])
def test_the_rest_of_a_comparison_is_behind_a_flag_and_whole(flag, capsys, monkeypatch):
    pair = PAIRS["two visits to a machine"]
    short = shown(capsys, monkeypatch, 100, "compare", *pair)
    full = shown(capsys, monkeypatch, 100, "compare", *pair, flag)
    assert len(full) > 3 * len(short)
    assert full[0] == short[0]
    told = [line for line in full if "slower" in line and "host_to_gpu" in line]
    assert told
    assert not any("…" in line for line in told)


def test_the_json_of_a_comparison_does_not_depend_on_the_terminal(capsys, monkeypatch):
    pair = PAIRS["two visits to a machine"]
    narrow, wide = (
        "\n".join(shown(capsys, monkeypatch, width, "compare", *pair, "--format", "json"))
        for width in (40, 160)
    )
    assert narrow == wide
    assert json.loads(narrow)


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("file", ["acceptance/h100-a.json.gz", "h100-quick.json", "no-gpu-quick.json"])
def test_a_check_is_one_screen(file, width, capsys, monkeypatch):
    lines = shown(capsys, monkeypatch, width, "check", ROOT / file, "--rules", "pcie5")
    assert height(lines, width) <= MOST_OF_VERDICTS
    assert lines[0].startswith(("ACCEPTED", "NOT ACCEPTED", "NOT DECIDED"))
    assert max(map(len, lines[1:])) <= width


def test_a_copy_has_one_uncertainty_on_every_screen(capsys, monkeypatch):
    """The links of `summary`, `ask`, `matrix` and `check` tell of the same copy of 256 MiB."""
    run = ROOT / "acceptance" / "h100-c2.json.gz"
    screens = {
        "summary": (["summary", run], r"^node 0 → GPU 0 +\S+ +(\S+ %)"),
        "ask": (["ask", run, "h2d pinned 256MiB"], r"^flush on .*?GB/s ± (\S+ %)"),
        "matrix": (["matrix", run, "transfer/memcpy"], r"^  node 0 .*? ± (.*%)$"),
        "check": (["check", run, "--rules", "pcie5", "--full"], r"pinned-256MiB-to-gpu .*GB/s ± (.*%)$"),
        "peak": (["check", run, "--rules", "pcie5", "--full"], r"copy-peak-to-gpu .*GB/s ± (.*%)$"),
    }
    told = {}
    for name, (arguments, pattern) in screens.items():
        text = "\n".join(shown(capsys, monkeypatch, 140, *arguments))
        told[name] = re.search(pattern, text, re.M)[1].strip()
    assert set(told.values()) == {"1.0 %"}


def test_an_evaluation_is_one_screen(tmp_path, capsys, monkeypatch):
    workload = PROJECT / "docs" / "examples" / "gnn-training.toml"
    lines = shown(capsys, monkeypatch, 100, "evaluate", workload, "--draws", 200, "-o", tmp_path)
    assert height(lines, 100) <= MOST_OF_VERDICTS
    assert lines[0].startswith("Speed: ")
    full = shown(capsys, monkeypatch, 100, "evaluate", workload, "--draws", 200, "-o", tmp_path, "--full")
    assert len(full) >= len(lines)


@pytest.mark.parametrize("name", ["h100", "linked", "traversing", "leaning", "learning", "tiering"])
def test_every_finding_is_plain_data_and_its_rows_are_in_the_file(show, name):
    [machine] = show(name)
    names = {row.name for row in machine.result.rows}
    found = findings.of(Analysis(machine))
    assert found
    for one in found:
        json.dumps(one.data)
        assert set(one.evidence) <= names
        assert one.evidence or rests_on_no_row(machine.result, one)


def rests_on_no_row(result, one):
    """Whether a run has no row of what is asked: it says so, or answers from the links in its context."""
    asked = {question.name: question.families for question in findings.QUESTIONS}
    families = asked[one.fact.question] if one.id == "answers" else ("",)
    return not any(row.case.family.startswith(families) for row in result.rows)


@pytest.mark.parametrize(
    "name", ["h100-quick.json", "acceptance/two-h200-1.json.gz", "no-gpu-quick.json", "h100-kron27.json.gz"]
)
def test_no_finding_of_a_reference_run_is_without_evidence(name):
    [machine] = machines([read(ROOT / name)])
    names = {row.name for row in machine.result.rows}
    for one in findings.of(Analysis(machine, every=True)):
        assert one.evidence or rests_on_no_row(machine.result, one), one
        assert set(one.evidence) <= names


def test_what_is_fitted_keeps_its_rows_to_itself(show):
    [machine] = show("linked")
    found = [one for one in findings.of(Analysis(machine, every=True)) if one.id.startswith("fits.")]
    assert found
    assert not [one for one in found if "rows" in one.data and not isinstance(one.data["rows"], int | float)]
    for one in (one for one in found if one.id == "fits.paths"):
        assert {row.case.family for row in one.fact.rows} == {one.fact.family}
        assert len(one.evidence) >= one.fact.line.sizes


def test_what_is_told_of_curves_and_graphs_names_its_rows(show):
    [machine] = show("traversing")
    said = [one for one in findings.of(Analysis(machine)) if one.id == "traversals"]
    assert said
    for one in said:
        assert one.evidence == [one.fact.best.row.name]
        assert one.figure == "16"


def test_a_run_is_worked_out_once(show, monkeypatch):
    [machine] = show("traversing")
    asked = []
    run = Analysis(machine)
    monkeypatch.setattr(
        "grainscope_report.groups.traversal_answers.answers", lambda one: asked.append(one) or []
    )
    findings.of(run)
    assert len(asked) == 1


def test_topics_may_be_left_out(show):
    [machine] = show("h100")
    found = findings.of(Analysis(machine), but=("answers", "groups"))
    assert not findings.facts(found, "answers") + findings.facts(found, "groups")


def test_the_json_of_a_summary_is_that_of_the_findings(show, files, capsys):
    [machine] = show("h100")
    assert main(["summary", "--json", str(files["h100"])]) == 0
    document = json.loads(capsys.readouterr().out)
    found = findings.of(Analysis(machine, every=True))
    for topic in ("groups", "shape", "reasons"):
        assert document[topic] == json.loads(json.dumps(findings.data(found, topic)))


def test_a_part_of_a_run_says_so_and_names_no_fastest_way(tmp_path, capsys):
    """Other parts have the other ways."""
    file = linked_file()
    for size in (64 * KIB, 64 * MIB):
        for path, gb_s in (("pinned_to_gpu", 50), ("pageable_to_gpu", 20)):
            axes = pinned_copy(size, path=path)
            file.add("transfer/memcpy", axes, SITE, size / gb_s / 1e9, spread=0.001)
    whole = file.write(tmp_path / "whole.json")
    file.context["run"]["shard"] = {"index": 2, "count": 3}
    part = file.write(tmp_path / "part.json")
    assert main(["summary", str(whole)]) == 0
    assert "Fastest by size" in capsys.readouterr().out
    assert main(["summary", str(part)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "part.json: preset full, part 2 of 3" in said
    assert "warning: this is part 2 of 3 of a run; to do: join all parts by `grainscope-report merge`" in said
    assert "Fastest by size" not in said
    assert main(["ask", str(part), "best h2d"]) == 0
    assert "This is part 2 of 3 of a run: what is fastest here may not be" in capsys.readouterr().out
