"""What of a model cannot be lowered: each node with its operator, version, types and reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import TensorType, UnrankedTensorType

from ....compiler.diagnostics import LaminaError
from ....compiler.places import describe_location
from ....dialects.onnx import OnnxOp

_SHOWN = 5


@dataclass(frozen=True)
class Unsupported:
    """A node that cannot be lowered."""

    node: str
    operator: str
    version: int
    types: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.node}: {self._what}: {self.reason}"

    @property
    def _what(self) -> str:
        return f"{self.operator} (opset {self.version})" + (f" of {', '.join(self.types)}" if self.types else "")

    @staticmethod
    def of(op: OnnxOp, reason: str) -> Unsupported:
        """`op` and why."""
        tensors = [operand.type for operand in op.operands if isinstance(operand.type, TensorType | UnrankedTensorType)]
        types = dict.fromkeys(str(tensor.element_type) for tensor in tensors)
        place = describe_location(op.location) or op.name
        return Unsupported(place, f"{op.domain}.{op.operator}", op.opset, tuple(types), reason)

    @staticmethod
    def summary(every: Sequence[Unsupported]) -> list[str]:
        """A line for all nodes of one operator and reason, the most frequent first."""
        groups: dict[tuple[str, int, str], list[Unsupported]] = {}
        for each in every:
            groups.setdefault((each.operator, each.version, each.reason), []).append(each)
        lines: list[str] = []
        for alike in sorted(groups.values(), key=len, reverse=True):
            types = tuple(dict.fromkeys(name for each in alike for name in each.types))
            what = replace(alike[0], types=types)._what
            nodes = ", ".join(each.node for each in alike[:_SHOWN])
            more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
            count = f"{len(alike)} nodes" if len(alike) > 1 else "1 node"
            lines.append(f"{what}: {alike[0].reason}: {count}: {nodes}{more}")
        return lines


class Refusal(LaminaError):
    """A model is refused, with all that is wrong with it."""

    def __init__(self, every: Sequence[Unsupported]):
        count = f"{len(every)} nodes" if len(every) > 1 else "1 node"
        super().__init__(
            f"{count} cannot be lowered",
            hint="a package can add operators, see `lamina.lowerings`",
            notes=tuple(Unsupported.summary(every)),
        )
        self.every = tuple(every)
