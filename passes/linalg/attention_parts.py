"""What attention consists of among structured ops, and the one op in their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.locations import fuse
from ...compiler.weights import WeightStore
from ...dialects.linalg import FillOp, GenericOp
from ...dialects.linalg.views import loop_ranges
from ...dialects.linalg_ext import AttentionOp, YieldOp
from ...dialects.tensor import EmptyOp
from .attention_masks import Masks, converted
from .roundings import Half, half_of, is_rounding, widened
from .softmax import Softmax

MANY_KEYS = 256  # whose scores few queries do not go through twice


@dataclass(frozen=True)
class Attention:
    """What becomes one op. `chain` are the ops from scores to softmax; maps are over the attention's loops.

    `half` is the type of query, key and value where that has 16 bits: what lies between may be rounded to it.
    """

    scores: GenericOp
    chain: tuple[GenericOp, ...]
    softmax: Softmax
    product: GenericOp
    inputs: tuple[SSAValue, SSAValue, SSAValue]  # query, key, value
    maps: tuple[AffineMap, AffineMap, AffineMap, AffineMap]  # and of the output
    half: Half | None
    widens: bool = False  # query, key and value are f32 where the op stands

    @property
    def rank(self) -> int:
        """The dimensions of the scores: batch, queries, keys."""
        return len(cast("TensorType[Any]", self.softmax.x.type).get_shape())

    @property
    def score_bytes(self) -> int:
        """Of the scores of all queries and keys of one batch, in f32."""
        *_, queries, keys = cast("TensorType[Any]", self.softmax.x.type).get_shape()
        return 4 * queries * keys

    def can_widen(self) -> bool:
        """Whether nothing but query, key and value is of 16 bits."""
        made = [op.res[0] for op in (self.scores, *self.chain)]  # each of the chain makes anew what is before it
        beside = (read_beside(op, value, (f32, i1)) for op, value in zip(self.chain, made, strict=False))
        return all(found is not None for found in beside)

    def widened(self) -> Attention:
        """The same of query, key and value in f32, made before the product."""
        place = InsertPoint.before(self.product)
        query, key, value = (converted(v, arith.ExtFOp, f32, place) for v in self.inputs)
        return replace(self, inputs=(query, key, value), widens=True)

    def worthwhile(self, lanes: int, fewest: int | None, deepest: int) -> bool:
        """Whether the fused kernel is the faster one, on vectors of so many `lanes`; `fewest` queries where given."""
        *_, queries, keys = cast("TensorType[Any]", self.softmax.x.type).get_shape()
        depth = _extent(self.inputs[0], self.maps[0], self.rank - 1)
        columns = _extent(self.product.res[0], self.maps[3], self.rank + 1)
        if fewest is None:
            fewest = max(2, lanes // 4) if keys >= MANY_KEYS else lanes
        return queries >= fewest and keys > 1 and depth <= deepest and columns <= deepest


def element_of(value: SSAValue) -> Attribute:
    """The type of a tensor's elements."""
    return cast("TensorType[Any]", value.type).element_type


def _extent(value: SSAValue, map_: AffineMap, loop: int) -> int:
    """How often a loop that a value is indexed by runs; 1 where it is not."""
    shape = cast("TensorType[Any]", value.type).get_shape()
    sizes = zip(map_.results, shape, strict=True)
    return prod(size for expr, size in sizes if isinstance(expr, AffineDimExpr) and expr.position == loop)


def read_beside(op: GenericOp, score: SSAValue, elements: Collection[Attribute | None]) -> dict[int, AffineMap] | None:
    """The other inputs that the body uses, by number, with their maps over the attention's loops."""
    rank = len(op.iterators)
    places = {i: i for i in range(rank - 1)} | {rank - 1: rank}
    found: dict[int, AffineMap] = {}
    for number, value in enumerate(op.inputs):
        if value is score or not op.body.block.args[number].uses:
            continue
        map_ = moved(op.maps[number], places, loop_ranges(op), rank + 2)
        if map_ is None or element_of(value) not in elements:
            return None
        found[number] = map_
    return found


def moved(map_: AffineMap, places: Mapping[int, int], ranges: Sequence[int], loops: int) -> AffineMap | None:
    """`map_` with its loops called anew; loops of one step that have no place are 0. None for other maps."""
    exprs: list[AffineExpr] = []
    for expr in map_.results:
        if isinstance(expr, AffineDimExpr) and expr.position in places:
            exprs.append(AffineExpr.dimension(places[expr.position]))
        elif isinstance(expr, AffineDimExpr) and ranges[expr.position] == 1:
            exprs.append(AffineExpr.constant(0))
        elif isinstance(expr, AffineConstantExpr) and expr.value == 0:
            exprs.append(expr)
        else:
            return None
    dims = [e.position for e in exprs if isinstance(e, AffineDimExpr)]
    return AffineMap(loops, 0, tuple(exprs)) if len(dims) == len(set(dims)) else None


