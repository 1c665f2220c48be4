"""`evaluate`: decisions worked out by hand, gates before ranks, ties, and where a choice flips."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from grainscope_report.buying import workload as planned
from grainscope_report.cli import main
from planted import SITE, pinned_copy
from planted_purchase import (
    FAMILIES,
    GPU,
    KERNELS,
    KNOWN,
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
    visit,
    workload,
)
from synthetic import MIB, File
from synthetic_traversals import add_traversal

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = sorted((ROOT / "docs" / "examples").glob("*.toml"))


@pytest.fixture
def xy(tmp_path):
    """The verdict on X and Y, and again with other shares or offers."""

    def run(*arguments, shares=(0.5, 0.5), candidates="Y X", tail="", type_b=KNOWN, **more):
        files = {"X": machine(**X), "Y": machine(**Y)} | more
        text = workload(shares, candidates, tail=tail)
        return evaluate(tmp_path, text, *arguments, type_b=type_b, **files)

    return run


def test_predicted_time_is_the_sum_of_share_over_ratio(xy):
    status, document = xy()
    assert status == 0
    assert document["verdict"]["kind"] == "winner"
    assert document["verdict"]["first"] == "X"
    assert document["verdict"]["certain"] is True
    assert [one["name"] for one in document["candidates"]] == ["X", "Y"]
    assert candidate(document, "X")["time"]["value"] == pytest.approx(0.75)
    assert candidate(document, "Y")["time"]["value"] == pytest.approx(0.5 + 0.5 / 1.5)
    assert candidate(document, "X")["geometric_mean"]["value"] == pytest.approx(math.sqrt(2))
    assert candidate(document, "Y")["geometric_mean"]["value"] == pytest.approx(math.sqrt(1.5))
    parts = {part["name"]: part for part in candidate(document, "X")["components"]}
    assert parts["copies"]["time"]["value"] == pytest.approx(0.25)
    assert parts["kernels"]["ratio"]["value"] == pytest.approx(1)


def of_a_host(stolen_s: float, **more) -> File:
    """A machine of whose CPUs others took so many seconds in each of a visit."""
    file = machine(**more)
    for row in file.rows:
        for one in row["visits"]:
            one |= {"visit_s": 1.0, "stolen_s": stolen_s}
    return file


def test_where_others_take_cpus_of_one_host_alone_less_is_certain(xy):
    said = "others took CPUs of its host"
    times = []
    for taken in ((0.02, 0.02), (0.001, 0.001), (0.001, 0.02)):
        _, document = xy(**{n: of_a_host(s, **m) for n, s, m in zip("XY", taken, (X, Y), strict=True)})
        warned = [one for one in document["warnings"] if said in one]
        assert len(warned) == (taken[0] != taken[1])
        time = candidate(document, "Y")["time"]
        times.append(time["high"] / time["low"])
    assert times[0] == pytest.approx(times[1])
    assert times[1] < times[2]


def test_a_crowded_host_makes_twice_as_uncertain_as_a_shared_one_beside_a_quiet_host(xy):
    quiet, shared, crowded = 0.001, 0.02, 0.5

    def widths(r: float, x: float, y: float) -> dict[str, float]:
        taken = {"r": of_a_host(r), "X": of_a_host(x, **X), "Y": of_a_host(y, **Y)}
        _, document = xy(**taken)
        said = [line for line in document["warnings"] if "others took CPUs of its host" in line]
        warned = {name for line in said for name in line.partition(":")[0].split(", ")}
        assert warned == {name for name, of in (("X", x), ("Y", y)) if of > min(r, x, y)}
        times = {name: candidate(document, name)["time"] for name in "XY"}
        return {name: math.log(time["high"] / time["low"]) for name, time in times.items()}

    told = widths(quiet, shared, crowded)
    assert told["X"] > 0.05
    assert told["Y"] == pytest.approx(2 * told["X"], rel=0.02)
    # Steps are from the least shared host of all: where that is a shared one, a crowded one is a step away.
    assert widths(shared, shared, crowded)["Y"] == pytest.approx(told["X"], rel=0.02)
    assert widths(crowded, crowded, crowded)["Y"] < 0.01 * told["X"]


def test_the_flip_share_is_exact_and_swaps_the_order_when_tried(xy):
    _, document = xy()
    [flip] = document["flips"]
    assert flip["rival"] == "Y"
    # x·0.5 − (1 − x)/3 = 0 at x = 0.4; 0.1 of the time moves from copies to kernels.
    assert flip["smallest_change"]["value"] == pytest.approx(0.1)
    assert flip["shares_then"] == {"copies": pytest.approx(0.4), "kernels": pytest.approx(0.6)}
    copies, kernels = flip["components"]
    assert copies["flips_at"]["value"] == pytest.approx(0.4)
    assert kernels["flips_at"]["value"] == pytest.approx(0.6)
    assert copies["lead"] == pytest.approx(0.25)
    assert kernels["lead"] == pytest.approx(-1 / 6)
    assert xy(shares=(0.40001, 0.59999))[1]["candidates"][0]["name"] == "X"
    assert xy(shares=(0.39999, 0.60001))[1]["candidates"][0]["name"] == "Y"
    at = xy(shares=(0.4, 0.6))[1]
    assert candidate(at, "X")["time"]["value"] == pytest.approx(candidate(at, "Y")["time"]["value"])


def test_the_break_even_price_is_exact_and_swaps_the_order_when_tried(xy):
    tail = "[cost]\nyears = 5\nper_kwh = 0.25\npue = 1.3\n"
    _, document = xy(candidates="X=20000,1000 Y=20000,800", tail=tail)
    energy = {"X": 1 * 5 * 8766 * 0.25 * 1.3, "Y": 0.8 * 5 * 8766 * 0.25 * 1.3}
    times = {"X": 0.75, "Y": 0.5 + 0.5 / 1.5}
    costs = {name: (20000 + energy[name]) * times[name] for name in energy}
    for name, cost in costs.items():
        found = candidate(document, name)
        assert found["energy_cost"] == pytest.approx(energy[name])
        assert found["cost_per_speed"]["value"] == pytest.approx(cost)
    assert candidate(document, "X")["speed_per_watt"]["value"] == pytest.approx(1 / 0.75 / 1000)
    assert document["cost"]["first"] == "X"
    even = {name: candidate(document, name)["break_even_price"]["value"] for name in energy}
    assert even["X"] == pytest.approx(costs["Y"] / times["X"] - energy["X"])
    assert even["Y"] == pytest.approx(costs["X"] / times["Y"] - energy["Y"])
    for name, other in (("X", "Y"), ("Y", "X")):
        for off, first in ((-1, name), (1, other)):
            offers = {"X": "20000,1000", "Y": "20000,800"} | {
                name: f"{even[name] + off},{1000 if name == 'X' else 800}"
            }
            again = xy(candidates=f"X={offers['X']} Y={offers['Y']}", tail=tail)[1]
            assert again["cost"]["first"] == first


def test_a_rival_that_draws_level_at_an_end_alone_overtakes_at_no_mix(tmp_path):
    """Equal in copies and slower in kernels it is equal where copies are everything, and never before."""
    files = {"X": machine(1.7, 1.3, host="node-x"), "Y": machine(1.7, 0.9, host="node-y")}
    _, document = evaluate(tmp_path, workload((0.6, 0.4), candidates="X Y"), **files)
    [flip] = document["flips"]
    assert [part["flips_at"]["value"] for part in flip["components"]] == [None, None]
    assert document["sentences"]["flips"] == ["Y overtakes X at no mix of these components."]
    assert document["sentences"]["buy"].endswith("at any mix of these components.")


def test_what_to_buy_names_no_rival_that_another_is_before(tmp_path):
    """By cost C is 60 + 15 c with c the share of copies, A 83.3 - 16.7 c, B 93.75 - 33.75 c.

    B is the first to come before C, at 9/13. A meets C at 14/19, where B is cheaper than both.
    """
    files = {
        "A": machine(1.5, 1.2, host="node-a"),
        "B": machine(2.5, 1.6, host="node-b"),
        "C": machine(0.8, 1.0, host="node-c"),
    }
    _, document = evaluate(tmp_path, workload((0.3, 0.7), candidates="A=100 B=150 C=60"), **files)
    flips = {flip["rival"]: flip["components"][0] for flip in document["cost"]["flips"]}
    assert flips["A"]["flips_at"]["value"] == pytest.approx(14 / 19)
    assert flips["B"]["flips_at"]["value"] == pytest.approx(9 / 13)
    assert (flips["A"]["rival_first"], flips["B"]["rival_first"]) == (False, True)
    assert document["sentences"]["buy"].endswith(
        "unless copies is more than 69.2 % of the time (here 30.0 %), then B."
    )


def test_the_order_by_cost_flips_at_shares_of_its_own(xy):
    offers = "X=24000 Y=20000"
    _, document = xy(candidates=offers)
    assert (document["verdict"]["first"], document["cost"]["first"]) == ("X", "Y")
    [flip] = document["cost"]["flips"]
    assert flip["rival"] == "X"
    assert flip["over_first"]["value"] == pytest.approx(24000 * 0.75 / (20000 * 5 / 6))
    # In money Y leads by x (24000 / 2 − 20000) + (1 − x)(24000 − 20000 / 1.5): nothing at x = 4 / 7.
    copies, kernels = flip["components"]
    assert copies["flips_at"]["value"] == pytest.approx(4 / 7)
    assert kernels["flips_at"]["value"] == pytest.approx(3 / 7)
    assert copies["lead"] == pytest.approx(-4000)
    assert flip["smallest_change"]["value"] == pytest.approx(4 / 7 - 0.5)
    assert xy(shares=(0.5715, 0.4285), candidates=offers)[1]["cost"]["first"] == "X"
    assert xy(shares=(0.5714, 0.4286), candidates=offers)[1]["cost"]["first"] == "Y"
    assert any("X costs less for its speed than Y where copies is 57.1 %" in one
               for one in document["sentences"]["cost"])  # fmt: skip


def test_the_pareto_front(xy):
    slow = machine(1.0, 1.0, "node-s")
    _, document = xy(candidates="X=300 Y=200 S=250", S=slow)
    assert [one["name"] for one in document["candidates"] if one["pareto"]] == ["X", "Y"]
    assert document["verdict"]["kind"] == "winner"
    assert any("Pareto" in one for one in document["sentences"]["cost"]) == (
        document["cost"]["kind"] == "winner"
    )


def test_within_two_percent_is_a_tie(xy):
    near = machine(2.0, 1.019, "node-n")
    status, document = xy(candidates="X N", N=near)
    assert status == 0
    assert document["verdict"]["kind"] == "tie"
    assert document["verdict"]["tied"] == ["N", "X"]
    assert document["sentences"]["verdict"].startswith("A tie of N and X, within 2.0 %")
    assert "buy" not in document["sentences"]["buy"].lower()
    for finding in ("why", "flips", "cost"):
        assert document["sentences"][finding] == []
    assert xy("--fail-on-tie", candidates="X N", N=near)[0] == 4
    far = machine(2.0, 1.04, "node-n")
    status, document = xy("--fail-on-tie", candidates="X N", N=far)
    assert status == 0
    assert document["verdict"]["kind"] == "winner"


@pytest.mark.parametrize("run", [1e-6, 0.05])
def test_a_tie_says_below_which_price_each_wins_and_does_when_tried(xy, run):
    more = {"N": machine(2.0, 1.019, "node-n"), "type_b": table(run=run)}
    _, document = xy(candidates="X=20000 N=20000", **more)
    assert document["cost"]["kind"] == "tie"
    below = {name: candidate(document, name)["wins_below"] for name in ("X", "N")}
    if run < 0.01:
        times = {"X": 0.75, "N": 0.25 + 0.5 / 1.019}
        assert below["X"] == pytest.approx(20000 * times["N"] / times["X"] / 1.02, rel=1e-4)
    else:
        assert max(below.values()) < 19000
    said = document["sentences"]["headline"][1]
    assert f"X wins below {below['X']:,.0f} (here 20,000)" in said
    assert len(document["sentences"]["cost"]) == 2
    for name, other in (("X", "N"), ("N", "X")):
        for off, kind in ((0.999, "winner"), (1.001, "tie")):
            offers = {other: 20000, name: below[name] * off}
            again = xy(candidates=f"X={offers['X']} N={offers['N']}", **more)[1]["cost"]
            assert again["kind"] == kind
            assert again["first"] == name or kind == "tie"


def test_a_tie_whose_interval_reaches_far_beyond_it_is_not_within_it(xy):
    near = machine(2.0, 1.019, "node-n")
    for run, said in ((0.001, ", within 2.0 %"), (0.2, ", which cannot be told apart")):
        _, document = xy(candidates="X N", N=near, type_b=table(run=run))
        assert document["verdict"]["kind"] == "tie"
        assert document["sentences"]["verdict"].startswith(f"A tie of N and X{said}: X takes")
        assert document["tie"] == 0.02


def test_who_is_ahead_by_what_runs_differ_by_is_tied(xy):
    near = machine(2.0, 1.08, "node-n")
    status, document = xy("--fail-on-tie", candidates="X N", N=near, type_b=table(run=0.05, visit=0.01))
    assert status == 4
    found = document["verdict"]
    assert (found["kind"], found["tied"], found["certain"]) == ("tie", ["N", "X"], False)
    assert 0.5 < found["chance_first"]["N"] < 0.975
    assert "no further apart than runs may be" in document["sentences"]["verdict"]
    status, document = xy("--fail-on-tie", candidates="X N", N=near, type_b=table(run=0.005, visit=0.001))
    assert status == 0
    assert document["verdict"]["first"] == "N"


def test_runs_are_common_to_a_family_and_visits_are_not(tmp_path):
    """Type B of the copies shifts all sizes alike, so it does not average out; type A does."""
    files = {"r": sized(1.0, "node-r"), "X": sized(1.0, "node-x")}
    text = along('"1MiB" = 0.25, "4MiB" = 0.25, "16MiB" = 0.5')
    for part, share in ((table(run=0.1), 1.0), (table(visit=0.1), math.sqrt(0.25**2 + 0.25**2 + 0.5**2))):
        _, document = evaluate(tmp_path, text, "--draws", "20000", type_b=part, **files)
        time = candidate(document, "X")["time"]
        wide = math.log(time["high"] / time["low"]) / 2 / 1.96
        assert wide == pytest.approx(0.1 * math.sqrt(2) * share, rel=0.05)


def test_where_runs_are_not_known_nobody_is_first(xy, tmp_path):
    known = machine(**X)
    visit(known, 2.1, 1.0, number=2)
    visit(known, 2.05, 1.0, number=3)
    status, document = xy("--fail-on-tie", type_b=None, X=known, candidates="Y=1 X=1")
    assert status == 4
    assert document["verdict"] == {
        "kind": "unknown", "first": None, "tied": [], "certain": False, "chance_first": {},
    }  # fmt: skip
    assert [one["rank"] for one in document["candidates"]] == [None, None]
    assert [one["name"] for one in document["candidates"]] == ["Y", "X"]
    said = document["sentences"]
    assert not said["buy"] + "".join(said["why"] + said["flips"] + said["cost"])
    text = " ".join(said["headline"])
    assert "first" not in text
    assert "draws" not in text
    assert "Y takes 0.8333 times as long as the reference, from one visit" in text
    assert "`grainscope repeat 3 --out DIR` on each" in text
    assert "--type-b DIR" in text
    for name in ("verdict.md", "verdict.html"):
        assert "is first" not in (tmp_path / "out" / name).read_text()
    assert document["cost"]["kind"] == "unknown"


def test_an_unknown_verdict_has_a_status_of_its_own(xy):
    for gate in ("", "[gates]\nmin_link_fraction = 0.8\n"):
        for given, status in (((), 5), (("--fail-on-tie",), 4)):
            assert xy(*given, type_b=None, X=machine(**X, peak=50.0), tail=gate)[0] == status


def test_runs_of_one_visit_are_said_as_compare_says_it(xy, tmp_path):
    """Most files of schema 1 are such runs."""
    x, y = machine(**X), machine(**Y)
    for number in (2, 3):
        visit(y, 1.0, 1.5, number=number)
    _, document = xy(X=x, Y=y)
    said = [one for one in document["warnings"] if "one visit a row" in one]
    assert [one.partition(" has ")[0] for one in said] == [
        f"the reference: {tmp_path / 'r.json'}",
        f"X: {tmp_path / 'X.json'}",
    ]
    _, document = xy(X=x, Y=y, candidates="Y", r=y)
    assert not [one for one in document["warnings"] if "one visit a row" in one]
    out = tmp_path / "compared.json"
    main(["compare", str(tmp_path / "r.json"), str(tmp_path / "X.json"), "-o", str(out)])
    assert said[1].removeprefix("X: ") in out.read_text()


def test_visits_that_contradict_each_other_are_said(xy):
    def thrice(*ratios: float, busy=(), **more) -> File:
        file = machine(**more)
        file.rows.clear()
        for number, ratio in enumerate(ratios, 1):
            visit(file, ratio, 1.0, number=number)
            for row in file.rows[-2:] if number in busy else ():
                row["visits"][0]["busy"] = True
        return file

    good = thrice(1.0, 1.01, 0.99, host="node-y")
    for x, many in (
        (thrice(2.0, 1.0, 0.3, host="node-x"), "1 of 2 rows"),
        (thrice(2.0, 1.8, 1.9, host="node-x"), None),
        (thrice(2.0, 1.8, 0.3, busy=(3,), host="node-x"), None),
    ):
        _, document = xy(X=x, Y=good, candidates="X", r=good)
        found = [one for one in document["warnings"] if "contradict" in one]
        assert len(found) == (many is not None)
        for said in found:
            assert said.startswith(f"X: visits contradict each other in {many} that are used")
            assert "transfer/memcpy" in said
            assert "6.67 times" in said
            assert said.endswith("measure again on a quiet machine")
    # The reference's rows count as well.
    _, document = xy(Y=good, candidates="Y", r=thrice(2.0, 1.0, 0.3))
    assert any(one.startswith("the reference: visits contradict") for one in document["warnings"])


def test_the_interval_between_visits_is_called_so(tmp_path):
    files = {}
    for name, ratio in (("r", 1.0), ("X", 2.0)):
        files[name] = machine(ratio, ratio, f"node-{name}")
        for number, more in ((2, 1.01), (3, 0.99)):
            visit(files[name], ratio * more, ratio * more, number=number)
    _, document = evaluate(tmp_path, workload(candidates="X"), type_b=None, **files)
    assert document["verdict"]["kind"] == "unknown"
    time = candidate(document, "X")["time"]
    assert 0.45 < time["low"] < 0.5 < time["high"] < 0.55
    assert "by the visits of one run alone" in document["sentences"]["headline"][1]
    assert "type A uncertainty alone" in document["sentences"]["method"]


def test_what_some_runs_differ_by_is_left_out_where_that_of_others_is_unknown(tmp_path):
    files = {}
    for name, gpu in (("r", KNOWN["machines"][0]["gpu"]), ("X", "NVIDIA X1")):
        files[name] = machine(host=f"node-{name}")
        files[name].context["environment"]["gpus"] = [{"name": gpu}]
        for number, more in ((2, 1.01), (3, 0.99)):
            visit(files[name], more, more, number=number)
    _, document = evaluate(tmp_path, workload(candidates="X"), type_b=table(run=0.5, visit=0.01), **files)
    assert document["verdict"]["kind"] == "unknown"
    assert [one["machine"] for one in document["unknown"]] == ["X"]
    assert 0.9 < candidate(document, "X")["time"]["low"] < 1 < candidate(document, "X")["time"]["high"] < 1.1


def test_repeated_runs_decide(tmp_path):
    random = np.random.default_rng(3)
    text, files = workload(candidates="X"), {}
    for host, ratio in (("r", 1.0), ("X", 1.5)):
        for run in range(3):
            file = machine(host=f"node-{host}", date=f"2026-11-2{run}T10:15:00+00:00")
            file.rows.clear()
            for number in (1, 2, 3):
                visit(file, *(ratio * random.lognormal(sigma=0.01, size=2)), number=number)
            file.write(tmp_path / "again" / host / f"run{run}" / "result.json")
            files[host] = file
    again = ["--type-b", str(tmp_path / "again" / "r")]
    assert evaluate(tmp_path, text, type_b=None, **files)[1]["verdict"]["kind"] == "unknown"
    _, document = evaluate(tmp_path, text, *again, type_b=None, **files)
    assert document["verdict"]["kind"] == "winner"
    time = candidate(document, "X")["time"]
    assert time["low"] < 1 / 1.5 < time["high"] < 0.8


@pytest.mark.parametrize(("content", "message"), [
    (None, "holds no runs: `grainscope repeat 3 --out"),
    ("{}", "is no table of type B"),
    ("[", "is no table of type B"),
])  # fmt: skip
def test_a_bad_table_is_a_sentence(tmp_path, capsys, content, message):
    path = tmp_path / "tables"
    path.mkdir() if content is None else path.write_text(content)
    status, _ = evaluate(tmp_path, workload(candidates="X"), "--type-b", str(path), X=machine(**X))
    assert status == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("type_b", [None, table(run=0.01)])
def test_a_machine_against_itself_is_a_tie(tmp_path, type_b):
    text = workload(candidates="X=100 Y=100").replace('"Y.json"', '"X.json"')
    status, document = evaluate(tmp_path, text, "--fail-on-tie", type_b=type_b, X=machine(**X))
    assert status == 4
    assert document["verdict"]["kind"] == "tie"
    assert document["sentences"]["verdict"] == "A tie: X and Y are one machine."
    assert document["cost"]["kind"] == "tie"
    cheaper = text.replace("price_node = 100", "price_node = 80", 1)
    _, document = evaluate(tmp_path, cheaper, type_b=type_b, X=machine(**X))
    assert (document["verdict"]["kind"], document["cost"]["first"]) == ("tie", "X")


def test_two_runs_of_one_machine_are_a_tie(tmp_path):
    """By the identifiers of its GPUs, however far the two runs are apart."""
    files = {name: machine(ratio, ratio, "node-a", date=f"2026-11-2{at}T10:15:00+00:00")
             for at, (name, ratio) in enumerate({"X": 1.0, "Y": 1.3}.items())}  # fmt: skip
    for file in files.values():
        file.context["environment"]["gpus"][0]["uuid"] = "GPU-1"
    _, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert document["verdict"]["kind"] == "tie"
    _, document = evaluate(tmp_path, workload(candidates="X Y Z"), Z=machine(0.5, 0.5, "node-z"), **files)
    assert document["verdict"]["tied"] == ["X", "Y"]
    files["Y"].context["environment"]["gpus"][0]["uuid"] = "GPU-2"
    _, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert document["verdict"]["first"] == "Y"


def test_who_else_is_offered_changes_nothing_between_two_prices_of_one_machine(tmp_path):
    """Its runs count together, whoever names them: of 100 and 110 the lower price is first, by a tenth."""
    files = {name: machine(ratio, ratio, f"node-{name}", date=f"2026-11-2{at}T10:15:00+00:00")
             for at, (name, ratio) in enumerate({"X": 1.0, "Y": 1.3}.items())}  # fmt: skip
    for file in files.values():
        file.context["environment"]["gpus"][0]["uuid"] = "GPU-1"
    slow = machine(0.2, 0.2, "node-z")
    alone = workload(candidates="X=100 Y=110")
    for text, more in ((alone, {}), (workload(candidates="X=100 Y=110 Z=100"), {"Z": slow})):
        _, document = evaluate(tmp_path, text, **files, **more)
        assert (document["cost"]["kind"], document["cost"]["first"]) == ("winner", "X")
        first, second = (candidate(document, name) for name in ("X", "Y"))
        assert first["time"] == second["time"]
        assert any(one.startswith("X, Y: one machine") for one in document["warnings"])
        assert first["wins_below"] == pytest.approx(110 / 1.02)
        assert second["wins_below"] == pytest.approx(100 / 1.02)
        assert second["break_even_price"]["value"] == pytest.approx(100)
        assert document["cost"]["flips"][0]["over_first"]["value"] == pytest.approx(1.1)


def test_the_reference_stays_as_it_was_measured_whoever_offers_its_gpu(tmp_path):
    """A host with a faster link makes another machine of a card, and so does a higher power limit."""
    files = {"r": machine(), "X": machine(2.0, 2.0, "node-x"), "Z": machine(1.5, 1.5, "node-z")}
    for name in ("r", "X"):
        files[name].context["environment"]["gpus"][0]["uuid"] = "GPU-1"
    _, document = evaluate(tmp_path, workload(candidates="X Z"), **files)
    assert document["verdict"]["first"] == "X"
    assert candidate(document, "X")["time"]["value"] == pytest.approx(0.5)


def test_a_card_with_another_power_limit_is_another_machine(tmp_path):
    files = {name: machine(ratio, ratio, f"node-{name}") for name, ratio in (("X", 1.0), ("Y", 1.3))}
    for watts, file in zip((300_000, 700_000), files.values(), strict=True):
        gpu = file.context["environment"]["gpus"][0]
        gpu |= {"uuid": "GPU-1", "nvml": (gpu.get("nvml") or {}) | {"power_limit_mw": watts}}
    _, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert (document["verdict"]["kind"], document["verdict"]["first"]) == ("winner", "Y")


def test_a_gpu_that_one_run_was_not_shown_makes_no_other_machine(tmp_path):
    """CUDA tells nothing of it, the management library does."""
    files = {name: machine(ratio, ratio, "node-x", date=f"2026-11-2{at}T10:15:00+00:00")
             for at, (name, ratio) in enumerate({"X": 1.0, "Y": 1.3}.items())}  # fmt: skip
    for name, file in files.items():
        one = file.context["environment"]["gpus"][0]
        for at in range(2):
            gpu = {**one, "uuid": f"GPU-{at}", "cuda": {"ordinal": at, "memory_clock_hz": 3_201_000_000}}
            file.context["environment"]["gpus"][at:] = [gpu]
        if name == "Y":
            del gpu["cuda"]
    _, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert document["verdict"]["kind"] == "tie"


def test_what_another_run_of_a_machine_lacks_takes_nothing_from_a_candidate(tmp_path):
    files = {name: machine(2.0, 2.0, f"node-{name}", date=f"2026-11-2{at}T10:15:00+00:00")
             for at, name in enumerate(("X", "Y"))}  # fmt: skip
    for file in files.values():
        file.context["environment"]["gpus"][0]["uuid"] = "GPU-1"
    files["Y"].lose("skipped", "no room", "transfer/memcpy", pinned_copy(SIZE), {"gpu": 1, "numa": 0})
    _, document = evaluate(tmp_path, workload(candidates="X Y Z"), Z=machine(0.5, 0.5, "node-z"), **files)
    assert document["verdict"]["first"] == "X"
    assert candidate(document, "Y")["rank"] is None


def test_a_gpu_under_another_host_name_is_no_second_node(tmp_path):
    """Containers have names of their own."""
    files = {f"X{at}": machine(host=f"container-{at}", date=f"2026-11-2{at}T10:15:00+00:00") for at in (1, 2)}
    for file in files.values():
        file.context["environment"]["gpus"][0]["uuid"] = "GPU-1"
    text = workload(candidates="X").replace('"X.json"', '"X1.json", "X2.json"')
    _, document = evaluate(tmp_path, text, **files)
    assert candidate(document, "X")["nodes"] == 1


def test_a_metric_without_a_known_spread_decides_nothing(tmp_path):
    def with_counter(name: str, file):
        for row in file.rows:
            row["counters"] = {name: 1 / row["median_s"]}
        return file

    for metric, known in (("rows_per_s", True), ("hit_rate", False)):
        files = {name: with_counter(metric, machine(**more))
                 for name, more in {"r": {}, "X": X, "Y": Y}.items()}  # fmt: skip
        text = workload(candidates="Y X").replace("share = 0.5\n", f'share = 0.5\nmetric = "{metric}"\n')
        _, document = evaluate(tmp_path, text, **files)
        assert (document["verdict"]["kind"] == "winner") == known
        assert (candidate(document, "X")["time"]["low"] is not None) == known
        if not known:
            assert "no spread is known for the metric of copies" in document["sentences"]["verdict"]


def test_orders_that_differ_are_warned_of(xy):
    # X: T = 0.05 + 0.714, mean √7; Y: T = 0.714, mean 1.4.
    files = {"X": machine(10.0, 0.7, "node-x"), "Y": machine(1.4, 1.4, "node-y")}
    _, document = xy(**files)
    assert [one["name"] for one in document["candidates"]] == ["Y", "X"]
    assert any("the orders differ" in one for one in document["warnings"])
    assert not any("the orders differ" in one for one in xy()[1]["warnings"])


def test_gates_stand_before_ranks(xy):
    gates = "[gates]\nverified = true\nmin_link_fraction = 0.8\nmax_cv = 0.05\n"
    assert xy(tail=gates)[0] == 0
    failed = machine(**X)
    failed.lose("failed", "wrong bytes", "transfer/memcpy", pinned_copy(SIZE), {"gpu": 1, "numa": 0})
    slow_link = machine(**X, peak=50.0)
    unknown = machine(**X)
    unknown.links[0]["theoretical_gb_s"] = None
    noisy = machine(**X, spread=0.2)
    for broken, why in (
        (failed, "verified: "),
        (slow_link, "reaches 79.4 % of 63.0 GB/s, below 80.0 %"),
        (unknown, "is unknown"),
        (noisy, "max_cv: "),
    ):
        status, document = xy(tail=gates, X=broken)
        assert status == 1
        assert document["verdict"]["first"] == "Y"
        assert candidate(document, "X")["rank"] is None
        assert why in candidate(document, "X")["broken_gates"][0]
        assert document["candidates"][-1]["name"] == "X"
        assert "X is not ranked" in document["sentences"]["excluded"][0]
        if broken is not failed:
            assert xy(X=broken)[1]["verdict"]["first"] == "X"


def test_nobody_passes(xy):
    status, document = xy(tail="[gates]\nmin_link_fraction = 0.99\n", candidates="X=1 Y=1")
    assert status == 1
    assert document["verdict"]["kind"] == "none"
    assert "No candidate passes" in document["sentences"]["verdict"]


def test_the_reference_as_a_candidate_is_exactly_one(xy):
    spread = machine(spread=0.2)
    _, document = xy(candidates="r X", r=spread)
    assert candidate(document, "r")["time"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert candidate(document, "X")["time"]["low"] < 0.75 < candidate(document, "X")["time"]["high"]


def remote(text: str) -> str:
    return text.replace('bytes = "64MiB"', 'bytes = "64MiB", locality = "remote"')


def test_without_evidence_nobody_wins(tmp_path):
    """A workload of remote memory is not won by a machine on which it was not measured."""
    files = {name: machine(ratio, ratio, f"node-{name}") for name, ratio in (("r", 1), ("X", 2), ("Y", 1.2))}
    for name, ratio in (("r", 1.0), ("Y", 1.2)):
        files[name].add(
            "transfer/memcpy", pinned_copy(SIZE, locality="remote"), {"gpu": 0, "numa": 1}, seconds(ratio)
        )
    status, document = evaluate(tmp_path, remote(workload(candidates="X Y")), **files)
    assert status == 1
    assert document["verdict"]["first"] == "Y"
    assert candidate(document, "X")["broken_gates"][0].startswith("evidence: X has no rows of 'copies'")
    skipped = files["X"]
    row = skipped.rows.pop()
    skipped.lose("skipped", "too little memory", "transfer/kernel_copy", row["case"]["axes"], SITE)
    status, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert status == 1
    assert "skipped: too little memory" in candidate(document, "X")["broken_gates"][0]


@pytest.mark.parametrize(("gate", "why"), [
    ("gpus = 2", "gpus: no row was measured on a second GPU"),
    ("gpus = 3", "has 2, 3 are needed"),
    ('gpu_memory = "80GiB"', "a GPU of"),
    ('host_memory = "1TiB"', "has 512 GiB, 1 TiB are needed"),
    ("min_link_gb_s = 60", "host:0 to gpu:0 reaches 55.0 GB/s, below 60"),
    ("min_peer_gb_s = 300", "no link between GPUs was measured"),
    ("remote_node = true", "no row was measured from a remote NUMA node"),
])  # fmt: skip
def test_gates_on_hardware_and_evidence(tmp_path, gate, why):
    def build(host: str, good: bool):
        file = machine(host=host)
        environment = file.context["environment"]
        memory = {"total_memory_bytes": (96 if good else 40) << 30}
        environment["gpus"] = [{"name": "NVIDIA H100 80GB HBM3", "cuda": memory} for _ in range(2 + good)]
        environment["memory"] = {"total_bytes": (2048 if good else 512) << 30}
        if good:
            file.links[0]["peak_gb_s"], file.links[0]["within_gb_s"] = 61.0, [60.9, 61.1]
            for row in file.rows:
                row.pop("link_fraction", None)
            for gpu in (1, 2):
                file.link("host_to_gpu", 61.0, gpu)
                file.peer_link(0, gpu, 390.0)
            peer = {"method": "copy_engine", "bytes": SIZE, "link": "nvlink"}
            file.add("transfer/peer", peer, {"gpu": 0, "peer": 1}, seconds(1.0))
            file.add("host/latency", {"bytes": MIB, "locality": "remote"}, {}, 1e-7)
        return file

    text = workload(candidates="X Y", tail=f"[gates]\n{gate}\n")
    status, document = evaluate(tmp_path, text, X=build("node-x", False), Y=build("node-y", True))
    assert status == 1
    assert why in candidate(document, "X")["broken_gates"][0]
    assert document["verdict"]["first"] == "Y"


@pytest.mark.parametrize("gate", ["min_link_gb_s = 50", "min_link_fraction = 0.5"])
def test_a_link_of_each_gpu_has_to_be_measured(tmp_path, gate):
    x = machine(host="node-x")
    x.context["environment"]["gpus"] *= 2
    _, document = evaluate(tmp_path, workload(candidates="X", tail=f"[gates]\n{gate}\n"), X=x)
    assert "no link to the host of GPU 1 was measured" in candidate(document, "X")["broken_gates"][0]


def test_the_fastest_way_to_search_a_graph_is_that_of_least_time(tmp_path):
    """Of lists that take twice the bytes the rate may be the higher and the search the slower."""
    files = {}
    for name, narrow, wide in (("r", 2e-3, 4e-3), ("X", 2e-3, 4e-3), ("Y", 3e-3, 3.1e-3)):
        files[name] = File(gpus=(GPU,), host=f"node-{name}")
        files[name].link("host_to_gpu", 54.7)
        for edge, time in ((4, narrow), (8, wide)):
            add_traversal(files[name], "bfs", "urand24", "merged_aligned", "mapped", time, edge=edge)
    text = 'reference = "r.json"\n[[component]]\nname = "bfs"\nshare = 1\n'
    text += 'where = { family = "traversal/bfs", graph = "urand24" }\n'
    text += "".join(f'[[candidate]]\nname = "{name}"\nfiles = ["{name}.json"]\n' for name in "XY")
    _, document = evaluate(tmp_path, text, type_b=table(families=("traversal/bfs",)), **files)
    assert document["verdict"]["first"] == "X"
    assert candidate(document, "Y")["time"]["value"] == pytest.approx(1.5, rel=0.02)
    # Searches from many sources, each once: how much one of them varies nobody has seen.
    _, document = evaluate(tmp_path, text + "[gates]\nmax_cv = 0.9\n", **files)
    assert "varies is unknown, it has one visit" in candidate(document, "X")["broken_gates"][0]


def test_prices_of_a_node_and_of_a_gpu(tmp_path):
    def offers(gpus: str, per: str) -> dict:
        text = workload(candidates="X=80000 Y=30000", head=f'price_per = "{per}"')
        text = text.replace("price_node = 80000", f"price_node = 80000\ngpus = 8\n{gpus}")
        return evaluate(tmp_path, text, X=machine(**X), Y=machine(**Y))[1]

    node, gpu = offers("", "node"), offers("", "gpu")
    assert (node["cost"]["first"], gpu["cost"]["first"]) == ("Y", "X")
    assert candidate(gpu, "X")["price"] == candidate(gpu, "X")["price_gpu"] == 10000
    assert candidate(gpu, "X")["price_node"] == 80000
    assert candidate(gpu, "X")["cost_per_speed"]["value"] == pytest.approx(7500)


def of_gpus(folder: Path, a: int = 8, b: int = 1, offers="A=240000,5600 B=31000,700", **more) -> dict:
    """A and B, as fast but for a thousandth, with so many GPUs and their node's price and power."""
    text = workload(candidates=offers, head=f'price_per = "{more.pop("per", "node")}"')
    text = text.replace(KERNELS, more.pop("rows", KERNELS))
    for name, gpus in (("A", a), ("B", b)):
        text = text.replace(f'name = "{name}"', f'name = "{name}"\ngpus = {gpus}')
    files = {"A": machine(host="node-a"), "B": machine(1.001, host="node-b")} | more
    return evaluate(folder, text, type_b=table(families=(*FAMILIES, "transfer/peer")), **files)[1]


