"""linalg-share-kernels: kernels that differ by numbers alone take these as arguments, and are equal then.

before: call @kernel_0(%x, %d)    func.func private @kernel_0(%x, %dst) { linalg.generic ... { arith.mulf %0, 0.25 } }
        call @kernel_1(%y, %e)    func.func private @kernel_1(%x, %dst) { linalg.generic ... { arith.mulf %0, 0.75 } }
after:  call @kernel_0(%x, dense<0.25> : tensor<f32>, %d)
        call @kernel_1(%y, dense<0.75> : tensor<f32>, %e)
        func.func private @kernel_0(%x, %n: tensor<f32>, %dst) { linalg.generic ins(%x, %n) ... { arith.mulf %0, %1 } }
        func.func private @kernel_1 likewise, for `linalg-deduplicate-kernels`

So it is with quantised models, where each layer has scales and zero points of its own: BERT's 12 layers are 19 kernels
then, not 128. Only numbers that are added, subtracted, multiplied by or divided by are taken: what else is known of a
number may decide on how something is computed, such as an exponent.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.anonymous_text import anonymous_text
from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp
from .outline_kernels import KERNEL

Number = FloatAttr | IntegerAttr  # an arith.constant's
_PLAIN = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)


@dataclass(frozen=True)
class ShareKernels(ModulePass):
    """Makes arguments of the numbers in which otherwise equal kernels differ."""

    name = "linalg-share-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        alike: dict[str, list[_Kernel]] = {}
        for function in op.ops:
            if isinstance(function, func.FuncOp) and KERNEL in function.attributes:
                kernel = _Kernel(function, _numbers(function))
                if kernel.numbers:
                    alike.setdefault(kernel.text(), []).append(kernel)
        calls: dict[str, list[func.CallOp]] = {}
        for call in all_ops(op):
            if isinstance(call, func.CallOp):
                calls.setdefault(call.callee.string_value(), []).append(call)
        for kernels in alike.values():
            taken = _differing(kernels)
            for kernel in kernels if taken else ():
                kernel.take(taken, calls.get(kernel.function.sym_name.data, []))


@dataclass
class _Kernel:
    function: func.FuncOp
    numbers: list[arith.ConstantOp]

    def text(self) -> str:
        """What the kernel does, whatever its numbers are."""
        values = [number.value for number in self.numbers]
        for number in self.numbers:
            number.properties["value"] = _nothing(number)
        text = anonymous_text(self.function)
        for number, value in zip(self.numbers, values, strict=True):
            number.properties["value"] = value
        return text

    def take(self, places: Sequence[Sequence[int]], calls: Sequence[func.CallOp]) -> None:
        """Each place, or several that always have one number, becomes an argument before the destinations."""
        block, types = self.function.body.block, self.function.function_type
        first = len(types.inputs) - len(types.outputs)
        attributes: list[DenseIntOrFPElementsAttr] = []
        for i, same in enumerate(places):
            type_ = TensorType(self.numbers[same[0]].result.type, [])
            attributes.append(_scalar(self.numbers[same[0]], type_))
            argument = block.insert_arg(type_, first + i)
            for place in same:
                _read(self.numbers[place], argument)
        inputs = [argument.type for argument in block.args]
        self.function.properties["function_type"] = FunctionType.from_lists(inputs, types.outputs.data)
        for call in calls:
            constants = [arith.ConstantOp(attribute) for attribute in attributes]
            for constant in constants:
                constant.location = call.location
            Rewriter.insert_op(constants, InsertPoint.before(call))
            given = list(call.operands)
            call.operands = [*given[:first], *(constant.result for constant in constants), *given[first:]]


def _numbers(function: func.FuncOp) -> list[arith.ConstantOp]:
    """The constants in bodies of structured ops that are only calculated with, in order."""
    found: list[arith.ConstantOp] = []
    for generic in function.body.block.ops:
        for op in generic.body.block.ops if isinstance(generic, GenericOp) else ():
            if (
                isinstance(op, arith.ConstantOp)
                and isinstance(op.value, FloatAttr | IntegerAttr)
                and not isinstance(op.result.type, IndexType)
                and op.result.type != i1
                and all(isinstance(use.operation, _PLAIN) for use in op.result.uses)
            ):
                found.append(op)
    return found


def _nothing(number: arith.ConstantOp) -> Attribute:
    value = cast("Number", number.value)
    if isinstance(value, IntegerAttr):
        return IntegerAttr(0, cast(IntegerType, value.type))
    return FloatAttr(0.0, value.type)


def _differing(kernels: Sequence[_Kernel]) -> list[list[int]]:
    """The places at which these kernels have different numbers; together those that have the same in each."""
    found: dict[Hashable, list[int]] = {}
    for place, every in enumerate(zip(*(kernel.numbers for kernel in kernels), strict=True)):
        values = tuple(number.value for number in every)
        if len(set(values)) > 1:
            found.setdefault(values, []).append(place)
    return list(found.values())


def _scalar(number: arith.ConstantOp, type_: TensorType[Attribute]) -> DenseIntOrFPElementsAttr:
    value = cast("Number", number.value).value.data
    return DenseIntOrFPElementsAttr.from_list(cast(Any, type_), [value])


def _read(number: arith.ConstantOp, argument: SSAValue) -> None:
    """The op around a constant takes the argument as one more input, and its body that instead of the constant."""
    op = number.parent_op()
    assert isinstance(op, GenericOp)
    if argument not in op.inputs:
        op = _with_scalar(op, argument)
    number.result.replace_all_uses_with(op.body.block.args[list(op.inputs).index(argument)])
    number.detach()
    number.erase()


def _with_scalar(op: GenericOp, argument: SSAValue) -> GenericOp:
    count = len(op.inputs)
    maps = [*op.maps[:count], AffineMap(len(op.iterators), 0, ()), *op.maps[count:]]
    body = op.detach_region(op.body)
    body.block.insert_arg(cast("TensorType[Attribute]", argument.type).element_type, count)
    new = GenericOp.of([*op.inputs, argument], op.outputs, maps, list(op.iterator_types), body)
    new.attributes.update(op.attributes)
    new.location = op.location
    Rewriter.replace_op(op, new)
    return new
