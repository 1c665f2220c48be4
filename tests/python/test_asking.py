"""What a run answers to the words that people use."""

import math
import re
from pathlib import Path

import pytest

from asked import ONE_GPU, RUNS, TWO_GPUS, ask, meant, told
from compared import H100, SIZES, copies
from grainscope_report.asking.sentence import understand
from grainscope_report.cli import main
from grainscope_report.units import plural
from planted import SITE, pinned_copy
from synthetic import MIB, File

REFERENCE = RUNS / "acceptance/h100-a.json.gz"
QUICK = RUNS / "h100-quick-now.json.gz"
NO_GPU = RUNS / "no-gpu-quick.json"


def planted_ways(tmp_path: Path, slower: dict[int, float]) -> Path:
    """Pinned copies and pageable ones, which take so many times as long, by two values of another axis."""
    file = File(gpus=(H100,))
    for size, times in slower.items():
        for path, more in (("pinned_to_gpu", 1.0), ("pageable_to_gpu", times)):
            for flush, beside in (("on", 1.0), ("off", 0.5)):
                seconds = size / 50e9 * more * beside
                axes = pinned_copy(size, path=path, flush=flush)
                file.add("transfer/memcpy", axes, SITE, seconds, spread=0.001)
    return file.write(tmp_path / "result.json")


def two_gpus(tmp_path, slow: dict[int, float] | None = None) -> Path:
    """A run whose second GPU takes so many times as long for some sizes."""
    file = File(gpus=(H100, H100))
    copies(file, 1)
    copies(file, 2, site=SITE | {"gpu": 1}, slow=slow)
    return file.write(tmp_path / "result.json")


def test_h2d_pinned(files, capsys):
    said = ask(capsys, files["h100"], "h2d pinned 64MiB")
    assert said.startswith("transfer/memcpy, to the device, pinned, 64 MiB: 2 rows\n")
    assert len(re.findall(r"64 MiB +[\d.]+( ± [\d.]+)? GB/s", said)) == 2


def test_a_size_that_was_not_measured_has_its_neighbours(files, capsys):
    said = ask(capsys, files["h100"], "h2d pinned 96KiB flush=on")
    assert "96 KiB was not measured; the nearest are 64 KiB and 128 KiB." in said, said
    assert said.count("GB/s") == 2
    assert "not measured" not in ask(capsys, files["h100"], "h2d pinned 64KiB flush=on")


def test_a_decimal_size_is_as_good_as_the_binary_one(capsys):
    run = RUNS / "acceptance/h100-c2.json.gz"
    for size, near in (("64MB", "64 MiB"), ("60MiB", "64 MiB"), ("40MB", "16 MiB and 64 MiB")):
        said = ask(capsys, run, f"h2d pinned {size}")
        assert re.search(f"was not measured; the nearest (is|are) {near}\\.", said), said
    assert "64 MB was not measured" in ask(capsys, run, "h2d 64MB")


def test_sizes_of_different_grids_meet_by_the_nearest(capsys):
    said = ask(capsys, REFERENCE, "best way h2d for 8 KiB pieces")
    assert "8 KiB was not measured; the nearest are " in said or "Not measured at 8 KiB: " in said, said


def test_the_best_way_comes_first(files, capsys):
    said = ask(capsys, files["h100"], "best h2d 16MiB")
    rates = [float(one) for one in re.findall(r"16 MiB +([\d.]+)(?: ± [\d.]+)? GB/s", said)]
    assert len(rates) > 3
    assert rates == sorted(rates, reverse=True)
    assert "host → GPU: fastest is " in said
    slowest = ask(capsys, files["h100"], "slowest h2d 16MiB")
    assert [float(one) for one in re.findall(r"16 MiB +([\d.]+)(?: ± [\d.]+)? GB/s", slowest)] == rates[::-1]


def test_without_a_size_the_best_way_is_told_by_sizes(files, capsys):
    assert "- Fastest host → GPU: " in ask(capsys, files["h100"], "best way h2d")


def test_a_peak_is_that_of_the_rows(files, show, capsys):
    said = ask(capsys, files["h100"], "peak h2d pinned")
    [machine] = show("h100")
    rates = [
        row.bandwidth_gb_s
        for row in machine.result.of("transfer/memcpy")
        if row.ok and row.case.axes["path"] == "pinned_to_gpu" and row.case.axes["timed"] == "copy"
    ]
    [highest] = re.findall(r"highest is .*?, ([\d.]+)", said)
    assert float(highest) == pytest.approx(max(rates), rel=0.01)