def test_a_node_whose_other_gpus_do_nothing_is_said_to_be_judged_so(tmp_path):
    said = "f only one of a node's 1 to 8 GPUs works"
    document = of_gpus(tmp_path)
    speed, *others = document["sentences"]["headline"]
    assert said not in speed
    for line in others:
        assert line.endswith(f'i{said}; `price_per = "gpu"` counts all.')
    assert document["sentences"]["buy"].startswith(f"I{said}, buy B for w (the least cost for its speed)")
    assert document["sentences"]["cost"][0] == f"All of this holds i{said}."
    assert document["warnings"][0].startswith("A has 8 GPUs, B has 1 GPU, and what is measured keeps one")
    # Where each GPU is paid for and works, the order turns.
    document = of_gpus(tmp_path, per="gpu")
    assert document["cost"]["first"] == "A"
    assert document["sentences"]["buy"].startswith("Buy A for w")
    assert said not in json.dumps(document)
    # Who wins with the GPUs that do nothing wins all the more with them.
    document = of_gpus(tmp_path, offers="A=31000,700 B=61000,1400")
    for line in document["sentences"]["headline"][1:]:
        assert f"even i{said}; " in line
    assert document["sentences"]["buy"].startswith(f"Even i{said}, buy A for w")
    # Nobody's offers differ in a tie, which says it, too.
    document = of_gpus(tmp_path, offers="A=31000,700 B=31000,700")
    assert document["cost"]["kind"] == document["power"]["kind"] == "tie"
    for line in document["sentences"]["headline"][1:]:
        assert said in line


