"""Rules of the house that a reader of the sources could check."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FAMILIES = [
    path
    for path in sorted((ROOT / "benchmarks").rglob("*.[ch]pp"))
    if path.stem != "presets" and "harness" not in path.parts
]
PRESET = re.compile(r"Preset::|\bpreset\s*[=!]=|\.preset\b")
PACKAGE = ROOT / "scripts" / "grainscope_report"
# What reads a result file, declares its format, with what others ask of cases and results, and checks its
# numbers. Not counted: loading.py finds, unpacks and parses JSON; analysis.py works out what a run says.
READER = ("typed.py", "model.py", "reader.py")
READER_LINES = 1008  # all of them
READER_CODE = 700  # without blank lines, comments and docstrings
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
SAMPLED = re.compile(r"virtual double \w+\(\) = 0")


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_family_decides_by_preset():
    assert lines_with(PRESET, FAMILIES) == []


def test_one_interface_is_sampled():
    headers = sorted((ROOT / "include").rglob("*.hpp"))
    found = lines_with(SAMPLED, headers)
    assert [line.split(":")[0] for line in found] == ["include/grainscope/core/operation.hpp"], found


def test_families_see_nothing_of_google_benchmark():
    library = re.compile(r"#include <benchmark/")
    outside = [path for path in FAMILIES if path.name != "main.cpp"]
    assert lines_with(library, [*outside, *(ROOT / "include").rglob("*.hpp")]) == []


# Files that name a family outside its group, and why; the tables of families and of presets are for that.
OUTSIDE = {
    "scripts/grainscope_report/families.py": "the table that the scripts read instead of naming families",
    "benchmarks/gnn/pipeline_worker.cpp": "`gather` is the lane of a row, however its rows are gathered",
    "benchmarks/gnn/sm_share.cpp": "`gather` is the lane of a row, however its rows are gathered",
}
NAMES = re.findall(r"^## ([a-z_]+(?:/[a-z_]+)?)$", (ROOT / "docs/axes.md").read_text(), re.MULTILINE)
# Modules that hold more than the group that they are called by; `transfer_copies` is called by `transfer`.
GROUPS = {
    "contention": ("contention", "transfer"),
    "gather": ("gather", "sm_share"),
    "gnn": ("sampling", "tiering", "pipeline"),
    "latency": ("latency", "call"),
    # What a machine's microbenchmarks say of programs.
    "programs": (
        *("transfer", "reach", "grain", "latency", "call", "host"),
        *("gather", "traversal", "lean"),
        *("sm_share", "contention"),
    ),
    "traversal": ("traversal", "lean"),
    # What joins nodes and GPUs.
    "topology": ("transfer", "host"),
}
LITERAL = re.compile(r'//[^\n]*|#include[^\n]*|"((?:[^"\\\n]|\\.)*)"')


def named(strings: Iterable[str]) -> set[str]:
    """The groups of the families that these strings name."""
    return {
        name.partition("/")[0]
        for string in strings
        for name in NAMES
        if string == name or string.startswith(f"{name}/")
    }


def groups_in_python(path: Path) -> tuple[set[str], set[str]]:
    """The groups that a file of the scripts names, and those that it belongs to."""
    found = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    home = path.relative_to(PACKAGE).parts if path.is_relative_to(PACKAGE) else ()
    own = home[1].removesuffix(".py").partition("_")[0] if home[:1] == ("groups",) else ""
    return named(node.value for node in found if isinstance(node.value, str)), {*GROUPS.get(own, (own,))}


# Groups that a folder of benchmarks holds beside the one that it is called by.
FOLDERS = {
    "transfer": ("transfer", "grain", "contention"),
    "latency": ("latency", "call"),
    "gather": ("gather", "reach"),
    "traversal": ("traversal", "lean"),
    "gnn": ("sampling", "tiering", "pipeline", "sm_share"),
}


def groups_in_cpp(path: Path) -> tuple[set[str], set[str]]:
    """The groups that a source names outside comments, and those of its folder."""
    folder = path.parent.name
    own = {*FOLDERS.get(folder, (folder,))}
    return named(match[1] for match in LITERAL.finditer(path.read_text()) if match[1]), own


def outside() -> dict[str, set[str]]:
    """The files that name families of other groups, and which."""
    python = [(path, groups_in_python(path)) for path in sorted(PACKAGE.rglob("*.py"))]
    sources = [
        path
        for folder in ("benchmarks", "include", "src")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".cpp", ".hpp", ".cu", ".cuh") and path.stem not in ("families", "presets")
    ]
    found = [*python, *((path, groups_in_cpp(path)) for path in sources)]
    return {str(path.relative_to(ROOT)): groups - own for path, (groups, own) in found if groups - own}


def test_few_files_name_a_family_outside_its_group():
    assert len(NAMES) > 30
    assert outside().keys() == OUTSIDE.keys(), outside()
    assert len(OUTSIDE) <= 3


def test_a_file_that_names_a_family_of_another_group_would_be_seen(tmp_path):
    python, cpp = tmp_path / "one.py", tmp_path / "host/one.cpp"
    cpp.parent.mkdir()
    python.write_text(
        'def of(result):\n    return result.of("transfer/peer"), f"traversal/{result}", "hosts"\n'
    )
    cpp.write_text('// "gather"\nauto one = "lean/bfs"; auto two = "host/flush"; auto three = "model/";\n')
    assert groups_in_python(python) == ({"transfer", "traversal"}, {""})
    assert groups_in_cpp(cpp) == ({"lean", "host"}, {"host"})


def test_the_reader_and_its_checks_do_not_grow():
    texts = {name: (PACKAGE / name).read_text(encoding="utf-8") for name in READER}
    lines = {name: len(text.splitlines()) for name, text in texts.items()}
    assert sum(lines.values()) <= READER_LINES, lines
    code = {name: code_lines(text) for name, text in texts.items()}
    assert sum(code.values()) <= READER_CODE, code


def code_lines(text: str) -> int:
    """How many lines of a module have more than a comment or a docstring."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED)]
    docstrings = [node.body[0] for node in nodes if ast.get_docstring(node) is not None]
    spoken = {line for one in docstrings for line in range(one.lineno, one.end_lineno + 1)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    rows = {
        line
        for one in tokens
        if one.type not in (tokenize.COMMENT, tokenize.ENDMARKER) and one.string.strip()
        for line in range(one.start[0], one.end[0] + 1)
    }
    return len(rows - spoken)
