"""Walks through the loops of a kernel and writes down the steps, each where its operands are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.systolic_machine import SystolicMachine
from ....dialects import tile
from ....dialects.affine.ops import ForOp
from ....dialects.tile.ops import WindowOp, rows_of, space_of
from .steps import Config, Rings, Slot, Step, config, wait

_MOST_N0 = 1023
_MOST_N1 = 255


def _type(value: SSAValue) -> MemRefType:
    type_ = value.type
    assert isinstance(type_, MemRefType)
    return type_


@dataclass(eq=False)
class _Piece:
    """A value of the tile level: where it lies, and who wrote which part of sums last."""

    slot: Slot
    shape: tuple[int, ...]
    parts: dict[int, Step] = field(default_factory=dict[int, Step])


class Unroller:
    """The steps of one kernel: `loads` and `steps` in the order of the program."""

    def __init__(self, function: FuncOp, machine: SystolicMachine):
        self.machine = machine
        self.rings = Rings(tile.rings_of(function))
        self.registers: dict[SSAValue, int] = {arg: i + 1 for i, arg in enumerate(function.body.block.args)}
        self.steps: list[Step] = []
        self.pieces: dict[SSAValue, _Piece] = {}
        self.numbers: dict[SSAValue, int] = {}
        self.block(function.body.block)

    def block(self, block: Block) -> None:
        """The ops of a block in order."""
        for op in block.ops:
            if isinstance(op, ForOp):
                self._loop(op)
            elif (run := _RUNS.get(type(op))) is not None:
                run(self, op)
            elif not isinstance(op, ReturnOp) and op.name != "affine.yield":
                raise LaminaError("is no op of kernels for a systolic array", where=op)

    def _loop(self, op: ForOp) -> None:
        bounds = op.constant_bounds()
        if bounds is None:
            raise LaminaError("the bounds of loops over tiles are constants", where=op)
        for i in range(*bounds):
            self.numbers[op.variable] = i
            self.block(op.body.block)

    def number(self, value: SSAValue) -> int:
        """An index whose value is known here."""
        return self.numbers[value]

    def _emit(
        self,
        kind: str,
        fields: dict[str, Any],
        configs: dict[str, Config] | None = None,
        after: list[Step] | None = None,
    ) -> Step:
        configs = dict(configs or {})
        if fields.get("n1") == 1 and "stride" in configs:  # fewer configurations differ
            configs["stride"] = config("stride", **(dict(configs["stride"][1]) | {"s1": 0, "d1": 0}))
        step = Step(kind, fields, configs)
        wait(step, after or [])
        self.steps.append(step)
        return step

    def constant(self, op: ConstantOp) -> None:
        value = op.value
        assert isinstance(value, IntegerAttr)
        self.numbers[op.result] = value.value.data

    def apply(self, op: ApplyOp) -> None:
        map_ = op.map.data
        values = [self.number(operand) for operand in op.operands]
        self.numbers[op.result] = map_.eval(values[: map_.num_dims], values[map_.num_dims :])[0]

    def _taken(self, op: Operation, ring: str, key: object) -> tuple[Slot, list[Step]] | None:
        """A slot for the result of a load; None where it still lies there."""
        shape = _type(op.results[0]).get_shape()
        slot = self.rings.find(ring, key)
        over: list[Step] | None = None
        if slot is None:
            slot, over = self.rings.next(ring, key)
        self.pieces[op.results[0]] = _Piece(slot, tuple(shape))
        return None if over is None else (slot, over)

    def patch(self, op: tile.PatchOp) -> None:
        row, byte = self.number(op.row), self.number(op.byte)
        ring = op.ring.data
        shape = _type(op.result).get_shape()
        taken = self._taken(op, ring, (op.source, row, byte, tuple(shape), op.step))
        if taken is None:
            return
        slot, over = taken
        height, width = _type(op.source).get_shape()
        planes, rows, columns, _ = shape
        row_step, byte_step = op.step
        block, run = op.block.value.data, op.run.value.data
        inside = byte >= 0 and byte + (columns - 1) * byte_step + run <= width
        inside = inside and row >= 0 and row + (rows - 1) * row_step < height
        whole = run // block
        merged = rows == 1 and inside and whole > 1 and planes <= _MOST_N1
        counts = [(0, whole)] if merged else [(k, 1) for k in range(whole)]
        counts += [(k, 1) for k in range(whole, planes)]
        for plane, count in counts:
            length = min(block, run - plane * block)
            if length <= 0:
                raise LaminaError("a plane of the patch has no bytes", where=op)
            fields: dict[str, Any] = {
                "to": 0,
                "dst": slot.base + plane * rows * columns,
                "src": (row * width + byte + plane * block) & 0xFFFFFFFF,
                "src_r": self.registers[op.source],
                "n0": columns,
                "n1": count if merged and count > 1 else rows,
                "len": length,
            }
            along = block if merged and count > 1 else width * row_step
            configs = {"stride": config("stride", s0=byte_step, s1=along, d1=columns)}
            if not inside:
                start = byte + plane * block
                configs["window"] = config(
                    "window",
                    x_lo=max(0, -start),
                    x_hi=max(0, width - start),
                    y_lo=min(_MOST_N1, max(0, -(row // row_step))),
                    y_hi=min(_MOST_N1, max(0, -(-(height - row) // row_step))),
                    value=op.pad.value.data,
                )
            step = self._emit("ld", fields, configs, over)
            slot.writers += [step] * count
            over = []

    def load(self, op: tile.LoadOp) -> None:
        indices = tuple(self.number(i) for i in op.indices)
        source, result = _type(op.source), _type(op.result)
        taken = self._taken(op, op.ring.data, (op.source, indices, tuple(result.get_shape())))
        if taken is None:
            return
        slot, over = taken
        sizes = source.get_shape()
        size = 4 if "i32" in str(source.element_type) else 1
        offset = sum(i * prod(sizes[d + 1 :]) for d, i in enumerate(indices)) * size
        rows, columns = rows_of(result), result.get_shape()[-1]
        table = space_of(result) == "tab"
        width = result.get_shape()[0] if table else columns
        pitch = width * 8 if table else width
        inner = next(n for n in range(min(rows, self.machine.rows * 4), 0, -1) if rows % n == 0)
        fields: dict[str, Any] = {
            "to": 2 if table else 0,
            "dst": slot.base,
            "src": offset,
            "src_r": self.registers[op.source],
            "n0": inner,
            "n1": rows // inner,
            "len": width,
        }
        if rows // inner > _MOST_N1:
            raise LaminaError(f"a part of {rows} rows is more than one load brings", where=op)
        configs = {"stride": config("stride", s0=pitch, s1=pitch * inner, d1=inner)}
        slot.writers.append(self._emit("ld", fields, configs, over))

    def sums(self, op: tile.SumsOp) -> None:
        slot, over = self.rings.next(op.ring.data, None)
        slot.writers = over  # until the first step that writes
        self.pieces[op.result] = _Piece(slot, tuple(_type(op.result).get_shape()))

    def contract(self, op: tile.ContractOp) -> None:
        patch, weights, sums = (self.pieces[v] for v in (op.patch, op.weights, op.sums))
        (_, kw), (sh, sw), (dh, dw) = op.geometry
        _, height, width, _ = sums.shape
        planes, taps, channels, _ = weights.shape
        _, rows, columns, _ = patch.shape
        first = sums.slot.base + self.number(op.part) * height * width
        # one row of windows behind the other without a gap, or a single one: the inner loop does all
        flat = (height == 1 or (sh == 1 and columns == width and sw == 1)) and height * width <= _MOST_N0
        turns = (1, height * width) if flat else (height, width)
        mm: Step | None = None
        for plane in range(planes):
            for tap in range(taps):
                r, q = divmod(tap, kw)
                source = weights.slot.base + (plane * taps + tap) * channels
                wl = self._emit("wl", {"src": source, "rows": channels})
                weights.slot.read(wl)
                a = patch.slot.base + (plane * rows + r * dh) * columns + q * dw
                begins = not op.accumulate and mm is None
                fields = {"a": a, "acc": first, "n0": turns[1], "n1": turns[0], "s0": sw, "swap": 1}
                fields["s1"] = sh * columns if turns[0] > 1 else 0
                mm = self._emit("mm", fields | {"accumulate": int(not begins)})
                patch.slot.read(mm, plane)
                if begins:
                    wait(mm, (step for step in sums.slot.writers if step.kind != "mm"))
        assert mm is not None
        sums.parts[self.number(op.part)] = mm
        sums.slot.writers = [*(s for s in sums.slot.writers if s.kind != "mm"), mm] if not op.accumulate else [mm]

    def _vector(
        self, kind: str, op: WindowOp, patch: _Piece, out: _Piece, weights: _Piece | None, over: list[Step]
    ) -> Step:
        (kh, kw), (sh, sw), (dh, dw) = op.geometry
        _, height, width, _ = out.shape
        _, _, columns, _ = patch.shape
        fields = {"kind": kind, "dst": out.slot.base, "a": patch.slot.base, "n0": width, "n1": height}
        configs = {
            "gen": config("gen", s0=sw, s1=sh * columns, t0=dw, t1=dh * columns, k0=kw, k1=kh),
            "out": config("out", d0=1, d1=width, bt=int(weights is not None)),
        }
        if weights is not None:
            fields["b"] = weights.slot.base
        step = self._emit("ve", fields, configs, over)
        patch.slot.read(step)
        if weights is not None:
            weights.slot.read(step)
        return step

    def depthwise(self, op: tile.DepthwiseOp) -> None:
        patch, weights, sums = (self.pieces[v] for v in (op.patch, op.weights, op.sums))
        over = [] if op.accumulate else sums.slot.writers
        step = self._vector("mac", op, patch, sums, weights, over)
        step.fields["accumulate"] = int(op.accumulate is not None)
        sums.slot.writers = [step]

    def maximum(self, op: tile.MaxOp) -> None:
        slot, over = self.rings.next(op.ring.data, None)
        piece = self.pieces[op.result] = _Piece(slot, tuple(_type(op.result).get_shape()))
        slot.writers = [self._vector("max", op, self.pieces[op.patch], piece, None, over)]

    def add(self, op: tile.AddOp) -> None:
        slot, over = self.rings.next(op.ring.data, None)
        a, b = self.pieces[op.a], self.pieces[op.b]
        self.pieces[op.result] = _Piece(slot, a.shape)
        ra, rb, offset = (float(np.float32(f.value.data)) for f in op.factors.data)
        zero, lo, hi = (int(v) for v in op.post.get_values())
        _, height, width, _ = a.shape
        fields = {"kind": "add", "dst": slot.base, "a": a.slot.base, "b": b.slot.base, "n0": width, "n1": height}
        configs = {
            "gen": config("gen", s0=1, s1=width),
            "out": config("out", d0=1, d1=width, b0=1, b1=width),
            "post": config("post", zero=zero, lo=lo, hi=hi, offset=offset),
            "scale": config("scale", ra=ra, rb=rb),
        }
        step = self._emit("ve", fields, configs, over)
        a.slot.read(step)
        b.slot.read(step)
        slot.writers = [step]

    def requantize(self, op: tile.RequantizeOp) -> None:
        slot, over = self.rings.next(op.ring.data, None)
        sums, table = self.pieces[op.source], self.pieces[op.table]
        piece = self.pieces[op.result] = _Piece(slot, tuple(_type(op.result).get_shape()))
        _, height, width, _ = piece.shape
        zero, lo, hi = (int(v) for v in op.post.get_values())
        fields: dict[str, Any] = {
            "source": 1,
            "src": sums.slot.base + self.number(op.part) * height * width,
            "to": 1,
            "dst": slot.base,
            "n0": width,
            "n1": height,
            "len": op.len.value.data,
        }
        configs = {
            "stride": config("stride", s0=1, s1=width, d1=width),
            "post": config("post", table=table.slot.base, zero=zero, lo=lo, hi=hi),
        }
        step = self._emit("st", fields, configs, over)
        self._read_sums(sums, self.number(op.part), step)
        table.slot.read(step)
        slot.writers = [step]

    def _read_sums(self, sums: _Piece, part: int, step: Step) -> None:
        if (last := sums.parts.get(part)) is not None:
            wait(step, [last])
            sums.slot.readers[step.kind] = step
        else:
            sums.slot.read(step)

    def store(self, op: tile.StoreOp) -> None:
        piece = self.pieces[op.source]
        _, height, width, _ = piece.shape
        _, columns, channels = _type(op.target).get_shape()
        at = (self.number(op.row) * columns + self.number(op.column)) * channels + self.number(op.channel)
        fields: dict[str, Any] = {
            "source": int(op.post is not None),
            "src": piece.slot.base + self.number(op.part) * height * width,
            "to": 0,
            "dst": at,
            "dst_r": self.registers[op.target],
            "n0": width,
            "n1": height,
            "len": op.len.value.data,
        }
        configs = {"stride": config("stride", s0=channels, s1=columns * channels, d1=width)}
        table: _Piece | None = None
        if op.post is not None:
            zero, lo, hi = (int(v) for v in op.post.get_values())
            table = self.pieces[op.table[0]]
            configs["post"] = config("post", table=table.slot.base, zero=zero, lo=lo, hi=hi)
        step = self._emit("st", fields, configs)
        self._read_sums(piece, self.number(op.part), step)
        if table is not None:
            table.slot.read(step)


_RUNS: dict[type[Operation], Callable[[Unroller, Any], None]] = {
    ConstantOp: Unroller.constant,
    ApplyOp: Unroller.apply,
    tile.PatchOp: Unroller.patch,
    tile.LoadOp: Unroller.load,
    tile.SumsOp: Unroller.sums,
    tile.ContractOp: Unroller.contract,
    tile.DepthwiseOp: Unroller.depthwise,
    tile.MaxOp: Unroller.maximum,
    tile.AddOp: Unroller.add,
    tile.RequantizeOp: Unroller.requantize,
    tile.StoreOp: Unroller.store,
}
