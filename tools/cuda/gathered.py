"""What a kernel has to move: each input once, each result once; of what it gathers from, as much as it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...backends.cuda.emulator.memory import SECTOR
from ...compiler.dtypes import dtype_of
from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp, IndexOp
from ...dialects.linalg.views import loop_ranges
from ...dialects.tensor import ExtractOp


def needed_bytes(kernel: FuncOp) -> int:
    """In sectors. Of a source that values index, those of every element that is asked for, of rows as a whole.

    Elements that lie anywhere need a sector each; two loops that ask for the same one count twice.
    """
    block = kernel.body.block
    gathered: dict[SSAValue, int] = {}
    for op in block.ops:
        if isinstance(op, GenericOp):
            for inner in all_ops(op):
                if isinstance(inner, ExtractOp) and isinstance(inner.tensor, BlockArgument):
                    nbytes = _asked(op, inner)
                    gathered[inner.tensor] = gathered.get(inner.tensor, 0) + nbytes
    results = kernel.function_type.outputs.data
    inputs = block.args[: len(block.args) - len(results)]  # what follows are places for results
    plain = [value for value in inputs if any(not isinstance(use.operation, ExtractOp) for use in value.uses)]
    whole = [*(value.type for value in plain), *results]
    return sum(gathered.values()) + sum(_whole(_nbytes(cast("TensorType[Attribute]", type_))) for type_ in whole)


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
