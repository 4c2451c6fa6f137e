"""linalg-grow-concats: concatenations that begin alike, one behind the other, are one buffer that grows.

before:
    %2 = tensor.concat dim(1) %a, %b
    %c = ... %2 ...
    %3 = tensor.concat dim(1) %a, %b, %c
    %d = ... %3 ...
    ...
after, where the last of them has 64 columns:
    %0 = tensor.empty() : tensor<8x64xf32>
    %1 = tensor.insert_slice %b into (tensor.insert_slice %a into %0[0, 0])[0, %n]
    %2 = tensor.extract_slice %1[0, 0] [8, 32] [1, 1]
    %c = ... %2 ...
    %g = tensor.insert_slice %c into %1[0, %m]
    %3 = tensor.extract_slice %g[0, 0] [8, 40] [1, 1]
    ...

So it is in networks whose layers take what all before them gave (DenseNet): each layer has one operand then, not as
many as there are layers before it. Where the parts go is told by numbers in memory, for kernels to be the same. Each
concatenation is read before the next one is made, so that all of it happens in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IndexType,
    ModuleOp,
    TensorType,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.walking import all_ops
from ...dialects.tensor import ConcatOp, EmptyOp, ExtractOp, ExtractSliceOp, InsertSliceOp

LEAST = 4  # concatenations one behind the other: of fewer, the parts are few


@dataclass(frozen=True)
class GrowConcats(ModulePass):
    """Makes one growing buffer of concatenations that go on with each other."""

    name = "linalg-grow-concats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        blocks: dict[Block, list[ConcatOp]] = {}
        for inner in all_ops(op):
            if isinstance(inner, ConcatOp) and inner.parent is not None and inner.result.type.has_static_shape():
                blocks.setdefault(inner.parent, []).append(inner)
        for block, concats in blocks.items():
            if len(concats) >= LEAST:
                positions = {inner: i for i, inner in enumerate(block.ops)}
                for chain in list(_chains(concats, positions)):
                    _grow(chain)


@dataclass
class _Prefix:
    """What begins with some operands: how it goes on, and the concatenation of just these."""

    longer: dict[SSAValue, _Prefix] = field(default_factory=dict[SSAValue, "_Prefix"])
    concat: ConcatOp | None = None


def _chains(concats: Sequence[ConcatOp], positions: dict[Operation, int]) -> Iterator[list[ConcatOp]]:
    """Concatenations that each go on with the one before, the longest first, each in one chain."""
    roots: dict[int, _Prefix] = {}
    for op in concats:
        prefix = roots.setdefault(op.dim.value.data, _Prefix())
        for value in op.inputs:
            prefix = prefix.longer.setdefault(value, _Prefix())
        prefix.concat = prefix.concat or op
    taken: set[Operation] = set()
    for op in sorted(concats, key=lambda op: -len(op.inputs)):
        prefix = roots[op.dim.value.data]
        chain: list[ConcatOp] = []
        for value in op.inputs:
            prefix = prefix.longer[value]
            if prefix.concat is not None and prefix.concat not in taken:
                chain.append(prefix.concat)
        chain = _one_after_the_other(chain, positions)
        if len(chain) >= LEAST:
            taken.update(chain)
            yield chain


def _one_after_the_other(chain: Sequence[ConcatOp], positions: dict[Operation, int]) -> list[ConcatOp]:
    """The end of a chain in which all that reads one comes before the next."""
    kept: list[ConcatOp] = []
    for op in reversed(chain):
        if kept and not _is_read_before(op, positions[kept[-1]], positions):
            break
        kept.append(op)
    return kept[::-1]


def _is_read_before(op: ConcatOp, next_: int, positions: dict[Operation, int]) -> bool:
    """Whether an op, and all that reads its result, stands before that position."""
    users = [use.operation for use in op.result.uses]
    return positions[op] < next_ and all(positions.get(user, next_) < next_ for user in users)


def _grow(chain: Sequence[ConcatOp]) -> None:
    """One buffer for the whole chain, and a part of it for each concatenation but the last."""
    last = chain[-1]
    axis, offset, done = last.dim.value.data, 0, 0
    empty = EmptyOp([], last.result.type)
    empty.location = last.location
    Rewriter.insert_op(empty, InsertPoint.before(chain[0]))
    whole: SSAValue = empty.tensor
    for op in chain:
        for part in list(op.inputs)[done:]:
            whole, offset = _insert(part, whole, axis, offset, op), offset + _sizes(part)[axis]
        done = len(op.inputs)
        if op is last:
            op.result.replace_all_uses_with(whole)
        else:
            sizes = _sizes(op.result)
            view = ExtractSliceOp.from_static_parameters(whole, [0] * len(sizes), sizes)
            view.location = op.location
            Rewriter.insert_op(view, InsertPoint.before(op))
            op.result.replace_all_uses_with(view.result)
        whole.name_hint = op.result.name_hint
        op.detach()
        op.erase()


def _insert(part: SSAValue, whole: SSAValue, axis: int, offset: int, at: Operation) -> SSAValue:
    """`whole` with `part` from `offset` on."""
    sizes = _sizes(part)
    start = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(i64, []), [offset]))
    number = ExtractOp(start.result, [], i64)
    index = arith.IndexCastOp(number.result, IndexType())
    starts = [DYNAMIC_INDEX if d == axis else 0 for d in range(len(sizes))]
    insert = InsertSliceOp.get(part, whole, sizes, starts, offsets=[index.result])
    for new in (start, number, index, insert):
        new.location = at.location
        Rewriter.insert_op(new, InsertPoint.before(at))
    return insert.result


def _sizes(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()
