"""How often verdicts of a comparison are right: simulated runs, and changes planted in real ones."""

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from compared import H100, XEON
from documents import worth
from grainscope_report import model, uncertainty
from grainscope_report.cli import main
from grainscope_report.comparison import sides, verdicts
from grainscope_report.comparison.sides import Answer, Question
from grainscope_report.comparison.verdicts import FASTER, LIKELY_FASTER, LIKELY_SLOWER, SAME, SLOWER, UNCLEAR
from grainscope_report.uncertainty import Uncertainty, student_above
from stored import PROJECT, TOGETHER

QUESTION = Question("measured", "transfer/memcpy", (("bytes", 1),))
VISIT, RUN = 0.01, 0.02  # what visits and runs differ by where nothing else is said
ROWS, FAMILIES = 200, 4
CONTEXT = {"environment": {"gpus": [{"name": H100}], "cpu": {"model": XEON}}}


def drawn(seed, rows, count, spread=0.01):
    """Times about 1 s, a question a row."""
    return np.exp(spread * np.random.default_rng(seed).normal(size=(rows, count)))


def run_of(chance, true, b, visits=3):
    """A run of 200 questions in 4 families: what runs differ by, and in it visits."""
    shift = RUN * chance.normal(size=ROWS)
    logs = true + shift + VISIT * chance.normal(size=(visits, ROWS))
    rows = []
    for at in range(ROWS):
        times = [float(time) for time in np.exp(logs[:, at])]
        middle = uncertainty.middle_visit(times)
        rows.append(
            {"status": "ok", "label": "measured", "case": {"family": f"family {at % FAMILIES}", "version": 1}}
            | {"visits": [{"median_s": time} for time in times], "middle": middle, "median_s": times[middle]}
        )
    found = []
    for row, told in zip(rows, uncertainty.derived(rows, CONTEXT, uncertainty.TypeB()), strict=True):
        a = uncertainty.uncertainty_of(told["uncertainty"]["a"])
        found.append(Answer(row["median_s"], tuple(one["median_s"] for one in row["visits"]), a, b))
    return found


def said_of(chance, change, freedom=math.inf, threshold=0.05):
    """The verdicts on a pair of runs; what runs differ by is known with so many degrees of freedom."""
    off = math.sqrt(chance.chisquare(freedom) / freedom) if math.isfinite(freedom) else 1.0
    true, b = chance.normal(size=ROWS), Uncertainty(RUN * off, freedom)
    base, new = (run_of(chance, true + more, b) for more in (0.0, change))
    return verdicts.verdicts(list(zip(base, new, strict=True)), threshold)


@pytest.mark.parametrize("freedom", [math.inf, 30])
def test_a_machine_against_itself_is_seldom_different(freedom):
    """300 pairs of runs of 200 questions in which nothing changed: how many claim anything?"""
    chance = np.random.default_rng(7)
    pairs, wrong, likely, rows = 300, 0, 0, 0
    for _ in range(pairs):
        said = [one.verdict for one in said_of(chance, 0.0, freedom)]
        wrong += SLOWER in said or FASTER in said
        likely += said.count(LIKELY_SLOWER) + said.count(LIKELY_FASTER)
        rows += len(said)
    assert wrong / pairs <= 0.05
    # Each to one side with 10 %, so that chance alone makes a fifth likely.
    assert 0.15 <= likely / rows <= 0.25


def test_a_tenth_that_is_planted_in_one_family_is_found():
    """50 of 200 questions slower by 10 %: four standard deviations of what a pair differs by."""
    chance = np.random.default_rng(8)
    planted = np.where(np.arange(ROWS) % FAMILIES == 0, math.log(1.1), 0.0)
    found, false, claims = 0, 0, 0
    for _ in range(20):
        said = [one.verdict for one in said_of(chance, planted)]
        found += said[::FAMILIES].count(SLOWER)
        claims += said.count(SLOWER) + said.count(FASTER)
        false += sum(one in (SLOWER, FASTER) for at, one in enumerate(said) if at % FAMILIES)
    assert found / (20 * ROWS / FAMILIES) >= 0.6
    assert false / claims <= 0.05


def test_the_interval_holds_the_ratio_in_95_of_100():
    chance = np.random.default_rng(9)
    said = [one for _ in range(20) for one in said_of(chance, math.log(1.3), 30)]
    assert 0.93 <= np.mean([one.low <= 1.3 <= one.high for one in said]) <= 0.97


