"""What follows the sum, on the few neighbours of a row that a thread holds at a time: loads, maps, the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, VectorType, i64
from xdsl.ir import Operation, SSAValue

from ....dialects.affine import LoadOp as ElementLoadOp
from ....dialects.affine import StoreOp as ElementStoreOp
from ....dialects.affine import VectorLoadOp, VectorStoreOp
from ....dialects.cta import LoadOp, MapOp, StoreOp, ViewOp, ViewType, YieldOp
from ....dialects.vector.widen import Widener
from .kernel import Global, Kernel


class Epilogue:
    """The ops behind the sum of a program, written once for each group of neighbours."""

    def __init__(self, kernel: Kernel, behind: Sequence[Operation], total: SSAValue, tile: Sequence[int]):
        self.kernel, self.behind, self.total, self.tile = kernel, behind, total, tile
        self.views: dict[Operation, Global] = {}
        for op in behind:
            if isinstance(op, LoadOp | StoreOp):
                view = op.view.owner
                assert isinstance(view, ViewOp) and isinstance(view.result.type, ViewType)
                self.views[op] = Global(kernel, view.buffer, view.result.type)
                _ = self.views[op].buffer
        [self.store] = [op for op in behind if isinstance(op, StoreOp)]

    def width(self, most: int) -> int:
        """How many neighbours can be taken at a time: all accesses then begin at a multiple, or stand still."""
        for op, view in self.views.items():
            steps = view.view.layout.data.modes[2].pairs
            still = op is not self.store and all(stride == 0 for _, stride in steps)
            most = most if still else view.view.width(2, most)
        return most

    def finish(self, value: SSAValue, corner: Sequence[SSAValue], row: SSAValue, column: SSAValue) -> None:
        """Neighbours of a row of the sum, from a row and column of the tile on, become a part of the result."""
        kernel = self.kernel
        assert isinstance(value.type, VectorType)
        count = value.type.get_shape()[0]
        width = self.width(count)
        sizes = self.views[self.store].view.sizes
        at_row = kernel.both(corner[1], row)
        tall = [kernel.below(at_row, sizes[1])] if sizes[1] % self.tile[0] else []
        with kernel.when(kernel.all_of(tall)):
            for start in range(0, count, width):
                part = value
                if width < count:
                    part = kernel.part(value, range(start, start + width))
                at_column = kernel.plus(kernel.both(corner[2], column), start)
                wide = [kernel.below(at_column, sizes[2])] if sizes[2] % self.tile[1] else []
                with kernel.when(kernel.all_of(wide)):
                    self._part(part, width, [corner[0], at_row, at_column])

    def _part(self, value: SSAValue, width: int, at: Sequence[SSAValue]) -> None:
        """As many neighbours as every access can take."""
        values: dict[SSAValue, SSAValue] = {self.total: value}
        for op in self.behind:
            match op:
                case LoadOp():
                    values[op.result] = self._load(self.views[op], width, at)
                case MapOp():
                    values[op.result] = self._map(op, [values[item] for item in op.inputs], width)
                case StoreOp():
                    self._keep(values[op.value], self.views[op], width, at)
                case _:
                    assert isinstance(op, ViewOp | YieldOp), op

    def _load(self, view: Global, width: int, at: Sequence[SSAValue]) -> SSAValue:
        """A vector, or one number for all lanes."""
        kernel = self.kernel
        indices, map = view.index(at)
        element = view.view.element_type
        if width == 1 or not any(stride for _, stride in view.view.layout.data.modes[2].pairs):
            return kernel.put(ElementLoadOp(view.buffer, indices, map)).result
        load = VectorLoadOp(view.buffer, indices, map, VectorType(element, [width]))
        load.attributes["alignment"] = _alignment(view, width)
        return kernel.put(load).result

    def _map(self, op: MapOp, inputs: Sequence[SSAValue], width: int) -> SSAValue:
        widener = Widener(self.kernel.b, width)
        body = op.body.block
        widener.values.update(zip(body.args, inputs, strict=True))
        for inner in body.ops:
            if isinstance(inner, YieldOp):
                return widener.vector(widener.value(inner.values[0]))
            widener.widen(inner)
        raise AssertionError("a map without a result")

    def _keep(self, value: SSAValue, view: Global, width: int, at: Sequence[SSAValue]) -> None:
        kernel = self.kernel
        indices, map = view.index(at)
        if width == 1:
            if isinstance(value.type, VectorType):
                value = kernel.put(vector.ExtractOp(value, [0], view.view.element_type)).result
            kernel.put(ElementStoreOp(value, view.buffer, indices, map))
            return
        store = VectorStoreOp(value, view.buffer, indices, map)
        store.attributes["alignment"] = _alignment(view, width)
        kernel.put(store)


def _alignment(view: Global, width: int) -> IntegerAttr:
    element = view.view.element_type
    return IntegerAttr(width * (cast(FixedBitwidthType, element).bitwidth // 8), i64)
