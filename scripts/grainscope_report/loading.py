"""From a path to parsed JSON of a known schema version; what it means is the reader's. Version 1 is read as
version 2: what is called otherwise, and its rows of one case as visits.

What is off the format stays so, for the reader to tell.

Whatever is wrong with a file becomes one `ReportError`: the file, what was found, what to do. A bundle holds
the raw file of a run with a manifest and check sums, as a folder or packed as .tar.gz; an altered one is
refused. `sha256sum -c SHA256SUMS` checks it without this program. It guards against mishaps and edits of the
file alone, not against somebody who makes sums anew.
"""

import gc
import gzip
import hashlib
import io
import json
import math
import os
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grainscope_report import uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.model import SCHEMA_VERSION
from grainscope_report.units import plural
from grainscope_report.writing import json_text

# Version 1 of the format.

Raw = dict[str, Any]

# By where it stands, what version 1 calls by other names; what has none in version 2 goes.
NAMES: Mapping[str, Mapping[str, str | None]] = {
    "context": {"family_versions": None},
    "link": {"ci95_gb_s": "within_gb_s"},
    "row": {
        "link_bytes": "link_bytes_least",
        "repetitions": None,
        "repetition_index": None,
        "dropped_samples": None,
        "dropped_median_s": None,
    },
    "visit": {"ci95_s": "within_s", "session_s": "visit_s"},
    "lane": {"ci95_s": "within_s"},
}
# What a row of version 1 says of its visit.
OF_VISIT = dict.fromkeys(("samples_s", "ci95_s", "session_s", "cpu_s", "preemptions", "stolen_s"))


def upgrade(document: Raw) -> Raw:
    """A document of version 1 as one of version 2."""
    old, rows = document["context"], document["benchmarks"]
    context = _renamed("context", old) | {"schema_version": 2}
    context |= _each(old, "links", lambda link: _renamed("link", link))
    versions = old.get("family_versions")
    made = [_row(case, versions if isinstance(versions, dict) else {}) for case in _cases(rows)]
    if isinstance(run := old.get("run"), dict):
        context["run"] = run | {"visits": _asked(rows)} | _counts(run, rows, made)
    upgraded = document | {"context": context, "benchmarks": made}
    try:
        table = uncertainty.at_hand()
        uncertainty.apply(made, context, table)
        context |= {"type_b": said} if (said := table.summary(context)) else {}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass  # Nothing can be reckoned with what is off the format.
    return upgraded


def _asked(rows: list[Any]) -> int:
    """How often the run was to come to each case."""
    told = [row.get("repetitions") for row in rows if isinstance(row, dict)]
    return max((count for count in told if type(count) is int), default=0) or 1


def _counts(run: Raw, rows: list[Any], made: list[Any]) -> Raw:
    """Rows by status, now one a case; what did not fit before does not now."""
    if not isinstance(counts := run.get("counts"), dict):
        return {}
    before, now = (Counter(map(_status, each)) for each in (rows, made))
    fixed = {
        status: count - before[status] + now[status] if type(count) is int else count
        for status, count in counts.items()
    }
    return {"counts": fixed}


def _renamed(where: str, thing: Any) -> Any:
    """A thing by the names of version 2."""
    if not isinstance(thing, dict):
        return thing
    now = NAMES[where].get
    found = {now(name, name): value for name, value in thing.items()}
    for name in (None, ""):
        found.pop(name, None)
    return found


def _each(thing: Mapping[str, Any], name: str, made: Callable[[Any], Any]) -> Raw:
    """A list of a thing, made anew; nothing where there is none."""
    there = thing.get(name)
    return {name: [made(one) for one in there]} if isinstance(there, list) else {}


def _cases(rows: list[Any]) -> list[list[Any]]:
    """The rows of each case, one a visit; a visit that is there twice begins another."""
    cases: dict[Any, list[Any]] = {}
    seen: set[tuple[Any, Any]] = set()
    for at, row in enumerate(rows):
        told = isinstance(row, dict) and isinstance(row.get("name"), str)
        name, visit = (row["name"], str(row.get("repetition_index"))) if told else (at, None)
        cases.setdefault((name, at) if (name, visit) in seen else (name, None), []).append(row)
        seen.add((name, visit))
    return list(cases.values())


