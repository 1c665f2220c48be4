"""`export bundle`: what is handed on is read as the file itself, and refused when it was altered."""

import gzip
import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from grainscope_report import loading
from grainscope_report.cli import main
from planted_purchase import evaluate, machine, workload

X = {"copies": 2.0, "kernels": 1.0, "host": "node-x"}


@pytest.fixture(params=["folder", "packed"])
def bundled(tmp_path, request):
    """A run's file and its bundle."""
    raw = machine(**X).write(tmp_path / "run" / "result.json")
    out = tmp_path / ("made" if request.param == "folder" else "made.tar.gz")
    assert main(["export", "bundle", str(raw.parent), "-o", str(out)]) == 0
    return raw, out


def unpacked(out: Path, tmp_path: Path) -> Path:
    """The bundle as a folder."""
    if out.is_dir():
        return out
    with tarfile.open(out) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    return tmp_path / "unpacked" / "made"


def altered(out: Path, name: str, old: bytes, new: bytes) -> None:
    """Changes a file within a bundle, of an archive by packing it again."""
    if out.is_dir():
        files = {path.name: path.read_bytes() for path in out.iterdir()}
    else:
        with tarfile.open(out) as archive:
            files = {Path(one.name).name: archive.extractfile(one).read() for one in archive}
    assert old in files[name]
    files[name] = files[name].replace(old, new)
    if out.is_dir():
        (out / name).write_bytes(files[name])
    else:
        out.write_bytes(loading.packed_bundle(files, "made"))


def test_it_holds_the_raw_file_and_sums_that_others_can_check(bundled, tmp_path):
    raw, out = bundled
    folder = unpacked(out, tmp_path)
    assert (folder / "result.json").read_bytes() == raw.read_bytes()
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["run"] == json.loads(raw.read_text())["context"]["run"]["id"]


def test_it_is_read_as_the_file_itself(bundled, tmp_path, capsys):
    raw, out = bundled
    capsys.readouterr()
    said = []
    for path in (raw, out):
        assert main(["export", "csv", str(path)]) == 0
        said.append(capsys.readouterr().out.replace(str(path), "FILE"))
    assert said[0] == said[1]
    other = machine(host="node-r").write(tmp_path / "r.json")
    assert main(["compare", str(other), str(out)]) in (0, 1, 5)
    text = workload(candidates="X").replace("X.json", out.name)
    assert evaluate(tmp_path, text)[1]["verdict"]["first"] == "X"


@pytest.mark.parametrize(("name", "old", "new"), [
    ("result.json", b'"median_s": 0.00', b'"median_s": 0.01'),
    ("manifest.json", b"node-x", b"node-y"),
    ("SHA256SUMS", b"result.json", b"other.json"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["summary", "compare", "evaluate"])
def test_an_altered_one_is_refused(bundled, tmp_path, capsys, command, name, old, new):
    raw, out = bundled
    altered(out, name, old, new)
    capsys.readouterr()
    if command == "evaluate":
        status, document = evaluate(tmp_path, workload(candidates="X").replace("X.json", out.name))
        assert not document
    else:
        status = main([command, str(out), *([str(raw)] if command == "compare" else [])])
    assert status == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "was altered since it was bundled" in said


def test_the_result_of_an_altered_folder_is_refused_by_its_own_name(tmp_path, capsys):
    raw = machine(**X).write(tmp_path / "result.json")
    out = tmp_path / "made"
    assert main(["export", "bundle", str(raw), "-o", str(out)]) == 0
    assert main(["summary", str(out / "result.json")]) == 0
    altered(out, "result.json", b"node-x", b"node-y")
    assert main(["summary", str(out / "result.json")]) == 2
    assert "was altered" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["result.json", "manifest.json", "SHA256SUMS"])
def test_what_is_missing_is_named(tmp_path, capsys, name):
    raw = machine(**X).write(tmp_path / "result.json")
    out = tmp_path / "made"
    main(["export", "bundle", str(raw), "-o", str(out)])
    (out / name).unlink()
    assert main(["summary", str(out)]) == 2
    assert f"({name} is missing)" in capsys.readouterr().err


def test_an_archive_of_something_else_or_cut_off_is_a_sentence(tmp_path, capsys):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x/y"), io.BytesIO())
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(out.getvalue()))
    assert main(["summary", str(tmp_path / "a.tar.gz")]) == 2
    assert "is no whole bundle" in capsys.readouterr().err
    whole = gzip.compress(loading.packed_bundle({"a": bytes(5000)}, "a"))
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(gzip.decompress(gzip.decompress(whole))[:900]))
    assert main(["summary", str(tmp_path / "b.tar.gz")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["r.json"], ["r.json", "r.json", "-o", "x"], ["r.json", "-o", "full"]])
def test_a_bundle_is_of_one_run_and_goes_to_a_new_place(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    machine(**X).write(Path("r.json"))
    Path("full").mkdir()
    Path("full/file").write_text("kept")
    assert main(["export", "bundle", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert Path("full/file").read_text() == "kept"
