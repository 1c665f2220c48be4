"""A bundle: the raw file of a run with a manifest and check sums, to hand on; altered ones are refused.

A bundle is a folder, or such a folder packed as .tar.gz. `sha256sum -c SHA256SUMS` checks it without this
program. It guards against mishaps and edits of the file alone, not against somebody who makes sums anew.
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grainscope_report.errors import ReportError

FORMAT = "grainscope bundle 1"
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
GZIP = b"\x1f\x8b"  # how a file begins that was packed; what is in it counts, not its name
_TAR_AT = 257
_LONGEST = 1 << 32  # no result is so long


def files_of(raw: bytes, document: Mapping[str, Any], source: str) -> dict[str, bytes]:
    """The files of a bundle by name: the raw file as it is, what it is of, and the sums of both."""
    context = document["context"]
    name = f"result.json{'.gz' if raw.startswith(GZIP) else ''}"
    manifest = {
        "format": FORMAT,
        "file": name,
        "source": source,
        "bytes": len(raw),
        "sha256": _sum(raw),
        "run": context["run"]["id"],
        "started": context["run"]["started"],
        "host": context.get("host_name"),
        "grainscope": {key: context["grainscope"].get(key) for key in ("version", "commit")},
    }
    said = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    files = {name: raw, MANIFEST: said}
    sums = "".join(f"{_sum(content)}  {each}\n" for each, content in files.items())
    return files | {SUMS: sums.encode()}


def packed(files: Mapping[str, bytes], folder: str) -> bytes:
    """The bundle as .tar.gz, equal for equal files."""
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


def from_tar(path: Path, data: bytes) -> bytes:
    """The raw file of a packed bundle, once it is what its sums say."""
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


def is_folder(path: Path) -> bool:
    """Whether a folder is a bundle, or what is left of one."""
    manifest = path / MANIFEST
    return (path / SUMS).is_file() or (manifest.is_file() and FORMAT.encode() in manifest.read_bytes())


def from_folder(path: Path) -> bytes:
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
    if version != FORMAT:
        raise ReportError(
            f"{path} is a bundle of format {version!r}, not {FORMAT!r}: update grainscope-report"
        )
    raw = read(name)
    if raw is None:
        raise ReportError(f"{path} is no whole bundle ({name} is missing): get it again from its source")
    _unaltered(path, name, raw, wanted)
    return raw


def _unaltered(path: Path, name: str, content: bytes, wanted: Mapping[str, str]) -> None:
    if wanted.get(name) != _sum(content):
        raise ReportError(
            f"{path} was altered since it was bundled ({name} is not what {SUMS} says): "
            "get it again from its source"
        )


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