def _row(rows: list[Any], versions: Mapping[str, Any]) -> Any:
    """The row of a case: of its first visit that failed, else of the middle one of those that are right."""
    if not isinstance(rows[0], dict):
        return rows[0]
    failed = [row for row in rows if _status(row) not in ("ok", "skipped")]
    shown = failed[:1] or [row for row in rows if _status(row) == "ok"] or rows[:1]
    medians = [row.get("median_s") for row in shown]
    told = all(type(median) in (int, float) for median in medians)
    middle = uncertainty.middle_visit(medians) if told else 0
    row = {name: value for name, value in shown[middle].items() if name not in OF_VISIT}
    if (
        told
        and row.get("label") != "modelled"
        and (visits := [_visit(one) for one in shown if one.get("samples_s")])
    ):
        row |= {"visits": visits, "middle": middle}
    if row.get("status") != "ok" and len(rows) > 1:
        of = f"in visit {_visit_number(row)} of {row.get('repetitions', len(rows))}: "
        row["reason"] = f"{of}{row.get('reason', '')}"
    if isinstance(case := row.get("case"), dict):
        row["case"] = case | {"version": versions.get(str(case.get("family")), 1)}
    return _renamed("row", row) | _each(row, "lanes", lambda lane: _renamed("lane", lane))


def _visit(row: Raw) -> Raw:
    """What a row says of its visit; of trials, which differ, there is no interval within it."""
    there = {name: row[name] for name in (*OF_VISIT, "median_s") if name in row}
    if "trials" in row:
        there.pop("ci95_s", None)
    return {"round": _visit_number(row)} | _renamed("visit", there)


def _status(row: Any) -> str:
    return str(row.get("status")) if isinstance(row, dict) else ""


def _visit_number(row: Raw) -> Any:
    index = row.get("repetition_index", 0)
    return index + 1 if type(index) is int else index


BUNDLE_FORMAT = "grainscope bundle 1"
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
GZIP = b"\x1f\x8b"  # how a file begins that was packed; what is in it counts, not its name
_TAR_AT = 257
_LONGEST = 1 << 32  # no result is so long
JOURNAL = "journal.jsonl"
RESULT = "result.json"
RESULTS = (RESULT, f"{RESULT}.gz")
FILES = (".json", ".json.gz", ".tar.gz", ".tgz")  # as which a run lies in a folder of several
DIGEST = '{"context":'  # how a digest begins, whose first line is not all of it
LONG = 30  # digits that a message need not repeat
# A double ends at 1.8e308: only what has such a number may, of all digits made zeros and without a plus.
# In a text, as a GPU's identifier, more letters or a quote may follow.
_ZEROS = bytes.maketrans(b"123456789ED", b"000000000ed")
_POWER = b"e000"
_GREAT_POWER = re.compile(rb'0e000+(?![\w"-])')
_MANY_DIGITS = b"0" * 300


def load(path: str | Path, *, foreign: bool = False) -> tuple[Path, dict[str, Any]]:
    """Parses a file as JSON of the schema version that is read; its structure is not looked at yet.

    What an older version calls otherwise gets the names of today. Where `foreign`, Google Benchmark's own
    JSON is taken, too.
    """
    found = locate(Path(path))
    return found, _document(found, text(found), foreign)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Reading makes millions of objects and no cycles: looking for these takes up to a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def document_of(path: Path, data: bytes) -> dict[str, Any]:
    """The same of what was read already; `path` is what to call it."""
    return _document(path, _decoded(path, data, f"a {RESULT}"), False)


def _document(found: Path, content: str, foreign: bool) -> dict[str, Any]:
    if content.startswith(DIGEST) and '"digest":' in content[: content.find("\n")]:
        raise ReportError(f"{found} is a digest, which `fleet` reads: give the {RESULT} of its run")
    document = _parse(found, content)
    if (
        not isinstance(document, dict)
        or not isinstance(document.get("benchmarks"), list)
        or (not isinstance(document.get("context"), dict))
    ):
        raise ReportError(
            f"{found} is JSON but no GrainScope result (it has no `context` and `benchmarks`): "
            f"give the {RESULT} that `grainscope --out DIR` wrote"
        )
    if not (foreign and is_foreign(document)):
        document = _of_this_version(found, document)
    return document


