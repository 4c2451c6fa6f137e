"""Rewrites the tensor ops of a block to ops on buffers, given the plan of groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    TensorType,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.diagnostics import LaminaError
from ...dialects.linalg import FillOp, GenericOp, PackOp, WinogradOp
from ...dialects.linalg import YieldOp as LinalgYieldOp
from ...dialects.linalg_ext import AttentionOp, MatmulNBitsOp
from ...dialects.memref import LoadOp, StoreOp, SubviewOp
from ...dialects.memref.views import collapse, expand, kept_dims
from ...dialects.tensor import (
    CollapseShapeOp,
    ConcatOp,
    EmptyOp,
    ExpandShapeOp,
    ExtractOp,
    ExtractSliceOp,
    FromElementsOp,
    InsertOp,
    InsertSliceOp,
    PadOp,
)
from .groups import BlockPlan, Group
from .layout import memref_type, reshape_ops

OpT = TypeVar("OpT", bound=Operation)


class Emitter(ABC):
    """Rewrites blocks in place. How buffers are made, constants found, calls and copies written is its subclass's."""

    def __init__(self) -> None:
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.dead: list[Operation] = []
        self.stale: list[BlockArgument] = []

    @abstractmethod
    def allocate(self, type_: MemRefType, at: Operation) -> SSAValue:
        """A new buffer, usable from `at` on."""

    @abstractmethod
    def copy(self, source: SSAValue, target: SSAValue, at: Operation) -> None:
        """Copies one buffer to another of the same shape, before `at`."""

    @abstractmethod
    def other(self, op: Operation, plan: BlockPlan) -> None:
        """Rewrites an op with tensors that this class does not know."""

    def insert(self, op: OpT, at: Operation) -> OpT:
        """Inserts `op` before `at`, with its location."""
        for inner in op.walk():
            inner.location = at.location
        Rewriter.insert_op(op, InsertPoint.before(at))
        return op

    def erase_dead(self) -> None:
        """Erases the ops and block arguments that were rewritten; call when no use is left."""
        for op in self.dead:
            op.detach()
        for op in self.dead:
            op.drop_all_references()
        for argument in self.stale:
            argument.block.erase_arg(argument)
        self.dead.clear()
        self.stale.clear()

    # what a value lives in

    def buffer(self, value: SSAValue, at: Operation) -> SSAValue:
        """The buffer that holds `value`; undefined contents get a buffer of their own."""
        known = self.buffers.get(value)
        if known is None:
            known = self.buffers[value] = self.allocate(memref_type(value.type), at)
        return known

    def home(self, plan: BlockPlan, value: SSAValue, at: Operation) -> SSAValue:
        """The buffer that `value`, a result of `at`, is to be written to; copies old contents in if it must."""
        group = plan.group_of[value]
        if group.home is None:
            group.home = self.allocate(memref_type(group.type), at)
        self._copy_in(group, at)
        type_ = value.type
        assert isinstance(type_, TensorType)
        self.buffers[value] = self.reshaped(group.home, type_.get_shape(), at)
        return self.buffers[value]

    def _copy_in(self, group: Group, at: Operation) -> None:
        if group.copy_from is not None:
            value, group.copy_from = group.copy_from, None
            assert group.home is not None
            self.copy_in(value, group.home, at)

    def copy_in(self, value: SSAValue, target: SSAValue, at: Operation) -> None:
        """Lets `target`, whose shape may be another, begin as `value`."""
        source = self.buffer(value, at)
        shape = source.type.get_shape() if isinstance(source.type, MemRefType) else ()
        self.copy(source, self.reshaped(target, shape, at), at)

    def reshaped(self, buffer: SSAValue, shape: Sequence[int], at: Operation) -> SSAValue:
        """A row-major buffer seen with another shape."""
        for op in reshape_ops(buffer, shape):
            buffer = self.insert(op, at).results[0]
        return buffer

    # blocks

    def rewrite(self, plan: BlockPlan) -> None:
        """Rewrites every op of the block but its terminator."""
        for op in list(plan.block.ops):
            if op.next_op is not None:
                self.op(op, plan)

    def op(self, op: Operation, plan: BlockPlan) -> None:
        """Rewrites one op; ops without tensors stay."""
        match op:
            case EmptyOp():
                self.dead.append(op)
            case GenericOp() | FillOp() | PackOp() | AttentionOp():
                self._structured(op, plan)
            case WinogradOp():
                self._winograd(op, plan)
            case MatmulNBitsOp():
                inputs = [self.buffer(value, op) for value in (op.lhs, op.rhs, op.scales)]
                starts, lhs_scales = (v and self.buffer(v, op) for v in (op.starts, op.lhs_scales))
                target = self.home(plan, op.results[0], op)
                self._replace(op, MatmulNBitsOp.of(inputs, starts, lhs_scales, target, op.bits))
            case CollapseShapeOp() | ExpandShapeOp():
                self._reshape(op, plan)
            case ExtractSliceOp():
                self._extract_slice(op, plan)
            case InsertSliceOp():
                self._insert_slice(op, plan)
            case ConcatOp():
                self._concat(op, plan)
            case PadOp():
                self._pad(op, plan)
            case ExtractOp():
                self._extract(op)
            case InsertOp():
                target = self.home(plan, op.result, op)
                self.insert(StoreOp.get(op.scalar, target, op.indices), op)
                self.dead.append(op)
            case FromElementsOp():
                self._from_elements(op, plan)
            case _ if any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)) or op.regions:
                self.other(op, plan)
            case _:
                pass

    def _structured(self, op: GenericOp | FillOp | PackOp | AttentionOp, plan: BlockPlan) -> None:
        if isinstance(op, PackOp):
            source = self.buffer(op.source, op)
            assert op.result is not None
            target = self.home(plan, op.result, op)
            self._packing(op, source, target)
            return
        inputs = [self.buffer(v, op) if isinstance(v.type, TensorType) else v for v in op.inputs]
        outputs = [self.home(plan, result, op) for result in op.results]
        if isinstance(op, FillOp):
            self._replace(op, FillOp(inputs[0], outputs[0]))
            return
        self.captures(op.body)
        if isinstance(op, AttentionOp):
            body = op.detach_region(op.body)
            zero = op.zero_undefined is not None
            self._replace(op, AttentionOp.of(inputs, outputs[0], op.maps, body, causal=op.seen, zero_undefined=zero))
            return
        self._replace(
            op,
            GenericOp.of(inputs, outputs, op.maps, list(op.iterator_types), op.detach_region(op.body)),
        )

    def _winograd(self, op: WinogradOp, plan: BlockPlan) -> None:
        source = self.buffer(op.input, op)
        target = self.home(plan, op.results[0], op)
        self._replace(op, type(op).create(operands=[source, target], properties=op.properties.copy()))

    def _packing(self, op: PackOp, source: SSAValue, target: SSAValue) -> None:
        """`linalg.pack` is an op on tensors; on buffers it is a fill, where panels are not whole, and a copy."""
        assert isinstance(source.type, MemRefType)
        rank = len(source.type.get_shape())
        dims = [AffineExpr.dimension(i) for i in range(rank)]
        tiles = dict(zip(op.positions, op.tiles, strict=True))
        outer = [dims[d] // tiles[d] if d in tiles else dims[d] for d in op.permutation]
        inner = [dims[d] % tile for d, tile in tiles.items()]
        if op.padding_value is not None:
            fill = FillOp(op.padding_value, target)
            fill.location = op.location
            Rewriter.insert_op(fill, InsertPoint.before(op))
        element = source.type.element_type
        body = Block(arg_types=[element, element])
        body.add_op(LinalgYieldOp(body.args[0]))
        maps = [AffineMap.identity(rank), AffineMap(rank, 0, (*outer, *inner))]
        self._replace(op, GenericOp.of([source], [target], maps, ["parallel"] * rank, Region(body)))

    def _replace(self, old: Operation, new: Operation) -> None:
        Rewriter.insert_op(new, InsertPoint.before(old))
        new.location = old.location
        new.attributes |= old.attributes
        self.dead.append(old)

    def captures(self, region: Region) -> None:
        """Rewrites what a body reads of tensors: `tensor.extract` becomes `memref.load`."""
        for inner in list(region.walk()):
            match inner:
                case ExtractOp():
                    self._extract(inner)
                case _ if any(isinstance(v.type, TensorType) for v in inner.operands):
                    raise LaminaError("only tensor.extract may read a tensor inside a body", where=inner)
                case _:
                    pass

    def _extract(self, op: ExtractOp) -> None:
        root: Operation = op
        while isinstance(root.parent_op(), GenericOp):
            parent = root.parent_op()
            assert parent is not None
            root = parent
        load = self.insert(LoadOp.get(self.buffer(op.tensor, root), op.indices), op)
        op.result.replace_all_uses_with(load.res)
        self.dead.append(op)

    def _reshape(self, op: CollapseShapeOp | ExpandShapeOp, plan: BlockPlan) -> None:
        self.dead.append(op)
        if op.result in plan.undefined:
            return
        group = plan.group_of[op.result]
        if group.values[0] is op.result:  # the source is a slice: not row-major, so it was to be copied
            self.home(plan, op.result, op)
            return
        source = self.buffer(op.src, op)
        groups = [[int(i.value.data) for i in part] for part in op.reassociation]
        assert isinstance(op.result.type, TensorType)
        view = (
            collapse(source, groups)
            if isinstance(op, CollapseShapeOp)
            else expand(source, groups, op.result.type.get_shape())
        )
        self.buffers[op.result] = self.insert(view, op).results[0]

    # slices

    def subview(
        self,
        buffer: SSAValue,
        offsets: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int],
        at: Operation,
        shape: Sequence[int] | None = None,
    ) -> SSAValue:
        """A rectangular part of `buffer`; with `shape`, dimensions of size 1 that it lacks are dropped."""
        type_ = buffer.type
        assert isinstance(type_, MemRefType)
        if list(sizes) == list(type_.get_shape()) and not any(offsets) and shape is None:
            return buffer
        result = SubviewOp.infer_result_type(type_, offsets, sizes, strides)
        if shape is not None and tuple(shape) != tuple(sizes):
            result = _drop_unit_dims(result, shape)
        op = SubviewOp.get(buffer, offsets, sizes, strides, result)
        return self.insert(op, at).result

    def _extract_slice(self, op: ExtractSliceOp, plan: BlockPlan) -> None:
        self.dead.append(op)
        if op.result in plan.undefined:
            return
        offsets, sizes, strides = static_slice(op)
        source = self.buffer(op.source, op)
        assert isinstance(op.result.type, TensorType)
        self.buffers[op.result] = self.subview(source, offsets, sizes, strides, op, op.result.type.get_shape())

    def _insert_slice(self, op: InsertSliceOp, plan: BlockPlan) -> None:
        source = self.buffer(op.source, op)
        target = self.home(plan, op.result, op)
        assert isinstance(op.source.type, TensorType)
        if op.offsets:
            self.copy(source, self._part_at(target, op), op)
            self.dead.append(op)
            return
        offsets, sizes, strides = static_slice(op)
        part = self.subview(target, offsets, sizes, strides, op, op.source.type.get_shape())
        fill = op.dest.owner
        if isinstance(fill, FillOp) and all(s == 1 for s in strides) and op.dest.has_one_use():
            self._narrow_fill(fill, target, offsets, sizes, op)
        self.copy(source, part, op)
        self.dead.append(op)

    def _part_at(self, buffer: SSAValue, op: InsertSliceOp) -> SSAValue:
        """The part of `buffer` that an insertion at computed offsets writes."""
        offsets, sizes, strides = (a.get_values() for a in (op.static_offsets, op.static_sizes, op.static_strides))
        assert isinstance(buffer.type, MemRefType) and isinstance(op.source.type, TensorType)
        if DYNAMIC_INDEX in (*sizes, *strides):
            raise LaminaError("a slice of computed sizes or steps cannot be bufferized", where=op)
        computed = iter(op.offsets)
        starts = [next(computed) if offset == DYNAMIC_INDEX else offset for offset in offsets]
        result = SubviewOp.infer_result_type(buffer.type, starts, sizes, strides)
        if op.source.type.get_shape() != result.get_shape():
            result = _drop_unit_dims(result, op.source.type.get_shape())
        return self.insert(SubviewOp(buffer, op.offsets, [], [], offsets, sizes, strides, result), op).result

    def _narrow_fill(
        self, fill: FillOp, target: SSAValue, offsets: Sequence[int], sizes: Sequence[int], at: Operation
    ) -> None:
        """A fill whose inside is overwritten at once needs to fill the border only."""
        written = fill.prev_op
        if not isinstance(written, FillOp) or written.output is not target:
            return
        written.detach()
        written.erase()
        self.fill_border(fill.inputs[0], target, offsets, sizes, at)

    def fill_border(
        self, value: SSAValue, target: SSAValue, offsets: Sequence[int], sizes: Sequence[int], at: Operation
    ) -> None:
        """Fills what of `target` lies outside of the box at `offsets` of `sizes`, in disjoint boxes."""
        type_ = target.type
        assert isinstance(type_, MemRefType)
        shape = type_.get_shape()
        for dim, extent in enumerate(shape):
            low, high = offsets[dim], offsets[dim] + sizes[dim]
            for start, stop in ((0, low), (high, extent)):
                if start < stop:
                    box_offsets = [*offsets[:dim], start, *(0 for _ in shape[dim + 1 :])]
                    box_sizes = [*sizes[:dim], stop - start, *shape[dim + 1 :]]
                    part = self.subview(target, box_offsets, box_sizes, [1] * len(shape), at)
                    self.insert(FillOp(value, part), at)

    def _concat(self, op: ConcatOp, plan: BlockPlan) -> None:
        target = self.home(plan, op.result, op)
        for source, offsets, sizes in parts_of(op):
            self._put(source, target, offsets, sizes, op, plan)
        self.dead.append(op)

    def _put(
        self,
        source: SSAValue,
        target: SSAValue,
        offsets: Sequence[int],
        sizes: Sequence[int],
        at: Operation,
        plan: BlockPlan,
    ) -> None:
        """Copies a part into `target`, if it was not computed there."""
        group = plan.group_of.get(source)
        if group is None or group.home is None or not isinstance(group.home.owner, SubviewOp):
            self.copy(self.buffer(source, at), self.subview(target, offsets, sizes, [1] * len(sizes), at), at)

    def _pad(self, op: PadOp, plan: BlockPlan) -> None:
        low, high = op.static_low.get_values(), op.static_high.get_values()
        if DYNAMIC_INDEX in (*low, *high) or any(p < 0 for p in (*low, *high)):
            raise LaminaError("only constant, non-negative padding can be bufferized", where=op)
        value = _padding_value(op)
        if isinstance(value.owner, Operation) and value.owner.parent is op.region.block:
            value = self.insert(value.owner.clone(), op).results[0]
        target = self.home(plan, op.result, op)
        [(source, offsets, sizes)] = parts_of(op)
        self.fill_border(value, target, offsets, sizes, op)
        self._put(source, target, offsets, sizes, op, plan)
        self.dead.append(op)

    def _from_elements(self, op: FromElementsOp, plan: BlockPlan) -> None:
        target = self.home(plan, op.result, op)
        assert isinstance(op.result.type, TensorType)
        shape = op.result.type.get_shape()
        for number, element in enumerate(op.elements):
            indices: list[SSAValue] = []
            for extent in reversed(shape):
                number, index = divmod(number, extent)
                indices.insert(0, self.constant_index(index, op))
            self.insert(StoreOp.get(element, target, indices), op)
        self.dead.append(op)

    def constant_index(self, value: int, at: Operation) -> SSAValue:
        """`arith.constant` of type index."""
        return self.insert(arith.ConstantOp(IntegerAttr(value, IndexType())), at).result


