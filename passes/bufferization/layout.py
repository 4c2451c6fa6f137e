"""Bytes: how large a buffer is, where sections align, and memref types of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    ShapedType,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...dialects.memref.views import collapse, expand

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
SCRATCH = "lamina.scratch"  # on a kernel: how many of its last arguments hold nothing before and after a call
SPARSE = "lamina.sparse"  # on an allocation: little of it is ever touched
STACK_LIMIT = 16 * 1024  # bytes: larger scratch of a kernel is an argument, planned in the arena


def scratch_of(function: FuncOp) -> Sequence[BlockArgument]:
    """The arguments of a kernel that hold nothing before and after a call: its last ones."""
    told, arguments = function.attributes.get(SCRATCH), function.body.block.args
    return arguments[len(arguments) - (told.value.data if isinstance(told, IntegerAttr) else 0) :]


def aligned(size: int) -> int:
    """`size` rounded up to the alignment of sections.

    >>> aligned(1), aligned(64), aligned(65)
    (64, 64, 128)
    """
    return -(-size // ALIGNMENT) * ALIGNMENT


def memref_type(type_: Attribute) -> MemRefType:
    """The buffer of a tensor type: same shape and elements, row-major. Raises LaminaError on dynamic shapes."""
    if not isinstance(type_, TensorType):
        raise LaminaError(f"expected a tensor, got {type_}")
    shape = type_.get_shape()
    if DYNAMIC_INDEX in shape:
        raise LaminaError(f"{type_} has a dynamic dimension", hint="fix the shapes before buffers are planned")
    return MemRefType(type_.element_type, shape)


def byte_size(type_: Attribute) -> int:
    """Bytes of a tensor or a row-major buffer. bool and sub-byte elements take one byte each."""
    assert isinstance(type_, ShapedType)
    return prod(type_.get_shape()) * dtype_of(type_).itemsize


def are_rows(shape: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether a part of so many elements along each dimension is in one piece in a row-major buffer of `shape`.

    >>> are_rows((4, 8, 2), (1, 3, 2)), are_rows((4, 8, 2), (2, 8, 2)), are_rows((4, 8, 2), (2, 3, 2))
    (True, True, False)
    """
    first = next((i for i, size in enumerate(sizes) if size != 1), len(sizes))
    return tuple(sizes[first + 1 :]) == tuple(shape[first + 1 :])


def is_plain(type_: Attribute) -> bool:
    """Whether a buffer is row-major from its first element."""
    return isinstance(type_, MemRefType) and isinstance(type_.layout, NoneAttr)


def reshape_ops(value: SSAValue, shape: Sequence[int]) -> list[Operation]:
    """The views that give the row-major buffer `value` another shape: collapse to one dimension, then expand."""
    type_ = value.type
    assert isinstance(type_, MemRefType)
    source = type_.get_shape()
    if tuple(shape) == source:
        return []
    ops: list[Operation] = []
    flat = value
    if len(source) != 1:
        flat_op = collapse(value, [list(range(len(source)))]) if source else expand(value, [], [1])
        ops.append(flat_op)
        flat = flat_op.results[0]
    if len(shape) != 1:
        ops.append(expand(flat, [list(range(len(shape)))], shape) if shape else collapse(flat, []))
    return ops
