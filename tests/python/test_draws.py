"""Draws from uncertainties: what rows share and what they do not, and how often a verdict is wrong."""

import json
import math

import numpy as np
import pytest

from grainscope_report import reader, uncertainty
from grainscope_report.buying import machines, predict, verdict, workload
from planted import SITE, pinned_copy
from planted_purchase import CPU, GPU, SIZE
from planted_purchase import table as type_b_table
from synthetic import MIB, File, times

COUNT = 20_000
SIZES = (MIB, 4 * MIB, 16 * MIB, SIZE)
RUN, VISIT = {"transfer/memcpy": 0.03, "transfer/kernel_copy": 0.06, "transfer/host_copy": 0.12}, 0.02


def table(run: float = 0.05, visit: float = 0.02) -> uncertainty.TypeB:
    return uncertainty.TypeB(json.dumps(type_b_table(run, visit, RUN)).encode())


def measured(tmp_path, *, host: str = "node-a", sizes=SIZES, known: bool = True, **more):
    """A machine with copies and kernels of these sizes, each a millisecond; its rows by family and size."""
    file = File(gpus=(GPU,), host=host)
    for family in RUN:
        for size in sizes:
            row = file.add(family, pinned_copy(size), SITE, 1e-3)
            row |= more
    document = file.document()
    if known:
        uncertainty.apply(document["benchmarks"], document["context"], table())
    result = reader.parse(tmp_path / f"{host}.json", document)
    rows = {(row.case.family, row.case.axes["bytes"]): (((result.run.id, row),),) for row in result.rows}
    return {key: (points,) for key, points in rows.items()}


def logs(found: predict.Estimates) -> np.ndarray:
    return np.log(found.draws / found.value)


def drawn(points, metric: str = "median_s", seed: int = 1, source=None) -> np.ndarray:
    return logs((source or predict.Draws(COUNT, seed)).estimates(points, metric, ("m",)))


def test_a_row_varies_by_both_types(tmp_path):
    rows = measured(tmp_path)
    found = drawn(rows["transfer/memcpy", MIB])
    assert found.std() == pytest.approx(math.hypot(0.05, 0.02), rel=0.03)
    assert found.mean() == pytest.approx(0, abs=0.002)


def test_type_b_is_shared_in_a_family_of_a_run_and_nowhere_else(tmp_path):
    one, other = measured(tmp_path), measured(tmp_path, host="node-b")
    source = predict.Draws(COUNT, 1)
    first = drawn(one["transfer/memcpy", MIB], source=source)
    shared = 0.05**2 / (0.05**2 + 0.02**2)
    for points, correlation in (
        (one["transfer/memcpy", 4 * MIB], shared),
        (one["transfer/kernel_copy", MIB], 0.0),
        (other["transfer/memcpy", MIB], 0.0),
    ):
        found = np.corrcoef(first, drawn(points, source=source))[0, 1]
        assert found == pytest.approx(correlation, abs=0.03)


def test_the_same_row_has_the_same_draws_whoever_asks(tmp_path):
    rows = measured(tmp_path)
    one = predict.Draws(100, 1).estimates(rows["transfer/memcpy", MIB], "median_s", ("m",)).draws
    two = predict.Draws(100, 1).estimates(rows["transfer/memcpy", MIB], "median_s", ("other",)).draws
    rate = predict.Draws(100, 1).estimates(rows["transfer/memcpy", MIB], "bandwidth_gb_s", ("m",)).draws
    assert (one == two).all()
    assert np.allclose(rate * one, MIB / 1e9)
    assert not np.allclose(
        one, predict.Draws(100, 2).estimates(rows["transfer/memcpy", MIB], "median_s", ()).draws
    )


