"""Says ops that the specification has left behind in those that took their place.

before: %r = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
after:  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] :
            (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.dtypes import dtype_of
from ...compiler.rewriting import GreedyRewriter
from ...dialects import stablehlo as hlo
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, RuleTable, element_type, shape_of
from ...dialects.stablehlo.ops_deprecated import einsum_terms

rules = RuleTable()


@dataclass(frozen=True)
class ReplaceDeprecated(ModulePass):
    """`dot`, `einsum`, `broadcast` and their like go."""

    name = "stablehlo-replace-deprecated"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kinds = (*hlo.ops_deprecated.OPS, hlo.CreateTokenOp)
        if any(isinstance(inner, kinds) for inner in op.walk()):
            ours = lamina_context(ctx)
            GreedyRewriter(ours, rules.patterns(ours.weights), fold=False).run(op)


@rules(hlo.DotOp)
def dot(op: hlo.DotOp, b: Builder) -> Replacement:
    last = len(shape_of(op.lhs)) - 1
    return b.value(
        hlo.DotGeneralOp(
            op.lhs,
            op.rhs,
            lhs_contracting_dimensions=[last],
            rhs_contracting_dimensions=[0],
            precision_config=op.precision_config,
            element_type=element_type(op.result),
        )
    )


@rules(hlo.BroadcastOp)
def broadcast(op: hlo.BroadcastOp, b: Builder) -> Replacement:
    shape, rank = shape_of(op.result), len(shape_of(op.operand))
    return b.broadcast(op.operand, shape, list(range(len(shape) - rank, len(shape))))


@rules(hlo.CreateTokenOp)
def create_token(op: hlo.CreateTokenOp, b: Builder) -> Replacement:
    return b.value(hlo.AfterAllOp([]))


def _summed(b: Builder, value: SSAValue, term: str, kept: str) -> tuple[SSAValue, str]:
    """`value` summed over the letters that are not kept; those that stand twice are an open case."""
    gone = [i for i, letter in enumerate(term) if letter not in kept]
    if not gone:
        return value, term
    zero = b.constant(np.zeros((), dtype_of(element_type(value))))
    total = b.value(hlo.ReduceOp([value], [zero], body="add", dimensions=gone))
    return total, "".join(letter for letter in term if letter in kept)


@rules(hlo.UnaryEinsumOp)
def unary_einsum(op: hlo.UnaryEinsumOp, b: Builder) -> Replacement:
    [term], right = einsum_terms(op.einsum_config.data, 1)
    if len(set(term)) != len(term):
        return None
    value, term = _summed(b, op.operand, term, right)
    return b.transpose(value, [term.index(letter) for letter in right])


@rules(hlo.EinsumOp)
def einsum(op: hlo.EinsumOp, b: Builder) -> Replacement:
    terms, right = einsum_terms(op.einsum_config.data, 2)
    if any(len(set(term)) != len(term) for term in terms):
        return None
    lhs, left = _summed(b, op.lhs, terms[0], terms[1] + right)
    rhs, other = _summed(b, op.rhs, terms[1], terms[0] + right)
    batch = [letter for letter in left if letter in other and letter in right]
    summed = [letter for letter in left if letter in other and letter not in right]
    product = b.value(
        hlo.DotGeneralOp(
            lhs,
            rhs,
            lhs_batching_dimensions=[left.index(letter) for letter in batch],
            rhs_batching_dimensions=[other.index(letter) for letter in batch],
            lhs_contracting_dimensions=[left.index(letter) for letter in summed],
            rhs_contracting_dimensions=[other.index(letter) for letter in summed],
            element_type=element_type(op.result),
        )
    )
    made = [*batch, *(c for c in left if c not in batch + summed), *(c for c in other if c not in batch + summed)]
    return b.transpose(product, [made.index(letter) for letter in right])


@rules(hlo.TorchIndexSelectOp)
def torch_index_select(op: hlo.TorchIndexSelectOp, b: Builder) -> Replacement:
    dim, batch = op.dim.value.data, op.batch_dims.value.data
    shape, index = shape_of(op.operand), shape_of(op.index)
    sizes = [1 if i == dim or i < batch else size for i, size in enumerate(shape)]
    result = len(shape) - 1 + len(index) - batch
    indexed = range(dim, dim + len(index) - batch)
    return b.value(
        hlo.GatherOp(
            op.operand,
            op.index,
            slice_sizes=sizes,
            offset_dims=[i for i in range(batch, result) if i not in indexed],
            collapsed_slice_dims=[dim],
            operand_batching_dims=list(range(batch)),
            start_indices_batching_dims=list(range(batch)),
            start_index_map=[dim],
            index_vector_dim=len(index),
        )
    )
