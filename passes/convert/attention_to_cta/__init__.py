"""`convert-attention-to-cta`: attention becomes programs of blocks on tiles, a block of queries against all keys.

Before:
    linalg_ext.attention {causal = 0, ...} ins(%q, %k, %v) outs(%o) { mulf 0.125 }
After:
    cta.program {sizes = array<i64: 12, 1024, 64>, tile = array<i64: 1, 64, 64>, schedule = ...} do {
    ^bb0(%b: index, %m: index, %n: index):
      %queries = cta.load %q[%b, %m, 0]
      %end = affine.min (%m + 64, 1024)
      %sum, %high, %total = affine.for %s = 0 to %end step 64 iter_args(%acc = 0.0, %top = -inf, %weights = 0.0) {
        %scores = cta.dot %queries, (cta.load %k[%b, 0, %s]), 0.0
        %seen = cta.map %scores, (cta.numbers %s), (cta.numbers %m) { mulf 0.125; -inf behind the query }
        %now = cta.map %top, (cta.reduce %seen {kind = "maximumf"}) { maximumf }
        %p = cta.map %seen, %now { exp2 of the difference }
        %factor = cta.map %top, %now { exp2 of the difference }      // what remains of former sums
        ...
        %d = cta.dot %p, (cta.load %v[%b, %s, 0]), (cta.map %acc, %factor { mulf })
        affine.yield %d, %now, %weights_now
      }
      cta.store (cta.map %sum, %total { over the sum of weights })
    }

That is FlashAttention's schedule (Dao 2023): scores never leave the block, the softmax goes along with the keys. With
16-bit operands warps multiply, or warpgroups where the machine has them, and weights stay in registers between the two
products; f32 is multiplied by threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import e, inf, log2, prod
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    TensorType,
    f32,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.locations import locate
from ....dialects.affine import ForOp, MinOp
from ....dialects.affine import YieldOp as LoopYieldOp
from ....dialects.arith import TruncFOp
from ....dialects.cta import (
    DotOp,
    LoadOp,
    MapOp,
    NumbersOp,
    ProgramOp,
    ReduceOp,
    StoreOp,
    ViewOp,
    ViewType,
    YieldOp,
)
from ....dialects.cta.ops import tile_type
from ....dialects.linalg_ext import AttentionOp
from ...gpu.kernels import leave
from ..contraction_to_cta.schedule import SCHEDULE, WGMMA, Schedule
from .schedule import PANEL, layout_of, padded, schedule_of, tile_element

OpT = TypeVar("OpT", bound=Operation)
Body = Callable[..., SSAValue]  # appends to a map's body: a function of its arguments


@dataclass(frozen=True)
class ConvertAttentionToCta(ModulePass):
    """Attention becomes programs of blocks on tiles."""

    name = "convert-attention-to-cta"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.body.blocks:
                block = function.body.block
                found = [inner for inner in block.ops if isinstance(inner, AttentionOp) and not inner.results]
                for attention in found:
                    if any(not isinstance(o, AttentionOp | arith.ConstantOp | ReturnOp) for o in block.ops):
                        raise LaminaError("attention beside other computations in one kernel", where=attention)
                    given = function.attributes.get(SCHEDULE)
                    own = Schedule.of(given) if isinstance(given, DictionaryAttr) else schedule_of(attention, machine)
                    leave(block, [convert(attention, own)])


def convert(op: AttentionOp, schedule: Schedule) -> ProgramOp:
    """The program that does what `op` does."""
    ranges = op.ranges()
    program = _Program(op, schedule)
    program.write()
    sizes = (prod(ranges[:-4]), ranges[-4], ranges[-1])
    made = ProgramOp(sizes, (1, schedule.rows, schedule.columns), schedule.attribute, Region(program.body))
    locate(made, op.location)
    return made


class _Program:
    def __init__(self, op: AttentionOp, schedule: Schedule):
        self.op, self.s, self.ranges = op, schedule, op.ranges()
        loops = op.loops
        self.m, self.k1, self.k2, self.n = range(loops - 4, loops)
        self.body = ProgramOp.empty_body()
        self.b = Builder(InsertPoint.at_end(self.body))

    def put(self, op: OpT) -> OpT:
        """Appends an op."""
        return self.b.insert(op)

    def view(self, number: int, rows: int, columns: int) -> ViewOp:
        """An operand as matrices over two of the loops."""
        value = self.op.operands[number]
        return self.put(ViewOp(value, ViewType.of(tile_element(value), layout_of(self.op, number, rows, columns))))

    def filled(self, number: float, rows: int, columns: int) -> SSAValue:
        """A tile that is the same everywhere."""
        type_ = TensorType(f32, [rows, columns])
        return self.put(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [number]))).result

    def load(self, view: ViewOp, at: Sequence[SSAValue], rows: int, columns: int) -> SSAValue:
        """A tile of a view."""
        assert isinstance(view.result.type, ViewType)
        type_ = TensorType(view.result.type.element_type, [rows, columns])
        return self.put(LoadOp(view.result, [self.body.args[0], *at], type_)).result

    def map(self, inputs: Sequence[SSAValue], body: Body, element: Attribute = f32) -> SSAValue:
        """A tile computed place by place."""
        types = [tile_type(value) for value in inputs]
        shape = [max(sizes) for sizes in zip(*(type_.get_shape() for type_ in types), strict=True)]
        block = Block(arg_types=[type_.element_type for type_ in types])
        outer, self.b = self.b, Builder(InsertPoint.at_end(block))
        self.put(YieldOp([body(*block.args)]))
        self.b = outer
        return self.put(MapOp(inputs, TensorType(element, shape), Region(block))).result

    def number(self, value: float) -> SSAValue:
        """A constant f32."""
        return self.put(arith.ConstantOp(FloatAttr(value, f32))).result

    def write(self) -> None:
        """The whole program."""
        s = self.s
        query = self.view(0, self.m, self.k1)
        keys, values = self.view(1, self.k1, self.k2), self.view(2, self.k2, self.n)
        others = [self.view(3 + i, self.m, self.k2) for i in range(len(self.op.inputs) - 3)]
        output = self.view(len(self.op.inputs), self.m, self.n)
        zero = self.put(arith.ConstantOp(IntegerAttr(0, IndexType()))).result
        row = self.body.args[1]
        depth = padded(self.ranges[self.k1])
        if s.unit == WGMMA:
            depth = -(-depth // PANEL) * PANEL
        queries = self.load(query, [row, zero], s.rows, depth)
        inits = [self.filled(0.0, s.rows, s.columns), self.filled(-inf, s.rows, 1), self.filled(0.0, s.rows, 1)]
        none = self.filled(0.0, s.rows, s.depth)
        block = Block(arg_types=[IndexType(), *(value.type for value in inits)])
        block.args[0].name_hint = "keys"
        loop = self.loop(block, inits)
        outer, self.b = self.b, Builder(InsertPoint.at_end(block))
        first, total, highest, weights = block.args
        key = self.load(keys, [zero, first], depth, s.depth)
        value = self.load(values, [first, zero], s.depth, s.columns)
        scores = self.scores(self.put(DotOp(queries, key, none)).result, others, first)
        self.put(LoopYieldOp.get(*self.step(scores, value, [total, highest, weights])))
        self.b = outer
        self.put(loop)
        self.finish(loop.results[0], loop.results[2], output)

    def loop(self, block: Block, inits: Sequence[SSAValue]) -> ForOp:
        """The loop over the keys: with `causal` it ends with those that the last query sees."""
        keys, seen = self.ranges[self.k2], self.op.seen
        if seen is None:
            return ForOp.of(0, keys, block, step=self.s.depth, inits=inits)
        d0 = AffineExpr.dimension(0)
        last = AffineMap(1, 0, (d0 + (self.s.rows + seen), AffineExpr.constant(keys)))
        end = self.put(MinOp([self.body.args[1]], AffineMapAttr(last))).result
        types = [value.type for value in inits]
        own = AffineMapAttr(AffineMap(1, 0, (d0,)))
        return ForOp.from_region([], [end], inits, types, 0, own, Region(block), self.s.depth)

    def scores(self, scores: SSAValue, others: Sequence[ViewOp], first: SSAValue) -> SSAValue:
        """What the op's body makes of scores; -inf for keys behind the query, and behind the last key."""
        body, row = self.op.body.block, self.body.args[1]
        beside: list[SSAValue] = []
        for view in others:
            assert isinstance(view.result.type, ViewType)
            rows, columns = (any(stride for _, stride in mode.pairs) for mode in view.result.type.layout.data.modes[1:])
            beside.append(self.load(view, [row, first], self.s.rows if rows else 1, self.s.depth if columns else 1))
        last = body.last_op
        assert last is not None
        if last is not body.first_op or last.operands[0] is not body.args[0]:
            scores = self.map([scores, *beside], self.copied)
        keys, seen = self.ranges[self.k2], self.op.seen
        partial = keys % self.s.depth != 0
        if not partial and seen is None:
            return scores
        key = self.put(NumbersOp(first, 1, self.s.depth)).result

        def number(value: int) -> SSAValue:
            return self.put(arith.ConstantOp(IntegerAttr(value, i32))).result

        def end(query: SSAValue) -> SSAValue:
            assert seen is not None
            behind = self.put(arith.AddiOp(query, number(seen + 1))).result
            return self.put(arith.MinSIOp(behind, number(keys))).result if partial else behind

        def visible(score: SSAValue, key: SSAValue, end: SSAValue | None = None) -> SSAValue:
            before = arith.CmpiOp(key, number(keys) if end is None else end, "slt")
            return self.put(arith.SelectOp(self.put(before).result, score, self.number(-inf))).result

        if seen is None:
            return self.map([scores, key], visible)
        ends = self.map([self.put(NumbersOp(row, self.s.rows, 1)).result], end, i32)
        return self.map([scores, key, ends], visible)

    def copied(self, *arguments: SSAValue) -> SSAValue:
        """The op's body on other arguments."""
        body = self.op.body.block
        values: dict[SSAValue, SSAValue] = dict(zip(body.args, arguments, strict=True))
        for inner in body.ops:
            for old in inner.operands:
                owner = old.owner
                if old not in values and isinstance(owner, arith.ConstantOp) and owner.parent is not body:
                    values[old] = self.put(owner.clone()).results[0]
            if inner.next_op is None:
                found = inner.operands[0]
                return values.get(found, found)
            self.put(inner.clone(values))
        raise AssertionError("a body ends with what it yields")

    def step(self, scores: SSAValue, value: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums of values, the highest score and the sum of weights after some more keys."""
        total, highest, weights = carried
        top = self.put(ReduceOp(scores, "maximumf")).result
        now = self.map([highest, top], lambda x, y: self.put(arith.MaximumfOp(x, y)).result)
        shift = self.map([now], self.finite)
        power = self.map([scores, shift], self.power)
        factor = self.map([highest, shift], self.power)
        added = self.put(ReduceOp(power, "add")).result
        weights = self.map([weights, factor, added], self.multiplied_and_added)
        total = self.map([total, factor], lambda x, y: self.put(arith.MulfOp(x, y)).result)
        power = self.rounded(power, tile_type(value).element_type)
        return [self.put(DotOp(power, value, total)).result, now, weights]

    def rounded(self, tile: SSAValue, element: Attribute) -> SSAValue:
        """A tile of f32 as one of an element type."""
        if element == f32:
            return tile
        return self.map([tile], lambda x: self.put(TruncFOp(x, element)).result, element)  # pyright: ignore

    def finite(self, highest: SSAValue) -> SSAValue:
        """0 for a row without any score above -inf yet: -inf less itself would be no number."""
        low = self.put(arith.CmpfOp(highest, self.number(-inf), "oeq")).result
        return self.put(arith.SelectOp(low, self.number(0.0), highest)).result

    def power(self, score: SSAValue, shift: SSAValue) -> SSAValue:
        """e to the power of the difference."""
        apart = self.put(arith.SubfOp(score, shift)).result
        return self.put(math.Exp2Op(self.put(arith.MulfOp(apart, self.number(log2(e)))).result)).result

    def multiplied_and_added(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        """x * y + z"""
        return self.put(arith.AddfOp(self.put(arith.MulfOp(x, y)).result, z)).result

    def finish(self, total: SSAValue, weights: SSAValue, output: ViewOp) -> None:
        """The sums over the sum of weights, into the output."""

        def inverse(weight: SSAValue) -> SSAValue:
            return self.put(arith.DivfOp(self.number(1.0), weight)).result

        def scaled(x: SSAValue, factor: SSAValue, weight: SSAValue) -> SSAValue:
            value = self.put(arith.MulfOp(x, factor)).result
            if self.op.zero_undefined is None:
                return value
            zero = self.number(0.0)
            defined = self.put(arith.CmpfOp(weight, zero, "ogt")).result
            return self.put(arith.SelectOp(defined, value, zero)).result

        result = self.map([total, self.map([weights], inverse), weights], scaled)
        element = tile_element(self.op.outputs[0])
        self.put(StoreOp(self.rounded(result, element), output.result, self.body.args))
        self.put(YieldOp())
