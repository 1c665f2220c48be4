"""Acceptance: what rules ask of a node, and what it tells of itself."""

import re

import pytest

from grainscope_report.acceptance import rules
from grainscope_report.acceptance.rules import load
from planted_checks import COPY, HOT, VISITS, add, machine
from synthetic import MIB, File

HELD = "the governor is powersave"


def node(policies=None, nvml=None, **state):
    """A machine whose report has these policies and this of NVML, and around whose visits this was read."""
    file = machine()
    environment = file.context["environment"]
    environment["cpu"]["frequency_policies"] = policies
    environment["gpus"][0]["nvml"] = nvml
    for row in file.rows:
        row["visits"][0]["state"] = dict(state)
    return file


def ruled(text: str) -> str:
    return f"[node]\n{text}\n{COPY}"


def of_node(document: dict, name: str) -> dict:
    [one] = [one for one in document["files"][0]["judged"] if one["rule"] == f"node.{name}"]
    return one


@pytest.mark.parametrize("where", ["report", "state"])
def test_powersave_is_accepted_only_where_the_rules_say_so(check, where):
    file = node([{"governor": "powersave"}]) if where == "report" else node(governor="powersave")
    status, said, document = check(COPY, file)
    assert status == 1
    assert of_node(document, "governor")["message"] == HELD
    assert f"{HELD} (expected not powersave)" in said
    assert "next: sudo cpupower frequency-set --governor performance" in said
    assert check(ruled('governor = ["performance", "powersave"]'), file)[0] == 0
    assert check(ruled('governor = "performance"'), node([{"governor": "schedutil"}]))[0] == 1
    assert check(COPY, node([{"governor": "schedutil"}]))[0] == 0


def test_one_cpu_of_many_with_powersave_fails(check):
    assert check(COPY, node([{"governor": "performance"}, {"governor": "powersave"}]))[0] == 1


def test_what_the_machine_does_not_tell_is_said_and_accepted(check):
    text = 'throttle = "hw_slowdown"\ngpu_sm_mhz = 1\nlink_width = 16\necc = true\necc_errors = 0'
    text = ruled(f"{text}\nwhere_told = true")
    status, said, document = check(text, node([{"governor": None}]))
    assert status == 0
    assert of_node(document, "governor")["status"] == "not applicable"
    assert "not told by the machine, and accepted: The CPUs' frequency governor; " in said
    assert of_node(document, "link_width")["status"] == "passed"
    untold = ("throttle", "gpu_sm_mhz", "ecc", "ecc_errors")
    assert {of_node(document, name)["message"] for name in untold} == {"the machine does not tell"}


@pytest.mark.parametrize(("rule", "good", "bad", "message"), [
    ('throttle = ["hw_slowdown", "sw_power_cap"]', node(throttle=["gpu_idle"]),
     node(throttle=["sw_power_cap"]), "clocks were held down: sw_power_cap (5)"),
    ('throttle = ["hw_slowdown"]', node(nvml={"clock_event_reasons": []}),
     node(nvml={"clock_event_reasons": ["hw_slowdown"]}), "clocks were held down: hw_slowdown (1)"),
    ("gpu_sm_mhz = 1900", node(gpu_sm_mhz=1980), node(gpu_sm_mhz=1200),
     "the middle of 5 readings is 1200 MHz"),
    ("gpu_memory_mhz = 2600", node(gpu_memory_mhz=2619), node(gpu_memory_mhz=1300),
     "the middle of 5 readings is 1300 MHz"),
    ("cpu_mhz = 3000", node(cpu_mhz=3000), node(cpu_mhz=800.5), "the middle of 5 readings is 800.5 MHz"),
    ("link_generation = 5", node(), machine(gen=4), "it was 4"),
    ("link_generation = 5", node(link_generation=5), node(link_generation=3), "it was 3"),
    ("link_width = 16", node(link_width=16), node(link_width=8), "it was 8"),
    ("ecc = true", node(nvml={"ecc": True}), node(nvml={"ecc": False}), "it is off"),
    ("ecc_errors = 0", node(ecc_errors=0), node(ecc_errors=2), "there were 2"),
])  # fmt: skip
def test_a_node_is_ruled_on(check, rule, good, bad, message):
    assert check(ruled(rule), good)[0] == 0
    status, said, document = check(ruled(rule), bad)
    assert status == 1
    assert of_node(document, rule.split()[0])["message"] == message
    assert message in said
    # Without the rule nothing is asked.
    assert check(COPY, bad)[0] == 0


UNTOLD = "the machine does not tell; look for yourself, and accept that by `where_told = true` under [node]"


