"""Comparisons of machines with several GPUs: one that is slower or gone, and links that lost speed."""

import pytest

from compared import H100, SIZES, compared, copies, type_b, verdicts, written
from grainscope_report.cli import main
from synthetic import File

pytestmark = pytest.mark.usefixtures("known")


def of_gpus(host: str, slow: dict[int, float], gpus: int = 4) -> File:
    """A node of several GPUs, some of which are so many times slower."""
    file = File(host=host, gpus=(H100,) * gpus, date="2026-11-20T10:00:00+00:00")
    for gpu in range(gpus):
        file.link("host_to_gpu", 54.7, gpu)
        if gpu in slow:
            copies(file, gpu + 1, site={"gpu": gpu, "numa": 0}, slow=dict.fromkeys(SIZES, slow[gpu]))
    return file


def test_one_gpu_of_several_that_is_slower_or_gone_is_not_the_same(tmp_path, capsys):
    """The middle one of four hides what one of them does."""
    all_well = dict.fromkeys(range(4), 1.0)
    files = {
        "a": of_gpus("node-a", all_well),
        "same": of_gpus("node-b", all_well),
        "slow": of_gpus("node-c", all_well | {2: 2.0}),
        "gone": of_gpus("node-d", dict.fromkeys((0, 1, 3), 1.0)),
    }
    paths = {name: str(file.write(tmp_path / f"{name}.json")) for name, file in files.items()}

    known = tmp_path / "b.json"
    known.write_bytes(type_b(gpu=f"{H100} ×4"))

    def said(name: str) -> tuple[int, str]:
        table = ["--type-b", str(known), "--fail-on", "slower,failed,missing"]
        status = main(["compare", paths["a"], paths[name], *table])
        return status, " ".join(capsys.readouterr().out.split())

    status, text = said("same")
    assert status == 0
    assert "fell behind" not in text
    status, text = said("slow")
    assert status == 1
    assert "a GPU or node of the new machine fell behind its others" in text
    assert "one of its sites fell behind the middle one, by up to 2.0" in text
    assert "times more than in the base (GPU 2, node 0)" in text
    status, text = said("gone")
    assert status == 1
    assert f"{len(SIZES)} missing" in text


@pytest.mark.parametrize("spread", [0.003, 0.05, None])
@pytest.mark.parametrize("others", [1.0, 0.7])
def test_one_gpu_that_is_slower_is_no_faster_machine(tmp_path, capsys, spread, others):
    """Whether the other GPUs are faster, and however wide the intervals are."""
    base = of_gpus("node-a", dict.fromkeys(range(4), 1.0))
    new = of_gpus("node-b", dict.fromkeys(range(4), others) | {2: 3.0})
    known = tmp_path / "b.json"
    known.write_bytes(type_b(gpu=f"{H100} ×4", spread=spread or 0.003))
    document = compared(capsys, *written(tmp_path, base, new), *(["--type-b", str(known)] if spread else []))
    assert set(verdicts(document).values()) == {"unclear"}
    [warning] = [said for said in document["new"][0]["warnings"] if "fell behind" in said]
    assert "(GPU 2, node 0)" in warning


def test_one_gpu_of_two_that_is_slower_is_named_beside_the_verdict(tmp_path, capsys):
    base, new = (of_gpus(host, {0: 1.0, 1: slow}, 2) for host, slow in (("node-a", 1.0), ("node-b", 1.5)))
    document = compared(capsys, *written(tmp_path, base, new))
    assert set(verdicts(document).values()) == {"slower"}
    assert any("(GPU 1, node 0)" in said for said in document["new"][0]["warnings"])


def test_a_gpu_that_gained_less_than_its_others_leaves_the_machine_faster(tmp_path, capsys):
    base = of_gpus("node-a", dict.fromkeys(range(4), 1.0))
    new = of_gpus("node-b", dict.fromkeys(range(4), 0.3) | {2: 0.6})
    known = tmp_path / "b.json"
    known.write_bytes(type_b(gpu=f"{H100} ×4"))
    files = written(tmp_path, base, new)
    document = compared(capsys, *files, "--type-b", str(known))
    assert set(verdicts(document).values()) == {"faster"}
    assert any("(GPU 2, node 0)" in said for said in document["new"][0]["warnings"])
    assert main(["compare", *files, "--type-b", str(known), "--fail-on", "slower"]) == 0


@pytest.mark.parametrize(("peak", "said"), [(37.0, True), (53.5, False)])
def test_a_link_that_lost_what_no_row_shows_is_warned_of(tmp_path, capsys, peak, said):
    """The rows are of GPU 0 alone; peaks are told apart by their order, since GPUs may be numbered anew."""
    base, new = of_gpus("node-a", {0: 1.0}, 2), of_gpus("node-b", {0: 1.0}, 2)
    new.links[1] |= {"peak_gb_s": peak, "within_gb_s": [peak, peak]}
    document = compared(capsys, *written(tmp_path, base, new))
    warnings = [said for said in document["new"][0]["warnings"] if "copy slower" in said]
    assert len(warnings) == said
    assert all(f"node 0 → GPU 1 at {peak} GB/s for 54.7" in said for said in warnings)


def test_links_of_another_kind_of_machine_are_not_warned_of(tmp_path, capsys):
    base, new = of_gpus("node-a", {0: 1.0}, 2), of_gpus("node-b", {0: 1.0}, 4)
    new.links[1] |= {"peak_gb_s": 20.0, "within_gb_s": [20.0, 20.0]}
    document = compared(capsys, *written(tmp_path, base, new))
    assert not any("copy slower" in said for said in document["new"][0]["warnings"])


def test_runs_counted_together_keep_the_gpu_that_is_slower_or_gone(tmp_path, capsys):
    known = tmp_path / "b.json"
    known.write_bytes(type_b(gpu=f"{H100} ×4"))

    def said(name: str, slow: dict[int, float]) -> tuple[int, str]:
        found = []
        for run, gpus in (("base", dict.fromkeys(range(4), 1.0)), (name, slow)):
            for day in (20, 21):
                file = of_gpus(f"node-{run}", gpus)
                file.context["run"]["id"] = f"{run} {day}"
                found.append(str(file.write(tmp_path / f"{run}-{day}.json")))
        more = ["--pool", "--type-b", str(known), "--fail-on", "slower,failed,missing"]
        return main(["compare", *found, *more]), " ".join(capsys.readouterr().out.split())

    status, text = said("well", dict.fromkeys(range(4), 1.0))
    assert (status, "fell behind" in text) == (0, False)
    status, text = said("slow", dict.fromkeys(range(4), 1.0) | {2: 2.0})
    assert status == 1
    assert "one of its sites fell behind the middle one, by up to 2.0" in text
    status, text = said("gone", dict.fromkeys((0, 1, 3), 1.0))
    assert (status, f"{len(SIZES)} missing" in text) == (1, True)
