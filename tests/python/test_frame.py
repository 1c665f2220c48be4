"""Which rows become a curve: visits, configurations, sites, localities; and what never does."""

import math
import statistics as plain

import pytest

from grainscope_report import reader
from grainscope_report.figures import parts
from grainscope_report.figures.model import CurvePanel
from grainscope_report.figures.parts import NEAREST, bandwidth, curves, nearest, operation_ns, select
from grainscope_report.machine import machines
from grainscope_report.model import HOST_TO_GPU
from planted import SITE, pinned_copy
from synthetic import KIB, MIB, File

FAMILY = "transfer/memcpy"


@pytest.fixture
def shown(tmp_path):
    """Writes files and reads them back as machines."""

    def show(*files: File):
        paths = [file.write(tmp_path / str(order) / "result.json") for order, file in enumerate(files)]
        return machines([reader.read(path) for path in paths])

    return show


def drawn(shown_machines, where=None, **options):
    return curves(shown_machines, FAMILY, where or {}, name="pinned", method="pinned", **options)


def test_visits_of_a_case_are_one_point(shown):
    file = File()
    for visit, microseconds in enumerate((20, 25, 40), 1):
        file.add(FAMILY, pinned_copy(), SITE, microseconds * 1e-6, visit=visit)
    [curve] = drawn(shown(file)).curves
    [point] = curve.points
    # Student's t of two degrees of freedom, and what the middle of three values varies beside one.
    logs = [math.log(one) for one in (20, 25, 40)]
    factor = math.exp(4.302652729911275 * plain.stdev(logs) * math.sqrt(math.pi / (4 + math.pi)))
    assert point.x == MIB
    assert point.y.visits == 3
    assert point.y.value == pytest.approx(MIB / 25e-6 / 1e9)
    assert point.y.low == pytest.approx(MIB / 25e-6 / 1e9 / factor)
    assert point.y.high == pytest.approx(MIB / 25e-6 / 1e9 * factor)


def test_the_flags_of_a_row_are_kept(shown):
    file = File()
    file.add(FAMILY, pinned_copy(), SITE, 20e-6, flags=("bimodal",))
    assert drawn(shown(file)).curves[0].points[0].flags == {"bimodal"}


def test_only_ok_rows_are_selected(shown):
    file = File()
    file.add(FAMILY, pinned_copy(), SITE, 20e-6)
    failed = file.add(FAMILY, pinned_copy(2 * MIB), SITE, 20e-6)
    failed.update(status="failed", reason="impossible")
    file.lose("skipped", "no", FAMILY, pinned_copy(4 * MIB), SITE)
    assert drawn(shown(file)).curves[0].x == (MIB,)


def test_points_are_in_order_of_size(shown):
    file = File()
    for size in (4 * MIB, 64 * KIB, MIB):
        file.add(FAMILY, pinned_copy(size), SITE, 20e-6)
    assert drawn(shown(file)).curves[0].x == (64 * KIB, MIB, 4 * MIB)


def test_rows_that_differ_in_another_axis_never_share_a_curve(shown):
    file = File()
    for width, times in ((4, (20, 30, 40)), (16, (10, 15))):
        for size, microseconds in zip((MIB, 2 * MIB, 4 * MIB), times, strict=False):
            file.add(FAMILY, pinned_copy(size, width=width), SITE, microseconds * 1e-6)
    found = drawn(shown(file))
    [curve] = found.curves
    assert len(curve.points) == 3
    assert curve.y[0].value == pytest.approx(MIB / 20e-6 / 1e9)
    assert (curve.config, found.others) == ("width 4", 1)


def test_of_equally_long_configurations_the_faster_stands(shown):
    file = File()
    for width, microseconds in ((4, 20), (16, 10)):
        file.add(FAMILY, pinned_copy(width=width), SITE, microseconds * 1e-6)
    assert drawn(shown(file)).curves[0].config == "width 16"


def test_all_machines_are_drawn_in_the_configuration_that_they_share(shown):
    one, two = File(host="one"), File(host="two")
    for size in (MIB, 2 * MIB):
        one.add(FAMILY, pinned_copy(size, width=16), SITE, 5e-6)
    one.add(FAMILY, pinned_copy(width=4), SITE, 20e-6)
    two.add(FAMILY, pinned_copy(width=4), SITE, 30e-6)
    found = drawn(shown(one, two)).curves
    assert [(curve.machine.letter, curve.config) for curve in found] == [("A", "width 4"), ("B", "width 4")]


def test_modelled_rows_are_never_mixed_with_measured_ones(shown):
    file = File()
    file.add(FAMILY, pinned_copy(), SITE, 20e-6)
    file.add(FAMILY, pinned_copy(2 * MIB), SITE, 20e-6)["label"] = "modelled"
    found = drawn(shown(file))
    assert [curve.label for curve in found.curves] == ["measured"]
    assert found.curves[0].x == (MIB,)


