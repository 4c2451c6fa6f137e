"""Memory that a kernel needs besides, decided after it was written: one more argument, and an allocation a call."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.walking import all_ops
from ...dialects.memref import AllocOp
from .layout import ALIGNMENT, SCRATCH


def give_scratch(function: FuncOp, type_: MemRefType, name: str, mark: str) -> None:
    """Adds a last argument that holds nothing before and after a call; the attribute `mark` says that it is there."""
    block = function.body.block
    block.insert_arg(type_, len(block.args)).name_hint = name
    function.attributes[mark] = UnitAttr()
    _changed(function, 1)
    if isinstance(attributes := function.properties.get("arg_attrs"), ArrayAttr):
        function.properties["arg_attrs"] = ArrayAttr([*attributes.data, DictionaryAttr({})])


def take_scratch(function: FuncOp, mark: str) -> None:
    """Undoes `give_scratch` where nobody uses the argument yet."""
    if function.attributes.pop(mark, None) is None:
        return
    block = function.body.block
    block.erase_arg(block.args[-1])
    _changed(function, -1)
    if isinstance(attributes := function.properties.get("arg_attrs"), ArrayAttr):
        function.properties["arg_attrs"] = ArrayAttr(attributes.data[:-1])


def _changed(function: FuncOp, more: int) -> None:
    told = function.attributes.get(SCRATCH)
    count = more + (told.value.data if isinstance(told, IntegerAttr) else 0)
    function.attributes.pop(SCRATCH, None)
    if count:
        function.attributes[SCRATCH] = IntegerAttr(count, i64)
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in function.body.block.args], [])


def allocate_at_calls(module: ModuleOp, types: Mapping[str, MemRefType]) -> None:
    """Lets each call of the functions that are named bring memory of these types, as last argument."""
    for call in [inner for inner in all_ops(module) if isinstance(inner, CallOp)] if types else []:
        if (type_ := types.get(call.callee.string_value())) is not None:
            alloc = AllocOp([], [], type_, IntegerAttr(ALIGNMENT, i64))
            alloc.location = call.location
            Rewriter.insert_op(alloc, InsertPoint.before(call))
            given: list[SSAValue] = [*call.operands, alloc.memref]
            call.operands = given
