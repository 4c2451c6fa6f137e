"""What the ops of linalg_ext mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir.affine import AffineDimExpr

from ...compiler.semantics import Call, Region, semantics
from ...compiler.weights import Array
from ..linalg.views import view
from .matmul_nbits import MatmulNBitsOp
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


@semantics("linalg_ext.matmul_nbits")
def matmul_nbits(*operands: Array, call: Call) -> list[Array]:
    op = cast(MatmulNBitsOp, call.op)
    lhs, rhs, scales, *added, output = operands
    blocks, rows, block = lhs.shape
    columns = output.shape[1]
    shifts = np.arange(0, 8, op.bits, dtype=np.uint8)[:, None, None]
    pieces = (rhs.view(np.uint8)[:, :, None] >> shifts) & np.uint8((1 << op.bits) - 1)
    whole = pieces.transpose(0, 3, 1, 2, 4).reshape(-1, blocks, block)[:columns]
    by_column = scales.transpose(0, 2, 1).reshape(-1, blocks)[:columns]
    total = np.zeros((rows, columns), np.float32)
    for b in range(blocks):
        if not added:
            middle = np.float32(1 << (op.bits - 1))
            weights = (whole[:, b] - middle) * by_column[:, b, None]
            total += lhs[b].astype(np.float32) @ weights.astype(lhs.dtype).astype(np.float32).T
            continue
        starts, *lhs_scales = added
        left = lhs[b].astype(starts.dtype)
        part = (left @ whole[:, b].astype(starts.dtype).T + starts[b, :, None]).astype(np.float32)
        part = part * by_column[:, b]
        total += part if not lhs_scales else part * lhs_scales[0][b, :, None]
    if op.results:
        return [total]
    output[...] = total
    return []
