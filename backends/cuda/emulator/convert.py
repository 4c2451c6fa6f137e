"""Conversions between types (PTX ISA, 9.7.9.21)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ....compiler.signature import Array
from .agent import Agent, Step, reads, writes
from .arithmetic import rounded
from .decode import PAIRS, TYPES, decodes
from .ptx import Instruction
from .registers import in_place

_TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip
_BYTES = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}


@decodes("cvt")
def convert(instruction: Instruction) -> Step:
    """`cvt.<modes>.<to>.<from>`; integers out of floats saturate, and NaN becomes 0, or of 64 bits the upper bit."""
    *modes, to, source_kind = instruction.opcode[1:]
    if to in PAIRS or to in _BYTES:
        return _to_pairs(instruction, to, source_kind, modes)
    if source_kind in _BYTES:
        return _from_bytes(instruction, to, source_kind)
    if to == "tf32":
        return _to_tf32(instruction)
    function = _conversion(TYPES[source_kind], TYPES[to], modes)
    if "8" not in (to[1:], source_kind[1:]):  # bytes lie in registers that are wider
        target, *sources = instruction.operands
        direct = in_place(function, TYPES[source_kind], target, sources, TYPES[to], cuts=True)
        if direct is not None:
            return direct
    source, write = reads(instruction.operands[1], TYPES[source_kind]), writes(instruction.operands[0])
    return lambda agent: write(agent, function(source(agent)))


def _conversion(source: Any, to: Any, modes: list[str]) -> Callable[[Array], Array]:
    from_float, to_float = (np.dtype(t).kind not in "iub" for t in (source, to))
    rounding = next((m for m in modes if m in _TO_INTEGER), None)
    if from_float and not to_float:
        wide = np.dtype(source) == np.float64 or np.dtype(to).itemsize == 8
        return lambda x: _to_integer(_TO_INTEGER[rounding or "rzi"](x.astype(np.float64)), np.dtype(to), wide)
    if from_float and rounding:
        return lambda x: _saturated(_TO_INTEGER[rounding](x.astype(np.float64)), modes).astype(to)
    if from_float or to_float:
        mode = next((m for m in modes if m in ("rz", "rm", "rp")), "rn")
        if to is np.float32:
            return lambda x: rounded(_saturated(_exactly(x), modes), mode)
        if mode != "rn":
            raise ValueError(f"rounding {mode} to {np.dtype(to)}")
        plain = from_float or to is np.float64
        return lambda x: _saturated(x if plain else _exactly(x), modes).astype(to)
    if "sat" in modes:
        to_limits, limits = np.iinfo(np.dtype(to)), np.iinfo(np.dtype(source))
        low, high = max(to_limits.min, limits.min), min(to_limits.max, limits.max)
        return lambda x: np.clip(x, low, high).astype(to)
    return lambda x: x.astype(to)


def _exactly(x: Array) -> Array:
    """In double precision, where rounding to float32 can still be chosen; 64-bit integers keep the bits that decide."""
    if x.dtype.itemsize < 8 or x.dtype.kind == "f":
        return x.astype(np.float64)
    near = x.astype(np.float64)  # to odd, so that the second rounding is right
    back = np.array([int(v) for v in near], object)
    exact = np.array([int(v) for v in x], object)
    bits = near.view(np.int64)
    toward = np.where(np.abs(exact) > np.abs(back), 1, -1)
    return np.where((back != exact) & (bits & 1 == 0), bits + toward, bits).view(np.float64)


def _saturated(x: Array, modes: list[str]) -> Array:
    return np.where(np.isnan(x), 0, np.clip(x, 0, 1)).astype(x.dtype) if "sat" in modes else x


def _to_integer(x: Array, to: np.dtype[Any], wide: bool) -> Array:
    """Saturated; `wide`, from or to 64 bits, only the upper bit of NaN is set, else none."""
    limits, bits = np.iinfo(to), 8 * to.itemsize
    none = np.array(1 << bits - 1 if wide else 0, f"u{to.itemsize}").astype(to)
    inside = np.where(np.isnan(x) | (x < limits.min) | (x >= float(limits.max) + 1), 0, x).astype(to)
    found = np.where(x < limits.min, limits.min, np.where(x >= float(limits.max) + 1, limits.max, inside))
    return np.where(np.isnan(x), none, found.astype(to))


def _to_pairs(instruction: Instruction, to: str, source_kind: str, modes: list[str]) -> Step:
    """Two floats in one register: the first operand in the upper half."""
    write = writes(instruction.operands[0])
    half = PAIRS.get(to) or _BYTES[to]
    if source_kind in PAIRS:  # one packed operand
        pair = reads(instruction.operands[1], np.uint32)

        def repack(agent: Agent) -> None:
            values = np.ascontiguousarray(pair(agent)).view(PAIRS[source_kind]).reshape(-1, 2).astype(np.float32)
            write(agent, _packed(_limited(values, half, modes).astype(half)))

        return repack
    high, low = (reads(o, np.float32) for o in instruction.operands[1:3])
    relu = "relu" in modes

    def pack(agent: Agent) -> None:
        values = np.stack([low(agent), high(agent)], 1)
        values = np.maximum(values, 0) if relu else values
        write(agent, _packed(_limited(values, half, modes).astype(half)))

    return pack


def _limited(values: Array, half: Any, modes: list[str]) -> Array:
    if "satfinite" not in modes:
        return values
    largest = float(ml_dtypes.finfo(half).max)
    return np.where(np.isnan(values), values, np.clip(values, -largest, largest)).astype(np.float32)


def _packed(values: Array) -> Array:
    width = values.dtype.itemsize * 2
    return np.ascontiguousarray(values).view({2: np.uint16, 4: np.uint32}[width]).reshape(-1)


def _from_bytes(instruction: Instruction, to: str, source_kind: str) -> Step:
    source, write = reads(instruction.operands[1], np.uint16), writes(instruction.operands[0])

    def step(agent: Agent) -> None:
        values = np.ascontiguousarray(source(agent)).view(_BYTES[source_kind]).reshape(-1, 2)
        write(agent, _packed(values.astype(np.float32).astype(PAIRS[to])))

    return step


def _to_tf32(instruction: Instruction) -> Step:
    """The upper 19 bits of a float32, rounded to nearest: ties away from zero with `rna`, else to even."""
    source, write = reads(instruction.operands[1], np.uint32), writes(instruction.operands[0])
    away = "rna" in instruction.opcode

    def step(agent: Agent) -> None:
        bits = source(agent).astype(np.uint64)
        half = np.uint64(0x1000) if away else np.uint64(0xFFF) + (bits >> np.uint64(13) & np.uint64(1))
        special = bits & np.uint64(0x7F800000) == 0x7F800000
        cut = (bits + half) & np.uint64(0xFFFFE000)
        write(agent, np.where(special, bits, cut).astype(np.uint32))

    return step
