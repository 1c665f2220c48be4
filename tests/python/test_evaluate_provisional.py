"""`evaluate` where a run is not complete, and whose watts it judges by."""

import pytest

from planted_purchase import candidate, evaluate, machine, visit, workload
from synthetic import File

WHY = "--max-time of 10 min 0 s reached"
GOES_ON = "`grainscope --resume DIR` goes on with it"


def ended(file: File) -> File:
    """The run, cut before its end."""
    file.context["run"] |= {"complete": False, "why_incomplete": WHY}
    return file


def of_visits(ratio: float, host: str, copies: int = 3, kernels: int = 3, **more) -> File:
    """A machine with so many visits to each component."""
    file = machine(host=host, **more)
    file.rows.clear()
    for number in range(1, 4):
        visit(file, ratio, ratio, number=number)
    families = {"transfer/memcpy": copies, "transfer/kernel_copy": kernels}
    file.rows = [row for row in file.rows if row["visits"][0]["round"] <= families[row["case"]["family"]]]
    return file


def judged(folder, capsys, *arguments, offers="A=100 B=100", tail="", **more) -> tuple[int, dict, list[str]]:
    """Status, verdict and what the screen says; B is twice as fast as the reference, and A."""
    files = {"r": of_visits(1.0, "node-r"), "A": of_visits(1.0, "node-a"), "B": of_visits(2.0, "node-b")}
    status, document = evaluate(folder, workload(candidates=offers, tail=tail), *arguments, **files | more)
    return status, document, capsys.readouterr().out.splitlines()


def test_whole_runs_are_not_provisional(tmp_path, capsys):
    status, document, said = judged(tmp_path, capsys)
    assert (status, document["unfinished"]) == (0, [])
    assert said[0].startswith("Speed: B is first")
    assert document["sentences"]["buy"].startswith("Buy B for w")


@pytest.mark.parametrize("which", ["r", "A", "B"])
def test_a_verdict_with_a_run_that_was_cut_is_provisional(tmp_path, capsys, which):
    """Whoever's run it is: what it would have shown may turn the order."""
    rate = 2.0 if which == "B" else 1.0
    status, document, said = judged(
        tmp_path, capsys, **{which: ended(of_visits(rate, f"node-{which.lower()}"))}
    )
    assert status == 5
    name = "the reference" if which == "r" else which
    path = tmp_path / f"{which}.json"
    text = " ".join(said)
    assert text.startswith(f"Provisional: {path} of {name} is not complete ({WHY}): {GOES_ON}.")
    assert "The rows of it that are used have all their visits; others may be faster ways." in text
    # What is complete is compared, and nobody is told to buy.
    assert "Speed: B is first: A takes" in text
    assert document["verdict"]["first"] == "B"
    assert document["sentences"]["verdict"].startswith("Provisional: B is first")
    buy = document["sentences"]["buy"]
    assert buy.startswith("Do not buy yet: that run has to be complete first. As it stands: buy B for w")
    assert not [line for line in said if line.startswith("Buy")]
    # The headline has said it.
    assert not [one for one in document["warnings"] if "is not complete" in one]
    for name in ("verdict.md", "verdict.html"):
        page = (tmp_path / "out" / name).read_text()
        assert page.index("Provisional: ") < page.index("Speed: ")
        assert "Do not buy yet" in page


@pytest.mark.parametrize(("copies", "kernels", "short"), [
    (3, 2, "Of 2 rows of it that are used, 1 lacks visits."),
    (3, 1, "Of 2 rows of it that are used, 1 lacks visits."),
])  # fmt: skip
def test_rows_that_a_cut_left_without_visits_are_counted(tmp_path, capsys, copies, kernels, short):
    """A run that was cut between visits has some rows with fewer than others."""
    status, document, said = judged(tmp_path, capsys, B=ended(of_visits(2.0, "node-b", copies, kernels)))
    assert status == 5
    assert short in " ".join(said)
    assert [(one["used"], one["short"]) for one in document["unfinished"]] == [(2, 1)]


def test_several_runs_that_were_cut_are_all_named(tmp_path, capsys):
    cut = {"A": ended(of_visits(1.0, "node-a")), "B": ended(of_visits(2.0, "node-b"))}
    status, document, said = judged(tmp_path, capsys, **cut)
    assert status == 5
    assert " ".join(said).count("Provisional: ") == 2
    assert document["sentences"]["buy"].startswith("Do not buy yet: those runs have to be complete first.")
    # The reference that is a candidate, too, is one run.
    text = workload(candidates="A B").replace('files = ["A.json"]', 'files = ["r.json"]')
    one = {"r": ended(of_visits(1.0, "node-r")), "B": of_visits(2.0, "node-b")}
    status, document = evaluate(tmp_path, text, **one)
    assert [each["machines"] for each in document["unfinished"]] == [["the reference", "A"]]


