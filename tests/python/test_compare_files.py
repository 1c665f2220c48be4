"""`compare` of files that are bad, foreign, many, or several of one machine; what it needs installed."""

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from compared import SIZES, compared, foreign, node, verdicts, written
from grainscope_report.cli import main
from grainscope_report.comparison import sides

pytestmark = pytest.mark.usefixtures("known")


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
        (["--type-b", "run0/result.json"], "is no table of type B (`grainscope type-b 1`)"),
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
