"""Workload files that cannot be used: one sentence and the right exit status, never a traceback."""

import json

import pytest

from grainscope_report.cli import main
from planted import FAR, SITE, pinned_copy, spoiled
from planted_purchase import SIZE, evaluate, machine, seconds, workload
from synthetic import MIB

GOOD = workload(candidates="X")
ALONG = 'share = 0.5\nalong = "row"\nsizes = '
OFFERS = workload(candidates="X=1,2 Y=1,2")
COST = "[cost]\nyears = 5\nper_kwh = 0.25\npue = 1.3\n"
Y = {"Y": machine(host="node-y")}


def said(tmp_path, capsys, text: str, **files) -> tuple[int, str]:
    status, _ = evaluate(tmp_path, text, **({"X": machine(2.0, 1.0, "node-x")} | files))
    error = capsys.readouterr().err
    assert error.count("\n") == (status > 1)
    return status, error


def test_a_good_one(tmp_path, capsys):
    assert said(tmp_path, capsys, GOOD) == (0, "")


@pytest.mark.parametrize(("text", "message"), [
    ("reference = [", "is no TOML"),
    ("reference = 3\n", "`reference` must be text or a list of texts, not 3"),
    ("reference = []\n", "`reference` must be text or a list of texts, not []"),
    (GOOD.replace("reference", "referenz"), "`reference` is missing"),
    (GOOD.replace("[[candidate]]", "[[candidates]]"), "there is no key `candidates`; did you mean"),
    (GOOD.replace("share = 0.5", "share = 0.4", 1), "the shares of the components add up to 0.9, not to 1"),
    (GOOD.replace("share = 0.5", "share = 0.0", 1), "`share` must be above 0 and at most 1, not 0.0"),
    (GOOD.replace("share = 0.5", "share = inf", 1), "`share` must be"),
    (GOOD.replace("share = 0.5", "share = true", 1), "`share` must be a number, not True"),
    (GOOD.replace("share", "shares", 1), "there is no key `shares`; did you mean `share`?"),
    (GOOD.replace('"kernels"', '"copies"', 1), "two of [[component]] are named 'copies'"),
    (workload(candidates="X X"), "two of [[candidate]] are named 'X'"),
    (workload(), "there is no [[candidate]] in it"),
    (GOOD + 'along = "bytes"\n', "there is no key `along`"),
    (GOOD.replace("share = 0.5", 'share = 0.5\nalong = "bytes"', 1), "`along` and `sizes` go together"),
    (GOOD.replace("share = 0.5", ALONG.replace("row", "bytes") + "{ 4096 = 1.0 }", 1), "is also in `where`"),
    (GOOD.replace("share = 0.5", ALONG + "{ 4096 = 0.9 }", 1), "add up to 0.9, not to 1"),
    (GOOD.replace("share = 0.5", ALONG + "{ big = 1.0 }", 1), "'big' is no size"),
    (GOOD.replace("share = 0.5", 'share = 0.5\nmethod = "worst"', 1), "`method` must be one of best, same"),
    (GOOD.replace("share = 0.5", 'share = 0.5\nmetric = "sms"', 1), "does not say what is better"),
    (GOOD.replace("share = 0.5", 'share = 0.5\nmetric = "teps"', 1), "has no teps"),
    (GOOD.replace("share = 0.5", 'share = 0.5\nlabel = "modelled"', 1), "a verdict does not mix them"),
    (GOOD.replace("transfer/memcpy", "transfer/memcopy"), "there are no rows of transfer/memcopy"),
    (GOOD.replace('"64MiB"', '"32MiB"'), "has bytes 33554432; there are 67108864"),
    (GOOD + "price_node = -1\n", "`price_node` must be above 0, not -1"),
    (GOOD + "price_node = 0\n", "`price_node` must be above 0, not 0"),
    (GOOD + "price = 1\n", "there is no key `price`; did you mean `price_"),
    (GOOD + "price_node = 1\nprice_gpu = 1\n", "two prices of one thing"),
    (GOOD + "watts = 5\n", "`watts` and `watts_source`"),
    (GOOD + COST, "[cost] needs `price_node` or `price_gpu` of every candidate"),
    (workload(candidates="X=1 Y=1") + COST, "needs the power of candidate 'X', and its rows of copies"),
    (OFFERS + COST.replace("1.3", "0.3"), "`pue` must be at least 1, not 0.3"),
    (OFFERS + COST + "currency = 'EUR'\n", "candidate 'Y' in no currency, [cost] in EUR"),
    (OFFERS.replace("price_node = 1\n", "price_node = 1\ncurrency = 'EUR'\n", 1), "nothing is converted"),
    (OFFERS.replace("price_node = 1\n", "", 1), "candidate 'X' has no `price_node` and others have"),
    (GOOD + '[gates]\ngpu_memory = "80 G B"\n', "`gpu_memory` must be bytes"),
    (GOOD + "[gates]\nmax_vc = 0.1\n", "there is no key `max_vc`; did you mean `max_cv`?"),
    (GOOD + "[gates]\nmin_link_fraction = 80\n", "must be at least 0 and at most 1, not 80"),
    (GOOD.replace("X.json", "Z.json"), "does not exist"),
    (GOOD.replace('["X.json"]', '["X.json", "X.json"]'), "are the same run: give each once"),
])  # fmt: skip
def test_what_cannot_be_used_is_one_sentence(tmp_path, capsys, text, message):
    status, error = said(tmp_path, capsys, text, **Y)
    assert status == 2
    assert message in error


