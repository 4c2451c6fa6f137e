"""What a contraction kernel computes: its dimensions by role, its operands as linear forms, its epilogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import BFloat16Type, Float16Type, MemRefType
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.traits import ConstantLike

from ....dialects import linalg
from ....dialects.affine.linear_forms import Linear, access, linear_form, memref_shape, row_major_strides, view_shape
from ....dialects.dot.ops import group_of, sum_type
from ....dialects.linalg.contraction import multiply_add
from .packing import Packing, packing_of


class Unsupported(Exception):
    """A kernel whose shape is not that of a contraction; the message says why."""


@dataclass(frozen=True)
class Panels:
    """B in panels of `lanes` columns: panel p begins at p * stride, its lanes are contiguous.

    Each lane holds `group` neighbours along the innermost loop over k.
    """

    lanes: int
    stride: int
    group: int = 1


@dataclass(frozen=True)
class Operand:
    """An array and how the contraction's loops walk it."""

    value: SSAValue
    form: Linear

    @property
    def element(self) -> Attribute:
        """The element type."""
        assert isinstance(self.value.type, MemRefType)
        return self.value.type.element_type


@dataclass(frozen=True)
class Contraction:
    """C[batch, m, n] += A[batch, m, k] * B[batch, k, n]; dimensions of extent 1 have no role.

    `batch`, `m` and `k` are loops in order, outermost first; `n` is the one that runs along vectors (-1: extent 1).
    """

    op: linalg.GenericOp
    sizes: tuple[int, ...]
    a: Operand
    b: Operand
    c: Operand
    a_argument: int
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: int
    k: tuple[int, ...]
    panels: Panels | None
    sum: Operation
    product: Operation | None  # the multiplication of two floats that the sum makes a fused multiply-add

    def extent(self, dims: Sequence[int]) -> int:
        """How many points the dimensions span."""
        result = 1
        for d in dims:
            result *= self.sizes[d]
        return result

    @property
    def columns(self) -> int:
        """The extent of n."""
        return 1 if self.n < 0 else self.sizes[self.n]

    @property
    def body(self) -> Block:
        """The scalar computation: (left, right, sum so far)."""
        return self.op.body.block


@dataclass(frozen=True)
class Kernel:
    """A contraction kernel: packings of B, the value that sums begin with, the contraction, what is done with sums."""

    function: func.FuncOp
    packings: tuple[Packing, ...]
    fill: linalg.FillOp | None
    contraction: Contraction
    epilogue: tuple[linalg.GenericOp, ...]


def analyse(function: func.FuncOp) -> Kernel:
    """The kernel in `function`. Raises Unsupported when it is not one."""
    block = function.body.block
    packings: list[Packing] = []
    fills: list[linalg.FillOp] = []
    contraction: Contraction | None = None
    epilogue: list[linalg.GenericOp] = []
    for op in block.ops:
        match op:
            case linalg.FillOp() if contraction is None:
                fills.append(op)
            case linalg.GenericOp() if contraction is None and (packing := packing_of(op, fills)):
                packings.append(packing)
                fills = [fill for fill in fills if fill is not packing.fill]
            case linalg.GenericOp() if contraction is None:
                contraction = analyse_contraction(op)
            case linalg.GenericOp():
                epilogue.append(op)
            case func.ReturnOp():
                pass
            case _ if op.has_trait(ConstantLike) or not op.operands or op.name.startswith("memref."):
                pass
            case _:
                raise Unsupported(f"'{op.name}' is not part of a contraction kernel")
    if contraction is None:
        raise Unsupported("there is no contraction")
    check_groups(contraction)
    own = [fill for fill in fills if fill.output is contraction.c.value]
    if len(own) != len(fills) or len(own) > 1:
        raise Unsupported("it fills an array other than the sums")
    for generic in epilogue:
        check_epilogue(contraction, generic)
    return Kernel(function, tuple(packings), own[0] if own else None, contraction, tuple(epilogue))


