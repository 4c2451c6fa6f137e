"""Where complex numbers enter and leave a program: the parts lie side by side."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, ComplexType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from ....dialects import stablehlo as hlo
from ..elements import Elements, Insert, before
from .parts import is_complex


def is_private(function: FuncOp) -> bool:
    """Whether only this module can call the function."""
    visibility = function.sym_visibility
    return isinstance(visibility, StringAttr) and visibility.data == "private"


def double_attributes(function: FuncOp) -> None:
    """The attributes of a complex argument or result hold for each of its parts."""
    for name, types in (("arg_attrs", function.function_type.inputs), ("res_attrs", function.function_type.outputs)):
        given = function.properties.get(name)
        if isinstance(given, ArrayAttr):
            doubled: list[Attribute] = []
            for type_, attribute in zip(types, given.data, strict=True):
                doubled += [attribute] * (2 if is_complex(type_) else 1)
            function.properties[name] = ArrayAttr(doubled)


def interleave(function: FuncOp) -> None:
    """Arguments and results become real, with the parts in a last dimension; inside they are complex as before."""
    block = function.body.block
    first, last = block.first_op, block.last_op
    assert first is not None and isinstance(last, ReturnOp)
    insert = before(first)
    for argument in list(block.args):
        if is_complex(argument.type):
            outside = block.insert_arg(_side_by_side(argument.type), argument.index)
            outside.name_hint, outside.location = argument.name_hint, argument.location
            whole = Elements(insert, outside)
            shape = whole.shape[:-1]
            parts = [whole.part(len(shape), k, k + 1).reshape(*shape).value for k in range(2)]
            argument.replace_all_uses_with(insert(hlo.ComplexOp(*parts)).results[0])
            block.erase_arg(argument)
    insert = before(last)
    last.operands = [_together(value, insert) if is_complex(value.type) else value for value in last.operands]
    function.update_function_type()


def _side_by_side(type_: Attribute) -> TensorType[Attribute]:
    assert isinstance(type_, TensorType) and isinstance(type_.element_type, ComplexType)
    return TensorType(type_.element_type.element_type, [*type_.get_shape(), 2])


def _together(value: SSAValue, insert: Insert) -> SSAValue:
    parts = [Elements(insert, insert(kind(value)).results[0]) for kind in (hlo.RealOp, hlo.ImagOp)]
    rank = len(parts[0].shape)
    columns: Sequence[SSAValue] = [part.reshape(*part.shape, 1).value for part in parts]
    return insert(hlo.ConcatenateOp(columns, dimension=rank)).results[0]
