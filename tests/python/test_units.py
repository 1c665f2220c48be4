"""How quantities are written."""

import pytest

from grainscope_report import units


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (32, "32 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1 MiB"),
        (3 << 30, "3 GiB"),
        (1 << 40, "1 TiB"),
    ],
)
def test_sizes_are_binary(size, said):
    assert units.format_bytes(size) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1.6e-6, "1.6 µs"),
        (2.5e-9, "2.5 ns"),
        (0.0123, "12.3 ms"),
        (148, "148 s"),
        (1e-6, "1 µs"),
        (5e-13, "0.5 ps"),
    ],
)
def test_times_take_the_fitting_unit(seconds, said):
    assert units.format_time(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(90, "90 s"), (119.9, "120 s"), (848.35, "14 min 8 s"), (3599.9, "1 h 0 min"), (7380, "2 h 3 min")],
)
def test_what_goes_on_for_minutes_is_told_in_minutes(seconds, said):
    assert units.format_duration(seconds) == said


def test_an_interval_decides_the_decimals():
    assert units.format_interval(54.7312, 54.70, 54.76) == ("54.73", "[54.70, 54.76]")
    assert units.format_interval(7.7, 6.1, 9.9) == ("7.7", "[6.1, 9.9]")
    assert units.format_interval(150.0, 150.0, 150.0) == ("150.00", "[150.00, 150.00]")


def test_significant_never_uses_an_exponent():
    assert units.significant(0) == "0"
    assert units.significant(1234567) == "1234567"
    assert units.significant(0.000012345) == "0.0000123"


def test_percentages_have_one_decimal():
    assert units.format_percent(0.929) == "92.9 %"


@pytest.mark.parametrize(
    ("count", "said"), [(7.0, "7"), (65536, "65536"), (2239591, "2.24 million"), (3.2e9, "3.2 billion")]
)
def test_large_counts_are_in_words(count, said):
    assert units.format_large(count) == said
