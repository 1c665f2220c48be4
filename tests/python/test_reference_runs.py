"""`scripts/reference`: the manifest of committed runs, what is stale, and how a run is taken again."""

import gzip
import importlib.machinery
import importlib.util
import json
import re
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from command_lines import PROGRAM
from grainscope_report.errors import ReportError
from stored import PROJECT
from synthetic import File

loader = importlib.machinery.SourceFileLoader("reference", str(PROJECT / "scripts/reference"))
reference = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", loader))
loader.exec_module(reference)


def test_the_manifest_is_of_the_files_that_are_there():
    assert reference.kept() == reference.manifest(reference.FOLDER), "run scripts/reference --write"


def test_every_run_is_cited():
    assert all(reference.citations(reference.FOLDER).values())


# Families with rows that had no limit before each row got one, and how many rows of the runs that are kept
# still lack it. A run that is taken again has none.
WITHOUT_LIMIT = Counter(
    {
        "call": 693,
        "gather": 11,
        "grain/gpu_memory": 154,
        "host/flush": 180,
        "host/latency": 180,
        "host/malloc": 75,
        "latency/chase": 107,
        "latency/flag": 15,
        "latency/managed_touch": 26,
        "pipeline/graphsage": 90,
        "sampling/neighbours": 78,
        "shape/batch": 132,
        "shape/copy": 376,
        "tiering/reorder": 30,
        "tiering/score": 75,
        "transfer/local": 110,
        "transfer/memcpy": 66,
        "traversal/bfs": 66,
        "traversal/cc": 44,
        "traversal/pr": 44,
        "traversal/sssp": 44,
    }
)


def without_limit(run: dict) -> Counter[str]:
    """By family, the measured rows of a run that have no physical limit."""
    return Counter(
        row["case"]["family"]
        for row in run["benchmarks"]
        if row["status"] == "ok"
        and row["label"] == "measured"
        and not ("limit_gb_s" in row or "limit_operation_s" in row)
    )


def test_rows_without_a_physical_limit_are_of_older_runs_alone():
    folder = reference.FOLDER
    paths = [*folder.glob("acceptance/*.gz"), folder / "no-gpu-quick.json"]
    found: Counter[str] = Counter()
    for path in sorted(paths):
        text = path.read_bytes()
        run = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
        limited = any("limit_operation_s" in row for row in run["benchmarks"])
        lacking = without_limit(run)
        assert not (limited and lacking), f"{path.name}: {dict(lacking)}"
        found += lacking
    assert found <= WITHOUT_LIMIT


