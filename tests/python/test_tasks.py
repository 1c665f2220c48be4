"""Twenty questions of an operator, an author and a buyer: a command each, its answer on one screen."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

import synthetic_fleet
from command_lines import PROGRAM
from grainscope_report.cli import main
from stored import PROJECT, ROOT

DOCUMENT = (PROJECT / "docs/running.md").read_text()
COLUMNS, LINES = 100, 40
RUNS = ROOT / "acceptance"
QUICK, FULL, HELD = RUNS / "h100-c2.json.gz", ROOT / "h100-full.json.gz", ROOT / "h100-host-memory.json.gz"
TWO, PAGES = RUNS / "two-h200-1.json.gz", ROOT / "h100-pages.json.gz"
NAMES = {
    "a": QUICK,
    "b": RUNS / "h200-c2.json.gz",
    "nvbandwidth.txt": PROJECT / "tests/golden/others/nvbandwidth-0.8.txt",
    "workload.toml": PROJECT / "docs/examples/recommender.toml",
}
# The command as the document has it, the run that it is asked of, its status, and what its answer says.
TASKS = (
    ("ask run1 h2d pinned 64MiB", QUICK, 0, r"flush on 64 MiB 54\.79 GB/s ± 0\.8 %"),
    ("ask run1 how sure is h2d pinned 64MiB", QUICK, 0, r"visits by visits by runs .* 3 ± 0\.\d % "),
    ("ask run1 best way for 4 KiB pieces", QUICK, 0, r"fastest is zero_copy_random, 50\.5 GB/s"),
    ("ask run1 crossover copy zero-copy", QUICK, 0, r"- .* zero-copy read .* pinned copy"),
    ("ask run1 pcie generation", QUICK, 0, r"node 0 → GPU 0 55\.1 .* PCIe 5 ×16"),
    (
        "ask run1 where does random reading fall",
        FULL,
        0,
        r"32 B rows as asked up to 545 MiB.* row 128 B 50\.97 .* 14\.7 ",
    ),
    ("ask run1 best memory for random 128 B rows", HELD, 0, r"managed memory on the host 43\.0, 10\.5×"),
    ("ask run1 kernel launch", QUICK, 0, r" launch \d\S* µs each ± "),
    ("ask run1 gpu 0 gpu 1", TWO, 0, r"GPU 1 against GPU 0: .* of 96 questions"),
    ("matrix run1", TWO, 0, r"GPU 1 396\.9 ± 0\.8 %"),
    ("dispatch run1 --header pages.h", PAGES, 0, r"4 KiB 4096 kernel 48\.37 .* written: pages\.h"),
    ("list run1 --flag", QUICK, 0, r"bimodal 12 .* the median stands"),
    ("check run1 --rules pcie5", QUICK, 5, r"24 passed.* next: grainscope --preset acceptance"),
    (
        "compare a b",
        QUICK,
        1,
        r"B is faster in 41 .* faster 13 of 16 0\.706 1504 GB/s 2130 GB/s transfer/local",
    ),
    ("env diff a b", QUICK, 1, r"gpus\.name NVIDIA H100 80GB HBM3 NVIDIA H200"),
    ("plot run1 --figures 5.1 --column 85mm --format pdf", QUICK, 0, r"panel_1_column\.pdf"),
    ("import nvbandwidth.txt --with run1", FULL, 0, r"host_to_device_memcpy_ce 1 55\.21 GB/s 54\.37 GB/s"),
    ("evaluate workload.toml", QUICK, 0, r"Buy H100 .* up to a price of 32,\d+"),
)


@pytest.fixture
def asked(tmp_path, capsys, monkeypatch):
    """Gives the status and the screen of a command whose names are those of the document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))

    def of(command: str, names: dict[str, Path]) -> tuple[int, str]:
        assert f"`grainscope-report {command}`" in DOCUMENT
        status = main([str(names.get(word, word)) for word in shlex.split(command)])
        return status, one_screen(capsys.readouterr().out)

    return of


def one_screen(out: str) -> str:
    """What stands on a screen, in one line."""
    assert sum(max(1, -(-len(line) // COLUMNS)) for line in out.splitlines()) <= LINES
    return " ".join(out.split())


@pytest.mark.parametrize(("command", "run", "status", "said"), TASKS, ids=[task[0] for task in TASKS])
def test_a_question_has_one_command_and_one_screen(asked, command, run, status, said):
    found, screen = asked(command, NAMES | {"run1": run})
    assert found == status
    assert re.search(said, screen), screen


def test_slow_nodes_and_the_drift_of_one_are_a_command_each(asked, tmp_path):
    pytest.importorskip("duckdb")
    few = frozenset({"transfer/memcpy", "host/memcpy"})
    for node in range(8):
        slow = {"transfer/memcpy": 1.2} if node == 3 else {}
        synthetic_fleet.write(tmp_path / "nodes", node, families=few, slow=slow)
    status, screen = asked("fleet nodes/", {"nodes/": tmp_path / "nodes"})
    assert status == 1
    assert re.search(r"node-00003 transfer/memcpy .*\+2\d\.\d %", screen), screen
    for run in range(12):
        slow = {"transfer/memcpy": 1.2} if run >= 7 else {}
        synthetic_fleet.write(tmp_path / "runs" / f"run{run}", 1, run, families=few, day=run, slow=slow)
    status, screen = asked("trend runs/*", {"runs/*": tmp_path / "runs"})
    assert status == 1
    assert "most transfer/memcpy, +" in screen


@pytest.mark.skipif(PROGRAM is None, reason="GRAINSCOPE_PROGRAM names no built program")
def test_how_long_full_takes_is_one_command():
    assert "`grainscope --preset full --plan`" in DOCUMENT
    ended = subprocess.run(
        [PROGRAM, "--preset", "full", "--plan"], capture_output=True, text=True, check=True
    )
    assert re.search(r"all \d+ \d.* (s|min)", one_screen(ended.stdout))
