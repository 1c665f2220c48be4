"""Comparisons: verdicts, joining by question, and which files may be compared."""

import gzip
import json
from collections import Counter
from collections.abc import Collection
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from compared import H100, SIZES, compared, copies, foreign, node, type_b, verdicts, written
from grainscope_report import uncertainty
from grainscope_report.cli import main
from grainscope_report.comparison import sides
from planted import FAR, SITE, pinned_copy
from synthetic import GIB, MIB, File

pytestmark = pytest.mark.usefixtures("known")


def test_planted_differences_and_nothing_else(tmp_path, capsys):
    slow, fast = SIZES[2], SIZES[5]
    files = written(tmp_path, node(), node("node-b", 2, slow={slow: 1.2, fast: 0.7}))
    document = compared(capsys, *files, status=1)
    assert verdicts(document) == {size: {slow: "slower", fast: "faster"}.get(size, "same") for size in SIZES}
    row = next(row for row in document["new"][0]["rows"] if row["verdict"] == "slower")
    assert row["ratio"] == pytest.approx(1.2, rel=0.01)
    assert row["low"] < 1.2 < row["high"]
    assert row["base_gb_s"] == pytest.approx(50, rel=0.01)
    assert row["new_gb_s"] == pytest.approx(50 / 1.2, rel=0.01)
    assert (row["base_visits"], row["new_visits"]) == (5, 5)
    assert {kind: count for kind, count in document["new"][0]["counts"].items() if count} == {
        "same": 6, "faster": 1, "slower": 1
    }  # fmt: skip
    assert document["new"][0]["verdict"] == (
        "B is faster in 1 and slower in 1 of 8 questions; 6 are the same within 5 %, 0 cannot be told."
    )


def test_the_same_files_always_say_the_same(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2, slow={SIZES[0]: 1.2}))
    said = [compared(capsys, *files) for _ in range(2)]
    assert said[0] == said[1]


def test_other_names_gpu_numbers_and_nodes_meet(tmp_path, capsys):
    """A node with one GPU against one with two GPUs on two nodes, numbered otherwise and named otherwise."""
    other = File(host="node-b", gpus=(H100, H100), date="2026-11-20T11:00:00+00:00")
    copies(other, 2, site={"gpu": 7, "numa": 3})
    copies(other, 3, site={"gpu": 4, "numa": 1}, slow=dict.fromkeys(SIZES, 1.02))
    copies(other, 4, site={"gpu": 4, "numa": 3}, locality="remote", slow=dict.fromkeys(SIZES, 1.8))
    for row in other.rows:
        row["name"] = row["name"].replace("transfer/memcpy", "renamed")
    document = compared(capsys, *written(tmp_path, node(), other), status=0)
    measured = [row for row in document["new"][0]["rows"] if row["verdict"] != "new"]
    assert {row["verdict"] for row in measured} == {"same"}
    assert {(row["base_sites"], row["new_sites"]) for row in measured} == {(1, 2)}
    # Sites of one round are one visit: two GPUs do not make ten of five.
    assert {row["new_visits"] for row in measured} == {5}
    assert all(row["ratio"] == pytest.approx(1.01, abs=0.006) for row in measured)
    # The remote copies are another question, which the base was not asked.
    alone = [row for row in document["new"][0]["rows"] if row["verdict"] == "new"]
    assert {row["axes"]["locality"] for row in alone} == {"remote"}


def test_locality_is_a_question_of_its_own(tmp_path, capsys):
    remote = File(host="node-b", gpus=(H100,), date="2026-11-20T11:00:00+00:00")
    copies(remote, 2, site=FAR, locality="remote")
    assert main(["compare", *written(tmp_path, node(), remote)]) == 3
    assert "answers no question" in capsys.readouterr().err


def that_lost_three() -> File:
    """A machine without the row of the first size, whose second was skipped and third failed."""
    file = node("node-b", 2)
    gone = {SIZES[0]: None, SIZES[1]: "skipped", SIZES[2]: "failed"}
    file.rows = [row for row in file.rows if row["case"]["axes"]["bytes"] not in gone]
    for size, status in gone.items():
        if status:
            file.lose(status, f"it was {status}", "transfer/memcpy", pinned_copy(size), SITE)
    return file


def test_rows_that_are_missing_skipped_or_failed(tmp_path, capsys):
    other = that_lost_three()
    document = compared(capsys, *written(tmp_path, node(), other), status=1)
    said = {row["axes"]["bytes"]: (row["verdict"], row["why"]) for row in document["new"][0]["rows"]}
    assert said[SIZES[0]] == ("missing", "no such row")
    assert said[SIZES[1]] == ("missing", "skipped: it was skipped")
    assert said[SIZES[2]] == ("failed", "failed: it was failed")
    counts = {kind: count for kind, count in document["new"][0]["counts"].items() if count}
    assert counts == {"same": 5, "failed": 1, "missing": 2}
    # What is not on both sides plays no part in the geometric mean.
    [family] = document["new"][0]["families"]
    assert family["ratio"] == pytest.approx(1.0, abs=0.005)


