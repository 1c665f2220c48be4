"""Which code makes each family's numbers, and whether it changed since its version was recorded.

tests/golden/measured_code.json has for each family its version, the files of its kernels and timed regions,
and a digest of their code without comments and blanks. After a change:

  python3 tests/python/measured_code.py record FAMILY…                  the family's version was raised
  python3 tests/python/measured_code.py waive FAMILY… --why "…"        what is measured did not change

`all` stands for every family whose code changed.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = ROOT / "tests/golden/measured_code.json"
_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def code_of(text: str) -> str:
    """Source without comments and blanks, which measure nothing."""
    kept = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return re.sub(r"\s+", "", kept)


def functions_of(text: str, begins: str) -> str:
    """The functions of a source whose names begin so, of those that stand at the left margin."""
    found = re.findall(rf"^\w[^\n;]*\b{begins}\w*\(.*?^}}", text, re.DOTALL | re.MULTILINE)
    return "\n".join(found)


def measured_in(patterns: Iterable[str], shared: dict[str, list[str]]) -> dict[str, str]:
    """By name the code of files that patterns name, and of shared parts that they name by @.

    `file#measure` takes the functions alone whose names begin with `measure`: a family's file lists its
    cases, too.
    """
    code: dict[str, str] = {}
    for pattern in patterns:
        if pattern.startswith("@"):
            code |= measured_in(shared[pattern[1:]], shared)
            continue
        path, _, begins = pattern.partition("#")
        found = {str(each.relative_to(ROOT)): each.read_text() for each in ROOT.glob(path)}
        if begins:
            found = {f"{name}#{begins}": functions_of(text, begins) for name, text in found.items()}
        if not any(found.values()):
            raise SystemExit(f"{RECORD.name} names {pattern}, and there is no such code")
        code |= found
    return code


def digest_of(family: dict, shared: dict[str, list[str]]) -> str:
    """The digest of a family's measured code as it is now."""
    digest = hashlib.sha256()
    for _, text in sorted(measured_in(family["code"], shared).items()):
        digest.update(code_of(text).encode())
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
