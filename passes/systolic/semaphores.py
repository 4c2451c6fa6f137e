"""Tokens as semaphores: the instructions of a stream.

Units complete in order, so of all that one unit waits for on another only the latest step counts, and only if it is
later than what was waited for before. What remains are pairs of a signal and a wait, in the same order on both sides:
one counter for each pair of units. Each is 0 again at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, OpResult

from ...compiler.diagnostics import LaminaError
from ...dialects.pipe import StepOp, StreamOp
from ...dialects.systolic.encoding import RECORDS, Instruction, instruction
from ...dialects.systolic.fields import NONE
from ...dialects.systolic.instructions import SEMAPHORES
from ...dialects.systolic.ops import InstructionOp

# who signals and who waits, in the same place for every kernel
_PAIRS = (
    ("ld", "wl"),
    ("ld", "mm"),
    ("ld", "ve"),
    ("ld", "st"),
    ("wl", "ld"),
    ("mm", "ld"),
    ("ve", "ld"),
    ("st", "ld"),
    ("mm", "st"),
    ("ve", "st"),
    ("st", "mm"),
    ("st", "ve"),
    ("mm", "ve"),
    ("ve", "mm"),
)
SEMAPHORE_OF = {pair: number for number, pair in enumerate(_PAIRS)}
assert len(_PAIRS) <= SEMAPHORES


def instructions_of(stream: StreamOp) -> list[Instruction]:
    """The instructions of a stream with their semaphores, without a `halt`."""
    ops = list(stream.body.block.ops)
    waits: dict[Operation, list[int]] = defaultdict(list)
    signals: dict[Operation, list[int]] = defaultdict(list)
    places: dict[Operation, int] = {}
    counts: dict[str, int] = defaultdict(int)
    reached: dict[tuple[str, str], int] = defaultdict(lambda: -1)
    for op in ops:
        if not isinstance(op, StepOp):
            continue
        unit = op.row().unit
        for other, before in _latest(op, places):
            pair = (before, unit)
            if places[other] <= reached[pair]:
                continue
            if pair not in SEMAPHORE_OF:
                raise LaminaError(f"'{unit}' waits for '{before}', which no semaphore is for", where=op)
            reached[pair] = places[other]
            waits[op].append(SEMAPHORE_OF[pair])
            signals[other].append(SEMAPHORE_OF[pair])
        places[op] = counts[unit]
        counts[unit] += 1
    return [i for op in ops for i in _with_semaphores(op, sorted(waits[op]), sorted(signals[op]))]


def _latest(op: StepOp, places: dict[Operation, int]) -> Iterator[tuple[StepOp, str]]:
    """Of the steps that one waits for, the last of each other unit."""
    found: dict[str, StepOp] = {}
    for token in op.after:
        other = token.owner if isinstance(token, OpResult) else None
        if not isinstance(other, StepOp) or other not in places:
            raise LaminaError("waits for what is not dispatched before", where=op)
        unit = other.row().unit
        if unit != op.row().unit and (unit not in found or places[other] > places[found[unit]]):
            found[unit] = other
    for unit, other in found.items():
        yield other, unit


def _with_semaphores(op: Operation, waits: Sequence[int], signals: Sequence[int]) -> Iterator[Instruction]:
    """An instruction and, for more than two waits or signals, `sync` before or behind it."""
    assert isinstance(op, StepOp | InstructionOp)
    told = op.instruction
    if not isinstance(op, StepOp):
        yield told
        return
    unit = op.row().unit
    while len(waits) > 2:
        yield instruction("sync", unit=unit, wait0=waits[0], wait1=waits[1])
        waits = waits[2:]
    values = dict(zip(told.__slots__, told.values(), strict=True))
    values |= dict(zip(("wait0", "wait1"), (*waits, NONE, NONE), strict=False))
    values |= dict(zip(("signal0", "signal1"), (*signals[:2], NONE, NONE), strict=False))
    yield RECORDS[told.spec.name](values.values())
    for i in range(2, len(signals), 2):
        more = dict(zip(("signal0", "signal1"), signals[i : i + 2], strict=False))
        yield instruction("sync", unit=unit, **more)
