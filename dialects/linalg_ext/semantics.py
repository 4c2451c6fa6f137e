"""What the ops of linalg_ext mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir.affine import AffineDimExpr

from ...compiler.semantics import Call, Region, semantics
from ...compiler.weights import Array
from ..linalg.views import view
from .ops import AttentionOp


@semantics("linalg_ext.attention")
def attention(*operands: Array, call: Call, regions: Sequence[Region]) -> list[Array]:
    op = cast(AttentionOp, call.op)
    ranges = op.ranges()
    query, key, value, *others = (view(a, map_, ranges) for a, map_ in zip(operands[:-1], op.maps[:-1], strict=True))
    narrow = query.dtype
    query, key, value = (operand.astype(np.float32) for operand in (query, key, value))
    scores = np.matmul(query[..., 0, 0], key[..., 0, :, :, 0])
    (scores,) = regions[0](scores, *(other[..., 0, :, 0] for other in others))
    if op.seen is not None:
        queries, keys = np.ogrid[: scores.shape[-2], : scores.shape[-1]]
        scores = np.where(keys <= queries + op.seen, scores, np.float32(-np.inf))
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    weights = weights / weights.sum(-1, keepdims=True)
    if op.zero_undefined is not None:
        weights = np.where(np.isnan(weights), np.float32(0), weights)
    weights = weights.astype(narrow).astype(np.float32)
    result = np.broadcast_to(
        np.matmul(weights, value[..., 0, 0, :, :])[..., :, None, None, :], (*ranges[:-3], 1, 1, ranges[-1])
    )
    dims = [expr.position for expr in op.maps[-1].results if isinstance(expr, AffineDimExpr)]
    rest = [d for d in range(op.loops) if d not in dims]
    result = result.transpose(*rest, *dims)[(0,) * len(rest)].reshape(operands[-1].shape).astype(operands[-1].dtype)
    if op.results:
        return [result]
    operands[-1][...] = result
    return []