def test_what_several_gpus_do_is_said_of_so_many(tmp_path):
    files = {name: machine(host=f"node-{name}") for name in "rAB"}
    for file in files.values():
        axes = {"method": "copy_engine", "bytes": SIZE, "link": "nvlink"}
        file.add("transfer/peer", axes, {"gpu": 0, "peer": 1}, seconds(1.0))
    for most, said in ((8, True), (2, False)):
        document = of_gpus(tmp_path, most, 2, rows='{ family = "transfer/peer" }', **files)
        line = document["sentences"]["headline"][1]
        assert ("if only 2 of a node's 2 to 8 GPUs work; " in line) == said
        assert ("GPU" in line) == said


def test_nodes_of_as_many_gpus_or_without_price_and_power_have_no_idle_ones(tmp_path):
    assert of_gpus(tmp_path)["gpus_at_work"] == {"at_work": 1, "fewest": 1, "most": 8}
    assert of_gpus(tmp_path, 8, 8)["gpus_at_work"] is None
    assert of_gpus(tmp_path, offers="A B")["gpus_at_work"] is None


def test_power_is_the_mean_over_the_time_that_sizes_take(tmp_path):
    def with_power(host: str, short: float, long: float, faster: float = 1.0):
        file = machine(host=host)
        file.rows.clear()
        for size, watts, ratio in ((MIB, short, 1.0), (16 * MIB, long, faster)):
            row = file.add("transfer/memcpy", pinned_copy(size), SITE, seconds(ratio), spread=0.0)
            row["power_w"] = watts
        return file

    files = {"r": with_power("node-r", 100, 400), "X": with_power("node-x", 100, 400)}
    for sizes, watts in (
        ('"1MiB" = 0.02, "16MiB" = 0.98', 0.02 * 100 + 0.98 * 400),
        ('"1MiB" = 1', 100),
        ('"2MiB" = 1', 3 / 4 * 100 + 1 / 4 * 400),
    ):
        _, document = evaluate(tmp_path, along(sizes), **files)
        assert candidate(document, "X")["watts"] == pytest.approx(watts)
    # What is done in half the time takes half as much of the power.
    files["X"] = with_power("node-x", 100, 400, faster=2.0)
    _, document = evaluate(tmp_path, along('"1MiB" = 0.5, "16MiB" = 0.5'), **files)
    assert candidate(document, "X")["watts"] == pytest.approx(100 * 2 / 3 + 400 / 3)