def test_a_crossover_is_between_the_ways_that_are_named(files, capsys):
    said = ask(capsys, files["h100"], "crossover pinned zero-copy h2d")
    lines = [line for line in said.splitlines() if line.startswith("- ")]
    assert lines
    assert all("zero-copy read" in line and "pinned copy" in line for line in lines), said


def test_where_nothing_is_overtaken_the_faster_way_is_named(files, capsys):
    said = ask(capsys, files["h100"], "crossover pinned pageable h2d")
    assert "None of these ways overtakes another" in said
    assert "pinned copy at every size" in said


def test_one_way_has_no_crossover(files, capsys):
    said = ask(capsys, files["h100"], "crossover prefetch h2d", 5)
    assert "between two ways" in said
    assert "prefetch" in said


@pytest.mark.parametrize(
    "question", ["pageable or pinned h2d 4MiB", "is pinned faster than pageable h2d 4MiB"]
)
def test_two_words_set_against_each_other_get_a_verdict(tmp_path, capsys, question):
    """Rows with caches flushed are compared with flushed ones, though others are twice as fast."""
    said = ask(capsys, planted_ways(tmp_path, {4 * MIB: 3.0}), question)
    assert "host → GPU: pinned is faster than pageable in both pairs of rows, 3.0 × at 4 MiB." in said


def test_one_pair_has_its_interval_and_both_values(tmp_path, capsys):
    said = " ".join(
        ask(capsys, planted_ways(tmp_path, {4 * MIB: 0.5}), "pinned pageable h2d 4MiB cold").split()
    )
    found = re.search(r"pageable is ([\d.]+) \[([\d.]+), ([\d.]+)\] × as fast as pinned at 4 MiB: ", said)
    value, low, high = map(float, found.groups())
    assert low <= 2 <= high
    assert value == pytest.approx(2, rel=0.01)
    assert re.search(r"4 MiB: (?:99|10\d)\.?\d* GB/s ± [<\d. ]+ % against (?:49|50)\.\d+ GB/s ± ", said)


def test_over_sizes_each_side_says_where_it_is_faster(tmp_path, capsys):
    sizes = {MIB: 0.5, 2 * MIB: 1.0, 4 * MIB: 4.0, 8 * MIB: 2.0}
    said = " ".join(ask(capsys, planted_ways(tmp_path, sizes), "pinned vs pageable h2d").split())
    assert (
        "pinned is faster than pageable in 4 of 8 pairs of rows, 2.0 × (at 8 MiB) to 4.0 × (at 4 MiB); "
        in said
    )
    assert "pageable is faster than pinned in 2 of 8 pairs of rows, 2.0 × at 1 MiB; " in said
    assert "they are as fast as each other, within the uncertainty, in 2 of 8 pairs of rows." in said


def test_words_whose_rows_differ_in_more_than_they_say_are_not_set_against_each_other(tmp_path, capsys):
    file = File(gpus=(H100,))
    for path, flush in (("pinned_to_gpu", "on"), ("pageable_to_gpu", "off")):
        file.add("transfer/memcpy", pinned_copy(4 * MIB, path=path, flush=flush), SITE, 1e-3)
    said = ask(capsys, file.write(tmp_path / "result.json"), "pinned pageable h2d 4MiB")
    assert "faster" not in said
    assert "as fast" not in said


@pytest.mark.parametrize(
    ("run", "question", "verdict"),
    [
        ("acceptance/two-h200-1.json.gz", "is nvlink faster than pcie 64MiB", "over NVLink is 6.75 "),
        ("acceptance/two-h200-1.json.gz", "copy engine or kernel h2d 1MiB", "copies by a kernel is 1.047 "),
        ("acceptance/two-h200-1.json.gz", "bfs kron naive or merged", "merged access is 12.8 "),
        (
            "acceptance/h100-a.json.gz",
            "random rows 128 B 1 GiB sorted or shuffled",
            "in the order of addresses is ",
        ),
    ],
)
def test_committed_runs_give_verdicts(capsys, run, question, verdict):
    assert verdict in ask(capsys, RUNS / run, question)


