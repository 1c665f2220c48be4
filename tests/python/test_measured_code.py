"""A family whose kernel or timed region changed has a new version, or a recorded reason why not."""

import json
import os
import subprocess

import pytest

import measured_code

RECORD = json.loads(measured_code.RECORD.read_text())
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")


def test_no_familys_code_changed_without_a_new_version_or_a_waiver():
    stale = measured_code.changed(RECORD)
    assert not stale, (
        f"the measured code of {', '.join(stale)} changed: raise Family::version and run "
        "`python3 tests/python/measured_code.py record FAMILY`, or `waive FAMILY --why …` where what is "
        "measured did not change"
    )


def test_comments_and_blanks_are_no_code():
    assert measured_code.code_of('a = 1;  // one\n/* two\n */ b("// no")') == measured_code.code_of(
        'a=1;b("// no")'
    )
    assert measured_code.code_of("a = 1;") != measured_code.code_of("a = 2;")


def test_a_changed_kernel_is_seen(tmp_path, monkeypatch):
    source = tmp_path / "kernel.cu"
    source.write_text("x[i] = y[i];")
    monkeypatch.setattr(measured_code, "ROOT", tmp_path)
    family = {"version": 1, "code": ["@all"], "digest": ""}
    record = {"shared": {"all": ["kernel.cu"]}, "families": {"a/b": family}}
    family["digest"] = measured_code.digest_of(family, record["shared"])
    source.write_text("x[i] = y[i];  // copied\n")
    assert measured_code.changed(record) == []
    source.write_text("x[i] = 2 * y[i];")
    assert measured_code.changed(record) == ["a/b"]


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_versions_are_the_programs_and_every_family_has_a_record():
    said = subprocess.run([PROGRAM, "--families=json"], check=True, capture_output=True, text=True)
    versions = {family["name"]: family["version"] for family in json.loads(said.stdout)}
    assert {name: family["version"] for name, family in RECORD["families"].items()} == versions
