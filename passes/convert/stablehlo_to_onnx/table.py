"""The table of hub ops: how each is written in ONNX.

@writes(hlo.RsqrtOp)
def rsqrt(b: NodeBuilder, op: hlo.RsqrtOp, x: Value) -> Value: ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.ir import Operation

Rule = Callable[..., Any]
"""Takes the builder, the hub op and a value for each operand; returns the results, or just the first."""

RuleT = TypeVar("RuleT", bound=Rule)

TABLE: dict[type[Operation], Rule] = {}


def writes(*ops: type[Operation]) -> Callable[[RuleT], RuleT]:
    """Registers the decorated function for each op class. Two rules for one op are a TypeError."""

    def register(rule: RuleT) -> RuleT:
        for op in ops:
            if op in TABLE:
                raise TypeError(f"two rules for '{op.name}'")
            TABLE[op] = rule
        return rule

    return register
