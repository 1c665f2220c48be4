"""`evaluate`: which rows of a machine stand for what a program does, of which sites, nodes and runs."""

import json
import math
import re

import pytest

from grainscope_report import uncertainty
from planted import FAR, SITE, pinned_copy
from planted_purchase import (
    GPU,
    KERNELS,
    SIZE,
    X,
    Y,
    along,
    candidate,
    evaluate,
    machine,
    seconds,
    sized,
    table,
    workload,
)
from synthetic import MIB, File


def test_sizes_are_interpolated_in_log_log(tmp_path):
    files = {"r": sized(1.0, "node-r"), "X": sized(2.0, "node-x", cost=2.0)}
    # Ratios: 2 at 1 MiB, and 2·√2 at 2 MiB, between the measured 1 and 4 MiB.
    _, document = evaluate(tmp_path, along('"1MiB" = 0.5, 2097152 = 0.5'), **files)
    [part] = candidate(document, "X")["components"]
    assert [one["ratio"]["value"] for one in part["sizes"]] == [
        pytest.approx(2),
        pytest.approx(2 * math.sqrt(2)),
    ]
    assert candidate(document, "X")["time"]["value"] == pytest.approx(0.25 + 0.25 / math.sqrt(2))


@pytest.mark.parametrize("size", ["512KiB", "128MiB"])
def test_nothing_is_extrapolated(tmp_path, capsys, size):
    files = {"r": sized(1.0, "node-r", (256 << 10, MIB, 256 * MIB)), "X": sized(2.0, "node-x")}
    assert evaluate(tmp_path, along(f'"{size}" = 1.0'), **files)[0] == 3
    said = capsys.readouterr().err
    assert "nothing is extrapolated" in said
    assert "the environments are the same" in said


def test_lines_lie_between_sizes_that_both_machines_have(tmp_path):
    """Of one curve that bends: equal machines are equal, whatever sizes they have between."""

    def curve(host: str, *sizes: int) -> File:
        file = machine(host=host)
        file.rows.clear()
        for size in sizes:
            file.add("transfer/memcpy", pinned_copy(size), SITE, 10e-6 + size / 55e9, spread=0.0)
        return file

    files = {"r": curve("node-r", MIB, 4 * MIB, 16 * MIB), "X": curve("node-x", MIB, 16 * MIB)}
    _, document = evaluate(tmp_path, along('"4MiB" = 0.5, "8MiB" = 0.5'), **files)
    assert candidate(document, "X")["time"]["value"] == pytest.approx(1)


def test_nothing_is_interpolated_between_sizes_far_apart(tmp_path, capsys):
    files = {"r": sized(1.0, "node-r"), "X": sized(1.0, "node-x", (MIB, 256 * MIB))}
    assert evaluate(tmp_path, along('"2MiB" = 1.0'), **files)[0] == 3
    assert (
        "X and the reference both measured 'c' at 1 MiB and 64 MiB and at no size between"
        in capsys.readouterr().err
    )


def test_a_size_that_the_reference_lacks_is_asked_for_in_vain(tmp_path, capsys):
    files = {"r": sized(1.0, "node-r"), "X": sized(1.0, "node-x")}
    assert evaluate(tmp_path, along('"4GiB" = 1.0'), **files)[0] == 2
    said = capsys.readouterr().err
    assert "the reference measured 'c' from" in said
    assert "environments" not in said


def test_each_machine_chooses_its_way_or_the_reference_s(tmp_path):
    def ways(host: str, naive: float, merged: float):
        file = machine(host=host)
        file.rows.pop()
        for access, ratio in (("naive", naive), ("merged", merged)):
            axes = {"access": access, "path": "pinned_to_gpu", "bytes": SIZE, "locality": "local"}
            file.add("transfer/kernel_copy", axes, SITE, seconds(ratio))
        return file

    files = {"r": ways("node-r", 1.0, 2.0), "X": ways("node-x", 6.0, 4.0)}
    _, document = evaluate(tmp_path, workload(candidates="X"), **files)
    part = candidate(document, "X")["components"][1]
    assert part["ratio"]["value"] == pytest.approx(3)
    assert part["sizes"][0]["way"] == "naive"
    same = workload(candidates="X").replace('"kernels"\n', '"kernels"\nmethod = "same"\n')
    part = candidate(evaluate(tmp_path, same, **files)[1], "X")["components"][1]
    assert part["ratio"]["value"] == pytest.approx(2)
    assert part["sizes"][0]["way"] == "merged"


