"""docs/adding-a-benchmark.md, followed word by word, gives a row, a line of summary and a point drawn."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")
BUILD = Path(PROGRAM).parent.parent if PROGRAM else None
GUIDE = ROOT / "docs/adding-a-benchmark.md"
BLOCK = re.compile(r'^```\w+ (file|add)=(\S+)(?: after="([^\n]*)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.skipif(
    BUILD is None or not (BUILD / "compile_commands.json").exists(),
    reason="GRAINSCOPE_PROGRAM names no program in a build folder",
)


def follow(guide: str, copy: Path) -> None:
    """Does what the guide's blocks say."""
    for action, path, after, text in BLOCK.findall(guide):
        target = copy / path
        if action == "file":
            target.write_text(text)
            continue
        before = target.read_text()
        anchor = after.replace("\\n", "\n")
        assert before.count(anchor) == 1, f"{path} does not have {anchor!r} once"
        joint = "" if anchor.endswith("\n") else "\n"
        target.write_text(
            before.replace(anchor, anchor + joint + text.rstrip("\n") + ("\n" if not joint else ""))
        )


def compile_in(copy: Path, name: str) -> Path:
    """Compiles a source of the copy as the build compiles the project's families.cpp."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    like = next(each for each in commands if each["file"].endswith("/benchmarks/families.cpp"))
    words = [word for word in shlex.split(like["command"]) if Path(word).name != "ccache"]
    folder = str(Path(like["file"]).parent)
    target = copy / f"{Path(name).name}.o"
    words = [word.replace(folder, str(copy / "benchmarks")) for word in words]
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(copy / f"benchmarks/{name}.cpp")
    keep = [
        word for i, word in enumerate(words) if word != "-MD" and words[i - 1 : i] not in (["-MT"], ["-MF"])
    ]
    keep = [
        word
        for word in keep
        if word not in ("-MT", "-MF", "-Winvalid-pch") and not word.endswith("cmake_pch.hxx")
    ]
    subprocess.run([word for word in keep if word != "-include"], check=True, cwd=like["directory"])
    return target


def link(copy: Path, objects: list[Path]) -> Path:
    """Links as the build links the program, with these objects before the libraries."""
    said = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", "benchmarks/grainscope"],
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode == 0:
        command = said.stdout.strip().splitlines()[-1]
    else:
        command = (BUILD / "benchmarks/CMakeFiles/grainscope_program.dir/link.txt").read_text()
    words = shlex.split(command.split("&&")[1] if "&&" in command else command)
    folder = BUILD if said.returncode == 0 else BUILD / "benchmarks"
    program = copy / "grainscope"
    words[words.index("-o") + 1] = str(program)
    main = next(i for i, word in enumerate(words) if word.endswith("main.cpp.o"))
    words[main + 1 : main + 1] = map(str, objects)
    subprocess.run(words, check=True, cwd=folder)
    return program


def report(*arguments) -> str:
    """What a command of the scripts prints."""
    command = [sys.executable, ROOT / "scripts/grainscope-report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_guide_followed_word_by_word_gives_a_row_a_line_and_a_point(tmp_path):
    shutil.copytree(ROOT / "benchmarks", tmp_path / "benchmarks")
    follow(GUIDE.read_text(), tmp_path)
    program = link(tmp_path, [compile_in(tmp_path, name) for name in ("host/example", "families", "presets")])
    run = subprocess.run(
        [program, "--preset=smoke", "--benchmark_filter=^host/example", f"--out={tmp_path / 'run'}"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    rows = json.loads((tmp_path / "run/result.json").read_text())["benchmarks"]
    assert [row["status"] for row in rows] == ["ok"] * len(rows)
    assert rows[0]["bytes"] == 1 << 20
    families = json.loads(
        subprocess.run([program, "--families=json"], capture_output=True, check=True).stdout
    )
    assert "host/example" in [family["name"] for family in families]
    assert "host/example" in report("list", tmp_path / "run")
    assert re.search(r"^host/example\n  all +\d", report("summary", "--full", tmp_path / "run"), re.MULTILINE)
    sizes = (64 << 10, 1 << 20)
    run = [program, "--preset=smoke", "--benchmark_filter=^host/example", f"--out={tmp_path / 'sizes'}"]
    subprocess.run([*run, "--axis=bytes=64KiB,1MiB"], capture_output=True, check=True)
    said = report("plot", tmp_path / "sizes", "-o", tmp_path / "figures", "--format", "png")
    assert "figure o: " in said
    [table] = (tmp_path / "figures").glob("*.csv")
    points = [row for row in csv.DictReader(table.read_text().splitlines()) if row["kind"] == "point"]
    assert {row["panel"] for row in points} == {"host/example"}
    assert {float(row["x"]) for row in points} == set(sizes)
    assert all(float(row["y"]) > 0 and row["y_unit"] == "GB/s" for row in points)


def test_a_guide_whose_anchor_is_gone_is_seen(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    with pytest.raises(AssertionError):
        follow('```text add=a.txt after="two"\nthree\n```\n', tmp_path)