def test_power_comes_from_the_rows_where_all_have_it(tmp_path):
    def with_power(file, watts):
        for row in file.rows:
            row["power_w"] = watts
        return file

    files = {"X": with_power(machine(**X), 700), "Y": with_power(machine(**Y), 400)}
    _, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert document["power"]["first"] == "Y"
    assert candidate(document, "X")["watts"] == pytest.approx(700)
    assert candidate(document, "X")["watts_source"] == "measured"
    _, document = evaluate(tmp_path, workload(candidates="X Y"), **files | {"X": machine(**X)})
    assert document["power"]["kind"] == "none"
    lacking = "its rows of copies, kernels have no power, which `grainscope --power` reads"
    assert document["power"]["why_not"] == f"X has no `watts`, and {lacking}"
    # The energy of a visit over the timed part of it alone would be a thousand times as much.
    for row in files["X"].rows:
        row["energy_j"] = 1e6 * row["median_s"]
        del row["power_w"]
    _, document = evaluate(tmp_path, workload(candidates="X Y"), **files)
    assert (document["power"]["kind"], candidate(document, "X")["watts"]) == ("none", None)
    mixed = workload(candidates="X=1,500 Y=1,500").replace('"measured"', '"nameplate"', 1)
    _, document = evaluate(tmp_path, mixed, **files)
    assert "the watts of some are measured and of others nameplate" in document["power"]["why_not"]


