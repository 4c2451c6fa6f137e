"""linalg-fuse-attention: scores, mask, softmax and the product with the values become one linalg_ext.attention.

before: %s = linalg.generic ... ins(%q, %k) { mulf, addf }                 (b, m, s, d) -> (b, m, s)
        %x = linalg.generic ... ins(%s, %mask) { mulf 0.125; addf }
        %p = the four ops of a softmax of %x over s
        %o = linalg.generic ... ins(%p, %v) { mulf, addf }                 (b, m, n, s) -> (b, m, n)
after:  %o = linalg_ext.attention {indexing_maps = ...} ins(%q, %k, %v, %mask) outs(%init) {
        ^bb0(%score: f32, %m: f32):
          mulf 0.125; addf; linalg.yield
        }

The scores are never written out. A constant mask that is added and hides (-1e8 or less) just the keys behind each
query is the op's `causal`, and is not read at all where it is 0 otherwise: the kernel skips what is hidden. Queries
fewer than a vector's lanes stay as they are: matrix times vector has nothing to gain. Where warps multiply matrices,
query, key and value may be of 16 bits, and weights are rounded to as many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.locations import fuse
from ...compiler.walking import all_ops
from ...compiler.weights import WeightStore
from ...dialects.arith.semantics import attribute_array
from ...dialects.linalg import FillOp, GenericOp, IndexOp
from ...dialects.linalg.contraction import match_contraction
from ...dialects.linalg.views import loop_ranges
from ...dialects.linalg_ext import AttentionOp, YieldOp
from ...dialects.tensor import EmptyOp, ExtractOp
from .grouping import is_elementwise
from .softmax import Softmax, filled_with, match_softmax

HIDDEN = -1e8  # has no weight beside any score of use: where f32 comes to such numbers, neighbours are 8 apart
DEEPEST = 512  # columns of queries and values beyond which a block of queries does not stay in the first cache


@dataclass(frozen=True)
class FuseAttention(ModulePass):
    """Fuses attention of at least `queries` queries (default: a vector of f32), at most `deepest` columns deep."""

    name = "linalg-fuse-attention"

    queries: int | None = None
    deepest: int = DEEPEST

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = lamina_context(ctx)
        fewest = self.queries or context.machine.lanes(4)
        halves = "mma" in context.machine.features
        for generic in [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]:
            found = match(generic, halves)
            if found is not None and found.worthwhile(fewest, self.deepest):
                rewrite(found, context.weights)


@dataclass(frozen=True)
class Attention:
    """What becomes one op. `chain` are the ops from scores to softmax; maps are over the attention's loops."""

    scores: GenericOp
    chain: tuple[GenericOp, ...]
    softmax: Softmax
    product: GenericOp
    inputs: tuple[SSAValue, SSAValue, SSAValue]  # query, key, value
    maps: tuple[AffineMap, AffineMap, AffineMap, AffineMap]  # and of the output

    @property
    def rank(self) -> int:
        """The dimensions of the scores: batch, queries, keys."""
        return len(cast("TensorType[Any]", self.softmax.x.type).get_shape())

    def worthwhile(self, fewest: int, deepest: int) -> bool:
        """Whether the fused kernel is the faster one."""
        *_, queries, keys = cast("TensorType[Any]", self.softmax.x.type).get_shape()
        depth = _extent(self.inputs[0], self.maps[0], self.rank - 1)
        columns = _extent(self.product.res[0], self.maps[3], self.rank + 1)
        return queries >= fewest and keys > 1 and depth <= deepest and columns <= deepest


def match(product: GenericOp, halves: bool = False) -> Attention | None:
    """The attention that ends with `product`, of f32; with `halves` of 16 bits too."""
    if match_contraction(product) is None or filled_with(product.outputs[0]) != 0.0:
        return None
    for number in (0, 1):
        softmax = match_softmax(product.operands[number], rounds=halves)
        if softmax is not None and product.operands[number].has_one_use():
            return _complete(product, number, softmax, halves)
    return None