def test_the_first_line_says_what_was_not_compared(tmp_path, capsys):
    """Two questions are missing, one failed, and of one both sides did other work."""
    other = that_lost_three()
    for row in other.rows:
        if row["case"]["axes"]["bytes"] == SIZES[3]:
            row["bytes"] *= 2
            row["bandwidth_gb_s"] *= 2
    files = written(tmp_path, node(), other)
    left = "; B does not answer 3 of A's questions, 1 is not comparable."
    assert main(["compare", *files]) == 1
    out = capsys.readouterr().out
    assert " ".join(out.split("\n\n")[0].split()).endswith(f"in all of 4 questions{left}")
    assert "Beside these 1 failed, 2 missing, 1 not comparable; --full" in " ".join(out.split())
    assert compared(capsys, *files)["new"][0]["verdict"].endswith(left)
    assert main(["compare", *written(tmp_path / "all", node(), node("node-b", 2)), "--fail-on", "none"]) == 0
    assert "does not answer" not in capsys.readouterr().out


def test_a_site_that_failed_beside_a_good_one_is_said(tmp_path, capsys):
    other = node("node-b", 2)
    copies(other, 3, site={"gpu": 1, "numa": 0})
    row = next(row for row in other.rows if row["case"]["site"]["gpu"] == 1)
    other.rows = [one for one in other.rows if one["name"] != row["name"]]
    other.rows.append(row | {"status": "failed", "reason": "the copy came back wrong", "verified": False})
    document = compared(capsys, *written(tmp_path, node(), other), status=1)
    [failed] = [row for row in document["new"][0]["rows"] if row["verdict"] == "failed"]
    assert failed["why"] == "failed at 1 of its sites or runs"
    assert document["new"][0]["counts"]["same"] == 8


def test_a_long_filter_is_cut_where_files_have_nothing_in_common(tmp_path, capsys):
    other = File(host="node-b", gpus=(H100,), date="2026-11-20T11:00:00+00:00")
    copies(other, 2, site=FAR, locality="remote")
    other.context["run"]["filter"] = "^" + "transfer/memcpy|" * 400
    assert main(["compare", *written(tmp_path, node(), other)]) == 3
    said = capsys.readouterr().err
    assert "run.filter ^transfer/memcpy|" in said
    assert len(said) < 600


@pytest.mark.parametrize("visits", [(1, 3), (1, 1), (3, 3)])
def test_the_table_tells_what_one_visit_does_not(tmp_path, capsys, visits):
    """Where the table knows what visits and runs differ by, one visit decides, too."""
    base, new = (
        node(f"node-{at}", at + 1, visits=count, slow={SIZES[0]: 1 + at}) for at, count in enumerate(visits)
    )
    document = compared(capsys, *written(tmp_path, base, new), status=1)
    assert list(verdicts(document).values()) == ["slower", *["same"] * 7]
    said = [side["warnings"] for side in (document["base"], document["new"][0])]
    assert ["has one visit a row" in " ".join(one) for one in said] == [count == 1 for count in visits]


@pytest.mark.parametrize("visits", [(1, 1), (3, 1), (1, 3)])
def test_one_visit_alone_decides_nothing(tmp_path, capsys, monkeypatch, visits):
    monkeypatch.setattr(uncertainty, "at_hand", uncertainty.TypeB)
    base, new = (
        node(f"node-{at}", at + 1, visits=count, slow={SIZES[0]: 1 + at}) for at, count in enumerate(visits)
    )
    files = written(tmp_path, base, new)
    document = compared(capsys, *files, status=5)
    assert set(verdicts(document).values()) == {"unclear"}
    assert {row["low"] for row in document["new"][0]["rows"]} == {None}
    assert document["new"][0]["decided"] == 0
    once = " and ".join(name for name, count in zip("AB", visits, strict=True) if count == 1)
    assert main(["compare", *files]) == 5
    first = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    assert first.startswith(f"Nothing could be decided, because {once} came to each case once")
    assert "this would: `grainscope --benchmark_repetitions=3 --out DIR`" in first