def load_environment(path: Path) -> dict[str, Any]:
    """The context of a result file, GrainScope's or Google Benchmark's, or of a machine report by itself."""
    found = locate(path)
    document = _parse(found, text(found))
    if isinstance(document, dict) and isinstance(context := document.get("context"), dict):
        if "schema_version" not in context:
            return context
        _require_version(found, context["schema_version"])
        renamed = _renamed("context", context) | _each(context, "links", lambda link: _renamed("link", link))
        return context if context["schema_version"] == SCHEMA_VERSION else renamed
    if isinstance(document, dict) and {"cpu", "gpus", "driver"} <= document.keys():
        return {"environment": document}
    raise ReportError(
        f"{found} says nothing of a machine: give a {RESULT} or what `grainscope --env json` printed"
    )


def is_foreign(document: Mapping[str, Any]) -> bool:
    """Whether it is Google Benchmark's JSON without what GrainScope adds."""
    return "schema_version" not in document["context"]


def locate(path: Path) -> Path:
    """The result file meant by `path`, which may be a run directory; a bundle's folder is itself."""
    with _readable(path):
        return _located(path)


def runs_in(path: Path) -> list[Path]:
    """The file or run directory itself, or what runs a folder of repeated ones holds, packed or not.

    A run there is a run directory, a bundle or a file by its name; one that cannot be read is refused when it
    is read.
    """
    with _readable(path):
        if not path.is_dir() or is_run(path):
            return [path]
        return sorted(
            each for each in path.iterdir() if (is_run(each) if each.is_dir() else each.name.endswith(FILES))
        ) or [path]


def is_run(folder: Path) -> bool:
    """Whether a folder is that of one run, be it unfinished, packed or a bundle."""
    return is_bundle(folder) or any((folder / name).is_file() for name in (*RESULTS, JOURNAL))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}): check the path") from None


def _located(path: Path) -> Path:
    if path.is_dir() and is_bundle(path):
        return path
    if path.is_dir():
        if result := _result_in(path):
            return result
        if (path / JOURNAL).is_file():
            raise ReportError(_unfinished(path))
        raise ReportError(
            f"{path} is a directory without {RESULT}: give the directory of a run (`--out DIR`)"
        )
    if path.name == JOURNAL and path.is_file():
        if result := _result_in(path.parent):
            raise ReportError(f"{path} is the journal of a finished run: give {result}")
        raise ReportError(_unfinished(path.parent))
    return path


def _result_in(folder: Path) -> Path | None:
    return next((folder / name for name in RESULTS if (folder / name).is_file()), None)


def _unfinished(directory: Path) -> str:
    with (directory / JOURNAL).open("rb") as journal:
        cases = sum(line.startswith(b'{"rows":') and line.endswith(b"\n") for line in journal)
    return (
        f"{directory} holds an unfinished run ({JOURNAL} with "
        f"{plural(cases, 'finished case')}, no {RESULT}): finish it with "
        f"`grainscope --resume {quoted(directory)}`"
    )


def quoted(path: Path | str) -> str:
    """A path as it stands in a command that can be pasted; one that begins as a flag does is none."""
    said = str(path)
    return shlex.quote(f"./{said}" if said.startswith("-") else said)


def raw(path: Path) -> bytes:
    """What is in a located file; of a bundle in a folder its raw file, once it is found unaltered."""
    if path.is_dir():
        return raw_of_bundle(path)
    if is_bundle(path.parent) and path.name.startswith(RESULT):
        return raw_of_bundle(path.parent)
    return path.read_bytes()