@pytest.mark.parametrize("question", ["bfs or sssp kron", "h2d pinned", "slowest pinned pageable h2d"])
def test_what_is_no_choice_between_two_gets_no_verdict(capsys, question):
    assert "as fast as" not in ask(capsys, RUNS / "acceptance/two-h200-1.json.gz", question)


def test_latencies_are_sorted(capsys):
    said = ask(capsys, REFERENCE, "latency host")
    units = {"ns": 1, "µs": 1e3, "ms": 1e6}
    times = [
        float(one) * units[unit] for one, unit in re.findall(r" ([\d.]+)(?: ± [\d.]+)? (ns|µs|ms)", said)
    ]
    assert len(times) > 2
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("question", "what", "size"),
    [
        ("bandwidth of the gpu's memory", "transfer/local copy_engine", "1 GiB"),
        ("best gpu memory copy", "copy_engine", "1 GiB"),
        ("latency of gpu memory", "latency/chase shuffled", "256 MiB"),
        ("host memcpy", "threads 1 flush on", "64 MiB"),
    ],
)
def test_of_what_caches_may_hold_the_largest_answers(capsys, question, what, size):
    said = ask(capsys, RUNS / "acceptance/h100-c2.json.gz", question)
    (line,) = (line for line in said.splitlines() if line.startswith(what))
    assert f" {size} " in line


def test_kinds_that_end_within_a_cache_are_not_ranked_against_memory(capsys):
    said = ask(capsys, RUNS / "acceptance/two-h200-1.json.gz", "latency own memory best")
    assert "fastest is latency shuffled" in said
    assert "2 MiB" not in said


def test_a_size_that_was_asked_for_stands_though_a_cache_holds_it(capsys):
    said = ask(capsys, RUNS / "acceptance/h100-c2.json.gz", "gpu memory 16MiB")
    assert "16 MiB" in said
    assert "1 GiB" not in said


def test_what_was_not_run_or_could_not_says_so(files, capsys):
    assert "Not part of this run (preset " in ask(capsys, files["traversing"], "h2d", 5)
    assert "Not measured: " in ask(capsys, RUNS / "no-gpu-quick.json", "h2d", 5)