def analyse_contraction(op: linalg.GenericOp) -> Contraction:
    """The roles of the dimensions of `op`. Raises Unsupported when it is no contraction."""
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        raise Unsupported("a contraction has two inputs and one output")
    dims = len(op.iterators)
    maps = op.maps
    sizes = loop_extents(op)
    forms = [access(value, map) for value, map in zip((*op.inputs, *op.outputs), maps, strict=True)]
    packed = [packed_access(value, map) for value, map in zip(op.inputs, maps[:2], strict=True)]
    c = forms[2]
    if c is None:
        raise Unsupported("the output's access is not linear")
    b_argument = 1
    if packed[0] is not None and packed[1] is None:
        b_argument = 0
    elif packed[1] is None:
        b_argument = vector_side([form for form in forms[:2]], c, op.iterators, sizes)
    a = forms[1 - b_argument]
    panels: Panels | None = None
    found = packed[b_argument]
    if found is not None:
        b, n, panels = found
    else:
        b = forms[b_argument]
        n = next((d for d in range(dims) if b and along_vectors(d, b, c, op.iterators, sizes)), -1)
    if a is None or b is None:
        raise Unsupported("an input's access is not linear")
    live = [d for d in range(dims) if sizes[d] > 1]
    if n >= 0 and (a.coefficients[n] or (sizes[n] > 1 and c.coefficients[n] != 1)):
        raise Unsupported("the packed dimension is not the output's innermost")
    parallel = sorted((d for d in live if op.iterators[d] == "parallel" and d != n), key=lambda d: -c.coefficients[d])
    m = tuple(d for d in parallel if a.coefficients[d] and not b.coefficients[d])
    k = sorted((d for d in live if op.iterators[d] == "reduction"), key=lambda d: -b.coefficients[d])
    sum_, product = accumulation(op.body.block)
    operands = [Operand(op.inputs[1 - b_argument], a), Operand(op.inputs[b_argument], b), Operand(op.outputs[0], c)]
    return Contraction(
        op,
        sizes,
        operands[0],
        operands[1],
        operands[2],
        a_argument=1 - b_argument,
        batch=tuple(d for d in parallel if d not in m),
        m=m,
        n=n,
        k=tuple(k),
        panels=panels,
        sum=sum_,
        product=product,
    )


def check_groups(contraction: Contraction) -> None:
    """Raises Unsupported where B is packed in groups that `dot.product` cannot take."""
    panels = contraction.panels
    if panels is None or panels.group == 1:
        return
    elements = {contraction.a.element, contraction.b.element}
    if len(elements) > 1 or group_of(contraction.b.element) != panels.group:
        raise Unsupported("the groups of B are not what fits a lane")
    if multiply_add(contraction.op) is None or contraction.c.element != sum_type(contraction.b.element):
        raise Unsupported("groups add up in 32 bits")
    inner = contraction.k[-1] if contraction.k else -1
    if inner < 0 or contraction.a.form.coefficients[inner] != 1:
        raise Unsupported("A is not contiguous along the groups of B")
    if contraction.b.form.coefficients[inner] != panels.lanes:
        raise Unsupported("the groups of B are not along its innermost k")


def loop_extents(op: linalg.GenericOp) -> tuple[int, ...]:
    """The trip count of every loop, from the shapes that a lone dimension indexes."""
    sizes: dict[int, int] = {}
    for value, map in zip((*op.inputs, *op.outputs), op.maps, strict=True):
        shape = view_shape(value)
        if shape is None:
            raise Unsupported("an operand is not a memref of static shape and identity layout, nor a part of one")
        for expr, size in zip(map.results, shape, strict=True):
            if isinstance(expr, AffineDimExpr):
                sizes[expr.position] = size
    if len(sizes) != len(op.iterators):
        raise Unsupported("a loop has no extent")
    return tuple(sizes[d] for d in range(len(sizes)))


def along_vectors(d: int, b: Linear, c: Linear, iterators: Sequence[str], sizes: Sequence[int]) -> bool:
    """Whether dimension d is contiguous in both the output and B."""
    return iterators[d] == "parallel" and sizes[d] > 1 and b.coefficients[d] == 1 and c.coefficients[d] == 1