def test_same_is_seldom_said_of_what_differs_by_the_threshold():
    chance = np.random.default_rng(10)
    said = [one.verdict for _ in range(20) for one in said_of(chance, math.log1p(0.1), threshold=0.1)]
    assert said.count(SAME) / len(said) <= 0.05
    chance = np.random.default_rng(10)
    alike = [one.verdict for _ in range(5) for one in said_of(chance, 0.0, threshold=0.15)]
    assert alike.count(SAME) / len(alike) > 0.9


def answer(seconds, a=(0.01, math.inf), b=(0.0, math.inf), visits=3, clock="gated"):
    parts = [Uncertainty(*part) if part else None for part in (a, b)]
    return Answer(seconds, (seconds,) * visits, *parts, clock=clock)


def one(base, new, threshold=0.05):
    return verdicts.verdicts([(base, new)], threshold)[0]


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.1, SLOWER),
        (0.9, FASTER),
        (1.0, SAME),
        (1.02, SAME),
        (1.03, SLOWER),
        (0.9703, FASTER),
        (1.024, LIKELY_SLOWER),
        (0.976, LIKELY_FASTER),
        (1.01, UNCLEAR),
    ],
)
def test_tiers_by_hand(ratio, said):
    """Standard uncertainties of 1 % a side: the interval reaches 2.8 % to each side."""
    threshold = 0.05 if said in (SAME, SLOWER, FASTER) else 0.02
    found = one(answer(1.0), answer(ratio), threshold)
    assert found.verdict == said
    assert math.log(found.high / found.ratio) == pytest.approx(1.96 * 0.01 * math.sqrt(2), rel=1e-3)
    z = abs(math.log(ratio)) / (0.01 * math.sqrt(2))
    assert found.probability == pytest.approx((1 + math.erf(z / math.sqrt(2))) / 2)


def test_what_is_same_and_beyond_1_is_same():
    """A change that is certain, and certain to be smaller than what matters."""
    assert one(answer(1.0, (0.001, math.inf)), answer(1.01, (0.001, math.inf))).verdict == SAME
    assert one(answer(1.0, (0.001, math.inf)), answer(1.01, (0.001, math.inf)), 0.0).verdict == SLOWER


def test_both_sides_and_both_types_add_up():
    """Standard 0.02 of 4 and 0.02 of 10 degrees of freedom: Welch and Satterthwaite make it 11.4 of them."""
    found = one(answer(1.0, (0.02, 4)), answer(1.3, (0.02, 10)))
    freedom = 2**2 / (1 / 4 + 1 / 10)
    half = uncertainty.student_quantile(0.975, freedom) * 0.02 * math.sqrt(2)
    assert math.log(found.high / found.ratio) == pytest.approx(half)
    more = one(answer(1.0, (0.02, 4), (0.1, 10)), answer(1.3, (0.02, 10), (0.1, 10)))
    # Of type B both sides are by one table: two of 0.1 have 10 degrees of freedom, not 20.
    freedom = (0.02**2 + 0.1**2) ** 2 / (0.02**4 / freedom + 0.1**4 / 10)
    half = uncertainty.student_quantile(0.975, freedom) * math.hypot(0.02, 0.1) * math.sqrt(2)
    assert math.log(more.high / more.ratio) == pytest.approx(half)
    assert (found.verdict, more.verdict) == (SLOWER, LIKELY_SLOWER)


@pytest.mark.parametrize("threshold", [0.02, 0.05, 0.2])
def test_as_many_look_likely_as_chance_is_said_to_make(threshold):
    """Of 8,000 questions that differ in nothing, of spreads from far below the threshold to far above it."""
    chance = np.random.default_rng(7)
    pairs = []
    for true in np.geomspace(0.001, 0.1, 8000):
        times = np.exp(true * chance.normal(size=2))
        found = true * np.sqrt(chance.chisquare(9, size=2) / 9)
        pairs.append(tuple(answer(*each) for each in zip(times, [(one, 9) for one in found], strict=True)))
    told = [each.verdict for each in verdicts.verdicts(pairs, threshold)]
    expected = verdicts.by_chance(pairs, threshold)
    assert expected < 0.19 * len(pairs)
    assert 0.93 * expected < len([one for one in told if one not in (SAME, UNCLEAR)]) < 1.07 * expected


@pytest.mark.parametrize("sides", [(None, (0.0, math.inf)), ((0.0, math.inf), None), (None, None)])
def test_without_type_b_nothing_is_certain(sides):
    base, new = (answer(seconds, b=b) for seconds, b in zip((1.0, 2.0), sides, strict=True))
    found = one(base, new)
    assert (found.verdict, found.p, found.why) == (LIKELY_SLOWER, None, verdicts.TYPE_B_UNKNOWN)
    assert one(answer(1.0, b=sides[0]), answer(1.0, b=sides[1]), 0.5).verdict == UNCLEAR


