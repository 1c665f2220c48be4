"""Rows of training pipelines, and whole machines that ran all of graph neural networks."""

import math

from synthetic import File
from synthetic_gnn import SITE, add_gathers, add_model_gathers, add_scores, add_shares, add_tiers

STORES = {"cpu_gather_dma": "pinned", "cpu_only": "pageable", "device": "device", "tiered": "tiered"}
# Milliseconds of gathering 200,000 rows of 512 bytes, by method.
GATHERS = {"cpu_gather_dma": 9.8, "naive": 3.4, "circular_shift": 2.9, "masked": 2.2, "address_ordered": 2.1,
           "tiered": 0.7, "device": 0.12}  # fmt: skip
SAMPLE, TRAIN = 0.6e-3, 1.9e-3
BYTES = 200_000 * 512


STEPS = 12


def timeline(
    stages: list[float], *, window: int = 1, gpus: int = 1, cpu: bool = False, at_once: bool = True
) -> list[dict]:
    """When stages of these seconds work in a pipeline: three sets of lists and two buffers take turns.

    Of a `window` sampling and gathering take several mini-batches together. Unless `at_once`, one stage
    follows another; `cpu` names no GPU.
    """
    lanes = ("sampling", "gathering", "training")
    ends: dict[str, list[float]] = {lane: [0.0] for lane in lanes}
    begins: dict[str, list[float]] = {lane: [] for lane in lanes}

    def take(lane: str, seconds: float, *after: float) -> None:
        begins[lane].append(max(ends[lane][-1], *after))
        ends[lane].append(begins[lane][-1] + seconds)

    def trained(windows: int) -> float:
        return ends["training"][max(0, windows) * window]

    for at in range(STEPS // window):
        take("sampling", stages[0] * window, trained(at - 2) if at_once else trained(at))
        take("gathering", stages[1] * window, ends["sampling"][-1], trained(at - 1))
        for _ in range(window):
            take("training", stages[2], ends["gathering"][-1])
    one = [{"lane": lane, "begin_s": begins[lane], "end_s": ends[lane][1:]} for lane in lanes]
    return one if cpu else [stage | {"gpu": gpu} for gpu in range(gpus) for stage in one]


def add_pipeline(
    file: File,
    method: str,
    *,
    graph: str = "pareto22",
    row: int = 512,
    hot: float = 0,
    gpus: int = 1,
    gather_s: float | None = None,
    axes: dict | None = None,
    **more,
) -> dict:
    """A training whose stages overlap but for a tenth of what they could."""
    mode = "masked" if method in ("tiered", "device") else method
    named = axes or {}
    axes = {"mode": mode, "store": STORES.get(method, "mapped"), "locality": "local", "graph": graph,
            "fanout": "10x25", "batch": 1000, "row": row, "hidden": 256, "gpus": gpus}  # fmt: skip
    if method == "tiered":
        axes["hot"] = hot
    axes |= named
    stages = [SAMPLE, gather_s or GATHERS.get(method, 0) * 1e-3 * row / 512, TRAIN]
    if method == "cpu_only":
        stages, axes["mode"] = [SAMPLE, 4e-3 * row / 512, 21e-3], "cpu_only"
    total, slowest = sum(stages), max(stages)
    overlap = 0.0 if method == "cpu_only" else 0.9
    seconds = total - overlap * (total - slowest)
    saved = {"tiered": 1 - 0.2 * max(0.1, 1 - hot / 30), "device": 1.0, "cpu_only": 1.0}.get(method, 0.0)
    crossed = BYTES * row // 512 * (1 - saved)
    counters = dict(zip(("sample_s", "gather_s", "train_s"), stages, strict=True)) | {
        "p99_batch_s": seconds * 1.2,
        "overlap": overlap,
        "gpu_bytes": 4e8 + hot * 2e7,
        "cpu_s": seconds * (8 if "cpu" in method else 1),
        "loss_first": 2.3,
        "loss_last": 0.9,
        "link_bytes": float(round(crossed)),
        "epoch_batches": 419.0,
        "prepare_s": 1.5,
    }
    if method == "tiered":
        counters["fill_s"] = hot / 100 * (1 << 22) * row / 50e9
    site = {"numa": 0} if method == "cpu_only" else SITE
    how = {"cpu": method == "cpu_only", "at_once": method != "cpu_only" and axes.get("bounded") != "off"}
    more.setdefault("timeline", timeline(stages, window=int(axes.get("window", 1)), gpus=gpus, **how))
    return file.add("pipeline/graphsage", axes, site, seconds, counters=counters, **more)


def add_processes(file: File, percent: float) -> dict:
    """A training by two processes: the one that gathers has so many percent of 132 multiprocessors."""
    axes = {"processes": "mps", "percent": f"{percent:g}"}
    row = add_pipeline(file, "masked", gather_s=2.2e-3 * max(1.0, 9 / percent), axes=axes, bytes=BYTES)
    row.pop("link_fraction", None)
    given = 2 * math.ceil(0.66 * percent)
    counters = row["counters"]
    beside = {"gather": 1.04 * counters["gather_s"], "train": counters["train_s"] * 132 / (132 - given)}
    alone = {"gather": 2.1e-3, "train": TRAIN}
    for side in beside:
        counters[f"{side}_beside_s"], counters[f"{side}_alone_s"] = beside[side], alone[side]
        counters[f"{side}_slowdown"] = beside[side] / alone[side]
    counters |= {
        "gather_gb_s": BYTES / beside["gather"] / 1e9,
        "asked_sms": float(math.ceil(1.32 * percent)),
        "given_sms": float(given),
        "seen_sms": float(given),
        "rest_sms": 132.0 - given,
        "available_sms": 132.0,
        "given_share": given / 132,
    }
    return row


def add_training(file: File) -> None:
    """Every method, hot shares, sizes of rows, two GPUs."""
    for graph in ("pareto22", "kron22"):
        for method in ("cpu_only", *GATHERS):
            if method != "tiered":
                add_pipeline(file, method, graph=graph)
    for percent in (2.5, 5, 10, 15, 25, 50):
        add_processes(file, percent)
    for hot in (1, 5, 10, 25, 50):
        add_pipeline(file, "tiered", hot=hot, gather_s=2.2e-3 * 0.2 * max(0.1, 1 - hot / 30))
    for row in (128, 2048, 8192, 16384):
        for method in ("cpu_gather_dma", "masked", "device"):
            add_pipeline(file, method, row=row)
    for method in ("cpu_gather_dma", "naive", "masked", "device"):
        add_pipeline(
            file, method, gpus=2, gather_s=GATHERS[method] * 1e-3 * (1.8 if "cpu" in method else 1.05)
        )


def learning(host: str = "node-g", gpu: str = "NVIDIA H100 80GB HBM3", faster: float = 1.0) -> File:
    """A machine with a GPU that ran everything of graph neural networks."""
    file = File(host=host, gpus=(gpu,))
    file.link("host_to_gpu", 54.7)
    file.link("gpu_to_host", 55.1)
    add_gathers(file, faster)
    add_model_gathers(file, measured=True)
    add_tiers(file)
    add_shares(file)
    add_training(file)
    return file


def tiering() -> File:
    """A machine without a GPU: tiers, and the model of gathers."""
    file = File(host="laptop", preset="quick")
    add_scores(file, "kron18", "10x25", 0.25)
    add_scores(file, "pareto18", "10x25", 0.5)
    add_model_gathers(file, measured=False)
    axes = {"mode": "masked", "store": "mapped", "row": 1024, "rows": 1024, "span": 1 << 30}
    file.lose("skipped", "no NVIDIA driver", "gather", axes, {"numa": 0, "gpu": 0})
    file.lose("skipped", "no NVIDIA driver", "sm_share/gather", {"by": "grid_cap", "sms": 8}, SITE)
    file.lose("skipped", "no NVIDIA driver", "pipeline/graphsage", {"mode": "masked"}, SITE)
    return file
