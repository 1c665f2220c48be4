"""A stand-in for the program: lists, plans, runs and resumes like it, with planted times and facts."""

import json
import random
import re
import sys
from pathlib import Path

from synthetic import File, case_name

SITE = {"gpu": 0, "numa": 0}
# Family → (cases, seconds of the first, clock, gated, noise of a row in a run)
FAMILIES = {
    "transfer/memcpy": (40, 1e-5, "event", True, 0.002),
    "contention": (10, 1e-3, "event", True, 0.002),
    "call": (20, 1e-6, "steady", False, 0.02),
    "model/bfs": (4, 1e-3, "steady", False, 0.0),
}
NEEDS_TWO = "needs two GPUs; this machine has one"


def make(path: Path, **settings) -> Path:
    """Writes a program that behaves by these settings (see `main` and `_row`)."""
    path.write_text(
        f"#!{sys.executable} -SE\nimport sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport fake_grainscope\n"
        f"sys.exit(fake_grainscope.main(sys.argv[1:], {settings!r}, {str(path)!r}))\n"
    )
    path.chmod(0o755)
    return path


def calls(program: Path) -> list[str]:
    """The runs of a program, in order: how it was started, and its folder's name."""
    log = program.with_suffix(".calls")
    return log.read_text().splitlines() if log.exists() else []


def main(argv: list[str], settings: dict, path: str) -> int:
    """The program. Settings: `uuid`, `extra` (a family with one case more), `reason`, `stop` (a step)."""
    flags = dict(word.split("=", 1) for word in argv if "=" in word)
    flags |= {word: argv[at + 1] for at, word in enumerate(argv[:-1]) if "=" not in word}
    if "--env" in argv:
        print(json.dumps(_file(settings).context["environment"]))
    elif "--version" in argv:
        print("grainscope 0.1.0")
    elif "--benchmark_list_tests" in argv:
        try:
            re.compile(flags.get("--benchmark_filter", ""))
        except re.error as error:
            print(f"grainscope: {error}", file=sys.stderr)
            return 2
        print("\n".join(case_name(*case) for case in _cases(settings)))
    elif "--plan" in argv:
        print(f"{'family':24} {'cases':>6}  {'about':>12}  {'host':>10}  {'GPU':>10}")
        for family, (count, *_) in {**FAMILIES, "all": (74,)}.items():
            print(f"{family:24} {count:6}  {'1 s':>12}  {'1 MiB':>10}  {'1 MiB':>10}")
        print(f"\nskipped, transfer/peer, 1 cases: {settings.get('reason', NEEDS_TWO)}\n  transfer/peer/copy")
    else:
        return _run(flags, settings, Path(path))
    return 0


def _run(flags: dict, settings: dict, program: Path) -> int:
    resumed = "--resume" in flags
    out = Path(flags.get("--resume") or flags["--out"])
    out.mkdir(exist_ok=resumed)
    with program.with_suffix(".calls").open("a") as log:
        print("resume" if resumed else "out", out.name, file=log)
    asked = out / "journal.jsonl"
    if not resumed:
        asked.write_text(json.dumps(flags) + "\n")
    flags = json.loads(asked.read_text())
    kept = [case for case in _cases(settings) if re.search(flags["--benchmark_filter"], case_name(*case))]
    index, count = map(int, flags.get("--shard", "1/1").split("/"))
    file = _file(settings)
    file.context["run"]["complete"] = resumed or settings.get("stop") != out.name
    for case in kept[index - 1 :: count]:
        _row(file, case, settings, out.name)
    file.lose("skipped", settings.get("reason", NEEDS_TWO), "transfer/peer", {"method": "copy"}, SITE)
    file.write(out / "result.json")
    return 0


def _row(file: File, case: tuple, settings: dict, step: str) -> None:
    """`slow` (expression → factor), `disturbed` (the same, not when run again), `verified` (step → words),
    `fails` (an expression), `fails_again` (the same, when run again), `varies` (a family whose requests do),
    `quiet` (an expression for steps whose CPUs had no neighbour), `peak`: a model's number by run."""
    family, axes, site = case
    _, first, clock, gated, noise = FAMILIES[family]
    name = case_name(*case)
    chance = random.Random(f"{step} {name} {settings.get('seed')}")
    planted = settings.get("slow", {}) | ({} if "again" in step else settings.get("disturbed", {}))
    factor = [value for pattern, value in planted.items() if re.search(pattern, name)]
    seconds = first * axes["bytes"] * (factor[0] if factor else 1.0) * (1 + chance.gauss(0, noise))
    fails = settings.get("fails_again" if "again" in step else "fails", "^$")
    if re.search(fails, name):
        file.lose("failed", "the copy came back wrong", family, axes, site)
        return
    row = file.add(family, axes, site, seconds)
    row["timing"] = {"clock": clock, "gated": gated, "timed": "copy"}
    if clock == "steady" and "model" not in step and re.search(settings.get("quiet", "^$"), step):
        row["timing"]["quiet"] = True
    row["verification"] = next(
        (words for pattern, words in settings.get("verified", {}).items() if re.search(pattern, step)),
        "every byte",
    )
    row["traffic"] = {
        "label": "modelled",
        "requests": 9 + chance.randrange(10**6) * (settings.get("varies") == family),
    }
    row["visits"][0]["visit_s"] = chance.random()
    if family.startswith("model/"):
        row["label"] = "modelled"
        del row["visits"], row["middle"]
        row["counters"] = {"bytes_s": seconds * (1 + chance.random() * settings.get("peak", 0))}


def _cases(settings: dict) -> list[tuple]:
    return [
        (family, {"what": "copy", "bytes": 1 + at}, SITE)
        for family, (count, *_) in FAMILIES.items()
        for at in range(count + (settings.get("extra") == family))
    ]


def _file(settings: dict) -> File:
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.context["environment"]["gpus"][0]["uuid"] = settings.get("uuid", "GPU-1")
    return file