def test_runs_of_another_version_or_without_visits_are_stale():
    run = {"schema": 2, "versions": {"call": 1, "lean/bfs": 2}}
    assert reference.stale(run, {"call": 1, "lean": 2}) == []
    assert reference.stale(run, {"call": 2, "lean": 2}) == ["call is of version 1, now 2"]
    assert reference.stale(run, {"call": 1}) == ["lean/bfs is gone"]
    assert reference.stale(run | {"schema": 1}, {"call": 1, "lean": 2}) == ["schema 1: one visit a case"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch):
    """A folder with one run, and a program that measures the same again, or what is asked of it."""
    folder = tmp_path / "reference"
    folder.mkdir()
    file = File(gpus=("NVIDIA H100",))
    file.add("transfer/memcpy", {"path": "pinned_to_gpu", "bytes": 1 << 20}, {"gpu": 0}, 1e-3)
    run = file.document()
    run["context"]["run"]["flags"] = ["--preset=quick", "--out=run1", "--max-time=500s"]
    (folder / "a.json").write_text(json.dumps(run))
    again = json.loads(json.dumps(run))
    again["context"]["run"]["id"] = "again"
    (tmp_path / "again.json").write_text(json.dumps(again))
    (tmp_path / "env.json").write_text(json.dumps(again["context"]["environment"]))
    (tmp_path / "status").write_text("0")
    program = tmp_path / "grainscope"
    program.write_text(f"""#!/bin/sh
case "$1" in
  --families=json) echo '[{{"name": "transfer/memcpy", "version": 1}}]' ;;
  --env=json) cat {tmp_path}/env.json ;;
  *) echo "$@" >> {tmp_path}/asked
     for last; do :; done
     mkdir -p "$last"; : > "$last/journal.jsonl"; cp {tmp_path}/again.json "$last/result.json"
     exit $(cat {tmp_path}/status) ;;
esac
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(reference, "FOLDER", folder)
    monkeypatch.setattr(reference, "MANIFEST", folder / "manifest.jsonl")
    monkeypatch.setattr(reference, "citations", lambda _: {"a.json": ["docs/a.md"]})
    assert reference.main(["--write"]) == 0
    return tmp_path


def main(place: Path, *arguments: str) -> int:
    return reference.main(["--program", str(place / "grainscope"), *arguments])


def test_a_file_that_changed_is_told(place, capsys):
    assert main(place) == 0
    (place / "reference/a.json").write_text((place / "again.json").read_text())
    assert main(place) == 1
    assert "a.json" in capsys.readouterr().out
    (place / "reference/a.json").unlink()
    assert main(place) == 1
    assert "a.json: is in the manifest, but not there" in capsys.readouterr().out


def test_a_run_is_taken_again_by_its_flags_and_goes_on_where_it_was_cut(place, capsys):
    path = place / "reference/a.json"
    (place / "status").write_text("1")
    assert main(place, "--take", str(path)) == 1
    assert "is not complete: the same command goes on" in capsys.readouterr().err
    assert json.loads(path.read_text())["context"]["run"]["id"] != "again"
    (place / "status").write_text("0")
    assert main(place, "--take", str(path)) == 0
    first, second = (place / "asked").read_text().splitlines()
    assert first.startswith("--preset=quick --out ")
    assert second.startswith("--resume ")
    assert json.loads(path.read_text())["context"]["run"]["id"] == "again"
    assert [each.name for each in path.parent.iterdir()] == ["a.json", "manifest.jsonl"]
    assert main(place) == 0


def test_a_run_of_another_machine_is_not_taken_here(place, capsys):
    environment = json.loads((place / "env.json").read_text())
    environment["gpus"] = environment["gpus"] * 2
    (place / "env.json").write_text(json.dumps(environment))
    assert main(place, "--take", str(place / "reference/a.json")) == 3
    assert "take it there" in capsys.readouterr().err
    assert not (place / "asked").exists()


def test_without_a_program_it_is_said_how_to_get_one(place, capsys):
    assert reference.main(["--program", str(place / "none")]) == 2
    assert "is not there: build it, or name another" in capsys.readouterr().err


def test_a_manifest_or_a_run_that_is_damaged_is_named(place, capsys):
    (place / "reference/manifest.jsonl").write_text('{"file": ')
    assert main(place) == 2
    assert "manifest.jsonl is damaged (" in capsys.readouterr().err
    assert main(place, "--write") == 0
    path = place / "reference/a.json"
    run = json.loads(path.read_text())
    del run["context"]["run"]["flags"]
    path.write_text(json.dumps(run))
    for words in ((), ("--write",), ("--take", str(path))):
        assert main(place, *words) == 2
        assert "a.json does not follow the result format" in capsys.readouterr().err
    assert not (place / "asked").exists()


def test_outside_a_checkout_it_is_said_that_git_lists_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "PROJECT", tmp_path)
    with pytest.raises(ReportError, match=r"git does not list what may cite runs \(.*\): use a checkout"):
        reference.citations(tmp_path)


def test_a_family_that_is_listed_by_another_has_its_version():
    versions = {"lean": 2, "model/traversal": 3, "model/uvm": 4, "call": 1}
    families = ("lean/bfs", "model/bfs", "model/uvm", "call", "shape/batch")
    assert [reference.version_of(family, versions) for family in families] == [2, 3, 4, 1, None]


MEMCPY = "transfer/memcpy/{}/numa:0/gpu:{}/bytes:{}"
# What the program lists here: a case on two GPUs, one that no run has, one of which a run has a skipped row;
# a family with an older row, one with none and one that is whole. The last three run here.
SKIPPED = (
    *(MEMCPY.format("pinned_to_gpu", gpu, 1 << 20) for gpu in (0, 1)),
    MEMCPY.format("pinned_to_gpu", 0, 1 << 22),
    MEMCPY.format("gpu_to_pinned", 0, 1 << 20),
)
RUNNABLE = ("grain/pieces/kernel/bytes:64", "model/bfs/naive/edge:8", "host/malloc/fill/node:0/bytes:64")
FAMILIES = ("transfer/memcpy", "grain/pieces", "model/traversal", "host/malloc")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch):
    """A folder with one run, and a program that lists more cases than it has."""
    folder = tmp_path / "reference"
    folder.mkdir()
    file = File(gpus=("NVIDIA H100",))
    site = {"numa": 0, "gpu": 3}
    file.add("transfer/memcpy", {"path": "pinned_to_gpu", "locality": "local", "bytes": 1 << 20}, site, 1e-3)
    file.lose("skipped", "no link", "transfer/memcpy", {"path": "gpu_to_pinned", "bytes": 1 << 20}, site)
    file.add("grain/pieces", {"method": "kernel", "bytes": 64}, {}, 1e-3)
    file.add("host/malloc", {"what": "fill", "bytes": 64}, {"node": 1}, 1e-3)
    (folder / "a.json").write_text(json.dumps(file.document()))
    (tmp_path / "families.json").write_text(
        json.dumps(
            [
                {
                    "name": name,
                    "version": 1 + (name == "grain/pieces"),
                    "presets": {"quick": [""], "paper": [""]},
                }
                for name in FAMILIES
            ]
        )
    )
    (tmp_path / "names").write_text("".join(f"{name}\n" for name in RUNNABLE))
    lines = [
        "family               cases        about       host        GPU",
        *(
            f"{name:20}     1       1.00 s        0 B        0 B"
            for name in ("grain/pieces", "model/bfs", "host/malloc")
        ),
        "all                      3 400 min 30 s        0 B        0 B",
        "preset paper, 3 visits to a case",
        "",
        "skipped, transfer/memcpy, 4 cases: no driver: install it",
        *(f"  {name}" for name in SKIPPED),
        "warning: other work has the CPUs",
    ]
    (tmp_path / "plan").write_text("".join(f"{line}\n" for line in lines))
    program = tmp_path / "grainscope"
    program.write_text(f"""#!/bin/sh
echo "$@" >> {tmp_path}/asked
case "$*" in
  --families=json) cat {tmp_path}/families.json ;;
  *--benchmark_list_tests) cat {tmp_path}/names ;;
  *--plan*) cat {tmp_path}/plan ;;
  *--out=*|*--resume=*) exec {sys.executable} {tmp_path}/measures.py {tmp_path} "$@" ;;
  *) echo "grainscope: what is that?" >&2; exit 2 ;;
