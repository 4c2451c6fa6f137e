"""Ops without tensor operands: constant, iota, random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from ...compiler.dtypes import dense_attribute
from . import shapes
from .attributes import RngAlgorithm, RngAlgorithmAttr, RngDistribution, RngDistributionAttr, int_attr
from .quant import UniformQuantizedType
from .syntax import (
    TENSOR,
    Clause,
    ClausedOp,
    Int,
    Keyword,
    StableHLOOp,
    parse_attributes,
    print_attributes,
    tensor_operand,
)

Value = SSAValue | Operation
ConstantValue = DenseIntOrFPElementsAttr | DenseResourceAttr


@irdl_op_definition
class ConstantOp(StableHLOOp):
    """A value known at compile time (C1); large ones are handles into the weight store.

    `%c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>`
    """

    name = "stablehlo.constant"
    value = prop_def(DenseIntOrFPElementsAttr | DenseResourceAttr)
    output = result_def(TENSOR)
    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: ConstantValue | np.ndarray[Any, Any] | float | bool):
        """From an attribute or a small array; `constants.make_constant` takes arrays of any size."""
        if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            value = dense_attribute(np.asarray(value))
        self._build([], {"value": value})

    def infer(self) -> Sequence[Attribute] | None:
        kind = self.value.get_type()
        if self.results and isinstance(element := self.output.type.element_type, UniformQuantizedType):
            kind = shapes.with_element(shapes.tensor(kind), element)  # the value holds the stored integers
        if self.results and kind != self.output.type:
            shapes.fail(f"value has type {kind}, output {self.output.type}", "C1")
        return (kind,)

    def print(self, printer: Printer) -> None:
        if self.value.get_type() != self.output.type:
            printer.print_op_with_default_format(self)
            return
        print_attributes(printer, self, ("value",))
        printer.print_string(" ")
        printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_punctuation("("):
            parser.parse_punctuation(")")
            properties |= parser.parse_optional_properties_dict()
            attributes = parse_attributes(cls, parser, properties)
            parser.parse_punctuation(":")
            kind = parser.parse_function_type()
            return cls.create(result_types=kind.outputs.data, properties=properties, attributes=attributes)
        attributes = parse_attributes(cls, parser, properties)
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            parser.raise_error("expected dense<...> or dense_resource<...>", position)
        return cls.create(result_types=[value.get_type()], properties={"value": value}, attributes=attributes)


@irdl_op_definition
class IotaOp(ClausedOp):
    """The index along one dimension (C1).

    `%i = stablehlo.iota dim = 1 : tensor<2x3xi32>`
    """

    name = "stablehlo.iota"
    output = result_def(TENSOR)
    iota_dimension = prop_def(IntegerAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dim", "iota_dimension", Int),)
    ONE_TYPE: ClassVar = True

    def __init__(self, result_type: Attribute, iota_dimension: int | IntegerAttr):
        self._build([], {"iota_dimension": int_attr(iota_dimension)}, result_types=[result_type])

    def verify_(self) -> None:
        super().verify_()
        rank, dimension = self.output.type.get_num_dims(), self.iota_dimension.value.data
        if not 0 <= dimension < rank:
            shapes.fail(f"iota_dimension = {dimension} must be in [0, {rank})", "C1")


@irdl_op_definition
class RngOp(ClausedOp):
    """Random numbers, uniform in [a, b) or normal with mean a and deviation b (C1-C3).

    `%r = stablehlo.rng %a, %b, %shape, distribution = UNIFORM :
        (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>`
    """

    name = "stablehlo.rng"
    a = tensor_operand()
    b = tensor_operand()
    shape = tensor_operand()
    result = result_def(TENSOR)
    rng_distribution = prop_def(RngDistributionAttr)
    CLAUSES: ClassVar = (Clause("distribution", "rng_distribution", Keyword(RngDistributionAttr)),)

    def __init__(
        self,
        a: Value,
        b: Value,
        shape: Value,
        *,
        rng_distribution: str | RngDistributionAttr,
        result_type: Attribute,
    ):
        if isinstance(rng_distribution, str):
            rng_distribution = RngDistributionAttr(RngDistribution(rng_distribution))
        self._build([a, b, shape], {"rng_distribution": rng_distribution}, result_types=[result_type])

    def verify_(self) -> None:
        super().verify_()
        for name, kind, constraint in (("a", self.a.type, "I1"), ("b", self.b.type, "I2")):
            if kind.get_num_dims():
                shapes.fail(f"{name} must be a scalar tensor, got {kind}", constraint)
        shapes.same_element((self.a.type, self.b.type, self.result.type), "a, b and result", "C1")
        element = self.a.type.element_type
        if self.rng_distribution.data == RngDistribution.NORMAL and isinstance(element, IntegerType):
            shapes.fail(f"a normal distribution needs float elements, got {element}", "C2")
        if self.shape.type.get_shape() != (self.result.type.get_num_dims(),):
            shapes.fail(f"shape must have one entry per dimension of {self.result.type}", "C3")
        given = self.shape.owner.properties.get("value") if isinstance(self.shape.owner, ConstantOp) else None
        if not isinstance(given, DenseIntOrFPElementsAttr):
            return
        if (expected := tuple(given.get_values())) != self.result.type.get_shape():
            shapes.fail(f"result must have shape {list(expected)}, got {self.result.type}", "C3")


@irdl_op_definition
class RngBitGeneratorOp(ClausedOp):
    """Random bits and the next state, both functions of the state alone (C1, C2).

    `%s, %r = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY :
        (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)`
    """

    name = "stablehlo.rng_bit_generator"
    initial_state = tensor_operand()
    output_state = result_def(TENSOR)
    output = result_def(TENSOR)
    rng_algorithm = prop_def(RngAlgorithmAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("algorithm", "rng_algorithm", Keyword(RngAlgorithmAttr)),)

    def __init__(
        self,
        initial_state: Value,
        *,
        result_type: Attribute,
        rng_algorithm: str | RngAlgorithmAttr = "DEFAULT",
    ):
        if isinstance(rng_algorithm, str):
            rng_algorithm = RngAlgorithmAttr(RngAlgorithm(rng_algorithm))
        state = SSAValue.get(initial_state)
        self._build([state], {"rng_algorithm": rng_algorithm}, result_types=[state.type, result_type])

    def verify_(self) -> None:
        super().verify_()
        state = self.initial_state.type
        if state != self.output_state.type:
            shapes.fail(f"output_state must have type {state}, got {self.output_state.type}", "C1")
        algorithm = self.rng_algorithm.data
        allowed = {RngAlgorithm.THREE_FRY: (2,), RngAlgorithm.PHILOX: (2, 3)}.get(algorithm)
        if allowed and (state.get_num_dims() != 1 or state.get_shape()[0] not in allowed):
            sizes = " or ".join(map(str, allowed))
            shapes.fail(f"state of {algorithm} must have {sizes} elements, got {state}", "C2")