def test_rows_of_several_gpus_and_of_other_memory_are_meant_only_where_they_are_asked_for(tmp_path):
    kinds = ({}, {"gpus": 4}, {"memory": "managed_host"})

    def searches(host: str, *ratios: float) -> File:
        file = machine(host=host)
        file.rows.pop()
        for more, ratio in zip(kinds, ratios, strict=True):
            axes = {"path": "pinned_to_gpu", "bytes": SIZE, "locality": "local"} | more
            file.add("transfer/kernel_copy", axes, SITE, seconds(ratio))
        return file

    files = {"r": searches("node-r", 1.0, 3.0, 2.0), "X": searches("node-x", 5.0, 21.0, 8.0)}
    for where, ratio in (("", 5), (", gpus = 4", 7), (', memory = "managed_host"', 4)):
        asked = workload(candidates="X").replace(KERNELS, KERNELS.replace(" }", f"{where} }}"))
        part = candidate(evaluate(tmp_path, asked, **files)[1], "X")["components"][1]
        assert part["ratio"]["value"] == pytest.approx(ratio)


def kernels(host: str, *rows: tuple[dict, float]) -> File:
    """A machine with these variations of the kernels' row, and how many times as fast each is."""
    file = machine(host=host)
    file.rows.pop()
    for more, ratio in rows:
        axes = {"path": "pinned_to_gpu", "bytes": SIZE, "locality": "local"} | more
        site = SITE if axes["locality"] == "local" else FAR
        file.add("transfer/kernel_copy", axes, site, seconds(ratio))
    return file


@pytest.mark.parametrize(("here", "there", "said"), [
    ({}, {"bytes": MIB}, "bytes is 64 MiB on the reference and bytes is 1 MiB on X"),
    ({"graph": "kron24"}, {"graph": "kron19"}, "graph is kron24 on the reference and graph is kron19 on X"),
    ({"graph": "kron24"}, {"graph": "kron19", "access": "merged"}, "graph is kron24 on the reference and"),
    ({"locality": "remote"}, {}, "locality is remote on the reference and locality is local on X"),
    ({"gpus": 2}, {}, "gpus is 2 on the reference and there is no gpus on X"),
    ({}, {"gpus": 2}, "there is no gpus on the reference and gpus is 2 on X"),
    ({}, {"free_pieces": MIB}, "there is no free_pieces on the reference and free_pieces is 1 MiB on X"),
])  # fmt: skip
def test_machines_answer_one_question(tmp_path, capsys, here, there, said):
    files = {"r": kernels("node-r", (here, 1.0)), "X": kernels("node-x", (there, 9.0)), "Y": machine(**Y)}
    assert evaluate(tmp_path, workload(candidates="X"), **files) == (3, {})
    error = capsys.readouterr().err
    assert said in error
    assert "component 'kernels' is not the same question" in error
    assert error.count("\n") == 1


def test_what_goes_without_saying_is_chosen_as_on_the_reference(tmp_path):
    both = (({}, 2.0), ({"locality": "remote"}, 5.0), ({"gpus": 2}, 7.0))
    unknown = ({"locality": "unknown"}, 3.0)
    for here, there, ratio in (
        ({"locality": "remote"}, both, 5),
        ({"gpus": 2}, both, 7),
        ({}, both, 2),
        ({}, (unknown,), 3),
        ({"locality": "unknown"}, both, 2),
    ):
        files = {"r": kernels("node-r", (here, 1.0)), "X": kernels("node-x", *there)}
        status, document = evaluate(tmp_path, workload(candidates="X"), **files)
        assert status == 0
        assert candidate(document, "X")["components"][1]["ratio"]["value"] == pytest.approx(ratio)


