"""More ops for random programs: those with regions, and those that write into part of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects import stablehlo as hlo
from .random_programs import Generator, dtype, makes, shape

Body = Callable[[Block, Sequence[SSAValue]], Sequence[SSAValue]]


def region(types: Sequence[Attribute], body: Body) -> Region:
    """A region of one block, which `body` fills and whose results it gives."""
    block = Block(arg_types=types)
    block.add_op(hlo.ReturnOp(body(block, block.args)))
    return Region(block)


def then(block: Block, op: Operation) -> SSAValue:
    """Appends an op to a block; its result."""
    block.add_op(op)
    return op.results[0]


@makes
def dynamic_update_slice(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 4))
    if x is None:
        return None
    starts = [g.constant(np.array(g.choose(-2, n + 2), np.int32)) for n in shape(x)]
    update = g.constant(g.numbers([g.choose(0, n) for n in shape(x)], dtype(x)))
    return hlo.DynamicUpdateSliceOp(x, update, starts)


@makes
def scatter_rows(g: Generator) -> Operation | None:
    x = g.value("fi", rank=(1, 3))
    if x is None or 0 in shape(x):
        return None
    count, rank = g.choose(1, 5), len(shape(x))
    rows = g.constant(np.array([[g.choose(-1, shape(x)[0])] for _ in range(count)], np.int64))
    updates = g.constant(g.numbers([count, *shape(x)[1:]], dtype(x)))
    return hlo.ScatterOp(
        [x],
        rows,
        [updates],
        update_computation=g.pick(("add", "maximum", "minimum")),
        update_window_dims=range(1, rank),
        inserted_window_dims=[0],
        scatter_dims_to_operand_dims=[0],
        index_vector_dim=1,
    )


@makes
def place_of_largest(g: Generator) -> Operation | None:
    """Values and places reduced together; of equal ones the first."""
    x = g.value("iu", rank=(1, 4))
    if x is None:
        return None
    scalar, index = TensorType(x.type.element_type, []), TensorType(i32, [])  # pyright: ignore

    def body(block: Block, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        a, i, b, j = args
        greater = then(block, hlo.CompareOp(a, b, comparison_direction="GT"))
        equal = then(block, hlo.CompareOp(a, b, comparison_direction="EQ"))
        before = then(block, hlo.CompareOp(i, j, comparison_direction="LT"))
        first = then(block, hlo.OrOp(greater, then(block, hlo.AndOp(equal, before))))
        return then(block, hlo.SelectOp(first, a, b)), then(block, hlo.SelectOp(first, i, j))

    axis = g.choose(0, len(shape(x)) - 1)
    places = g.add(hlo.IotaOp(TensorType(i32, shape(x)), axis))
    lowest = g.constant(np.array(np.iinfo(dtype(x)).min, dtype(x)))
    last = g.constant(np.array(1 << 20, np.int32))
    reducer = region([scalar, index, scalar, index], body)
    return hlo.ReduceOp([x, places], [lowest, last], dimensions=[axis], body=reducer)


@makes
def branch(g: Generator) -> Operation | None:
    """One of two values; one of the branches computes, on values from outside."""
    x = g.value("fi")
    preds = [v for v in g.values if dtype(v).kind == "b" and not shape(v)]
    if x is None:
        return None
    pred = g.pick(preds) if preds else g.constant(np.array(bool(g.choose(0, 1))))
    other = g.like(x)
    sum_ = region([], lambda block, _: [then(block, hlo.AddOp(x, other))])
    return hlo.IfOp(pred, sum_, region([], lambda block, _: [then(block, hlo.NegateOp(other))]))


@makes
def counted_loop(g: Generator) -> Operation | None:
    """x = max(x, c - x), a few times."""
    x = g.value("fi", rank=(0, 3))
    if x is None:
        return None
    constant, count = g.like(x), TensorType(i64, [])
    limit, one = g.constant(np.array(g.choose(0, 3), np.int64)), g.constant(np.array(1, np.int64))

    def body(block: Block, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        i, state = args
        flipped = then(block, hlo.SubtractOp(constant, state))
        return then(block, hlo.AddOp(i, one)), then(block, hlo.MaximumOp(state, flipped))

    def condition(block: Block, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [then(block, hlo.CompareOp(args[0], limit, comparison_direction="LT"))]

    types = [count, x.type]
    start = g.constant(np.array(0, np.int64))
    return hlo.WhileOp([start, x], region(types, condition), region(types, body))


@makes
def batch_norm(g: Generator) -> Operation | None:
    x = g.value("f", rank=(2, 4))
    if x is None:
        return None
    scale, offset, mean = (g.constant(g.numbers([shape(x)[1]], dtype(x))) for _ in range(3))
    variance = g.constant(np.abs(g.numbers([shape(x)[1]], dtype(x))))
    return hlo.BatchNormInferenceOp(x, scale, offset, mean, variance, epsilon=1e-3, feature_index=1)
