"""Result files with values that no run writes: `validate` names them, and no command shows a traceback."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grainscope_report.cli import main
from planted import spoiled

HUGE = 10**399
FIRST = "$.benchmarks[0]"


def row(document: dict, family: str, **counters: float) -> dict:
    """The first `ok` row of a family that has these counters."""
    return next(
        one
        for one in document["benchmarks"]
        if one["case"]["family"] == family
        and one["status"] == "ok"
        and counters.keys() <= one["counters"].keys()
    )


def fewer_sms(document: dict) -> None:
    one = row(document, "sm_share/gather", given_sms=0)
    one["counters"].pop("seen_sms", None)
    one["counters"]["available_sms"] = -1


def kernel(value: object) -> Callable[[dict], object]:
    return lambda document: document["context"]["environment"].update(kernel=value)


def grain(value: object) -> Callable[[dict], object]:
    return lambda document: row(document, "grain/pieces")["case"]["axes"].update(grain=value)


def sizes(key: str) -> Callable[[dict], object]:
    traffic = {"label": "modelled", "requests_by_size": {key: 1}}
    return lambda document: document["benchmarks"][0].update(traffic=traffic)


def access(document: dict) -> None:
    row(document, "traversal/bfs")["case"]["axes"]["access"] = "sideways"


ODD = {
    "bytes": (
        "h100",
        lambda document: document["benchmarks"][0].update(bytes=HUGE),
        "which is no JSON number",
    ),
    "many bytes": (
        "h100",
        lambda document: document["benchmarks"][0].update(bytes=10**300),
        "more than any machine",
    ),
    "size": ("h100", sizes("9" * 5000), "requests_by_size: has the key"),
    "no digit": ("h100", sizes("²"), "requests_by_size: has the key"),
    "ended early": (
        "h100",
        lambda document: document["context"]["run"].update(
            started="2026-11-20T12:00:00Z", ended="2026-11-20T11:59:59Z"
        ),
        "ended: is 2026-11-20T11:59:59Z, before the run began at 2026-11-20T12:00:00Z",
    ),
    "kernel list": ("h100", kernel([1]), "environment.kernel: is an array of 1, not of type object"),
    "kernel number": ("h100", kernel(5), "environment.kernel: is 5, not of type object"),
    "sms": ("learning", fewer_sms, "the GPU has -1"),
    "no grain": ("linked", grain(0), "nothing can be reckoned"),
    "grain below": ("linked", grain(-5), "case.axes: has grain of -5, which no run was asked for"),
    "huge grain": ("linked", grain(1e308), "case.axes: has grain of 1e+308, which no run was asked for"),
    "grain in words": ("linked", grain("big"), "nothing can be reckoned"),
    "access": ("traversing", access, ""),
}


@pytest.fixture
def odd(files, tmp_path, request) -> tuple[Path, str]:
    name, spoil, says = ODD[request.param]
    path = tmp_path / "result.json"
    path.write_bytes(files[name].read_bytes())
    return spoiled(path, spoil), says


@pytest.mark.parametrize("odd", [name for name in ODD if ODD[name][2]], indirect=True)
def test_validate_names_it(odd, capsys):
    path, says = odd
    assert main(["validate", "--all", str(path)]) in (1, 2)
    said = capsys.readouterr()
    assert says in said.out + said.err


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("odd", ODD, indirect=True)
@pytest.mark.parametrize("command", ["summary", "list", "report", "compare"])
def test_other_commands_end_with_a_sentence(odd, files, tmp_path, capsys, command):
    path, _ = odd
    more = {"compare": [str(files["h100"])], "report": ["-o", str(tmp_path / "x.html")]}.get(command, [])
    status = main([command, str(path), *more])
    last = capsys.readouterr().err.splitlines()[-1:]
    assert status in (0, 1, 2, 3, 5)
    assert status in (0, 1, 5) or last[0].startswith("grainscope-report: ")


def test_an_unknown_way_is_drawn_in_the_colour_of_its_name(files, tmp_path, capsys):
    path = tmp_path / "result.json"
    path.write_bytes(files["traversing"].read_bytes())
    spoiled(path, access)
    assert main(["report", str(path), "-o", str(tmp_path / "x.html")]) == 0
    assert capsys.readouterr().err == ""
    assert "sideways" in (tmp_path / "x.html").read_text()


def test_caches_that_are_none_are_left_out(small):
    document = json.loads(small.read_text())
    document["context"]["environment"]["cpu"]["caches"] = [5, "L3"]
    small.write_text(json.dumps(document))
    assert main(["summary", str(small)]) == 0
