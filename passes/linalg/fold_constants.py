"""linalg-fold-constants: what depends on weights alone is computed now.

before: %w = arith.constant dense_resource<w> : tensor<64x100xf32>
        %p = linalg.pack %w ... : tensor<64x100xf32> -> tensor<7x64x16xf32>
after:  %p = arith.constant dense_resource<w_packed> : tensor<7x64x16xf32>

Evaluated by the reference semantics. Results much larger than their operands (a broadcast written out) are left to
be computed at run time; views of constants become constants that share their bytes. Large packings are deferred: the
weight store makes them when the constants are written, without a copy in between.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.interpreter import Interpreter
from ...compiler.weights import BLOCK_BYTES, Array, Deferred, WeightStore
from ...dialects.arith.semantics import attribute_array
from ...dialects.linalg import FillOp, GenericOp, PackOp, WinogradFilterTransformOp
from ...dialects.linalg.semantics import filter_transform, packed
from ...dialects.stablehlo.constants import constant_attr
from ...dialects.tensor import CollapseShapeOp, ConcatOp, EmptyOp, ExpandShapeOp, ExtractSliceOp, InsertSliceOp, PadOp
from .grouping import operands_of

GROWTH = 4  # a result may have so many times the elements of its operands
ALWAYS = 64  # or so many in any case

FOLDED = (
    GenericOp,
    PackOp,
    WinogradFilterTransformOp,
    ConcatOp,
    PadOp,
    ExtractSliceOp,
    InsertSliceOp,
    CollapseShapeOp,
    ExpandShapeOp,
)


def is_folded(op: Operation) -> bool:
    """Whether an op is computed now where its operands are constants; Winograd's filters in panels are not."""
    return isinstance(op, FOLDED) and not (isinstance(op, WinogradFilterTransformOp) and op.of_panels)


@dataclass(frozen=True)
class FoldConstants(ModulePass):
    """Evaluates structured ops whose operands are all constants."""

    name = "linalg-fold-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folder = _Folder(lamina_context(ctx).weights)
        for inner in list(op.walk()):
            if is_folded(inner) and not isinstance(inner.parent_op(), GenericOp):
                folder.fold(inner)