@pytest.mark.parametrize("per", ["node", "gpu"])
def test_measured_power_is_of_a_gpu_at_work(tmp_path, capsys, per):
    """What the others of a node take while one works no row says, so it is not that many times as much."""

    def with_power(file, watts):
        for row in file.rows:
            row["power_w"] = watts
        return file

    offers = workload(candidates="X=24000 Y=20000", head=f'price_per = "{per}"')
    offers = offers.replace("price_node = 24000", "price_node = 24000\ngpus = 8").replace(
        "price_node = 20000", "price_node = 20000\ngpus = 4"
    )
    cost = '[cost]\nyears = 1\nper_kwh = 0.1\npue = 1.0\ncurrency = "EUR"\n'
    offers = offers.replace("price_node", 'currency = "EUR"\nprice_node') + cost
    files = {"X": with_power(machine(**X), 700), "Y": with_power(machine(**Y), 400)}
    if per == "node":
        assert evaluate(tmp_path, offers, **files)[0] == 2
        assert "its rows say what one of its 8 GPUs takes at work" in capsys.readouterr().err
        _, document = evaluate(tmp_path, offers.replace(cost, ""), **files)
        assert (document["power"]["kind"], candidate(document, "X")["watts"]) == ("none", None)
        return
    _, document = evaluate(tmp_path, offers, **files)
    found = candidate(document, "X")
    assert (found["watts"], found["watts_source"]) == (pytest.approx(700), "measured")
    assert found["price"] == pytest.approx(24000 / 8)
    assert found["energy_cost"] == pytest.approx(700 / 1000 * 24 * 365 * 0.1, rel=0.01)
    assert candidate(document, "Y")["watts"] == pytest.approx(400)


