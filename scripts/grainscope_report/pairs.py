"""What pairs of places reach: GPU and GPU, node and GPU, node and node."""

from dataclasses import dataclass

from grainscope_report import metrics
from grainscope_report.families import PAIRS, Pairs
from grainscope_report.model import Result, Row
from grainscope_report.statistics import Estimate

Pair = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """What is known of a pair: GB/s or seconds, at how many bytes, by which case; of a link's peak none."""

    value: Estimate
    bytes: float | None
    both_known: bool
    case: str | None


@dataclass(frozen=True)
class Matrix:
    """What each pair of places reaches."""

    pairs: Pairs
    cells: dict[Pair, Cell]

    @property
    def rows(self) -> list[int]:
        """The places that stand at the left."""
        return self._places[0]

    @property
    def columns(self) -> list[int]:
        """The places that stand above."""
        return self._places[1]

    @property
    def _places(self) -> tuple[list[int], list[int]]:
        """Of pairs of one kind every place stands at both sides."""
        rows, columns = ({pair[side] for pair in self.cells} for side in (0, 1))
        if kind(self.pairs.rows) == kind(self.pairs.columns):
            rows = columns = rows | columns
        return sorted(rows), sorted(columns)


def kind(name: str) -> str:
    """What a site's place is: `GPU` or `node`."""
    return "GPU" if name in ("gpu", "peer") else "node"


def matrices(result: Result, family: str = "") -> list[Matrix]:
    """All that the run has pairs for, of a family or group alone where one is asked for."""
    wanted = [pair for pair in PAIRS if not family or f"{pair.best.family}/".startswith(f"{family}/")]
    return [found for one in wanted if (found := matrix(result, one)).cells]


def matrix(result: Result, pairs: Pairs) -> Matrix:
    """The best row of each pair, and the copy peaks of links that have no row."""
    there: dict[Pair, list[Row]] = {}
    for row in metrics.rows_for(result, pairs.best):
        site = row.case.site
        if pairs.rows in site and pairs.columns in site:
            there.setdefault((site[pairs.rows], site[pairs.columns]), []).append(row)
    cells = {pair: _cell(metrics.best_row(rows, pairs.best.least), pairs) for pair, rows in there.items()}
    way = metrics.peak_direction(pairs)
    for link in (link for link in result.links if link.direction == way):
        # Every link's copy peak is measured, also of GPUs that a preset has no rows of.
        pair = getattr(link, pairs.rows), getattr(link, pairs.columns)
        if pair not in cells:
            row = metrics.peak_row(result, link)
            known = bool(row and row.both_known)
            cells[pair] = Cell(metrics.peak_estimate(result, link), link.bytes, known, None)
    return Matrix(pairs, cells)


def _cell(row: Row, pairs: Pairs) -> Cell:
    size = row.case.axes.get("bytes")
    size = size if isinstance(size, (int, float)) else None
    return Cell(metrics.best_estimate(row, pairs.best.least), size, row.both_known, row.name)
