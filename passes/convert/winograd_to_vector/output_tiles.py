"""The output transform: Y += AT M A of every tile, and what is done with Y while it is in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, MemRefType, VectorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....dialects import vector
from ....dialects.affine.linear_forms import access, memref_shape, row_major_strides
from ....dialects.linalg import FillOp, GenericOp, WinogradOutputTransformOp, YieldOp
from ....dialects.linalg.winograd import matrices
from ..contraction_to_vector.loops import D, Loops
from .tiles import Channels, Index, Run, Scratch, Walk, between, runs, splat, transform


@dataclass(frozen=True)
class Output:
    """The transform, what its destination begins with (None: what it holds), and the ops on its result."""

    op: WinogradOutputTransformOp
    fill: FillOp | None
    epilogue: Sequence[GenericOp]


class OutputTiles:
    """Writes the loops of one transform and its epilogue. `tiles` is where its input is, `tile_strides` how."""

    def __init__(self, output: Output, code: Loops, machine: Machine):
        op = output.op
        tiles, image = memref_shape(op.input), memref_shape(op.output)
        if image is None or tiles is None:
            raise LaminaError("a transform of buffers that are not plain", where=op)
        self.output, self.code = output, code
        self.m, self.alpha = op.m, op.alpha
        self.matrix = matrices(op.m).output
        self.batch, self.height, self.width, count = image
        self.tile_rows, self.tile_columns = tiles[2:4]
        self.image_strides, self.tile_strides = row_major_strides(image), row_major_strides(tiles)
        self.work = 4 * prod(tiles)
        self.tiles = code.flat(op.input)
        self.runs = runs(self.tile_columns, lambda column: (0, min(self.m, self.width - column * self.m)))
        arrays = [op.output, *(v for generic in output.epilogue for v in generic.operands)]
        self.flats = {v: code.flat(v) for v in dict.fromkeys(arrays) if isinstance(v.type, MemRefType)}
        self.walk = Walk(code, Channels.of(count, machine, self.may_overlap()))

    def may_overlap(self) -> bool:
        """Whether outputs may be computed twice: nothing that is written here is read before."""
        if self.output.fill is None:
            return False
        written = {self.output.op.output}
        for generic in self.output.epilogue:
            read = [v for v, argument in zip(generic.operands, generic.body.block.args, strict=True) if argument.uses]
            if any(v in generic.outputs and v not in written for v in read):
                return False
            written.update(generic.outputs)
        return True

    def write(self, cores: int) -> None:
        """All rows of tiles."""
        self.walk.rows(self.batch, self.tile_rows, self.work, cores, lambda n, row: self.row(n, row, n, row))

    def row(self, n: Index, row: Index, from_n: Index, from_row: Index) -> None:
        """One row of tiles of the image, and where it comes from."""
        scratch = Scratch(self.code, self.m, self.alpha, self.walk.channels.type)

        def tile(run: Run, column: Index) -> None:
            self.walk.channels.each(
                self.code, lambda c: self.tile(scratch, run, (n, row, column, c), (from_n, from_row, column, c))
            )

        self.walk.columns(self.runs, tile)

    def tile(self, scratch: Scratch, run: Run, place: Sequence[Index], source: Sequence[Index]) -> None:
        """Both passes over one tile's vector of channels."""
        zero = self.walk.zero
        assert zero is not None

        def along_column(j: SSAValue) -> None:
            walk_a, walk_b, walk_i, walk_j, walk_n, _ = self.tile_strides
            start = D(0) * walk_n + D(1) * walk_i + D(2) * walk_j + D(3) + D(4) * walk_b
            values = [self.walk.load(self.tiles, start + a * walk_a, *source, j) for a in range(self.alpha)]
            for k, value in enumerate(transform(self.code, self.matrix, values, zero)):
                scratch.store(value, k, D(0), j)

        def along_row(k: SSAValue) -> None:
            values = [scratch.load(D(0), j, k) for j in range(self.alpha)]
            outputs = transform(self.code, self.matrix, values, zero)
            at = _Place(self, (*place, k))
            for number in range(run.high):
                at.finish(number, outputs[number])

        none, inside = AffineExpr.constant(0), AffineExpr.constant(self.height) - D(0) * self.m
        between(self.code, [none], [AffineExpr.constant(self.alpha)], None, along_column)
        between(self.code, [none], [AffineExpr.constant(self.m), inside], place[1], along_row)


