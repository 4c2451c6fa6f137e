"""From one element to many: a scalar computation rebuilt on vectors, lane by lane the same.

Values that are the same in every lane stay scalars as long as only such values meet; they are broadcast where they
meet a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, VectorType
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Operation, SSAValue

from ..arith import Arith

# the classes that take vectors, by name: where ours extends xDSL's, a pass may have built the scalar one
_ON_VECTORS = {op.name: op for op in Arith.operations}


def is_vector(value: SSAValue) -> bool:
    """Whether lanes may differ."""
    return isinstance(value.type, VectorType)


@lru_cache(1024)
def _vector_of(element: Attribute, lanes: int) -> VectorType:
    """Made for every op that is widened, of few types."""
    return VectorType(element, [lanes])


@lru_cache(1024)
def splat_of(number: FloatAttr | IntegerAttr, type_: VectorType) -> DenseIntOrFPElementsAttr:
    """`dense<number>`. Kernels ask for few of them, often."""
    return DenseIntOrFPElementsAttr.from_list(cast(Any, type_), [number.value.data])


def splat(number: FloatAttr | IntegerAttr, type_: VectorType) -> arith.ConstantOp:
    """The constant that is `number` in every lane."""
    return arith.ConstantOp.create(result_types=[type_], properties={"value": splat_of(number, type_)})


class Widener:
    """Rebuilds scalar ops with `lanes` lanes at the builder's place; `values` says what became of each scalar.

    Wideners at one place may have what they broadcast in common: `broadcasts`.
    """

    def __init__(self, builder: Builder, lanes: int, broadcasts: dict[object, SSAValue] | None = None):
        self.builder = builder
        self.lanes = lanes
        self.broadcasts = broadcasts
        self.values: dict[SSAValue, SSAValue] = {}

    def wide(self, element: Attribute) -> VectorType:
        """The vector type of these elements."""
        return _vector_of(element, self.lanes)

    def value(self, scalar: SSAValue) -> SSAValue:
        """What `scalar` became: a vector, or a scalar that all lanes share."""
        return self.values.get(scalar, scalar)

    def vector(self, value: SSAValue) -> SSAValue:
        """`value` itself when it is a vector, else its broadcast."""
        if is_vector(value):
            return value
        if self.broadcasts is None:
            return self.builder.insert(BroadcastOp(value, self.wide(value.type))).results[0]
        key = BroadcastOp, value
        if key not in self.broadcasts:
            op = BroadcastOp.create(operands=[value], result_types=[self.wide(value.type)])
            self.broadcasts[key] = self.builder.insert(op).results[0]
        return self.broadcasts[key]

    def widen(self, op: Operation) -> Sequence[SSAValue]:
        """Rebuilds `op` (elementwise, without regions) on what its operands became and remembers its results."""
        operands = [self.value(operand) for operand in op.operands]
        if not any(map(is_vector, operands)):
            new = op.clone({old: new for old, new in zip(op.operands, operands, strict=True)})
        else:
            new = _ON_VECTORS.get(op.name, type(op)).create(
                operands=[self.vector(operand) for operand in operands],
                result_types=[self.wide(result.type) for result in op.results],
                properties=op.properties.copy(),
                attributes=op.attributes.copy(),
            )
        self.builder.insert(new)
        self.values.update(zip(op.results, new.results, strict=True))
        return new.results

    def select(self, mask: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` in the lanes that the mask sets, `no` in the others."""
        op = _ON_VECTORS["arith.select"].create(operands=[mask, yes, no], result_types=[yes.type])
        return self.builder.insert(op).results[0]