def test_what_joins_two_gpus_is_no_question(tmp_path):
    where = '{ family = "transfer/peer", method = "copy_engine" }'
    files = {}
    for name, link, ratio in (("r", "pcie", 1.0), ("X", "nvlink", 6.0)):
        files[name] = machine(host=f"node-{name}")
        axes = {"method": "copy_engine", "bytes": SIZE, "link": link}
        files[name].add("transfer/peer", axes, {"gpu": 0, "peer": 1}, seconds(ratio))
    text = workload(candidates="X").replace(KERNELS, where)
    _, document = evaluate(tmp_path, text, **files)
    assert candidate(document, "X")["components"][1]["ratio"]["value"] == pytest.approx(6)


def test_one_size_of_two_volumes_is_two_questions(tmp_path, capsys):
    def gathers(host: str, rows: int):
        file = machine(host=host)
        axes = {"mode": "masked", "store": "mapped", "row": 512, "rows": rows, "locality": "local"}
        file.add("gather", axes, SITE, seconds(1.0), bytes=512 * rows)
        return file

    text = along('"512" = 1').replace('"bytes"', '"row"')
    text = text.replace('"transfer/memcpy", path = "pinned_to_gpu"', '"gather", store = "mapped"')
    files = {"r": gathers("node-r", 1 << 17), "X": gathers("node-x", 1 << 17)}
    assert evaluate(tmp_path, text, **files)[0] == 0
    files["X"] = gathers("node-x", 1 << 10)
    assert evaluate(tmp_path, text, **files)[0] == 3
    assert "rows is 131072 on the reference and rows is 1024 on X" in capsys.readouterr().err


def test_the_reference_s_way_is_looked_for_in_all_that_a_program_may_choose(tmp_path, capsys):
    same = workload(candidates="X").replace('"kernels"\n', '"kernels"\nmethod = "same"\n')
    merged, strided, aligned = ({"access": access} for access in ("merged", "strided", "aligned"))
    files = {"r": kernels("node-r", (merged, 2.0), (strided, 1.0)), "X": kernels("node-x", (aligned, 4.0))}
    assert evaluate(tmp_path, same, **files)[0] == 3
    assert "no rows of 'kernels' by the reference's way (merged)" in capsys.readouterr().err
    assert evaluate(tmp_path, workload(candidates="X"), **files)[0] == 0
    files = {"r": kernels("node-r", (merged, 2.0)), "X": kernels("node-x", (merged, 6.0), (strided, 9.0))}
    status, document = evaluate(tmp_path, same, **files)
    assert status == 0
    assert candidate(document, "X")["components"][1]["ratio"]["value"] == pytest.approx(3)


NO_ROOM = "needs 80 GiB on GPU 1, which has 79 GiB free"


def of_two_gpus(host: str, *ratios: float | None, why=("skipped", NO_ROOM), **more) -> File:
    """A machine with the copies of each GPU; what has no ratio could not be measured, for a reason."""
    file = machine(host=host, **more)
    file.rows.pop(0)
    for gpu, ratio in enumerate(ratios):
        case = "transfer/memcpy", pinned_copy(SIZE), {"gpu": gpu, "numa": 0}
        file.add(*case, seconds(ratio), spread=0.0) if ratio else file.lose(*why, *case)
    return file


@pytest.mark.parametrize("why", [("skipped", NO_ROOM), ("failed", "wrong bytes")])
def test_nobody_wins_by_a_site_that_could_not_be_measured(tmp_path, why):
    files = {"r": of_two_gpus("node-r", 1, 1), "X": of_two_gpus("node-x", 5, None, why=why)}
    files["Y"] = of_two_gpus("node-y", 5, 3)
    status, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert status == 1
    assert document["verdict"]["first"] == "Y"
    [broken] = candidate(document, "X")["broken_gates"]
    assert broken.startswith("evidence: X lacks rows of 'copies': transfer/memcpy")
    assert f"was {why[0]}: {why[1]}" in broken


