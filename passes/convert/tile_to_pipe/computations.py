"""What computes as steps: of the array, and of the vector unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....dialects import tile
from ....dialects.tile.ops import WindowOp
from .steps import Config, Form, Slot, Step, Values, config, wait
from .unroll import Run, Unroller, reads, shape_of

_MOST_N0 = 1023


@reads(tile.SumsOp)
def sums(u: Unroller, op: tile.SumsOp) -> Run:
    """A slot alone."""
    at, ring = u.piece(op.result), op.ring.data

    def run() -> None:
        u.pieces[at], over = u.rings.next(ring, None)
        u.pieces[at].writers = over  # until the first step that writes

    return run


@reads(tile.ContractOp)
def contract(u: Unroller, op: tile.ContractOp) -> Run:
    """Tap by tap of plane by plane the weights, and the product with them."""
    products = _Products(op)
    accumulate = op.accumulate is not None
    patch, weights, into, part = u.piece(op.patch), u.piece(op.weights), u.piece(op.sums), u.number(op.part)

    def run() -> None:
        pixels, tiles, slot, which = u.pieces[patch], u.pieces[weights], u.pieces[into], u.numbers[part]
        mm: Step | None = None
        for plane, wl_values, mm_values in products.at(pixels.base, tiles.base, slot.base, which):
            tiles.read(u.emit("wl", wl_values))
            begins = mm is None and not accumulate
            mm = u.emit("mm", mm_values)
            pixels.read(mm, plane)
            if begins:
                wait(mm, [step for step in slot.writers if step.kind != "mm"])
        assert mm is not None
        slot.parts[which] = mm
        slot.writers = [mm] if accumulate else [*(s for s in slot.writers if s.kind != "mm"), mm]

    return run


class _Products:
    """The instructions of a contraction by the places of its operands: rings come round to the same ones."""

    def __init__(self, op: tile.ContractOp):
        (_, kw), (sh, sw), (dh, dw) = op.geometry
        _, height, width, _ = shape_of(op.sums)
        planes, taps, channels, _ = shape_of(op.weights)
        _, rows, columns, _ = shape_of(op.patch)
        # one row of windows behind the other without a gap, or a single one: the inner loop does all
        flat = (height == 1 or (sh == 1 and columns == width and sw == 1)) and height * width <= _MOST_N0
        turns = (1, height * width) if flat else (height, width)
        s1 = sh * columns if turns[0] > 1 else 0
        self.size = height * width
        self.wl = Form("wl", ("src",), rows=channels)
        self.mm = Form("mm", ("a", "acc", "accumulate"), n0=turns[1], n1=turns[0], s0=sw, s1=s1, swap=1)
        self.begins = op.accumulate is None
        self.places = [
            (k, (k * taps + tap) * channels, (k * rows + tap // kw * dh) * columns + tap % kw * dw)
            for k in range(planes)
            for tap in range(taps)
        ]
        self.known: dict[Values, list[tuple[int, Values, Values]]] = {}

    def at(self, patch: int, weights: int, sums: int, part: int) -> list[tuple[int, Values, Values]]:
        """The plane, `wl` and `mm` of each tap."""
        key = (patch, weights, sums, part)
        if key not in self.known:
            acc = sums + part * self.size
            self.known[key] = [
                (plane, self.wl(weights + w), self.mm(patch + a, acc, int(i > 0 or not self.begins)))
                for i, (plane, w, a) in enumerate(self.places)
            ]
        return self.known[key]


@dataclass(frozen=True)
class _Window:
    """An instruction over windows of a patch: its fields but `open`, and how it walks."""

    form: Form
    configs: Sequence[tuple[int, Config]]

    @staticmethod
    def of(kind: str, op: WindowOp, patch: Sequence[int], out: Sequence[int], weighted: bool) -> _Window:
        """For patch and result of these shapes."""
        (kh, kw), (sh, sw), (dh, dw) = op.geometry
        height, width, columns = out[1], out[2], patch[2]
        form = Form("ve", ("dst", "a", "b"), kind=kind, n0=width, n1=height, accumulate=int(_accumulates(op)))
        gen = config("gen", s0=sw, s1=sh * columns, t0=dw, t1=dh * columns, k0=kw, k1=kh)
        return _Window(form, form.configs(gen=gen, out=config("out", d0=1, d1=width, bt=int(weighted))))


def _accumulates(op: WindowOp) -> bool:
    return isinstance(op, tile.DepthwiseOp) and op.accumulate is not None


@reads(tile.DepthwiseOp)
def depthwise(u: Unroller, op: tile.DepthwiseOp) -> Run:
    """One instruction."""
    window = _Window.of("mac", op, shape_of(op.patch), shape_of(op.sums), True)
    patch, weights, into = u.piece(op.patch), u.piece(op.weights), u.piece(op.sums)
    accumulate = _accumulates(op)

    def run() -> None:
        slot, read = u.pieces[into], (u.pieces[patch], u.pieces[weights])
        over = [] if accumulate else slot.writers
        slot.writers = [_vector(u, window.form, window.configs, slot, read, over)]

    return run


@reads(tile.MaxOp)
def greatest(u: Unroller, op: tile.MaxOp) -> Run:
    """One instruction."""
    window = _Window.of("max", op, shape_of(op.patch), shape_of(op.result), False)
    patch, at, ring = u.piece(op.patch), u.piece(op.result), op.ring.data

    def run() -> None:
        u.pieces[at], over = slot, _ = u.rings.next(ring, None)
        slot.writers = [_vector(u, window.form, window.configs, slot, (u.pieces[patch],), over)]

    return run


@reads(tile.AddOp)
def add(u: Unroller, op: tile.AddOp) -> Run:
    """One instruction."""
    ra, rb, offset = (float(np.float32(f.value.data)) for f in op.factors.data)
    zero, lo, hi = (int(v) for v in op.post.get_values())
    _, height, width, _ = shape_of(op.a)
    form = Form("ve", ("dst", "a", "b"), kind="add", n0=width, n1=height)
    configs = form.configs(
        gen=config("gen", s0=1, s1=width),
        out=config("out", d0=1, d1=width, b0=1, b1=width),
        post=config("post", zero=zero, lo=lo, hi=hi, offset=offset),
        scale=config("scale", ra=ra, rb=rb),
    )
    a, b, at, ring = u.piece(op.a), u.piece(op.b), u.piece(op.result), op.ring.data

    def run() -> None:
        u.pieces[at], over = slot, _ = u.rings.next(ring, None)
        slot.writers = [_vector(u, form, configs, slot, (u.pieces[a], u.pieces[b]), over)]

    return run


def _vector(
    u: Unroller,
    form: Form,
    configs: Sequence[tuple[int, Config]],
    out: Slot,
    read: Sequence[Slot],
    over: Sequence[Step],
) -> Step:
    """A step of the vector unit, behind the steps `over`."""
    step = u.emit("ve", form(out.base, read[0].base, read[1].base if len(read) > 1 else 0), configs, over)
    for slot in read:
        slot.read(step)
    return step