class _Place:
    """A row of outputs of one tile: where it lies in each array, what was loaded for it already."""

    def __init__(self, tiles: OutputTiles, operands: Sequence[Index]):
        self.tiles = tiles
        self.operands = operands
        self.loaded: dict[tuple[SSAValue, AffineExpr], SSAValue] = {}

    def position(self, strides: Sequence[int], offset: int, number: int) -> AffineExpr:
        """The flat position of output `number` of the row, for an array that walks so along N, H, W, C."""
        y, x = D(1) * self.tiles.m + D(4), D(2) * self.tiles.m + number
        result = AffineExpr.constant(offset)
        for index, stride in zip((D(0), y, x, D(3)), strides, strict=True):
            result = result + index * stride if stride else result
        return result

    def finish(self, number: int, value: SSAValue) -> None:
        """Adds what the destination begins with, applies the epilogue and stores."""
        output = self.tiles.output
        here = self.position(self.tiles.image_strides, 0, number)
        held = {output.op.output: self.begun(value, here)}
        for generic in output.epilogue:
            self.apply(generic, number, held)
        for array, result in held.items():
            if array in self.tiles.flats:
                self.tiles.walk.store(result, self.tiles.flats[array], here, *self.operands)

    def begun(self, value: SSAValue, here: AffineExpr) -> SSAValue:
        """The output plus the destination's old or filled value."""
        output, code = self.tiles.output, self.tiles.code
        if output.fill is None:
            old = self.tiles.walk.load(self.tiles.flats[output.op.output], here, *self.operands)
            return code(arith.AddfOp(value, old)).result
        constant = output.fill.value.owner
        if isinstance(constant, arith.ConstantOp) and isinstance(constant.value, FloatAttr):
            number = constant.value.value.data
            if number == 0:
                return value
            return code(arith.AddfOp(value, splat(code, number, self.tiles.walk.channels.type))).result
        wide = code(vector.BroadcastOp(output.fill.value, self.tiles.walk.channels.type)).vector
        return code(arith.AddfOp(value, wide)).result

    def apply(self, op: GenericOp, number: int, held: dict[SSAValue, SSAValue]) -> None:
        """Applies `op` to what is `held` of the arrays, and holds what it writes."""
        widener = vector.Widener(self.tiles.code.builder, self.tiles.walk.channels.lanes)
        for argument, value, map in zip(op.body.block.args, op.operands, op.maps, strict=True):
            if value in held:
                widener.values[argument] = held[value]
            elif not isinstance(value.type, MemRefType):
                widener.values[argument] = value
            elif argument.uses:
                form = access(value, map)
                if form is None:
                    raise LaminaError("an epilogue reads an array in a way that is not linear", where=op)
                widener.values[argument] = self.load(value, form.coefficients, form.offset, number)
        for inner in op.body.block.ops:
            if isinstance(inner, YieldOp):
                for target, result in zip(op.outputs, inner.operands, strict=True):
                    held[target] = widener.vector(widener.value(result))
            else:
                widener.widen(inner)

    def load(self, value: SSAValue, strides: Sequence[int], offset: int, number: int) -> SSAValue:
        """The elements of an array at this output: a scalar where all channels share one. Each is loaded once."""
        expr = self.position(strides, offset, number)
        flat, tiles = self.tiles.flats[value], self.tiles
        if (flat, expr) not in self.loaded:
            if strides[3]:
                assert isinstance(flat.type, MemRefType)
                type_ = VectorType(flat.type.element_type, [tiles.walk.channels.lanes])
                otherwise = None
                if tiles.walk.mask is not None:
                    none = tiles.code(arith.ConstantOp(FloatAttr(0.0, flat.type.element_type))).result
                    otherwise = tiles.code(vector.BroadcastOp(none, type_)).vector
                self.loaded[flat, expr] = tiles.code.load_vector(
                    type_, flat, expr, *self.operands, mask=tiles.walk.mask, otherwise=otherwise
                )
            else:
                self.loaded[flat, expr] = tiles.code.load(flat, expr, *self.operands)
        return self.loaded[flat, expr]
