"""How long everything takes: the one table behind the timing engine, the hardware and the compiler's cost model.

Dispatch puts one instruction a cycle into the queue of its unit, where it can be taken a cycle later. A unit takes one
(pops) at cycle p, when the one before has made its last step and every semaphore waited for was counted up before p.
Its steps run from p + 1 to p + n, without a gap to the next instruction's. It completes, which is when its signals
count, at p + n + latency; another unit can pop on that a cycle later. `ve` and `st` pop only when the one before has
completed. The k-th `mm swap` pops at least `rows` cycles after the k-th `wl`, the next `wl` not before that `mm`.
"""

from __future__ import annotations

from ...compiler.systolic_machine import SystolicMachine
from .control import Issued
from .instructions import TARGETS
from .places import trap

VECTOR_LATENCY = 4  # read; multiply or compare; add; add; round and write
STORE_LATENCY = 4  # read; add the bias; multiply; round; write
DRAINS = ("ve", "st")  # units that complete an instruction before they take the next
_SIZES = {"acc": 4, "tab": 8}


def latencies(machine: SystolicMachine) -> dict[str, int]:
    """For each unit the cycles from the last step to completion.

    >>> latencies(SystolicMachine.preset("tiny4"))
    {'ld': 8, 'wl': 0, 'mm': 8, 've': 4, 'st': 4}
    """
    array = machine.rows + machine.cols
    return {"ld": machine.dma_latency, "wl": 0, "mm": array, "ve": VECTOR_LATENCY, "st": STORE_LATENCY}


def row_bytes(issued: Issued) -> int:
    """The bytes of one row on the bus, of `ld` and of `st` to DRAM."""
    i = issued.instruction
    if issued.name == "ld":
        return i.len * _SIZES.get(TARGETS[i.to], 1)
    return i.len * (4 if i.source and "post" not in issued.configs else 1)


def steps(issued: Issued, machine: SystolicMachine) -> int:
    """How many steps a unit makes for an instruction."""
    i = issued.instruction
    if issued.name == "ld":
        return i.n1 * i.n0 * -(-row_bytes(issued) // machine.read_bytes)
    if issued.name == "wl":
        return machine.rows
    if issued.name == "mm":
        return i.n1 * i.n0
    if issued.name == "ve":
        gen = issued.configs["gen"]
        if not gen["k0"] or not gen["k1"]:
            raise trap(issued, "the window has no elements: its configuration register was not written")
        return i.n1 * i.n0 * gen["k1"] * gen["k0"]
    if issued.name == "st":
        return i.n1 * i.n0 * (1 if i.to else -(-row_bytes(issued) // machine.write_bytes))
    return 1