def test_speed_is_what_a_reader_of_the_verdict_takes_it_for(xy):
    _, document = xy()
    for name in ("X", "Y"):
        found = candidate(document, name)
        time, speed = found["time"], found["speed"]
        assert speed["value"] == pytest.approx(1 / time["value"])
        assert speed["low"] <= speed["value"] <= speed["high"]
        assert (speed["low"], speed["high"]) == pytest.approx((1 / time["high"], 1 / time["low"]), rel=1e-3)


def test_the_headline_says_all_three_and_what_to_buy(xy, capsys):
    _, document = xy(candidates="X=24000,1000 Y=20000,1000")
    lines = document["sentences"]["headline"]
    assert [line.split(":")[0] for line in lines] == ["Speed", "Price-performance", "Performance per watt"]
    assert lines[1].startswith("Price-performance: Y costs least for its speed")
    alike = "measured, alike for all, so that it repeats the speed"
    given = f"Performance per watt: by the watts that the workload gives ({alike}), X does most for its power"
    assert lines[2].startswith(given)
    buy = document["sentences"]["buy"]
    assert buy.startswith(
        "Buy Y for w (the least cost for its speed), or X if only time counts, unless copies is"
    )
    assert "more than 57.1 % of the time (here 50.0 %), then X" in buy
    out = capsys.readouterr().out
    assert buy[:40] in out
    assert len(out.splitlines()) <= 30