esac
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(reference, "FOLDER", folder)
    return tmp_path


def lacking(place: Path, capsys, *words: str) -> dict[str, tuple[int, int, list[str]]]:
    """By family its cases, those with older rows alone, and the names that are missing."""
    assert main(place, "--missing", *words, "--json") == 0
    families = json.loads(capsys.readouterr().out)["families"]
    assert all(each["stored"] <= each["cases"] for each in families.values())
    return {name: (each["cases"], each["older"], each["missing"]) for name, each in families.items()}


def test_cases_without_a_row_of_todays_version_are_missing_wherever_it_was_measured(planted, capsys):
    assert lacking(planted, capsys) == {
        "grain/pieces": (1, 1, [RUNNABLE[0]]),
        "host/malloc": (1, 0, []),
        "model/bfs": (1, 0, [RUNNABLE[1]]),
        "transfer/memcpy": (3, 0, [*SKIPPED[2:]]),
    }
    families = json.loads((planted / "families.json").read_text())
    families[1]["version"] = 1
    (planted / "families.json").write_text(json.dumps(families))
    assert lacking(planted, capsys)["grain/pieces"] == (1, 0, [])
    families[1]["versions"] = {"grain/pieces": 2}  # of these rows alone, such as one algorithm's of many
    (planted / "families.json").write_text(json.dumps(families))
    assert lacking(planted, capsys)["grain/pieces"] == (1, 1, [RUNNABLE[0]])


def test_rows_of_schema_1_do_not_count(planted, capsys):
    run = json.loads((planted / "reference/a.json").read_text())
    run["context"]["schema_version"] = 1
    run["context"]["family_versions"] = {"grain/pieces": 2, "host/malloc": 1}
    for row in run["benchmarks"]:
        del row["case"]["version"]
    (planted / "reference/a.json").write_text(json.dumps(run))
    found = lacking(planted, capsys)
    assert found["grain/pieces"] == (1, 1, [RUNNABLE[0]])
    assert found["host/malloc"] == (1, 1, [RUNNABLE[2]])
    assert found["transfer/memcpy"] == (3, 1, [*SKIPPED])


def test_a_value_that_is_called_like_a_place_stays():
    runs = reference.Stored((), (), {"gpu", "peer", "node"})
    assert runs.question("reach/gather/peer/gpu:0/peer:11/nodes:4") == "reach/gather/peer/nodes:4"


def test_the_screen_says_how_many_are_missing_why_and_what_measures_them(planted, capsys):
    assert main(planted, "--missing") == 0
    said = capsys.readouterr().out
    assert "paper: 2 of 6 cases have a row in a stored run, 4 none" in said
    assert re.search(r"transfer/memcpy +1 of +3\n", said)
    assert not re.search(r"^ *host/malloc", said, re.M)
    assert "Rows of an older version or schema alone: 1 of grain/pieces" in said
    assert "2 cases skipped here: no driver: install it" in said
    assert "2 cases can run here. By the same command again, until all are there:" in said
    command = f"--missing paper --measure missing --max-time 10m --program {planted}/grainscope"
    assert f"  scripts/reference {command}\n" in said
    assert len(said.splitlines()) <= 40


