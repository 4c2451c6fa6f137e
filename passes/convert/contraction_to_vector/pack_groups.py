"""Packing at run time of a B whose lanes hold groups of neighbours along k, as `dot.product` reads them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, VectorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from ....compiler.machine import WORTH_FORKING, Machine
from ....dialects import vector
from ....dialects.affine.linear_forms import memref_shape, row_major_strides
from .analysis import Unsupported
from .loops import D, Loops
from .packing import Packing
from .spot import zero

MOVE = 8  # multiply-adds that one core does while it moves an element: 65,536 take 15 µs, measured on Sapphire Rapids


def lower_grouped_pack(packing: Packing, machine: Machine) -> None:
    """Writes the loops of a packing before it: panels that are whole, then the last columns; groups likewise."""
    source, dest = memref_shape(packing.source), memref_shape(packing.dest)
    if source is None or dest is None:
        raise Unsupported("a packing of buffers that are not static")
    writer = _Groups(packing, source, dest)
    panels, columns = divmod(source[packing.position], packing.lanes)
    groups, tail = divmod(source[packing.along], packing.group)
    for count, first_panel, valid in ((panels, 0, packing.lanes), (1, panels, columns)):
        for rounds, first_group, present in ((groups, 0, packing.group), (1, groups, tail)):
            if count and valid and rounds and present:
                writer.copy((first_panel, count, valid), (first_group, rounds, present), machine.cores)


class _Groups:
    """Writes copies of the groups of one packing; `source` and `dest` are shapes."""

    def __init__(self, packing: Packing, source: tuple[int, ...], dest: tuple[int, ...]):
        self.packing = packing
        self.dest = dest
        self.code = Loops(InsertPoint.before(packing.op))
        self.from_, self.to = self.code.flat(packing.source), self.code.flat(packing.dest)
        self.from_strides, self.to_strides = row_major_strides(source), row_major_strides(dest)

    @property
    def element(self) -> Attribute:
        assert isinstance(self.packing.dest.type, MemRefType)
        return self.packing.dest.type.element_type

    def padding(self) -> SSAValue:
        """What stands where the source has nothing."""
        return self.packing.padding or zero(self.code, self.element)

    def copy(self, panels: tuple[int, int, int], groups: tuple[int, int, int], cores: int) -> None:
        """(first, how many, columns of each) panels and (first, how many, elements of each) groups."""
        packing = self.packing
        tiled = {packing.position: (panels, packing.lanes), packing.along: (groups, packing.group)}
        extents = [tiled[d][0][1] if d in tiled else self.dest[i] for i, d in enumerate(packing.permutation)]

        def body(indices: list[SSAValue | None]) -> None:
            read = write = AffineExpr.constant(0)
            for i, d in enumerate(packing.permutation):
                (first, _, _), size = tiled.get(d, ((0, 0, 0), 1))
                read = read + (D(i) + first) * (self.from_strides[d] * size)
                write = write + (D(i) + first) * self.to_strides[i]
            if self.from_strides[packing.position] == 1:
                self.interleave(panels[2], groups[2], read, write, indices)
            else:
                self.gather(panels[2], groups[2], read, write, indices)

        nest(self.code, extents, body, cores, packing.lanes * packing.group)

    def interleave(
        self, valid: int, present: int, read: AffineExpr, write: AffineExpr, indices: list[SSAValue | None]
    ) -> None:
        """Rows of B as vectors, shuffled into each other."""
        code, packing = self.code, self.packing
        type_ = VectorType(self.element, [packing.lanes])
        mask = code(vector.ConstantMaskOp(valid, packing.lanes)).result if valid < packing.lanes else None
        blank = code(vector.BroadcastOp(self.padding(), type_)).vector
        rows = [
            code.load_vector(
                type_,
                self.from_,
                read + j * self.from_strides[packing.along],
                *indices,
                mask=mask,
                otherwise=blank if mask is not None else None,
            )
            if j < present
            else blank
            for j in range(packing.group)
        ]
        while len(rows) > 1:  # 0 2 and 1 3 first: then 0 1 2 3
            half = len(rows) // 2
            rows = [interleaved(code, rows[j], rows[j + half]) for j in range(half)]
        code.store_vector(rows[0], self.to, write, *indices)

    def gather(
        self, valid: int, present: int, read: AffineExpr, write: AffineExpr, indices: list[SSAValue | None]
    ) -> None:
        """Lane by lane; a group is a vector where the source is contiguous along it."""
        code, packing = self.code, self.packing
        step = self.from_strides[packing.along]
        group = VectorType(self.element, [packing.group])
        for lane in range(packing.lanes):
            here = read + lane * self.from_strides[packing.position]
            there = write + lane * packing.group
            if lane < valid and present == packing.group and step == 1:
                code.store_vector(code.load_vector(group, self.from_, here, *indices), self.to, there, *indices)
                continue
            for j in range(packing.group):
                inside = lane < valid and j < present
                value = code.load(self.from_, here + j * step, *indices) if inside else self.padding()
                code.store(value, self.to, there + j, *indices)


def interleaved(code: Loops, even: SSAValue, odd: SSAValue) -> SSAValue:
    """even[0], odd[0], even[1], ..."""
    assert isinstance(even.type, VectorType)
    (lanes,) = even.type.get_shape()
    order = list(chain.from_iterable((i, lanes + i) for i in range(lanes)))
    type_ = VectorType(even.type.element_type, [2 * lanes])
    mask = DenseArrayBase.from_list(i64, order)
    return code(vector.ShuffleOp(even, odd, mask, result_type=type_)).result


def nest(
    code: Loops, extents: list[int], body: Callable[[list[SSAValue | None]], None], cores: int, moved: int
) -> None:
    """Loops over `extents`, the outermost with more than one round in parallel when there is enough to do.

    `moved` elements of a round each take as long as `MOVE` multiply-adds.
    """
    work = prod(extents) * moved * MOVE
    first = next((i for i, extent in enumerate(extents) if extent > 1), -1)

    def at(chosen: list[SSAValue | None]) -> None:
        level = len(chosen)
        if level == len(extents):
            body(chosen)
        elif level == first and cores > 1 and work >= WORTH_FORKING:
            code.parallel(extents[level], lambda i: at([*chosen, i]))
        else:
            code.count(extents[level], lambda i: at([*chosen, i]))

    at([])