def test_an_open_question_is_refused(tmp_path, capsys):
    reference = machine()
    reference.add(
        "transfer/kernel_copy", {"path": "pinned_to_gpu", "bytes": MIB, "locality": "local"}, SITE, 1e-3
    )
    status, error = said(tmp_path, capsys, GOOD, r=reference)
    assert status == 2
    assert (
        "'kernels' leaves open what is asked: on the reference its rows differ in bytes (1048576, 67108864)"
        in error
    )


def test_far_memory_warm_caches_and_the_gpu_s_own_memory_go_without_saying(tmp_path):
    more = machine(2.0, 1.0, "node-x")
    for axes, site in (
        ({"locality": "remote"}, FAR),
        ({"flush": "off"}, SITE),
        ({"timed": "submission"}, SITE),
    ):
        more.add("transfer/memcpy", pinned_copy(SIZE, **axes), site, seconds(100.0))
    text = GOOD.replace(
        '{ family = "transfer/kernel_copy", path = "pinned_to_gpu" }', '{ family = "gather" }'
    )
    files = {"r": machine(), "X": more}
    for file in files.values():
        for store, ratio in (("mapped", 1.0), ("device", 50.0 + len(file.rows))):
            axes = {"mode": "masked", "store": store, "row": 512, "locality": "local"}
            file.add("gather", axes, SITE, seconds(ratio), bytes=SIZE)
    status, document = evaluate(tmp_path, text, **files)
    assert status == 0
    ratios = [part["ratio"]["value"] for part in document["candidates"][0]["components"]]
    assert ratios == [pytest.approx(2.0), pytest.approx(1.0)]


def test_what_cannot_be_compared_exits_3_with_the_environments(tmp_path, capsys):
    lacking = machine(2.0, 1.0, "node-x", driver="999.1")
    lacking.rows.pop()
    status, error = said(tmp_path, capsys, GOOD, X=lacking)
    assert status == 3
    assert "X has no rows of 'kernels': there are no rows of transfer/kernel_copy" in error
    assert "driver.version 580.159 / 999.1" in error
    skipped = machine(2.0, 1.0, "node-x")
    row = skipped.rows.pop()
    skipped.lose("skipped", "too little memory", "transfer/kernel_copy", row["case"]["axes"], SITE)
    assert said(tmp_path, capsys, GOOD, X=skipped) == (1, "")
    modelled = machine(2.0, 1.0, "node-x")
    modelled.rows[0]["label"] = "modelled"
    assert said(tmp_path, capsys, GOOD, X=modelled)[0] == 3


def test_nodes_measured_unlike_are_refused(tmp_path, capsys):
    other = machine(2.0, 1.0, "node-z")
    other.rows.pop()
    text = GOOD.replace('["X.json"]', '["X.json", "Z.json"]')
    status, error = said(tmp_path, capsys, text, Z=other)
    assert status == 3
    assert "another node of X has: measure alike" in error


@pytest.mark.parametrize(("spoil", "status"), [
    (lambda document: document["benchmarks"][0].update(median_s=1.0), 3),
    (lambda document: document["benchmarks"][0].pop("status"), 2),
    (lambda document: document["benchmarks"].append(3), 2),
    (lambda document: document["benchmarks"].append({"case": 3}), 2),
    (lambda document: document["context"].pop("schema_version"), 2),
    (lambda document: document["context"].update(schema_version=99), 2),
    (lambda document: document["context"].pop("run"), 2),
])  # fmt: skip
def test_bad_result_files(tmp_path, capsys, spoil, status):
    for name, file in {"r": machine(), "X": machine(2.0, 1.0, "node-x")}.items():
        file.write(tmp_path / f"{name}.json")
    spoiled(tmp_path / "X.json", spoil)
    (tmp_path / "w.toml").write_text(GOOD)
    assert main(["evaluate", str(tmp_path / "w.toml"), "-o", str(tmp_path / "out")]) == status
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_truncated_and_not_finite_files(tmp_path, capsys):
    whole = machine(2.0, 1.0, "node-x").write(tmp_path / "X.json").read_text()
    machine().write(tmp_path / "r.json")
    (tmp_path / "w.toml").write_text(GOOD)
    for text in (whole[:-200], whole.replace('"median_s": ', '"median_s": NaN, "x": ', 1), ""):
        (tmp_path / "X.json").write_text(text)
        assert main(["evaluate", str(tmp_path / "w.toml"), "-o", str(tmp_path / "out")]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--draws", "5"], ["--seed", "-1"], ["-o", "/dev/null/x"]])
def test_bad_arguments(tmp_path, arguments):
    assert evaluate(tmp_path, GOOD, *arguments, X=machine(2.0, 1.0, "node-x"))[0] == 2


def test_the_three_files_are_written_and_safe(tmp_path):
    text = GOOD.replace('"copies"', '"<b>|copies"')
    assert evaluate(tmp_path, text, X=machine(2.0, 1.0, "node-x"))[0] == 0
    page = (tmp_path / "out" / "verdict.html").read_text()
    assert "<b>" not in page
    assert "&lt;b&gt;|copies" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "&lt;b>\\|copies" in (tmp_path / "out" / "verdict.md").read_text()
    assert json.loads((tmp_path / "out" / "verdict.json").read_text())["verdict_format"] == 1