@pytest.mark.parametrize("question", ["pined", "bfs pinned", "1.5MiB", "fast"])
def test_bad_words_are_one_sentence(files, capsys, question):
    assert main(["ask", str(files["h100"]), question]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith("grainscope-report: '")


@pytest.mark.parametrize("columns", [40, 80, 100])
@pytest.mark.parametrize(
    "question", ["h2d pinned 64MiB", "best way h2d", "crossover copy zero-copy", "peak d2h"]
)
def test_an_answer_fits_the_terminal(files, capsys, monkeypatch, columns, question):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = ask(capsys, files["h100"], question)
    assert len(said.splitlines()) <= 40
    assert max(map(len, said.splitlines())) <= columns, said


def test_links_are_answered_by_their_copy_peaks(files, capsys):
    lines = ask(capsys, files["two_nodes"], "link speed").splitlines()
    assert lines[1].split() == ["Links", "GB/s", "±", "95", "%", "specified", "reached", "negotiated"]
    assert any(line.startswith("remote host → GPU, 2 links  38.0 ") for line in lines[2:])
    # With a size rows are meant.
    assert "Links" not in ask(capsys, files["two_nodes"], "links 64MiB")


def test_links_of_a_run_without_rows_of_copies_are_answered(capsys):
    """Copy peaks are measured beforehand."""
    lines = ask(capsys, RUNS / "four-h200-traversal.json.gz", "links").splitlines()
    assert [line.split("  ")[0] for line in lines[2:6]] == [f"node 0 → GPU {gpu}" for gpu in range(4)]


def test_utilisation_is_the_share_of_the_link_highest_first(capsys):
    run = RUNS / "acceptance/h100-c2.json.gz"
    lines = ask(capsys, run, "link utilisation h2d 1MiB").splitlines()
    assert lines[1].endswith("of link")
    shares = [float(line.split()[-2]) for line in lines[2:]]
    assert len(shares) > 4
    assert shares == sorted(shares, reverse=True)


def test_random_reads_begin_with_how_far_they_reach(capsys):
    run = RUNS / "acceptance/h100-c2.json.gz"
    said = " ".join(ask(capsys, run, "random reads").split())
    assert "Random rows in host memory keep the rate of small spans: 128 B rows as asked up to" in said
    said = ask(capsys, run, "random reads 128 B")
    assert "was not measured" not in said
    assert "row 4 KiB" not in said


def test_load_is_what_a_copy_has_beside_it(capsys):
    run = RUNS / "acceptance/h100-c2.json.gz"
    for question in ("h2d under load", "loaded h2d", "h2d contention"):
        assert ask(capsys, run, question).startswith("contention, ")
    assert "beside_compute copy_engine" in ask(capsys, run, "h2d under load")


def test_a_load_by_itself_is_one_that_others_wait_for(capsys):
    run = RUNS / "acceptance/h100-c2.json.gz"
    for question in ("latency of a load", "load latency", "how long does a load take"):
        assert ask(capsys, run, question).startswith("latency/chase, "), question


def test_help_fits_a_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["ask", "--help"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) <= 48
    assert max(map(len, told)) <= 80


@pytest.mark.parametrize(
    "question",
    [
        "gpu 0 to gpu 1 copy 256 MiB",
        "from gpu 0 to peer 1 copy 256 MiB",
        "GPU 0 to 1, copy 256MiB",
        "gpu 0 writes to gpu 1, copy 256 MiB",
        "gpu 1 reads from gpu 0 copy 256 MiB",
        "gpu 1 reads from 0 copy 256 MiB",
    ],
)
def test_from_one_gpu_to_another_is_what_one_writes_or_the_other_reads(capsys, question):
    head, _, *lines = ask(capsys, TWO_GPUS, question).splitlines()
    assert head == "transfer/peer, from GPU 0 to GPU 1, copies, 256 MiB: 3 rows"
    assert [re.sub(r"\s{2}.*", "", line) for line in lines] == [
        "write over NVLink, GPU 0, peer 1",
        "read over NVLink, GPU 1, peer 0",
        "read peer access off, GPU 1, node 0, peer 0",
    ]


def test_gpus_that_are_compared_are_no_way_from_one_to_the_other(capsys):
    assert understand("compare gpu 0 to gpu 1").axes == {"gpu": ["0", "1"]}
    assert "GPU 1 against GPU 0: " in ask(capsys, TWO_GPUS, "compare gpu 0 to gpu 1")


def test_gpus_that_the_run_lacks_are_named(capsys):
    said = ask(capsys, TWO_GPUS, "how fast is pinned host to gpu 1 at 256 MiB", 5)
    assert said.startswith("transfer/memcpy, pinned, to the device, gpu 1, 256 MiB: 0 rows\n")
    assert "but none has gpu 1: they have gpu 0." in said
    assert "none of that kind: from GPU 0 to GPU 3." in ask(capsys, TWO_GPUS, "gpu 0 to gpu 3", 5)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "from which size is zero-copy faster than memcpy",
            "pinned copy is faster than zero-copy write above",
        ),
        ("from which size is unified faster than pinned", "None of these ways overtakes another"),
        (
            "above which size is pinned copy faster than zero-copy",
            "pinned copy is faster than zero-copy write",
        ),
    ],
)
def test_from_which_size_one_is_faster_is_a_crossover(capsys, question, answer):
    assert understand(question).want == "crossover"
    assert answer in ask(capsys, QUICK, question)


@pytest.mark.parametrize(
    ("question", "like"),
    [
        ("how many SMs saturate the link", "how many SMs fill the link"),
        ("best way over the link h2d", "best way h2d"),
        ("zero-copy over the link", "zero-copy"),
    ],
)
def test_the_link_is_the_subject_only_where_nothing_else_is(capsys, question, like):
    assert ask(capsys, QUICK, question) == ask(capsys, QUICK, like)
    for links in ("link", "how fast is the link", "bandwidth of the link"):
        assert "\nLinks " in ask(capsys, QUICK, links)


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("cost of cuda host alloc 64 MiB", "host_alloc"),
        ("time of cudaHostAlloc 64 MiB", "host_alloc"),
        ("cost of cudaHostRegister 64 MiB", "host_register"),
    ],
)
def test_a_call_that_takes_memory_is_timed(capsys, question, what):
    assert understand(question).families == ["call"]
    assert understand(f"h2d {question}").families == ["transfer/memcpy"]
    assert understand(f"{question} against pageable").families == ["transfer/memcpy"]
    case = {"host_alloc": "host_alloc ", "host_register": "4KiB "}[what]
    lines = ask(capsys, QUICK, question).splitlines()
    assert re.search(r" 64 MiB +[\d.]+ ms each", next(line for line in lines if line.startswith(case)))


