"""CHLO's scan as a loop: each round reads a slice of every input and writes one of every output.

before: %sums, %sum = chlo.scan(%x) inits (%zero) dimension=0 { ... }
after:  %loop:3 = stablehlo.while(%i = 0, %sum = %zero, %sums = 0) ... {
          %slice = stablehlo.dynamic_slice %x, %i, 0 ...
          ...                                               // the body
          stablehlo.dynamic_update_slice %sums, %made, %i, 0
        }
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.traits import IsTerminator

from ...compiler.dtypes import dtype_of
from ...compiler.weights import WeightStore
from ...dialects.stablehlo import DynamicSliceOp, DynamicUpdateSliceOp
from ...dialects.stablehlo.chlo_scan import ScanOp
from ...dialects.stablehlo.constants import make_constant
from .elements import Elements, before
from .expansion import counted_loop, expand


def expand_scans(module: ModuleOp, weights: WeightStore) -> None:
    """Replaces every scan in the module, the outer ones first."""
    while any(isinstance(op, ScanOp) for op in module.walk()):
        expand(module, {ScanOp: lambda op: _loop(op, weights)})


def _loop(op: ScanOp, weights: WeightStore) -> Sequence[SSAValue]:
    insert, axis, length = before(op), op.dimension.value.data, op.length
    reverse = op.is_reverse is not None and bool(op.is_reverse.value.data)
    inputs = [Elements(insert, value) for value in op.inputs]
    kinds = [value.type for value in op.outputs]
    nothing = [np.broadcast_to(np.zeros((), dtype_of(kind)), kind.get_shape()) for kind in kinds]
    outputs = [Elements(insert, insert(make_constant(array, weights, "scanned")).results[0]) for array in nothing]
    carries = [Elements(insert, value) for value in op.inits]
    if not length:
        return [value.value for value in (*outputs, *carries)]

    def round_(at: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        place = at.like(length - 1) - at if reverse else at
        carried, written = state[: len(carries)], state[len(carries) :]
        slices = [_slice(value.within(at.insert), place, axis) for value in inputs]
        made = _body(op, at, [*slices, *carried])
        rows = [_with_slice(old, new, place, axis) for old, new in zip(written, made, strict=False)]
        return [*made[len(written) :], *rows]

    state = counted_loop(insert, length, [*carries, *outputs], round_)
    return [value.value for value in (*state[len(carries) :], *state[: len(carries)])]


def _starts(place: Elements, axis: int, rank: int) -> list[SSAValue]:
    zero = place.like(0).value
    return [place.value if i == axis else zero for i in range(rank)]


def _slice(value: Elements, place: Elements, axis: int) -> Elements:
    shape = value.shape
    sizes = [1 if i == axis else size for i, size in enumerate(shape)]
    found = value.of(DynamicSliceOp(value.value, _starts(place, axis, len(shape)), slice_sizes=sizes))
    return found.reshape(*shape[:axis], *shape[axis + 1 :])


def _with_slice(whole: Elements, new: Elements, place: Elements, axis: int) -> Elements:
    row = new.reshape(*whole.shape[:axis], 1, *whole.shape[axis + 1 :])
    return whole.of(DynamicUpdateSliceOp(whole.value, row.value, _starts(place, axis, len(whole.shape))))


def _body(op: ScanOp, at: Elements, arguments: Sequence[Elements]) -> list[Elements]:
    """What the body returns for `arguments`, written out."""
    block = op.body.block
    known: dict[SSAValue, SSAValue] = {}
    known.update(zip(block.args, (value.value for value in arguments), strict=True))
    for inner in block.ops:
        if inner.has_trait(IsTerminator):
            return [Elements(at.insert, known.get(value, value)) for value in inner.operands]
        copy = at.insert(inner.clone(known))
        known.update(zip(inner.results, copy.results, strict=True))
    raise AssertionError("a block of a verified op has a terminator")
