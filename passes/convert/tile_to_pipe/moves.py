"""Loads and stores as steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, MemRefType
from xdsl.ir import SSAValue

from ....compiler.diagnostics import LaminaError
from ....dialects import tile
from ....dialects.tile.memory import rows_of, space_of
from .steps import Config, Form, Slot, config
from .unroll import Run, Unroller, reads, shape_of

_MOST_N1 = 255


@dataclass(frozen=True)
class _PlaneLoad:
    """The load of `count` planes: what is added to the slot's and to the patch's place, and the rest."""

    dst: int
    src: int
    count: int
    form: Form
    stride: Config


@reads(tile.PatchOp)
def patch(u: Unroller, op: tile.PatchOp) -> Run:
    """A load for each plane, or one for all where rows follow each other inside of the image."""
    height, width = shape_of(op.source)
    shape = _, rows, columns, _ = shape_of(op.result)
    row_step, byte_step = op.step
    run_bytes, pad = op.run.value.data, op.pad.value.data
    at_row, at_byte, at, ring = u.number(op.row), u.number(op.byte), u.piece(op.result), op.ring.data
    same = (u.registers[op.source], shape, op.step, op.block.value.data, run_bytes)
    loads = cache(lambda inside: _plane_loads(op, u.registers[op.source], inside))

    def run() -> None:
        row, byte = u.numbers[at_row], u.numbers[at_byte]
        taken = u.taken(at, ring, (same, row, byte))
        if taken is None:
            return
        slot, over = taken
        inside = byte >= 0 and byte + (columns - 1) * byte_step + run_bytes <= width
        inside = inside and row >= 0 and row + (rows - 1) * row_step < height
        first = row * width + byte
        for load in loads(inside):
            configs = load.form.configs(stride=load.stride)
            if not inside:
                start = byte + load.src
                window = config(
                    "window",
                    x_lo=max(0, -start),
                    x_hi=max(0, width - start),
                    y_lo=min(_MOST_N1, max(0, -(row // row_step))),
                    y_hi=min(_MOST_N1, max(0, -(-(height - row) // row_step))),
                    value=pad,
                )
                configs += load.form.configs(window=window)
            values = load.form(slot.base + load.dst, (first + load.src) & 0xFFFFFFFF)
            slot.writers += [u.emit("ld", values, configs, over)] * load.count
            over = []

    return run


def _plane_loads(op: tile.PatchOp, register: int, inside: bool) -> list[_PlaneLoad]:
    """What brings a patch, which lies inside of the image or not."""
    _, width = shape_of(op.source)
    planes, rows, columns, _ = shape_of(op.result)
    row_step, byte_step = op.step
    block, run = op.block.value.data, op.run.value.data
    whole = run // block
    merged = rows == 1 and inside and whole > 1 and planes <= _MOST_N1
    counts = [(0, whole)] if merged else [(k, 1) for k in range(whole)]
    counts += [(k, 1) for k in range(whole, planes)]
    found: list[_PlaneLoad] = []
    for plane, count in counts:
        length = min(block, run - plane * block)
        if length <= 0:
            raise LaminaError("a plane of the patch has no bytes", where=op)
        turns = count if count > 1 else rows
        along = block if count > 1 else width * row_step
        form = Form("ld", ("dst", "src"), to=0, src_r=register, n0=columns, n1=turns, len=length)
        stride = _stride(turns, byte_step, along, columns)
        found.append(_PlaneLoad(plane * rows * columns, plane * block, count, form, stride))
    return found


def _stride(turns: int, s0: int, s1: int, d1: int) -> Config:
    """The strides of `turns` rows of rows; those of a single one do not matter, and are the same for all."""
    return config("stride", s0=s0, s1=s1, d1=d1) if turns > 1 else config("stride", s0=s0, s1=0, d1=0)


@reads(tile.LoadOp)
def load(u: Unroller, op: tile.LoadOp) -> Run:
    """One load."""
    source, result = op.source.type, op.result.type
    assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
    sizes = source.get_shape()
    size = 4 if "i32" in str(source.element_type) else 1
    factors = [size * prod(sizes[d + 1 :]) for d in range(len(op.indices))]
    rows, shape = rows_of(result), tuple(result.get_shape())
    table = space_of(result) == "tab"
    width = shape[0] if table else shape[-1]
    pitch = width * 8 if table else width
    inner = next(n for n in range(min(rows, u.machine.rows * 4), 0, -1) if rows % n == 0)
    turns = rows // inner
    if turns > _MOST_N1:
        raise LaminaError(f"a part of {rows} rows is more than one load brings", where=op)
    register = u.registers[op.source]
    form = Form("ld", ("dst", "src"), to=2 if table else 0, src_r=register, n0=inner, n1=turns, len=width)
    configs = form.configs(stride=_stride(turns, pitch, pitch * inner, inner))
    places, at, ring = [u.number(i) for i in op.indices], u.piece(op.result), op.ring.data

    def run() -> None:
        indices = tuple([u.numbers[place] for place in places])
        taken = u.taken(at, ring, (register, indices, shape))
        if taken is not None:
            slot, over = taken
            offset = sum([i * factor for i, factor in zip(indices, factors, strict=True)])
            slot.writers.append(u.emit("ld", form(slot.base, offset), configs, over))

    return run


@reads(tile.WeightsOp)
def weights(u: Unroller, op: tile.WeightsOp) -> Run:
    """One load of rows, each a row of the matrix from the next."""
    _, width = shape_of(op.source)
    shape = planes, _, rows, _ = shape_of(op.result)
    register, length = u.registers[op.source], op.len.value.data
    form = Form("ld", ("dst", "src"), to=0, src_r=register, n0=rows, n1=planes, len=length)
    configs = form.configs(stride=_stride(planes, width, rows * width, rows))
    row, column, at, ring = u.number(op.row), u.number(op.column), u.piece(op.result), op.ring.data

    def run() -> None:
        start = u.numbers[row] * width + u.numbers[column]
        taken = u.taken(at, ring, (register, start, shape))
        if taken is not None:
            slot, over = taken
            slot.writers.append(u.emit("ld", form(slot.base, start), configs, over))

    return run


@reads(tile.StoreOp)
def store(u: Unroller, op: tile.StoreOp) -> Run:
    """One store."""
    _, height, width, _ = shape_of(op.source)
    _, columns, channels = shape_of(op.target)
    register, length, summed = u.registers[op.target], op.len.value.data, int(op.post is not None)
    form = Form("st", ("src", "dst"), source=summed, to=0, dst_r=register, n0=width, n1=height, len=length)
    configs = form.configs(stride=_stride(height, channels, columns * channels, width))
    source, part = u.piece(op.source), u.number(op.part)
    table = None if op.post is None else _Table.of(u, form, op.table[0], op.post)
    row, column, channel = u.number(op.row), u.number(op.column), u.number(op.channel)

    def run() -> None:
        numbers, slot = u.numbers, u.pieces[source]
        at = (numbers[row] * columns + numbers[column]) * channels + numbers[channel]
        told = configs if table is None else configs + table.configs()
        step = u.emit("st", form(slot.base + numbers[part] * height * width, at), told)
        slot.read_part(step, numbers[part])
        if table is not None:
            table.slot.read(step)

    return run


@reads(tile.RequantizeOp)
def requantize(u: Unroller, op: tile.RequantizeOp) -> Run:
    """One store, to the scratchpad."""
    _, height, width, _ = shape_of(op.result)
    form = Form("st", ("src", "dst"), source=1, to=1, n0=width, n1=height, len=op.len.value.data)
    configs = form.configs(stride=_stride(height, 1, width, width))
    source, part, table = u.piece(op.source), u.number(op.part), _Table.of(u, form, op.table, op.post)
    at, ring = u.piece(op.result), op.ring.data

    def run() -> None:
        u.pieces[at], over = slot, _ = u.rings.next(ring, None)
        sums, which = u.pieces[source], u.numbers[part]
        step = u.emit("st", form(sums.base + which * height * width, slot.base), configs + table.configs(), over)
        sums.read_part(step, which)
        table.slot.read(step)
        slot.writers = [step]

    return run


@dataclass(frozen=True)
class _Table:
    """The row of the table by which sums become bytes, and how."""

    u: Unroller
    form: Form
    piece: int
    post: Sequence[int]

    @staticmethod
    def of(u: Unroller, form: Form, value: SSAValue, post: DenseArrayBase[Any]) -> _Table:
        """The row that `value` is, for stores of this form."""
        return _Table(u, form, u.piece(value), [int(v) for v in post.get_values()])

    @property
    def slot(self) -> Slot:
        """Where it lies now."""
        return self.u.pieces[self.piece]

    def configs(self) -> tuple[tuple[int, Config], ...]:
        """How sums become bytes now."""
        zero, lo, hi = self.post
        return self.form.configs(post=config("post", table=self.slot.base, zero=zero, lo=lo, hi=hi))