def test_stretches_end_where_the_summary_says(capsys):
    [said] = [line for line in ask(capsys, QUICK, "best d2h").splitlines() if line.startswith("- ")]
    assert (
        said
        == "- Fastest GPU → host: kernel copy or zero-copy write up to 1.14 MiB, pinned copy from 15.6 MiB on"
    )
    assert main(["summary", str(QUICK)]) == 0
    assert said.removeprefix("- Fastest ") in capsys.readouterr().out


def test_what_was_not_measured_is_told_from_what_was(capsys):
    said = ask(capsys, QUICK, "best d2h 256 B")
    assert "Not measured at 256 B: transfer/memcpy gpu_to_pinned flush off, " in said
    assert "fastest is transfer/memcpy gpu_to_pinned flush on, " in said


def test_an_axis_or_a_value_that_no_row_has_is_named(capsys):
    assert "none has an axis 'flsh'; did you mean flush?" in ask(capsys, QUICK, "h2d flsh=on", 5)
    assert "none has an axis 'elephants'." in ask(capsys, QUICK, "h2d elephants=2", 5)
    assert "none has flush onn: they have flush off, on." in ask(capsys, QUICK, "h2d flush=onn", 5)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("question", ["gpu 0 gpu 1", "does gpu 1 differ from gpu 0", "h2d pinned gpu=0|1"])
def test_two_gpus_are_compared_with_each_other(tmp_path, capsys, question):
    alike = " ".join(ask(capsys, two_gpus(tmp_path / "a"), question).split())
    assert f"none of {len(SIZES)} questions, the same within 5 % in {len(SIZES)}; 0 cannot be told." in alike
    assert "time ×" not in alike
    slow = ask(capsys, two_gpus(tmp_path / "b", {SIZES[2]: 1.3}), question)
    assert f"GPU 1 against GPU 0: slower in 1 of {len(SIZES)} questions" in slow
    row = slow.splitlines()[-1]
    assert float(row.split()[0]) == pytest.approx(1.3, rel=0.01)
    assert f"bytes {SIZES[2] // MIB} MiB" in row


def test_gpus_that_one_run_cannot_compare_say_so(capsys):
    """`quick` copies on the first GPU alone."""
    said = " ".join(ask(capsys, RUNS / "acceptance/two-h200-1.json.gz", "h2d pinned gpu 0 gpu 1").split())
    assert "asked nothing of both. The presets acceptance and full ask every GPU; `matrix` has" in said


@pytest.mark.usefixtures("known")
def test_how_sure_is_said_by_its_parts(tmp_path, capsys):
    lines = ask(capsys, two_gpus(tmp_path), "how sure is h2d pinned 4MiB gpu 0").splitlines()
    assert re.split("  +", lines[1]) == ["what", "size", "result", "visits", "by visits", "by runs"]
    assert re.search(r" 5 +± 0\.\d % +± 0\.6 %$", lines[2]), lines
    both = ask(capsys, RUNS / "h100-pages.json.gz", "uncertainty of 64KiB pages")
    assert "not known" in both


def test_an_uncertainty_of_one_run_alone_is_said(capsys):
    pages = RUNS / "two-h200-paper-pages.json.gz"
    assert "of this run alone: nobody knows" in ask(capsys, pages, "64KiB pages")
    assert "of this run alone" not in ask(capsys, REFERENCE, "h2d pinned 64MiB")


def test_random_rows_stand_by_span(capsys):
    lines = ask(capsys, RUNS / "h100-host-memory.json.gz", "random 128 B rows").splitlines()
    assert lines[1].startswith("GB/s by span ")
    assert lines[1].split()[3:] == ["256", "MiB", "1", "GiB", "4", "GiB", "32", "GiB"]
    managed = next(line for line in lines if line.startswith("managed_host  ")).split()
    assert float(managed[-1]) > 40
    assert "±" in lines[-2]
    assert "The run is not complete: interrupted by signal 15" in lines[-1]


