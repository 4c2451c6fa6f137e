"""Bits, comparisons, selection and moves (PTX ISA, 9.7.6 to 9.7.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.signature import Array
from .agent import Agent, EmulationError, Step, items, reads, writes
from .arithmetic import elementwise
from .decode import PAIRS, TYPES, decodes, type_of
from .memory import UNSIGNED
from .ptx import Instruction, Number, Several
from .registers import in_place

_BITWISE: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


@decodes(*_BITWISE)
def bitwise(instruction: Instruction) -> Step:
    """and, or, xor; of predicates, too."""
    return elementwise(instruction, _BITWISE[instruction.opcode[0]])


@decodes("not")
def complement(instruction: Instruction) -> Step:
    """All bits turned."""
    return elementwise(instruction, np.invert)


@decodes("shl", "shr")
def shift(instruction: Instruction) -> Step:
    """Shifts; by the width or more, nothing is left but copies of the sign."""
    dtype = np.dtype(type_of(instruction))
    source, amount = reads(instruction.operands[1], dtype), reads(instruction.operands[2], np.uint32)
    write = writes(instruction.operands[0])
    left, bits = instruction.opcode[0] == "shl", 8 * dtype.itemsize

    by_number = instruction.operands[2]
    if isinstance(by_number, Number) and by_number.value < bits:
        fixed, function = dtype.type(by_number.value), np.left_shift if left else np.right_shift
        direct = in_place(function, dtype, instruction.operands[0], instruction.operands[1:])
        if direct is not None:
            return direct
        return lambda agent: write(agent, function(source(agent), fixed))

    def step(agent: Agent) -> None:
        value, by = source(agent), amount(agent)
        inside = np.minimum(by, bits - 1).astype(dtype)
        moved = value << inside if left else value >> inside
        gone = (value >> dtype.type(bits - 1)) if dtype.kind == "i" and not left else np.zeros_like(value)
        write(agent, np.where(by < bits, moved, gone))

    return step


@decodes("shf")
def funnel_shift(instruction: Instruction) -> Step:
    """32 bits out of 64: the upper ones after a shift to the left, the lower ones after one to the right."""
    left, clamp = instruction.opcode[1] == "l", "clamp" in instruction.opcode
    low, high, amount = (reads(o, np.uint32) for o in instruction.operands[1:])
    write = writes(instruction.operands[0])

    def step(agent: Agent) -> None:
        by = amount(agent).astype(np.uint64)
        by = np.minimum(by, np.uint64(32)) if clamp else by & np.uint64(31)
        whole = high(agent).astype(np.uint64) << np.uint64(32) | low(agent)
        moved = (whole << by) >> np.uint64(32) if left else whole >> by
        write(agent, moved.astype(np.uint32))

    return step


@decodes("lop3")
def logic3(instruction: Instruction) -> Step:
    """Any function of three bits, given as its table of eight."""
    a, b, c, table = (reads(o, np.uint32) for o in instruction.operands[1:])
    write = writes(instruction.operands[0])

    def step(agent: Agent) -> None:
        x, y, z, wanted = a(agent), b(agent), c(agent), int(table(agent)[0])
        result = np.zeros_like(x)
        for row in range(8):
            if wanted >> row & 1:
                result |= (x if row & 4 else ~x) & (y if row & 2 else ~y) & (z if row & 1 else ~z)
        write(agent, result)

    return step


@decodes("bfe")
def extract(instruction: Instruction) -> Step:
    """A field of bits, from a place on and so many; of signed ones the sign is extended."""
    dtype = np.dtype(type_of(instruction))
    source = reads(instruction.operands[1], dtype)
    place, length = (reads(o, np.uint32) for o in instruction.operands[2:])
    write = writes(instruction.operands[0])
    bits = 8 * dtype.itemsize
    first, wide = instruction.operands[2:]
    if isinstance(first, Number) and isinstance(wide, Number) and 0 <= first.value < first.value + wide.value <= bits:
        up, down = dtype.type(bits - first.value - wide.value), dtype.type(bits - wide.value)
        return lambda agent: write(agent, source(agent) << up >> down)

    def step(agent: Agent) -> None:
        start = np.minimum(place(agent) & 255, bits).astype(np.int64)
        count = np.minimum(length(agent) & 255, bits).astype(np.int64)
        stop = np.minimum(start + count, bits)
        value = source(agent)
        kept = value << (bits - stop).astype(dtype)
        down = np.minimum(bits - (stop - start), bits - 1).astype(dtype)
        outside = value >> dtype.type(bits - 1) if dtype.kind == "i" else np.zeros_like(value)
        result = np.where(start < bits, kept >> down, outside)
        write(agent, np.where(count > 0, result, 0).astype(dtype))

    return step


@decodes("bfi")
def insert(instruction: Instruction) -> Step:
    """A field of bits put into another value."""
    dtype = np.dtype(type_of(instruction))
    field, into = (reads(o, dtype) for o in instruction.operands[1:3])
    place, length = (reads(o, np.uint32) for o in instruction.operands[3:])
    write = writes(instruction.operands[0])
    bits = 8 * dtype.itemsize

    def step(agent: Agent) -> None:
        start = np.minimum(place(agent) & 255, bits)
        count = np.minimum(length(agent) & 255, bits - start)
        ones = [(1 << int(n)) - 1 for n in count]
        mask = np.array([o << int(s) & ((1 << bits) - 1) for o, s in zip(ones, start, strict=True)], dtype)
        moved = np.where(start < bits, field(agent) << np.minimum(start, bits - 1).astype(dtype), 0).astype(dtype)
        write(agent, (into(agent) & ~mask) | (moved & mask))

    return step


@decodes("brev")
def reverse(instruction: Instruction) -> Step:
    """The bits from last to first."""
    return _by_bits(instruction, lambda bits: np.packbits(bits[:, ::-1], axis=1))


@decodes("popc")
def population(instruction: Instruction) -> Step:
    """How many bits are set."""
    return _by_bits(instruction, lambda bits: bits.sum(1).astype(np.uint32))


@decodes("clz")
def leading_zeros(instruction: Instruction) -> Step:
    """How many bits before the first that is set."""
    return _by_bits(
        instruction, lambda bits: np.where(bits.any(1), bits.argmax(1), bits.shape[1]).astype(np.uint32)
    )  # fmt: skip


def _by_bits(instruction: Instruction, function: Callable[[Array], Array]) -> Step:
    """A function of the bits of each lane, the highest first."""
    dtype = np.dtype(type_of(instruction))
    source, write = reads(instruction.operands[1], dtype), writes(instruction.operands[0])
    big = dtype.newbyteorder(">")

    def step(agent: Agent) -> None:
        words = np.ascontiguousarray(source(agent).astype(big)).view(np.uint8).reshape(agent.lanes, -1)
        result = function(np.unpackbits(words, axis=1))
        if result.ndim == 2:
            result = np.ascontiguousarray(result).view(big).reshape(-1).astype(dtype)
        write(agent, result)

    return step


@decodes("prmt")
def permute_bytes(instruction: Instruction) -> Step:
    """Four bytes chosen out of eight; a chooser of 8 or more repeats the sign of what it chooses."""
    if len(instruction.opcode) > 2:
        raise ValueError("modes of prmt")
    a, b, chooser = (reads(o, np.uint32) for o in instruction.operands[1:])
    write = writes(instruction.operands[0])
    chosen_by = instruction.operands[3]
    if isinstance(chosen_by, Number) and not chosen_by.value & 0x8888:
        picks = [chosen_by.value >> 4 * i & 7 for i in range(4)]

        def copies(agent: Agent) -> None:
            both = np.stack([a(agent), b(agent)], 1).view(np.uint8)
            write(agent, both.take(picks, 1).view(np.uint32).reshape(-1))

        return copies

    def step(agent: Agent) -> None:
        both = np.stack([a(agent), b(agent)], 1).view(np.uint8)
        selectors = chooser(agent)
        chosen: list[Array] = []
        for i in range(4):
            pick = (selectors >> np.uint32(4 * i) & np.uint32(15)).astype(np.int64)
            byte = np.take_along_axis(both, (pick & 7)[:, None], 1)[:, 0]
            chosen.append(np.where(pick & 8, np.where(byte & 0x80, 0xFF, 0), byte).astype(np.uint8))
        write(agent, np.ascontiguousarray(np.stack(chosen, 1)).view(np.uint32).reshape(-1))

    return step


_ORDERED: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def _comparison(name: str, floating: bool) -> Callable[[Array, Array], Array]:
    """The comparison called so; of floats `ne` is ordered, and those that end in u hold for NaNs."""
    if name in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
    if floating and name == "ne":
        return lambda a, b: (a != b) & ~np.isnan(a) & ~np.isnan(b)
    if name in _ORDERED:
        return _ORDERED[name]
    plain = _ORDERED[name[:-1]]
    return lambda a, b: plain(a, b) | np.isnan(a) | np.isnan(b)


@decodes("setp", "set")
def compare(instruction: Instruction) -> Step:
    """A predicate, or all ones, from a comparison, combined with another predicate if asked.

    With `p|q`, the second one is the opposite; of pairs of halves, that of the upper ones.
    """
    _, name, *rest = instruction.opcode
    combine = _BITWISE[rest[0]] if rest and rest[0] in _BITWISE else None
    kind = instruction.opcode[-1]
    dtype = PAIRS.get(kind) or TYPES[kind]
    function = _comparison(name, "f" in kind)
    pairs = kind in PAIRS and instruction.opcode[0] == "setp"
    a, b = (reads(o, np.uint32 if pairs else dtype) for o in instruction.operands[1:3])
    also = reads(instruction.operands[3], np.bool_) if combine else None
    results = [writes(o) for o in items(instruction.operands[0])]
    as_number = instruction.opcode[0] == "set"
    if not pairs and not as_number and not combine and len(results) == 1:
        direct = in_place(function, dtype, instruction.operands[0], instruction.operands[1:3], np.bool_)
        if direct is not None:
            return direct
    wanted = TYPES[instruction.opcode[-2]] if as_number else np.bool_

    def step(agent: Agent) -> None:
        if pairs:
            halves = function(*(np.ascontiguousarray(read(agent)).view(dtype) for read in (a, b)))
            values = (halves[0::2], halves[1::2])
        else:
            truth = function(a(agent), b(agent))
            values = (truth, ~truth)
        for write, value in zip(results, values, strict=False):
            if combine and also:
                value = combine(value, also(agent))
            if as_number:
                ones = 1.0 if wanted is np.float32 else -1
                value = np.where(value, ones, 0).astype(wanted)
            write(agent, value)

    return step


@decodes("selp")
def select(instruction: Instruction) -> Step:
    """One of two values, by a predicate."""
    dtype = type_of(instruction)
    result, *values, truth = instruction.operands
    direct = in_place(_chosen, [np.bool_, dtype, dtype], result, [truth, *values], dtype)
    if direct is not None:
        return direct
    a, b = (reads(o, dtype) for o in values)
    chooses, write = reads(truth, np.bool_), writes(result)
    return lambda agent: write(agent, np.where(chooses(agent), a(agent), b(agent)))


def _chosen(truth: Array, a: Array, b: Array) -> Array:
    return np.where(truth, a, b)


@decodes("testp")
def classify(instruction: Instruction) -> Step:
    """Whether a float is finite, infinite, a number or none."""
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite, "infinite": np.isinf, "number": lambda x: ~np.isnan(x), "notanumber": np.isnan,
    }  # fmt: skip
    test = tests[instruction.opcode[1]]
    source, write = reads(instruction.operands[1], type_of(instruction)), writes(instruction.operands[0])
    return lambda agent: write(agent, test(source(agent)))


@decodes("mov")
def move(instruction: Instruction) -> Step:
    """A copy; with a vector on one side, its parts packed or unpacked, the first in the lowest bits."""
    result, source = instruction.operands
    dtype = np.dtype(type_of(instruction))
    if isinstance(source, Several):
        part = UNSIGNED[dtype.itemsize // len(source.items)]
        parts = [reads(item, part) for item in source.items]
        write = writes(result)

        def pack(agent: Agent) -> None:
            values = np.stack([read(agent) for read in parts], 1)
            write(agent, np.ascontiguousarray(values).view(UNSIGNED[dtype.itemsize]).reshape(-1))

        return pack
    direct = in_place(np.positive, dtype, result, [source]) if dtype.kind in "iu" else None
    if direct is not None:
        return direct
    read = reads(source, dtype)
    if isinstance(result, Several):
        outputs = [writes(item) for item in result.items]
        part = UNSIGNED[dtype.itemsize // len(outputs)]

        def unpack(agent: Agent) -> None:
            values = np.ascontiguousarray(read(agent)).view(part).reshape(-1, len(outputs))
            for i, write in enumerate(outputs):
                write(agent, values[:, i])

        return unpack
    write = writes(result)
    return lambda agent: write(agent, read(agent))


@decodes("ret", "exit")
def leave(instruction: Instruction) -> Step:
    """The active threads are done."""
    return Agent.leave


@decodes("trap")
def trap(instruction: Instruction) -> Step:
    """The kernel gives up."""

    def step(agent: Agent) -> None:
        raise EmulationError("the kernel trapped")

    return step


def nothing(agent: Any) -> None:
    """An instruction that changes nothing here."""


@decodes("membar", "setmaxnreg", "griddepcontrol", "prefetch", "prefetchu", "applypriority", "discard",
         "nanosleep", "pmevent")  # fmt: skip
def hint(instruction: Instruction) -> Step:
    """Orders what is in order here already, or only makes it faster."""
    return nothing
