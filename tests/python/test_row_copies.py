"""From which size of a row on a copy a row pays: planted rates, and what they must come to."""

import json
from pathlib import Path

import pytest

from grainscope_report.cli import main
from grainscope_report.groups import gather
from grainscope_report.machine import machines
from grainscope_report.reader import read
from planted import gpu_file
from synthetic import GIB, KIB, File
from synthetic_gnn import add_gather, gather_axes

# GB/s by the size of a row.
OVERTAKES = {16 * KIB: (12.5, 50.0), 64 * KIB: (50.0, 50.0), 256 * KIB: (200.0, 50.0)}
NEVER = {4 * KIB: (1.3, 44.0), 128 * KIB: (23.4, 50.7)}


def planted(rates: dict[int, tuple[float, float]], *, spread: float = 0.02, span: int = GIB) -> File:
    """Copies of 512 rows and kernels that gather as many."""
    file = gpu_file()
    for row, (copies, kernel) in rates.items():
        dma = gather_axes("row_dma", row, store="pinned", rows=512, span=span)
        for axes, gb_s in ((dma, copies), (gather_axes("masked_wide", row, rows=512, span=span), kernel)):
            one = add_gather(file, axes, gb_s)
            time_s = one["bytes"] / gb_s / 1e9
            one["median_s"] = time_s
            one["interval_s"] = [time_s * (1 - spread), time_s * (1 + spread)]
    return file


def of(file: File, folder: Path) -> list[gather.RowCopies]:
    return gather.row_copies(machines([read(file.write(folder / "one.json"))])[0])


def test_copies_pay_from_where_the_curves_cross(tmp_path):
    [one] = of(planted(OVERTAKES), tmp_path)
    pays = one.pays_from
    assert pays.value == pytest.approx(64 * KIB)
    # The rate is proportional to the row, so 2 % of either time are some 4 % of the size.
    assert (pays.low / pays.value, pays.high / pays.value) == pytest.approx((0.98 / 1.02, 1.02 / 0.98))
    assert one.spoken == "from 64 KiB a row on [61.5 KiB, 66.6 KiB]"


def test_copies_that_never_lead_pay_nowhere(tmp_path):
    [one] = of(planted(NEVER), tmp_path)
    assert one.pays_from is None
    assert one.spoken == "nowhere up to 128 KiB a row"


def test_copies_that_are_not_clearly_ahead_do_not_pay(tmp_path):
    [one] = of(planted({4 * KIB: (1.3, 44.0), 128 * KIB: (51.0, 50.7)}), tmp_path)
    assert one.pays_from is None


def test_copies_that_lead_at_every_size_pay_from_the_smallest(tmp_path):
    [one] = of(planted({64 * KIB: (60.0, 50.0), 128 * KIB: (70.0, 50.0)}), tmp_path)
    assert one.spoken == "from 64 KiB a row on"
    [alone] = of(planted({64 * KIB: (60.0, 50.0)}), tmp_path)
    assert alone.spoken == "from 64 KiB a row on"


def test_copies_that_fall_back_pay_no_longer(tmp_path):
    [one] = of(planted({64 * KIB: (60.0, 50.0), 128 * KIB: (40.0, 50.0)}), tmp_path)
    assert one.spoken == "no longer at 128 KiB a row"


def test_only_the_fastest_kernel_for_the_same_rows_counts(tmp_path):
    file = planted(NEVER)
    row = 128 * KIB
    add_gather(file, gather_axes("naive", row, rows=512), 20.0)
    add_gather(file, gather_axes("naive", row, rows=2048), 55.0)
    add_gather(file, gather_axes("address_ordered", row, rows=512, window=4), 60.0)
    add_gather(file, gather_axes("masked_wide", row, rows=512, span=4 * GIB), 52.0)
    add_gather(file, gather_axes("masked_wide", row, rows=512, store="device"), 2000.0)
    [one] = of(file, tmp_path)
    assert [kernel.way for kernel in one.kernels] == ["masked_wide", "masked_wide"]
    assert one.kernels[-1].asked.value == pytest.approx(50.7)


def test_copies_without_a_kernel_beside_them_say_nothing(tmp_path):
    file = gpu_file()
    add_gather(file, gather_axes("row_dma", 4096, store="pinned", rows=512), 1.3)
    assert of(file, tmp_path) == []


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        (OVERTAKES, "512 rows, 1 GiB, uniform from 64 KiB a row on [61.5 KiB, 66.6 KiB] 256 KiB 200.0 50.0"),
        (NEVER, "512 rows, 1 GiB, uniform nowhere up to 128 KiB a row 128 KiB 23.4 50.7"),
    ],
    ids=["overtakes", "never"],
)
def test_summary_says_from_which_row_on(tmp_path, capsys, rates, words):
    path = str(planted(rates).write(tmp_path / "one.json"))
    assert main(["summary", "--full", path]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a copy a row pays at GB/s fastest kernel" in lines
    assert words in lines
    assert main(["summary", "--json", path]) == 0
    [one] = json.loads(capsys.readouterr().out)["networks"]["row_copies"]
    assert (one["pays_from"] is None) == (rates is NEVER)
    assert [size["row"] for size in one["sizes"]] == list(rates)
    assert one["sizes"][-1]["kernel"] == "masked_wide"
