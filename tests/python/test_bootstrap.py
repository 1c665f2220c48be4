"""The bootstrap: medians of resamples without resampling, shared trials, and coverage near 95 %."""

import numpy as np
import pytest

from grainscope_report import metrics, reader
from grainscope_report.buying import bootstrap, machines, verdict, workload
from planted import SITE, pinned_copy
from planted_purchase import SIZE, machine, seconds
from planted_purchase import workload as planted_workload
from synthetic import File, times

DRAWS = 40_000


def timed(samples: list[float], visit: int = 1) -> dict:
    """A visit of these samples."""
    middle = float(np.median(samples))
    return {"visits": [{"round": visit, "samples_s": samples, "median_s": middle}], "median_s": middle}


def planted(tmp_path, *visits: list[float], host: str = "node-a"):
    """A machine with one case, these samples a visit."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",), host=host)
    for visit, samples in enumerate(visits, 1):
        row = file.add("transfer/memcpy", pinned_copy(SIZE), SITE, samples[0], visit=visit)
        row |= timed(samples, visit)
        row["bandwidth_gb_s"] = SIZE / row["median_s"] / 1e9
    result = reader.read(file.write(tmp_path / f"{host}.json"))
    return machines.Machine("X", ((result,),)), ((tuple(metrics.by_visit(result.rows[0])),),)


def drawn(tmp_path, *visits: list[float], metric: str = "median_s") -> bootstrap.Estimates:
    one, found = planted(tmp_path, *visits)
    plan = bootstrap.resampling(one, DRAWS, (1, 0))
    return bootstrap.estimates(found, metric, plan, {}, (0,))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 31, 32])
def test_medians_of_resamples_are_distributed_as_by_resampling(tmp_path, count):
    samples = list(1e-3 * np.random.default_rng(count).lognormal(sigma=0.5, size=count))
    found = drawn(tmp_path, samples)
    plain = np.median(np.random.default_rng(2).choice(samples, size=(DRAWS, count)), axis=1)
    assert found.value == pytest.approx(np.median(samples))
    for percent in (2.5, 10, 25, 50, 75, 90, 97.5):
        # The rank of one's percentile among the other's draws, which may be ties: a share of draws around it.
        value = np.percentile(found.draws, percent)
        below, to = (plain < value * (1 - 1e-9)).mean(), (plain <= value * (1 + 1e-9)).mean()
        assert below - 0.01 < percent / 100 < to + 0.01


def test_rates_fall_where_times_rise(tmp_path):
    samples = [1e-3, 2e-3, 4e-3]
    time, rate = drawn(tmp_path, samples), drawn(tmp_path, samples, metric="bandwidth_gb_s")
    assert set(np.round(SIZE / rate.draws / 1e9, 9)) == set(np.round(time.draws, 9)) == set(samples)
    assert (rate.draws == SIZE / 2e-3 / 1e9).mean() == pytest.approx((time.draws == 2e-3).mean(), abs=0.01)


def test_visits_are_resampled(tmp_path):
    found = drawn(tmp_path, [1e-3] * 8, [2e-3] * 8, [4e-3] * 8)
    # The median of three drawn from three: the middle one 13 times in 27, each other 7 times.
    for value, share in ((1e-3, 7 / 27), (2e-3, 13 / 27), (4e-3, 7 / 27)):
        assert np.isclose(found.draws, value).mean() == pytest.approx(share, abs=0.01)


def test_sources_are_the_same_for_all_machines_and_trials_of_one_are_not(tmp_path):
    def traversal(labels: list[str], factor: float, host: str):
        file = File(gpus=("NVIDIA H100 80GB HBM3",), host=host)
        values = factor * 1e-3 * np.arange(1, 33)
        row = file.add("traversal/bfs", {"graph": "kron20", "locality": "local"}, SITE, 1e-3)
        row |= times(list(values))
        row["trials"] = [
            {"label": label, "samples_s": [value], "counters": {"teps": 1 / value}}
            for label, value in zip(labels, values, strict=True)
        ]
        row["counters"] = {"teps": 1 / values.mean()}
        result = reader.read(file.write(tmp_path / f"{host}.json"))
        return machines.Machine(host, ((result,),)), ((tuple(result.rows),),)

    for label, same in (("source", True), ("trial", False)):
        labels, trials, found = [f"{label}:{at}" for at in range(32)], {}, []
        for seed, (host, factor) in enumerate((("a", 1.0), ("b", 2.0))):
            one, rows = traversal(labels, factor, f"{label}-{host}")
            plan = bootstrap.resampling(one, 1000, (1, seed))
            found.append(bootstrap.estimates(rows, "teps", plan, trials, (0,)))
        ratio = found[0].draws / found[1].draws
        assert np.allclose(ratio, 2) == same
        assert found[0].value / found[1].value == pytest.approx(2)


def test_intervals_cover_the_truth_in_about_95_percent(tmp_path):
    """Visits with an effect of their own and samples with noise, of a machine 1.3 times the reference."""
    random = np.random.default_rng(8)
    inside, tries = 0, 150
    for _ in range(tries):
        files = {}
        for name, ratio in (("r", 1.0), ("X", 1.3)):
            file = machine(host=name)
            file.rows.clear()
            for visit in range(1, 26):
                middle = seconds(ratio) * random.lognormal(sigma=0.05)
                for family, axes in (("memcpy", pinned_copy(SIZE)), ("kernel_copy", KERNEL)):
                    row = file.add(f"transfer/{family}", axes, SITE, middle, visit=visit)
                    row |= times(list(middle * random.lognormal(sigma=0.02, size=32)), visit)
                    row["bandwidth_gb_s"] = SIZE / row["median_s"] / 1e9
                    row["link_fraction"] = row["bandwidth_gb_s"] / 55.0
            file.write(tmp_path / f"{name}.json")
            files[name] = file
        (tmp_path / "w.toml").write_text(planted_workload(candidates="X"))
        document = verdict.reach(workload.load(tmp_path / "w.toml"), 400, 1)
        time = document["candidates"][0]["time"]
        inside += time["low"] <= 1 / 1.3 <= time["high"]
    assert 0.89 <= inside / tries <= 0.99


KERNEL = {"path": "pinned_to_gpu", "bytes": SIZE, "locality": "local"}


def counted(tmp_path, family: str, counters: dict, trials: int = 0, **more):
    """A machine with one row of these counters, timed over samples of 1, 2 and 4 ms."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    row = file.add(family, {"bytes": SIZE, "locality": "local"}, SITE, 2e-3)
    row |= timed([1e-3, 2e-3, 4e-3]) | {"counters": counters, **more}
    if trials:
        times_s = row["visits"][0]["samples_s"][:trials]
        row["trials"] = [
            {"label": f"trial:{at}", "samples_s": [time_s], "counters": {}}
            for at, time_s in enumerate(times_s)
        ]
    result = reader.read(file.write(tmp_path / "counted.json"))
    return machines.Machine("X", ((result,),)), ((tuple(result.rows),),)