def test_where_nothing_that_is_missing_can_run_no_command_is_given():
    asked = reference.argparse.Namespace(missing="paper", program=reference.usual_program())
    lacks = {"transfer/memcpy": reference.Lack(["a", "b"], ["a"], 2, 1, 0)}
    assert reference.command(asked, lacks, {"a": "no driver"}) == ["None of these can run here."]
    assert len(reference.command(asked, lacks, {})) == 2


def test_the_filters_find_what_is_missing_and_nothing_else(planted, capsys):
    assert main(planted, "--missing", "--json") == 0
    filters = json.loads(capsys.readouterr().out)["filters"]
    found = [name for name in (*SKIPPED, *RUNNABLE) for text in filters if re.search(text, name)]
    assert found == [*SKIPPED[2:], *RUNNABLE[:2]]


MEASURES = """
import json, pathlib, sys
flags = dict(word.partition("=")[::2] for word in sys.argv[2:])
place = pathlib.Path(sys.argv[1])
folder = pathlib.Path(flags.get("--out") or flags["--resume"])
folder.mkdir(exist_ok="--resume" in flags)
(folder / "journal.jsonl").touch()
result, how = folder / "result.json", place / "how"
run = json.loads((result if result.exists() else place / "reference/a.json").read_text())
run["context"]["run"] |= {"complete": not how.exists()}
run["context"]["run"] |= {"filter": flags["--benchmark_filter"]} if "--out" in flags else {}
result.write_text(json.dumps(run))
sys.exit(int(how.read_text()) if how.exists() else 0)
"""


def asked_to_measure(place: Path) -> list[str]:
    """Of the runs that the program was asked for their folders, limits left out."""
    lines = (place / "asked").read_text().splitlines()
    (place / "asked").write_text("")
    return [" ".join(re.findall(r"--(?:out|resume)=\S*/(\S+)", line)) for line in lines if "=/" in line]


def test_what_is_missing_is_measured_piece_by_piece_and_goes_on(planted, capsys):
    run = ("--missing", "--measure", str(planted / "made" / "here"))
    (planted / "measures.py").write_text(MEASURES)
    (planted / "how").write_text("0")  # its time is up before it is complete
    assert main(planted, *run, "--max-time", "90s") == 1
    assert "0 of 2 pieces complete: the same command goes on" in capsys.readouterr().out
    asked = (planted / "asked").read_text()
    assert len(re.findall(r"--preset=paper --benchmark_filter=\S+ --out=\S+ --max-time=\d\ds", asked)) == 2
    assert asked_to_measure(planted) == ["grain-pieces", "model-bfs"]
    (planted / "how").unlink()
    assert main(planted, *run, "--of", "model") == 0
    assert asked_to_measure(planted) == ["model-bfs"]
    assert "--max-time" not in (planted / "asked").read_text()
    assert main(planted, *run) == 0
    assert asked_to_measure(planted) == ["grain-pieces"]
    assert "2 of 2 pieces complete\n" in capsys.readouterr().out
    assert main(planted, *run) == 0
    assert not asked_to_measure(planted)


def test_a_piece_that_fails_does_not_keep_others_from_being_measured(planted, capsys):
    run = ("--missing", "--measure", str(planted / "made"))
    (planted / "measures.py").write_text(MEASURES)
    (planted / "how").write_text("2")
    assert main(planted, *run) == 2
    assert asked_to_measure(planted) == ["grain-pieces", "model-bfs"]
    (planted / "how").write_text("130")  # but one that is interrupted ends them
    assert main(planted, *run) == 130
    assert asked_to_measure(planted) == ["grain-pieces"]
    found = planted / "made/model-bfs/result.json"
    found.write_text(found.read_text().replace("model", "mode"))
    (planted / "how").unlink()
    capsys.readouterr()
    assert main(planted, *run) == 2
    assert "model-bfs is a run of other cases: store or move it" in capsys.readouterr().err
    assert main(planted, *run, "--of", "transfer/memcpy") == 2
    assert "nothing that is missing can run here" in capsys.readouterr().err


NAMES = [
    f"a/{way}/gpu:0/{share}bytes:{size}"
    for way in ("read", "write")
    for share in ("", "share:2.5/")
    for size in (1, 10, 100)
]