def test_draws_have_the_degrees_of_freedom_of_their_parts(tmp_path):
    told = {"standard": 0.1, "freedom": 3.0}
    parts = {"a": {"standard": 1e-9}, "b": told, "combined": told}
    points = measured(tmp_path, known=False, uncertainty=parts)["transfer/memcpy", MIB]
    beyond = (abs(drawn(points)) > 0.1 * uncertainty.student_quantile(0.975, 3)).mean()
    assert beyond == pytest.approx(0.05, abs=0.006)


def test_a_variance_of_no_freedom_stays_a_number(tmp_path):
    told = {"standard": 1.0, "freedom": 0.01}
    parts = {"a": {"standard": 1.0}, "b": told, "combined": told}
    points = measured(tmp_path, known=False, uncertainty=parts)["transfer/memcpy", MIB]
    assert np.isfinite(predict.Draws(1000, 1).estimates(points, "median_s", ()).draws).all()


@pytest.mark.parametrize(("family", "metric", "what"), [
    ("sampling/neighbours", "edges_per_s", None),
    ("gather", "unique_gb_s", None),
    ("gather", "link_gb_s", None),
    ("pipeline/graphsage", "seeds_per_s", None),
    ("tiering/score", "hit_rate_10", "spread"),
    ("grain/saturation", "full_gb_s", "spread"),
    ("pipeline/graphsage", "gather_gb_s", "spread"),
    ("pipeline/graphsage", "gather_s", "spread"),
])  # fmt: skip
def test_what_a_visit_says_once_has_no_known_spread(tmp_path, family, metric, what):
    file = File(gpus=(GPU,))
    row = file.add(family, {"bytes": SIZE, "locality": "local"}, SITE, 2e-3)
    row |= {"counters": {metric: 0.25}}
    row["uncertainty"] = {name: {"standard": 0.02} for name in ("a", "b", "combined")}
    result = reader.parse(tmp_path / "f.json", file.document())
    points = (((("run", result.rows[0]),),),)
    assert list(predict.unknown(points, metric)) == ([what] if what else [])
    found = predict.Draws(100, 1).estimates(points, metric, ()).draws
    assert np.isnan(found).all() == (what is not None)
    assert len(set(found)) > 90 or what


def test_what_runs_differ_by_may_be_unknown(tmp_path):
    for known, what in ((True, []), (False, ["runs"])):
        points = measured(tmp_path, known=known)["transfer/memcpy", MIB]
        assert list(predict.unknown(points, "median_s")) == what


def test_a_table_that_is_given_goes_before_the_file_and_that_before_the_one_at_hand(monkeypatch):
    file = File(gpus=(GPU,))
    file.add("transfer/memcpy", pinned_copy(SIZE), SITE, 1e-3)
    document, given = file.document(), table(run=0.2)

    def run_after(*tables: uncertainty.TypeB) -> float | None:
        uncertainty.renew(document, tables)
        return document["benchmarks"][0].get("uncertainty", {}).get("b", {}).get("standard")

    monkeypatch.setattr(uncertainty, "at_hand", uncertainty.TypeB)
    assert run_after() is None
    monkeypatch.setattr(uncertainty, "at_hand", lambda: table(run=0.1))
    assert run_after() == 0.1
    assert document["context"]["type_b"]["known"] is True
    monkeypatch.setattr(uncertainty, "at_hand", lambda: table(run=0.3))
    assert run_after() == 0.1
    assert run_after(given) == 0.2


