"""What moves elements moves both parts alike; constants, and where complex numbers are made and taken apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from ....compiler.conversion import Replacement, Rule, RuleBuilder
from ....compiler.weights import WeightStore
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.constants import constant_value, make_constant
from ..elements import Elements
from .parts import SPLIT, alike, is_complex, part_of, parts_of, split


@SPLIT.lowers(
    hlo.AddOp,
    hlo.SubtractOp,
    hlo.NegateOp,
    hlo.SelectOp,
    hlo.ReshapeOp,
    hlo.TransposeOp,
    hlo.BroadcastInDimOp,
    hlo.SliceOp,
    hlo.PadOp,
    hlo.ConcatenateOp,
    hlo.ReverseOp,
    hlo.DynamicSliceOp,
    hlo.DynamicUpdateSliceOp,
    hlo.GatherOp,
)
def on_each_part(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    """The same op, once for each part of its result."""
    types = split(op.results[0].type)
    if not isinstance(types, tuple):
        return b(alike(op, operands, [types])).results[0]
    return [[b(alike(op, [part_of(v, k, b) for v in op.operands], [t])).results[0] for k, t in enumerate(types)]]


def constants(weights: WeightStore) -> dict[type[Operation], Rule]:
    """The rule of constants, whose elements may be in the store."""

    def constant(op: hlo.ConstantOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
        if not is_complex(op.output.type):
            return b(alike(op, (), [op.output.type])).results[0]
        array = constant_value(op, weights)
        assert array is not None
        parts = (np.array(part) for part in (np.real(array), np.imag(array)))
        return [[b(make_constant(part, weights, "part")).output for part in parts]]

    return {hlo.ConstantOp: constant}


@SPLIT.lowers(hlo.ComplexOp)
def make(op: hlo.ComplexOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    return [operands]


@SPLIT.lowers(hlo.RealOp)
def real(op: hlo.RealOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    return operands[0]


@SPLIT.lowers(hlo.ImagOp)
def imaginary(op: hlo.ImagOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    return parts_of(op.operand, b).im.value


@SPLIT.lowers(hlo.ConvertOp)
def convert(op: hlo.ConvertOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    """To real numbers it leaves out the imaginary part."""
    types = split(op.result.type)
    if not isinstance(types, tuple):
        return b(alike(op, operands[:1], [types])).results[0]
    element = types[0].element_type  # pyright: ignore[reportAttributeAccessIssue]
    found = parts_of(op.operand, b)
    re = found.re.convert(element)
    return [[re.value, (found.im.convert(element) if len(operands) == 2 else re.like(0.0)).value]]


@SPLIT.lowers(hlo.IotaOp)
def iota(op: hlo.IotaOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    types = split(op.output.type)
    if not isinstance(types, tuple):
        return b(alike(op, (), [types])).results[0]
    re = Elements(b, b(alike(op, (), types[:1])).results[0])
    return [[re.value, re.like(0.0).value]]
