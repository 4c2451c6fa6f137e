"""Bytes: how large a buffer is, where sections align, and memref types of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    ShapedType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...dialects.memref import CollapseShapeOp, ExpandShapeOp

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
STACK_LIMIT = 16 * 1024  # bytes: larger scratch of a kernel is an argument, planned in the arena


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


def collapse(value: SSAValue, groups: Sequence[Sequence[int]]) -> CollapseShapeOp:
    """`memref.collapse_shape` of a row-major buffer; each group of dimensions becomes one."""
    type_ = value.type
    assert isinstance(type_, MemRefType)
    shape = [prod(type_.get_shape()[i] for i in group) for group in groups]
    return CollapseShapeOp.create(
        operands=[value],
        result_types=[MemRefType(type_.element_type, shape)],
        properties={"reassociation": reassociation(groups)},
    )


def expand(value: SSAValue, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> ExpandShapeOp:
    """`memref.expand_shape` of a row-major buffer to `shape`."""
    type_ = value.type
    assert isinstance(type_, MemRefType)
    return ExpandShapeOp.create(
        operands=[value],
        result_types=[MemRefType(type_.element_type, shape)],
        properties={
            "reassociation": reassociation(groups),
            "static_output_shape": DenseArrayBase.from_list(i64, list(shape)),
        },
    )


def reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """The attribute of the shape ops: which dimensions belong together."""
    return ArrayAttr([ArrayAttr([IntegerAttr(i, i64) for i in group]) for group in groups])
