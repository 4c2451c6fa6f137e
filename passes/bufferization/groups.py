"""Which tensor values may live in one buffer: the analysis behind destination passing and in-place updates.

A group is a set of values of one block that share a buffer. A result joins the group of its destination when
nothing reads the old contents afterwards; otherwise it starts a group of its own (and the old contents are
copied if the op reads them). What a `tensor.empty` or a destination argument holds is undefined: writing there
starts a group too, so two writers of one `tensor.empty` never meet. A call's destination that is neither is a value
that its kernel changes a part of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from ...dialects.linalg import FillOp, GenericOp, PackOp, WinogradOp, WinogradOutputTransformOp
from ...dialects.linalg_ext import AttentionOp, MatmulNBitsOp
from ...dialects.scf import ForOp
from ...dialects.tensor import (
    CollapseShapeOp,
    EmptyOp,
    ExpandShapeOp,
    ExtractSliceOp,
    InsertOp,
    InsertSliceOp,
)

Reshape = CollapseShapeOp | ExpandShapeOp


@dataclass(eq=False)
class Group:
    """Values sharing one buffer of type `type`, written first at `first` and read last at `last` (op positions)."""

    type: TensorType
    writable: bool = True
    first: int = 0
    last: int = 0
    copy_from: SSAValue | None = None  # contents to copy in before the first write
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    home: SSAValue | None = None  # the memref, once known


def destinations(op: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """The (result, destination operand) pairs of a destination-passing op on tensors; empty for other ops."""
    match op:
        case GenericOp() | FillOp() | AttentionOp():
            return list(zip(op.results, op.outputs, strict=True))
        case PackOp() | InsertSliceOp() | InsertOp():
            return [(op.results[0], op.dest)]
        case WinogradOp() | MatmulNBitsOp():
            return [(op.results[0], op.output)]
        case CallOp():
            count = len(op.results)
            return list(zip(op.results, op.operands[len(op.operands) - count :], strict=True))
        case _:
            return []


def reads_destination(op: Operation, index: int) -> bool:
    """Whether the op reads the old contents of its destination `index`."""
    match op:
        case GenericOp():
            return bool(op.body.block.args[len(op.inputs) + index].first_use)
        case InsertSliceOp() | InsertOp() | WinogradOutputTransformOp() | CallOp():
            return True
        case _:
            return False


def is_changed(destination: SSAValue) -> bool:
    """Whether a kernel changes a part of what it is given as a destination."""
    return any(isinstance(use.operation, InsertSliceOp | InsertOp | ForOp) for use in destination.uses)


class BlockPlan:
    """The groups of the tensor values defined in one block.

    `owned` are arguments of the block, or of one around it, in buffers that the block may change.
    """

    def __init__(
        self, block: Block, undefined: Iterable[SSAValue] = (), owned: Mapping[SSAValue, SSAValue] | None = None
    ):
        self.block = block
        self.undefined = set(undefined)
        self.group_of: dict[SSAValue, Group] = {}
        self.groups: list[Group] = []
        self.positions: dict[Operation, int] = {op: i for i, op in enumerate(block.ops)}
        for value, home in (owned or {}).items():
            group = Group(cast("TensorType[Attribute]", value.type), first=-1, last=-1, home=home)
            self.groups.append(group)
            self._join(group, value)
        for op in block.ops:
            self._visit(op)

    def position(self, use: Use) -> int:
        """The position of the op of this block in which the use happens."""
        op: Operation | None = use.operation
        while op is not None and op.parent is not self.block:
            op = op.parent_op()
        assert op is not None, "a value is used outside of the block that defines it"
        return self.positions[op]

    def last_use(self, value: SSAValue) -> int:
        """The position of the last use of `value`, or -1."""
        return max((self.position(use) for use in value.uses), default=-1)

    def last_read(self, value: SSAValue) -> int:
        """The position of the last use of `value`, or of what lives in its buffer, or -1."""
        group = self.group_of.get(value)
        return max(map(self.last_use, [value] if group is None else group.values))

    def _visit(self, op: Operation) -> None:
        if isinstance(op, EmptyOp):
            self.undefined.add(op.results[0])
            return
        if isinstance(op, ConstantOp):
            return  # in a section that nothing may write to
        if isinstance(op, CollapseShapeOp | ExpandShapeOp | ExtractSliceOp):
            self._visit_view(op)
            return
        joined = destinations(op)
        for index, (result, dest) in enumerate(joined):
            reads = reads_destination(op, index)
            group = self.group_of.get(dest)
            if dest not in self.undefined and group is not None and self._in_place(op, group, index):
                self._join(group, result)
            else:
                new = self._new(op, result)
                if reads and dest not in self.undefined:
                    new.copy_from = dest
        if not joined:
            for result in op.results:
                if isinstance(result.type, TensorType):
                    self._new(op, result)

    def _visit_view(self, op: Reshape | ExtractSliceOp) -> None:
        source, result = op.operands[0], op.results[0]
        if source in self.undefined:
            self.undefined.add(result)
            return
        group = self.group_of.get(source)
        slices = isinstance(op, ExtractSliceOp)
        if group is None:  # a value of an outer block or an argument: read only
            type_ = source.type
            assert isinstance(type_, TensorType)
            group = Group(type_, writable=False, values=[source])
            self.group_of[source] = group
        if not slices and not _stays_plain(source):
            self._new(op, result).copy_from = source
            return
        self._join(group, result)

    def _new(self, op: Operation, result: SSAValue) -> Group:
        type_ = result.type
        assert isinstance(type_, TensorType)
        position = self.positions[op]
        group = Group(type_, first=position, last=position)
        self.groups.append(group)
        self._join(group, result)
        return group

    def _join(self, group: Group, value: SSAValue) -> None:
        group.values.append(value)
        group.last = max(group.last, self.last_use(value))
        self.group_of[value] = group

    def _in_place(self, op: Operation, group: Group, index: int) -> bool:
        """Whether `op` may overwrite the buffer of `group` with its result `index`."""
        if not group.writable:
            return False
        here = self.positions[op]
        if any(self.last_use(value) > here for value in group.values):
            return False
        return self.reads_align(op, group.values, index)

    def reads_align(self, op: Operation, values: Sequence[SSAValue], index: int) -> bool:
        """Whether `op` reads `values` other than through destination `index` only at the element it writes."""
        own = destinations(op)[index][1]
        seen_own = False
        for value in values:
            for use in value.uses:
                if use.operation is not op:
                    if self.position(use) == self.positions[op]:
                        return False  # read from inside the body, at computed indices
                    continue
                if value is own and not seen_own and _is_destination(op, use.index, index):
                    seen_own = True
                    continue
                if not _elementwise(op, use.index, index):
                    return False
        return True


def _is_destination(op: Operation, operand: int, index: int) -> bool:
    match op:
        case GenericOp() | FillOp() | AttentionOp():
            return operand == len(op.inputs) + index
        case InsertSliceOp() | InsertOp() | PackOp() | WinogradOp():
            return operand == 1
        case MatmulNBitsOp():
            return operand == len(op.operands) - 1
        case CallOp():
            return operand == len(op.operands) - len(op.results) + index
        case _:
            return False


def _elementwise(op: Operation, operand: int, index: int) -> bool:
    if not isinstance(op, GenericOp) or operand >= len(op.inputs):
        return False
    maps = op.maps
    out = maps[len(op.inputs) + index]
    return (
        all(iterator == "parallel" for iterator in op.iterators)
        and maps[operand] == out
        and out.is_projected_permutation()
        and len(out.results) == out.num_dims
    )


def _stays_plain(value: SSAValue) -> bool:
    """Whether the buffer of `value` is row-major: no slice lies between it and where it is computed.

    Of constants those at computed rows are.
    """
    owner = value.owner
    while isinstance(owner, CollapseShapeOp | ExpandShapeOp):
        owner = owner.operands[0].owner
    return not isinstance(owner, ExtractSliceOp) or bool(owner.offsets)
