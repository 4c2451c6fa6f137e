"""Products and convolutions."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IntegerType, f64

from ....compiler.semantics import plain
from ....dialects import stablehlo as hlo
from .builder import NodeBuilder, Value, element_of, shape_of
from .table import writes


@writes(hlo.DotGeneralOp)
def dot_general(b: NodeBuilder, op: hlo.DotGeneralOp, lhs: Value, rhs: Value) -> Value:
    """MatMul of [batch, m, k] and [batch, k, n], in the element type of the result."""
    numbers, result = plain(op.properties["dot_dimension_numbers"]), op.results[0]
    lhs_batch, rhs_batch = list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)
    lhs_sum, rhs_sum = list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)
    lhs_free = [d for d in range(len(shape_of(lhs))) if d not in lhs_batch + lhs_sum]
    rhs_free = [d for d in range(len(shape_of(rhs))) if d not in rhs_batch + rhs_sum]
    kind = element_of(result)
    lhs, rhs = b.cast(lhs, kind), b.cast(rhs, kind)
    batch = [shape_of(lhs)[d] for d in lhs_batch]
    k = prod(shape_of(lhs)[d] for d in lhs_sum)
    m, n = prod(shape_of(lhs)[d] for d in lhs_free), prod(shape_of(rhs)[d] for d in rhs_free)
    left = b.reshape(b.transpose(lhs, lhs_batch + lhs_free + lhs_sum), [*batch, m, k])
    right = b.reshape(b.transpose(rhs, rhs_batch + rhs_sum + rhs_free), [*batch, k, n])
    product = b("MatMul", left, right, shape=[*batch, m, n], element=kind)
    return b.reshape(product, shape_of(result))


@writes(hlo.ConvolutionOp)
def convolution(b: NodeBuilder, op: hlo.ConvolutionOp, x: Value, w: Value) -> Value:
    """Conv on [batch, feature, spatial...]; integers in float64, which is exact while sums are below 2**53."""
    given = {name: plain(value) for name, value in op.properties.items()}
    d, result = given["dimension_numbers"], op.results[0]
    rank = len(d.input_spatial_dimensions)
    ones = [1] * rank
    if given.get("batch_group_count", 1) != 1:
        raise b.fail("a convolution with batch_group_count")
    if rank == 0:
        raise b.fail("a convolution without spatial dimensions")
    kind = element_of(result)
    if isinstance(kind, IntegerType) and kind.width.data > 32:
        raise b.fail(f"a convolution in {kind}")
    inner = f64 if isinstance(kind, IntegerType) else kind
    x, w = b.cast(x, inner), b.cast(w, inner)
    x, w = b.transpose(x, d.input_dimensions()), b.transpose(w, d.kernel_dimensions())
    reversal = given.get("window_reversal")
    if reversal is not None:
        w = b.reverse(w, [2 + i for i, flipped in enumerate(reversal) if flipped])
    padding = given.get("padding")
    low = [0] * rank if padding is None else [int(p) for p in padding[:, 0]]
    high = [0] * rank if padding is None else [int(p) for p in padding[:, 1]]
    gaps = [n - 1 for n in given.get("lhs_dilation") or ones]
    if any(gaps) or min(low + high) < 0:
        x = b.pad(x, b.number(0, inner), [0, 0, *low], [0, 0, *high], [0, 0, *gaps])
        low = high = [0] * rank
    out = shape_of(result)
    y = b(
        "Conv",
        x,
        w,
        shape=[out[axis] for axis in d.output_dimensions()],
        element=inner,
        strides=list(given.get("window_strides") or ones),
        dilations=list(given.get("rhs_dilation") or ones),
        pads=[*low, *high],
        group=given.get("feature_group_count", 1),
        kernel_shape=list(shape_of(w)[2:]),
    )
    order = d.output_dimensions()
    return b.cast(b.transpose(y, sorted(range(len(order)), key=order.__getitem__)), kind)
