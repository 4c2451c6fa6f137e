"""Images that a kernel pads with zeros before a product reads them: windows reach beyond the image itself instead.

Before:
    linalg.fill ins(%zero) outs(%border) ...        // parts of %scratch, as memref.subview
    linalg.generic ins(%x) outs(%inside) { yield }
    linalg.generic {... windows ...} ins(%scratch, %w) outs(%y) { mulf, addf }
After, as the left matrix of the product:
    cta.view %x : memref<1x9x9x16xbf16> to !cta.view<bf16, (...):(...) from -160, #cta.border<...>, #cta.border<...>>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FloatAttr, MemRefType, NoneAttr
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.linalg import FillOp, GenericOp


@dataclass(frozen=True)
class Padded:
    """What stands in a buffer, zeros around it: how many before it along each dimension."""

    source: SSAValue
    low: tuple[int, ...]


def without_pads(ops: Sequence[Operation]) -> tuple[list[Operation], Mapping[SSAValue, Padded]]:
    """The ops of a kernel but those that pad, and what stands in each buffer that they pad."""
    found: dict[SSAValue, Padded] = {}
    for op in ops:
        if isinstance(op, GenericOp) and _copies(op) and isinstance(part := op.outputs[0].owner, SubviewOp):
            low = tuple(map(int, part.static_offsets.get_values()))
            plain = set(part.static_strides.get_values()) == {1} and not part.offsets
            if plain and part.source not in found and part.result.type.get_shape() == _shape(op.inputs[0]):
                found[part.source] = Padded(op.inputs[0], low)
    behind = [op for op in ops if not _pads(op, found)]
    factors = next((list(op.inputs) for op in behind if isinstance(op, GenericOp)), [])
    uses = [value for op in behind for value in op.operands if value in found]
    parts = [value.owner for op in behind for value in op.operands if isinstance(value.owner, SubviewOp)]
    if len(uses) != sum(value in found for value in factors) or any(part.source in found for part in parts):
        return list(ops), {}  # somebody else reads it, or parts of it, or writes there
    return behind, found


def _pads(op: Operation, found: Mapping[SSAValue, Padded]) -> bool:
    """Whether an op does nothing else than to pad one of these buffers."""
    match op:
        case SubviewOp():
            return op.source in found
        case FillOp():
            whole = op.output.owner.source if isinstance(op.output.owner, SubviewOp) else op.output
            return whole in found and is_zero(op.value)
        case GenericOp():
            part = op.outputs[0].owner
            return isinstance(part, SubviewOp) and part.source in found and found[part.source].source is op.inputs[0]
        case _:
            return False


def is_zero(value: SSAValue) -> bool:
    """Whether a number is the constant 0."""
    owner = value.owner
    number = owner.properties.get("value") if isinstance(owner, Operation) else None
    return isinstance(number, FloatAttr) and number.value.data == 0.0


def _copies(op: GenericOp) -> bool:
    """Whether an op copies an argument of the kernel, whose elements follow each other, as it is."""
    if len(op.inputs) != 1 or len(op.outputs) != 1 or any(m != AffineMap.identity(m.num_dims) for m in op.maps):
        return False
    source, block, last = op.inputs[0], op.body.block, op.body.block.last_op
    if not isinstance(source, BlockArgument) or not isinstance(source.type, MemRefType):
        return False
    plain = isinstance(source.type.layout, NoneAttr)
    return plain and last is not None and last is block.first_op and last.operands[0] is block.args[0]


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, MemRefType)
    return value.type.get_shape()
