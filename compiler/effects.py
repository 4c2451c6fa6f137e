"""What an op touches besides its results: the question behind dead code, common subexpressions and motion.

Answered from a table by op name where there is an entry (upstream definitions lack many, some are wrong), else from
the op's xDSL traits, else "unknown", which forbids everything. A dialect states the effects of its ops with xDSL's
traits (`Pure()`, `MemoryReadEffect()`), or beside somebody else's op with

    declare_effects(Effect.NONE, "tensor.yield")

    @effects("linalg.matmul")
    def matmul(op: Operation) -> Effect: ...
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag

from xdsl.dialects.builtin import MemRefType, UnregisteredOp
from xdsl.ir import Operation
from xdsl.traits import (
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

from .traits import class_traits, has


class Effect(IntFlag):
    """A set of effects; the empty set is a pure op."""

    NONE = 0
    READ = 1
    WRITE = 2
    ALLOC = 4
    FREE = 8
    UNKNOWN = 16  # anything at all: other memory, input and output, not returning
    CHANGES = WRITE | FREE | UNKNOWN

    @property
    def changes_memory(self) -> bool:
        """Whether a later read may see something else."""
        return bool(int.__and__(self, Effect.CHANGES))  # that of IntFlag makes a new member, each time


Model = Effect | Callable[[Operation], Effect]
_TABLE: dict[str, Model] = {}
_KINDS = {
    MemoryEffectKind.READ: Effect.READ,
    MemoryEffectKind.WRITE: Effect.WRITE,
    MemoryEffectKind.ALLOC: Effect.ALLOC,
    MemoryEffectKind.FREE: Effect.FREE,
}


def declare_effects(effect: Effect, *names: str) -> None:
    """States that the ops `names` have exactly `effect`, whatever their traits say."""
    for name in names:
        _TABLE[name] = effect


def effects(*names: str) -> Callable[[Callable[[Operation], Effect]], Callable[[Operation], Effect]]:
    """Declares the decorated function as the effects of the ops `names`, whatever their traits say."""

    def declare(model: Callable[[Operation], Effect]) -> Callable[[Operation], Effect]:
        for name in names:
            _TABLE[name] = model
        return model

    return declare


def effects_of(op: Operation, enough: Effect = Effect.UNKNOWN) -> Effect:
    """All effects of `op`, those of the ops inside it included when its effects are recursive.

    Where one of `enough` is found among the ops inside, the others are not looked at.
    """
    model = _TABLE.get(op.name)
    if model is not None:
        return model if isinstance(model, Effect) else model(op)
    if isinstance(op, UnregisteredOp):
        return Effect.UNKNOWN
    traits = class_traits(type(op), MemoryEffect)
    if not traits:
        return Effect.UNKNOWN
    total = Effect.NONE
    for trait in traits:
        if isinstance(trait, RecursiveMemoryEffect):
            total |= nested_effects(op, enough)
            continue
        found = trait.get_effects(op)
        if found is None:
            return Effect.UNKNOWN
        for instance in found:
            total |= _KINDS[instance.kind]
    return total


def nested_effects(op: Operation, enough: Effect = Effect.UNKNOWN) -> Effect:
    """The effects of the ops inside `op`. Terminators that leave the region have none of their own."""
    total = Effect.NONE
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if inner.next_op is None and has(inner, IsTerminator):
                    continue
                if found := effects_of(inner, enough):
                    total |= found
                    if int.__and__(found, enough):
                        return total
    return total


def is_pure(op: Operation) -> bool:
    """Whether `op` has no effect at all: equal operands give equal results, and it may be dropped or moved down."""
    return effects_of(op) is Effect.NONE


def is_trivially_dead(op: Operation) -> bool:
    """Whether nobody would notice if `op` were gone: its results unused, and it changes nothing.

    >>> from xdsl.dialects.arith import ConstantOp
    >>> is_trivially_dead(ConstantOp.from_int_and_width(1, 32))
    True
    """
    for result in op.results:
        if result.first_use is not None:
            return False
    if has(op, IsTerminator) or has(op, SymbolOpInterface):
        return False
    return not effects_of(op, Effect.CHANGES).changes_memory


def _on_buffers(op: Operation) -> Effect:
    """A structured op: on tensors what its body does, on buffers it reads operands and writes destinations."""
    inside = nested_effects(op)
    if any(isinstance(operand.type, MemRefType) for operand in op.operands):
        return inside | Effect.READ | Effect.WRITE
    return inside


# Upstream ops whose xDSL definition states no effects or the wrong ones.

declare_effects(Effect.NONE, "arith.extsi", "arith.remui", "tensor.yield", "linalg.yield", "linalg.index")
declare_effects(Effect.NONE, "vector.bitcast", "vector.create_mask", "vector.constant_mask", "affine.apply")
declare_effects(Effect.READ, "vector.load", "vector.maskedload", "affine.load", "affine.vector_load", "memref.load")
declare_effects(
    Effect.WRITE, "vector.store", "vector.maskedstore", "affine.store", "affine.vector_store", "memref.store"
)
declare_effects(Effect.NONE, "llvm.intr.fabs")
declare_effects(Effect.READ, "llvm.intr.masked.load", "llvm.intr.masked.gather")
declare_effects(Effect.WRITE, "llvm.intr.masked.store", "llvm.intr.masked.scatter", "llvm.intr.memset")
declare_effects(Effect.READ | Effect.WRITE, "llvm.intr.memcpy", "llvm.intr.memmove")
declare_effects(Effect.ALLOC, "llvm.alloca")
declare_effects(Effect.NONE, "bufferization.to_tensor", "bufferization.to_buffer")
declare_effects(Effect.ALLOC, "bufferization.alloc_tensor", "bufferization.clone")

_STRUCTURED = """
    add sub mul div max min exp log sqrt select copy fill transpose broadcast reduce map generic matmul batch_matmul
    quantized_matmul pooling_nchw_max conv_2d_nchw_fchw conv_2d_nhwgc_gfhwc conv_2d_nhwc_hwcf conv_2d_ngchw_gfchw
    conv_2d_ngchw_fgchw conv_2d_nhwc_fhwc pack unpack
"""
for _name in _STRUCTURED.split():
    effects(f"linalg.{_name}")(_on_buffers)


@effects("vector.transfer_read", "vector.gather")
def _transfer_read(op: Operation) -> Effect:
    return Effect.READ if isinstance(op.operands[0].type, MemRefType) else Effect.NONE


@effects("vector.transfer_write", "vector.scatter")
def _transfer_write(op: Operation) -> Effect:
    return Effect.NONE if op.results else Effect.WRITE


@effects("llvm.load")
def _llvm_load(op: Operation) -> Effect:
    return Effect.UNKNOWN if _is_ordered(op) else Effect.READ


@effects("llvm.store")
def _llvm_store(op: Operation) -> Effect:
    return Effect.UNKNOWN if _is_ordered(op) else Effect.WRITE


def _is_ordered(op: Operation) -> bool:
    """Whether an llvm access is volatile or atomic."""
    ordering = op.properties.get("ordering")
    return "volatile_" in op.properties or getattr(getattr(ordering, "value", None), "data", 0) != 0
