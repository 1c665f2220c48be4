"""What a case asks, and which way its bytes go: over the link to the host, or between GPUs."""

from collections.abc import Mapping
from typing import Annotated

from grainscope_report import families
from grainscope_report.typed import Record

HOST_TO_GPU = "host_to_gpu"
GPU_TO_HOST = "gpu_to_host"
# Between GPUs, as seen by the one that issues the transfer: the site's `gpu`; the other is its `peer`.
TO_PEER = "to_peer"
FROM_PEER = "from_peer"
OPPOSITE = {HOST_TO_GPU: GPU_TO_HOST, GPU_TO_HOST: HOST_TO_GPU, TO_PEER: FROM_PEER, FROM_PEER: TO_PEER}
_DIRECTIONS = {"read": HOST_TO_GPU, "write": GPU_TO_HOST}
# What only a model answers.
MODEL = "model/"
# Families whose kernels only read what is far away; how families begin that read the edges of graphs.
READERS = frozenset(families.having("reads"))
WALKS = tuple(f"{name}/" for name in families.having("walks"))
JOINED = {"nvlink", "pcie", "none"}

Ends = tuple[str, str]


def ends(site: Mapping[str, int], direction: str | None) -> Ends | None:
    """Where bytes come from and go to, `("host:0", "gpu:1")`; None where the site does not say."""
    near, far = site.get("gpu"), site.get("peer")
    if direction in (TO_PEER, FROM_PEER):
        pair = (f"gpu:{near}", f"gpu:{far}")
        known = near is not None and far is not None
        return (pair if direction == TO_PEER else pair[::-1]) if known else None
    pair = (f"host:{site.get('numa')}", f"gpu:{near}")
    known = direction is not None and near is not None and "numa" in site
    return (pair if direction == HOST_TO_GPU else pair[::-1]) if known else None


class Case(Record):
    """A named point: `family` and `axes` are the question, `site` says where it was asked.

    `version` is of what the family measures: rows of two versions are not compared.
    """

    family: str
    axes: Mapping[str, str | float]
    site: Mapping[str, int]
    version: Annotated[int, ("minimum", 1)] = 1

    @property
    def locality(self) -> str:
        """`local`, `remote` or `unknown`."""
        return str(said) if (said := self.axes.get("locality")) in ("local", "remote") else "unknown"

    @property
    def place(self) -> str:
        """What stands between the ends: the locality of the host, or between GPUs what joins them."""
        if "link" not in self.axes or "locality" in self.axes or self.family.startswith(MODEL):
            return self.locality
        return str(said) if (said := self.axes["link"]) in JOINED else "link unknown"

    @property
    def direction(self) -> str | None:
        """Which way bytes cross the link to the host or to the peer; None where both or neither."""
        said = self.axes.get("direction")
        known = families.of(self.family)
        reads = known.reads or known.walks
        if "peer" in self.site:
            if self.axes.get("between"):
                return None
            fetched = said == "read" or reads or self.axes.get("path") == "peer_to_gpu"
            return FROM_PEER if fetched else TO_PEER
        if said in _DIRECTIONS:
            return _DIRECTIONS[said]
        path = str(self.axes.get("path", ""))
        if path.endswith("_to_gpu") or (reads and "gpu" in self.site):
            return HOST_TO_GPU
        return GPU_TO_HOST if path.startswith("gpu_to_") else None

    @property
    def site_key(self) -> tuple[tuple[str, int], ...]:
        """The site, sorted: equal for rows that were measured at one place."""
        return tuple(sorted(self.site.items()))

    @property
    def ends(self) -> Ends | None:
        """Where bytes come from and go to, where the case has one direction."""
        return ends(self.site, self.direction)

    def without(self, *axes: str) -> tuple[tuple[str, str | float], ...]:
        """The axes but these, sorted: equal for rows that differ in nothing else."""
        return tuple(sorted((name, value) for name, value in self.axes.items() if name not in axes))