@pytest.mark.parametrize(("rule", "look"), [
    ('governor = ["performance"]', "cpupower frequency-info"), ("cpu_mhz = 2000", "cpupower frequency-info"),
    ("gpu_sm_mhz = 1500", "nvidia-smi -q -d PERF"), ("gpu_memory_mhz = 1500", "nvidia-smi -q -d PERF"),
    ("ecc = true", "nvidia-smi -q -d ECC"), ("ecc_errors = 0", "nvidia-smi -q -d ECC"),
    ('throttle = ["hw_slowdown"]', "nvidia-smi -q -d PERF"),
])  # fmt: skip
def test_what_rules_name_and_a_machine_does_not_tell_is_not_decided(check, rule, look):
    for arguments in ([], ["--any-run"]):
        status, said, document = check(ruled(rule), machine(), arguments=arguments)
        assert (status, said.partition(":")[0]) == (5, "NOT DECIDED")
        one = of_node(document, rule.split()[0])
        assert (one["status"], one["message"]) == ("not decided", UNTOLD)
        said = " ".join(said.split())
        assert f"not decided: {one['rule']} [node]: {UNTOLD} likely: no row reads it" in said
        assert f"next: {look}" in said
        assert check(ruled(f"{rule}\nwhere_told = true"), machine(), arguments=arguments)[0] == 0
    slow = machine([40.0] * VISITS)
    status, said, _ = check(ruled(rule), slow)
    assert status == 1
    assert said.index("failed: to-gpu") < said.index("not decided: node.")


def test_a_virtual_machine_hides_what_its_cpus_do(check):
    file = machine()
    file.context["environment"]["kernel"] = {"virtual_machine": True}
    said = " ".join(check(ruled('governor = ["performance"]\ncpu_mhz = 2000'), file)[1].split())
    assert f"not decided: node.governor, node.cpu_mhz [node]: {UNTOLD}" in said
    assert "likely, of all 2: a virtual machine hides it from its guests" in said
    assert "next: cpupower frequency-info on the host; then grainscope --preset acceptance --out DIR" in said


def test_one_gpu_that_nothing_is_told_of_is_not_decided_and_named(check):
    read = {"gpu_sm_mhz": 1980, "throttle": [], "ecc_errors": 0}
    states = [({"gpu": gpu, "numa": 0}, read) for gpu in (0, 2)]
    for rule in ("gpu_sm_mhz = 1500", 'throttle = ["hw_slowdown"]', "ecc_errors = 0"):
        status, _, document = check(ruled(rule), several(3, states))
        assert status == 5
        assert of_node(document, rule.split()[0])["message"] == UNTOLD.replace("tell;", "tell of GPU 1;")
        assert check(ruled(f"{rule}\nwhere_told = true"), several(3, states))[0] == 0
        assert check(ruled(rule), several(3, [*states, ({"gpu": 1, "numa": 0}, read)]))[0] == 0
    slow = [*states, ({"gpu": 0, "numa": 0}, {"ecc_errors": 1})]
    assert of_node(check(ruled("ecc_errors = 0"), several(3, slow))[2], "ecc_errors")["status"] == "failed"


def test_the_shipped_sets_ask_of_a_node_what_it_tells():
    assert all(load(name).node.where_told for name in rules.shipped())


def several(gpus: int, states: list[tuple[dict, dict]], nvml=()) -> File:
    """A machine with rows of each GPU, beside these sites with what was read around their visits."""
    file = machine([], gpus=gpus)
    for gpu, told in enumerate(nvml):
        file.context["environment"]["gpus"][gpu]["nvml"] = told
    for gpu in range(gpus):
        add(file, 55.0, 1, {"gpu": gpu, "numa": 0})
    for at, (site, state) in enumerate(states):
        for visit in (1, 2, 3):
            row = add(file, 50.0, visit, site, size=MIB + at)
            row["visits"][0]["state"] = state
    return file


@pytest.mark.parametrize(("rule", "good", "bad", "message"), [
    ("gpu_sm_mhz = 1500", {"gpu_sm_mhz": 1980}, {"gpu_sm_mhz": 345},
     "GPU 1: middle of 3 readings is 345 MHz"),
    ("gpu_memory_mhz = 1500", {"gpu_memory_mhz": 1980}, {"gpu_memory_mhz": 345},
     "GPU 1: middle of 3 readings is 345 MHz"),
    ('throttle = ["hw_slowdown", "sw_power_cap"]', {"throttle": []}, {"throttle": ["hw_slowdown"]},
     "GPU 1: clocks were held down: hw_slowdown (3)"),
    ("link_width = 16", {"link_width": 16}, {"link_width": 8}, "GPU 1: it was 8"),
    ("link_generation = 4", {"link_generation": 5}, {"link_generation": 3}, "GPU 1: it was 3"),
    ("ecc_errors = 0", {"ecc_errors": 0}, {"ecc_errors": 2}, "GPU 1: there were 2"),
])  # fmt: skip
def test_each_gpu_is_judged_by_itself_and_named(check, rule, good, bad, message):
    """Readings of many sound GPUs do not hide one that is slow."""
    sites = [{"gpu": gpu, "numa": 0} for gpu in (0, 2, 3, 1)]
    assert check(ruled(rule), several(4, [(site, good) for site in sites]))[0] == 0
    states = [(site, bad if site["gpu"] == 1 else good) for site in sites]
    status, said, document = check(ruled(rule), several(4, states))
    assert status == 1
    assert of_node(document, rule.split()[0])["message"] == message
    assert f"{message} (expected" in " ".join(said.split())
    # What is read of two is of the one that is so alone, or of either.
    shared = [({"gpu": 0, "peer": 1}, bad), *states]
    assert "GPU 0" not in of_node(check(ruled(rule), several(4, shared))[2], rule.split()[0])["message"]
    both = [(site, good) for site in sites] + [({"gpu": 2, "peer": 1}, bad)]
    found = of_node(check(ruled(rule), several(4, both))[2], rule.split()[0])
    of_both = message.replace("GPU 1", "GPU 1 or GPU 2")
    assert found["message"] == ("" if rule.startswith("gpu_") else of_both)
    # Without rows of a GPU alone its clock is that of rows of it first.
    pairs = [({"gpu": 0, "peer": 1}, good), ({"gpu": 1, "peer": 0}, bad)]
    found = of_node(check(ruled(rule), several(2, pairs))[2], rule.split()[0])
    assert found["message"] == (message if rule.startswith("gpu_") else message.replace("1:", "0 or GPU 1:"))