def test_the_best_memory_for_random_rows_is_named_and_marked(capsys):
    said = ask(capsys, RUNS / "h100-host-memory.json.gz", "best memory for random 128 B rows")
    assert "managed memory on the host 43.0, 10.5×: docs/host-memory.md" in " ".join(said.split())
    marked = {line.split("  ")[0]: line.rstrip().endswith("*") for line in said.splitlines()}
    assert marked["managed_host"]
    assert not marked["host_alloc"]


def test_where_random_reading_falls_is_said_in_a_sentence(capsys):
    said = ask(capsys, RUNS / "h100-full.json.gz", "where does random reading fall")
    assert "- Random rows in host memory keep the rate of small spans: " in said
    assert "\nGB/s by span " in said
    assert "\nGB/s by span " in ask(capsys, RUNS / "h100-full.json.gz", "where do random 128 B rows fall")


def test_many_rankings_are_a_line_each(capsys):
    lines = ask(capsys, RUNS / "h100-full.json.gz", "best sampling").splitlines()
    assert lines[1].split()[:2] == ["at", "first"]
    assert len(lines) == 14
    assert any(re.match(r"neighbours, pareto22, fanout 25x15, batch 1000 +gpu device ", x) for x in lines)


def test_a_crossover_is_of_sizes_that_both_have(capsys):
    said = " ".join(ask(capsys, RUNS / "two-h200-paper-copies.json.gz", "crossover copy zero-copy").split())
    assert "None of these ways overtakes another where both were measured." in said
    assert "host → GPU: zero-copy read at every size from 32 MiB to 1 GiB" in said


def test_what_has_no_number_is_not_counted_as_shown(capsys):
    said = ask(capsys, RUNS / "h100-full.json.gz", "launch")
    assert said.startswith("call, kernel launches: 10 rows, 1 without a number\n")


@pytest.mark.parametrize("columns", [80, 100, 160])
@pytest.mark.parametrize(
    ("run", "question"),
    [
        ("h100-full.json.gz", "random rows"),
        ("h100-full.json.gz", "best random rows"),
        ("h100-full.json.gz", "best gather 128 B rows"),
        ("h100-full.json.gz", "embedding lookup"),
        ("h100-full.json.gz", "training"),
        ("h100-full.json.gz", "traversal"),
        ("h100-full.json.gz", "best bfs"),
        ("h100-full.json.gz", "best lean"),
        ("h100-full.json.gz", "how sure is h2d"),
        ("h100-pages.json.gz", "best pages"),
        ("h200x2-full.json.gz", "gpu 0 gpu 1 h2d"),
    ],
)
def test_every_answer_is_one_screen(capsys, monkeypatch, columns, run, question):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = ask(capsys, RUNS / run, question).splitlines()
    assert len(lines) <= (40 if columns >= 100 else 46)
    # A command stands on one line, to be copied.
    wrapped = [line for line in lines if not line.startswith("`")]
    assert max(map(len, wrapped)) <= columns, max(wrapped, key=len)


def test_lines_that_differ_in_their_place_alone_say_it(capsys):
    said = ask(capsys, RUNS / "acceptance/two-h200-7.json.gz", "best memory for random 128 B rows")
    names = [line[:45].rstrip() for line in said.splitlines()]
    for name in ("over NVLink, GPU 0, peer 1", "over NVLink, GPU 1, peer 0"):
        assert names.count(f"peer as_asked {name}") == 1
    assert "host_alloc sorted locality unknown" in names


@pytest.mark.parametrize(
    "question", ["managed random rows", "unified memory random", "random 128 B rows 200 GB managed"]
)
def test_managed_rows_at_random_places_are_such_as_stay_on_the_host(capsys, question):
    said = told(capsys, ONE_GPU, question)
    assert "Managed memory here is managed_host: it stays on the host, and the GPU reads it over" in said
    assert re.search(r" 1 GiB (128 B )?50\.\d+ GB/s ", said), said
    assert "managed_host" not in told(capsys, ONE_GPU, "managed 64 MiB")


