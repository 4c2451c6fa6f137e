"""amx to llvm: tiles are values of LLVM's x86_amx, whose registers and configuration LLVM takes care of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....compiler.conversion import RuleBuilder
from ....dialects import amx
from ....dialects.llvm.tiles import X86AMXType
from .memref import address, memref_type, strides_of
from .rules import RULES, binary, constant, element_bytes

I16 = IntegerType(16)
TILE = X86AMXType()
SIGNS = {(False, False): "ss", (False, True): "su", (True, False): "us", (True, True): "uu"}


def _shape(b: RuleBuilder, value: SSAValue) -> list[SSAValue]:
    """Rows, and bytes in a row."""
    type_ = value.type
    assert isinstance(type_, amx.TileType)
    return [constant(b, type_.get_shape()[0], I16), constant(b, type_.row_bytes, I16)]


def _place(
    b: RuleBuilder, base: SSAValue, pointer: SSAValue, indices: Sequence[SSAValue], stride: SSAValue | None
) -> list[SSAValue]:
    """The address of a tile and the bytes between its rows."""
    type_ = memref_type(base, b)
    if stride is None:
        stride = constant(b, strides_of(type_, b)[-2])
    size = constant(b, element_bytes(type_.element_type))
    return [address(b, pointer, type_, indices), binary(b, llvm.MulOp, stride, size)]


@RULES.lowers(amx.TileZeroOp)
def lower_zero(op: amx.TileZeroOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(llvm.CallIntrinsicOp("llvm.x86.tilezero.internal", _shape(b, op.res), [TILE])).results[0]


@RULES.lowers(amx.TileLoadOp)
def lower_load(op: amx.TileLoadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    count = len(op.indices)
    stride = operands[1 + count] if op.stride is not None else None
    place = _place(b, op.base, operands[0], operands[1 : 1 + count], stride)
    name = "tileloaddt164" if amx.NONTEMPORAL in op.attributes else "tileloadd64"
    return b(llvm.CallIntrinsicOp(f"llvm.x86.{name}.internal", [*_shape(b, op.res), *place], [TILE])).results[0]


@RULES.lowers(amx.TileStoreOp)
def lower_store(op: amx.TileStoreOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    count = len(op.indices)
    stride = operands[2 + count] if op.stride is not None else None
    place = _place(b, op.base, operands[0], operands[1 : 1 + count], stride)
    arguments = [*_shape(b, op.val), *place, operands[1 + count]]
    b(llvm.CallIntrinsicOp("llvm.x86.tilestored64.internal", arguments, []))


def _product(b: RuleBuilder, op: amx.TileMulFOp | amx.TileMulIOp, operands: Sequence[SSAValue], name: str) -> SSAValue:
    lhs, rhs, acc = operands
    rows, depth = _shape(b, op.lhs)
    width = _shape(b, op.acc)[1]
    arguments = [rows, width, depth, acc, lhs, rhs]
    return b(llvm.CallIntrinsicOp(f"llvm.x86.{name}.internal", arguments, [TILE])).results[0]


@RULES.lowers(amx.TileMulFOp)
def lower_mulf(op: amx.TileMulFOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _product(b, op, operands, "tdpbf16ps")


@RULES.lowers(amx.TileMulIOp)
def lower_muli(op: amx.TileMulIOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    signs = SIGNS[op.isZextLhs is not None, op.isZextRhs is not None]
    return _product(b, op, operands, f"tdpb{signs}d")