def test_without_type_a_nothing_is_likely():
    found = one(answer(1.0, None, visits=1), answer(3.0))
    assert (found.verdict, found.low, found.why) == (UNCLEAR, None, verdicts.NO_TYPE_A)
    assert found.ratio == pytest.approx(3.0)


def test_what_is_lost_among_many_rows_is_claimed_alone():
    row = (answer(1.0), answer(1.04))  # p of about 0.6 %
    assert one(*row, 0.0).verdict == SLOWER
    among = verdicts.verdicts([row, *[(answer(1.0), answer(1.001))] * 200], 0.0)[0]
    assert (among.verdict, among.why) == (LIKELY_SLOWER, verdicts.AMONG_MANY)


def test_rows_that_are_the_same_lend_others_no_certainty():
    """2 %, certain in half of the rows and the same to 5 %, beside rows in which nothing changed."""
    chance = np.random.default_rng(11)
    precise = [(answer(1.0, (0.001, math.inf)), answer(1.02, (0.001, math.inf)))] * 250
    wrong = 0
    for _ in range(100):
        times = np.exp(chance.normal(0, 0.05, (250, 2)))
        coarse = [tuple(answer(float(seconds), (0.05, math.inf)) for seconds in pair) for pair in times]
        said = [one.verdict for one in verdicts.verdicts([*precise, *coarse], 0.05)]
        assert set(said[:250]) == {SAME}
        wrong += SLOWER in said or FASTER in said
    assert wrong <= 10  # of 5 that are to be expected


def test_equal_times_without_any_uncertainty_are_the_same():
    exact = answer(1.0, (0.0, math.inf))
    assert one(exact, exact).verdict == SAME
    assert one(exact, answer(1.2, (0.0, math.inf))).verdict == SLOWER


def test_benjamini_hochberg_by_hand():
    assert verdicts.benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert verdicts.benjamini_hochberg([0.9, 0.8]) == pytest.approx([0.9, 0.9])
    assert verdicts.benjamini_hochberg([]) == []


def test_power_by_hand():
    """Type A 2 % of 3 visits and type B 1 %: the plan of 4 % between two such runs."""
    pair = (answer(1.0, (0.02, math.inf), (0.01, math.inf)), answer(1.0, (0.02, math.inf), (0.01, math.inf)))
    host = (answer(1.0, (0.02, math.inf), (0.1, math.inf), clock="host"),) * 2
    gated, slow = verdicts.power([pair] * 3 + [host], 0.04)
    half = 1.959964 * math.sqrt(2 * (0.02**2 + 0.01**2))
    assert (gated.clock, gated.questions, gated.known) == ("gated", 3, True)
    assert gated.shows == pytest.approx(math.expm1(half))
    # Certain alone among 4 questions: at 5 % over 4, to both sides.
    assert gated.alone == pytest.approx(math.expm1(half * 2.497705 / 1.959964))
    assert gated.runs == math.ceil((half / math.log(1.04)) ** 2) == 3
    enough = [n for n in range(3, 99, 2) if reach(n) <= math.log(1.04)]
    assert gated.visits == enough[0] == 15
    # No number of visits makes up for what runs differ by.
    assert (slow.visits, slow.runs) == (None, 52)
    assert {(one.visits, one.runs) for one in verdicts.power([pair], 0.0)} == {(None, None)}


def reach(visits):
    """How far the interval reaches after so many visits a run, of the sides of `test_power_by_hand`."""
    share = [math.pi / (2 * count + math.pi - 2) for count in (visits, 3)]
    return 1.959964 * math.sqrt(2 * (0.02**2 * share[0] / share[1] + 0.01**2))


# Tables of Student's t: t, degrees of freedom, the chance above.
@pytest.mark.parametrize(
    ("t", "freedom", "chance"),
    [
        (2.776445, 4, 0.025),
        (4.604095, 4, 0.005),
        (1.859548, 8, 0.05),
        (5.041305, 8, 0.0005),
        (1.984, 100, 0.025),
        (1.959964, math.inf, 0.025),
        (1.9719, 200, 0.025),
        (math.inf, math.inf, 0.0),
        (math.inf, 500, 0.0),
        (0.0, 3, 0.5),
        (6.313752, 1, 0.05),
        (1e3, 4, 3e-12),  # 3/8 · 2^5/t^4 · … → 12/t⁴
        (math.inf, 4, 0.0),
        (1e200, 4, 0.0),
    ],
)
def test_student(t, freedom, chance):
    assert student_above(t, freedom) == pytest.approx(chance, rel=1e-3, abs=1e-30)