def test_of_several_sizes_those_that_were_not_measured_are_named(capsys):
    said = told(capsys, ONE_GPU, "random 128 B rows 200 GB managed")
    assert "200 GB was not measured with rows of 128 B; the nearest is 1 GiB." in said
    said = told(capsys, ONE_GPU, "h2d pinned 64MiB 96KiB 3MiB")
    assert " Not measured: 96 KiB and 3 MiB." in said
    assert "Not measured" not in told(capsys, ONE_GPU, "h2d pinned 64MiB 64KiB")


def test_edges_in_host_memory_are_those_that_no_gpu_holds(capsys):
    head, _, *lines = ask(capsys, ONE_GPU, "bfs kron host").splitlines()
    assert head == "traversal/bfs, kron graphs, host memory: 12 rows"
    assert {line.split()[0] for line in lines} == {"mapped", "managed", "subway"}


def test_a_way_without_the_axis_that_was_asked_for_has_no_crossover(capsys):
    said = told(capsys, ONE_GPU, "crossover zero-copy copy flush=on", 5)
    assert "No row of zero-copy has flush on, so the run tells no crossover with it: leave flush=on" in said
    assert "overtakes another" not in said
    assert "zero-copy read above" in told(capsys, ONE_GPU, "crossover zero-copy copy")


def test_what_has_no_row_with_the_axis_that_was_asked_for_is_named(capsys):
    said = told(capsys, ONE_GPU, "crossover zero-copy pinned pageable flush=on")
    assert "No row of zero-copy has flush on. None of the others overtakes another" in said
    said = told(capsys, ONE_GPU, "best h2d flush=on")
    assert "No row of transfer/kernel_copy, transfer/zero_copy, transfer/managed has flush on." in said
    assert "No row of" not in told(capsys, ONE_GPU, "h2d pinned 64MiB flush=on")


def test_beside_a_size_that_was_measured_the_other_one_is_the_nearest(capsys):
    """A row of 128 B is no span of 128 B, of which 64 MiB would be the nearest."""
    for question in ("reach table 200GiB random 128 B rows", "random 128 B rows 200GiB table"):
        said = told(capsys, ONE_GPU, question)
        assert "Span of 200 GiB was not measured with rows of 128 B; the nearest is 2 GiB, or 1 GiB " in said
        assert "64 MiB" not in said
        assert set(re.findall(r" row (\d+ \w+) ", said)) == {"128 B"}
        assert re.search(r" managed_host as_asked row 128 B 1 GiB 50\.\d+ GB/s ", said), said
    said = told(capsys, ONE_GPU, "best memory for random 128 B rows 200GiB table")
    assert re.search(r"as asked, 1 GiB: fastest is managed_host, 50\.9\d? GB/s", said), said
    assert re.search(r" host_alloc 1 GiB 13\.\d GB/s ", said), said


def test_two_sizes_that_were_not_measured_have_their_neighbours_each(capsys):
    said = told(capsys, ONE_GPU, "gather rows 96 B 200 GiB table")
    assert "96 B was not measured; the nearest is 128 B." in said
    assert "200 GiB was not measured; the nearest is 2 GiB, or 256 MiB where 2 GiB was not" in said


def test_a_size_of_rows_that_have_none_is_passed_over(capsys):
    assert "These rows have no size, so 64 MiB is passed over." in told(capsys, ONE_GPU, "launch 64MiB")


def test_a_star_says_among_which_rows_it_is_given(capsys):
    """Rows as asked and sorted ones are starred apart."""
    said = ask(capsys, ONE_GPU, "best memory for random 128 B rows")
    stars = [line.split("  ")[0] for line in said.splitlines() if re.search(r"\d\*", line)]
    assert stars == ["managed_host as_asked"]
    assert "* first at this size of several with the same order, or as good within the" in said
    plain = ask(capsys, RUNS / "h100-host-memory.json.gz", "best memory for random 128 B rows row=128")
    assert "* first at this size, or as good" in plain


@pytest.mark.parametrize("question", ["best memory for random 128 B rows", "random 128 B rows 64 MiB table"])
def test_a_rate_above_that_of_the_link_is_explained(capsys, question):
    said = told(capsys, ONE_GPU, question)
    assert "115.7" in said
    assert "repeated ones are read from caches and may beat the link's copy peak, 55.36 GB/s." in said
    assert "caches" not in told(capsys, ONE_GPU, "random 128 B rows 2 GiB table")


