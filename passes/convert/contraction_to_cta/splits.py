"""Sums that several blocks share, of products with fewer tiles than a GPU has room for ("split-K").

Each part of the sum is one product more of the batch, with the same matrices from another column and row on. What
blocks add up stands in memory until a second kernel adds the parts and does what follows the product:

    func.func private @product(%a, %b, %bias, %c, %sums: memref<4x64x64xf32>) {
      cta.program {sizes = array<i64: 4, 64, 64>, ...} do { ... cta.store %sum, %sums ... }
    }
    func.func private @product_sums(%a, %b, %bias, %c, %sums: memref<4x64x64xf32>) {
      linalg.fill ins(%zero) outs(%c)
      linalg.generic {... (i, j, s) -> (s, i, j), (i, j, s) -> (i, j)} ins(%sums) outs(%c) { addf }
      linalg.generic {...} ins(%bias) outs(%c) { addf }
    }

Parts are equally long. Numbers are added in another order than in one sum, always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, f32
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ....compiler.layouts import Layout, coalesced, concatenated, cut
from ....compiler.locations import locate
from ....compiler.schedules import PROBLEM
from ....compiler.walking import all_ops
from ....dialects.cta import BorderAttr
from ....dialects.linalg import GenericOp, YieldOp
from ...gpu.kernels import LAMINA_KERNEL
from .pads import without_pads
from .problem import Matrix, Problem
from .schedule import PIECE, SCHEDULE

PARTIAL_SUMS = "cta.partial_sums"  # on a product: its last argument has room for the parts of its sum
OF_PRODUCT = (PARTIAL_SUMS, SCHEDULE, PROBLEM)  # what its second kernel is not told
MOST_SPLITS = 64


def cuts(problem: Problem, least: int) -> Iterator[int]:
    """Into how many parts of at least so many numbers the sum can be cut: 2 and more.

    Such that threads bring as many neighbours at a time as of the whole.
    """
    for splits in range(2, min(MOST_SPLITS, problem.k // least) + 1):
        parts = divided(problem, splits)
        if parts is not None and _widths(parts) == _widths(problem):
            yield splits


def _widths(problem: Problem) -> list[int]:
    return [max(matrix.view.width(mode, PIECE) for mode in (1, 2)) for matrix in (problem.left, problem.right)]


def partial_sums(problem: Problem, splits: int) -> MemRefType:
    """The buffer of the parts: as the product's result, so many times."""
    type_ = problem.contraction.outputs[0].type
    assert isinstance(type_, MemRefType)
    return MemRefType(f32, [splits, *type_.get_shape()])


def divided(problem: Problem, splits: int, sums: SSAValue | None = None) -> Problem | None:
    """The product with each part of the sum as a product of its own, into `sums`; None where it cannot be cut so.

    Without `sums` only to see whether it can be.
    """
    if problem.k % splits:
        return None
    part = problem.k // splits
    left, right = _cut_matrix(problem.left, 2, part), _cut_matrix(problem.right, 1, part)
    if left is None or right is None:
        return None
    batch, rows, columns = problem.result.layout.modes
    count = prod(partial_sums(problem, 1).get_shape())
    places = concatenated(coalesced(concatenated(batch, Layout(splits, count))), rows, columns)
    result = Matrix(sums or problem.contraction.outputs[0], places)
    return replace(problem, batch=problem.batch * splits, k=part, left=left, right=right, result=result, epilogue=())


def _cut_matrix(matrix: Matrix, mode: int, part: int) -> Matrix | None:
    """A matrix of which each batch has `part` numbers of the mode that is summed over."""
    layout = _cut_layout(matrix.layout, mode, part)
    borders: list[BorderAttr] = []
    for border in matrix.borders:
        cut_border = _cut_layout(border.layout.data, mode, part)
        if cut_border is None:
            return None
        borders.append(BorderAttr.of(cut_border, border.first.data, border.size.data))
    return None if layout is None else replace(matrix, layout=layout, borders=tuple(borders))


def _cut_layout(layout: Layout, mode: int, part: int) -> Layout | None:
    modes = layout.modes
    parts = cut(modes[mode], part)
    if parts is None:
        return None
    modes[mode], behind = parts
    modes[0] = coalesced(concatenated(modes[0], behind))
    return concatenated(*modes)


def add_sums(module: ModuleOp, function: FuncOp, problem: Problem) -> None:
    """Puts a kernel behind `function` that adds up the parts and does the rest of it, and calls it after each call."""
    kernel = function.clone()
    name = f"{function.sym_name.data}_sums"
    kernel.properties["sym_name"] = StringAttr(name)
    kernel.attributes = {key: told for key, told in kernel.attributes.items() if key not in OF_PRODUCT}
    kernel.attributes[LAMINA_KERNEL] = StringAttr("loops")
    block = kernel.body.block
    needed = {*without_pads(list(function.body.block.ops))[0]} - {problem.contraction}
    pairs = list(zip(function.body.block.ops, block.ops, strict=True))
    [product] = [copy for op, copy in pairs if op is problem.contraction]
    Rewriter.insert_op(_added(block.args[-1], product.operands[-1], problem.contraction), InsertPoint.before(product))
    for op, copy in reversed(pairs):
        if op not in needed:
            copy.detach()
            copy.erase()
    Rewriter.insert_op(kernel, InsertPoint.after(function))
    callers = [caller for caller in module.ops if LAMINA_KERNEL not in caller.attributes]  # kernels call nothing
    for call in [op for caller in callers for op in all_ops(caller) if isinstance(op, CallOp)]:
        if call.callee.string_value() == function.sym_name.data:
            after = CallOp(name, list(call.operands), [])
            after.location = call.location
            Rewriter.insert_op(after, InsertPoint.after(call))


def _added(sums: SSAValue, result: SSAValue, product: GenericOp) -> GenericOp:
    """The sum of all parts, added to what the result holds."""
    assert isinstance(result.type, MemRefType)
    rank = len(result.type.get_shape())
    loops = [AffineExpr.dimension(d) for d in range(rank)]
    maps = [AffineMap(rank + 1, 0, (AffineExpr.dimension(rank), *loops)), AffineMap(rank + 1, 0, tuple(loops))]
    block = Block(arg_types=[f32, f32])
    total = arith.AddfOp(block.args[1], block.args[0])
    block.add_ops([total, YieldOp(total.result)])
    op = GenericOp.of([sums], [result], maps, ["parallel"] * rank + ["reduction"], Region(block))
    locate(op, product.location)
    return op