def test_no_more_than_30_lines_unless_asked(tmp_path, capsys):
    names = [f"C{at}" for at in range(20)]
    files = {name: machine(1 + at / 2, 1 + at / 2, f"node-{name}") for at, name in enumerate(names)}
    text = workload(candidates=" ".join(f"{name}=100" for name in names))
    evaluate(tmp_path, text, **files)
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 30
    assert "more sentences: --full prints them" in short
    evaluate(tmp_path, text, "--all", **files)
    assert len(capsys.readouterr().out.splitlines()) > 30


def test_init_may_print(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "--init", "-"]) == 0
    assert capsys.readouterr().out == planned.START
    assert list(tmp_path.iterdir()) == []


def test_init_writes_a_workload_that_loads(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "--init"]) == 0
    assert main(["evaluate", "--init"]) == 2
    assert "is there already" in capsys.readouterr().err
    loaded = planned.load(Path("workload.toml"))
    assert [one.name for one in loaded.candidates] == ["A", "B"]
    # Every key that is shown as a comment can be taken in.
    text = Path("workload.toml").read_text()
    offers = text.replace("# price_node", "price_node").replace(
        'files = ["b/result.json"]',
        'files = ["b"]\nprice_node = 1\ncurrency = "EUR"\nwatts = 1\nwatts_source = "measured"',
    )
    head, tail = offers.split("\n[gates]\n")
    tail = "\n".join(line.removeprefix("# ") if "=" in line or "[cost]" in line else line
                     for line in tail.splitlines())  # fmt: skip
    Path("all.toml").write_text(f"{head}\n[gates]\n{tail}\n")
    everything = planned.load(Path("all.toml"))
    assert everything.gates.gpu_memory == 75 << 30
    assert everything.cost.years == 5
    assert main(["evaluate"]) == 2
    assert "`--init` writes one" in capsys.readouterr().err


