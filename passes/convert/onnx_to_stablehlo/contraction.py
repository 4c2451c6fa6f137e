"""ONNX's products of matrices: MatMul, Gemm, Einsum and the integer forms."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .table import lowers


@lowers("MatMul")
def matmul(b: GraphBuilder, x: Value, y: Value) -> Value:
    left, right = rank_of(x), rank_of(y)
    if left == 0 or right == 0:
        raise b.fail("MatMul takes no scalars")
    if element_of(x) != element_of(y):
        raise b.fail(f"element types {element_of(x)} and {element_of(y)} differ")
    if right <= 2:
        return b.dot(x, y, ([left - 1], [0]))
    if left == 1:  # the vector is the row of a matrix, and the row goes away again
        product = matmul(b, b.reshape(x, [1, *shape_of(x)]), y)
        shape = shape_of(product)
        return b.reshape(product, [*shape[:-2], shape[-1]])
    batch = b.broadcast_shape(shape_of(x)[:-2], shape_of(y)[:-2])
    x = b.broadcast_to(x, [*batch, *shape_of(x)[-2:]])
    y = b.broadcast_to(y, [*batch, *shape_of(y)[-2:]])
    dims = list(range(len(batch)))
    return b.dot(x, y, ([len(batch) + 1], [len(batch)]), (dims, dims))


@lowers("Gemm", since=7)
def gemm(
    b: GraphBuilder,
    a: Value,
    w: Value,
    c: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    if rank_of(a) != 2 or rank_of(w) != 2:
        raise b.fail(f"Gemm takes matrices, got shapes {list(shape_of(a))} and {list(shape_of(w))}")
    product = b.dot(a, w, ([0 if transA else 1], [1 if transB else 0]))
    if alpha != 1.0:
        product = b.multiply(product, alpha if is_float(product) else int(alpha))
    if c is None or beta == 0.0:
        return product
    bias = c if beta == 1.0 else b.multiply(c, beta if is_float(c) else int(beta))
    return b.add(product, b.broadcast_to(bias, shape_of(product)))


@lowers("MatMulInteger")
def matmul_integer(
    b: GraphBuilder, x: Value, y: Value, x_zero: Value | None = None, y_zero: Value | None = None
) -> Value:
    left, right = b.convert(x, i32), b.convert(y, i32)
    if x_zero is not None:
        zero = b.convert(x_zero, i32)
        if rank_of(zero) == 1 and shape_of(zero)[0] > 1:  # one per row
            zero = b.expand_dims(zero, [1])
        left = b.subtract(left, zero)
    if y_zero is not None:
        right = b.subtract(right, b.convert(y_zero, i32))
    return matmul(b, left, right)


@lowers("Einsum")
def einsum(b: GraphBuilder, *values: Value, equation: str) -> Value:
    text = equation.replace(" ", "")
    terms, _, output = text.partition("->")
    labels = [_expand_ellipsis(term, rank_of(x)) for term, x in zip(terms.split(","), values, strict=True)]
    broadcast = max((sum(c.isdigit() for c in label) for label in labels), default=0)
    ellipsis = "".join(str(i) for i in range(10 - broadcast, 10))
    if "->" in text:
        output = output.replace("...", ellipsis)
    else:
        letters = sorted({c for c in "".join(labels) if c.isalpha()})
        output = ellipsis + "".join(c for c in letters if "".join(labels).count(c) == 1)
    result, names = values[0], labels[0]
    for i, (x, label) in enumerate(zip(values, labels, strict=True)):
        x, label = _diagonal(b, x, label)
        if not i:
            result, names = x, label
        if i:
            later = set(output) | {c for rest in labels[i + 1 :] for c in rest}
            result, names = _contract(b, result, names, x, label, later)
    spent = [i for i, c in enumerate(names) if c not in output]
    result = b.reduce("add", result, spent)
    names = "".join(c for c in names if c in output)
    return b.transpose(result, [names.index(c) for c in output])


def _diagonal(b: GraphBuilder, x: Value, label: str) -> tuple[Value, str]:
    """Where a label stands twice, the elements with equal places there."""
    for place, name in enumerate(label):
        first = label.index(name)
        if first < place:
            n = shape_of(x)[place]
            if shape_of(x)[first] != n:
                raise b.fail(f"label '{name}' has sizes {shape_of(x)[first]} and {n}")
            shape = [n if i in (first, place) else 1 for i in range(len(label))]
            same = b.compare(b.iota(shape, first, i32), b.iota(shape, place, i32), "EQ")
            kept = b.reduce("add", b.select(same, x, b.scalar(0, element_of(x))), [place])
            return _diagonal(b, kept, label[:place] + label[place + 1 :])
    return x, label


def _expand_ellipsis(term: str, rank: int) -> str:
    """The term with `...` written as digits, aligned at the end: 9 is the last broadcast dimension."""
    if "..." not in term:
        return term
    count = rank - (len(term) - 3)
    return term.replace("...", "".join(str(i) for i in range(10 - count, 10)))


def _contract(b: GraphBuilder, x: Value, left: str, y: Value, right: str, later: set[str]) -> tuple[Value, str]:
    """The product of two terms, summed over the labels that nothing later reads."""
    for label in set(left) & set(right):  # sizes of 1 broadcast
        n, m = shape_of(x)[left.index(label)], shape_of(y)[right.index(label)]
        if n != m:
            x, y = _widen(b, x, left.index(label), max(n, m)), _widen(b, y, right.index(label), max(n, m))
    shared = [c for c in left if c in right]
    batch, summed = [c for c in shared if c in later], [c for c in shared if c not in later]
    contracting = [left.index(c) for c in summed], [right.index(c) for c in summed]
    batching = [left.index(c) for c in batch], [right.index(c) for c in batch]
    free = [c for c in left if c not in shared] + [c for c in right if c not in shared]
    return b.dot(x, y, contracting, batching), "".join(batch + free)


def _widen(b: GraphBuilder, x: Value, axis: int, size: int) -> Value:
    return b.broadcast_to(x, [size if i == axis else n for i, n in enumerate(shape_of(x))])