def copy_generic(source: SSAValue, target: SSAValue) -> GenericOp:
    """A generic that copies one buffer to another of the same shape."""
    type_ = source.type
    assert isinstance(type_, MemRefType)
    rank = len(type_.get_shape())
    block = Block(arg_types=[type_.element_type] * 2)
    block.add_op(LinalgYieldOp(block.args[0]))
    identity = AffineMap.identity(rank)
    return GenericOp.of([source], [target], [identity, identity], ["parallel"] * rank, Region(block))


def parts_of(op: ConcatOp | PadOp) -> list[tuple[SSAValue, list[int], list[int]]]:
    """What an op puts together: each part with its offsets in the result, and its sizes."""
    found: list[tuple[SSAValue, list[int], list[int]]] = []
    offset = 0
    for source in op.inputs if isinstance(op, ConcatOp) else [op.source]:
        type_ = source.type
        assert isinstance(type_, TensorType)
        sizes = list(type_.get_shape())
        if isinstance(op, PadOp):
            found.append((source, list(op.static_low.get_values()), sizes))
            continue
        dim = op.dim.value.data
        found.append((source, [offset if i == dim else 0 for i in range(len(sizes))], sizes))
        offset += sizes[dim]
    return found


def static_slice(op: ExtractSliceOp | InsertSliceOp) -> tuple[list[int], list[int], list[int]]:
    """Offsets, sizes and strides of a slice. Raises LaminaError when one is not a constant."""
    offsets, sizes, strides = (list(a.get_values()) for a in (op.static_offsets, op.static_sizes, op.static_strides))
    if DYNAMIC_INDEX in (*offsets, *sizes, *strides):
        raise LaminaError("a slice with computed bounds cannot be bufferized", where=op)
    return offsets, sizes, strides


def _padding_value(op: PadOp) -> SSAValue:
    last = op.region.block.last_op
    assert last is not None
    return last.operands[0]


def _drop_unit_dims(type_: MemRefType, shape: Sequence[int]) -> MemRefType:
    """The strided type without the dimensions of size 1 that `shape` lacks."""
    strides = type_.get_strides()
    assert strides is not None
    kept = kept_dims(type_.get_shape(), shape)
    layout = StridedLayoutAttr([strides[d] for d in kept], type_.get_offset())
    return MemRefType(type_.element_type, list(shape), layout)
