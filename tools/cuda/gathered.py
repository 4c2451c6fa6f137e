"""What a kernel has to move: of each input what it asks for, once, and each result once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr

from ...backends.cuda.emulator.memory import SECTOR
from ...compiler.dtypes import dtype_of
from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp, IndexOp
from ...dialects.linalg.views import linear_form, loop_ranges
from ...dialects.tensor import ExtractOp
from ...passes.bufferization.groups import is_changed


def needed_bytes(kernel: FuncOp) -> int:
    """In sectors: those of an input in which something lies that is asked for.

    Of a source that values index, those of every element that is asked for, of rows as a whole. Elements that lie
    anywhere need a sector each; two loops that ask for the same one count twice. A result of which the kernel changes
    a part is copied before, from an input.
    """
    block = kernel.body.block
    gathered: dict[SSAValue, int] = {}
    for op in block.ops:
        if isinstance(op, GenericOp):
            for inner in all_ops(op):
                if isinstance(inner, ExtractOp) and isinstance(inner.tensor, BlockArgument):
                    nbytes = _asked(op, inner)
                    gathered[inner.tensor] = gathered.get(inner.tensor, 0) + nbytes
    results = [_nbytes(cast("TensorType[Attribute]", type_)) for type_ in kernel.function_type.outputs.data]
    count = len(block.args) - len(results)
    inputs, places = block.args[:count], block.args[count:]
    copied = sum(_whole(nbytes) for nbytes, place in zip(results, places, strict=True) if is_changed(place))
    return sum(gathered.values()) + sum(map(_read, inputs)) + sum(map(_whole, results)) + copied


def _read(value: SSAValue) -> int:
    """Bytes of sectors of an input in which something lies that maps ask for, or of all where other ops take it."""
    type_ = cast("TensorType[Attribute]", value.type)
    uses = [use for use in value.uses if not isinstance(use.operation, ExtractOp)]
    if not uses or not all(isinstance(use.operation, GenericOp) for use in uses):
        return _whole(_nbytes(type_)) if uses else 0
    itemsize = dtype_of(type_.element_type).itemsize
    taken = np.zeros(type_.get_shape(), dtype=bool)
    for use in uses:
        op = cast("GenericOp", use.operation)
        places = zip(op.maps[use.index].results, taken.shape, strict=True)
        taken[np.ix_(*(_places(expr, loop_ranges(op), size) for expr, size in places))] = True
    flat = taken.reshape(-1)
    first = np.flatnonzero(flat) * itemsize
    return SECTOR * len(np.unique(np.concatenate([first // SECTOR, (first + itemsize - 1) // SECTOR])))


def _places(expr: AffineExpr, ranges: Sequence[int], size: int) -> npt.NDArray[np.int64]:
    """What a map's result is in loops of these ranges: all places along a dimension where it is no sum of loops."""
    form = linear_form(expr)
    if form is None:
        return np.arange(size)
    found = np.array([form[1]])
    for loop, factor in form[0].items():
        found = np.unique(np.add.outer(found, factor * np.arange(ranges[loop])))
    return found


def _nbytes(type_: TensorType[Attribute]) -> int:
    return prod(type_.get_shape()) * dtype_of(type_.element_type).itemsize


def _asked(op: GenericOp, extract: ExtractOp) -> int:
    """Bytes of sectors in which the elements lie that an op extracts, of neighbours together."""
    type_ = cast("TensorType[Attribute]", extract.tensor.type)
    ranges = loop_ranges(op)
    row = _row(extract.indices, type_.get_shape(), ranges)
    return prod(ranges) // max(row, 1) * _whole(row * dtype_of(type_.element_type).itemsize)


def _row(indices: Sequence[SSAValue], shape: Sequence[int], ranges: Sequence[int]) -> int:
    """How many elements that lie side by side the innermost loops ask for."""
    row = 1
    for index, extent in reversed(list(zip(indices, shape, strict=True))):
        owner = index.owner
        if not isinstance(owner, IndexOp) or ranges[owner.dim.value.data] != extent:
            break
        row *= extent
    return row


def _whole(nbytes: int) -> int:
    return nbytes + -nbytes % SECTOR
