"""The table of this conversion's rules, its types, and how structured ops are built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from ....compiler.conversion import RuleBuilder, Rules
from ....compiler.diagnostics import LaminaError
from ....dialects.linalg import FillOp, GenericOp, YieldOp
from ....dialects.tensor import EmptyOp, ExtractOp

UNSIGNED = "lamina.unsigned"
"""Attribute of a stablehlo op: which of its operands are unsigned integers; set before types lose their signs."""


def signless(type_: Attribute) -> Attribute:
    """The type at this level: integers lose their signedness; complex numbers and quantised types end here."""
    match type_:
        case IntegerType() if type_.signedness.data != Signedness.SIGNLESS:
            return IntegerType(type_.width.data)
        case TensorType():
            element = signless(type_.element_type)
            if element is type_.element_type:
                return type_
            return TensorType(element, type_.get_shape(), type_.encoding)
        case ComplexType():
            hint = "stablehlo-split-complex makes pairs of real ones of them"
            raise LaminaError("complex numbers are not lowered to linalg", hint=hint)
        case _:
            return type_


RULES = Rules("convert-stablehlo-to-linalg", types=signless)

Body = Callable[["Scalars", Sequence[SSAValue]], Sequence[SSAValue]]
d = AffineExpr.dimension
PARALLEL, REDUCTION = "parallel", "reduction"


class Scalars:
    """Appends scalar ops to a block; `s(op)` is the op's first result."""

    def __init__(self, block: Block):
        self.block = block

    def __call__(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def constant(self, value: float | int, type_: Attribute) -> SSAValue:
        """A constant of the type, integers taken modulo their width."""
        return self(scalar_constant(value, type_))


def scalar_constant(value: float | int, type_: Attribute) -> arith.ConstantOp:
    """`arith.constant value : type`."""
    if isinstance(type_, IntegerType):
        width = type_.width.data
        bits = int(value) & ((1 << width) - 1)
        return arith.ConstantOp(IntegerAttr(bits - (1 << width) if width > 1 and bits >> (width - 1) else bits, type_))
    if type_.name == "index":
        return arith.ConstantOp(IntegerAttr.from_index_int_value(int(value)))
    return arith.ConstantOp(FloatAttr(float(value), cast(Any, type_)))


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type


def result_type(op: Operation, index: int = 0) -> TensorType[Attribute]:
    """The converted type of one result."""
    return cast("TensorType[Attribute]", signless(op.results[index].type))


def is_unsigned(op: Operation, operand: int = 0) -> bool:
    """Whether an operand was made of unsigned integers in the source."""
    attr = op.attributes.get(UNSIGNED)
    return isinstance(attr, DenseArrayBase) and operand in attr.get_values()


def empty(b: RuleBuilder, type_: TensorType[Attribute]) -> SSAValue:
    """A tensor to write into."""
    return b(EmptyOp([], type_)).tensor


def scalar_of(b: RuleBuilder, value: SSAValue) -> SSAValue:
    """The element of a tensor without dimensions: a constant where it is one, else extracted."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, DenseIntOrFPElementsAttr):
        scalar = cast(Any, owner.value.get_values())[0]
        return b(scalar_constant(scalar, owner.value.get_element_type())).result
    return b(ExtractOp(value, [], tensor_type(value).element_type)).result


def is_constant(value: SSAValue) -> bool:
    """Whether the value is an arith.constant."""
    return isinstance(value.owner, arith.ConstantOp)


def filled(b: RuleBuilder, scalar: SSAValue, type_: TensorType[Attribute]) -> SSAValue:
    """A tensor that holds `scalar` everywhere."""
    return b(FillOp(scalar, empty(b, type_))).res[0]


def generic(
    b: RuleBuilder,
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    iterators: Sequence[str],
    body: Body,
) -> Sequence[SSAValue]:
    """One linalg.generic; `body` gets the elements of inputs and outputs and gives those to yield.

    An iteration space without points leaves the outputs as they are.
    """
    sizes = {
        expr.used_dims().pop(): size
        for value, map_ in zip([*inputs, *outputs], maps, strict=True)
        if isinstance(value.type, TensorType)
        for expr, size in zip(map_.results, value.type.get_shape(), strict=True)
        if expr.used_dims() and size == 0
    }
    if sizes:
        return outputs
    block = Block(arg_types=[_element(v) for v in (*inputs, *outputs)])
    block.add_op(YieldOp(*body(Scalars(block), block.args)))
    return b(GenericOp.of(inputs, outputs, maps, iterators, Region(block))).res


def _element(value: SSAValue) -> Attribute:
    return value.type.element_type if isinstance(value.type, TensorType) else value.type


def elementwise(b: RuleBuilder, inputs: Sequence[SSAValue], type_: TensorType[Attribute], body: Body) -> SSAValue:
    """A parallel generic over `type_`; inputs have its shape, or no dimensions at all."""
    rank = len(type_.get_shape())
    maps = [
        AffineMap.identity(rank) if tensor_type(v).get_num_dims() == rank else AffineMap(rank, 0, ()) for v in inputs
    ]
    maps.append(AffineMap.identity(rank))
    return generic(b, inputs, [empty(b, type_)], maps, [PARALLEL] * rank, body)[0]


def movement(b: RuleBuilder, source: SSAValue, type_: TensorType[Attribute], exprs: Sequence[AffineExpr]) -> SSAValue:
    """A copy that reads `source` at `exprs` (over the loops of the result)."""
    rank = len(type_.get_shape())
    maps = [AffineMap(rank, 0, tuple(exprs)), AffineMap.identity(rank)]
    return generic(b, [source], [empty(b, type_)], maps, [PARALLEL] * rank, lambda s, args: [args[0]])[0]


def constant_expr(value: int) -> AffineExpr:
    """A constant subscript."""
    return AffineConstantExpr(value)