def test_nobody_wins_by_a_run_that_could_not_measure(tmp_path):
    again = {"date": "2026-11-21T10:15:00+00:00"}
    files = {"r": of_two_gpus("node-r", 1, 1), "a": of_two_gpus("node-x", 5, 5)}
    text = workload(candidates="X").replace('"X.json"', '"a.json", "b.json"')
    for ratio, status in ((3.0, 0), (None, 1)):
        files["b"] = of_two_gpus("node-x", 5, ratio, **again)
        assert evaluate(tmp_path, text, **files)[0] == status


def test_what_every_machine_skips_for_one_reason_counts_against_none(tmp_path):
    files = {"r": of_two_gpus("node-r", 1, 1, None)}
    files["X"] = of_two_gpus("node-x", 3, None, why=("skipped", NO_ROOM.replace("79", "40")))
    status, document = evaluate(tmp_path, workload(candidates="r X"), **files)
    assert status == 0
    assert document["verdict"]["first"] == "X"
    for name in ("the reference", "r", "X"):
        assert any(one.startswith(f"{name}: transfer/memcpy") and one.endswith("and is left out")
                   for one in document["warnings"])  # fmt: skip
    for other in (of_two_gpus("node-x", 3, 3), of_two_gpus("node-x", 3, None, why=("skipped", "no driver"))):
        status, document = evaluate(tmp_path, workload(candidates="r X"), **files | {"X": other})
        assert status == 1
        assert not candidate(document, "r")["passed"]
    # The reference may lack a site: it is not ranked.
    status, document = evaluate(
        tmp_path, workload(candidates="X"), X=of_two_gpus("node-x", 3, 3), r=files["r"]
    )
    assert status == 0
    assert any("the reference: transfer/memcpy" in one for one in document["warnings"])


def test_a_way_that_could_not_be_measured_everywhere_leaves_the_others(tmp_path):
    def ways(host: str, naive: float | None, merged: float):
        file = of_two_gpus(host, 1, 1)
        for gpu, access, ratio in ((0, "naive", 9.0), (1, "naive", naive), (0, "merged", merged)):
            axes = {"access": access, "path": "pinned_to_gpu", "bytes": SIZE, "locality": "local"}
            case = "transfer/kernel_copy", axes, {"gpu": gpu, "numa": 0}
            file.add(*case, seconds(ratio)) if ratio else file.lose("skipped", NO_ROOM, *case)
        file.rows = [row for row in file.rows if row["case"]["axes"].get("access")
                     or row["case"]["family"] == "transfer/memcpy"]  # fmt: skip
        return file

    files = {"r": ways("node-r", 9.0, 1.0), "X": ways("node-x", None, 3.0)}
    _, document = evaluate(tmp_path, workload(candidates="X"), **files)
    part = candidate(document, "X")["components"][1]
    assert (part["sizes"][0]["way"], part["ratio"]["value"]) == ("merged", pytest.approx(3 / 9))
    same = workload(candidates="X").replace('"kernels"\n', '"kernels"\nmethod = "same"\n')
    status, document = evaluate(tmp_path, same, **files)
    assert status == 1
    assert "X lacks rows of 'kernels'" in candidate(document, "X")["broken_gates"][0]


def test_a_size_that_could_not_be_measured_matters_where_it_is_asked_for(tmp_path):
    lossy = sized(2.0, "node-x")
    lossy.lose("skipped", NO_ROOM, "transfer/memcpy", pinned_copy(16 * MIB), {"gpu": 1, "numa": 0})
    lossy.lose("skipped", NO_ROOM, "transfer/memcpy", pinned_copy(256 * MIB), SITE)
    files = {"r": sized(1.0, "node-r", (MIB, 4 * MIB, 16 * MIB, 256 * MIB)), "X": lossy}
    for size, status in (("1MiB", 0), ("2MiB", 0), ("8MiB", 1), ("16MiB", 1), ("256MiB", 1)):
        assert evaluate(tmp_path, along(f'"{size}" = 1'), **files)[0] == status