def test_of_an_unknown_machine_a_change_is_at_most_likely(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(uncertainty, "at_hand", uncertainty.TypeB)
    files = written(tmp_path, node(), node("node-b", 2, slow={SIZES[2]: 1.2, SIZES[5]: 0.7}))
    document = compared(capsys, *files, status=5)
    found = verdicts(document)
    assert (found.pop(SIZES[2]), found.pop(SIZES[5])) == ("likely slower", "likely faster")
    assert not set(found.values()) & {"same", "faster", "slower"}
    assert {row["p"] for row in document["new"][0]["rows"]} == {None}
    assert not any(one["known"] for one in document["new"][0]["power"])
    main(["compare", *files])
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Nothing could be decided, because what runs on the machines of A and B differ by")
    assert "`grainscope repeat 3 --out DIR` on each of the two machines" in out
    assert "two runs of one machine may differ as much" in out


def test_a_table_that_is_given_decides(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(uncertainty, "at_hand", uncertainty.TypeB)
    other, mine = tmp_path / "other.json", tmp_path / "mine.json"
    other.write_bytes(type_b(gpu="NVIDIA H200"))
    mine.write_bytes(type_b())
    files = written(tmp_path, node(), node("node-b", 2, slow={SIZES[2]: 1.2}))
    compared(capsys, *files, "--type-b", str(other), status=5)
    document = compared(capsys, *files, "--type-b", str(other), "--type-b", str(mine), status=1)
    assert verdicts(document)[SIZES[2]] == "slower"
    wide = tmp_path / "wide.json"
    wide.write_bytes(type_b(spread=0.5))
    assert "slower" not in verdicts(compared(capsys, *files, "--type-b", str(wide), status=5)).values()


def test_only_the_side_that_is_not_known_is_named(tmp_path, capsys):
    other = node("node-b", 2)
    other.context["environment"]["gpus"] = [{"name": "NVIDIA H200"}]
    assert main(["compare", *written(tmp_path, node(), other)]) == 5
    said = " ".join(capsys.readouterr().out.split())
    assert "runs on the machine of B differ by (type B) is not known" in said
    assert "--out DIR` on that machine" in said


def test_runs_that_are_too_short_say_what_would_decide(tmp_path, capsys):
    files = written(tmp_path, node(visits=3), node("node-b", 2, visits=3))
    assert main(["compare", *files, "--threshold", "0.4%"]) == 5
    said = " ".join(capsys.readouterr().out.split())
    assert "whatever changed is smaller than these runs can show" in said
    runs = compared(capsys, *files, "--threshold", "0.4%")["new"][0]["power"][0]["runs"]
    assert runs > 1
    assert f"this would: {runs} runs of each side, compared with `--pool`" in said


def test_two_runs_of_one_machine_are_sent_to_repeat_and_its_folders_decide(tmp_path, capsys):
    """`--pool` would make one side of them and refuse; a folder of repeated runs is one side."""
    files = written(tmp_path, node(visits=3), node(seed=2, visits=3))
    assert main(["compare", *files, "--threshold", "0.4%"]) == 5
    said = " ".join(capsys.readouterr().out.split())
    runs = compared(capsys, *files, "--threshold", "0.4%")["new"][0]["power"][0]["runs"]
    assert f"this would: `grainscope repeat {runs} --out DIR` before and after" in said
    for folder, slower in (("before", 1.0), ("after", 1.02)):
        for run in range(runs):
            file = node(seed=10 * run + len(folder), visits=3, slow=dict.fromkeys(SIZES, slower))
            file.context["run"]["id"] = f"{folder} {run}"
            file.write(tmp_path / folder / f"run{run}" / "result.json")
    folders = [str(tmp_path / name) for name in ("before", "after")]
    [new] = compared(capsys, *folders, "--threshold", "0.4%", status=1)["new"]
    assert {row["verdict"] for row in new["rows"]} == {"slower"}
    assert main(["compare", folders[0], *folders, "--threshold", "0.4%"]) == 1


def test_a_folder_counts_each_run_once_and_all_of_what_was_read(tmp_path, capsys):
    def visited(file: File, mhz: int, held: list[str]) -> File:
        for row in file.rows:
            for visit in row["visits"]:
                visit["state"] = {"gpu_sm_mhz": mhz, "throttle": held}
        return file

    for run, (mhz, held) in enumerate([(1980, []), (1200, ["hw_thermal_slowdown"]), (1200, [])]):
        file = visited(node(seed=run), mhz, held)
        file.context["run"]["id"] = f"base {run}"
        file.write(tmp_path / "base" / str(run) / "result.json")
    base, new = str(tmp_path / "base"), visited(node("node-b", 9), 1980, []).write(tmp_path / "new.json")
    [found] = compared(capsys, base, str(new))["new"]
    read = {one["fact"]: (one["base"], one["new"]) for one in found["differences"]}
    assert read["visits.gpu_sm_mhz"] == ("1200", "1980")
    assert read["visits.held_down"] == ("hw_thermal_slowdown", "nothing")
    assert main(["compare", base, f"{base}/1"]) == 2
    assert "give each run once" in capsys.readouterr().err
    (tmp_path / "base" / "3").mkdir()
    (tmp_path / "base" / "3" / "journal.jsonl").write_text("{}\n")
    assert main(["compare", base, str(new)]) == 2
    assert "holds an unfinished run" in capsys.readouterr().err


def packed(result: Path, out: Path) -> None:
    out.parent.mkdir(exist_ok=True)
    out.write_bytes(gzip.compress(result.read_bytes()))
    result.unlink()


def as_bundle(result: Path, out: Path) -> None:
    raw = result.with_name("raw.gz")
    packed(result, raw)
    assert main(["export", "bundle", str(raw), "-o", str(out)]) == 0


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("1/result.json.gz", packed),
        ("1.json.gz", packed),
        ("1", as_bundle),
        ("1.tar.gz", as_bundle),
        ("1.json", Path.rename),
    ],
)
def test_a_folder_counts_packed_runs_too(tmp_path, capsys, name, pack):
    for run in range(2):
        file = node(seed=run)
        file.context["run"]["id"] = f"base {run}"
        file.write(tmp_path / "base" / "0" / "result.json" if run == 0 else tmp_path / "run.json")
    pack(tmp_path / "run.json", tmp_path / "base" / name)
    new = node("node-b", 9).write(tmp_path / "new.json")
    capsys.readouterr()
    found = compared(capsys, str(tmp_path / "base"), str(new))
    assert len(found["base"]["files"]) == 2
    if (folder := tmp_path / "base" / name).parent.name == "1":
        assert main(["summary", str(folder.parent)]) == 0


def test_a_folder_of_several_machines_is_no_side(tmp_path, capsys):
    for name in ("node-a", "node-b"):
        node(name).write(tmp_path / "fleet" / name / "result.json")
    assert main(["compare", *written(tmp_path, node("node-c")), str(tmp_path / "fleet")]) == 2
    assert "holds runs of several machines" in capsys.readouterr().err


