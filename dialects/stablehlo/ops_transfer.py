"""Ops that talk to the host or to another process by a channel, and the token that orders them.

No target of ours has such channels: they are read, checked and printed, and what would run them says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseIntOrFPElementsAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure

from . import shapes
from .attributes import TokenType
from .ops_collective import check_pairs
from .syntax import ClausedOp, StableHLOOp
from .types import ChannelHandleAttr


class TransferEffects(MemoryEffect):
    """They read and write what nobody else sees, in the order of their tokens."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}


class TransferOp(StableHLOOp):
    """An op on a channel."""

    traits = traits_def(TransferEffects())

    def check_token(self, kind: Attribute, what: str) -> None:
        """The last operand or result is a token."""
        if not isinstance(kind, TokenType):
            shapes.fail(f"{what} must be a token, got {kind}")

    def check_channel(self) -> None:
        """A host transfer has a channel of its type, and pairs are sound."""
        host = self.properties.get("is_host_transfer")
        handle = self.properties.get("channel_handle")
        wanted = self.HOST_CHANNEL if isinstance(host, IntegerAttr) and host.value.data else 1
        if isinstance(handle, ChannelHandleAttr) and handle.data.type not in (0, wanted):
            shapes.fail(f"the type of channel_handle must be {wanted}, got {handle.data.type}", "C1")
        pairs = self.properties.get("source_target_pairs")
        if isinstance(pairs, DenseIntOrFPElementsAttr):
            check_pairs(pairs)

    HOST_CHANNEL: ClassVar[int] = 0


@irdl_op_definition
class SendOp(TransferOp):
    """Gives the inputs to a channel (C1-C5)."""

    name = "stablehlo.send"
    inputs = var_operand_def()
    result = result_def(TokenType)
    channel_handle = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(BoolAttr)
    source_target_pairs = opt_prop_def(DenseIntOrFPElementsAttr)
    HOST_CHANNEL: ClassVar = 2

    def verify_(self) -> None:
        self.check_token(self.operand_types[-1] if self.operands else TokenType, "the last operand")  # pyright: ignore
        self.check_channel()


@irdl_op_definition
class RecvOp(TransferOp):
    """Takes results from a channel (C1-C5)."""

    name = "stablehlo.recv"
    token = operand_def(TokenType)
    results_ = var_result_def()
    channel_handle = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(BoolAttr)
    source_target_pairs = opt_prop_def(DenseIntOrFPElementsAttr)
    HOST_CHANNEL: ClassVar = 3

    def verify_(self) -> None:
        if not self.results:
            shapes.fail("needs at least one result", "C2")
        self.check_token(self.result_types[-1], "the last result")
        self.check_channel()


@irdl_op_definition
class InfeedOp(TransferOp):
    """Takes results from the host (C1-C3)."""

    name = "stablehlo.infeed"
    token = operand_def(TokenType)
    results_ = var_result_def()
    infeed_config = opt_prop_def(StringAttr)
    layout = opt_prop_def(ArrayAttr)

    def verify_(self) -> None:
        if not self.results:
            shapes.fail("needs at least one result", "C1")
        self.check_token(self.result_types[-1], "the last result")


@irdl_op_definition
class OutfeedOp(TransferOp):
    """Gives the inputs to the host."""

    name = "stablehlo.outfeed"
    inputs = var_operand_def()
    result = result_def(TokenType)
    outfeed_config = opt_prop_def(StringAttr)

    def verify_(self) -> None:
        self.check_token(self.operand_types[-1] if self.operands else TokenType, "the last operand")  # pyright: ignore


@irdl_op_definition
class CreateTokenOp(ClausedOp):
    """A token that depends on nothing: `after_all` of nothing says the same.

    `%t = stablehlo.create_token : !stablehlo.token`
    """

    name = "stablehlo.create_token"
    output = result_def(TokenType)
    traits = traits_def(Pure())
    ONE_TYPE: ClassVar = True

    def __init__(self) -> None:
        self._build([])

    def infer(self) -> Sequence[Attribute] | None:
        return (TokenType(),)


OPS: Sequence[type[Operation]] = (SendOp, RecvOp, InfeedOp, OutfeedOp, CreateTokenOp)
