"""How attention is cut: queries that are lanes, keys of a register tile, keys whose scores stay in the first cache."""

from __future__ import annotations

from dataclasses import dataclass

from ....compiler.machine import Machine
from ..contraction_to_vector.schedule import ceil_div, has_registers_for_rounds, max_rows

AT_ONCE = 4  # rounds of a loop


@dataclass(frozen=True)
class Plan:
    """A tile is `vectors` times `lanes` queries; scores are made for `rows` keys at a time, outputs for `rows` columns.

    The scores of `block` keys are kept until their weights are summed up; what is left of the keys is a last block.
    Loops over what is summed up have code for so many rounds `at_once`, if that divides theirs.
    """

    lanes: int
    vectors: int
    rows: int
    block: int
    at_once: int = 1

    @property
    def queries(self) -> int:
        """Queries of a tile."""
        return self.lanes * self.vectors


def plans(queries: int, keys: int, machine: Machine, block: int | None = None) -> list[tuple[int, Plan]]:
    """How many of the queries are cut in which way, from the first on.

    Tiles of one way overlap, so that no lane is idle. Where one vector has room for what full tiles leave, it is a tile
    of its own: 197 queries are 6 tiles of 32 and one of 16 then, not 7 of 32.
    """
    whole = plan(queries, keys, machine, block)
    rest = queries % whole.queries
    if whole.vectors == 1 or not 0 < rest <= whole.lanes:
        return [(queries, whole)]
    return [(queries - rest, whole), (rest, plan(whole.lanes, keys, machine, block))]


def plan(queries: int, keys: int, machine: Machine, block: int | None = None) -> Plan:
    """Full vectors, two of them where there are so many queries.

    `block`: how many keys, when that is not to be chosen. Cores that another program has the other half of take 0.87 ms
    for 12 heads of 128 queries, keys and 64 columns by four rounds at once, 0.94 by one; measured on Zen 3.
    """
    lanes = machine.lanes(4)
    while lanes > queries:
        lanes //= 2
    vectors = 2 if queries >= 2 * lanes else 1
    rows = max_rows(machine, vectors)
    most = block or max(rows, machine.l1_bytes // 2 // (lanes * vectors * 4))
    number = ceil_div(keys, most)
    even = ceil_div(ceil_div(keys, number), rows) * rows if block is None else block
    at_once = AT_ONCE if has_registers_for_rounds(machine) and not machine.vectors_are_lines else 1
    return Plan(lanes, vectors, rows, min(keys, even), at_once=at_once)
