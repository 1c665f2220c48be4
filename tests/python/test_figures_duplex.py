"""Figure 3 between GPUs: which of the ways to copy it draws."""

import pytest

from planted import linked_file, only, table
from synthetic import GIB

PAIR = {"gpu": 0, "peer": 1}
SENT = ({"direction": "write", "access": "on"}, 300.0, PAIR)
FETCHED = ({"direction": "read", "access": "on"}, 350.0, PAIR)
STAGED = ({"direction": "write", "access": "off"}, 400.0, PAIR | {"numa": 0})
OLDER = ({}, 300.0, PAIR)  # of runs whose copies had one direction alone


@pytest.mark.parametrize("ways", [(SENT, FETCHED, STAGED), (OLDER,)])
def test_figure_3_draws_what_each_gpu_sends_and_not_what_it_fetches_or_the_host_stages(tmp_path, ways):
    file = linked_file()
    for way, gb_s, site in ways:
        axes = {"between": "gpu_gpu", "method": "copy_engine", "bytes": GIB, "link": "nvlink"} | way
        lanes = [
            {"name": name, "bytes": GIB, "from": source, "to": target, "seconds": GIB / gb_s / 1e9}
            for name, source, target in (("to_peer", "gpu:0", "gpu:1"), ("from_peer", "gpu:1", "gpu:0"))
        ]
        file.together("transfer/duplex", axes, site, lanes, overlap=1.0)
    rows = table(tmp_path, "3", file)
    [total] = only(rows, panel="GPU ↔ GPU, both ways together", kind="point")
    assert float(total["y"]) == pytest.approx(600)
