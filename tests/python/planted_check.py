"""Machines and rules for `check`, and a way to run it."""

import json
from pathlib import Path

import pytest

from grainscope_report.cli import main
from planted import SITE, pinned_copy
from synthetic import MIB, File

BIG = 256 * MIB
VISITS = 5
COPY = """
[[rule]]
id = "to-gpu"
text = "a copy of 256 MiB"
where = { family = "transfer/memcpy", path = "pinned_to_gpu", bytes = "256MiB", locality = "local" }
unit = "GB/s"
lower = 50.0
target = 55.0
upper = 63.0
source = "planted"
"""
RUN = '[run]\npreset = "acceptance"\nvisits = 5\n'


def machine(rates=(55.0,) * VISITS, gpus: int = 1, host: str = "node-a", preset="acceptance", **peak) -> File:
    """A run whose copy of 256 MiB to GPU 0 reaches these rates, one a visit."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",) * gpus, preset=preset, host=host)
    for gpu in range(gpus):
        file.link("host_to_gpu", peak.get("peak", 55.2), gpu=gpu, gen=peak.get("gen", 5))
    for visit, rate in enumerate(rates, 1):
        add(file, rate, visit)
    return file


def add(file: File, rate: float, visit: int = 1, site=SITE, size: int = BIG, **axes) -> dict:
    return file.add("transfer/memcpy", pinned_copy(size, **axes), site, size / rate / 1e9, visit=visit)


@pytest.fixture
def check(tmp_path: Path, capsys):
    """Runs `check` on files with these rules; gives the exit status, what was said, and the JSON."""

    def run(text: str, *files: File, arguments=()) -> tuple[int, str, dict]:
        (tmp_path / "rules.toml").write_text(text)
        paths = [str(file.write(tmp_path / f"{at}.json")) for at, file in enumerate(files)]
        out = tmp_path / "out.json"
        out.unlink(missing_ok=True)
        status = main(
            ["check", *paths, "--rules", str(tmp_path / "rules.toml"), "--json", str(out), *arguments]
        )
        said = capsys.readouterr()
        return status, said.out + said.err, json.loads(out.read_text()) if out.exists() else {}

    return run
