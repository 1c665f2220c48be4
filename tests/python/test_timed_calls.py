"""Timed regions are found in traces of calls, however often they come."""

import re
import tarfile

import pytest

import timed_calls
from stored import ROOT

GATED = "cudaLaunchKernel spin_until_open(int)\ncudaEventRecord\ncudaMemcpyAsync\ncudaEventRecord\n"
SAMPLE = f"{GATED}cudaEventSynchronize\ncudaEventElapsedTime\n"


def repeated(text: str) -> str:
    return "repeat\n" + "".join(f"  {line}\n" for line in text.splitlines()) + "end\n"


def test_samples_are_one_region_however_often_they_come() -> None:
    assert len(timed_calls.regions(SAMPLE)) == 1
    assert timed_calls.regions(SAMPLE * 3) == timed_calls.regions(repeated(SAMPLE))


def test_a_region_that_begins_at_the_end_of_a_repeat_is_seen() -> None:
    turned = "cudaEventSynchronize\ncudaEventElapsedTime\n" + GATED
    assert timed_calls.regions(repeated(turned)) == timed_calls.regions(SAMPLE)


def test_what_comes_before_and_behind_a_region_is_not_in_it() -> None:
    assert timed_calls.regions(f"cudaMalloc\n{SAMPLE}cudaFree\n") == timed_calls.regions(SAMPLE)


@pytest.mark.parametrize(
    "other",
    [
        SAMPLE.replace("cudaMemcpyAsync\n", "cudaMemcpyAsync\ncudaGetLastError\n"),
        SAMPLE.replace("cudaMemcpyAsync", "cudaMemcpy2DAsync"),
        SAMPLE.replace("cudaEventSynchronize", "cudaStreamSynchronize"),
    ],
)
def test_a_call_more_or_another_within_a_region_is_a_difference(tmp_path, other, capsys) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text(SAMPLE)
    new.write_text(other)
    assert timed_calls.main([str(old), str(old)]) == 0
    assert timed_calls.main([str(old), str(new)]) == 1
    assert capsys.readouterr().out.count("\n") == 2


def test_the_kept_traces_differ_where_the_readme_says_so() -> None:
    with tarfile.open(ROOT / "equivalence/calls.tgz") as kept:
        texts = {name: kept.extractfile(name).read().decode() for name in kept.getnames()}
    cases = {name.removesuffix(".old.calls") for name in texts if name.endswith(".old.calls")}
    differ = {
        case
        for case in cases
        if timed_calls.regions(texts[f"{case}.old.calls"]) != timed_calls.regions(texts[f"{case}.new.calls"])
    }
    assert sorted(case.split("_numa")[0] for case in differ) == [
        "shape_batch_gpu_to_host_batch",
        "sm_share_split_grid_cap",
    ]
    readme = (ROOT / "equivalence/README.md").read_text()
    assert re.search(rf"for {len(cases)} cases of .* the same in {len(cases) - len(differ)}\.", readme)
