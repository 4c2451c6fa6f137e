"""What structured ops touch, so that DCE and CSE may treat them as what they are."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, get_effects


class StructuredOpEffects(MemoryEffect):
    """On tensors: nothing but what the body does. On buffers: reads the operands, writes the outputs."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        effects = set[EffectInstance]()
        for region in op.regions:
            for inner in region.walk():
                if inner.next_op is None and not inner.results:
                    continue  # the terminator yields; it touches nothing
                inner_effects = get_effects(inner)
                if inner_effects is None:
                    return None
                effects.update(inner_effects)
        if any(isinstance(operand.type, MemRefType) for operand in op.operands):
            effects.add(EffectInstance(MemoryEffectKind.READ))
            if isinstance(op, LinalgStructuredOperation) and op.outputs:
                effects.add(EffectInstance(MemoryEffectKind.WRITE))
        return effects


class DestinationEffects(MemoryEffect):
    """For ops without a body that read operands and write a destination when these are buffers."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        if any(isinstance(operand.type, MemRefType) for operand in op.operands):
            return frozenset((EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)))
        return frozenset()