def text(path: Path, wanted: str = f"a {RESULT}") -> str:
    """The text of a file, unpacked where it is packed; `wanted` is what to give where it cannot be read."""
    try:
        if path.is_char_device() and str(path) != os.devnull:
            raise ReportError(f"{path} is a device, which may never end: give {wanted}")
        data = raw(path)
    except FileNotFoundError:
        also = " or the directory of a run" if RESULT in wanted else ""
        raise ReportError(f"{path} does not exist: give {wanted}{also}") from None
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}): check its permissions") from None
    except ValueError as error:
        raise ReportError(f"{str(path)!r} is no path ({error}): give {wanted}") from None
    return _decoded(path, data, wanted)


def _decoded(path: Path, data: bytes, wanted: str) -> str:
    if data.startswith(GZIP):
        data = _unpacked(path, data)
    if is_tar(data):
        data = raw_of_tar(path, data)
        data = _unpacked(path, data) if data.startswith(GZIP) else data
    if not data.strip():
        raise ReportError(f"{path} is empty: the run wrote nothing there; run it again or resume it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) - error.start < 4 and data.lstrip().startswith(b"{"):
            raise ReportError(_cut(path, len(data))) from None
        raise ReportError(f"{path} is not text (byte {error.start} is no UTF-8): give {wanted}") from None


def _unpacked(path: Path, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise ReportError(f"{path} is cut off after {len(data)} bytes: copy it again") from None
    except (OSError, zlib.error) as error:
        raise ReportError(f"{path} was packed by gzip and is damaged ({error}): copy it again") from None


def _cut(path: Path, size: int) -> str:
    return (
        f"{path} is cut off after {size} bytes: copy it again, or if the run was killed "
        "finish it with `grainscope --resume DIR`"
    )


def _parse(path: Path, content: str) -> Any:
    def constant(name: str) -> float:
        said = name if len(name) < LONG else f"{name[: LONG - 1]}…"
        raise ReportError(
            f"{path} holds {said}, which is no JSON number: it was not written by grainscope or was edited; "
            "run the benchmark again"
        )

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            said = json.dumps(twice if len(twice) < LONG else f"{twice[: LONG - 1]}…", ensure_ascii=False)
            raise ReportError(
                f"{path} has the key {said} twice in one object, so which value counts is unknown: "
                "it was not written by grainscope or was edited; run the benchmark again"
            )
        return made

    def number(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else constant(digits)

    def whole(digits: str) -> int:
        number(digits)
        return int(digits)

    try:
        # To look at each number takes as long as all the rest.
        zeros = content.encode().translate(_ZEROS, b"+")
        careful = _MANY_DIGITS in zeros or _has_great_power(zeros)
        found = json.loads(
            content,
            object_pairs_hook=members,
            parse_constant=constant,
            parse_float=number if careful else None,
            parse_int=whole if careful else None,
        )
        if "\\" in content and b"\\ud" in zeros:
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except json.JSONDecodeError as error:
        left = content.rstrip()[error.pos :]
        if "\n" not in left and (len(left) <= 8 or error.msg.startswith("Unterminated")):
            raise ReportError(_cut(path, len(content.encode()))) from None
        raise ReportError(
            f"{path} is not JSON (line {error.lineno}, column {error.colno}: {error.msg}): give a {RESULT}"
        ) from None
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.start + 1].encode("ascii", "backslashreplace").decode()
        raise ReportError(
            f"{path} holds {half}, half a character: it was not written by grainscope or was edited; "
            "run the benchmark again"
        ) from None
    except (RecursionError, ValueError) as error:
        raise ReportError(f"{path} is no result file ({error}): give a {RESULT}") from None


def _has_great_power(zeros: bytes) -> bool:
    at = len(zeros)
    # From behind, where it looks for the letter first: digits are most of what there is.
    while (at := zeros.rfind(_POWER, 0, at)) > 0:
        if _GREAT_POWER.match(zeros, at - 1):
            return True
    return False


def _of_this_version(path: Path, document: dict[str, Any]) -> dict[str, Any]:
    version = document["context"].get("schema_version")
    if version is None:
        raise ReportError(
            f"{path} is Google Benchmark's JSON but not GrainScope's (no `context.schema_version`): "
            f"read it with Google Benchmark's compare.py, or give a {RESULT} that grainscope wrote"
        )
    _require_version(path, version)
    return upgrade(document) if version < SCHEMA_VERSION else document


def _require_version(path: Path, version: Any) -> None:
    if type(version) is not int or version < 1:
        raise ReportError(
            f"{path} has schema_version {json.dumps(version)}, which is no version: "
            "it was not written by grainscope or was edited; run the benchmark again"
        )
    if version > SCHEMA_VERSION:
        raise ReportError(
            f"{path} has schema version {version} and this grainscope-report reads up to {SCHEMA_VERSION}: "
            "update grainscope-report"
        )


def bundle_files(raw: bytes, document: Mapping[str, Any], source: str) -> dict[str, bytes]:
    """The files of a bundle by name: the raw file as it is, what it is of, and the sums of both."""
    context = document["context"]
    name = f"result.json{'.gz' if raw.startswith(GZIP) else ''}"
    manifest = {
        "format": BUNDLE_FORMAT,
        "file": name,
        "source": source,
        "bytes": len(raw),
        "sha256": _sha256(raw),
        "run": context["run"]["id"],
        "started": context["run"]["started"],
        "host": context.get("host_name"),
        "grainscope": {key: context["grainscope"].get(key) for key in ("version", "commit")},
    }
    said = f"{json_text(manifest)}\n".encode()
    files = {name: raw, MANIFEST: said}
    sums = "".join(f"{_sha256(content)}  {each}\n" for each, content in files.items())
    return files | {SUMS: sums.encode()}


def packed_bundle(files: Mapping[str, bytes], folder: str) -> bytes:
    """The bundle as .tar.gz, equal for equal files."""
    import tarfile  # reading it takes longer than most of what is not packed so

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(out.getvalue(), mtime=0)


def is_tar(data: bytes) -> bool:
    """Whether what was unpacked is an archive."""
    return data[_TAR_AT : _TAR_AT + 5] == b"ustar"


def raw_of_tar(path: Path, data: bytes) -> bytes:
    """The raw file of a packed bundle, once it is what its sums say."""
    import tarfile

    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = {
                Path(entry.name).name: archive.extractfile(entry).read()
                for entry in archive.getmembers()
                if entry.isfile() and entry.size < _LONGEST
            }
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ReportError(f"{path} is a damaged archive ({error}): copy it again") from None
    return _checked(path, files.get)


def is_bundle(path: Path) -> bool:
    """Whether a folder is a bundle, or what is left of one."""
    manifest = path / MANIFEST
    return (path / SUMS).is_file() or (manifest.is_file() and BUNDLE_FORMAT.encode() in manifest.read_bytes())


def raw_of_bundle(path: Path) -> bytes:
    """The raw file of a bundle in a folder, once it is what its sums say."""

    def read(name: str) -> bytes | None:
        there = path / name
        return there.read_bytes() if there.is_file() else None

    return _checked(path, read)


def _checked(path: Path, read: Callable[[str], bytes | None]) -> bytes:
    """The raw file, held against manifest and sums."""
    sums, said = read(SUMS), read(MANIFEST)
    if sums is None or said is None:
        lacking = SUMS if sums is None else MANIFEST
        raise ReportError(f"{path} is no whole bundle ({lacking} is missing): get it again from its source")
    wanted = {line[66:]: line[:64] for line in sums.decode(errors="replace").splitlines()}
    _unaltered(path, MANIFEST, said, wanted)
    try:
        manifest = json.loads(said)
        version, name = manifest["format"], Path(manifest["file"]).name
    except (LookupError, TypeError, ValueError):
        raise ReportError(f"{path} has no manifest of a bundle: get it again from its source") from None
    if version != BUNDLE_FORMAT:
        raise ReportError(
            f"{path} is a bundle of format {version!r}, not {BUNDLE_FORMAT!r}: update grainscope-report"
        )
    raw = read(name)
    if raw is None:
        raise ReportError(f"{path} is no whole bundle ({name} is missing): get it again from its source")
    _unaltered(path, name, raw, wanted)
    return raw


def _unaltered(path: Path, name: str, content: bytes, wanted: Mapping[str, str]) -> None:
    if wanted.get(name) != _sha256(content):
        raise ReportError(
            f"{path} was altered since it was bundled ({name} is not what {SUMS} says): "
            "get it again from its source"
        )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
