"""Makes ONNX operators whose shapes are known: one method for each that several hub ops need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array, WeightStore
from ....dialects.onnx.attributes import constant_attribute, resource_key
from ....dialects.onnx.ops import REGION_NAMES, YieldOp, op_class
from ....dialects.onnx.schemas import DEFAULT_DOMAIN, find_schema
from ....dialects.onnx.types import element_code, type_of_dtype
from .table import Rule

Value = SSAValue
Plain = int | float | str | Sequence[int]

OPSET_WRITTEN = 21
"""The version of ai.onnx that models are written in: old enough for what reads them, new enough for 4-bit types."""


class NodeBuilder:
    """Appends ONNX ops to a block in place of hub ops."""

    def __init__(self, block: Block, weights: WeightStore, rules: Mapping[type[Operation], Rule]):
        self.block = block
        self.weights = weights
        self.rules = rules
        self.values: dict[SSAValue, SSAValue] = {}
        self.source: Operation | None = None

    def lower(self, block: Block) -> None:
        """Appends what the ops of `block` stand for, up to its terminator; results are in `values`."""
        for op in block.ops:
            rule = self.rules.get(type(op))
            if rule is None:
                continue
            self.source = op
            results = rule(self, op, *(self.values[operand] for operand in op.operands))
            results = [results] if isinstance(results, SSAValue) else list(results)
            for old, new in zip(op.results, results, strict=True):
                if new.name_hint is None:
                    new.name_hint = old.name_hint
                self.values[old] = new

    def inner(self, types: Sequence[Attribute]) -> NodeBuilder:
        """A builder of a subgraph with arguments of `types`; it sees the values around it."""
        other = NodeBuilder(Block(arg_types=types), self.weights, self.rules)
        other.values = dict(self.values)
        other.source = self.source
        return other

    def fail(self, message: str) -> LaminaError:
        """The error to raise when the op at hand cannot be written in ONNX for the reason given."""
        return LaminaError(f"cannot be written in ONNX: {message}", where=self.source)

    # ops

    def __call__(
        self, operator: str, *operands: Value, shape: Sequence[int], element: Attribute, **given: Plain
    ) -> Value:
        """One operator of ai.onnx with one result. Raises LaminaError for a type that ONNX does not allow it."""
        return self.all(operator, operands, [TensorType(element, list(shape))], None, **given)[0]

    def all(
        self,
        operator: str,
        operands: Sequence[Value],
        types: Sequence[Attribute],
        regions: Mapping[str, Region] | None = None,
        **given: Plain,
    ) -> list[Value]:
        """One operator of ai.onnx with results of `types`."""
        cls = op_class(f"onnx.{operator}")
        assert cls is not None
        allowed = _allowed(operator)
        for i, operand in enumerate(operands):
            kind = operand.type
            name = _type_name(kind)
            if name not in allowed[min(i, len(allowed) - 1)]:
                raise self.fail(f"its {operator} takes no {name}")
        attributes: dict[str, Attribute] = {name: _attribute(value) for name, value in given.items()}
        if regions:
            attributes[REGION_NAMES] = ArrayAttr([StringAttr(name) for name in regions])
        location = self.source.location if self.source is not None else None
        op = cls.create(
            operands=list(operands),
            result_types=list(types),
            attributes=attributes,
            regions=list((regions or {}).values()),
        )
        if location is not None:
            op.location = location
        self.block.add_op(op)
        return list(op.results)

    def like(self, operator: str, x: Value, *others: Value, **given: Plain) -> Value:
        """An operator whose result has the type of its first operand."""
        return self(operator, x, *others, shape=shape_of(x), element=element_of(x), **given)

    def test(self, operator: str, *operands: Value, shape: Sequence[int]) -> Value:
        """An operator whose result is true or false."""
        return self(operator, *operands, shape=shape, element=type_of_dtype(np.dtype(bool)))

    def constant(self, array: Array, name: str = "constant") -> Value:
        """`array` as a constant."""
        cls = op_class("onnx.Constant")
        assert cls is not None
        op = cls.create(
            result_types=[TensorType(type_of_dtype(array.dtype), array.shape)],
            attributes={"value": constant_attribute(array, self.weights, resource_key(name))},
        )
        if self.source is not None:
            op.location = self.source.location
        self.block.add_op(op)
        return op.results[0]

    def number(self, value: float | bool, element: Attribute) -> Value:
        """A scalar constant."""
        return self.constant(np.array(value, dtype_of(element)))

    def ints(self, values: Sequence[int]) -> Value:
        """A list of integers as a constant."""
        return self.constant(np.array(values, np.int64))

    # movement

    def cast(self, x: Value, element: Attribute) -> Value:
        """`x` in another element type."""
        if element_of(x) == element:
            return x
        return self("Cast", x, shape=shape_of(x), element=element, to=element_code(element))

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """`x` in another shape of as many elements."""
        if shape_of(x) == tuple(shape):
            return x
        return self("Reshape", x, self.ints(shape), shape=shape, element=element_of(x), allowzero=int(0 in shape))

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        """Dimension `permutation[i]` of `x` in place `i`."""
        if list(permutation) == list(range(len(permutation))):
            return x
        own = shape_of(x)
        shape = [own[d] for d in permutation]
        return self("Transpose", x, shape=shape, element=element_of(x), perm=list(permutation))

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        """`x` repeated along dimensions of size 1."""
        if shape_of(x) == tuple(shape):
            return x
        return self("Expand", x, self.ints(shape), shape=shape, element=element_of(x))

    def slice(self, x: Value, start: Sequence[int], limit: Sequence[int], steps: Sequence[int]) -> Value:
        """`x[start:limit:steps]`, all steps positive."""
        own = shape_of(x)
        axes = [d for d in range(len(own)) if (start[d], limit[d], steps[d]) != (0, own[d], 1)]
        if not axes:
            return x
        lists = ([start[d] for d in axes], [limit[d] for d in axes], axes, [steps[d] for d in axes])
        shape = [max(0, -(-(hi - lo) // step)) for lo, hi, step in zip(start, limit, steps, strict=True)]
        return self("Slice", x, *map(self.ints, lists), shape=shape, element=element_of(x))

    def reverse(self, x: Value, axes: Sequence[int]) -> Value:
        """`x` backwards along `axes`."""
        if not axes:
            return x
        lists = ([-1] * len(axes), [-(2**31)] * len(axes), list(axes), [-1] * len(axes))
        return self("Slice", x, *map(self.ints, lists), shape=shape_of(x), element=element_of(x))

    def pad(self, x: Value, value: Value, low: Sequence[int], high: Sequence[int], gaps: Sequence[int]) -> Value:
        """`x` with `gaps` elements between its elements, then `value` around it; negative amounts crop."""
        for axis, gap in enumerate(gaps):
            if gap and shape_of(x)[axis] > 1:
                x = self._spread(x, value, axis, gap)
        own = shape_of(x)
        grown = [max(0, lo) + n + max(0, hi) for lo, n, hi in zip(low, own, high, strict=True)]
        if tuple(grown) != own:
            amounts = [max(0, n) for n in (*low, *high)]
            x = self("Pad", x, self.ints(amounts), value, shape=grown, element=element_of(x))
        start = [max(0, -lo) for lo in low]
        limit = [n + min(0, hi) for n, hi in zip(grown, high, strict=True)]
        return self.slice(x, start, limit, [1] * len(grown))

    def _spread(self, x: Value, value: Value, axis: int, gap: int) -> Value:
        """Each element along `axis` followed by `gap` times `value`, but for the last."""
        own = shape_of(x)
        rank, size = len(own), own[axis]
        apart = self.reshape(x, [*own[: axis + 1], 1, *own[axis + 1 :]])
        amounts = [0] * (2 * (rank + 1))
        amounts[rank + 1 + axis + 1] = gap
        wide = [*own[: axis + 1], 1 + gap, *own[axis + 1 :]]
        apart = self("Pad", apart, self.ints(amounts), value, shape=wide, element=element_of(x))
        flat = self.reshape(apart, [*own[:axis], size * (1 + gap), *own[axis + 1 :]])
        limit = list(shape_of(flat))
        limit[axis] -= gap
        return self.slice(flat, [0] * rank, limit, [1] * rank)

    def region(self, results: Sequence[Value]) -> Region:
        """The block as a subgraph that gives `results`."""
        self.block.add_op(YieldOp.create(operands=list(results)))
        return Region(self.block)


def shape_of(x: Value) -> tuple[int, ...]:
    """The shape of a tensor."""
    assert isinstance(x.type, TensorType)
    return x.type.get_shape()


def element_of(x: Value) -> Attribute:
    """The element type of a tensor."""
    assert isinstance(x.type, TensorType)
    return x.type.element_type


def size_of(x: Value) -> int:
    """How many elements a tensor has."""
    return prod(shape_of(x))


def _attribute(value: Plain) -> Attribute:
    match value:
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case _:
            return DenseArrayBase.from_list(i64, list(value))


@cache
def _allowed(operator: str) -> list[frozenset[str]]:
    """The types that each input of an operator may have."""
    schema = find_schema(DEFAULT_DOMAIN, operator, OPSET_WRITTEN)
    assert schema is not None
    return [frozenset(map(str, formal.types)) for formal in schema.inputs]


def _type_name(kind: Attribute) -> str:
    from onnx import TensorProto

    if not isinstance(kind, TensorType):
        return str(kind)
    return f"tensor({TensorProto.DataType.Name(element_code(kind.element_type)).lower()})"
