"""Files that most tests read: whole synthetic machines, written once."""

import gc
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, suppress
from functools import lru_cache
from pathlib import Path

import pytest

import synthetic_busy
import synthetic_lean
import synthetic_links
import synthetic_machines
import synthetic_programs
import synthetic_training
import synthetic_traversals
from compared import type_b
from grainscope_report import reader, uncertainty
from grainscope_report.cli import SELDOM, main
from grainscope_report.commands import files as commands_files
from grainscope_report.machine import Machine, machines
from grainscope_report.model import Result
from grainscope_report.uncertainty import TypeB
from planted import FAR, SITE, pinned_copy
from stored import ROOT
from synthetic import MIB, File

# Results are objects by the hundred thousand, which tests keep: as often as usual is most of their time.
gc.set_threshold(*SELDOM)

# Of traversals as little as shows everything: they have many rows.
FEWER = {"trials": 8, "pages": (64 << 10,)}


# So many results of files that stay as they are a worker keeps: those of one test after another.
KEPT = 12


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `files`."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="session", autouse=True)
def read_once(made_once: Path) -> Iterator[None]:
    """Commands that show a committed file, or one of `files`, have it from the test before, if that had it.

    No test writes there, and what was read is never changed. Reading is most of what these commands do.
    """
    read = commands_files.results

    @lru_cache(maxsize=KEPT)
    def known(path: Path, _folder: Path, _changed: int, _table: TypeB) -> Result:
        with redirect_stderr(io.StringIO()) as said:
            [result] = read([path])
        if result.contradictions or said.getvalue():
            raise LookupError  # which is said each time that it is read
        return result

    def stays(path: Path) -> bool:
        try:
            return path.is_file() and bool({ROOT, made_once} & {*path.resolve().parents})
        except (OSError, ValueError):
            return False  # It is no path that the system takes.

    def results(paths: Sequence[Path], tables: Sequence[TypeB] = ()) -> list[Result]:
        if not tables and all(map(stays, paths)):
            here, table = Path.cwd(), uncertainty.at_hand()
            with suppress(LookupError):
                return [known(path, here, path.stat().st_mtime_ns, table) for path in paths]
        return read(paths, tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands_files, "results", results)
        yield


@pytest.fixture(scope="session")
def files(made_once: Path) -> dict[str, Path]:
    """A result file for each synthetic machine, by name."""
    root = made_once
    made = {
        "h100": synthetic_machines.h100(),
        "two_nodes": synthetic_machines.two_nodes(),
        "cpu_only": synthetic_machines.cpu_only(),
        "linked": synthetic_links.linked(),
        "alone": synthetic_links.linked(1, host="node-d"),
        "busy": synthetic_busy.busy(),
        "crowded": synthetic_busy.busy(8, host="node-f"),
        "traversing": synthetic_traversals.traversing(names=("kron24", "urand24", "web20", "power"), **FEWER),
        "faster": synthetic_traversals.traversing(
            "node-u", "NVIDIA H200", ("kron24", "urand24"), 1.9, **FEWER
        ),
        "modelling": synthetic_traversals.modelling(("kron24", "power"), FEWER["pages"]),
        "learning": synthetic_training.learning(),
        "slower": synthetic_training.learning("node-h", "NVIDIA H200", 0.8),
        "tiering": synthetic_training.tiering(),
        "leaning": synthetic_lean.leaning(),
        "predictable": synthetic_programs.predictable(),
        "packing": synthetic_lean.leaning("node-p", "NVIDIA H200", ("kron24", "web20"), compressed=True),
    }
    return {name: file.write(root / name / "result.json") for name, file in made.items()}


@pytest.fixture(scope="session")
def show(files: dict[str, Path]):
    """Gives the named machines as they are shown together."""
    results = {name: reader.read(path) for name, path in files.items()}

    def named(*names: str) -> list[Machine]:
        return machines([results[name] for name in names])

    return named


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same width and no colours wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs differ by is known of the machines of `compared.node`."""
    table = uncertainty.TypeB(type_b())
    monkeypatch.setattr(uncertainty, "at_hand", lambda: table)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file with an ok, a failed and a skipped row."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.link("host_to_gpu", 54.7)
    file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6)
    file.lose("failed", "the copy came back wrong", "transfer/memcpy", pinned_copy(2 * MIB), SITE)
    remote = pinned_copy(locality="remote")
    file.lose("skipped", "this machine has one NUMA node", "transfer/memcpy", remote, FAR)
    return file.write(tmp_path / "run" / "result.json")


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture):
    """Runs `check` on files with these rules; gives the exit status, what was said, and the JSON."""

    def run(text: str, *files: File, arguments=()) -> tuple[int, str, dict]:
        (tmp_path / "rules.toml").write_text(text)
        paths = [str(file.write(tmp_path / f"{at}.json")) for at, file in enumerate(files)]
        out = tmp_path / "out.json"
        out.unlink(missing_ok=True)
        status = main(
            ["check", *paths, "--rules", str(tmp_path / "rules.toml"), "--json", str(out), *arguments]
        )
        said = capsys.readouterr()
        return status, said.out + said.err, json.loads(out.read_text()) if out.exists() else {}

    return run