@pytest.mark.parametrize(
    ("family", "metric", "work"),
    [
        ("sampling/neighbours", "edges_per_s", 1e6),
        ("gather", "rows_per_s", 1e6),
        ("gather", "unique_gb_s", 1e-3),
        ("gather", "link_gb_s", 1e-3),
        ("gather/bag", "bags_per_s", 4e3),
        ("pipeline/graphsage", "seeds_per_s", 1e3),
    ],
)
def test_rates_among_the_counters_vary_with_the_samples(tmp_path, family, metric, work):
    one, found = counted(tmp_path, family, {metric: work / 2e-3})
    rates = bootstrap.estimates(found, metric, bootstrap.resampling(one, DRAWS, (1, 0)), {}, (0,))
    assert sorted(set(np.round(work / rates.draws, 9))) == [1e-3, 2e-3, 4e-3]
    assert bootstrap.spread_known(found, metric)


@pytest.mark.parametrize(
    ("family", "metric"),
    [
        ("tiering/score", "hit_rate_10"),
        ("grain/saturation", "full_gb_s"),
        ("pipeline/graphsage", "gather_gb_s"),
        ("pipeline/graphsage", "gather_s"),
    ],
)
def test_what_a_visit_says_once_has_no_known_spread(tmp_path, family, metric):
    one, found = counted(tmp_path, family, {metric: 0.25})
    draws = bootstrap.estimates(found, metric, bootstrap.resampling(one, 100, (1, 0)), {}, (0,)).draws
    assert set(draws) == {0.25}
    assert not bootstrap.spread_known(found, metric)
    [[rows]] = found
    assert bootstrap.spread_known(((rows * 2,),), metric)


def test_the_rate_of_a_first_trial_is_not_that_of_the_median(tmp_path):
    for rate, known in ((SIZE / 1e-3 / 1e9, False), (SIZE / 2e-3 / 1e9, True)):
        _, found = counted(tmp_path, "traversal/bfs", {"link_gb_s": rate}, 3, link_bytes_least=SIZE)
        assert bootstrap.spread_known(found, "link_gb_s") == known
