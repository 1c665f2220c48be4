"""Which code makes each family's numbers, and whether it changed since its version was recorded.

tests/golden/measured_code.json has for each family its version, the files of its kernels and timed regions,
and a digest of their code without comments and blanks, of every header that they include, and of what the
CMake files have the compiler do with them. After a change:

  python3 tests/python/measured_code.py record FAMILY…                  the family's version was raised
  python3 tests/python/measured_code.py waive FAMILY… --why "…"        what is measured did not change

`all` stands for every family whose code changed.
"""

import argparse
import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = ROOT / "tests/golden/measured_code.json"

# What is no kernel or timed region though it is included or reads a clock, and why.
PLAIN = {
    "include/grainscope/core/case.hpp": "names of cases",
    "include/grainscope/core/error.hpp": "errors",
    "include/grainscope/gnn/labels.hpp": "labels from files",
    "include/grainscope/system/board_meter.hpp": "watts beside a row",
    "include/grainscope/system/child_process.hpp": "starts workers, which time themselves",
    "include/grainscope/system/conditions.hpp": "clocks and temperatures beside a row",
    "include/grainscope/system/environment.hpp": "the machine report",
    "include/grainscope/system/limits.hpp": "the machine report",
    "include/grainscope/system/mps.hpp": "starts a daemon before anything is measured",
    "include/grainscope/system/nvml.hpp": "the machine report",
    "include/grainscope/system/ranks.hpp": "who works together; nothing is timed",
    "include/grainscope/system/sysfs.hpp": "the machine report",
    "include/grainscope/system/topology.hpp": "the machine report",
    "include/grainscope/system/warnings.hpp": "the machine report",
    "src/*/absent.cpp": "builds without CUDA measure nothing here",
    "src/cuda/verification.cu": "checks what was moved, after it was timed",
    "src/gnn/rows_on_gpu.cu": "fills tables before the first sample, and checks rows after each",
    "src/system/board_meter.cpp": "watts beside a row, while nothing is sampled",
    "src/system/child_process.cpp": "how long to wait for an answer",
    "src/system/conditions.cpp": "clocks and temperatures beside a row",
    "src/system/mps.cpp": "how long to wait for the daemon",
    "src/system/ranks.cpp": "how long to wait for other hosts",
    "benchmarks/claim_cache.hpp": "how long cases share what they hold",
    "benchmarks/families.hpp": "the list of families",
    "benchmarks/graph_command.cpp": "another command",
    "benchmarks/harness/*.hpp": "cases, options and rows; session.cpp samples",
    "benchmarks/harness/google_benchmark.cpp": "another way to run the same cases",
    "benchmarks/harness/screen.cpp": "says how far a run is",
    "benchmarks/harness/suite.cpp": "says how far a run is",
}