def vector_side(forms: Sequence[Linear | None], c: Linear, iterators: Sequence[str], sizes: Sequence[int]) -> int:
    """Which of two unpacked inputs is B: the one that runs with the output's innermost dimension."""
    for side in (1, 0):
        form, other = forms[side], forms[1 - side]
        if form is None or other is None:
            continue
        for d in range(len(sizes)):
            if along_vectors(d, form, c, iterators, sizes) and not other.coefficients[d]:
                return side
    raise Unsupported("no input is contiguous along the output's innermost dimension")


def packed_access(value: SSAValue, map: AffineMap) -> tuple[Linear, int, Panels] | None:
    """The form of `B[.., n floordiv P, k.., n mod P]` without n, then n and the panels; None for other accesses.

    Also of `B[.., n floordiv P, k.., k floordiv G, n mod P, k mod G]`: right for every k that G divides.
    """
    shape = memref_shape(value)
    if shape is None or not map.results:
        return None
    tiles = [tile for expr in map.results[-2:] if (tile := inner_tile(expr)) is not None]
    if not tiles or len(tiles) > len(map.results) // 2 or shape[-len(tiles) :] != tuple(size for _, size in tiles):
        return None
    (n, lanes), group = tiles[0], tiles[1][1] if len(tiles) == 2 else 1
    strides = row_major_strides(shape)
    exprs: list[AffineExpr] = []
    steps: list[int] = []
    stride = None
    for expr, step in zip(map.results[: -len(tiles)], strides, strict=False):
        if expr == AffineDimExpr(n) // lanes:
            stride = step
        elif len(tiles) == 2 and expr == AffineDimExpr(tiles[1][0]) // group:
            exprs.append(AffineDimExpr(tiles[1][0]))
            steps.append(step // group)
        else:
            exprs.append(expr)
            steps.append(step)
    form = linear_form(exprs, steps, map.num_dims)
    if stride is None or form is None or form.coefficients[n]:
        return None
    return form, n, Panels(lanes, stride, group)


def inner_tile(expr: AffineExpr) -> tuple[int, int] | None:
    """(d, size) where the subscript is `d mod size`."""
    match expr:
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mod, AffineDimExpr(d), AffineConstantExpr(size)):
            return d, size
        case _:
            return None


def accumulation(block: Block) -> tuple[Operation, Operation | None]:
    """The op that adds to the sum, and the product it fuses with."""
    total = block.args[2]
    yielded = block.last_op
    if not isinstance(yielded, YieldOp) or len(yielded.operands) != 1:
        raise Unsupported("the body yields one value")
    add = yielded.operands[0].owner
    if not isinstance(add, arith.AddfOp | arith.AddiOp) or len(list(total.uses)) != 1 or total not in add.operands:
        raise Unsupported("the body does not add to the sum")
    term = next((o for o in add.operands if o is not total), total).owner
    if isinstance(term, arith.MulfOp) and len(list(term.result.uses)) == 1:
        return add, term
    return add, None


def is_grouped(contraction: Contraction) -> bool:
    """Whether lanes of B hold groups of neighbours along k."""
    return contraction.panels is not None and contraction.panels.group > 1


def sums_in_f32(contraction: Contraction) -> bool:
    """Whether the sums are of a 16-bit float type and so are kept in f32 until they are stored."""
    return isinstance(contraction.c.element, Float16Type | BFloat16Type) and contraction.product is not None


def check_epilogue(contraction: Contraction, op: linalg.GenericOp) -> None:
    """Raises Unsupported unless `op` is elementwise on the contraction's output domain."""
    rank = len(contraction.op.maps[2].results)
    if any(kind != "parallel" for kind in op.iterators) or len(op.iterators) != rank:
        raise Unsupported("the epilogue is not elementwise")
    if any(inner.regions for inner in op.body.block.ops):
        raise Unsupported("the epilogue has control flow inside")
    shape = view_shape(contraction.c.value)
    for value, map in zip(op.outputs, op.maps[len(op.inputs) :], strict=True):
        if map != AffineMap.identity(rank) or view_shape(value) != shape:
            raise Unsupported("the epilogue writes other elements than it reads")
    for value, map in zip(op.inputs, op.maps, strict=False):
        if access(value, map) is None:
            raise Unsupported("an access of the epilogue is not linear")
