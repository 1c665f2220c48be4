"""A family whose kernel or timed region changed has a new version, or a recorded reason why not."""

import json
import os
import re
import shutil
import subprocess

import pytest

import measured_code
from grainscope_report import families

RECORD = json.loads(measured_code.RECORD.read_text())
SOURCES = ("benchmarks", "include", "src")
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


def test_a_changed_option_of_the_compiler_is_seen(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/sum.cpp").write_text("s += x[i];")
    lists = tmp_path / "src/CMakeLists.txt"
    monkeypatch.setattr(measured_code, "ROOT", tmp_path)
    family = {"version": 1, "code": ["src/sum.cpp"], "digest": ""}
    record = {"shared": {}, "families": {"a/b": family}}

    def changes(text: str) -> list[str]:
        lists.write_text(text)
        return measured_code.changed(record)

    lists.write_text("add_library(sums sum.cpp other.cpp)\n")
    family["digest"] = measured_code.digest_of(family, {})
    assert changes("# -O1\nadd_library(sums sum.cpp)\ntarget_compile_options(sums PRIVATE -Wall)\n") == []
    assert changes("set_source_files_properties(other.cpp PROPERTIES COMPILE_OPTIONS -O1)\n") == []
    assert changes("set_source_files_properties(\n  sum.cpp\n  PROPERTIES COMPILE_OPTIONS -O1)\n") == ["a/b"]
    assert changes('target_compile_options(sums PRIVATE "$<1:-falign-loops=64>")\n') == ["a/b"]
    assert changes("add_compile_options(--fmad=false)\n") == ["a/b"]
    assert changes("add_compile_options(--use_fast_math)\n") == ["a/b"]
    assert changes('string(APPEND CMAKE_CXX_FLAGS " -DNDEBUG")\n') == ["a/b"]
    both = "add_compile_options(-O1)\nset_property(SOURCE sum.cpp APPEND PROPERTY COMPILE_OPTIONS {})\n"
    lists.write_text(both.format("-O3"))
    family["digest"] = measured_code.digest_of(family, {})
    assert changes(both.format("-O1")) == ["a/b"], "the last option counts"
    assert changes(both.format("-O3 -Wall")) == []


def test_options_of_the_compiler_are_those_of_the_build():
    assert "--fmad=false" in measured_code.options_of("src/lean/search.cu")
    assert "--fmad" not in measured_code.options_of("src/lean/ranks.cu")
    assert "-falign-loops=64" in measured_code.options_of("src/gnn/host_sage.cpp")
    assert "-O3" in measured_code.options_of("benchmarks/host/memory.cpp")
    assert "-O3" not in measured_code.options_of("benchmarks/traversal/traversal.cpp")


def test_a_part_of_a_source_has_what_it_uses_and_no_more():
    source = """
namespace a {
constexpr std::array<int, 2> kSteps[] = {{1, 2}};
std::function<void()> work_of(const char* of) { return of == "}" ? kSteps : 0; }
struct [[nodiscard]] Point {
  int used() const;
};
int Point::used() const { return 3; }
double measure_all(const Point& point) { return work_of("{")(); }
std::string explain() { return "timed"; }
Family point() { return measure_all; }
}  // namespace a
"""
    names = [measured_code.names_of(item) for item in measured_code.items_of(source)]
    assert names == [
        ["kSteps"],
        ["work_of"],
        ["Point"],
        ["Point", "used"],
        ["measure_all"],
        ["explain"],
        ["point"],
    ]
    part = measured_code.measured_part(source, "measure")
    assert [name in part for name in ("kSteps", "of ==", "used() const {", "measure_all")] == [True] * 4
    assert "timed" not in part
    assert "Family" not in part


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """The sources, to plant changes in."""
    root = tmp_path_factory.mktemp("planted")
    shutil.copy(measured_code.ROOT / "CMakeLists.txt", root)
    for folder in (*SOURCES, "cmake"):
        shutil.copytree(measured_code.ROOT / folder, root / folder)
    return root


PLANTED = [
    (
        "include/grainscope/core/cycle.hpp",
        "kMultiplier = 6364136223846793005",
        "kMultiplier = 5",
        "latency/chase",
    ),
    ("include/grainscope/core/operation.hpp", "operation.prepare();\n  return", "return", "host/memcpy"),
    (
        "include/grainscope/core/thread_team.hpp",
        "std::atomic<int> running_{0}",
        "std::atomic<int> running_{1}",
        "host/memcpy",
    ),
    ("include/grainscope/gnn/access.hpp", "kBlockThreads = 512", "kBlockThreads = 256", "gather"),
    ("include/grainscope/graph/access.hpp", "kPieceSteps = 8", "kPieceSteps = 4", "traversal"),
    (
        "include/grainscope/graph/access.hpp",
        "kAligned ? begin / boundary * boundary : begin",
        "begin",
        "traversal",
    ),
    ("include/grainscope/graph/access.hpp", "kTileWork = 2048", "kTileWork = 1024", "traversal"),
    ("include/grainscope/lean/lists.hpp", "kPieceElements = 256", "kPieceElements = 128", "lean"),
    ("include/grainscope/model/paging.hpp", "page != older_[ends_]", "true", "model/uvm"),
    ("include/grainscope/transfer/shape.hpp", "kMostRowCopies = 4096", "kMostRowCopies = 1", "shape/copy"),
    ("src/cuda/bulk.cuh", "kBulkUnit = 16", "kBulkUnit = 32", "transfer/kernel_copy"),
    (
        "src/graph/placed_graph.cpp",
        "cuda::Location::gpu(request().gpu)",
        "cuda::Location::host()",
        "traversal",
    ),
    ("src/transfer/lanes.hpp", "source.id != destination.id", "true", "transfer/peer"),
    ("src/transfer/mover.cpp", "lane().issue(stream);", ";", "transfer/host_copy"),
    (
        "benchmarks/gather/reach.cpp",
        "const double gather_s = gather_.run();",
        "double gather_s = 0;",
        "reach/gather",
    ),
    ("benchmarks/gnn/pipeline_case.cpp", "return *step++;", "return 2 * *step++;", "pipeline/graphsage"),
    (
        "benchmarks/gnn/sm_share.cpp",
        "constexpr std::size_t kRuns = 9",
        "constexpr std::size_t kRuns = 8",
        "sm_share/split",
    ),
    ("benchmarks/model/runs.cpp", "walk.misses() - before", "walk.misses()", "model/traversal"),
    ("benchmarks/traversal/trials.cpp", "return seconds;", "return 2 * seconds;", "traversal"),
]


@pytest.mark.parametrize(("path", "old", "new", "family"), PLANTED)
def test_a_planted_change_is_seen(scratch, monkeypatch, path, old, new, family):
    monkeypatch.setattr(measured_code, "ROOT", scratch)
    whole = (scratch / path).read_text()
    assert old in whole
    recorded = RECORD["families"][family]
    assert measured_code.digest_of(recorded, RECORD["shared"]) == recorded["digest"]
    (scratch / path).write_text(whole.replace(old, new, 1))
    try:
        assert measured_code.digest_of(recorded, RECORD["shared"]) != recorded["digest"]
    finally:
        (scratch / path).write_text(whole)


def measured_texts() -> dict[str, set[str]]:
    """By path what families' digests have of a file, whole or in parts."""
    texts: dict[str, set[str]] = {}
    for family in RECORD["families"].values():
        for name, text in measured_code.measured_in(family["code"], RECORD["shared"]).items():
            texts.setdefault(name.partition("#")[0], set()).add(text)
    return texts


def sources() -> dict[str, str]:
    """By path the project's C++ and CUDA files that are not plain."""
    files = (each for folder in SOURCES for each in (measured_code.ROOT / folder).rglob("*.[ch]*"))
    texts = {str(each.relative_to(measured_code.ROOT)): each.read_text() for each in files}
    return {path: text for path, text in texts.items() if not measured_code.is_plain(path)}


def test_what_runs_on_a_gpu_is_a_familys():
    kernels = {
        path for path, text in sources().items() if path.endswith((".cu", ".cuh")) or "__device__" in text
    }
    headers = measured_code.headers_of(measured_code.ROOT / path for path in kernels)
    found = kernels | {str(each.relative_to(measured_code.ROOT)) for each in headers}
    assert sorted(found - set(measured_texts())) == []


def test_what_reads_a_clock_or_is_sampled_is_a_familys():
    code = re.compile(r"steady_now_s\(\)|steady_clock::now|: public Operation\b|\bLocalOperation \w+\(")
    measured = measured_texts()
    unseen = [
        (path, measured_code.names_of(item))
        for path, text in sources().items()
        if code.search(text)
        for item in measured_code.items_of(text)
        if code.search(item) and not any(text == seen or item in seen for seen in measured.get(path, ()))
    ]
    assert unseen == []


def test_what_is_plain_is_there():
    for pattern in measured_code.PLAIN:
        assert list(measured_code.ROOT.glob(pattern)), f"{pattern} names no file"


def test_nothing_is_named_twice():
    for name, patterns in [
        *RECORD["shared"].items(),
        *((n, f["code"]) for n, f in RECORD["families"].items()),
    ]:
        assert len(set(patterns)) == len(patterns), name


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_versions_are_the_programs_and_every_family_has_a_record():
    said = subprocess.run([PROGRAM, "--families=json"], check=True, capture_output=True, text=True)
    versions = {family["name"]: family["version"] for family in json.loads(said.stdout)}
    assert {name: family["version"] for name, family in RECORD["families"].items()} == versions
    for family in json.loads(said.stdout):
        versions |= family["versions"]
    for name, until in families.TYPE_B_UNTIL.items():
        assert until <= versions[name], "type B would stand for what no program measures yet"