@pytest.mark.parametrize("t", [0.1, 1.0, 2.0, 4.0, 6.0])
def test_many_degrees_of_freedom_are_no_other_distribution(t):
    above, below = student_above(t, uncertainty.MANY * 1.0000001), student_above(t, uncertainty.MANY)
    assert above == pytest.approx(below, rel=1e-5)


def fleet(times):
    """Nodes from a table of times, a question a row and a node a column."""
    found = {}
    for at, column in enumerate(np.atleast_2d(times).T):
        found[f"n{at}"] = {
            Question("measured", "transfer/memcpy", (("bytes", row),)): [Answer(float(time), (float(time),))]
            for row, time in enumerate(column)
            if np.isfinite(time)
        }
    return found


def test_a_slow_node_is_named_and_no_other():
    times = drawn(51, 300, 12, 0.01)
    times[:40, 7] *= 1.5
    [found] = verdicts.find_outliers(fleet(times), 0.05)
    assert (found.node, found.slower, found.rows, found.of) == ("n7", True, 40, 300)
    assert found.ratio == pytest.approx(1.5, rel=0.02)


def test_two_slow_nodes_do_not_hide_each_other():
    times = drawn(52, 300, 12, 0.01)
    times[:, [2, 9]] *= 1.5
    assert [one.node for one in verdicts.find_outliers(fleet(times), 0.05)] == ["n2", "n9"]


def test_a_fast_node_is_named_as_fast():
    times = drawn(53, 300, 8, 0.01)
    times[:, 3] /= 2
    [found] = verdicts.find_outliers(fleet(times), 0.05)
    assert (found.node, found.slower) == ("n3", False)
    assert found.ratio == pytest.approx(0.5, rel=0.02)


def test_alike_nodes_are_rarely_called_outliers():
    named = [bool(verdicts.find_outliers(fleet(drawn(seed, 40, 8, 0.02)), 0.0)) for seed in range(300)]
    assert np.mean(named) <= verdicts.ALPHA


def test_nodes_that_happen_to_agree_make_no_outlier_of_one_within_its_own_uncertainty():
    """Four agree to 0.01 %; the fifth is off by a tenth: by twice or 40 times what its runs differ by."""
    for known, named in ((0.05, []), (0.0025, ["n4"])):
        times = [1.0, 1.0001, 0.9999, 1.00005, 1.1]
        nodes = {
            f"n{at}": {QUESTION: [answer(time, a=(known / 2, 20), b=(known, 20))]}
            for at, time in enumerate(times)
        }
        assert [one.node for one in verdicts.find_outliers(nodes, 0.05)] == named


def test_small_or_few_is_no_outlier():
    times = drawn(54, 300, 12, 0.0001)
    times[:, 7] *= 1.02
    assert verdicts.find_outliers(fleet(times), 0.05) == []
    times[:, 7] *= 2
    assert verdicts.find_outliers(fleet(times[:, 5:9]), 0.05) == []
    times[:, :8] = math.nan
    assert verdicts.find_outliers(fleet(times), 0.05) == []


def test_nodes_without_some_rows():
    times = drawn(55, 300, 12, 0.01)
    times[:, 7] *= 2
    times[::2, 3] = math.nan
    [found] = verdicts.find_outliers(fleet(times), 0.05)
    assert (found.node, found.rows) == ("n7", 300)


RUNS = PROJECT / "results/reference/acceptance"
# One GPU twice, and two GPUs of one kind.
PAIRS = [("h100-b1", "h100-b2"), ("h100-c1", "h100-c2"), ("h200-a", "h200-b")]
TIMES = ("median_s", "real_time", "operation_s", "interval_s", "samples_s", "unsettled_s", "within_s")
RATES = ("bandwidth_gb_s", "items_per_second", "bytes_per_second")


def slowed(name: str, factor: float, folder: Path) -> Path:
    """The run with every measured row slower by a factor."""

    def scale(record: dict) -> None:
        for key in TIMES:
            if key in record:
                value = record[key]
                record[key] = [x * factor for x in value] if isinstance(value, list) else value * factor
        for key in RATES:
            if key in record:
                record[key] /= factor

    document = json.loads(gzip.decompress((RUNS / f"{name}.json.gz").read_bytes()))
    for row in document["benchmarks"]:
        if row["status"] == "ok" and row["label"] == "measured":
            for record in (row, *row["visits"]):
                scale(record)
    path = folder / f"{name}-{factor}.json"
    path.write_text(json.dumps(document))
    return path