class Truth:
    """Runs of one machine as the table has them: an effect of each run on a family, and one of each visit."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        self.random = np.random.default_rng(seed)
        self.runs = {family: scale * standard for family, standard in RUN.items()}

    def tables(self) -> list[uncertainty.TypeB]:
        """What somebody finds of it who has as few runs as a table is worth: 8 degrees of freedom."""
        rows = []
        for family, standard in self.runs.items():
            found = standard * math.sqrt(self.random.chisquare(8) / 8)
            rows += type_b_table(found, VISIT, (family,), freedom=8.0)["families"]
        return [uncertainty.TypeB(json.dumps(type_b_table() | {"families": rows}).encode())]

    def run(self, path, host: str, faster: float = 1.0) -> None:
        file = File(gpus=(GPU,), cpu=CPU, host=host)
        for family, standard in self.runs.items():
            effect = self.random.normal(scale=standard)
            for size in SIZES:
                for number in (1, 2, 3):
                    error = effect + self.random.normal(scale=VISIT)
                    time_s = size / 1e10 / faster * math.exp(error)
                    row = file.add(family, pinned_copy(size), SITE, time_s, visit=number, spread=0)
                    row |= times([time_s] * 32, number)
        file.write(path)

    def workload(self) -> str:
        """Some families, each with some sizes, at random shares."""
        count = self.random.integers(1, len(RUN) + 1)
        chosen = self.random.permutation(list(RUN))[:count]
        text = 'reference = "X.json"\n'
        for family, share in zip(chosen, self.random.dirichlet(np.ones(count)), strict=True):
            sizes = self.random.permutation(SIZES)[: self.random.integers(1, 4)]
            weights = self.random.dirichlet(np.ones(len(sizes)))
            said = ", ".join(f"{size} = {weight:.6f}" for size, weight in zip(sizes, weights, strict=True))
            text += f'[[component]]\nname = "{family}"\nshare = {share:.6f}\nalong = "bytes"\n'
            text += f'where = {{ family = "{family}", path = "pinned_to_gpu" }}\nsizes = {{ {said} }}\n'
        for name in ("X", "Y"):
            text += f'[[candidate]]\nname = "{name}"\nfiles = ["{name}.json"]\n'
        return text

    def verdict(self, folder, faster: float = 1.0) -> dict:
        """That on two runs, the second of a machine so many times as fast."""
        self.run(folder / "X.json", "node-x")
        self.run(folder / "Y.json", "node-y", faster)
        (folder / "w.toml").write_text(self.workload())
        return verdict.reach(workload.load(folder / "w.toml"), 400, 1, self.tables())


def test_two_runs_of_one_machine_seldom_give_a_certain_verdict(tmp_path):
    truth = Truth(5)
    found = [truth.verdict(tmp_path)["verdict"] for _ in range(300)]
    certain = sum(one["certain"] for one in found)
    assert certain <= 0.05 * 300
    # Not for want of trying: draws that are too wide would hide what is there, too.
    assert certain > 0
    assert all(one["kind"] == ("winner" if one["certain"] else "tie") for one in found)


def test_a_planted_fifth_is_found(tmp_path):
    """Where runs differ by 1 to 3 %; where it is 12 %, no pair of runs can tell."""
    truth = Truth(6, 0.25)
    found = [truth.verdict(tmp_path, 1.2)["verdict"] for _ in range(60)]
    assert not [one for one in found if one["certain"] and one["first"] != "Y"]
    assert sum(one["certain"] for one in found) >= 57


def test_intervals_cover_the_truth_in_about_95_percent(tmp_path):
    truth, inside = Truth(7), 0
    for _ in range(150):
        times_found = {one["name"]: one["time"] for one in truth.verdict(tmp_path, 1.3)["candidates"]}
        inside += times_found["Y"]["low"] <= 1 / 1.3 <= times_found["Y"]["high"]
    assert 0.9 <= inside / 150 <= 0.99


def test_a_machine_is_told_by_its_gpus(tmp_path):
    def of(host: str, *uuids: str) -> machines.Machine:
        file = File(gpus=(GPU,) * len(uuids), host=host)
        for gpu, uuid in zip(file.context["environment"]["gpus"], uuids, strict=True):
            gpu["uuid"] = uuid
        return machines.Machine(host, ((reader.read(file.write(tmp_path / f"{host}.json")),),))

    one = of("a", "GPU-1", "GPU-2")
    assert one.is_same(of("b", "GPU-1", "GPU-2"))
    assert not one.is_same(of("c", "GPU-1", "GPU-3"))
    assert not of("d", "").is_same(of("e", ""))
