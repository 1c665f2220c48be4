"""Filters on names: sizes with units, and what is said where nothing matches."""

import json
from pathlib import Path

import pytest

from grainscope_report import selecting
from grainscope_report.cli import main
from grainscope_report.errors import ReportError

ROOT = Path(__file__).resolve().parents[2]
NAME = "transfer/memcpy/pinned_to_gpu/numa:0/gpu:0/flush:on/bytes:65536"


@pytest.mark.parametrize(
    "text",
    ["bytes:64KiB", "bytes:64 KiB", "bytes:64kib$", "bytes:64K", "bytes:(1KiB|64KiB)", "memcpy.*:64KiB$"],
)
def test_a_size_with_a_unit_is_found_in_bytes(text):
    assert selecting.name_pattern(text).search(NAME)


@pytest.mark.parametrize("text", ["bytes:1KiB", "bytes:64KB", "bytes:65B", "bytes:6B", "bytes:[64KiB]x"])
def test_another_size_is_not(text):
    assert not selecting.name_pattern(text).search(NAME)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pages:4KiB", "host/latency/pages:4KiB/bytes:64"),
        ("bytes 64 KiB", "transfer/memcpy pinned_to_gpu bytes 64 KiB"),
        ("kron20", "traversal/bfs/graph:kron20"),
        ("[4K]iB", "pages:4KiB"),
        (r"\d+KiB", "pages:4KiB"),
    ],
)
def test_what_names_have_is_found_as_it_is(text, name):
    assert selecting.name_pattern(text).search(name)


def test_what_is_no_expression_is_refused():
    with pytest.raises(ReportError, match="is no regular expression"):
        selecting.name_pattern("(")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h2d", "no name has 'h2d', which as a word means transfer/memcpy/"),
        ("host_to_device", "`ask host_to_device` takes it"),
        ("transfer/memcopy", "no name has 'memcopy' (did you mean memcpy?)"),
        ("pinnde_to_gpu", "did you mean pinned_to_gpu?"),
        ("memcpy/.*bytes:63MiB", "no name has 'bytes:63MiB' (did you mean bytes:32MiB or bytes:64MiB?)"),
    ],
)
def test_a_filter_that_matches_nothing_suggests(files, capsys, text, said):
    assert main(["list", str(files["h100"]), "--filter", text]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_nothing_absurd_is_suggested(files, capsys):
    assert main(["list", str(files["h100"]), "--filter", "qqqqqqq"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_names_of_version_1_find_their_rows(capsys):
    path = ROOT / "results/reference/h100-repeat.json"
    document = json.loads(path.read_text())
    assert document["context"]["schema_version"] == 1
    for name in {row["name"] for row in document["benchmarks"]}:
        assert main(["list", str(path), "--filter", f"^{name}$"]) == 0
        assert name in capsys.readouterr().out