def test_nodes_and_runs(tmp_path):
    nodes = [machine(ratio, 1.0, f"node-{at}") for at, ratio in enumerate((1.0, 2.0, 4.0))]
    files = {f"n{at}": file for at, file in enumerate(nodes)}
    text = workload(candidates="X").replace('["X.json"]', '["n0.json", "n1.json", "n2.json"]')
    _, document = evaluate(tmp_path, text, **files)
    found = candidate(document, "X")
    assert found["nodes"] == 3
    # The middle node's ratio, off by Student's t of two degrees of freedom.
    assert found["time"]["value"] == pytest.approx(0.25 + 0.5)
    off = uncertainty.student_quantile(0.975, 2) * math.log(2) * math.sqrt(uncertainty.middle_share(3))
    for edge, sign in (("low", -1), ("high", 1)):
        assert math.log((found["time"][edge] - 0.5) / 0.25) == pytest.approx(sign * off, rel=0.15)
    assert not any("X: between-node" in one for one in document["warnings"])
    assert "the reference: between-node variance not seen, one node was measured" in document["warnings"]


def test_nodes_need_the_sizes_alone_that_the_workload_asks_for(tmp_path, capsys):
    def of_nodes(sizes: str) -> str:
        return along(sizes).replace('["X.json"]', '["n0.json", "n1.json"]')

    files = {
        "r": sized(1.0, "node-r"),
        "n0": sized(2.0, "node-0"),
        "n1": sized(2.0, "node-1", (4 * MIB, 16 * MIB)),
    }
    files["n1"].context["environment"]["driver"]["version"] = "470.1"
    status, document = evaluate(tmp_path, of_nodes('"4MiB" = 0.5, "8MiB" = 0.5'), **files)
    assert (status, candidate(document, "X")["nodes"]) == (0, 2)
    assert candidate(document, "X")["time"]["value"] == pytest.approx(0.5)
    for size in ("1MiB", "2MiB"):
        capsys.readouterr()
        assert evaluate(tmp_path, of_nodes(f'"{size}" = 0.5, "8MiB" = 0.5'), **files)[0] == 3
        said = capsys.readouterr().err
        assert re.search(r"n1.json has no row transfer/memcpy/\S*/bytes:1048576 and another node of X ", said)
        assert re.search(r"as in \S*n0.json; the environments differ in driver.version 470.1 / 580.159", said)
        assert "r.json" not in said


@pytest.mark.parametrize("count", [2, 3])
def test_nodes_differ_alike_in_rates_and_times(tmp_path, count):
    """A slower node has lower rates and longer times: these never make up for each other."""
    nodes = {f"n{at}": machine(1.5**at, 1.5**at, f"node-{at}") for at in range(count)}
    text = workload(candidates="X").replace('["X.json"]', json.dumps([f"{name}.json" for name in nodes]))
    times = []
    for metrics in ((), ("copies",), ("copies", "kernels")):
        asked = text
        for name in metrics:
            asked = asked.replace(f'name = "{name}"', f'name = "{name}"\nmetric = "median_s"')
        _, document = evaluate(tmp_path, asked, **nodes)
        times.append(candidate(document, "X")["time"])
    for time in times[1:]:
        assert time == pytest.approx(times[0], rel=1e-6)
    assert times[0]["high"] / times[0]["low"] > 2


def test_two_runs_say_the_same_in_rates_and_times(tmp_path):
    """The middle of two rates is that of the two times."""
    runs = {
        f"n{at}": machine(1.5**at, 1.5**at, "node-x", date=f"2026-11-1{at}T10:15:00+00:00") for at in (0, 1)
    }
    text = workload(candidates="X").replace('["X.json"]', '["n0.json", "n1.json"]')
    times = [
        candidate(evaluate(tmp_path, asked, **runs)[1], "X")["time"]["value"]
        for asked in (text, text.replace("[[component]]", '[[component]]\nmetric = "median_s"'))
    ]
    assert times == pytest.approx(2 * [1.5**-0.5])