@pytest.mark.parametrize("path", WORKLOADS, ids=[path.stem for path in WORKLOADS])
def test_the_example_workloads_give_the_verdicts_beside_them(path, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["evaluate", str(path.relative_to(ROOT)), "-o", str(tmp_path)]) == 0
    # Numbers in the last digit may change with numpy's random numbers, the verdict may not.
    made, kept = ((folder / name).read_text() for folder, name in (
        (tmp_path, "verdict.md"), (path.parent, f"{path.stem}.md")))  # fmt: skip
    assert made.split("; ")[0] == kept.split("; ")[0]


def test_better_that_contradicts_its_metric_is_refused(tmp_path, capsys):
    text = workload(candidates="X Y")
    for metric, better in (("median_s", "higher"), ("bandwidth_gb_s", "lower")):
        told = f'metric = "{metric}"\nbetter = "{better}"\n'
        planted = text.replace("[[component]]\n", f"[[component]]\n{told}", 1)
        assert evaluate(tmp_path, planted, X=machine(), Y=machine(1.2)) == (2, {})
        assert "is better: leave `better` out" in capsys.readouterr().err


@pytest.mark.parametrize("amount", ["per_kwh = 1e308", "per_kwh = 1" + "0" * 400])
def test_amounts_that_no_verdict_can_be_made_of_are_a_sentence(tmp_path, capsys, amount):
    tail = f"[cost]\nyears = 5\n{amount}\n"
    text = workload(candidates="X=1000,700 Y=1000,700", tail=tail)
    assert evaluate(tmp_path, text, X=machine(), Y=machine(1.2)) == (2, {})
    said = capsys.readouterr().err
    assert "no numbers" in said or "must be finite" in said
    assert "w.toml" in said
    assert "Warning" not in said


def test_a_workload_may_begin_with_a_byte_order_mark(tmp_path):
    text = workload(candidates="X Y")
    assert evaluate(tmp_path, "\ufeff" + text, X=machine(), Y=machine(1.2))[0] == 0
