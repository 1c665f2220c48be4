"""docs/figures/full: `full` of the H100 as figures show it, beside the model over the graphs it measured.

`full` itself models smaller graphs, so that bars of both would be of unlike ones.
"""

from dataclasses import replace
from functools import cache

from documents import FULL, machine_of, result, rows_of
from grainscope_report.machine import Machine, short_commit

# Modelled without a GPU: requests and pages of named links over the graphs that `full` measures.
MODELLED = "no-gpu-model21.json.gz"


@cache
def of_full() -> Machine:
    """The rows of both halves, and the modelled ones, as those of one machine; the footer names all three."""
    machine = machine_of(FULL)
    model = result(MODELLED)
    said = f"the model of its graphs: commit {short_commit(model)}, {model.date[:10]}"
    whole = replace(machine.result, rows=(*machine.result.rows, *rows_of(MODELLED)))
    return replace(machine, file=f"{machine.file}; {said}", result=whole)
