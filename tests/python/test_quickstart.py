"""scripts/quickstart, with stubs in the place of the build and of the program: what it shows, and when."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stored import ROOT as REFERENCE

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
STUB = """#!/usr/bin/env bash
set -eu
while [ "$1" != --out ]; do shift; done
mkdir -p "$2"
for visit in 1 2 3 4; do
  echo "row of visit $visit"
  echo "[$visit/4]" >&2
done
[ -z "${STUB_RESULT:-}" ] || cp "$STUB_RESULT" "$2/result.json"
exit "${STUB_STATUS:-0}"
"""


@pytest.fixture
def checkout(tmp_path):
    """A folder with quickstart, nothing to build, and the report of this checkout."""
    tmp_path = tmp_path / "a folder"
    (tmp_path / "scripts").mkdir(parents=True)
    for name in ("quickstart", "common.sh"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
    # What draws has tests of its own.
    report = 'import runpy, sys\nif sys.argv[1] in ("plot", "report"):\n    sys.exit()\n'
    report += f'sys.path.insert(0, "{SCRIPTS}")\n'
    report += f'runpy.run_path("{SCRIPTS / "grainscope-report"}", run_name="__main__")\n'
    for name, text in (
        ("scripts/setup", "#!/bin/sh\n"),
        ("scripts/grainscope-report", report),
        ("build/release/benchmarks/grainscope", STUB),
        ("bin/cmake", "#!/bin/sh\n"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return tmp_path


def started(checkout: Path, result: Path | None, status: int = 0) -> subprocess.CompletedProcess:
    path = f"{checkout / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    more = {"PATH": path, "STUB_RESULT": str(result or ""), "STUB_STATUS": str(status), "COLUMNS": "100"}
    return subprocess.run(
        [checkout / "scripts/quickstart"], capture_output=True, text=True, check=False, env=os.environ | more
    )


def test_quickstart_shows_progress_then_the_screen_and_three_ways_on(checkout):
    ended = started(checkout, REFERENCE / "h100-repeat.json")
    assert ended.returncode == 0, ended.stderr
    assert "[4/4]" in ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("NVIDIA H100 80GB HBM3")
    assert [line.split(":")[0].strip() for line in lines[-3:]] == ["operate", "publish", "buy"]
    assert "check results/quickstart-" in lines[-3]
    assert "--rules pcie5" in lines[-3]
    assert len(lines) <= 46
    assert "row of visit" not in ended.stdout
    [rows] = checkout.glob("results/quickstart-*/rows.txt")
    assert rows.read_text().count("row of visit") == 4


def test_quickstart_draws_by_what_setup_installed_beside_it(checkout):
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / ".venv/bin/python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (checkout / "bin/python3").write_text("#!/bin/sh\nexit 1\n")  # has no matplotlib
    for path in (checkout / ".venv/bin/python", checkout / "bin/python3"):
        path.chmod(0o755)
    ended = started(checkout, REFERENCE / "h100-repeat.json")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("NVIDIA H100 80GB HBM3")


def test_quickstart_without_a_link_offers_to_compare(checkout):
    ended = started(checkout, REFERENCE / "no-gpu-quick.json", 1)
    assert ended.returncode == 1
    assert "operate: scripts/grainscope-report compare results/quickstart-" in ended.stdout


def test_quickstart_says_that_there_is_no_result(checkout):
    ended = started(checkout, None, 3)
    assert ended.returncode == 3
    assert ended.stderr.splitlines()[-1] == "quickstart: no result was written (exit status 3)"
    assert ended.stdout == ""


def test_nothing_is_measured_where_what_draws_cannot_be_installed(checkout):
    setup = checkout / "scripts/setup"
    setup.write_text('#!/bin/sh\n[ "$1" = compile ] || { echo "setup: no pip" >&2; exit 3; }\n')
    ended = started(checkout, REFERENCE / "h100-repeat.json")
    assert ended.returncode == 3
    assert "setup: no pip" in ended.stderr
    assert not list(checkout.glob("results/*"))


def test_setup_says_that_python_packages_have_no_place(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "setup", tmp_path / "scripts")
    tools = tmp_path / "bin"
    tools.mkdir()
    stand_ins = {
        **dict.fromkeys(("c++", "cmake", "make"), "cat >/dev/null"),
        **dict.fromkeys(("apt-get", "sudo"), "exit 9"),  # nothing is installed, whatever is missing
        "python3": 'case "$*" in *find_spec* | *"venv .venv") exit 1 ;; esac',
    }
    for name, does in stand_ins.items():
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    (tmp_path / ".venv").touch()
    environment = os.environ | {"PATH": f"{tools}:/usr/bin:/bin"}
    ended = subprocess.run(
        [tmp_path / "scripts/setup", "build"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert ended.returncode == 3
    assert ended.stderr.startswith(f"setup: {tmp_path}/.venv cannot be made: make room for it, delete what ")
    assert ended.stderr.count("\n") == 1