@pytest.mark.parametrize("left", range(len(NAMES)))
def test_an_expression_finds_its_names_alone(left):
    wanted = NAMES[:left] + NAMES[left + 1 :]
    text = f"^({reference.expression(wanted)})"
    assert [name for name in NAMES if re.search(text, name)] == wanted
    assert not re.search(text, "a/read/gpu:0/share:2x5/bytes:1")


def test_where_a_filter_would_be_too_long_there_are_several(monkeypatch):
    names = [f"many/one/{at}/{at * at}" for at in range(100)]
    assert [*reference.pieces("many/one", names)] == ["many-one"]
    monkeypatch.setattr(reference, "FILTER_LETTERS", 100)
    found = reference.pieces("many/one", names[::2])
    assert [*found][:2] == ["many-one-1", "many-one-2"]
    assert max(map(len, found.values())) <= 100
    assert [name for name in names if any(re.match(text, name) for text in found.values())] == names[::2]
    assert reference.pieces("none", []) == {}


def test_filters_are_joined_while_their_letters_allow(monkeypatch):
    monkeypatch.setattr(reference, "FILTER_LETTERS", 11)
    assert reference.joined(["^(one$)", "^(2$)", "^(three$)"]) == ["^(one$)", "^(2$)", "^(three$)"]
    assert reference.joined(["^(1$)", "^(2$)", "^(3$)"]) == ["^(1$)|^(2$)", "^(3$)"]
    assert reference.joined([]) == []


def test_many_families_stay_a_screen():
    lack = reference.Lack(["a"], ["a"], 1, 1, 1)
    lacks = {f"family/{at}": lack for at in range(80)}
    lines = reference.screen("paper", lacks, {"a": "a long reason " * 20})
    assert "  and 30 more families: --json" in lines
    assert len(lines) <= 31
    assert max(map(len, lines)) <= reference.WIDTH


def test_nothing_missing_is_a_sentence(planted, capsys):
    file = File()
    file.add("model/bfs", {"access": "naive", "edge": 8}, {}, 1e-3)
    (planted / "reference/a.json").write_text(json.dumps(file.document()))
    (planted / "names").write_text(f"{RUNNABLE[1]}\n")
    (planted / "plan").write_text("model/bfs   1    1.00 s      0 B       0 B\n")
    assert main(planted, "--missing") == 0
    assert capsys.readouterr().out == "paper: all 1 cases have a row in a stored run\n"
    assert main(planted, "--missing", "--measure", str(planted / "made")) == 0
    assert capsys.readouterr().out == "paper: all 1 cases have a row in a stored run\n"
    assert lacking(planted, capsys) == {"model/bfs": (1, 0, [])}


def test_what_cannot_be_asked_is_a_sentence(planted, capsys):
    assert main(planted, "--missing", "papper") == 2
    assert "there is no preset papper: did you mean paper? There are paper, quick" in capsys.readouterr().err
    assert reference.main(["--program", str(planted / "none"), "--missing"]) == 2
    assert "is not there: build it, or name another" in capsys.readouterr().err
    assert reference.main(["--program", str(planted / "plan"), "--missing"]) == 2
    assert "does not run (Permission denied)" in capsys.readouterr().err
    (planted / "families.json").unlink()
    assert main(planted, "--missing") == 2
    assert "does not answer --families=json: cat: " in capsys.readouterr().err


def test_a_folder_without_runs_is_a_sentence(planted, capsys):
    (planted / "reference/a.json").unlink()
    assert main(planted, "--missing") == 2
    assert "has no result files: all would be missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags",
    [
        ["--json"],
        ["--measure", "x"],
        ["--write", "--missing"],
        ["--missing", "--max-time", "9m"],
        ["--missing", "--measure", "x", "--max-time", "9"],
    ],
)
def test_flags_of_another_question_are_refused(flags):
    assert reference.main(flags) == 2


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_the_program_finds_by_a_filter_what_is_missing_of_paper_and_no_more(capsys):
    assert reference.main(["--program", PROGRAM, "--missing", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    missing = {name for each in told["families"].values() for name in each["missing"]}
    assert missing  # else paper was run whole, and docs/coverage.md says that it was not
    text = max(told["filters"], key=len)
    words = [PROGRAM, "--preset=paper", f"--benchmark_filter={text}"]
    listed = [
        subprocess.run([*words, *more], capture_output=True, text=True, check=True).stdout
        for more in (["--plan", "--full"], ["--benchmark_list_tests"])
    ]
    found = {*re.findall(r"^  (\S+/\S+)$", listed[0], re.M), *listed[1].splitlines()}
    assert found == {name for name in missing if re.match(text, name)}
