"""linalg-fuse-elementwise: what is computed element by element is computed where it is read.

before: %b = linalg.generic {(i, j) -> (j), (i, j) -> (i, j)} ins(%bias) ... { yield %in }
        %s = linalg.generic {id, id, id} ins(%x, %b) ... { arith.addf }
        %y = linalg.generic {id, id} ins(%s) ... { math.exp }
after:  %y = linalg.generic {id, (i, j) -> (j), id} ins(%x, %bias) ... { arith.addf; math.exp }

Consumers are visited from the last to the first and take their producers in, so every body is copied once. A producer
that only moves elements is always taken in: by contractions too, whose operands are then read transposed in place;
they also widen the bfloat16 of their right operand themselves.
One that computes is taken in by its only consumer, unless that would evaluate something expensive again and again; or
by several, if it reads far less than it writes (a mask made of iotas), or if it is cheap and all of them read it by
elements, as the differences from a mean: what others read as well is in memory anyhow, and these need not be. One that
reads the result of a contraction or a depthwise convolution stays its epilogue, also behind a view that merges its
dimensions, as of groups and the channels of each: the view then comes last. Constant splats become scalars of the body.
What reads a concatenation reads its parts (`concat_parts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float32Type, ModuleOp, TensorType, i8
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.weights import WeightStore
from ...dialects.linalg import FillOp, GenericOp, IndexOp
from ...dialects.linalg.contraction import match_contraction
from ...dialects.linalg.depthwise import match_depthwise
from ...dialects.linalg.views import linear_form, loop_ranges
from ...dialects.tensor import CollapseShapeOp, ExpandShapeOp, ExtractOp
from .concat_parts import distribute_over_parts
from .contraction_layout import settle_layouts, split_columns
from .generic_inputs import (
    covers,
    inline_producer,
    inline_scalar,
    is_pure_movement,
    look_through_unit_reshape,
    merge_equal_inputs,
    replace_movement,
    uniform_scalar,
)
from .grouping import is_elementwise, is_tiled_contraction
from .reshapes import hoist_expand, sink_collapse, tensor_shape

# What evaluating an op once more costs, in additions; ops not named cost 1.
COSTS = {
    "arith.divf": 4,
    "arith.divsi": 20,
    "arith.divui": 20,
    "arith.remsi": 20,
    "arith.remui": 20,
    "math.sqrt": 4,
    "tensor.extract": 2,
    "linalg.index": 0,
    "linalg.yield": 0,
    "arith.constant": 0,
    "scf.for": 100,
    "scf.while": 100,
}
FUNCTION = 12  # any other op of math
CHEAP = 2  # a producer of this cost may be evaluated more often than it was
LARGEST_BODY = 256  # ops


@dataclass(frozen=True)
class FuseElementwise(ModulePass):
    """Takes elementwise producers into the structured ops that read them."""

    name = "linalg-fuse-elementwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        fusion = Fusion(ours.weights, bytes_widen=not ours.machine.gpu)
        for block in _blocks(op):
            split_columns(block)
            fusion.sink_reshapes(block)
            _hoist_reshapes(block)
            fusion.note_epilogues(block)
            fusion.sweep(block)
            for producer in reversed(list(block.ops)):  # only now it shows what they read
                if isinstance(producer, GenericOp) and fusion.vanishes(producer):
                    fusion.share(producer)
            settle_layouts(block)


def _blocks(module: ModuleOp) -> list[Block]:
    """The blocks of functions and of control flow, not those of structured ops."""
    found: list[Block] = []
    for op in module.walk():
        if isinstance(op, FuncOp) or op.name.startswith("scf."):
            found += [block for region in op.regions for block in region.blocks]
    return found


def _hoist_reshapes(block: Block) -> None:
    """Moves views that split dimensions before the movements they view, from the first op to the last."""
    for op in list(block.ops):
        if isinstance(op, ExpandShapeOp) and op.parent is block:
            source = op.src.owner
            if isinstance(source, GenericOp) and is_elementwise(source) and is_pure_movement(source):
                hoist_expand(op, source)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


class Fusion:
    """Takes producers into consumers; knows which elementwise ops can be epilogues of contractions."""

    def __init__(self, weights: WeightStore, bytes_widen: bool):
        self.weights = weights
        self.bytes_widen = bytes_widen  # where products read them, too
        self.epilogues: set[SSAValue] = set()

    def note_epilogues(self, block: Block) -> None:
        """Finds the results that contractions alone lead to, through elementwise ops in the order of the result."""
        for op in block.ops:
            if not isinstance(op, GenericOp) or len(op.res) != 1 or not op.res[0].has_one_use():
                continue
            tiled = is_tiled_contraction(op) or match_depthwise(op) is not None
            if tiled or (is_elementwise(op) and self._continues_contraction(op)):
                self.epilogues.add(op.res[0])

    def _continues_contraction(self, op: GenericOp) -> bool:
        return any(v in self.epilogues and _keeps_rows(op.maps[i]) for i, v in enumerate(op.inputs))

    def sink_reshapes(self, block: Block) -> None:
        """Moves views of what contractions compute behind the elementwise ops that can be their epilogues then."""
        for op in list(block.ops):
            source = op.operands[0].owner if isinstance(op, CollapseShapeOp) and op.parent is block else None
            if isinstance(source, GenericOp) and is_tiled_contraction(source):
                view: Operation | None = op
                while isinstance(view, CollapseShapeOp) and self._may_sink(view):
                    view = sink_collapse(view)

    def _may_sink(self, view: CollapseShapeOp) -> bool:
        """Whether an elementwise op alone reads a view, and nothing beside it but scalars and what moves elements."""
        if not view.result.has_one_use() or not view.src.has_one_use():
            return False
        [use] = view.result.uses
        user = use.operation
        if not isinstance(user, GenericOp) or not is_fusable(user) or user.maps[use.index] != user.maps[-1]:
            return False
        if any(isinstance(inner, IndexOp | ExtractOp) for inner in user.body.block.walk()):
            return False
        for index in reversed(range(len(user.inputs))):
            if user.inputs[index] is not view.result:
                self._take_scalar(user, index)
        others = [value.owner for value in user.inputs if value is not view.result]
        return all(is_pure_movement(owner) for owner in others if isinstance(owner, GenericOp))

    def sweep(self, block: Block) -> None:
        """Lets every op take in its producers, from the last to the first."""
        current = block.last_op
        while current is not None:
            before = current.prev_op
            if isinstance(current, GenericOp):
                if not any(result.uses for result in current.results):
                    _erase(current)
                else:
                    before = self.take_in(current)
            current = before

    def take_in(self, consumer: GenericOp) -> Operation | None:
        """Fuses producers into `consumer`, and theirs, until none may be; the op to go on with."""
        contraction = match_contraction(consumer)
        index = 0
        while index < len(consumer.inputs):
            if not self._take(consumer, index, contraction is not None):
                index += 1
        if contraction is not None:
            return consumer.prev_op
        merge_equal_inputs(consumer)
        after = consumer.next_op
        if distribute_over_parts(consumer):
            return after.prev_op if after is not None else None
        return consumer.prev_op

    def _take(self, consumer: GenericOp, index: int, is_contraction: bool) -> bool:
        """One step at input `index`; whether there was something to do."""
        value = consumer.inputs[index]
        producer = value.owner
        if isinstance(producer, CollapseShapeOp | ExpandShapeOp):
            return look_through_unit_reshape(consumer, index, producer)
        if isinstance(producer, GenericOp) and is_fusable(producer):
            if is_contraction:
                fusable = _contraction_may_read(consumer, producer, index, self.bytes_widen)
            else:
                fusable = self._may_take(consumer, producer, index)
            if fusable:
                as_operand = is_contraction and is_pure_movement(producer)
                (replace_movement if as_operand else inline_producer)(consumer, index, producer)
                _drop(producer)
            return fusable
        return not is_contraction and self._take_scalar(consumer, index)

    def _take_scalar(self, consumer: GenericOp, index: int) -> bool:
        """Makes an input whose elements are all equal a scalar of the body; whether it is one."""
        value = consumer.inputs[index]
        if not covers(consumer, index, []):
            return False
        scalar = uniform_scalar(value, self.weights)
        if scalar is None and isinstance(value.owner, FillOp):
            owner = value.owner.value.owner
            scalar = owner.tensor if isinstance(owner, ExtractOp) and not owner.indices else None
        if scalar is not None:
            inline_scalar(consumer, index, scalar)
        return scalar is not None

    def _may_take(self, consumer: GenericOp, producer: GenericOp, index: int) -> bool:
        composed = [m.compose(consumer.maps[index]) for m in producer.maps[:-1]]
        if not covers(consumer, index, composed) or _size(consumer) + _size(producer) > LARGEST_BODY:
            return False
        if is_pure_movement(producer):
            return True
        result = producer.res[0]
        if any(use.operation is not consumer for use in result.uses) and not _reads_little(producer):
            return False
        if result in self.epilogues and not (is_elementwise(consumer) and _keeps_rows(consumer.maps[index])):
            return False
        again = prod(loop_ranges(consumer)) > prod(loop_ranges(producer))
        return cost(producer) <= CHEAP or not again

    def vanishes(self, producer: GenericOp) -> bool:
        """Whether the several ops that read a cheap result can compute it where they read it, once an element.

        It has one large source, which they then read in its place, and which others read, too: it lies in memory
        anyhow. What follows a contraction stays its epilogue.
        """
        if len(producer.res) != 1 or producer.res[0].has_one_use() or not is_fusable(producer):
            return False
        written = prod(loop_ranges(producer))
        sizes = [prod(v.type.get_shape()) if isinstance(v.type, TensorType) else 1 for v in producer.inputs]
        large = [value for value, size in zip(producer.inputs, sizes, strict=True) if 8 * size > written]
        if cost(producer) > CHEAP or len(large) != 1 or max(sizes) > written or large[0].has_one_use():
            return False
        if not self.epilogues.isdisjoint((producer.res[0], large[0])):
            return False
        return all(_reads_once(use, producer) for use in producer.res[0].uses)

    def share(self, producer: GenericOp) -> None:
        """Every op that reads what `producer` computes computes it itself."""
        while (use := producer.res[0].first_use) is not None:
            assert isinstance(use.operation, GenericOp)
            inline_producer(use.operation, use.index, producer)
            merge_equal_inputs(use.operation)
        _erase(producer)


def _reads_once(use: Use, producer: GenericOp) -> bool:
    """Whether an op that is no contraction can take in what it reads, and evaluate it no more often than it was."""
    reader = use.operation
    if not isinstance(reader, GenericOp) or use.index >= len(reader.inputs):
        return False
    composed = [m.compose(reader.maps[use.index]) for m in producer.maps[:-1]]
    once = prod(loop_ranges(reader)) == prod(loop_ranges(producer)) and covers(reader, use.index, composed)
    return once and match_contraction(reader) is None and match_depthwise(reader) is None


def _drop(producer: Operation) -> None:
    if not any(result.uses for result in producer.results):
        _erase(producer)


def is_fusable(producer: GenericOp) -> bool:
    """An elementwise op of one result whose body does not read what the result was before."""
    return (
        len(producer.outputs) == 1
        and is_elementwise(producer)
        and not producer.body.block.args[-1].uses
        and producer.parent_op() is not None
    )


def is_widening(op: GenericOp, bytes_too: bool) -> bool:
    """Yields its only input, a bfloat16 or a signed byte, as f32.

    A product does that where it reads, from half or a quarter of the memory.
    """
    first, last = op.body.block.first_op, op.body.block.last_op
    source = op.body.block.args[0]
    match first:
        case arith.ExtFOp():
            narrow = isinstance(source.type, BFloat16Type)
        case arith.SIToFPOp():
            narrow = bytes_too and source.type == i8
        case _:
            return False
    return (
        len(op.inputs) == 1
        and narrow
        and first.input is source
        and isinstance(first.result.type, Float32Type)
        and first.next_op is last
        and last is not None
        and last.operands[0] is first.result
    )


def cost(op: GenericOp) -> int:
    """What one evaluation of the body costs, in additions."""
    total = 0
    for inner in op.body.block.walk():
        default = FUNCTION if inner.name.startswith("math.") else 1
        total += COSTS.get(inner.name, default)
    return total


def _size(op: GenericOp) -> int:
    return sum(1 for _ in op.body.block.ops)


def _reads_little(producer: GenericOp) -> bool:
    """Whether a producer is nearly free of memory traffic: worth computing for each of its consumers."""
    if any(isinstance(inner, ExtractOp) for inner in producer.body.block.ops):
        return False
    written = prod(loop_ranges(producer))
    read = sum(prod(v.type.get_shape()) for v in producer.inputs if isinstance(v.type, TensorType))
    return 8 * read <= written and cost(producer) <= 8


def _keeps_rows(map_: AffineMap) -> bool:
    """A permutation of all loops that leaves the innermost one in place."""
    dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
    return sorted(dims) == list(range(map_.num_dims)) == sorted(range(len(map_.results))) and (
        not dims or dims[-1] == map_.num_dims - 1
    )


def _contraction_may_read(consumer: GenericOp, producer: GenericOp, index: int, bytes_widen: bool) -> bool:
    """Only movements, by subscripts that are linear; the right operand, packed, by single loops, and widened.

    What is moved for others than structured ops too (a result of the program) is there to be read anyway.
    """
    found = match_contraction(consumer)
    if found is None:
        return False
    widens = index == found.rhs and is_widening(producer, bytes_widen)
    if not is_pure_movement(producer) and not widens:
        return False
    if not all(isinstance(use.operation, GenericOp) for use in producer.res[0].uses):
        return False
    map_ = producer.maps[0].compose(consumer.maps[index])
    if not covers(consumer, index, [map_]):
        return False
    if index == found.rhs:
        dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
        shape = tensor_shape(producer.inputs[0])
        simple = all(isinstance(e, AffineDimExpr) or n == 1 for e, n in zip(map_.results, shape, strict=True))
        if not simple or len(set(dims)) != len(dims):
            return False
    elif any(linear_form(e) is None for e in map_.results):
        return False
    ranges = loop_ranges(consumer)
    return _dims(consumer.maps[index], ranges) == _dims(map_, ranges)


def _dims(map_: AffineMap, ranges: tuple[int, ...]) -> set[int]:
    """The loops of more than one step that a map uses."""
    return {d for e in map_.results for d in e.used_dims() if ranges[d] != 1}