def rewrite(found: Attention, weights: WeightStore, known: dict[SSAValue, Any], dropped: list[SSAValue]) -> None:
    """Puts the op in the place of the product and erases the rest; `known` keeps what masks are, `dropped` which go."""
    product, half = found.product, None if found.widens else found.half
    block, inputs, maps = _between(found)
    masks = Masks(block, inputs, maps, weights, found.rank, half, known, dropped)
    causal = masks.take_causal()
    masks.take_truth_values()
    output = cast(Operation, product.outputs[0].owner).operands[1]
    readers = _rounding(product.res[0], half)
    if readers:
        narrow = EmptyOp([], TensorType(cast(Half, half), cast("TensorType[Any]", output.type).get_shape()))
        Rewriter.insert_op(narrow, InsertPoint.before(product))
        output = narrow.tensor
    attention = AttentionOp.of(
        inputs,
        output,
        [*maps, found.maps[3]],
        Region(block),
        causal=causal,
        zero_undefined=found.softmax.zero_undefined,
    )
    replaced = [product, *found.softmax.ops, *reversed(found.chain), found.scores]
    attention.location = fuse(op.location for op in reversed(replaced))
    Rewriter.insert_op(attention, InsertPoint.before(product))
    attention.res[0].name_hint = product.res[0].name_hint
    product.res[0].replace_all_uses_with(attention.res[0])
    for op in replaced:
        _erase(op)
    for reader, number in readers:
        _read_rounded(reader, number, attention.res[0])


def _between(found: Attention) -> tuple[Block, list[SSAValue], list[AffineMap]]:
    """What is done with a score, the op's inputs and their maps."""
    block = Block(arg_types=[f32])
    score: SSAValue = block.args[0]
    inputs, maps = list(found.inputs), list(found.maps[:3])
    value, half = found.scores.res[0], found.half
    for op in found.chain:
        arguments = op.body.block.args
        known: dict[SSAValue, SSAValue] = {arguments[list(op.inputs).index(value)]: score}
        for number, map_ in (read_beside(op, value, (f32, half, i1)) or {}).items():
            inputs.append(op.inputs[number])
            maps.append(map_)
            argument = block.insert_arg(arguments[number].type, len(block.args))
            known[arguments[number]] = argument
            if argument.type == half:
                widening = arith.ExtFOp(argument, f32)
                block.add_op(widening)
                known[arguments[number]] = widening.result
        for inner in op.body.block.ops:
            if inner.next_op is None or is_rounding(inner, half):
                score = known.get(inner.operands[0], inner.operands[0])
                known.update(dict.fromkeys(inner.results, score))
                continue
            for constant in [v.owner for v in inner.operands if v not in known and v.type == half]:
                assert isinstance(constant, arith.ConstantOp)
                block.add_op(copy := widened(constant, known, half))
                known[constant.result] = copy.results[0]
            copy = inner.clone(known) if half is None else widened(inner, known, half)
            copy.location = inner.location
            block.add_op(copy)
            known.update(zip(inner.results, copy.results, strict=True))
        value = op.res[0]
    block.add_op(YieldOp(score))
    return block, inputs, maps


def _rounding(value: SSAValue, half: Half | None) -> list[tuple[GenericOp, int]]:
    """Those that read a value, with the numbers of their inputs, if all of them round it to `half` first."""
    found: list[tuple[GenericOp, int]] = []
    for use in value.uses:
        op = use.operation
        if not isinstance(op, GenericOp) or use.index >= len(op.inputs):
            return []
        if not all(is_rounding(inner.operation, half) for inner in op.body.block.args[use.index].uses):
            return []
        found.append((op, use.index))
    return found


def _read_rounded(op: GenericOp, number: int, value: SSAValue) -> None:
    """Leaves the rounding of an input out; an op that then does nothing gives way to its input."""
    block = op.body.block
    for use in list(block.args[number].uses):
        use.operation.results[0].replace_all_uses_with(block.args[number])
        Rewriter.erase_op(use.operation)
    argument = Rewriter.replace_value_with_new_type(block.args[number], half_of(value) or f32)
    terminator = cast(Operation, block.last_op)
    same = all(map_ == AffineMap.identity(len(op.iterators)) for map_ in (op.maps[number], op.maps[-1]))
    same = same and len(op.inputs) == 1 and op.res[0].type == value.type
    if same and list(terminator.operands) == [argument]:
        op.res[0].replace_all_uses_with(value)
        _erase(op)


def _erase(op: GenericOp) -> None:
    """Erases an op, and what its outputs begin as where nobody else does."""
    starts = [output.owner for output in op.outputs]
    op.detach()
    op.erase()
    for start in starts:
        while isinstance(start, FillOp | EmptyOp) and not start.results[0].uses:
            before = start.operands[1].owner if isinstance(start, FillOp) else None
            start.detach()
            start.erase()
            start = before
