"""What runs on nodes needs the standard library alone, as `summary`, `check`, `validate` and `compare` do."""

import re
import subprocess
import sys

import pytest

from grainscope_report import resources

# Nothing is found but what Python brings and the package itself.
ALONE = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in sys.stdlib_module_names | {"grainscope_report"}:
            raise ModuleNotFoundError(f"no {name} on this node", name=name)

sys.meta_path.insert(0, Nothing())
from grainscope_report.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: str) -> subprocess.CompletedProcess:
    code = f"import sys; sys.path.insert(0, {SCRIPTS!r})\n{ALONE}"
    command = [sys.executable, "-I", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


SCRIPTS = str(resources.PACKAGE.parent)
IMPORTED = (
    str(resources.CHECKOUT / "tests/golden/others/nvbandwidth-0.8.txt"),
    "--with",
    str(resources.CHECKOUT / "results/reference/h200x2-quick.json.gz"),
)
COMMANDS = {
    "summary": ("summary", "h100"),
    "summary --full": ("summary", "--full", "learning"),
    "matrix": ("matrix", "linked"),
    "dispatch": ("dispatch", "busy"),
    "ask": ("ask", "h100", "best h2d 1MiB"),
    "summary --json": ("summary", "--json", "learning"),
    "validate": ("validate", "traversing"),
    "check": ("check", "h100", "--rules", "pcie5", "--any-run"),
    "import": ("import", *IMPORTED),
    "compare": ("compare", "h100", "two_nodes", "--all"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_of_a_node_needs_nothing_else(name, files):
    ran = run(*(str(files.get(word, word)) for word in COMMANDS[name]))
    assert "on this node" not in ran.stderr, ran.stderr
    assert ran.returncode in (0, 1, 5), ran.stderr
    assert ran.stdout


@pytest.mark.parametrize(
    ("command", "lacks"), [("plot", "matplotlib"), ("report", "jinja2"), ("evaluate", "numpy")]
)
def test_what_is_not_there_is_noticed(files, tmp_path, command, lacks):
    given = files["h100"]
    if command == "evaluate":
        given = tmp_path / "workload.toml"
        assert run("evaluate", "--init", str(given)).returncode == 0
    ran = run(command, str(given), "-o", str(tmp_path / "out"))
    assert re.fullmatch(rf"grainscope-report: .* Python finds no module {lacks}: .*\n", ran.stderr)
    assert ran.returncode == 2
    assert not (tmp_path / "out").exists()


def test_what_writes_documents_helps_without_what_it_needs():
    """Whether numpy is there is asked once there is something to write."""
    script = resources.CHECKOUT / "scripts" / "docs"
    alone = ALONE.partition("from grainscope_report.cli")[0].replace('{"', '{"documents", "')
    code = f"{alone}\nimport runpy\nrunpy.run_path({str(script)!r}, run_name='__main__')"
    told = {}
    for argument in ("--help", "--check"):
        command = [sys.executable, "-I", "-c", code, argument]
        told[argument] = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told["--help"].returncode, told["--help"].stderr) == (0, "")
    assert "scripts/docs --draw DIR" in told["--help"].stdout
    assert told["--check"].returncode == 2
    assert re.fullmatch(r"docs: .*Python finds no module \w+: .*\n", told["--check"].stderr)
