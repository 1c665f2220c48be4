"""Man pages and completion have every flag that the programs have, and do in a shell what they should."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grainscope_report import cli

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")
KINDS = {"man": "man/man1/{}.1", "bash": "bash-completion/completions/{}", "zsh": "zsh/site-functions/_{}"}
needs_program = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")


def manuals(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "scripts/manuals"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def share(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    made = manuals("-o", str(folder), *(["--program", PROGRAM] if PROGRAM else []))
    assert made.returncode == 0, made.stderr
    return folder


def text_of(share: Path, kind: str, name: str) -> str:
    return (share / KINDS[kind].format(name)).read_text().replace("\\-", "-").replace("\\fB", " ")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers(one)


def flags_of_program(*words: str) -> set[str]:
    asked = [PROGRAM, *words, "--help" if words else "--help=all"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    # Another way of reading than that of scripts/manuals: whatever stands first on a line and has dashes.
    return {name for line in re.findall(r"^  (-\S+)", told, re.M) for name in line.split(",")}


@pytest.mark.parametrize("kind", KINDS)
def test_every_flag_of_grainscope_report_is_there(kind, share):
    text = text_of(share, kind, "grainscope-report")
    all_parsers = list(parsers(cli.parser()))
    names = {name for one in all_parsers for action in one._actions for name in action.option_strings}
    assert len(all_parsers) > 10
    assert {"--rules", "--benchmark_filter"} & names == {"--rules"}
    assert not [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


@needs_program
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "words", [(), ("graph",), ("graph", "describe"), ("graph", "convert"), ("graph", "cache")]
)
def test_every_flag_of_grainscope_is_there(kind, words, share):
    text = text_of(share, kind, "grainscope")
    names = flags_of_program(*words)
    assert names
    assert not [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def complete(share: Path, name: str, words: str, folder: Path) -> set[str]:
    """What bash offers for the last of these words."""
    script = (
        f"source {share / KINDS['bash'].format(name)}; COMP_WORDS=({words}); "
        f"COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _{name.replace('-', '_')}; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=folder, check=True)
    return set(ran.stdout.split())


def test_bash_offers_commands_flags_words_and_files(share, tmp_path):
    (tmp_path / "run.json").write_text("{}")
    name = "grainscope-report"
    assert {"summary", "compare", "import"} <= complete(share, name, f"{name} ''", tmp_path)
    assert complete(share, name, f"{name} imp", tmp_path) == {"import"}
    assert complete(share, name, f"{name} compare --thr", tmp_path) == {"--threshold"}
    assert complete(share, name, f"{name} import --as n", tmp_path) == {"nvbandwidth", "nccl-tests"}
    assert complete(share, name, f"{name} summary r", tmp_path) == {"run.json"}
    assert complete(share, name, f"{name} env diff --h", tmp_path) == {"--help"}


@needs_program
def test_bash_offers_flags_of_the_program_and_of_its_commands(share, tmp_path):
    assert complete(share, "grainscope", "grainscope --benchmark_f", tmp_path) == {
        "--benchmark_filter", "--benchmark_format",
    }  # fmt: skip
    assert "--directed" in complete(share, "grainscope", "grainscope graph describe --", tmp_path)
    assert complete(share, "grainscope", "grainscope gr", tmp_path) == {"graph"}


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff")
def test_man_pages_are_without_faults(share):
    for page in sorted((share / "man/man1").iterdir()):
        ran = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True, check=True
        )
        assert not ran.stderr, ran.stderr


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_zsh_can_read_its_completion(share):
    for file in sorted((share / "zsh/site-functions").iterdir()):
        subprocess.run(["zsh", "-n", file], check=True)


@pytest.mark.parametrize(("content", "says"), [
    ("", "is not there: build it, or name another"),
    ("#!/bin/sh\nexit 3\n", "does not answer --help=all: status 3; build it again, or name another"),
    ("#!/bin/sh\necho hello\n", "prints no flags by --help=all: name the program grainscope"),
    ("#!/bin/sh\nprintf '\\377'\n", "prints no flags by --help=all: name the program grainscope"),
])  # fmt: skip
def test_a_program_that_tells_nothing_is_a_sentence(tmp_path, content, says):
    program = tmp_path / "program"
    if content:
        program.write_text(content)
        program.chmod(0o755)
    made = manuals("--program", str(program), "-o", str(tmp_path / "share"))
    assert (made.returncode, made.stderr) == (2, f"manuals: {program} {says}\n")
    assert not (tmp_path / "share").exists()
