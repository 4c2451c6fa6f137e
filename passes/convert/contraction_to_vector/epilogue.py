"""What happens to sums while they are in registers: bias, residual, activation, casts."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, UnitAttr, VectorType, bf16
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....dialects import linalg, vector
from ....dialects.affine.linear_forms import Linear, access
from ....dialects.arith.marks import FLUSHES
from ....dialects.memref import AllocaOp
from ...bufferization.layout import scratch_of
from .analysis import Contraction, Kernel, Unsupported, is_grouped
from .spot import TilePlace


def on_loops(contraction: Contraction, form: Linear) -> Linear:
    """An access over the output's dimensions as one over the contraction's loops."""
    coefficients = [0] * len(contraction.sizes)
    for expr, coefficient in zip(contraction.op.maps[2].results, form.coefficients, strict=True):
        if isinstance(expr, AffineDimExpr):
            coefficients[expr.position] += coefficient
    return Linear(tuple(coefficients), form.offset)


class Epilogue:
    """The elementwise ops of a kernel, applied to one row of one panel of a tile at a time."""

    def __init__(self, kernel: Kernel, flats: Mapping[SSAValue, SSAValue]):
        self.contraction = kernel.contraction
        self.flats = flats
        self.reads: dict[linalg.GenericOp, list[tuple[BlockArgument, SSAValue, Linear | None]]] = {}
        held = {self.contraction.c.value}
        for op in kernel.epilogue:
            arrays = zip(op.body.block.args, (*op.inputs, *op.outputs), op.maps, strict=True)
            self.reads[op] = [
                (argument, value, None if value in held else self.form(value, map))
                for argument, value, map in arrays
                if value in held or argument.uses
            ]
            held.update(op.outputs)
        if _is_of_pairs(self.contraction):
            _mark_flushing(kernel)

    def apply(self, place: TilePlace, row: int, panel: int, sums: SSAValue) -> dict[SSAValue, SSAValue]:
        """The vectors to store, by array, given the sums of this row and panel."""
        held = {self.contraction.c.value: sums}
        for op in self.reads:
            self.apply_one(op, place, row, panel, held)
        return held

    def form(self, value: SSAValue, map: AffineMap) -> Linear:
        """Where an array lies, over the contraction's loops."""
        form = access(value, map)
        assert form is not None
        return on_loops(self.contraction, form)

    def apply_one(
        self, op: linalg.GenericOp, place: TilePlace, row: int, panel: int, held: dict[SSAValue, SSAValue]
    ) -> None:
        """Applies `op` to what is `held` of the arrays, and holds what it writes."""
        widener = vector.Widener(place.code.builder, place.lanes, place.shared)
        for argument, value, form in self.reads[op]:
            widener.values[argument] = held[value] if form is None else self.load(place, row, panel, value, form)
        for inner in op.body.block.ops:
            match inner:
                case linalg.IndexOp():
                    expr = self.contraction.op.maps[2].results[inner.dim.value.data]
                    assert isinstance(expr, AffineDimExpr)
                    widener.values[inner.result] = self.index(place, row, panel, expr.position)
                case YieldOp():
                    for output, result in zip(op.outputs, inner.operands, strict=True):
                        held[output] = widener.vector(widener.value(result))
                case arith.ConstantOp():
                    widener.values[inner.result] = place.once(inner, lambda op=inner: place.code(op.clone()).result)
                case _:
                    widener.widen(inner)

    def load(self, place: TilePlace, row: int, panel: int, value: SSAValue, form: Linear) -> SSAValue:
        """The elements of `value` at this row and panel: a scalar when all columns share one."""
        expr = place.position(form, row, panel)
        flat = self.flats[value]
        if self.contraction.n < 0 or not form.coefficients[self.contraction.n]:
            return place.once((flat, expr), lambda: place.code.load(flat, expr, *place.operands))
        assert isinstance(flat.type, MemRefType)
        return place.load(flat, flat.type.element_type, expr)

    def index(self, place: TilePlace, row: int, panel: int, dim: int) -> SSAValue:
        """The index of loop `dim`: a vector when it is the columns'."""
        form = Linear(tuple(int(d == dim) for d in range(len(self.contraction.sizes))))
        first = place.code.index(place.position(form, row, panel), *place.operands)
        if dim != self.contraction.n:
            return first
        step = place.code(vector.StepOp(place.lanes)).result
        wide = place.code(vector.BroadcastOp(first, VectorType(first.type, [place.lanes]))).vector
        return place.code(arith.AddiOp(step, wide)).result


def _is_of_pairs(contraction: Contraction) -> bool:
    """Whether it multiplies pairs of bfloat16: what does takes subnormal numbers for zeros, and gives zeros."""
    return is_grouped(contraction) and contraction.a.element == bf16


def _mark_flushing(kernel: Kernel) -> None:
    """Marks roundings to bfloat16 of what comes of sums of pairs."""
    of_sums = {kernel.contraction.c.value}
    for op in kernel.epilogue:
        block = op.body.block
        arrays = zip(block.args, (*op.inputs, *op.outputs), strict=True)
        of_sums.update(argument for argument, value in arrays if value in of_sums)
        for inner in block.ops:
            if of_sums.isdisjoint(inner.operands):
                continue
            of_sums.update(inner.results)
            if isinstance(inner, YieldOp):
                results = zip(op.outputs, inner.operands, strict=True)
                of_sums.update(output for output, result in results if result in of_sums)
            elif isinstance(inner, arith.TruncFOp) and inner.result.type == bf16:
                inner.attributes[FLUSHES] = UnitAttr()


def check(kernel: Kernel) -> None:
    """Raises Unsupported where the epilogue reads arrays in a way that a tile in registers does not serve."""
    contraction = kernel.contraction
    written = {contraction.c.value}
    for op in kernel.epilogue:
        for value, map in zip(op.inputs, op.maps, strict=False):
            form = access(value, map)
            if form is None:
                raise Unsupported("an access of the epilogue is not linear")
            if value in written and map != op.maps[-1]:
                raise Unsupported("the epilogue reads sums of other elements")
            if contraction.n >= 0 and on_loops(contraction, form).coefficients[contraction.n] not in (0, 1):
                raise Unsupported("the epilogue reads an array across its rows")
        written.update(op.outputs)


def overlap_is_harmless(kernel: Kernel) -> bool:
    """Whether elements may be computed twice: no array is read before this kernel writes to it."""
    if kernel.fill is None:
        return False
    held = {kernel.contraction.c.value}
    written = held.union(*(op.outputs for op in kernel.epilogue))
    for op in kernel.epilogue:
        values = zip(op.body.block.args, (*op.inputs, *op.outputs), strict=True)
        if any(argument.uses and value in written and value not in held for argument, value in values):
            return False
        held.update(op.outputs)
    return True


def unread_arrays(kernel: Kernel) -> set[SSAValue]:
    """The kernel's own memory that only its epilogue reads: what is meant for it may stay in registers."""
    function = kernel.function
    own: set[SSAValue] = {op.memref for op in function.body.block.ops if isinstance(op, AllocaOp)}
    own.update(scratch_of(function))
    members = {kernel.fill, kernel.contraction.op, *kernel.epilogue}
    structured = linalg.GenericOp | linalg.WinogradOp
    own = {
        value
        for value in own
        if all(use.operation in members or not isinstance(use.operation, structured) for use in value.uses)
    }
    written = {value for op in kernel.epilogue for value in op.outputs}
    return (own & written) | (own & {kernel.contraction.c.value} if kernel.fill is not None else set())