def unsettled(file: File, sizes: Collection[int]) -> File:
    """The file with visits of these sizes that contradict each other."""
    for row in file.rows:
        factor = {1: 3.0, 2: 0.4}.get(row["visits"][0]["round"], 1.0)
        for visit in row["visits"] if row["case"]["axes"]["bytes"] in sizes else ():
            visit["median_s"] *= factor
            for name in ("samples_s", "within_s"):
                visit[name] = [one * factor for one in visit[name]]
    return file


@pytest.mark.parametrize(
    ("open_questions", "slow", "status"), [(4, {}, 0), (5, {}, 5), (5, {SIZES[7]: 2.0}, 1)]
)
def test_a_gate_does_not_pass_where_most_questions_cannot_be_told(
    tmp_path, capsys, open_questions, slow, status
):
    new = unsettled(node("node-b", 2, slow=slow), SIZES[:open_questions])
    files = written(tmp_path, node(), new)
    document = compared(capsys, *files, status=status)
    assert document["new"][0]["decided"] == len(SIZES) - open_questions
    assert main(["compare", *files, "--fail-on", "failed"]) == 0


def test_visits_that_contradict_each_other_are_warned_of(tmp_path, capsys):
    main(["compare", *written(tmp_path, node(), unsettled(node("node-b", 2), SIZES))])
    said = " ".join(capsys.readouterr().out.split())
    assert (
        f"visits contradict each other in {len(SIZES)} of {len(SIZES)} rows, most in transfer/memcpy" in said
    )
    assert "times as long as another: measure again on a quiet machine" in said


def test_a_run_that_is_not_complete_passes_no_gate(tmp_path):
    cut = node("node-b", 2)
    cut.context["run"] |= {"complete": False, "why_incomplete": "stopped by signal 15"}
    files = written(tmp_path, node(), cut)
    assert main(["compare", *files]) == 5
    assert main(["compare", *files, "--fail-on", "none"]) == 0


def test_clocks_that_were_read_while_measuring_are_a_likely_cause(tmp_path, capsys):
    files = []
    for name, mhz, held in (("a", 1980, []), ("b", 1965, ["gpu_idle"]), ("c", 1200, ["hw_thermal_slowdown"])):
        file = node(f"node-{name}", seed=ord(name))
        for row in file.rows:
            for visit in row["visits"]:
                visit["state"] = {"gpu_sm_mhz": mhz, "throttle": held}
        files.append(str(file.write(tmp_path / name / "result.json")))

    def causes(new: str) -> dict[str, tuple[str, str]]:
        [found] = compared(capsys, files[0], new)["new"]
        return {
            one["fact"]: (one["base"], one["new"])
            for one in found["differences"]
            if one["fact"].startswith("visits.")
        }

    assert causes(files[1]) == {}
    assert causes(files[2]) == {
        "visits.gpu_sm_mhz": ("1980", "1200"), "visits.held_down": ("nothing", "hw_thermal_slowdown")
    }  # fmt: skip
    main(["compare", files[0], files[2]])
    said = " ".join(capsys.readouterr().out.split())
    assert "GPU clock while measured: 1980 MHz → 1200 MHz" in said
    assert main(["env", "diff", files[0], files[2]]) == 1
    assert "hw_thermal_slowdown" in capsys.readouterr().out