def test_nodes_that_differ_do_not_vary(tmp_path):
    """`max_cv` is of what a node's own visits say."""
    nodes = {f"n{at}": machine(2.0**at, 1.0, f"node-{at}") for at in range(2)}
    text = workload(candidates="X", tail="[gates]\nmax_cv = 0.05\n")
    text = text.replace('["X.json"]', '["n0.json", "n1.json"]')
    assert evaluate(tmp_path, text, **nodes)[0] == 0
    nodes["n1"] = machine(2.0, 1.0, "node-1", spread=0.2)
    assert evaluate(tmp_path, text, **nodes)[0] == 1


def test_nodes_with_other_numbers_of_gpus_have_no_price_of_a_gpu(tmp_path, capsys):
    two = machine(1.0, 1.0, "node-1")
    two.context["environment"]["gpus"] *= 2
    text = workload(candidates="X=30000").replace('["X.json"]', '["n0.json", "n1.json"]')
    files = {"n0": machine(1.0, 1.0, "node-0"), "n1": two}
    assert evaluate(tmp_path, text, **files) == (3, {})
    assert "nodes of candidate 'X' have 1 to 2 GPUs: give `gpus`" in capsys.readouterr().err
    assert evaluate(tmp_path, text.replace("price_node", "gpus = 2\nprice_node"), **files)[0] == 0


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"gpus": [{"name": "NVIDIA H200"}]}, f"with GPU {GPU} and .*n1.json with GPU NVIDIA H200: give"),
        ({"gpus": []}, f"with GPU {GPU} and .*n1.json with GPU none: give"),
        ({"cpu": {"model": "AMD EPYC", "caches": []}}, "with CPU .*Xeon.* and .*n1.json with CPU AMD EPYC: "),
    ],
)
def test_machines_of_two_kinds_are_no_one_candidate(tmp_path, capsys, changed, says):
    text = workload(candidates="X").replace('["X.json"]', '["n0.json", "n1.json"]')
    files = {f"n{at}": machine(1.0 + at, 1.0, f"node-{at}") for at in range(2)}
    files["n1"].context["environment"] |= changed
    assert evaluate(tmp_path, text, **files) == (3, {})
    assert re.search(rf"X has runs on machines of two kinds, .*n0.json {says}", capsys.readouterr().err)
    of_the_reference = workload(candidates="X").replace('"r.json"', '["n0.json", "n1.json"]')
    assert evaluate(tmp_path, of_the_reference, X=machine(**X), **files) == (3, {})
    assert "the reference has runs on machines of two kinds" in capsys.readouterr().err


