"""`scripts/sanitize`: what its exit status says, with stand-ins for the tool, the GPU and the tests."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "sanitize"
TOOL = """#!/bin/sh
while [ "${1#--}" != "$1" ] || [ "$1" = memcheck ] || [ "$1" = racecheck ] || [ "$1" = 9 ]; do shift; done
echo "$*" >>"$SEEN"
exec "$@"
"""
TESTS = """#!/bin/sh
case $1 in *none*) echo "[==========] 0 tests from 0 test suites ran. (0 ms total)"; exit 0 ;; esac
echo "[==========] 3 tests from 2 test suites ran. (5 ms total)"
case "$1:$GTEST_SHARD_INDEX" in *broken*:1) echo "========= Invalid __global__ read"; exit 9 ;; esac
"""


@pytest.fixture
def sanitize(tmp_path):
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    write("compute-sanitizer", TOOL)
    write("nvidia-smi", "#!/bin/sh\nexit 0\n")
    write("nproc", "#!/bin/sh\necho 2\n")
    tests = write("gpu_test", TESTS)

    def run(*arguments: str, program: Path = tests, path: str = f"{tmp_path}:/usr/bin:/bin"):
        env = os.environ | {"PATH": path, "SEEN": str(tmp_path / "seen")}
        done = subprocess.run(
            [SCRIPT, *arguments, program], env=env, capture_output=True, text=True, check=False
        )
        seen = tmp_path / "seen"
        return done.returncode, done.stdout + done.stderr, seen.read_text() if seen.exists() else ""

    return run


def test_clean_shards_are_counted_together(sanitize):
    status, said, seen = sanitize()
    assert (status, "memcheck: 6 tests, clean" in said) == (0, True)
    assert seen.count("LostGpu.*") == 2


def test_one_shard_with_a_fault_is_shown_whole(sanitize):
    status, said, _ = sanitize("-f", "broken*", "-t", "racecheck")
    assert status == 1
    assert "Invalid __global__ read" in said
    assert "NOT clean" in said


def test_a_filter_with_exceptions_keeps_them(sanitize):
    _, _, seen = sanitize("-f", "Walks.*-*star*", "-j", "1")
    assert "--gtest_filter=Walks.*-*star*:*legacy" in seen


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("-t", "valgrind"), "valgrind is no tool"),
        (("-j", "0"), "0 shards"),
        (("-f",), "lacks its argument"),
        (("-f", "none"), "picks no test"),
    ],
)
def test_what_cannot_run_is_refused(sanitize, arguments, why):
    status, said, _ = sanitize(*arguments) if arguments != ("-f",) else sanitize(program="-f")
    assert status == 2
    assert why in said


def test_what_is_missing_is_named(sanitize, tmp_path):
    status, said, _ = sanitize(program=tmp_path / "nowhere")
    assert (status, "nowhere is not there" in said) == (2, True)
    (tmp_path / "compute-sanitizer").unlink()
    status, said, _ = sanitize()
    assert (status, "compute-sanitizer (of the CUDA Toolkit) is not in PATH" in said) == (2, True)


def test_without_room_for_logs_nothing_is_said_of_the_tests(sanitize, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/dev/full")
    status, said, seen = sanitize()
    assert (status, seen) == (2, "")
    assert said.endswith("sanitize: /dev/full takes no folder of logs: make room there or set TMPDIR\n")


def test_help_by_either_name_and_words_that_are_too_many(sanitize):
    for flag in ("-h", "--help"):
        status, said, _ = sanitize(flag)
        assert status == 0
        assert said.startswith("GPU tests under NVIDIA's compute-sanitizer")
    status, said, _ = sanitize("one")
    assert status == 2
    assert "gpu_test is one argument too many; see -h" in said