def shares(pair: tuple[str, str], factor: float, folder: Path, clocks=None) -> dict[str, float]:
    """The share of each verdict among the questions on these clocks."""
    out = folder / "compared.json"
    main(["compare", str(RUNS / f"{pair[0]}.json.gz"), str(slowed(pair[1], factor, folder)), "-o", str(out)])
    rows = [
        row["verdict"]
        for row in json.loads(out.read_text())["new"][0]["rows"]
        if row["label"] == "measured" and (clocks is None or row["clock"] in clocks)
    ]
    return {
        verdict: rows.count(verdict) / len(rows) for verdict in {*rows, "slower", "faster", "likely slower"}
    }


@pytest.mark.parametrize("names", [[f"h200-{at}" for at in "defghijk"], [f"two-h200-{at}" for at in "34567"]])
def test_of_machines_of_one_kind_none_stands_out(names):
    base, *others = (RUNS / f"{name}.json.gz" for name in names)
    compared = verdicts.compare(sides.read(base, others), 0.05)
    assert (compared.nodes, compared.outliers) == (len(names), ())


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_of_one_machine_next_to_nothing_is_called_different(pair, tmp_path):
    found = shares(pair, 1.0, tmp_path)
    assert found["slower"] + found["faster"] <= 0.01


def test_a_host_that_is_shared_is_no_slower_machine(tmp_path, capsys):
    """On the host's clock these runs are a tenth apart and more, and neither machine is faster."""
    found = shares(("h100-c2", "h100-d"), 1.0, tmp_path)
    assert "others took CPUs of the host" in capsys.readouterr().out
    assert found["slower"] + found["faster"] <= 0.01
    shares(("h100-c1", "h100-c2"), 1.0, tmp_path)
    assert "others took CPUs of the host" not in capsys.readouterr().out


def test_a_crowded_host_is_no_slower_machine(tmp_path, capsys):
    """Of CPUs that the hypervisor took most of one for others, and clocked lower."""
    levels = {
        path.name[:-8]: uncertainty.sharing(json.loads(gzip.decompress(path.read_bytes()))["benchmarks"])
        for path in RUNS.glob("*h[12]00*.gz")
    }
    assert [run for run, of in levels.items() if of == uncertainty.CROWDED] == ["two-h200-6"]
    found = shares(("two-h200-6", "two-h200-7"), 1.0, tmp_path)
    assert "and far fewer of the other's" in " ".join(capsys.readouterr().out.split())
    assert found["slower"] + found["faster"] <= 0.01


def test_what_hosts_differ_by_stands_between_them_alone_and_no_mean_of_runs_makes_it_less():
    quiet, shared, untold = (replace(answer(1.0), shared=which) for which in (False, True, None))

    def half(base: Answer, new: Answer) -> float:
        found = one(base, new)
        return math.log(found.high / found.ratio)

    alike = half(quiet, quiet)
    assert half(shared, shared) == half(quiet, untold) == half(shared, untold) == alike
    more = uncertainty.expanded(uncertainty.between_hosts(quiet.clock))
    assert half(quiet, shared) > more > alike
    assert half(quiet, pooled(*[shared] * 9)) > more


def test_a_pool_of_runs_on_shared_hosts_and_others_is_not_more_certain_than_these_alone():
    """A run on a quiet host takes its share away, and one of which nothing is known takes none."""
    quiet, shared, untold = (replace(answer(1.0), shared=which) for which in (False, True, None))

    def half(*runs: Answer) -> float:
        found = one(quiet, pooled(*runs))
        return math.log(found.high / found.ratio)

    whole = uncertainty.between_hosts(quiet.clock)
    hosts = uncertainty.expanded(whole)
    assert half(*[shared] * 5, untold) > hosts
    assert half(*[shared] * 5, quiet) > 5 / 6 * hosts
    assert half(*[shared] * 6) > half(*[shared] * 5, quiet) > half(*[shared] * 3, *[quiet] * 3)
    assert half(untold, untold) == half(quiet, quiet)


