"""`check` of the node itself: governor, clocks, throttling, links and memory errors."""

import pytest

from planted_check import COPY, check, machine

__all__ = ["check"]  # a fixture
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


def of(document: dict, name: str) -> dict:
    [one] = [one for one in document["files"][0]["judged"] if one["rule"] == f"node.{name}"]
    return one


@pytest.mark.parametrize("where", ["report", "state"])
def test_powersave_is_accepted_only_where_the_rules_say_so(check, where):
    file = node([{"governor": "powersave"}]) if where == "report" else node(governor="powersave")
    status, said, document = check(COPY, file)
    assert status == 1
    assert of(document, "governor")["message"] == HELD
    assert f"{HELD} (expected not powersave)" in said
    assert "next: sudo cpupower frequency-set --governor performance" in said
    assert check(ruled('governor = ["performance", "powersave"]'), file)[0] == 0
    assert check(ruled('governor = "performance"'), node([{"governor": "schedutil"}]))[0] == 1
    assert check(COPY, node([{"governor": "schedutil"}]))[0] == 0


def test_one_cpu_of_many_with_powersave_fails(check):
    assert check(COPY, node([{"governor": "performance"}, {"governor": "powersave"}]))[0] == 1


def test_what_the_machine_does_not_tell_is_said_and_accepted(check):
    text = ruled('throttle = "hw_slowdown"\ngpu_sm_mhz = 1\nlink_width = 16\necc = true\necc_errors = 0')
    status, said, document = check(text, node([{"governor": None}]))
    assert status == 0
    assert of(document, "governor")["status"] == "not applicable"
    assert "not told by the machine, and accepted: The CPUs' frequency governor; " in said
    assert of(document, "link_width")["status"] == "passed"
    untold = ("throttle", "gpu_sm_mhz", "ecc", "ecc_errors")
    assert {of(document, name)["message"] for name in untold} == {"the machine does not tell"}


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
    assert of(document, rule.split()[0])["message"] == message
    assert message in said
    # Without the rule nothing is asked.
    assert check(COPY, bad)[0] == 0


@pytest.mark.parametrize("state", [
    {"governor": 3, "throttle": "hw_slowdown", "gpu_sm_mhz": "fast", "link_width": None, "ecc_errors": True},
    {"unheard_of": {"of": []}},
])  # fmt: skip
def test_a_state_of_other_kinds_is_as_if_it_told_nothing(check, state):
    text = ruled('throttle = "hw_slowdown"\ngpu_sm_mhz = 1\nlink_width = 16\necc_errors = 0')
    status, _, document = check(text, node(policies="none", **state))
    assert status == 0
    assert of(document, "ecc_errors")["status"] == "not applicable"