def _complete(product: GenericOp, number: int, softmax: Softmax, halves: bool) -> Attention | None:
    chain: list[GenericOp] = []
    value = softmax.x
    while isinstance(op := value.owner, GenericOp) and match_contraction(op) is None:
        source = _score_of(op)
        if source is None or _read_beside(op, source) is None:
            return None
        chain.insert(0, op)
        value = source
    if not isinstance(op, GenericOp) or filled_with(op.outputs[0]) != 0.0:
        return None
    rank = len(cast("TensorType[Any]", softmax.x.type).get_shape())
    first = _over_scores(op, rank)
    second = _over_product(product, number, rank)
    if first is None or second is None:
        return None
    query, key, (q_map, k_map) = first
    values = product.operands[1 - number]
    weights, *multiplied = (_element(v) for v in (product.operands[number], query, key, values))
    if set(multiplied) != {weights} or not (
        weights == f32 or (halves and isinstance(weights, BFloat16Type | Float16Type))
    ):
        return None
    if any(_element(v) != f32 for v in (softmax.x, op.res[0], product.res[0])):
        return None
    return Attention(op, tuple(chain), softmax, product, (query, key, values), (q_map, k_map, *second))


def _extent(value: SSAValue, map_: AffineMap, loop: int) -> int:
    """How often a loop that a value is indexed by runs; 1 where it is not."""
    shape = cast("TensorType[Any]", value.type).get_shape()
    sizes = zip(map_.results, shape, strict=True)
    return prod(size for expr, size in sizes if isinstance(expr, AffineDimExpr) and expr.position == loop)


def _element(value: SSAValue) -> Attribute:
    return cast("TensorType[Any]", value.type).element_type


def _score_of(op: GenericOp) -> SSAValue | None:
    """The operand that an op between scores and softmax makes anew, element by element."""
    if not is_elementwise(op) or len(op.outputs) != 1 or op.body.block.args[-1].uses:
        return None
    if any(isinstance(inner, IndexOp | ExtractOp) for inner in op.body.walk()):
        return None
    identity = AffineMap.identity(len(op.iterators))
    for value, map_ in zip(op.inputs, op.maps, strict=False):
        computed = isinstance(value.owner, GenericOp) and value.type == op.res[0].type and map_ == identity
        if computed and value.has_one_use() and _leads_to_scores(value):
            return value
    return None


def _read_beside(op: GenericOp, score: SSAValue) -> dict[int, AffineMap] | None:
    """The other inputs that the body uses, by number, with their maps over the attention's loops."""
    rank = len(op.iterators)
    places = {i: i for i in range(rank - 1)} | {rank - 1: rank}
    found: dict[int, AffineMap] = {}
    for number, value in enumerate(op.inputs):
        if value is score or not op.body.block.args[number].uses:
            continue
        map_ = _moved(op.maps[number], places, loop_ranges(op), rank + 2)
        if map_ is None or cast("TensorType[Any]", value.type).element_type != f32:
            return None
        found[number] = map_
    return found


def _leads_to_scores(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, GenericOp) and (match_contraction(op) is not None or _score_of(op) is not None)


def _moved(map_: AffineMap, places: Mapping[int, int], ranges: Sequence[int], loops: int) -> AffineMap | None:
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


def _only(dims: Sequence[int], ranges: Sequence[int]) -> int | None:
    """The one loop of more than one step, or any where there is none."""
    live = [d for d in dims if ranges[d] != 1]
    return None if len(live) > 1 or not dims else (live or list(dims))[0]


def _over_scores(op: GenericOp, rank: int) -> tuple[SSAValue, SSAValue, tuple[AffineMap, AffineMap]] | None:
    """Query and key with their maps over the attention's loops."""
    ranges, found = loop_ranges(op), match_contraction(op)
    assert found is not None
    out = [cast(AffineDimExpr, e).position for e in op.maps[2].results]
    depth = _only(found.k, ranges)
    if len(out) != rank or rank < 2 or depth is None:
        return None
    places = {d: i for i, d in enumerate(out[:-1])} | {out[-1]: rank, depth: rank - 1}
    query = 0 if out[-1] not in op.maps[0].used_dims() else 1
    maps = [_moved(op.maps[i], places, ranges, rank + 2) for i in (query, 1 - query)]
    if maps[0] is None or maps[1] is None:
        return None
    if rank in _dims(maps[0]) or rank - 2 in _dims(maps[1]):
        return None
    return op.operands[query], op.operands[1 - query], (maps[0], maps[1])