def test_neither_visits_nor_runs_make_less_of_what_hosts_differ_by():
    quiet, shared = (replace(answer(1.0, (0.02, 8), (0.002, 8)), shared=which) for which in (False, True))
    hosts = uncertainty.expanded(uncertainty.between_hosts("gated"))
    [power] = verdicts.power([(quiet, shared)], math.expm1(0.9 * hosts))
    assert (power.visits, power.runs) == (None, None)
    [power] = verdicts.power([(quiet, shared)], math.expm1(1.05 * hosts))
    assert power.runs
    found = one(pooled(*[quiet] * power.runs), pooled(*[shared] * power.runs))
    assert math.log(found.high / found.ratio) <= 1.05 * hosts


def test_of_a_host_that_nothing_is_known_of_nothing_is_assumed():
    row, quiet, untold = (
        {"status": "ok", "visits": [visit]}
        for visit in ({"visit_s": 1.0, "stolen_s": 0.01}, {"visit_s": 2.0, "stolen_s": 0.0}, {"visit_s": 1.0})
    )
    assert uncertainty.sharing([row]) == uncertainty.SHARED
    assert uncertainty.sharing([row, quiet]) == uncertainty.NOT_SHARED
    assert uncertainty.sharing([row, row, quiet]) is None
    assert uncertainty.sharing([{"status": "failed"}, untold]) is None
    crowded = {"status": "ok", "visits": [{"visit_s": 1.0, "stolen_s": 0.5}]}
    assert uncertainty.sharing([crowded]) == uncertainty.CROWDED


# Shares of rows below the 80 % that should show a planted change, with what they have now: they may only get
# better, and what is met is taken out (docs/uncertainty.md, Planted).
H200, TWO_H200, NO_GPU, HOSTS = (
    "NVIDIA H200",
    "NVIDIA H200 ×2",
    "AMD EPYC 32/1024/32768 KiB",
    worth.BETWEEN_HOSTS,
)
NEW_NO_GPU = "AMD EPYC 48/1024/32768 KiB"
NO_GPU_XEON = "Intel(R) Xeon(R) Processor @ 2.80GHz 48/1280/49152 KiB"
EVERY, TODAY = False, True  # of all runs, or of two that both sought quiet CPUs
CERTAIN, OR_LIKELY = True, False
NOT_SHOWN = {
    (worth.ALL, 1.2, "all", TODAY, CERTAIN): 0.785,
    (worth.ALL, 1.2, "open", TODAY, CERTAIN): 0.760,
    (worth.ALL, 1.2, "host and quiet", TODAY, CERTAIN): 0.504,
    (worth.ALL, 1.2, "host and quiet", TODAY, OR_LIKELY): 0.739,
    (worth.ALL_WHOLE, 1.2, "all", TODAY, CERTAIN): 0.788,
    (worth.ALL_WHOLE, 1.2, "open", TODAY, CERTAIN): 0.760,
    (worth.ALL_WHOLE, 1.2, "host and quiet", TODAY, CERTAIN): 0.492,
    (worth.ALL_WHOLE, 1.2, "host and quiet", TODAY, OR_LIKELY): 0.734,
    (H100, 1.1, "gated", TODAY, CERTAIN): 0.787,
    (H100, 1.2, "all", TODAY, CERTAIN): 0.789,
    (H100, 1.2, "open", TODAY, CERTAIN): 0.769,
    (H100, 1.2, "host and quiet", TODAY, CERTAIN): 0.620,
    (H200, 1.2, "all", EVERY, CERTAIN): 0.789,
    (H200, 1.2, "all", TODAY, CERTAIN): 0.789,
    (H200, 1.2, "open", TODAY, CERTAIN): 0.788,
    (H200, 1.2, "host and quiet", TODAY, CERTAIN): 0.481,
    (H200, 1.2, "host and quiet", TODAY, OR_LIKELY): 0.735,
    (TWO_H200, 1.2, "all", TODAY, CERTAIN): 0.786,
    (TWO_H200, 1.2, "open", TODAY, CERTAIN): 0.674,
    (TWO_H200, 1.2, "host and quiet", TODAY, CERTAIN): 0.463,
    (TWO_H200, 1.2, "host and quiet", TODAY, OR_LIKELY): 0.689,
    (NO_GPU, 1.2, "all", EVERY, CERTAIN): 0.278,
    (NO_GPU, 1.2, "all", EVERY, OR_LIKELY): 0.693,
    (NO_GPU, 1.2, "all", TODAY, CERTAIN): 0.459,
    (NO_GPU, 1.2, "all", TODAY, OR_LIKELY): 0.662,
    (NO_GPU, 1.2, "host and quiet", TODAY, CERTAIN): 0.459,
    (NO_GPU, 1.2, "host and quiet", TODAY, OR_LIKELY): 0.662,
    (NEW_NO_GPU, 1.2, "all", EVERY, CERTAIN): 0.783,
    (NEW_NO_GPU, 1.2, "all", TODAY, CERTAIN): 0.783,
    (NEW_NO_GPU, 1.2, "host and quiet", TODAY, CERTAIN): 0.783,
    (NO_GPU_XEON, 1.2, "all", EVERY, CERTAIN): 0.221,
    (NO_GPU_XEON, 1.2, "all", EVERY, OR_LIKELY): 0.637,
    (NO_GPU_XEON, 1.2, "all", TODAY, CERTAIN): 0.221,
    (NO_GPU_XEON, 1.2, "all", TODAY, OR_LIKELY): 0.637,
    (NO_GPU_XEON, 1.2, "host and quiet", TODAY, CERTAIN): 0.221,
    (NO_GPU_XEON, 1.2, "host and quiet", TODAY, OR_LIKELY): 0.637,
    (HOSTS, 1.1, "gated", EVERY, CERTAIN): 0.731,
    (HOSTS, 1.1, "gated", TODAY, CERTAIN): 0.714,
    (HOSTS, 1.2, "all", EVERY, CERTAIN): 0.667,
    (HOSTS, 1.2, "all", TODAY, CERTAIN): 0.599,
    (HOSTS, 1.2, "open", TODAY, CERTAIN): 0.509,
    (HOSTS, 1.2, "host and quiet", TODAY, CERTAIN): 0.065,
    (HOSTS, 1.2, "host and quiet", TODAY, OR_LIKELY): 0.714,
}


