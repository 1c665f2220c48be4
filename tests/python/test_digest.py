"""What a line of the summary says of the link: a share, or both ends where caches may have helped."""

from pathlib import Path

import pytest

from grainscope_report import analysis
from grainscope_report.reader import read
from planted import SITE
from synthetic import MIB, File

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
ROWS = {"memory": "host_alloc", "order": "as_asked", "row": 128, "rows": 1 << 20, "locality": "local"}


def gathered(tmp_path, share: float, asked_bytes: int | None) -> analysis.Peak:
    """Rows of 128 MiB of which half are different, at this share of the copy peak."""
    file = File()
    file.link("host_to_gpu", 50.0)
    row = file.add("reach/gather", {**ROWS, "span": 256 * MIB}, SITE, 128 * MIB / 40e9)
    row |= {"bytes": 128 * MIB, "bandwidth_gb_s": 40.0, "link_bytes_least": 64 * MIB, "link_fraction": share}
    if asked_bytes:
        row["traffic"] = {"label": "modelled", "requests": 1, "requests_by_size": {}, "bytes": asked_bytes}
    [group] = analysis.groups_of(read(file.write(tmp_path / "file.json")))
    return group.peak


def families(tmp_path, rows: list[tuple[str, str]]) -> list[str]:
    file = File()
    for at, (family, status) in enumerate(rows):
        axes = {"bytes": MIB << at}
        if status == "ok":
            file.add(family, axes, SITE, 1e-3)
        else:
            file.lose(status, "no such thing", family, axes, SITE)
    result = read(file.write(tmp_path / "file.json"))
    return list(dict.fromkeys(group.family for group in analysis.groups_of(result)))


def test_families_stand_as_the_suite_runs_them_though_skipped_rows_come_first(tmp_path):
    skipped = ["transfer/duplex", "transfer/peer", "transfer/collective", "latency/chase", "model/uvm"]
    ran = ["host/memcpy", "transfer/duplex", "transfer/local", "latency/chase", "call"]
    rows = [*((one, "skipped") for one in skipped), *((one, "ok") for one in ran)]
    assert families(tmp_path, rows) == [
        "host/memcpy", "transfer/duplex", "transfer/local", "transfer/peer", "transfer/collective",
        "latency/chase", "call", "model/uvm",
    ]  # fmt: skip
    assert families(tmp_path, [(one, "skipped") for one in skipped]) == skipped
    assert families(tmp_path, [("model/cc", "skipped"), ("call", "failed"), ("model/cc", "ok")]) == [
        "call", "model/cc",
    ]  # fmt: skip


def test_families_of_two_reference_runs_stand_in_one_order():
    orders = []
    for name in ("h200x2-full.json.gz", "h100-full.json.gz", "h100-quick.json", "no-gpu-quick.json"):
        found = analysis.groups_of(read(REFERENCE / name))
        orders.append(list(dict.fromkeys(group.family for group in found)))
    for order in orders[1:]:
        assert order == orders[0]


@pytest.mark.parametrize(
    ("share", "asked", "said"),
    [
        (0.4, 128 * MIB, "40.0–80.0 %"),
        (0.8, 128 * MIB, "80.0–100.0 %"),  # the link is never more than full
        (0.4, 64 * MIB, "40.0 %"),
        (0.4, None, "40.0 %"),
    ],
)
def test_the_share_of_the_link_has_both_ends_where_rows_repeat(tmp_path, share, asked, said):
    assert gathered(tmp_path, share, asked).of_link == said