def _over_product(op: GenericOp, number: int, rank: int) -> tuple[AffineMap, AffineMap] | None:
    """The maps of values and output over the attention's loops."""
    ranges, found = loop_ranges(op), match_contraction(op)
    assert found is not None
    read = op.maps[number].results
    places = {e.position: i if i < rank - 1 else rank for i, e in enumerate(read) if isinstance(e, AffineDimExpr)}
    keys = read[-1]
    if not isinstance(keys, AffineDimExpr) or len(read) != rank or _only(found.k, ranges) != keys.position:
        return None
    if any(not isinstance(e, AffineDimExpr | AffineConstantExpr) for e in read):
        return None
    out = [cast(AffineDimExpr, e).position for e in op.maps[2].results]
    columns = _only([d for d in out if d not in places], ranges)
    if columns is None:
        return None
    places[columns] = rank + 1
    maps = [_moved(op.maps[i], places, ranges, rank + 2) for i in (1 - number, 2)]
    if maps[0] is None or maps[1] is None or rank - 2 in _dims(maps[0]):
        return None
    return maps[0], maps[1]


def _dims(map_: AffineMap) -> set[int]:
    return {e.position for e in map_.results if isinstance(e, AffineDimExpr)}


def rewrite(found: Attention, weights: WeightStore) -> None:
    """Puts the op in the place of the product and erases the rest."""
    rank = found.rank
    block = Block(arg_types=[f32])
    score: SSAValue = block.args[0]
    inputs, maps = list(found.inputs), list(found.maps[:3])
    value = found.scores.res[0]
    for op in found.chain:
        arguments = op.body.block.args
        known: dict[SSAValue, SSAValue] = {arguments[list(op.inputs).index(value)]: score}
        for number, map_ in (_read_beside(op, value) or {}).items():
            inputs.append(op.inputs[number])
            maps.append(map_)
            known[arguments[number]] = block.insert_arg(f32, len(block.args))
        for inner in op.body.block.ops:
            if inner.next_op is None:
                score = known.get(inner.operands[0], inner.operands[0])
            else:
                copy = inner.clone(known)
                copy.location = inner.location
                block.add_op(copy)
        value = op.res[0]
    block.add_op(YieldOp(score))
    causal = _take_causal_mask(block, inputs, maps, weights, rank)
    product = found.product
    output = cast(Operation, product.outputs[0].owner).operands[1]
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
        starts = [output.owner for output in op.outputs]
        op.detach()
        op.erase()
        for start in starts:
            _erase_unused(start)


def _erase_unused(op: object) -> None:
    while isinstance(op, FillOp | EmptyOp) and not op.results[0].uses:
        before = op.operands[1].owner if isinstance(op, FillOp) else None
        op.detach()
        op.erase()
        op = before


def _take_causal_mask(
    block: Block, inputs: list[SSAValue], maps: list[AffineMap], weights: WeightStore, rank: int
) -> int | None:
    """The keys behind each query that it sees, when a constant mask says so; drops the mask where it says no more."""
    yielded = cast(Operation, block.last_op)
    last = yielded.operands[0].owner
    if not isinstance(last, arith.AddfOp):
        return None
    for side, argument in enumerate(last.operands):
        number = block.args.index(argument) + 2 if argument in block.args else 0
        if number < 3 or not argument.has_one_use():
            continue
        mask = _constant_mask(inputs[number], maps[number], weights, rank)
        if mask is None:
            continue
        causal = _visible(mask)
        hidden = mask <= HIDDEN
        if causal is not None or not hidden.any():
            if not np.any(mask[~hidden]):
                yielded.operands[0] = last.operands[1 - side]
                last.detach()
                last.erase()
                block.erase_arg(block.args[number - 2])
                del inputs[number], maps[number]
            return causal
    return None


def _constant_mask(value: SSAValue, map_: AffineMap, weights: WeightStore, rank: int) -> Any:
    """A constant over queries and keys alone, as an array of two dimensions."""
    op = value.owner
    dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
    if not isinstance(op, arith.ConstantOp) or dims != [rank - 2, rank]:
        return None
    array = np.asarray(attribute_array(op.value, weights))
    return array.reshape([n for n, e in zip(array.shape, map_.results, strict=True) if isinstance(e, AffineDimExpr)])


def _visible(mask: Any) -> int | None:
    """c where query m sees exactly the keys up to m + c, and each at least one."""
    hidden = mask <= HIDDEN
    seen = int(np.count_nonzero(~hidden[0])) - 1
    queries, keys = np.ogrid[: mask.shape[0], : mask.shape[1]]
    same = seen >= 0 and hidden.any() and np.array_equal(hidden, keys > queries + seen)
    return seen if same else None