def test_a_modelled_curve_says_so(shown):
    file = File()
    file.add(FAMILY, pinned_copy(), SITE, 20e-6)["label"] = "modelled"
    assert drawn(shown(file)).curves[0].name == "pinned (modelled)"


def test_remote_is_dashed_and_named_where_there_is_more_than_one_locality(shown):
    file = File()
    file.add(FAMILY, pinned_copy(), SITE, 20e-6)
    assert [(curve.name, curve.dash) for curve in drawn(shown(file)).curves] == [("pinned", "solid")]
    file.add(FAMILY, pinned_copy(locality="remote"), SITE | {"numa": 1}, 30e-6)
    assert [(curve.name, curve.dash) for curve in drawn(shown(file)).curves] == [
        ("pinned, local", "solid"),
        ("pinned, remote", "dashed"),
    ]


def test_every_site_has_its_curve_and_the_first_is_primary(shown):
    file = File()
    for gpu in (1, 0):
        file.add(FAMILY, pinned_copy(), {"gpu": gpu, "numa": gpu}, 20e-6)
    found = drawn(shown(file)).curves
    assert [(dict(curve.site)["gpu"], curve.primary) for curve in found] == [(0, True), (1, False)]


def test_nearest_locality_is_taken_machine_by_machine(shown):
    one, two = File(host="one"), File(host="two")
    one.add(FAMILY, pinned_copy(), SITE, 20e-6)
    one.add(FAMILY, pinned_copy(locality="remote"), SITE | {"numa": 1}, 30e-6)
    two.add(FAMILY, pinned_copy(locality="unknown"), SITE, 25e-6)
    by_where = drawn(shown(one, two), {"locality": NEAREST}).curves
    by_filter = nearest(drawn(shown(one, two)).curves)
    for found in (by_where, by_filter):
        assert [curve.locality for curve in found] == ["local", "unknown"]


def test_a_tuple_prefers_and_a_set_admits(shown):
    file = File()
    for flush in ("on", "off"):
        file.add(FAMILY, pinned_copy() | {"flush": flush}, SITE, 20e-6)
    rows = shown(file)[0].result.rows
    assert [row.case.axes["flush"] for row in select(rows, {"flush": ("none", "off", "on")})] == ["off"]
    assert len(select(rows, {"flush": frozenset({"on", "off"})})) == 2
    assert select(rows, {"flush": "none"}) == []


def test_measures(shown):
    file = File()
    file.add(FAMILY, pinned_copy(), SITE, 20e-6, operations=1000)
    [row] = shown(file)[0].result.rows
    [point] = drawn(shown(file), measure=operation_ns).curves[0].points
    assert point.y.value == pytest.approx(20)
    assert bandwidth(point.y.scaled(1e-6), row).value == pytest.approx(MIB / 20e-6 / 1e9)


def test_levels_belong_to_the_links_that_were_crossed(shown):
    file = File(gpus=("H100",) * 2)
    for gpu, peak in ((0, 54.7), (1, 41.0)):
        file.link("host_to_gpu", peak, gpu=gpu, numa=0)
        file.link("gpu_to_host", peak + 1, gpu=gpu, numa=0)
    file.add(FAMILY, pinned_copy(), SITE, 20e-6)
    found = parts.levels(drawn(shown(file)).curves, HOST_TO_GPU)
    assert [(level.kind, level.value) for level in found] == [("peak", 54.7), ("theoretical", 63.0)]
    assert found[1].name == "theoretical, PCIe 5 ×16"


def test_a_slow_site_is_named(shown):
    file = File(gpus=("H100",) * 2)
    for gpu, microseconds in ((0, 20), (1, 25)):
        file.add(FAMILY, pinned_copy(), {"gpu": gpu, "numa": gpu}, microseconds * 1e-6)
    panel = CurvePanel("host → GPU", drawn(shown(file)).curves)
    [note] = parts.slow_sites([panel], several=False)
    assert (
        note == "GPU 1, node 1 is 20 % slower than the best for pinned (host → GPU): 41.9 against 52.4 GB/s."
    )


def test_sites_within_five_percent_are_not_named(shown):
    file = File(gpus=("H100",) * 2)
    for gpu, microseconds in ((0, 20), (1, 20.8)):
        file.add(FAMILY, pinned_copy(), {"gpu": gpu, "numa": gpu}, microseconds * 1e-6)
    assert parts.slow_sites([CurvePanel("", drawn(shown(file)).curves)], several=False) == []


def test_rows_left_out_are_counted_by_reason(shown):
    file = File()
    file.lose("failed", "impossible", FAMILY, pinned_copy(), SITE)
    for size in (MIB, 2 * MIB):
        file.lose("skipped", "no second node", FAMILY, pinned_copy(size), SITE | {"numa": 1})
    file.lose("skipped", "too large", FAMILY, pinned_copy(4 * MIB), SITE)
    assert parts.left_out(shown(file)[0].result.rows) == [
        "Not drawn: 1 failed row: impossible.",
        "Not drawn: 3 skipped rows: no second node (2); too large (1).",
    ]
