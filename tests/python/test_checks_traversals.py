"""Faults in rows with trials, levels and graphs, each planted and found."""

import pytest

from planted import departures, faults_of
from planted_traversals import crossing, machine_file, model, steady, traverse
from synthetic_models import modelled
from synthetic_rows import times


def traversal_file(**more):
    file = machine_file()
    levels = [{"level": at, "active": 5, "edges": 10, "seconds": 0.01} for at in range(3)]
    traverse(file, [0.1, 0.2, 0.4], levels=levels, traffic=crossing({32: 10, 128: 5}, 100), **more)
    return file


def test_a_right_row_has_no_faults():
    assert faults_of(traversal_file()) == []


def levels(*numbers: int, seconds: float = 0.01):
    def spoil(row: dict) -> None:
        row["levels"] = [{"level": at, "active": 1, "edges": 1, "seconds": seconds} for at in numbers]

    return spoil


def cdf(*points):
    def spoil(row: dict) -> None:
        row["graph"]["degree_cdf"] = [list(point) for point in points]

    return spoil


FAULTS = [
    (lambda row: row["trials"].append(dict(row["trials"][0])), "trials: has a label twice"),
    (lambda row: row["trials"].pop(), "samples_s: has 3 times for 2 trials"),
    (
        lambda row: row["trials"][1].update(samples_s=[0.25]),
        "trials[1].samples_s: have the median 0.25, but the row has 0.2",
    ),
    (lambda row: row["counters"].update(teps=9.0), "counters.teps: is 9.0, the harmonic mean"),
    (levels(0, 2), "levels: are not counted from 0"),
    (levels(0, 1, seconds=0.09), "levels: take 0.18 s together, the first trial 0.1 s"),
    (cdf((1, 0.5), (1, 1.0)), "graph.degree_cdf: does not rise"),
    (cdf((1, 0.5), (2, 0.4), (3, 1.0)), "graph.degree_cdf: does not rise"),
    (cdf((1, 0.5), (2, 0.9)), "graph.degree_cdf: ends at 0.9"),
    (
        lambda row: row.update(counted=crossing({32: 3}, 1, label="counted") | {"bytes": 90}),
        "counted.bytes: is 90",
    ),
    (
        lambda row: row.update(counted={"label": "counted", "requests": 9, "sectors": 10, "bytes": 330}),
        "counted.bytes: is 330, its sectors of 32 bytes are 320",
    ),
    (lambda row: row.update(link_fraction=0.5), "link_fraction: is given without bandwidth_gb_s"),
]


@pytest.mark.parametrize(("spoil", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_a_fault_in_a_traversal_is_found(spoil, message):
    found = [one for one in faults_of(traversal_file(), spoil) if message in one]
    assert len(found) == 1


def test_the_share_of_the_copy_peak_is_that_of_the_bytes_over_the_link():
    file = traversal_file(counters={"link_gb_s": 27.35})
    file.rows[0]["link_fraction"] = 0.5
    assert faults_of(file) == []
    file.rows[0] |= {"bytes": 547 * 10**7, "bandwidth_gb_s": 5.47 / 0.2, "link_fraction": 0.5}
    assert faults_of(file) == []
    file.rows[0]["link_fraction"] = 0.6
    assert any("its rate over the copy peak is 0.5" in one for one in faults_of(file))


def test_a_family_that_only_models_says_so():
    file = machine_file()
    model(file, 0.5)
    assert faults_of(file) == []
    found = faults_of(file, lambda row: row.update(label="measured", **times([0.5] * 32)))
    assert any("label: is measured, but a model only models" in one for one in found)


@pytest.mark.parametrize("name", ["bytes_s", "requests_s", "translations_s"])
def test_no_cause_of_a_modelled_time_takes_longer_than_the_mean_over_the_trials(name):
    file = machine_file()
    times, mean = [0.1, 0.1, 0.4], 0.2
    row = model(file, 0.1, counters={name: mean})
    row["trials"] = [
        {"label": f"source:{at}", "samples_s": [time_s], "counters": {}} for at, time_s in enumerate(times)
    ]
    assert faults_of(file) == []
    [found] = faults_of(file, lambda row: row["counters"].update({name: mean * 1.00001}))
    assert f"counters.{name}: is 0.200002, above mean_time(self), which is 0.2" in found


def test_no_cause_of_a_modelled_gather_takes_longer_than_it():
    file = machine_file()
    axes = {"mode": "naive", "row": 128, "link": "pcie4x16"}
    modelled(file, "model/gather", axes, 0.1, counters={"bytes_s": 0.1})
    assert faults_of(file) == []
    assert len(faults_of(file, lambda row: row["counters"].update(bytes_s=0.11))) == 1


def test_what_a_row_must_have_depends_on_its_label():
    """A measurement has visits and how they were timed; a model has neither."""
    file = machine_file()
    model(file, 0.5)
    traverse(file, steady(0.1, 3))
    file.add("transfer/memcpy", {"path": "pinned_to_gpu", "bytes": 1}, {"gpu": 0, "numa": 0}, 1e-6)
    document = file.document()
    document["benchmarks"][0].pop("timing")
    assert departures(document) == []
    for name in ("visits", "middle", "timing"):
        document["benchmarks"][1].pop(name)
    found = [str(problem) for problem in departures(document)]
    assert found == [f"$.benchmarks[1].{name}: is missing" for name in ("visits", "middle", "timing")]
