"""Every kind of failure of `check` says what was expected, what came, the likely cause, and what to do."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from grainscope_report.acceptance import judge, node_rules
from grainscope_report.cli import main
from planted import SITE, pinned_copy
from planted_checks import BIG, COPY, HOT, RUN, VISITS, add, machine, stopped
from synthetic import MIB, File
from test_check_links import PEAK, two_nodes
from test_check_node import node, ruled, several

WHOLE = "grainscope --preset acceptance --out DIR"
PART = "grainscope --preset acceptance --benchmark_filter="
LIST = "grainscope --preset acceptance --benchmark_list_tests"
COPIES = "at least 50 GB/s, at most 63 GB/s, typically 55 GB/s"
SHARE = COPY.replace('unit = "GB/s"\nlower = 50.0\ntarget = 55.0\nupper = 63.0', "lower = 0.9")
THEORY = '[[rule]]\nid = "link"\nlink = "host_to_gpu"\nrelative_to = "theoretical"\nlower = 0.85\n'
FAR = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
NOTHING = "nothing in the file tells"
VERSION = f"{NOTHING}: the suite that measured (version 0.1.0, commit 1a2b3c4d5e)"
# What a run may have been started with; a part of a run is no other run, and a filter is of its own cases.
OWN = [
    "--benchmark_filter=memcpy", "--preset=acceptance", "--axis=bytes=256MiB", "--axis=graph=file:a b",
    "--shard=1/2", "--benchmark_repetitions=5",
]  # fmt: skip
MANY = RUN + COPY + COPY.replace("to-gpu", "small").replace("256MiB", "1MiB")


class Kind(NamedTuple):
    """A file that fails a rule, and the four things that are said of it."""

    rule: str
    rules: str
    file: Callable[[], File]
    expected: str
    got: str
    likely: str
    next: str
    status: int = 1


def spoilt(file: File, **run) -> File:
    """The file with this said of its run."""
    file.context["run"] |= run
    return file


def lost(status: str, reason: str) -> File:
    file = machine([])
    file.lose(status, reason, "transfer/memcpy", pinned_copy(BIG), SITE)
    return file


def short_of_visits(**run) -> File:
    file = spoilt(machine([55.0] * 3), **run)
    for visit in range(1, VISITS + 1):
        add(file, 55.0, visit, size=MIB)
    return file


def with_gpus(count: int) -> File:
    file = machine()
    file.context["environment"]["gpus"] = [{"name": "NVIDIA H100"}] * count
    return file


def warned(**more) -> File:
    file = machine()
    file.context["environment"]["warnings"].append(HOT | more)
    return file


def one_node(**run) -> File:
    file = spoilt(machine(), **run)
    nodes = [{"id": at, "memory_bytes": 8} for at in (0, 1)]
    file.context["environment"]["memory"] = {"nodes": nodes}
    return file


def untold(file: File) -> File:
    """Links of which the machine tells neither generation nor width."""
    for link in file.links:
        for name in ("generation", "width", "nvlinks", "theoretical_gb_s"):
            link.pop(name, None)
    return file


def crowded(file: File, *ids: str) -> File:
    """The file of a machine whose CPUs others took, with these findings of its report."""
    for row in file.rows:
        for visit in row["visits"]:
            visit |= {"visit_s": 1.0, "stolen_s": 0.5}
    warnings = file.context["environment"]["warnings"]
    warnings += [HOT | {"id": name, "finding": f"it is {name}", "remedy": f"mend {name}"} for name in ids]
    return file


def linked(metric: str, value: int) -> File:
    """A crowded machine whose links have this of one thing that is negotiated."""
    file = crowded(machine(gpus=1 + (metric == "nvlinks")), "load.average")
    if metric == "nvlinks":
        file.peer_link(0, 1, 390.0)
    for link in file.links:
        link |= {metric: value} if metric in link else {}
    return file


def without_links(file: File) -> File:
    file.links.clear()
    for row in file.rows:
        row.pop("link_fraction", None)
    return file


def another_version() -> File:
    file = machine()
    for row in file.rows:
        row["case"]["version"] = 2
    return file


def read(**state) -> File:
    return node(**state)


RUNS = [
    Kind("run.complete", RUN + COPY, lambda: spoilt(machine(), complete=False, why_incomplete="--max-time"),
         "the run is complete", "--max-time", "the cases take longer", "grainscope --resume DIR"),
    Kind("run.complete", RUN + COPY, lambda: spoilt(machine(), complete=False, why_incomplete="the moon"),
         "the run is complete", "the moon", f"{NOTHING} beyond that: see the", "grainscope --resume DIR"),
    Kind("run.no_failed_row", RUN + COPY, lambda: lost("failed", "wrong bytes"),
         "no row of the run failed", "transfer/memcpy/", "wrong bytes", "grainscope-report list "),
    Kind("run.gpus", f"{RUN}gpus = 2\n{COPY}", machine,
         "the machine has 2 GPUs", "there are 1", "a GPU is lost, or hidden", "nvidia-smi -L"),
    Kind("run.gpus", f"{RUN}gpus = 1\n{COPY}every_gpu = false\n", lambda: with_gpus(2),
         "the machine has 1 GPUs", "there are 2", "another kind of machine", "nvidia-smi -L"),
    Kind("run.severe_warnings", f"{RUN}severe_warnings = false\n{COPY}", warned,
         "the machine report has no severe warning", "hot", "too little cooling", "cool it"),
    Kind("run.severe_warnings", f"{RUN}severe_warnings = false\n{COPY}", lambda: warned(remedy="", id="new"),
         "the machine report has no severe warning", "hot", "hot", "grainscope --env"),
    Kind("run.remote_node", FAR, one_node,
         "each GPU was measured with the memory of one of the 2 nodes and of another",
         "no row is of a GPU and a node's memory far from it", "a container or a batch system", WHOLE),
    Kind("run.remote_node", FAR, lambda: one_node(flags=["--numa=0"]),
         "each GPU was measured with the memory", "no row is of", "was started with --numa=0", WHOLE),
    Kind("run.preset", RUN + COPY, lambda: spoilt(machine(preset="quick"), flags=["--preset=quick"]),
         "the run is all of the preset acceptance", "the preset is quick", "started so: --preset=quick",
         WHOLE, 5),
    Kind("run.visits", RUN + COPY, lambda: machine([55.0] * 3),
         "the run comes to each case 5 times", "3 of 5 visits", "acceptance comes to each case 3 times",
         WHOLE, 5),
    Kind("run.visits", RUN + COPY, lambda: spoilt(machine([55.0]), flags=["--benchmark_repetitions=1"]),
         "the run comes to each case 5 times", "1 of 5 visits", "started with --benchmark_repetitions=1",
         WHOLE, 5),
    Kind("run.needs_gpus", COPY + "needs_gpus = 2\n", machine,
         "the machine has 2 GPUs or more", "there is 1", "a GPU is lost, or hidden", "nvidia-smi -L", 5),
]  # fmt: skip
NODES = [
    Kind("node.governor", COPY, lambda: read(governor="powersave"),
         "not powersave", "the governor is powersave", "the system's default", "sudo cpupower"),
    Kind("node.throttle", ruled('throttle = ["hw_slowdown"]'), lambda: read(throttle=["hw_slowdown"]),
         "none of hw_slowdown", "clocks were held down", "the GPU is too hot", "nvidia-smi -q -d PERF"),
    Kind("node.cpu_mhz", ruled("cpu_mhz = 3000"), lambda: read(cpu_mhz=800),
         "at least 3000 MHz", "is 800 MHz", "a cap on the CPUs' frequency", "sudo cpupower"),
    Kind("node.gpu_sm_mhz", ruled("gpu_sm_mhz = 1900"), lambda: read(gpu_sm_mhz=345),
         "at least 1900 MHz", "is 345 MHz", "its clocks were set or capped", "nvidia-smi -q -d PERF"),
    Kind("node.gpu_memory_mhz", ruled("gpu_memory_mhz = 1900"), lambda: read(gpu_memory_mhz=345),
         "at least 1900 MHz", "is 345 MHz", "its clocks were set or capped", "nvidia-smi -q -d PERF"),
    Kind("node.link_generation", ruled("link_generation = 5"), lambda: machine(gen=4),
         "at least 5", "it was 4", "the card or its riser sits badly", "sudo lspci"),
    Kind("node.link_width", ruled("link_width = 16"), lambda: read(link_width=8),
         "at least 16", "it was 8", "the card or its riser sits badly", "sudo lspci"),
    Kind("node.ecc", ruled("ecc = true"), lambda: node(nvml={"ecc": False}),
         "on", "it is off", "someone switched it off", "nvidia-smi -q -d ECC"),
    Kind("node.ecc_errors", ruled("ecc_errors = 0"), lambda: read(ecc_errors=2),
         "at most 0", "there were 2", "memory of the GPU fails", "nvidia-smi -q -d ECC"),
    Kind("node.ecc", ruled("ecc = true"), machine,
         "on", "the machine does not tell", "no row reads it", "nvidia-smi -q -d ECC", 5),
]  # fmt: skip
NEGOTIATED = '[[rule]]\nid = "link"\nlink = "{0}"\nmetric = "{1}"\nlower = {2}\nevery_gpu = false\n'
WIDE, NEW = (NEGOTIATED.format("host_to_gpu", *of) for of in (("width", 16), ("generation", 5)))
NVLINKS = NEGOTIATED.format("to_peer", "nvlinks", 18)
VALUES = [
    Kind("link", WIDE, lambda: linked("width", 8),
         "at least 16", "8", "the card or its riser sits badly", "sudo lspci"),
    Kind("link", WIDE, lambda: crowded(linked("width", 8), "gpu.link_width"),
         "at least 16", "8", "it is gpu.link_width", "mend gpu.link_width"),
    Kind("link", NEW, lambda: linked("generation", 4),
         "at least 5", "4", "the card or its riser sits badly", "sudo lspci"),
    Kind("link", NVLINKS, lambda: linked("nvlinks", 17),
         "at least 18", "17", "an NVLink of one of the GPUs", "nvidia-smi nvlink --status"),
    Kind("to-gpu", RUN + COPY, lambda: machine([40.0] * VISITS), COPIES, "40 GB/s", NOTHING, PART),
    Kind("to-gpu", RUN + COPY, lambda: machine([70.0] * VISITS), COPIES, "70 GB/s", NOTHING, PART),
    Kind("peak", PEAK, lambda: machine(peak=40.0), "at least 52 GB/s", "40 GB/s", NOTHING,
         "grainscope --preset acceptance --out again"),
    Kind("to-gpu", COPY, lambda: spoilt(machine([40.0] * VISITS), flags=OWN), COPIES, "40 GB/s", NOTHING,
         "grainscope --preset acceptance --axis=bytes=256MiB '--axis=graph=file:a b' "
         "--benchmark_repetitions=5 --benchmark_filter='^transfer/memcpy/"),
    Kind("to-gpu", COPY, lambda: spoilt(machine([40.0]), flags=OWN), COPIES, "40 GB/s", NOTHING,
         "grainscope --preset acceptance --axis=bytes=256MiB '--axis=graph=file:a b' "
         "--benchmark_filter='^transfer/memcpy/"),
    Kind("peak", PEAK, lambda: spoilt(machine(peak=40.0), flags=OWN), "at least 52 GB/s", "40 GB/s", NOTHING,
         "grainscope --preset acceptance --benchmark_filter=memcpy --axis=bytes=256MiB "
         "'--axis=graph=file:a b' --benchmark_repetitions=5 --out again"),
    Kind("to-gpu", COPY.replace("upper = 63.0\n", ""), lambda: machine([25.0, 12.0, 30.0, 40.0, 60.0]),
         "at least 50 GB/s", "30 GB/s", NOTHING, PART, 5),
    Kind("to-gpu", MANY, short_of_visits, "5 visits to the row", "3", f"{NOTHING}: the run", PART),
    Kind("to-gpu", MANY, lambda: short_of_visits(complete=False, why_incomplete="--max-time reached"),
         "5 visits to the row", "3", "the run ended before them: --max-time", "grainscope --resume"),
]  # fmt: skip
ABSENT = [
    Kind("to-gpu", RUN + COPY, lambda: lost("failed", "wrong bytes"),
         COPIES, "no value", "wrong bytes", "grainscope-report list "),
    Kind("to-gpu", RUN + COPY, lambda: lost("skipped", "needs 2 GPUs; this machine has 1"),
         COPIES, "no value", "needs 2 GPUs; this machine has 1", "--status skipped; then grainscope"),
    Kind("small", MANY, machine, COPIES, "no row", VERSION, LIST),
    Kind("small", MANY, lambda: spoilt(machine(), flags=["--min-bytes=256MiB"]),
         COPIES, "no row", "the run was started with --min-bytes=256MiB", WHOLE),
    Kind("small", MANY, lambda: spoilt(machine(), flags=["--axis=bytes=256MiB", "--axis=graph=kron:20"]),
         COPIES, "no row", "the run was started with --axis=bytes=256MiB", WHOLE),
    Kind("small", MANY, lambda: spoilt(machine(), complete=False, why_incomplete="interrupted by signal 2"),
         COPIES, "no row", "the run ended before it came to it: interr", "grainscope --resume DIR; then"),
    Kind("small", MANY.removeprefix(RUN), lambda: spoilt(machine(), flags=[*OWN, "--max-bytes=1GiB"]),
         COPIES, "no row", "--axis=bytes=256MiB",
         "grainscope --preset acceptance --axis=bytes=1048576 '--axis=graph=file:a b' "
         "--benchmark_repetitions=5 --out DIR"),
    Kind("to-gpu", RUN + COPY, lambda: machine(gpus=2), COPIES, "no row", VERSION, LIST),
    Kind("to-gpu", RUN + COPY, lambda: spoilt(machine(gpus=2), flags=["--gpu=0"]),
         COPIES, "no row", "the run was started with --gpu=0", WHOLE),
    Kind("to-gpu", RUN + COPY, lambda: crowded(machine(gpus=2), "gpu.hidden"),
         COPIES, "no row", "it is gpu.hidden", "mend gpu.hidden; then grainscope --preset"),
    Kind("small", MANY, lambda: spoilt(machine(), filter="memcpy", flags=["--benchmark_filter=memcpy"]),
         COPIES, "no row", "the run was started so: --benchmark_filter=m", WHOLE, 5),
    Kind("peak", PEAK, lambda: without_links(machine()), "at least 52 GB/s", "no link", VERSION, LIST),
    Kind("peak", PEAK, lambda: two_nodes({1: 55.0}, near=0),
         "at least 52 GB/s", "no link", "a container or a batch system keeps", "numactl --show; then"),
    Kind("link", THEORY, lambda: untold(machine()),
         "at least 0.85", "no value", "the machine did not tell the link's generation", "sudo lspci"),
    Kind("link", NVLINKS, lambda: untold(linked("nvlinks", 18)),
         "at least 18", "no value", "the machine did not tell how many NVLinks", "nvidia-smi nvlink"),
    Kind("to-gpu", SHARE + 'relative_to = "link"\n', lambda: without_links(machine()),
         "at least 0.9", "no value", "no copy peak of that link was measured", PART),
    Kind("to-gpu", SHARE + 'relative_to = "theoretical"\n', lambda: untold(machine()),
         "at least 0.9", "no value", "the machine did not tell the link's generation", "sudo lspci"),
    Kind("to-gpu", SHARE + 'metric = "teps"\n', machine,
         "at least 0.9", "no value", "rows of transfer/memcpy have no teps", "grainscope --explain="),
    Kind("to-gpu", SHARE + 'relative_to = "reference"\n', machine,
         "at least 0.9", "no value", "the reference is of another preset", "on the reference, too, measure"),
]  # fmt: skip
KINDS = [*RUNS, *NODES, *VALUES, *ABSENT]


def checked(folder: Path, kind: Kind) -> tuple[int, dict[str, ElementTree.Element]]:
    """The exit status, and the failures and errors of JUnit by the rule that they are of."""
    (folder / "rules.toml").write_text(kind.rules)
    reference = machine([], host="node-r").write(folder / "reference.json")
    file, junit = kind.file().write(folder / "result.json"), folder / "junit.xml"
    given = {"--rules": folder / "rules.toml", "--reference": reference, "--junit": junit}
    status = main(["check", str(file), *(str(word) for pair in given.items() for word in pair)])
    found: dict[str, ElementTree.Element] = {}
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        wrong = case.find("failure") if case.find("error") is None else case.find("error")
        if wrong is not None:
            found.setdefault(case.get("name").partition(" [")[0], wrong)
    return status, found


@pytest.mark.parametrize("kind", KINDS, ids=[f"{at}-{kind.rule}" for at, kind in enumerate(KINDS)])
def test_every_kind_of_failure_has_four_parts_on_the_screen_and_in_junit(tmp_path, capsys, kind):
    status, failures = checked(tmp_path, kind)
    assert status == kind.status
    # In JUnit each part is a line of its own.
    text = failures[kind.rule].text
    [told] = re.findall(r"^expected:? (.*); got:? (.*)$", text, re.MULTILINE)
    assert told[0].startswith(kind.expected), text
    assert kind.got in told[1], text
    assert re.search(rf"^likely: .*{re.escape(kind.likely)}", text, re.MULTILINE), text
    assert re.search(rf"^next: .*{re.escape(kind.next)}", text, re.MULTILINE), text
    said = " ".join(capsys.readouterr().out.split())
    if kind.status == 5 and (kind.rule.startswith("run.") or kind.got == "no row"):
        # A sentence names all that is not decided, and the command comes once.
        named = kind.rule if kind.got == "no row" else kind.got
        assert re.search(rf"not decided: .*{re.escape(named)}.* next: {re.escape(kind.next)}", said)
        return
    word = "not decided" if kind.status == 5 else "(?:failed|missing)"
    [shown] = re.findall(
        rf"{word}: {kind.rule}\b.*? next: .*?(?= failed: | missing: | not decided: |$)", said
    )
    for part in (kind.got, kind.next):
        assert part in shown, said
    assert re.search(rf"likely: .*{re.escape(kind.likely)}", shown), said
    if kind.status == 1:
        assert re.search(rf"expected:? {re.escape(kind.expected)}", shown), said


def test_kinds_are_all_that_there_are():
    """Rules of runs and nodes by the sources that make them."""
    source = Path(judge.__file__).read_text()
    of_runs = {f"run.{name}" for name in re.findall(r'_of_run\(\s*"(\w+)"', source)}
    assert of_runs == {kind.rule for kind in RUNS}
    source = Path(node_rules.__file__).read_text()
    rules = {*re.findall(r'Verdict\("(\w+)"', source), *re.findall(r'_verdict\("(\w+)"', source)}
    rules |= {"link_generation", "link_width", *node_rules.CLOCKS, "throttle"}
    assert {f"node.{name}" for name in rules} == {kind.rule for kind in NODES}


def test_rows_that_were_skipped_for_one_reason_share_it(tmp_path, capsys):
    def file() -> File:
        made = machine([], gpus=1)
        for size in (BIG, MIB):
            made.lose("skipped", "no driver: install it", "transfer/memcpy", pinned_copy(size), SITE)
        return made

    kind = Kind("to-gpu", MANY, file, "", "", "", "")
    checked(tmp_path, kind)
    said = " ".join(capsys.readouterr().out.split())
    place = "[timed copy, flush on, GPU 0, node 0]"
    assert (
        f"missing: to-gpu, small {place}: skipped expected of each a value within its limits; got no" in said
    )
    assert "likely, of all 2: no driver: install it next: grainscope-report list " in said
    assert "--status skipped; then grainscope --preset acceptance --out again" in said
    assert said.count("no driver") == 1


def test_two_failures_of_a_node_that_read_alike_keep_their_limits(tmp_path, capsys):
    states = [({"gpu": 0, "numa": 0}, {"link_generation": 4, "link_width": 4})]
    kind = Kind("", ruled("link_generation = 5\nlink_width = 16"), lambda: several(1, states), "", "", "", "")
    assert checked(tmp_path, kind)[0] == 1
    said = capsys.readouterr().out
    assert "it was 4 (expected at least 5)" in said
    assert "it was 4 (expected at least 16)" in said


def test_the_command_that_goes_on_names_the_folder_of_the_run(tmp_path, capsys):
    file = machine()
    stopped("--max-time reached")(file.context)
    (tmp_path / "a run").mkdir()
    path = file.write(tmp_path / "a run" / "result.json")
    (tmp_path / "a run" / "journal.jsonl").write_text("")
    (tmp_path / "rules.toml").write_text(RUN + COPY)
    assert main(["check", str(path), "--rules", str(tmp_path / "rules.toml")]) == 1
    assert f"next: grainscope --resume '{tmp_path / 'a run'}'" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("by", ["link", "row"])
def test_what_cpus_lose_is_no_cause_of_a_slow_link_or_gated_row(tmp_path, capsys, by):
    """Others took much of the whole run and nothing of the row: gated rows are as long, by any build."""
    file = machine([20.0] * VISITS if by == "row" else [55.0] * VISITS, peak=20.0 if by == "link" else 55.2)
    for visit in range(1, VISITS + 1):
        add(file, 55.0, visit, size=MIB)
    for row in file.rows:
        for visit in row["visits"]:
            visit |= {"visit_s": 1.0, "stolen_s": 0.5 if row["bytes"] == MIB else 0.0}
    slowly = {"id": "build", "severity": "severe", "finding": "it was built without optimisation"}
    file.context["environment"]["warnings"].append(HOT | slowly)
    rules = tmp_path / "rules.toml"
    rules.write_text(RUN + (COPY if by == "row" else PEAK))
    status = main(["check", str(file.write(tmp_path / "run.json")), "--rules", str(rules), "--any-run"])
    said = capsys.readouterr().out
    assert status == 1
    assert "hypervisor took" not in said
    assert "without optimisation" not in said
