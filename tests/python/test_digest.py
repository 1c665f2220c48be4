"""What a line of the summary says of the link: a share, or both ends where caches may have helped."""

import pytest

from grainscope_report import digest
from grainscope_report.reader import read
from planted import SITE
from synthetic import MIB, File

ROWS = {"memory": "host_alloc", "order": "as_asked", "row": 128, "rows": 1 << 20, "locality": "local"}


def gathered(tmp_path, share: float, asked_bytes: int | None) -> digest.Peak:
    """Rows of 128 MiB of which half are different, at this share of the copy peak."""
    file = File()
    file.link("host_to_gpu", 50.0)
    row = file.add("reach/gather", {**ROWS, "span": 256 * MIB}, SITE, 128 * MIB / 40e9)
    row |= {"bytes": 128 * MIB, "bandwidth_gb_s": 40.0, "link_bytes": 64 * MIB, "link_fraction": share}
    if asked_bytes:
        row["traffic"] = {"label": "modelled", "requests": 1, "requests_by_size": {}, "bytes": asked_bytes}
    [group] = digest.groups(read(file.write(tmp_path / "file.json")))
    return group.peak


@pytest.mark.parametrize(
    ("share", "asked", "said"),
    [
        (0.4, 128 * MIB, "40.0–80.0 %"),
        (0.8, 128 * MIB, "80.0–100.0 %"),  # the link is never more than full
        (0.4, 64 * MIB, "40.0 %"),
        (0.4, None, "40.0 %"),
    ],
)
def test_the_share_of_the_link_has_both_ends_where_rows_repeat(tmp_path, share, asked, said):
    assert gathered(tmp_path, share, asked).of_link == said
