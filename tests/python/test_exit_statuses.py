"""How the program ends: a table of command lines, exit statuses and first lines on standard error.

tests/golden/exit_statuses.txt holds it.
"""

import pytest

from command_lines import FEW, MANY, PROGRAM, run
from stored import hold, steady

pytestmark = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")

# A graph that breaks off: what walks it fails.
BROKEN = "--preset=smoke --benchmark_filter=model/bfs --axis=link=pcie3x16 --graph=file:FOLDER/broken.el"

GROUPS = {
    "what cannot be understood": [
        "--no-such-flag",
        "--list",
        "word",
        "''",
        "--preset=",
        "--preset=fast",
        "--ci-target=2",
        "--trials=0",
        "--benchmark_repetitions=0",
        "--max-time=soon",
        "--max-bytes=much",
        "--min-bytes=2MiB --max-bytes=1MiB",
        "--shard=3/2",
        "--shard=1/2000000000",
        "--gpu=first",
        "--env=xml",
        "--benchmark_format=xml",
        "--benchmark_color=red",
        "--benchmark_context=host",
        "--list --plan",
        "--plan --benchmark_list_tests",
    ],
    "flags of Google Benchmark that cannot be honoured": [
        "--benchmark_min_time=1",
        "--benchmark_min_warmup_time=1",
        "--benchmark_enable_random_interleaving",
        "--benchmark_perf_counters=CYCLES",
        "--benchmark_dry_run",
    ],
    "filters, and choices that are empty": [
        "--benchmark_filter=(",
        "--benchmark_filter=host/memcopy",
        "--benchmark_filter=host/memcpy --max-bytes=1KiB",
        "--benchmark_filter=transfer/memcpy --axis=bytes=3",
        "--benchmark_filter=transfer/local --axis=method=prefetch",
        "--benchmark_filter=host/memcpy/from_node:15/",
        "--benchmark_filter=h2d",
        "--benchmark_filter=host/memcpy/.*bytes:63MiB",
        "--explain=nothing",
    ],
    "words": [
        "ask",
        "ask --plan",
        "ask pined",
        "ask bfs pinned",
        "ask 1.5MiB",
        "ask h2d flush=on --axis=flush=off",
        "ask host memcpy 64KiB --axis=bytes=1MiB",
        "ask bfs kron16 urand",
        "ask bfs kron16 --graph=pgp",
        "ask bfs kron16 --axis=graph=pgp",
        "ask host memcpy 64MiB --max-bytes=1MiB",
        "--families=pined",
    ],
    "axes, graphs and transfers": [
        "--axis=bytes",
        "--axis=byts=4KiB",
        "--axis=flush=maybe",
        "--axis=bytes=4KiB,4KiB",
        "--axis=bytes=4KiB,4096",
        "--axis=bytes=4KiB --axis=bytes=8KiB",
        "--benchmark_filter=host/malloc --axis=flush=on",
        "--axis=batches=24,48",
        "--graph=none",
        "--graph=kron:99",
        "--graph=power,power",
        "--graph=power --axis=graph=pgp",
        "--axis=graph=file:nowhere.el --plan",
        "--features=table.npy",
        "--labels=labels.npy",
        "--train-ids=train.txt --graph=power,pgp",
        "--train-ids=none.txt --graph=power",
        "--hot-budget=0",
        "--gpu-memory=0",
        "--gpu-memory=16GiB,8GiB",
        "--transfer=nothing",
        "--transfer='host(pinned) -> gpu:0 by wind, 64KiB'",
        "--transfer='host(pinned) -> gpu:0 by copy_engine, 64KiB' --gpu=0",
        "--transfer='host(pinned) -> gpu:0 by copy_engine, 64KiB' --axis=bytes=4KiB",
        "graph",
        "graph describe",
        "graph describe none",
    ],
    "what the machine has not": [
        "--gpu=63",
        "--numa=4711",
        f"{FEW} --out=FOLDER/file/run",
        f"{FEW} --benchmark_out=FOLDER/none/out.json",
        f"{FEW} --graph-cache=FOLDER/file/graphs",
        "--help >/dev/full",
        "--plan >/dev/full",
    ],
    "runs": [
        f"{FEW}",
        f"{FEW} --out=FOLDER/run",
        f"{FEW} --out=FOLDER/run",
        "--resume=FOLDER/run",
        f"{MANY} --out=FOLDER/short --max-time=0.01",
        f"{MANY} --out=FOLDER/short",
        "--resume=FOLDER/short --preset=smoke",
        "--resume=FOLDER/short --plan",
        "--resume=FOLDER/short",
        "--resume=FOLDER/none",
        "--resume=FOLDER/cut",
        f"{BROKEN} --out=FOLDER/failed",
        "--resume=FOLDER/failed",
    ],
    "instead of a run": [
        "--help",
        "-h=all",
        "-hrun",
        "--version",
        "--env",
        "--env=json",
        "--families",
        f"--benchmark_list_tests {FEW}",
        f"--plan {FEW}",
        "--explain=host/flush",
        "graph describe power",
    ],
    "stopped by a signal": [
        f"{MANY} --out=FOLDER/interrupted # SIGINT",
        f"{MANY} --out=FOLDER/terminated # SIGTERM",
        f"{MANY} --out=FOLDER/killed # SIGKILL",
        "--resume=FOLDER/interrupted",
        "--resume=FOLDER/terminated",
        "--resume=FOLDER/killed",
    ],
}
# What this machine and this build say in their own words.
OWN = (
    (r"(there is no GPU \d+: ).*", r"\1…"),
    (r"(usable: ).*", r"\1…"),
    (r"leaves none of the \d+ that would", "leaves none of the N that would"),
    (r"values \d+ would", "values N would"),
    (r"grainscope: \d+ ok", "grainscope: N ok"),
)


def test_every_command_line_ends_with_its_status_and_first_line(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "broken.el").write_text("0 1\n1 2\nx y\n")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "journal.jsonl").write_text('{"fingerprint": {"comm')
    table = []
    for title, lines in GROUPS.items():
        table.append(f"# {title}")
        for line in lines:
            status, said = run(line, tmp_path)
            first = steady(said.partition("\n")[0], tmp_path, OWN)
            table.append(f"{line} → {status} → {first or '(nothing)'}")
        table.append("")
    hold("exit_statuses.txt", "\n".join(table[:-1]) + "\n")
