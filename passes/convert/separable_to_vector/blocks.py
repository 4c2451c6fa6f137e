"""The loops over blocks of rows: the image that windows read, then strips of their sums and what takes these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects.affine.linear_forms import Linear, access, memref_shape
from ....dialects.linalg.depthwise import match_depthwise
from ....dialects.memref import SubviewOp
from ..contraction_to_vector import default_schedule, panel_lanes
from ..contraction_to_vector.analysis import Kernel
from ..contraction_to_vector.emit import write_tiles
from ..contraction_to_vector.epilogue import on_loops, overlap_is_harmless
from ..contraction_to_vector.loops import D, Loops
from ..contraction_to_vector.tasks import Cover
from ..depthwise_to_vector.channels import Channels
from ..depthwise_to_vector.rows import Index
from .stages import Stages

STRIP = 8  # so many of them fill the second-level cache


class Blocks:
    """Writes the loops of one kernel."""

    def __init__(self, stages: Stages, code: Loops, machine: Machine):
        self.stages, self.code, self.machine = stages, code, machine
        self.alone = replace(machine, cores=1)
        c = stages.windows.convolution
        kernels = [k for k in (stages.before, stages.windows.kernel, stages.behind) if k is not None]
        rows, (height, width) = stages.rows, c.output
        if not all(map(overlap_is_harmless, kernels)):
            rows = max(r for r in range(1, rows + 1) if height % r == 0)
        self.stages = stages = replace(stages, rows=rows)
        self.cover = Cover(0, height, rows)
        room = machine.l2_bytes // STRIP // (4 * width * c.channels)
        self.strip = max(r for r in range(1, rows + 1) if rows % r == 0 and r <= max(1, room))
        if stages.behind is None:
            self.strip = rows
        self.windows = _narrowed(stages.windows.kernel, self.strip)
        self.behind = _narrowed(stages.behind, self.strip) if stages.behind is not None else None
        self.before = _narrowed(stages.before, stages.image_rows) if stages.before is not None else None
        problem = replace(stages.windows, convolution=replace(c, batch=1), kernel=self.windows)
        self.channels = Channels(problem, code, machine)
        self.whole = dict(self.channels.flats)
        for kernel in (stages.before, stages.behind):
            for value in _arrays(kernel) if kernel is not None else ():
                if value not in self.whole:
                    self.whole[value] = code.flat(value)

    @property
    def image(self) -> SSAValue:
        """What windows read, without zeros around it."""
        return self.stages.windows.image

    @property
    def kept(self) -> dict[SSAValue, int]:
        """What lies between, and how many elements of it a thread has."""
        c, found = self.stages.windows.convolution, dict[SSAValue, int]()
        if self.before is not None:
            found[self.image] = self.stages.image_rows * self.stages.windows.size[1] * c.channels
        if self.behind is not None:
            found[self.behind.contraction.a.value] = self.strip * c.output[1] * c.channels
        return found

    def write(self) -> None:
        """All blocks of all images, in equal shares for the threads."""
        c, kept = self.stages.windows.convolution, self.kept
        total = self.cover.tiles * c.batch
        cores = self.machine.cores
        fits = all(cores * size <= _length(self.whole[value]) for value, size in kept.items())
        if not fits or total < cores or self.work < self.machine.worth_forking:
            cores = 1

        def share(thread: Index) -> None:
            parts = {
                value: self.whole[value] if thread is None else self.part(self.whole[value], size, D(0) * size, thread)
                for value, size in kept.items()
            }
            low, high = (D(0) * total) // cores, (D(0) * total + total) // cores
            self.code.serial(low, high, (thread,), (), lambda number, _: self.block(number, parts))

        if cores > 1:
            self.code.parallel(cores, share)
        else:
            share(None)

    @property
    def work(self) -> int:
        """Multiplications of all stages."""
        s = self.stages
        kernels = [k for k in (s.before, s.windows.kernel, s.behind) if k is not None]
        return sum(k.contraction.extent(range(len(k.contraction.sizes))) for k in kernels)

    def block(self, number: SSAValue, parts: Mapping[SSAValue, SSAValue]) -> Sequence[SSAValue]:
        """One block of rows of one image."""
        code, stages, c = self.code, self.stages, self.stages.windows.convolution
        tiles = self.cover.tiles
        image = code.index(D(0) // tiles, number) if c.batch > 1 else None
        block = (code.index(D(0) % tiles, number) if c.batch > 1 else number) if tiles > 1 else None
        first = self.cover.start(code, block)
        base: Index = None
        if self.before is not None:
            base = self.image_row(first)
            self.multiply(self.before, stages.before, image, base, parts)

        def strip(number: Index) -> None:
            row = first
            if number is not None:
                row = code.index(D(0) + D(1) * self.strip, first, number)
            self.sums(image, row, base, parts)
            if self.behind is not None:
                self.multiply(self.behind, stages.behind, image, row, parts)

        code.count(stages.rows // self.strip, strip)
        return ()

    def image_row(self, first: Index) -> Index:
        """The first row of the image that a block has in its place."""
        size, needed = self.stages.windows.size[0], self.stages.image_rows
        stride, pad = self.stages.windows.convolution.strides[0], self.stages.windows.pad[0]
        if first is None or size == needed:
            return None
        at = self.code.least([D(0) * stride - pad, AffineExpr.constant(size - needed)], first)
        return self.code.most([D(0), AffineExpr.constant(0)], at)

    def multiply(
        self, kernel: Kernel, whole: Kernel | None, image: Index, row: Index, parts: Mapping[SSAValue, SSAValue]
    ) -> None:
        """The tiles of a contraction of so many rows from `row` on."""
        assert whole is not None
        flats = self.placed(kernel, whole, image, row, parts)
        lanes = panel_lanes(kernel.contraction, self.machine)
        write_tiles(kernel, self.code, flats, default_schedule(kernel, self.alone), lanes, self.alone)

    def sums(self, image: Index, row: Index, base: Index, parts: Mapping[SSAValue, SSAValue]) -> None:
        """The rows of windows of a strip."""
        c, channels, kernel = self.stages.windows.convolution, self.channels, self.stages.windows.kernel
        flats = self.placed(self.windows, kernel, image, row, parts)
        height, width = self.stages.windows.size
        size = height * width * c.channels
        read = self.whole[self.image]
        if self.image in parts:
            read = parts[self.image]
        elif image is not None:
            read = self.part(read, size, D(0) * size, image)
        channels.flats.update({**flats, self.image: read})
        channels.first, channels.base = row, base
        self.code.count(self.strip, channels.columns)

    def placed(
        self, kernel: Kernel, whole: Kernel, image: Index, row: Index, parts: Mapping[SSAValue, SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """The kernel's arrays: a thread's part of what lies between, of others the rows from `row` on."""
        found: dict[SSAValue, SSAValue] = {}
        images, rows = whole.contraction.sizes[:2]
        for value, form in _arrays(kernel).items():
            if value in parts:
                found[value] = parts[value]
                continue
            flat = self.whole[value]
            each_image, each_row = form.coefficients[:2]
            if image is None:
                each_image = 0
            if row is None:
                each_row = 0
            last = each_image * (images - 1) + each_row * (rows - kernel.contraction.sizes[1])
            found[value] = flat
            if last:
                offset = D(0) * each_image + D(1) * each_row
                found[value] = self.part(flat, _length(flat) - last, offset, image, row)
        return found

    def part(self, flat: SSAValue, length: int, offset: AffineExpr, *operands: Index) -> SSAValue:
        """So many elements of an array from an offset on."""
        assert isinstance(flat.type, MemRefType)
        type_ = MemRefType(flat.type.element_type, [length], StridedLayoutAttr([1], None))
        at = self.code.index(offset, *operands)
        return self.code(SubviewOp(flat, [at], [], [], [DYNAMIC_INDEX], [length], [1], type_)).result


def _narrowed(kernel: Kernel, rows: int) -> Kernel:
    """The kernel on so many rows of one image."""
    contraction = kernel.contraction
    sizes = (1, rows, *contraction.sizes[2:])
    live = replace(
        contraction,
        sizes=sizes,
        batch=tuple(d for d in contraction.batch if sizes[d] > 1),
        m=tuple(d for d in contraction.m if sizes[d] > 1),
    )
    return replace(kernel, contraction=live)


def _arrays(kernel: Kernel) -> dict[SSAValue, Linear]:
    """The arrays of a kernel, and how its loops walk them; not the image of windows, of which these know themselves."""
    contraction = kernel.contraction
    operands = [contraction.a, contraction.c]
    if match_depthwise(contraction.op) is None:
        operands.append(contraction.b)
    found = {operand.value: operand.form for operand in operands}
    for op in kernel.epilogue:
        for value, map_ in zip((*op.inputs, *op.outputs), op.maps, strict=True):
            form = access(value, map_)
            assert form is not None  # as the analysis checked
            found[value] = on_loops(contraction, form)
    return found


def _length(flat: SSAValue) -> int:
    shape = memref_shape(flat)
    assert shape is not None and len(shape) == 1
    return shape[0]