class _Folder:
    def __init__(self, weights: WeightStore):
        self.weights = weights
        self.interpreter = Interpreter(weights)
        self.known: dict[Hashable, list[Attribute]] = {}  # what packings of equal weights are

    def fold(self, op: Operation) -> None:
        """Replaces `op` by constants if what it uses is constant."""
        used = operands_of(op)
        sources = [v.owner for v in used]
        arrays: dict[Any, Array | Deferred] = {}
        key, read = "constant", 0
        for value, source in zip(used, sources, strict=True):
            match source:
                case arith.ConstantOp():
                    array = self._array(source, op)
                    if isinstance(source.value, DenseResourceAttr):
                        key = source.value.resource_handle.data
                    read += prod(array.shape) if isinstance(value.type, TensorType) else 0
                case EmptyOp() | FillOp():
                    filled = self._blank(source)
                    if filled is None:
                        return
                    array = filled
                case _:
                    return
            arrays[value] = array
        if not read or grows(op) or len(used) != len(set(op.operands)):
            return
        told = _told(op)
        attributes = self.known.get(told)
        if attributes is None:
            name = f"{key}_packed" if isinstance(op, PackOp) else key
            results = self._results(op, [arrays[v] for v in op.operands])
            attributes = [self._constant(a, name, r.type) for r, a in zip(op.results, results, strict=True)]
            if told is not None:
                self.known[told] = attributes
        for result, attr in zip(op.results, attributes, strict=True):
            constant = arith.ConstantOp(cast(Any, attr), result.type)
            constant.location = op.location
            constant.result.name_hint = result.name_hint
            Rewriter.insert_op(constant, InsertPoint.before(op))
            result.replace_all_uses_with(constant.result)
        op.detach()
        op.erase()
        for value in used:
            source = value.owner
            if isinstance(source, Operation) and source.parent is not None and not any(r.uses for r in source.results):
                source.detach()
                source.erase()

    def _constant(self, array: Array | Deferred, name: str, type_: Attribute) -> Attribute:
        if isinstance(array, Deferred):
            return DenseResourceAttr.from_params(self.weights.add(array, name), cast(Any, type_))
        return constant_attr(array, self.weights, name)

    def _blank(self, op: EmptyOp | FillOp) -> Array | None:
        """What an output begins as, as a view of one element."""
        value: Any = 0
        if isinstance(op, FillOp):
            if not isinstance(op.value.owner, arith.ConstantOp):
                return None
            value = attribute_array(op.value.owner.value, self.weights)
        spec = self.interpreter.spec(op.results[0].type)
        return np.broadcast_to(np.asarray(value).astype(spec.dtype), spec.shape or ())

    def _array(self, constant: arith.ConstantOp, op: Operation) -> Array | Deferred:
        """The elements of an operand of `op`; still deferred where `op` packs them by the rows they are made in."""
        attr = constant.value
        by_rows = isinstance(op, PackOp) and op.permutation[0] == 0 and 0 not in op.positions
        if by_rows and isinstance(attr, DenseResourceAttr):
            return self.weights.peek(attr.resource_handle.data)
        return attribute_array(attr, self.weights)

    def _results(self, op: Operation, given: Sequence[Array | Deferred]) -> Sequence[Array | Deferred]:
        if isinstance(op, PackOp) and given[0].nbytes >= BLOCK_BYTES:
            return [_deferred(op, given[0], cast(Array, given[2]) if op.padding_value else None)]
        operands = cast("Sequence[Array]", given)
        if isinstance(op, WinogradFilterTransformOp) and given[1].nbytes >= BLOCK_BYTES:
            m, source = op.m, operands[0]
            return [Deferred(given[1].shape, source.dtype, lambda a, b: filter_transform(m, source, a, b))]
        if isinstance(op, CollapseShapeOp | ExpandShapeOp):
            return [operands[0].reshape(cast(Any, op.result.type).get_shape())]
        return self.interpreter.evaluate(op, operands)


def _told(op: Operation) -> Hashable:
    """What says all of an op whose operands are constants; None where a region says some of it."""
    if op.regions:
        return None
    sources = tuple(_source(cast(Operation, operand.owner)) for operand in op.operands)
    return op.name, frozenset(op.properties.items()), tuple(result.type for result in op.results), sources


def _source(op: Operation) -> Hashable:
    """A constant, or what is filled with one."""
    return (
        frozenset(op.properties.items()),
        op.results[0].type,
        tuple(_source(cast(Operation, v.owner)) for v in op.operands),
    )


def _deferred(op: PackOp, source: Array | Deferred, padding: Array | None) -> Deferred:
    """The packing of `source`, by rows of its outermost dimension of tiles."""
    outermost = op.permutation[0]
    tile = dict(zip(op.positions, op.tiles, strict=True)).get(outermost, 1)
    before = (slice(None),) * outermost
    positions, tiles, permutation = op.positions, op.tiles, op.permutation  # not the op: it is about to be erased

    def rows(start: int, stop: int) -> Array:
        if isinstance(source, Deferred):
            part = source.rows(start, stop)
        else:
            part = source[(*before, slice(start * tile, stop * tile))]
        return packed(part, positions, tiles, permutation, padding)

    assert op.result is not None
    return Deferred(cast(Any, op.result.type).get_shape(), source.dtype, rows)


def grows(op: Operation) -> bool:
    """Whether an op writes so much more than it reads that it is better left to run time."""
    read = sum(_elements(v.type) for v in operands_of(op) if not isinstance(v.owner, EmptyOp | FillOp))
    written = sum(_elements(result.type) for result in op.results)
    return written > max(GROWTH * read, ALWAYS)


def _elements(type_: Any) -> int:
    return int(np.prod(type_.get_shape(), dtype=np.int64)) if isinstance(type_, TensorType) else 1