def test_what_the_report_says_of_gpus_is_said_of_each(check):
    sound = {"clock_event_reasons": [], "ecc": True}
    file = several(3, [], [sound, sound, {"clock_event_reasons": ["hw_slowdown"], "ecc": False}])
    _, _, document = check(ruled('throttle = ["hw_slowdown"]\necc = true'), file)
    assert of_node(document, "throttle")["message"] == "GPU 2: clocks were held down: hw_slowdown (1)"
    assert of_node(document, "ecc")["message"] == "GPU 2: it is off"
    file.links.clear()
    for gpu, width in enumerate((16, 16, 8)):
        file.link("host_to_gpu", 55.2, gpu=gpu, gen=5)
        file.links[-1]["width"] = width
    _, _, document = check(ruled("link_width = 16"), file)
    assert of_node(document, "link_width")["message"] == "GPU 2: it was 8"


@pytest.mark.parametrize(("rule", "bad", "likely"), [
    ("", node([{"governor": "powersave"}]), "the system's default, or a power profile ("),
    ('throttle = ["hw_thermal_slowdown"]', node(throttle=["hw_thermal_slowdown"]), "the GPU is far too hot"),
    ('throttle = ["bit_12"]', node(throttle=["bit_12"]), "the driver's reason bit_12, which has no name yet"),
    ("gpu_sm_mhz = 1900", node(gpu_sm_mhz=1200), "its clocks were set or capped, or it had nothing to do"),
    ("gpu_sm_mhz = 1900", node(gpu_sm_mhz=1200, throttle=["gpu_idle", "sw_power_cap"]),
     "clocks were held down (sw_power_cap): the GPU is at its power limit"),
    ("cpu_mhz = 3000", node(cpu_mhz=800), "a cap on the CPUs' frequency, heat, or a power profile"),
    ('governor = ["powersave"]\ncpu_mhz = 3000', node(cpu_mhz=800, governor="powersave"),
     "the CPUs' governor is powersave"),
    ("link_generation = 5", machine(gen=4), "the card or its riser sits badly, or the slot"),
    ("link_width = 16", node(link_width=8), "the card or its riser sits badly, or the slot"),
    ("ecc = true", node(nvml={"ecc": False}), "someone switched it off, or"),
    ("ecc_errors = 0", node(ecc_errors=2), "memory of the GPU fails"),
])  # fmt: skip
def test_what_is_wrong_with_a_node_has_a_likely_cause_and_a_command(check, rule, bad, likely):
    status, said, _ = check(ruled(rule), bad)
    assert status == 1
    [failure] = re.findall(r"failed: node\.\S+ \[node\]: .*?next: \S+", said, re.DOTALL)
    assert f"likely: {likely}" in " ".join(failure.split())


@pytest.mark.parametrize(("rule", "name", "bad"), [
    ("link_width = 16", "gpu.link_width", node(link_width=8)),
    ("gpu_sm_mhz = 1900", "gpu.clocks_set", node(gpu_sm_mhz=1200)),
    ("cpu_mhz = 3000", "cpu.frequency_cap", node(cpu_mhz=800)),
])  # fmt: skip
def test_a_likely_cause_of_a_node_is_what_its_report_finds(check, rule, name, bad):
    bad.context["environment"]["warnings"] = [{**HOT, "id": name, "severity": "warning"}]
    assert "likely: hot\n" in check(ruled(rule), bad)[1]


@pytest.mark.parametrize("state", [
    {"governor": 3, "throttle": "hw_slowdown", "gpu_sm_mhz": "fast", "link_width": None, "ecc_errors": True},
    {"unheard_of": {"of": []}},
])  # fmt: skip
def test_a_state_of_other_kinds_is_as_if_it_told_nothing(check, state):
    text = 'throttle = "hw_slowdown"\ngpu_sm_mhz = 1\nlink_width = 16\necc_errors = 0'
    status, _, document = check(ruled(f"{text}\nwhere_told = true"), node(policies="none", **state))
    assert status == 0
    assert of_node(document, "ecc_errors")["status"] == "not applicable"
    status, _, document = check(ruled(text), node(policies="none", **state))
    assert status == 5
    assert of_node(document, "ecc_errors")["status"] == "not decided"