def test_gpus_of_a_machine_that_has_one_are_not_compared(capsys):
    said = told(capsys, ONE_GPU, "gpu 0 gpu 1")
    assert said.endswith(" GPU 1 against GPU 0: the machine has one GPU.")
    assert told(capsys, ONE_GPU, "node 0 node 1").endswith(" the machine has one node.")
    assert "the machine has 2 GPUs." in told(capsys, TWO_GPUS, "gpu 0 gpu 2")


def test_no_part_of_an_uncertainty_is_larger_than_the_whole(capsys):
    said = told(capsys, ONE_GPU, "how sure is h2d pinned 64MiB")
    rows = re.findall(r"GB/s ± ([\d.]+) % 3 ± ([\d.]+) % ± ([\d.]+) %", said)
    assert len(rows) == 2
    for whole, by_visits, by_runs in (map(float, row) for row in rows):
        assert max(by_visits, by_runs) <= whole
        assert math.hypot(by_visits, by_runs) == pytest.approx(whole, abs=0.1)
    assert "The square of the ± (95 %) is the sum of the squares of both" in said


def test_the_parts_of_a_wide_interval_add_up_as_printed(capsys):
    said = told(capsys, RUNS / "acceptance/h100-c2.json.gz", "how sure pageable h2d 64MiB")
    [whole, *parts] = map(float, re.search(r"GB/s ± (\d\d) % 3 ± (\d\d) % ± (\d\d) %", said).groups())
    assert whole > 30
    assert math.hypot(*parts) == pytest.approx(whole, abs=1)


def test_the_rest_is_shown_by_a_command_that_runs(capsys):
    said = told(capsys, ONE_GPU, "memcpy")
    assert f"see `grainscope-report list {ONE_GPU}`" in said
    assert main(["list", str(ONE_GPU)]) == 0
    assert capsys.readouterr().out


def test_who_does_it_and_where_are_alternatives_where_no_case_is_of_both(capsys):
    assert ("host",) in meant("sampling cpu or gpu memory", "sampling/neighbours", "placement")
    [subject] = [words for words in understand("ping-pong peer or cpu").subjects if len(words) > 1]
    assert [word.says for word in subject] == ["between GPUs", "host memory"]
    said = told(capsys, RUNS / "h100-quick-after.json.gz", "bfs cpu or gpu memory")
    assert said.startswith("traversal/bfs, host memory, the GPU's own memory: 24 rows")
    verdict = "the GPU's own memory is faster than host memory in both pairs of rows, 4.7 to 7.9 ×"
    assert verdict in said


@pytest.mark.parametrize("run", ["h100-quick-after.json.gz", "h100-full.json.gz"])
@pytest.mark.parametrize(
    "question",
    [
        "best gather host memory",
        "best gather 128 B",
        "slowest gather host memory",
        "peak gather host memory",
        "best way to gather from host memory to the gpu",
    ],
)
def test_rows_that_stay_on_the_host_are_no_way_to_bring_rows_to_a_gpu(capsys, run, question):
    said = ask(capsys, RUNS / run, question)
    assert "mapped" in said
    table, _, note = said.partition("cpu_gather brings no rows to a GPU and is not ranked: 'gather cpu' asks")
    assert bool(note) == ("to the gpu" not in question)
    assert "cpu_gather " not in table


def test_where_only_the_cpu_gathers_that_is_ranked(capsys):
    """Where it is asked for by name, and where the run has nothing else."""
    for question in ("best gather cpu", "best gather mode=cpu_gather"):
        said = told(capsys, RUNS / "h100-quick-after.json.gz", question)
        assert "fastest is cpu_gather" in said
        assert "not ranked" not in said
    said = told(capsys, NO_GPU, "best gather rows of 1028 B")
    assert "fastest is cpu_gather" in said


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("best gather pageable 128 B rows", 1),
        ("slowest gather pageable 128B rows", 1),
        ("best gather 128 B rows from a 256 MiB table", 1),
        ("best gather pageable rows 128 B 1028 B", 2),
    ],
)
def test_a_size_at_which_only_the_cpu_gathers_was_measured(capsys, question, rows):
    said = told(capsys, RUNS / "h100-quick-after.json.gz", question)
    assert f": {plural(rows, 'row')} " in said
    assert re.search(r"est is cpu_gather( pageable)?, 31 GB/s", said)
    assert "was not measured" not in said
    assert "not ranked" not in said