def test_a_tie_is_provisional_too_and_has_its_own_status_where_it_is_asked_for(tmp_path, capsys):
    cut = ended(of_visits(1.0, "node-b"))
    status, document, _ = judged(tmp_path, capsys, B=cut)
    assert (status, document["verdict"]["kind"]) == (5, "tie")
    assert "As it stands: nothing here decides for w" in document["sentences"]["buy"]
    assert judged(tmp_path, capsys, "--fail-on-tie", B=cut)[0] == 4


def test_who_fails_a_gate_whatever_the_rest_of_its_run_shows_is_out(tmp_path, capsys):
    """Only what was not measured may still come."""
    gate = "[gates]\nmin_link_fraction = 0.8\n"
    slow = ended(of_visits(2.0, "node-b", peak=30.0))
    status, document, _ = judged(tmp_path, capsys, tail=gate, B=slow)
    assert (status, document["unfinished"]) == (1, [])
    assert any("is not complete" in one for one in document["warnings"])
    # Of B no link was measured before its run ended: it may pass yet, and A is no winner by that.
    bare = ended(of_visits(2.0, "node-b"))
    bare.links.clear()
    for row in bare.rows:
        row.pop("link_fraction", None)
    status, document, _ = judged(tmp_path, capsys, tail=gate, B=bare)
    assert "no link to the host was measured" in candidate(document, "B")["broken_gates"][0]
    assert (status, len(document["unfinished"])) == (5, 1)
    # Nor is it where nobody is ranked.
    status, document, said = judged(tmp_path, capsys, tail=gate, offers="B", B=bare)
    assert (status, document["verdict"]["kind"]) == (5, "none")
    assert said[0].startswith("Provisional: ")


def test_machines_that_are_not_comparable_for_a_cut_say_how_to_go_on(tmp_path, capsys):
    bare = ended(of_visits(2.0, "node-b", kernels=0))
    text = workload(candidates="B")
    assert evaluate(tmp_path, text, B=bare)[0] == 3
    said = capsys.readouterr().err
    assert "has no rows of 'kernels'" in said
    assert said.strip().endswith(f"B.json is not complete ({WHY}): {GOES_ON}")
    bare.context["run"]["complete"] = True
    assert evaluate(tmp_path, text, B=bare)[0] == 3
    assert "resume" not in capsys.readouterr().err


def test_the_screen_keeps_its_thirty_lines_with_many_runs_that_were_cut(tmp_path, capsys):
    names = [f"C{at}" for at in range(20)]
    files = {name: ended(machine(1 + at, 1 + at, f"node-{name}")) for at, name in enumerate(names)}
    assert evaluate(tmp_path, workload(candidates=" ".join(names)), **files)[0] == 5
    said = capsys.readouterr().out
    assert said.startswith("Provisional: ")
    assert "Speed: C19 is first" in said
    assert len(said.splitlines()) <= 30


GIVEN = "Performance per watt: by the watts that the workload gives ("


def test_watts_that_the_workload_gives_are_said_to_be_so(tmp_path, capsys):
    _, document, _ = judged(tmp_path, capsys, offers="A=100,500 B=100,700")
    assert document["sentences"]["headline"][2].startswith(f"{GIVEN}measured), B does most for its power")
    assert document["power"]["given"] == "measured"
    # One number for all says nothing that the speed does not.
    _, document, _ = judged(tmp_path, capsys, offers="A=100,700 B=100,700")
    alike = "measured, alike for all, so that it repeats the speed), B does most"
    assert document["sentences"]["headline"][2].startswith(f"{GIVEN}{alike}")


def test_watts_of_measured_rows_are_said_to_be_so(tmp_path, capsys):
    files = {"A": of_visits(1.0, "node-a"), "B": of_visits(2.0, "node-b")}
    for file in files.values():
        for row in file.rows:
            row["power_w"] = 400.0
    _, document, _ = judged(tmp_path, capsys, offers="A B", **files)
    said = "Performance per watt: by what the GPUs' boards took in the rows, B does most for its power"
    assert document["sentences"]["headline"][2].startswith(said)
    assert document["power"]["given"] is None