_TEXT = r"""R"\((?:.*?)\)"|"(?:\\.|[^"\\])*"|(?<!\w)'(?:\\.|[^'\\\n])+'"""
_STRING = re.compile(_TEXT, re.DOTALL)
_COMMENT = re.compile(rf"{_TEXT}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_COMMAND = re.compile(r"(\w+)\s*\(([^()]*)\)")
_FLAGS = re.compile(r"(?:APPEND )?CMAKE_(?:CXX|CUDA)_(?:FLAGS|STANDARD|ARCHITECTURES)\w*\b")
_OPTION = re.compile(r"(?<![\w-])-[\w-][^\s;<>\"]*")
_TYPE = re.compile(
    r"(?:template\s*<[^{;]*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*)?(\w+)"
)


@functools.cache
def without_comments(text: str) -> str:
    """Source with a blank in place of each comment."""
    return _COMMENT.sub(lambda found: " " if found[0].startswith("/") else found[0], text)


@functools.cache
def code_of(text: str) -> str:
    """Source without comments and blanks, which measure nothing."""
    return re.sub(r"\s+", "", without_comments(text))


def items_of(text: str) -> list[str]:
    """The functions, types and constants at namespace scope, in their order."""
    items: list[str] = []
    lines: list[str] = []
    depth = 0
    for line in without_comments(text).splitlines():
        if not lines and (not line.strip() or re.match(r"#(?!define)|namespace\b|}\s*$", line)):
            continue
        lines.append(line)
        bare = _STRING.sub('""', line)
        depth += bare.count("{") - bare.count("}")
        if depth <= 0 and (bare.rstrip().endswith((";", "}")) or bare.startswith("#")):
            items.append("\n".join(lines))
            lines, depth = [], 0
    return [*items, "\n".join(lines)] if lines else items


def names_of(item: str) -> list[str]:
    """What an item at namespace scope defines: of a member its type first."""
    if found := _TYPE.match(item):
        return [found[1]]
    head = re.split(r"[{;=]", item)[0]
    while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
        head = shorter
    words = re.findall(r"[\w:~]+", re.sub(r"\[+[^\]]*\]+", "", head.split("(")[0]))
    return [name for name in words[-1].split("::") if name] if words else []


@functools.cache
def measured_part(text: str, begins: str) -> str:
    """The items of a source whose names begin so, and those that these use, directly or through others."""
    items = [
        item for item in items_of(text) if not item.startswith("Family ")
    ]  # whose names are common words
    names = [names_of(item) for item in items]
    taken = {i for i, own in enumerate(names) if any(name.startswith(begins) for name in own)}
    todo = list(taken)
    while todo:
        used = set(re.findall(r"\w+", items[todo.pop()]))
        found = {i for i, own in enumerate(names) if own and own[0] in used} - taken
        taken |= found
        todo += found
    return "\n".join(items[i] for i in sorted(taken))


@functools.cache
def includes_of(text: str) -> list[str]:
    return _INCLUDE.findall(text)


@functools.cache
def is_plain(path: str) -> bool:
    return any(fnmatch(path, pattern) for pattern in PLAIN)


def included_by(path: Path) -> Iterable[Path]:
    """The project's own files that a file includes; what the build generates is not there."""
    for name in includes_of(path.read_text()):
        folders = (path.parent, ROOT / "include", ROOT / "src", ROOT / "benchmarks")
        near = (Path(os.path.normpath(folder / name)) for folder in folders)
        yield from [each for each in near if each.is_file()][:1]


def headers_of(paths: Iterable[Path]) -> set[Path]:
    """All headers that files include, directly or through others, but for plain ones."""
    todo = list(paths)
    headers: set[Path] = set()
    while todo:
        found = {each for each in included_by(todo.pop()) if not is_plain(str(each.relative_to(ROOT)))}
        todo += found - headers
        headers |= found
    return headers


def named_by(patterns: Iterable[str], shared: dict[str, list[str]]) -> dict[str, str]:
    """By name the code of files that patterns name, and of shared parts that they name by @.

    `file#measure` takes the items alone whose names begin with `measure`, and what these use: a family's file
    lists its cases, too.
    """
    code: dict[str, str] = {}
    for pattern in patterns:
        if pattern.startswith("@"):
            code |= named_by(shared[pattern[1:]], shared)
            continue
        path, _, begins = pattern.partition("#")
        found = {str(each.relative_to(ROOT)): each.read_text() for each in ROOT.glob(path)}
        found = {name: text for name, text in found.items() if not is_plain(name)}
        if begins:
            found = {f"{name}#{begins}": measured_part(text, begins) for name, text in found.items()}
        if not any(found.values()):
            raise SystemExit(f"{RECORD.name} names {pattern}, and there is no such code")
        code |= found
    return code


def measured_in(patterns: Iterable[str], shared: dict[str, list[str]]) -> dict[str, str]:
    """By name the code that patterns name, and of all headers that its files include."""
    code = named_by(patterns, shared)
    headers = headers_of(ROOT / name.partition("#")[0] for name in code)
    return code | {str(each.relative_to(ROOT)): each.read_text() for each in headers}


def options_of(source: str) -> str:
    """What CMake files say of how a source is compiled, but for warnings.

    Those of its folder and of those above it, and the modules in cmake/. What a user gives is not in them.
    """
    folders = [*Path(source).parents][::-1]
    listed = [(folder, ROOT / folder / "CMakeLists.txt") for folder in folders]
    listed += [(Path(), module) for module in sorted(ROOT.glob("cmake/*.cmake"))]
    said = []
    for folder, path in listed:
        text = re.sub(r"#[^\n]*", "", path.read_text()) if path.is_file() else ""
        for command, arguments in _COMMAND.findall(text):
            words = re.split(r"\s+", arguments.strip())
            if command in ("set", "string"):
                said += words if _FLAGS.match(" ".join(words)) else []
                continue
            of_sources = command in ("set_source_files_properties", "set_property")
            of_targets = command in ("target_compile_options", "add_compile_options")
            if of_targets or (of_sources and str(Path(source).relative_to(folder)) in words):
                options = _OPTION.findall(arguments)
                said += [each for each in options if not re.match("-+(Xcompiler=-)?W", each)]
    return " ".join(said)


def digest_of(family: dict, shared: dict[str, list[str]]) -> str:
    """The digest of a family's measured code as it is now."""
    digest = hashlib.sha256()
    for name, text in sorted(measured_in(family["code"], shared).items()):
        digest.update(code_of(text).encode())
        digest.update(options_of(name.partition("#")[0]).encode())
    return digest.hexdigest()[:16]


def changed(record: dict) -> list[str]:
    """Families whose code is not that of their record."""
    return [
        name
        for name, family in record["families"].items()
        if digest_of(family, record["shared"]) != family["digest"]
    ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["record", "waive"])
    parser.add_argument("families", nargs="+")
    parser.add_argument("--why", default="")
    arguments = parser.parse_args(argv)
    if arguments.action == "waive" and not arguments.why:
        parser.error("a waiver says why what is measured did not change")
    record = json.loads(RECORD.read_text())
    names = changed(record) if arguments.families == ["all"] else arguments.families
    for name in names:
        family = record["families"][name]
        family["digest"] = digest_of(family, record["shared"])
        if arguments.action == "record":
            family["version"] += 1
    if arguments.action == "waive" and names:
        record["waivers"].append(
            {"date": datetime.now(UTC).date().isoformat(), "families": names, "why": arguments.why}
        )
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
