"""The ops of `amx`, under MLIR's names and syntax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BFloat16Type, Float32Type, IndexType, IntegerType, MemRefType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from .types import TileType

TILE = base(TileType)
NONTEMPORAL = "nontemporal"


def _tile(value: SSAValue) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _verify_memory(memory: SSAValue, rank: int, tile: TileType, stride: SSAValue | None) -> None:
    type_ = memory.type
    assert isinstance(type_, MemRefType)
    if type_.element_type != tile.element_type:
        raise VerifyException(f"base of {type_.element_type} and tile of {tile.element_type} differ")
    if type_.get_num_dims() != rank:
        raise VerifyException(f"base of rank {type_.get_num_dims()} needs as many indices, got {rank}")
    if stride is None and rank < 2:
        raise VerifyException("a base of one dimension does not tell how far rows are apart: a stride is needed")


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """%t = amx.tile_zero : !amx.tile<16x16xf32>"""

    name = "amx.tile_zero"
    res = result_def(TILE)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, type_: TileType):
        super().__init__(result_types=[type_])


@irdl_op_definition
class TileLoadOp(IRDLOperation):
    """Rows of a tile from memory, `stride` elements apart; without one as far as rows of the base are.

    With the attribute `nontemporal` (TILELOADDT1) they leave what is in L1 there: they will not be read again soon.

    %t = amx.tile_load %m[%i], %stride : memref<4096xbf16> into !amx.tile<16x32xbf16>
    """

    name = "amx.tile_load"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    stride = opt_operand_def(IndexType)
    res = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$base `[` $indices `]` (`,` $stride^)? attr-dict `:` type($base) `into` type($res)"

    def __init__(
        self,
        memory: SSAValue,
        indices: Sequence[SSAValue],
        type_: TileType,
        stride: SSAValue | None = None,
        *,
        nontemporal: bool = False,
    ):
        attributes: dict[str, Attribute] = {NONTEMPORAL: UnitAttr()} if nontemporal else {}
        super().__init__(operands=[memory, indices, stride], result_types=[type_], attributes=attributes)

    def verify_(self) -> None:
        _verify_memory(self.base, len(self.indices), _tile(self.res), self.stride)


@irdl_op_definition
class TileStoreOp(IRDLOperation):
    """Rows of a tile to memory.

    amx.tile_store %m[%i], %t, %stride : memref<4096xf32>, !amx.tile<16x16xf32>
    """

    name = "amx.tile_store"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    val = operand_def(TILE)
    stride = opt_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$base `[` $indices `]` `,` $val (`,` $stride^)? attr-dict `:` type($base) `,` type($val)"

    def __init__(self, memory: SSAValue, indices: Sequence[SSAValue], value: SSAValue, stride: SSAValue | None = None):
        super().__init__(operands=[memory, indices, value, stride])

    def verify_(self) -> None:
        _verify_memory(self.base, len(self.indices), _tile(self.val), self.stride)


def _verify_product(lhs: TileType, rhs: TileType, acc: TileType, group: int) -> None:
    (m, k), (pairs, wide), (rows, n) = lhs.get_shape(), rhs.get_shape(), acc.get_shape()
    if rows != m or k != pairs * group or wide != n * group:
        raise VerifyException(
            f"tiles of {m}x{k} and {pairs}x{wide} in groups of {group} give none of {rows}x{n}: "
            f"expected {k // group} rows of {n * group} on the right"
        )


@irdl_op_definition
class TileMulFOp(IRDLOperation):
    """acc + lhs · rhs of bfloat16 in f32; pairs of rows of the right matrix lie side by side.

    %d = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    """

    name = "amx.tile_mulf"
    A: ClassVar = VarConstraint("A", TILE)
    lhs = operand_def(TILE)
    rhs = operand_def(TILE)
    acc = operand_def(A)
    res = result_def(A)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue):
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])

    def verify_(self) -> None:
        types: list[tuple[SSAValue, type[Attribute]]] = [
            (self.lhs, BFloat16Type),
            (self.rhs, BFloat16Type),
            (self.acc, Float32Type),
        ]
        if any(not isinstance(_tile(value).element_type, type_) for value, type_ in types):
            raise VerifyException("tiles of bf16 give one of f32")
        _verify_product(_tile(self.lhs), _tile(self.rhs), _tile(self.acc), 2)


@irdl_op_definition
class TileMulIOp(IRDLOperation):
    """acc + lhs · rhs of 8-bit integers in i32, signed or not; fours of rows of the right matrix lie side by side.

    %d = amx.tile_muli %a zext, %b, %c : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    """

    name = "amx.tile_muli"
    A: ClassVar = VarConstraint("A", TILE)
    lhs = operand_def(TILE)
    rhs = operand_def(TILE)
    acc = operand_def(A)
    res = result_def(A)
    isZextLhs = opt_prop_def(UnitAttr)
    isZextRhs = opt_prop_def(UnitAttr)
    traits = traits_def(Pure())
    assembly_format = (
        "$lhs (`zext` $isZextLhs^)? `,` $rhs (`zext` $isZextRhs^)? `,` $acc attr-dict"
        " `:` type($lhs) `,` type($rhs) `,` type($acc)"
    )

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue, *, zext_lhs: bool = False, zext_rhs: bool = False):
        super().__init__(
            operands=[lhs, rhs, acc],
            result_types=[acc.type],
            properties={
                "isZextLhs": UnitAttr() if zext_lhs else None,
                "isZextRhs": UnitAttr() if zext_rhs else None,
            },
        )

    def verify_(self) -> None:
        widths = [(self.lhs, 8), (self.rhs, 8), (self.acc, 32)]
        for value, width in widths:
            element = _tile(value).element_type
            if not isinstance(element, IntegerType) or element.width.data != width:
                raise VerifyException("tiles of i8 give one of i32")
        _verify_product(_tile(self.lhs), _tile(self.rhs), _tile(self.acc), 4)