@TOGETHER
@pytest.mark.parametrize("certain", [CERTAIN, OR_LIKELY])
def test_a_planted_tenth_shows_in_gated_rows_and_a_fifth_in_all(certain):
    """Of every two runs of a kind, by tables that were made without one of them: all, and those with GPUs."""
    for machines in (worth.ALL, worth.ALL_WHOLE):
        assert worth.Plan(1.1, "gated", EVERY, certain).found(machines)[-1] >= worth.FOUND
        assert worth.Plan(1.2, "all", EVERY, certain).found(machines)[-1] >= worth.FOUND
    assert {plan.factor for plan in worth.PLANS} == {1.1, 1.2}


@TOGETHER
def test_kinds_of_machine_and_clocks_show_less_where_it_is_said_and_no_less():
    found = {
        (machines, *plan): shares[-1]
        for machines in worth.planted_on()
        for plan in worth.PLANS
        if (shares := plan.found(machines))
    }
    assert {key for key, share in found.items() if share < worth.FOUND} == NOT_SHOWN.keys()
    for key, now in NOT_SHOWN.items():
        assert found[key] >= now - 0.0005, (key, found[key])


@TOGETHER
def test_what_is_slower_is_not_called_faster():
    """Two rows of 1,000 at most."""
    for factor in (1.1, 1.2):
        found = worth.shown("all", factor, "all")
        assert sum(one.wrong for one in found) <= 0.002 * sum(one.rows for one in found)


@TOGETHER
def test_every_two_runs_of_a_kind_are_compared():
    pairs = {one: len(worth.compared(one)) for one in worth.planted_on()[2:]}
    assert pairs == {H100: 21, H200: 45, TWO_H200: 36, NO_GPU: 21, NEW_NO_GPU: 15, NO_GPU_XEON: 3, HOSTS: 14}


def test_compare_says_of_a_planted_fifth_what_runs_held_out_say(tmp_path):
    """By files, as a user would."""
    found = shares(("h100-c1", "h100-c2"), 1.2, tmp_path)
    assert found["slower"] >= 0.7
    assert found["slower"] + found["likely slower"] >= 0.85
    assert found["faster"] == 0


def pooled(*parts: Answer) -> Answer:
    return sides.together([{QUESTION: part} for part in parts])[QUESTION]


def test_runs_of_other_work_make_no_answer():
    """Times of an operation and of a sample, or of other bytes, have no mean."""
    plain = replace(answer(1.0), bytes=1e6)
    assert pooled(plain, plain).seconds == pytest.approx(1.0)
    for other, why in (
        (replace(plain, each=True), "timed by operation in some of its runs only"),
        (replace(plain, bytes=2e6), "other work: 2000000 bytes, 1000000 in another run"),
        (replace(plain, threads=(2.0,)), ""),
        (replace(plain, bytes=1.005e6), ""),
    ):
        found = pooled(plain, other)
        assert (found.reason, bool(found.visits)) == (why, not why)


