"""Tokens as semaphores: the instructions of a stream.

Units complete in order, so of all that one unit waits for on another only the latest step counts, and only if it is
later than what was waited for before. What remains are pairs of a signal and a wait, in the same order on both sides:
one counter for each pair of units. Each is 0 again at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from ...compiler.diagnostics import LaminaError
from ...dialects.pipe import StepOp, StreamOp
from ...dialects.systolic.encoding import Instruction, instruction
from ...dialects.systolic.fields import NONE
from ...dialects.systolic.instructions import SEMAPHORES, SPECS
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
_UNITS = {f"pipe.{name}": spec.unit for name, spec in SPECS.items()}
SEMAPHORE_OF = {pair: number for number, pair in enumerate(_PAIRS)}
assert len(_PAIRS) <= SEMAPHORES


def instructions_of(stream: StreamOp) -> list[Instruction]:
    """The instructions of a stream with their semaphores, without a `halt`."""
    ops = list(stream.body.block.ops)
    orders = _orders(ops)
    known: dict[int, Instruction] = {}  # by attribute, which many steps have in common
    made: list[Instruction] = []
    for at, op in enumerate(ops):
        assert isinstance(op, StepOp | InstructionOp)
        values = op.properties["values"]
        told = known.get(id(values))
        if told is None:
            told = known[id(values)] = op.instruction
        if at in orders:
            made += _with_semaphores(told, *orders[at])
        else:
            made.append(told)
    return made


def _orders(ops: Sequence[Operation]) -> dict[int, tuple[list[int], list[int]]]:
    """The semaphores that ops wait for and signal, by their places in the stream."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    steps: dict[int, int] = {}  # by the identity of the token, which is quicker than its hash
    units: list[str] = []
    reached: dict[tuple[str, str], int] = {}  # for each pair the latest step that was waited for
    for at, op in enumerate(ops):
        if not isinstance(op, StepOp):
            units.append("")
            continue
        unit = _UNITS[op.name]
        latest: dict[str, int] = {}
        for token in op.operands:
            other = steps.get(id(token))
            if other is None:
                raise LaminaError("waits for what is not dispatched before", where=op)
            before = units[other]
            if before != unit and other > latest.get(before, -1):
                latest[before] = other
        for before, other in latest.items():
            pair = (before, unit)
            if other <= reached.get(pair, -1):
                continue
            if pair not in SEMAPHORE_OF:
                raise LaminaError(f"'{unit}' waits for '{before}', which no semaphore is for", where=op)
            reached[pair] = other
            found.setdefault(at, ([], []))[0].append(SEMAPHORE_OF[pair])
            found.setdefault(other, ([], []))[1].append(SEMAPHORE_OF[pair])
        steps[id(op.results[0])] = at
        units.append(unit)
    return found


def _with_semaphores(told: Instruction, waits: list[int], signals: list[int]) -> Iterator[Instruction]:
    """An instruction and, for more than two waits or signals, `sync` before or behind it."""
    unit = told.spec.unit
    waits, signals = sorted(waits), sorted(signals)
    while len(waits) > 2:
        yield instruction("sync", unit=unit, wait0=waits[0], wait1=waits[1])
        waits = waits[2:]
    first = (*waits, NONE, NONE)[:2]
    yield type(told)((*first, *(*signals, NONE, NONE)[:2], *told[4:]))
    for i in range(2, len(signals), 2):
        more = dict(zip(("signal0", "signal1"), signals[i : i + 2], strict=False))
        yield instruction("sync", unit=unit, **more)