def test_the_plan_holds(tmp_path, capsys):
    """So many runs a side as were planned show the threshold, fewer do not."""
    first = written(tmp_path, node(), node("node-b", 2))
    [plan] = compared(capsys, *first, "--threshold", "0.5%")["new"][0]["power"]
    assert plan["clock"] == "gated"
    assert plan["runs"] > 1
    for runs, enough in ((plan["runs"], True), (plan["runs"] // 2, False)):
        files = [
            node(host, 10 * runs + at + 5 * ord(host[-1])) for host in ("n-a", "n-b") for at in range(runs)
        ]
        for at, file in enumerate(files):
            file.context["run"]["id"] = f"run-{at}"
        paths = written(tmp_path / f"of{runs}", *files)
        [found] = compared(capsys, *paths, "--pool", "--threshold", "0.5%")["new"][0]["power"]
        assert (found["shows"] <= 0.0051) == enough


def test_files_of_schema_1_meet_those_of_2(tmp_path, capsys):
    """A run of schema 1 with a visit a row against a new one of three visits."""
    old, new = node(visits=1), node("node-b", 2, visits=3, slow={SIZES[3]: 1.3})
    files = written(tmp_path, old, new)
    as_version_1(Path(files[0]))
    document = compared(capsys, *files, status=1)
    assert verdicts(document) == {size: "slower" if size == SIZES[3] else "same" for size in SIZES}
    assert "as files of schema 1 mostly do" in document["base"]["warnings"][0]
    assert {(row["base_visits"], row["new_visits"]) for row in document["new"][0]["rows"]} == {(1, 3)}


def as_version_1(path: Path) -> None:
    """Rows of one visit each by the names of the format's version 1."""
    document = json.loads(path.read_text())
    document["context"]["schema_version"] = 1
    for row in document["benchmarks"]:
        [visit] = row.pop("visits")
        del row["middle"], row["case"]["version"]
        row |= {"samples_s": visit["samples_s"], "ci95_s": visit["within_s"], "repetition_index": 0}
    for link in document["context"]["links"]:
        link["ci95_gb_s"] = link.pop("within_gb_s")
    del document["context"]["run"]["visits"]
    path.write_text(json.dumps(document))


def modelled(file: File, label: str, seconds: float) -> None:
    axes = {"access": "merged", "graph": "kron24", "edge": 8, "link": "pcie5x16"}
    file.add("model/bfs", axes, {}, seconds)["label"] = label


def test_modelled_never_meets_measured(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    modelled(base, "measured", 1.0)
    modelled(new, "modelled", 3.0)
    document = compared(capsys, *written(tmp_path, base, new), status=0)
    rows = [row for row in document["new"][0]["rows"] if row["family"] == "model/bfs"]
    assert [(row["label"], row["verdict"]) for row in rows] == [("measured", "missing"), ("modelled", "new")]
    assert rows[0]["why"] == "modelled there, measured in the base"
    assert document["new"][0]["counts"]["slower"] == 0


def test_modelled_rows_that_nobody_meets_count_for_nothing(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    modelled(base, "modelled", 1.0)
    files = written(tmp_path, base, new)
    document = compared(capsys, *files, "--fail-on", "missing", status=0)
    [row] = [row for row in document["new"][0]["rows"] if row["label"] == "modelled"]
    assert row["verdict"] == "missing"
    assert not document["new"][0]["counts"].get("missing")
    assert main(["compare", *files]) == 0
    assert "does not answer" not in capsys.readouterr().out


def test_modelled_rows_are_held_against_modelled_ones_apart(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    modelled(base, "modelled", 1.0)
    modelled(new, "modelled", 3.0)
    files = written(tmp_path, base, new)
    document = compared(capsys, *files, status=0)
    [row] = [row for row in document["new"][0]["rows"] if row["label"] == "modelled"]
    assert (row["verdict"], row["ratio"]) == ("slower", pytest.approx(3.0))
    assert document["new"][0]["counts"]["slower"] == 0
    assert [family["family"] for family in document["new"][0]["families"]] == ["transfer/memcpy"]
    assert main(["compare", *files]) == 0
    assert "Beside these 1 modelled (1 slower)" in capsys.readouterr().out
    assert main(["compare", *files, "--all"]) == 0
    assert "of 1 rows that were computed and not measured 1 slower" in capsys.readouterr().out


def test_other_work_is_not_compared(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    for file, size in ((base, GIB), (new, 2 * GIB)):
        for visit in range(1, 6):
            axes = {"mode": "naive", "store": "mapped", "graph": "kron24", "batch": 1000}
            file.add("gather", axes, SITE, size / 50e9, bytes=size, visit=visit)
    document = compared(capsys, *written(tmp_path, base, new), status=0)
    [row] = [row for row in document["new"][0]["rows"] if row["family"] == "gather"]
    assert row["verdict"] == "not comparable"
    assert row["why"].startswith("other work: 2147483648 bytes")


def test_what_is_mixed_on_the_new_side_is_not_comparable(tmp_path, capsys):
    """Both sides have the rows, but the new side's runs did not do the same work."""
    files = [node("node-a", 1), node("node-b", 2), node("node-b", 3)]
    for row in files[2].rows:
        if row["case"]["axes"]["bytes"] in SIZES[:2]:
            row["bytes"] *= 2
            row["bandwidth_gb_s"] *= 2
    document = compared(capsys, *written(tmp_path, *files), "--pool")
    counts = {kind: count for kind, count in document["new"][0]["counts"].items() if count}
    assert counts == {"same": 6, "not comparable": 2}


def of_version(file: File, version: int | None) -> File:
    """The file with a second family of which there is one version, and copies of another one."""
    for visit in range(1, 6):
        file.add("host/flush", {"state": "cached", "bytes": MIB}, {"node": 0}, 1e-4, visit=visit)
    for row in file.rows:
        if row["case"]["family"] == "transfer/memcpy" and version is not None:
            row["case"]["version"] = version
    return file


@pytest.mark.parametrize(("before", "now"), [(1, 2), (None, 2), (3, None)])
def test_a_family_of_another_version_is_left_out_with_a_sentence(tmp_path, capsys, before, now):
    base, new = of_version(node(), before), of_version(node("node-b", 2, slow={SIZES[2]: 2.0}), now)
    files = written(tmp_path, base, new)
    document = compared(capsys, *files, status=0)
    said = f"version {now or 1} of what transfer/memcpy measures, {before or 1} in the base"
    assert {(row["family"], row["verdict"], row["why"]) for row in document["new"][0]["rows"]} == {
        ("host/flush", "same", ""), ("transfer/memcpy", "not comparable", said),
    }  # fmt: skip
    assert main(["compare", *files]) == 0
    warning = " ".join(capsys.readouterr().out.split())
    assert "they do not measure the same, so its rows are not compared" in warning
    assert main(["compare", *files, "--fail-on", "missing"]) == 0
    assert main(["compare", *files, "--fail-on", "not comparable"]) == 1


@pytest.mark.parametrize(("before", "now"), [(1, None), (None, 1), (2, 2)])
def test_a_family_of_one_version_is_compared(tmp_path, capsys, before, now):
    files = written(tmp_path, of_version(node(), before), of_version(node("node-b", 2), now))
    document = compared(capsys, *files, status=0)
    assert len(document["new"][0]["rows"]) == len(SIZES) + 1
    assert {row["verdict"] for row in document["new"][0]["rows"]} == {"same"}


def test_files_of_other_versions_alone_are_refused(tmp_path, capsys):
    other = of_version(node("node-b", 2), 2)
    other.rows = [row for row in other.rows if row["case"]["family"] == "transfer/memcpy"]
    assert main(["compare", *written(tmp_path, node(), other)]) == 3
    assert "version 2 of what transfer/memcpy measures, 1 in the base" in capsys.readouterr().err


def test_runs_of_other_versions_are_no_one_side(tmp_path, capsys):
    other = of_version(node(seed=2), 2)
    files = written(tmp_path, node(), other, node("node-b", 3))
    assert main(["compare", *files, "--pool"]) == 2
    assert "leave out --pool" in capsys.readouterr().err


def test_rows_of_other_threads_are_not_compared(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    for file, threads in ((base, 16.0), (new, 4.0)):
        for visit in range(1, 6):
            axes = {"lists": "sorted", "graph": "power"}
            file.add("tiering/reorder", axes, {"numa": 0}, 5e-3, visit=visit, counters={"threads": threads})
    document = compared(capsys, *written(tmp_path, base, new), status=0)
    [row] = [row for row in document["new"][0]["rows"] if row["family"] == "tiering/reorder"]
    assert (row["verdict"], row["why"]) == ("not comparable", "other work: 4 threads, 16 in the base")


def test_a_gather_beside_more_products_is_not_compared(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    for file, counts in ((base, (27, 27, 27, 28, 27)), (new, (28, 28, 28, 27, 28))):
        for visit, count in enumerate(counts, 1):
            axes = {"by": "green_context", "percent": "10", "bytes": MIB}
            counters = {"products": count}
            file.add("sm_share/split", axes, SITE, 5e-3, bytes=MIB, visit=visit, counters=counters)
    document = compared(capsys, *written(tmp_path, base, new), status=0)
    [row] = [row for row in document["new"][0]["rows"] if row["family"] == "sm_share/split"]
    assert (row["verdict"], row["why"]) == (
        "not comparable",
        "other work: 28 products beside, 27 in the base",
    )


def test_times_of_one_operation_meet_whatever_their_number(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    for file, operations in ((base, 1000), (new, 4000)):
        for visit in range(1, 6):
            file.add(
                "latency/chase", {"to": "host_memory", "bytes": 2 * MIB}, SITE, operations * 1.2e-6,
                operations=operations, visit=visit,
            )  # fmt: skip
    document = compared(capsys, *written(tmp_path, base, new), status=0)
    [row] = [row for row in document["new"][0]["rows"] if row["family"] == "latency/chase"]
    assert (row["verdict"], row["each"], row["base_gb_s"]) == ("same", True, None)
    assert row["new_s"] == pytest.approx(1.2e-6)


@pytest.mark.parametrize(
    ("slow", "lost", "fail_on", "status"),
    [
        (1.0, None, None, 0),
        (1.2, None, None, 1),
        (1.2, None, "none", 0),
        (1.2, None, "missing", 0),
        (1.2, None, "slower", 1),
        (0.7, None, None, 0),
        (0.7, None, "faster", 1),
        (1.0, "failed", None, 1),
        (1.0, "failed", "slower", 0),
        (1.0, "skipped", None, 0),
        (1.0, "skipped", "missing,slower", 1),
        (1.0, None, "unclear", 0),
    ],
)
def test_exit_statuses(tmp_path, slow, lost, fail_on, status):
    other = node("node-b", 2, slow={SIZES[0]: slow})
    if lost:
        other.rows = [row for row in other.rows if row["case"]["axes"]["bytes"] != SIZES[1]]
        other.lose(lost, "a reason", "transfer/memcpy", pinned_copy(SIZES[1]), SITE)
    asked = ["--fail-on", fail_on] if fail_on else []
    assert main(["compare", *written(tmp_path, node(), other), *asked]) == status


@pytest.mark.parametrize(("threshold", "said"), [("5%", "slower"), ("0.05", "slower"), ("20%", "same")])
def test_thresholds(tmp_path, capsys, threshold, said):
    files = written(tmp_path, node(), node("node-b", 2, slow=dict.fromkeys(SIZES, 1.1)))
    document = compared(capsys, *files, "--threshold", threshold)
    assert set(verdicts(document).values()) == {said}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--threshold", "5"], "say 5% or 0.05"),
        (["--threshold", "much"], "say 5% or 0.05"),
        (["--fail-on", "slow"], "there are slower"),
        (["-o", "x.html"], "does not end in"),
        (["--filter", "("], "is no regular expression"),
        (["--filter", "nothing like it"], "has no question that matches"),
        (["-o", "run0/result.json/x.md"], "cannot be written"),
        (["--format", "xml"], "invalid choice"),
        (["--type-b", "none.json"], "none.json cannot be read (No such file"),
        (["--type-b", "run0"], "run0: type B needs at least two runs of several visits"),
        (["--type-b", "run0/result.json"], "is no table of type B (`grainscope type-b 2`)"),
    ],
)
def test_usage_errors(tmp_path, capsys, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *written(tmp_path, node(), node("node-b", 2)), *arguments]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert "Traceback" not in captured.err


def test_bad_files_are_one_sentence(tmp_path, capsys):
    [good] = written(tmp_path, node())
    whole = Path(good).read_text()
    bad = {
        "cut.json": whole[: len(whole) // 2],
        "empty.json": "",
        "nan.json": whole.replace('"median_s": ', '"median_s": NaN, "x": ', 1),
        "infinite.json": whole.replace('"median_s": ', '"median_s": 1e999, "x": ', 1),
        "newer.json": whole.replace('"schema_version": 1', '"schema_version": 2'),
        "list.json": "[]",
        "broken.json": whole.replace('"median_s"', '"medium_s"'),
    }
    for name, text in bad.items():
        (tmp_path / name).write_text(text)
        for files in ([good, str(tmp_path / name)], [str(tmp_path / name), good]):
            assert main(["compare", *files]) == 2, name
            captured = capsys.readouterr()
            assert captured.out == ""
            assert len(captured.err.splitlines()) == 1, captured.err
            assert name in captured.err


def test_one_run_twice_is_refused(tmp_path, capsys):
    [file] = written(tmp_path, node())
    copy = tmp_path / "copy.json"
    copy.write_text(Path(file).read_text())
    assert main(["compare", file, str(copy)]) == 2
    assert "are the same run: give each run once" in capsys.readouterr().err
    assert main(["compare", file, file]) == 2
    assert "compare with itself" in capsys.readouterr().err


def test_the_base_among_many_is_left_out(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2), node("node-c", 3))
    document = compared(capsys, files[0], *files, status=0)
    assert [new["files"] for new in document["new"]] == [[files[1]], [files[2]]]


def test_an_edited_copy_is_compared_with_a_warning(tmp_path, capsys):
    files = written(tmp_path, node(), node(slow={SIZES[0]: 1.3}))
    document = compared(capsys, *files, status=1)
    assert "is of the same run as" in document["new"][0]["warnings"][0]
    assert verdicts(document)[SIZES[0]] == "slower"


def test_runs_of_one_machine_are_pooled(tmp_path, capsys):
    """A mean of runs is known better than each: what differs too little for two runs shows in five."""
    parts = [node("node-a", seed, visits=3) for seed in (1, 2, 3)]
    others = [node("node-b", seed, visits=3, slow=dict.fromkeys(SIZES, 1.2)) for seed in (4, 5)]
    files = written(tmp_path, *parts, *others)
    document = compared(capsys, *files, "--pool", status=1)
    [new] = document["new"]
    assert (len(document["base"]["files"]), len(new["files"])) == (3, 2)
    assert {(row["base_visits"], row["new_visits"]) for row in new["rows"]} == {(9, 6)}
    assert set(verdicts(document).values()) == {"slower"}
    [pooled], [alone] = new["power"], compared(capsys, *files)["new"][2]["power"]
    # Of 3 and 2 runs, 1/3 + 1/2 of a run's variance in place of 2.
    assert pooled["shows"] == pytest.approx(alone["shows"] * (5 / 12) ** 0.5, rel=0.15)
    assert main(["compare", *files[:3], "--pool"]) == 2
    assert "makes one side" in capsys.readouterr().err


def test_a_machine_is_one_side_of_the_pool_whichever_gpu_is_listed_first(tmp_path, capsys):
    files = [node(seed=seed) for seed in (1, 2)]
    for file, uuids in zip(files, ("ab", "ba"), strict=True):
        file.context["environment"]["gpus"] = [{"name": H100, "uuid": f"GPU-{one}"} for one in uuids]
    document = compared(capsys, *written(tmp_path, *files, node("node-b", 3)), "--pool")
    assert len(document["base"]["files"]) == 2


def test_what_is_mixed_in_the_base_is_not_comparable_and_not_new(tmp_path, capsys):
    files = [node("node-a", 1), node("node-a", 2), node("node-b", 3)]
    for row in files[1].rows:
        if row["case"]["axes"]["bytes"] in SIZES[:2]:
            row["bytes"] *= 2
            row["bandwidth_gb_s"] *= 2
    document = compared(capsys, *written(tmp_path, *files), "--pool")
    found = Counter(row["verdict"] for row in document["new"][0]["rows"])
    assert (found["not comparable"], found["missing"], found.total()) == (2, 0, len(SIZES))


def test_a_file_s_own_newer_table_stays(tmp_path, capsys):
    """As `evaluate` has it: the table that comes with the package says less of this machine."""
    widths = []
    for date in ("2020-01-01", "2100-01-01"):
        files = written(tmp_path, node(), node("node-b", 2))
        for path in map(Path, files):
            document = json.loads(path.read_text())
            document["context"]["type_b"] = {"date": date, "sha256": "0" * 64, "known": True}
            for row in document["benchmarks"]:
                wide = {"standard": 0.2, "freedom": 8.0}
                row["uncertainty"] |= {"b": wide, "combined": wide}
            path.write_text(json.dumps(document))
        [new] = compared(capsys, *files)["new"]
        widths.append(new["rows"][0]["high"] / new["rows"][0]["low"])
    assert widths[1] > 1.5 > widths[0]


def test_a_new_driver_is_another_side_of_the_pool(tmp_path, capsys):
    files = written(tmp_path, node(seed=1), node(seed=2, driver="590.1"))
    document = compared(capsys, *files, "--pool", status=0)
    [difference] = [one for one in document["new"][0]["differences"] if one["fact"].startswith("driver")]
    assert (difference["base"], difference["new"]) == ("580.159", "590.1")


def test_a_pool_does_not_count_a_run_twice(tmp_path, capsys):
    files = written(tmp_path, node(), node(slow={SIZES[0]: 1.3}), node("node-b", 2))
    assert main(["compare", *files, "--pool"]) == 2
    assert "hold one run twice" in capsys.readouterr().err


def test_outlier_nodes_are_named(tmp_path, capsys):
    halved = dict.fromkeys(SIZES[4:], 2.0)
    files = written(
        tmp_path, *(node(f"node-{at}", at, slow=halved if at == 4 else None) for at in range(1, 9))
    )
    document = compared(capsys, *files, status=1)
    assert document["nodes"] == 8
    [outlier] = document["outliers"]
    assert (outlier["node"], outlier["slower"], outlier["rows"], outlier["of"]) == ("node-4", True, 4, 8)
    assert outlier["ratio"] == pytest.approx(2.0, rel=0.01)
    main(["compare", *files])
    assert "node-4" in capsys.readouterr().out.split("Machines that stand out")[1].split("\n\n")[0]


def test_runs_of_one_node_are_one_node_of_the_fleet(tmp_path, capsys):
    """A slow base that ran often is still one node, and the others do not become the odd ones."""
    slow = dict.fromkeys(SIZES, 2.0)
    files = written(
        tmp_path,
        *(node("node-1", at, slow=slow) for at in range(1, 5)),
        *(node(f"node-{at}", 10 + at) for at in range(2, 8)),
    )
    document = compared(capsys, *files)
    assert document["nodes"] == 7
    assert {(one["node"], one["slower"]) for one in document["outliers"]} == {("node-1", True)}


def test_machines_of_one_host_name_are_told_apart(tmp_path, capsys):
    made = [node("vm", at, slow=dict.fromkeys(SIZES, 2.0) if at == 3 else None) for at in range(1, 7)]
    for at, file in enumerate(made):
        file.context["environment"]["gpus"][0]["uuid"] = f"GPU-{at}"
    document = compared(capsys, *written(tmp_path, *made))
    assert document["nodes"] == 6
    [outlier] = document["outliers"]
    assert "10:03" in outlier["node"]


def test_foreign_files_are_compared_by_name(tmp_path, capsys):
    """Nothing tells what runs of other programs differ by, so that nothing of them is certain."""
    slow = [11.5, 11.52, 11.48, 11.51, 11.49]
    even = [10.0, 10.02, 9.98, 10.01, 9.99]
    base = foreign(tmp_path, "a", {"BM_one/8": even, "BM_two": even, "BM_gone": even})
    new = foreign(tmp_path, "b", {"BM_one/8": slow, "BM_two": even})
    document = compared(capsys, base, new, status=5)
    said = {row["family"]: row["verdict"] for row in document["new"][0]["rows"]}
    assert said == {"BM_one/8": "likely slower", "BM_two": "unclear", "BM_gone": "missing"}
    assert "Google Benchmark's own JSON does not tell what runs differ by" in document["new"][0]["verdict"]


def test_foreign_units_rates_and_faults(tmp_path, capsys):
    even = [10.0, 10.02, 9.98, 10.01, 9.99]
    base = foreign(tmp_path, "a", {"BM_copy": even}, bytes_per_second=2e9)
    new = foreign(
        tmp_path, "b", {"BM_copy": [1.2e4 * t / 10 for t in even]}, unit="ns", bytes_per_second=2e9 / 1.2
    )
    document = compared(capsys, base, new, status=5)
    [row] = document["new"][0]["rows"]
    assert (row["verdict"], row["ratio"]) == ("likely slower", pytest.approx(1.2))
    assert row["base_gb_s"] == pytest.approx(2.0, rel=0.01)
    broken = foreign(tmp_path, "c", {"BM_copy": even}, error_occurred=True, error_message="no device")
    assert main(["compare", base, broken]) == 3
    assert "failed: no device" in capsys.readouterr().err
    odd = foreign(tmp_path, "d", {"BM_copy": [-1.0] * 5})
    assert main(["compare", base, odd]) == 3
    assert "no real_time that is a positive number" in capsys.readouterr().err


def test_foreign_aggregates_are_one_session(tmp_path, capsys):
    files = [foreign(tmp_path, name, {"BM": [10.0, 20.0, 1.0]}, aggregates=True) for name in ("a", "b")]
    [row] = compared(capsys, *files, status=5)["new"][0]["rows"]
    assert (row["verdict"], row["base_s"], row["base_visits"]) == ("unclear", pytest.approx(20e-6), 1)


def test_foreign_against_own_is_not_comparable(tmp_path, capsys):
    own = written(tmp_path, node())
    assert main(["compare", *own, foreign(tmp_path, "a", {"BM": [1.0] * 5})]) == 3
    assert "Google Benchmark's own JSON" in capsys.readouterr().err


def test_a_reading_process_that_is_killed_is_replaced(tmp_path, monkeypatch, capsys):
    class Killed:
        def __init__(self, *_):
            raise BrokenProcessPool

    files = written(tmp_path, node(), node("node-b", 2))
    monkeypatch.setattr(sides, "WORTH_PROCESSES", 0)
    monkeypatch.setattr(sides, "ProcessPoolExecutor", Killed)
    assert set(verdicts(compared(capsys, *files)).values()) == {"same"}


def test_a_virtual_machine_of_one_node_is_joined_whatever_it_calls_near(tmp_path, capsys):
    """Files of before call its rows local; on real machines that is another question than unknown."""
    for hidden, status in ((True, 0), (False, 3)):
        old, new = node(), File(host="node-b", gpus=(H100,), date="2026-11-20T11:00:00+00:00")
        copies(new, 2, locality="unknown")
        for file in (old, new):
            file.context["environment"]["kernel"] = {"virtual_machine": hidden}
            file.context["environment"]["memory"] = {"nodes": [{"id": 0}]}
        folder = tmp_path / str(hidden)
        assert main(["compare", *written(folder, old, new)]) == status
    capsys.readouterr()