def test_a_run_that_found_no_quiet_cpu_makes_its_pool_one_that_found_none():
    quiet, busy = answer(1.0, clock="quiet"), answer(1.5, clock="host")
    assert pooled(quiet, busy).clock == pooled(busy, quiet).clock == "host"
    assert pooled(quiet, quiet).clock == "quiet"
    assert sides.other_work(QUESTION, quiet, pooled(quiet, busy)) == (
        "on CPUs without a neighbour on one side only"
    )


def test_cpus_far_from_each_other_on_one_side_are_other_work():
    near, nearer, far = (replace(answer(1.0), line_ns=line) for line in (70.0, 40.0, 200.0))
    assert sides.other_work(QUESTION, near, nearer) == ""
    assert sides.other_work(QUESTION, nearer, answer(1.0)) == ""  # nobody says
    for pair in ((near, far), (far, near)):
        assert sides.other_work(QUESTION, *pair) == "on CPUs far from each other on one side only"
    # Of other CPUs it is what they are.
    assert sides.other_work(QUESTION, near, replace(far, cpu="another")) == ""
    assert pooled(near, far).reason == "on CPUs far from each other in some of its runs only"


def test_a_node_that_did_other_work_is_no_outlier():
    nodes = {f"n{at}": {QUESTION: [answer(1.0 + 0.002 * (at % 3), clock="quiet")]} for at in range(8)}
    for other in (answer(1.5, clock="host"), replace(answer(1e-3, clock="quiet"), each=True)):
        assert verdicts.find_outliers(nodes | {"n8": {QUESTION: [other]}}, 0.05) == []
    slow = verdicts.find_outliers(nodes | {"n8": {QUESTION: [answer(1.5, clock="quiet")]}}, 0.05)
    assert [found.node for found in slow] == ["n8"]


def test_visits_are_planned_for_one_run_also_where_several_are_pooled():
    """Three runs of three visits: what they know is had again by three visits a run."""
    side = pooled(*[answer(1.0, (0.02, 8), (0.02, 8))] * 3)
    assert (side.runs, len(side.visits)) == (3, 9)
    now = one(side, side)
    [power] = verdicts.power([(side, side)], 1.0001 * (now.high / now.ratio - 1))
    assert power.visits == 3


@pytest.mark.parametrize("have", [1, 2, 4])
def test_runs_are_planned_a_side_however_many_are_pooled(have):
    of_one = answer(1.0, (0.02, math.inf), (0.01, math.inf))
    side = pooled(*[of_one] * have)
    [power] = verdicts.power([(side, side)], 0.02)
    half = 1.959964 * math.sqrt(2 * (0.02**2 + 0.01**2))
    assert power.runs == math.ceil((half / math.log(1.02)) ** 2) == 10


def test_of_several_sites_the_widest_interval_counts():
    """Two degrees of freedom make 0.9 % wider than 50 make 1 %."""
    parts = [model.Uncertainty(0.010, 50.0), model.Uncertainty(0.009, 2.0)]
    assert sides._largest(parts) == Uncertainty(0.009, 2.0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rows", [1, 2, 7, 40])
def test_as_many_visits_or_runs_are_planned_as_half_of_the_rows_need(seed, rows):
    """Against every count of every row, where the normal distribution tells how wide an interval is."""
    chance = np.random.default_rng(seed)
    spreads = 0.05 * 10 ** chance.uniform(-1, 0.3, (rows, 4))
    pairs = [
        (answer(1.0, (a, math.inf), (b, math.inf)), answer(1.0, (c, math.inf), (d, math.inf)))
        for a, b, c, d in spreads
    ]
    goal = math.log1p(0.05)

    def middle(counts, share_a, share_b):
        shares = np.broadcast_arrays(*2 * (share_a, share_b))
        variances = np.square(spreads) @ np.array(shares)
        enough = NormalDist().inv_cdf(0.975) * np.sqrt(variances) <= goal
        needed = np.where(enough.any(1), counts[enough.argmax(1)], np.inf)
        found = np.sort(needed)[rows // 2]
        return None if np.isinf(found) else found

    visits, runs = np.arange(1, verdicts.MOST_VISITS + 1, 2), np.arange(1, verdicts.MOST_RUNS + 1)
    less = np.array([uncertainty.middle_share(count) for count in visits]) / uncertainty.middle_share(3)
    [told] = verdicts.power(pairs, 0.05)
    assert told.visits == middle(visits, less, 1.0)
    assert told.runs == middle(runs, 1 / runs, 1 / runs)