def test_runs_of_one_candidate_on_different_set_ups_are_warned_of(tmp_path):
    text = workload(candidates="X").replace('["X.json"]', '["n0.json", "n1.json", "n2.json", "n3.json"]')
    files = {f"n{at}": machine(1.0, 1.0, f"node-{at}", driver=("580.1", "470.1")[at > 1]) for at in range(4)}
    for at, file in enumerate(files.values()):
        of = {"power_limit_mw": 700_000 - at // 2 * 100_000, "sm_clock_mhz": 345 + at, "ecc": True}
        file.context["environment"]["gpus"][0]["nvml"] = of
    status, document = evaluate(tmp_path, text, **files)
    [said] = [one for one in document["warnings"] if "set-ups" in one]
    assert status == 0
    assert re.fullmatch(
        r"X: \S*n0.json and \S*n2.json, \S*n3.json are of different set-ups \(driver 580.1 / 470.1; GPU "
        r"power limit 700 W / 600 W\), and what is predicted is of both: measure alike, or make two "
        "candidates of them",
        said,
    )


def test_a_machine_is_the_same_whichever_gpu_is_listed_first(tmp_path):
    def listed(*uuids: str) -> File:
        file = machine(1.0, 1.0, "node-x", date=f"2026-11-1{uuids[0] == 'GPU-a':d}T10:15:00+00:00")
        file.context["environment"]["gpus"] = [{"name": GPU, "uuid": uuid} for uuid in uuids]
        return file

    text = workload(candidates="X").replace('["X.json"]', '["n0.json", "n1.json"]')
    _, document = evaluate(tmp_path, text, n0=listed("GPU-a", "GPU-b"), n1=listed("GPU-b", "GPU-a"))
    assert candidate(document, "X")["nodes"] == 1


def test_several_runs_of_a_machine_narrow_its_interval(tmp_path):
    names = [f"x{at}" for at in range(5)]
    files = {name: machine(1.0, 1.0, "node-x", date=f"2026-11-1{at}T10:15:00+00:00")
             for at, name in enumerate(names)}  # fmt: skip
    wide = []
    for used in (names[:1], names):
        given = ", ".join(f'"{name}.json"' for name in used)
        text = workload(candidates="X").replace('"X.json"', given)
        _, document = evaluate(tmp_path, text, type_b=table(run=0.05), **files)
        time = candidate(document, "X")["time"]
        wide.append(time["high"] - time["low"])
    assert wide[1] < 0.9 * wide[0]


def test_versions_of_a_family_do_not_mix(tmp_path, capsys):
    changed = machine(**X)
    changed.rows[0]["case"]["version"] = 2
    status, _ = evaluate(tmp_path, workload(candidates="X"), X=changed)
    assert status == 3
    said = capsys.readouterr().err
    assert "transfer/memcpy is of version 1 in" in said
    assert "and of version 2 in" in said
    kernels = workload(candidates="X").split("[[component]]")
    text = "[[component]]".join([kernels[0], kernels[2].replace("share = 0.5", "share = 1")])
    assert evaluate(tmp_path, text, X=changed)[0] == 0


@pytest.mark.parametrize(("slow", "said"), [(3.0, True), (1.03, False)])
@pytest.mark.parametrize("gpus", [2, 4])
def test_a_gpu_that_falls_behind_its_others_is_warned_of(tmp_path, gpus, slow, said):
    """The verdict is of the middle one, which may be the fastest of all candidates' all the same."""

    def node(host: str, ratio: float, factors: dict[int, float]) -> File:
        file = File(gpus=(GPU,) * gpus, host=host)
        for gpu in range(gpus):
            file.link("host_to_gpu", 55.0, gpu)
            for visit in (1, 2, 3):
                seconds = SIZE / 10e9 / ratio * factors.get(gpu, 1.0) * (1 + visit / 1e4)
                site = {"gpu": gpu, "numa": 0}
                file.add("transfer/memcpy", pinned_copy(SIZE), site, seconds, visit=visit, spread=0.001)
                axes = {"path": "pinned_to_gpu", "bytes": SIZE, "locality": "local"}
                file.add("transfer/kernel_copy", axes, site, seconds, visit=visit, spread=0.001)
        return file

    files = {"X": node("node-x", 1.5, {}), "Y": node("node-y", 2.0, {1: slow})}
    known = table(run=0.001, visit=0.001)
    known["machines"] = [{**known["machines"][0], "gpu": name} for name in (GPU, f"{GPU} ×{gpus}")]
    _, document = evaluate(tmp_path, workload(candidates="X Y"), type_b=known, **files)
    warnings = [one for one in document["warnings"] if "as long as its others" in one]
    assert len(warnings) == said
    assert all(one.startswith("Y: ") and "up to 3.00 times" in one and "GPU 1" in one for one in warnings)


@pytest.mark.parametrize(("slow", "said"), [(1.5, True), (1.08, False)])
def test_a_node_that_falls_behind_its_others_is_warned_of(tmp_path, slow, said):
    """Runs of such machines differ by a few percent: so may nodes."""
    names = [f"x{at}" for at in range(5)]
    files = {name: machine(1.0, 1.0 / (slow if name == "x3" else 1.0), f"node-{name}") for name in names}
    given = ", ".join(f'"{name}.json"' for name in names)
    text = workload(candidates="X").replace('"X.json"', given)
    _, document = evaluate(tmp_path, text, type_b=table(run=0.02), **files)
    warnings = [one for one in document["warnings"] if "as long as its others" in one]
    assert [re.sub(r"/\S*/", "", one) for one in warnings] == said * [
        "X: in 1 of 2 cases that are used one node takes up to 1.50 times as long as its others (x3.json), "
        "and the verdict is of the middle one: find out why before you buy"
    ]
