"""Packing of a B that is known only at run time: a copy into panels inside the kernel."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from ....compiler.machine import Machine
from ....dialects import vector
from ....dialects.affine.linear_forms import memref_shape, row_major_strides
from .analysis import Unsupported
from .loops import D, Loops
from .pack_groups import lower_grouped_pack, nest
from .packing import Packing
from .spot import zero

AT_ONCE = 4  # panels


def lower_pack(packing: Packing, machine: Machine) -> None:
    """Writes the loops of a packing before it: over the outer dimensions of the panels, then one panel's lanes.

    The lanes are a vector where the source is contiguous along them, else a loop. Of such a source several panels are
    written at once: each page of it is visited that much less often.
    """
    if packing.group > 1:
        lower_grouped_pack(packing, machine)
        return
    source, dest = memref_shape(packing.source), memref_shape(packing.dest)
    if source is None or dest is None:
        raise Unsupported("a packing of buffers that are not static")
    position, lanes = packing.position, packing.lanes
    code = Loops(InsertPoint.before(packing.op))
    from_, to = code.flat(packing.source), code.flat(packing.dest)
    from_strides, to_strides = row_major_strides(source), row_major_strides(dest)
    outer = list(packing.permutation)  # outer dimension i of dest is dimension outer[i] of source
    tiled = outer.index(position)
    inner = [i for i in range(len(outer)) if i != tiled]
    whole, rest = divmod(source[position], lanes)
    element = packing.dest.type
    assert isinstance(element, MemRefType)

    def copy(first: int, rounds: int, panels: int, valid: int) -> None:
        """One nest over `rounds` times `panels` side by side; of each, `valid` lanes are there."""
        loops = [tiled, *inner]
        extents = [rounds if i == tiled else dest[i] for i in loops]

        def body(indices: list[SSAValue | None]) -> None:
            for side in range(panels):
                read = AffineExpr.constant((first + side) * lanes * from_strides[position])
                write = AffineExpr.constant((first + side) * to_strides[tiled])
                for number, i in enumerate(loops):
                    by, factor = (panels, lanes) if i == tiled else (1, 1)
                    read = read + D(number) * (from_strides[outer[i]] * by * factor)
                    write = write + D(number) * (to_strides[i] * by)
                one(read, write, valid, indices)

        nest(code, extents, body, machine.cores, panels * lanes)

    def one(read: AffineExpr, write: AffineExpr, valid: int, indices: list[SSAValue | None]) -> None:
        """A panel's lanes."""
        if from_strides[position] == 1:
            type_ = VectorType(element.element_type, [lanes])
            mask = code(vector.ConstantMaskOp(valid, lanes)).result if valid < lanes else None
            padding = packing.padding or zero(code, element.element_type)
            otherwise = code(vector.BroadcastOp(padding, type_)).vector if mask else None
            value = code.load_vector(type_, from_, read, *indices, mask=mask, otherwise=otherwise)
            code.store_vector(value, to, write, *indices)
            return
        for lane in range(lanes):
            value = packing.padding or zero(code, element.element_type)
            if lane < valid:
                value = code.load(from_, read + lane * from_strides[position], *indices)
            code.store(value, to, write + lane, *indices)

    together = AT_ONCE if from_strides[position] == 1 else 1
    if whole >= together:
        copy(0, whole // together, together, lanes)
    if whole % together:
        copy(whole - whole % together, 1, whole % together, lanes)
    if rest:
        copy(whole, 1, 1, rest)
