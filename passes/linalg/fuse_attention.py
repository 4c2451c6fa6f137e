"""linalg-fuse-attention: scores, mask, softmax and the product with the values become one linalg_ext.attention.

before: %s = linalg.generic ... ins(%q, %k) { mulf, addf }                 (b, m, s, d) -> (b, m, s)
        %x = linalg.generic ... ins(%s, %mask) { mulf 0.125; addf }
        %p = the four ops of a softmax of %x over s
        %o = linalg.generic ... ins(%p, %v) { mulf, addf }                 (b, m, n, s) -> (b, m, n)
after:  %o = linalg_ext.attention {indexing_maps = ...} ins(%q, %k, %v, %mask) outs(%init) {
        ^bb0(%score: f32, %m: f32):
          mulf 0.125; addf; linalg.yield
        }

The scores are never written out. A constant mask that is added and hides (-1e8 or less, -6e4 in f16) just the keys
behind each query is the op's `causal`, and is not read at all where it is 0 otherwise: the kernel skips what is hidden.
Queries fewer than a vector's lanes stay as they are, as matrix times vector has nothing to gain; but a quarter of them
and more do not where keys are many: one read of these is what counts.

Where warps multiply matrices, query, key and value may be of 16 bits, and weights are rounded to as many. So may be all
that lies between, in part or as a whole: only masks and the result are of 16 bits then, scores are f32 from one product
to the other. A mask of truth values becomes one of numbers. Where processors multiply pairs, --precision bf16 has
rounded query, key, weights and value: scores that the second cache does not hold are fused all the same, in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f32, i1
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp, IndexOp
from ...dialects.linalg.contraction import match_contraction
from ...dialects.linalg.views import loop_ranges
from ...dialects.tensor import ExtractOp
from .attention_masks import forget
from .attention_parts import Attention, element_of, moved, read_beside, rewrite
from .grouping import is_elementwise
from .roundings import Half, can_widen, half_of, is_rounding
from .softmax import Softmax, filled_with, match_softmax

DEEPEST = 512  # columns of queries and values beyond which a block of queries does not stay in the first cache


@dataclass(frozen=True)
class FuseAttention(ModulePass):
    """Fuses attention of at least `queries` queries (default: by the machine), at most `deepest` columns deep.

    `precision` overrides what the context asks for.
    """

    name = "linalg-fuse-attention"

    queries: int | None = None
    deepest: int = DEEPEST
    precision: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = lamina_context(ctx)
        lanes = context.machine.lanes(4)
        halves = "mma" in context.machine.features
        rounds = (self.precision or context.precision) == "bf16" and not halves
        known: dict[SSAValue, Any] = {}
        dropped: list[SSAValue] = []
        products = [inner for inner in all_ops(op) if isinstance(inner, GenericOp) and match_contraction(inner)]
        for product in products:
            found = match(product, halves or rounds)
            if found is None or not found.worthwhile(lanes, self.queries, self.deepest):
                continue
            if found.half is None or halves:
                rewrite(found, context.weights, known, dropped)
            elif found.half == bf16 and found.can_widen() and found.score_bytes > context.machine.l2_bytes:
                rewrite(found.widened(), context.weights, known, dropped)
        for mask in dict.fromkeys(dropped):
            forget(mask)


def match(product: GenericOp, halves: bool = False) -> Attention | None:
    """The attention that ends with `product`, of f32; with `halves` of 16 bits too, and with masks of truth values."""
    if filled_with(product.outputs[0]) != 0.0:
        return None
    for number in (0, 1):
        softmax = match_softmax(product.operands[number], rounds=halves)
        if softmax is not None and product.operands[number].has_one_use():
            return _complete(product, number, softmax, halves)
    return None


def _complete(product: GenericOp, number: int, softmax: Softmax, halves: bool) -> Attention | None:
    chain: list[GenericOp] = []
    value = softmax.x
    half = half_of(product.operands[number]) if halves else None
    elements = (f32, half, i1) if halves else (f32,)
    while isinstance(op := value.owner, GenericOp) and match_contraction(op) is None:
        source = _score_of(op, half)
        if source is None or read_beside(op, source, elements) is None:
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
    if {element_of(v) for v in (product.operands[number], query, key, values)} != {half or f32}:
        return None
    if any(element_of(v) not in (f32, half) for v in (softmax.x, op.res[0], product.res[0])):
        return None
    return Attention(op, tuple(chain), softmax, product, (query, key, values), (q_map, k_map, *second), half)


def _score_of(op: GenericOp, half: Half | None) -> SSAValue | None:
    """The operand that an op between scores and softmax makes anew, element by element."""
    if not is_elementwise(op) or len(op.outputs) != 1 or op.body.block.args[-1].uses:
        return None
    if any(isinstance(inner, IndexOp | ExtractOp) for inner in op.body.walk()) or not _can_copy(op, half):
        return None
    identity = AffineMap.identity(len(op.iterators))
    for value, map_ in zip(op.inputs, op.maps, strict=False):
        computed = isinstance(value.owner, GenericOp) and element_of(value) in (f32, half) and map_ == identity
        if computed and value.has_one_use() and _leads_to_scores(value, half):
            return value
    return None


def _can_copy(op: GenericOp, half: Half | None) -> bool:
    """Whether the body can be written down for f32."""
    inside = [inner for inner in op.body.block.ops if inner.next_op is not None]
    own = (*inside, op.body.block)
    captured = {value.owner for inner in inside for value in inner.operands if value.owner not in own}
    constant = all(isinstance(owner, arith.ConstantOp) for owner in captured)
    return half is None or (constant and all(is_rounding(inner, half) or can_widen(inner, half) for inner in inside))


def _leads_to_scores(value: SSAValue, half: Half | None) -> bool:
    op = value.owner
    return isinstance(op, GenericOp) and (match_contraction(op) is not None or _score_of(op, half) is not None)


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
    maps = [moved(op.maps[i], places, ranges, rank + 2) for i in (query, 1 - query)]
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
    maps = [moved(op.maps[i], places, ranges, rank + 2) for i in (1 - number, 2)]
    if maps[0] is None or maps[1] is None or rank - 2 in _dims(maps[0]):
        return None
    return maps[0], maps[1]


def _dims(map_: AffineMap) -> set[int]:
    return {e.position for e in map_.results if isinstance(e, AffineDimExpr)}
