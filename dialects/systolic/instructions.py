"""The instruction set: a row per instruction and per layout of a configuration register.

Encoder, decoder, text, ops, simulators' operands, the decoder of the RTL and docs/systolic-isa.md are made from these
rows. What an instruction does is said in `meaning`, and done in `semantics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .fields import NONE, Field, address, choice, config, count, flag, optional_config, signed

WORD_BITS = 128
OPCODE_BITS = 4
SEMAPHORES = 16
SEMAPHORE_MOST = 255  # what a counter can hold
CONFIGS = 32
REGISTERS = 16
LOOP_DEPTH = 3
UNITS: tuple[str, ...] = ("ld", "wl", "mm", "ve", "st")
TARGETS: tuple[str, ...] = ("spm", "acc", "tab", "lut")  # memories on the chip


@dataclass(frozen=True)
class Layout:
    """How the 64 bits of a configuration register are read; fields from bit 0 on."""

    name: str
    doc: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Rule:
    """Values that make no sense together: where every field is (`same`) or is not (not `same`) its value."""

    problem: str
    conditions: tuple[tuple[str, bool, int], ...]  # field, same, value


@dataclass(frozen=True)
class Spec:
    """An instruction: `unit` is who executes it, empty for what the dispatcher does itself."""

    name: str
    opcode: int
    unit: str
    summary: str
    meaning: str
    payload: tuple[Field, ...]
    rules: tuple[Rule, ...] = ()

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """All fields, from bit 4 on; without a unit the bits of the semaphores are reserved."""
        return (*_SEMAPHORES, *self.payload) if self.has_semaphores else self.payload

    @property
    def has_semaphores(self) -> bool:
        """Whether it goes through the queue of a unit, and so waits and signals."""
        return bool(self.unit) or self.name == "sync"

    @cached_property
    def offsets(self) -> dict[str, int]:
        """The first bit of each field."""
        offset = OPCODE_BITS if self.has_semaphores else HEADER_BITS
        offsets: dict[str, int] = {}
        for field in self.fields:
            offsets[field.name] = offset
            offset += field.bits
        assert offset <= WORD_BITS, f"{self.name} has {offset} bits"
        return offsets


_SEMAPHORES = tuple(
    Field(name, 5, doc, "optional", default=NONE)
    for name, doc in (
        ("wait0", "A semaphore that must be above 0 before the start, and is then counted down."),
        ("wait1", "A second one."),
        ("signal0", "A semaphore that is counted up at completion."),
        ("signal1", "A second one."),
    )
)
HEADER_BITS = OPCODE_BITS + 5 * len(_SEMAPHORES)

LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout(
            "stride",
            "How far apart rows are: of `ld` and `st`.",
            (
                signed("s0", 24, "From row to row, in bytes of DRAM (rows of the scratchpad where `st` writes there)."),
                signed("s1", 24, "From one n1 to the next, in the same unit.", 0),
                Field("d1", 16, "From one n1 to the next on the chip, in rows; rows within it follow each other."),
            ),
        ),
        Layout(
            "window",
            "Which bytes `ld` reads: byte j of row (i1, i0) is read where x_lo <= i0 * s0 + j < x_hi and "
            "y_lo <= i1 < y_hi, and is `value` elsewhere.",
            (
                Field("x_lo", 18, "The first byte along i0."),
                Field("x_hi", 20, "The byte behind the last."),
                Field("y_lo", 8, "The first i1."),
                Field("y_hi", 8, "The i1 behind the last."),
                signed("value", 8, "What padding is: the zero point."),
            ),
        ),
        Layout(
            "gen",
            "How `ve` walks over `a`: row (i1, i0, j1, j0) is at a + i1 * s1 + i0 * s0 + j1 * t1 + j0 * t0.",
            (
                Field("s0", 12, "Rows from output to output.", default=1),
                Field("s1", 16, "Rows from one n1 to the next.", default=0),
                Field("t0", 12, "Rows from column to column of the window.", default=0),
                Field("t1", 16, "Rows from row to row of the window.", default=0),
                count("k0", 4, "Columns of the window.", 1),
                count("k1", 4, "Rows of the window.", 1),
            ),
        ),
        Layout(
            "out",
            "How `ve` walks over `dst` (dst + i1 * d1 + i0 * d0) and `b` (b + i1 * b1 + i0 * b0 + (j1 * k0 + j0) * "
            "bt).",
            (
                Field("d0", 8, "Rows of `dst` from output to output.", default=1),
                Field("d1", 16, "Rows of `dst` from one n1 to the next.", default=0),
                Field("b0", 12, "Rows of `b` from output to output.", default=0),
                Field("b1", 16, "Rows of `b` from one n1 to the next.", default=0),
                Field("bt", 12, "Rows of `b` from element to element of the window.", default=0),
            ),
        ),
        Layout(
            "post",
            "How a sum becomes a byte.",
            (
                Field("table", 8, "`st`: the row of the table with bias and scale per column.", default=0),
                signed("zero", 8, "The zero point that is added after rounding.", 0),
                signed("lo", 8, "The smallest result.", -128),
                signed("hi", 8, "The greatest result.", 127),
                Field("offset", 32, "`ve add`: the f32 that is added before rounding.", "float", default=0),
            ),
        ),
        Layout(
            "scale",
            "The factors of `ve add`.",
            (Field("ra", 32, "The f32 for `a`.", "float"), Field("rb", 32, "The f32 for `b`.", "float")),
        ),
    )
}
LAYOUT_NAMES = ("raw", *LAYOUTS)

_N0 = count("n0", 10, "How often the inner loop turns.")
_N1 = count("n1", 8, "How often the outer loop turns.", 1)

SPECS = {
    spec.name: spec
    for spec in (
        Spec(
            "ld",
            1,
            "ld",
            "Rows of DRAM to the chip.",
            "For i1 < n1, i0 < n0: the row of `len` elements at DRAM src + i1 * s1 + i0 * s0 goes to row "
            "dst + i1 * d1 + i0 of `to`; lanes from `len` on become 0. Elements are i8 (spm, lut), i32 (acc) or a bias "
            "i32 and a scale f32 (tab), little-endian. With `window` (spm only) what lies outside is not read but "
            "padded. Takes n0 * n1 * ceil(bytes of a row / read_bytes) cycles.",
            (
                choice("to", 2, TARGETS, "The memory on the chip."),
                *address("dst", 16, "Its first row."),
                *address("src", 32, "The first byte in DRAM, modulo 2^32; with `window` it may lie outside."),
                _N0,
                _N1,
                count("len", 8, "Elements of a row."),
                config("stride", "stride", "Strides."),
                optional_config("window", "window", "Padding."),
            ),
            (Rule("only what goes to the scratchpad can be padded", (("window", False, NONE), ("to", False, 0))),),
        ),
        Spec(
            "wl",
            2,
            "wl",
            "Rows of the scratchpad to the array's shadow weights.",
            "Row k of the tile is row src + k, its first `cols` bytes; rows from `rows` on are 0. Starts when the "
            "previous weights were taken by a `mm swap`. Takes as many cycles as the array has rows.",
            (*address("src", 16, "The first row in the scratchpad."), count("rows", 8, "Rows that are read.")),
        ),
        Spec(
            "mm",
            3,
            "mm",
            "Rows of the scratchpad through the array into sums.",
            "For i1 < n1, i0 < n0, i = i1 * n0 + i0: the product of row a + i1 * s1 + i0 * s0 of the scratchpad (its "
            "first `rows` bytes) and the weights is written to row acc + i of the accumulator, or added to it "
            "(modulo 2^32). `swap` waits for the oldest loaded weights and puts them in use first. Takes n0 * n1 "
            "cycles.",
            (
                *address("a", 16, "The first row in the scratchpad."),
                *address("acc", 16, "The first row in the accumulator."),
                _N0,
                _N1,
                Field("s0", 12, "Rows of `a` from one i0 to the next.", default=1),
                Field("s1", 16, "Rows of `a` from one i1 to the next.", default=0),
                flag("accumulate", "Whether it adds to what is there."),
                flag("swap", "Whether it takes new weights."),
            ),
        ),
        Spec(
            "ve",
            4,
            "ve",
            "Arithmetic lane by lane over windows of rows.",
            "For i1 < n1, i0 < n0, over the window j1 < k1, j0 < k0 of rows A and B (layouts `gen`, `out`): `mac` sums "
            "A * B into the accumulator's row dst (adding to it with `accumulate`); `max` and `min` give the greatest "
            "or smallest byte of A to the scratchpad's row dst (of B's first row, too, with `accumulate`); `add` gives "
            "q(A * ra + (B * rb + offset)) of the window's last rows, where each operation rounds to f32 and q rounds "
            "to nearest even, adds `zero` and limits to `lo`..`hi`; `lut` gives element A + 128 of the table. "
            "Takes n0 * n1 * k0 * k1 cycles.",
            (
                choice("kind", 3, ("mac", "max", "min", "add", "lut"), "What is done."),
                *address("dst", 16, "The first row of the result."),
                *address("a", 16, "The first row of A."),
                Field("b", 16, "The first row of B.", default=0, hexadecimal=True),
                Field("b_r", 4, "The address register that is added to `b`.", "register", default=0),
                _N0,
                _N1,
                config("gen", "gen", "How A is walked over."),
                config("out", "out", "How the result and B are walked over."),
                optional_config("post", "post", "`add`: offset, zero point and limits."),
                optional_config("scale", "scale", "`add`: factors."),
                flag("accumulate", "Whether what is there takes part."),
            ),
            (
                Rule("`add` needs `post`", (("kind", True, 3), ("post", True, NONE))),
                Rule("`add` needs `scale`", (("kind", True, 3), ("scale", True, NONE))),
                Rule("`post` is for `add`", (("kind", False, 3), ("post", False, NONE))),
                Rule("`scale` is for `add`", (("kind", False, 3), ("scale", False, NONE))),
            ),
        ),
        Spec(
            "st",
            5,
            "st",
            "Rows of the chip to DRAM, or to the scratchpad, sums made bytes on the way.",
            "For i1 < n1, i0 < n0: the first `len` elements of row src + i1 * d1 + i0 go to dst + i1 * s1 + i0 * s0. "
            "Sums with `post` become bytes: q(f32(sum + bias) * scale) with bias and scale of the lane in row "
            "table + r of the table; each operation rounds to f32 to nearest even, q rounds to nearest even, adds "
            "`zero` and limits to `lo`..`hi`; sum + bias is modulo 2^32. Sums without `post` go to DRAM as i32. In the "
            "scratchpad lanes from `len` on become 0. Takes n0 * n1 cycles, times ceil(bytes of a row / write_bytes) "
            "where it writes to DRAM.",
            (
                choice("source", 1, ("spm", "acc"), "Where the rows are."),
                *address("src", 16, "The first of them."),
                choice("to", 1, ("dram", "spm"), "Where they go."),
                *address("dst", 32, "The first byte in DRAM, or the first row of the scratchpad."),
                _N0,
                _N1,
                count("len", 8, "Elements of a row."),
                config("stride", "stride", "Strides."),
                optional_config("post", "post", "How sums become bytes."),
                Field("table_r", 4, "The address register that is added to the row of the table.", default=0),
            ),
            (
                Rule("bytes need no `post`", (("source", True, 0), ("post", False, NONE))),
                Rule(
                    "sums go to the scratchpad as bytes only, with `post`",
                    (("source", True, 1), ("to", True, 1), ("post", True, NONE)),
                ),
            ),
        ),
        Spec(
            "cfg",
            6,
            "",
            "Writes a configuration register.",
            "Instructions take the values of the registers that they name when they are dispatched. `layout` only "
            "tells how the value is printed.",
            (
                Field("reg", 5, "Which one."),
                choice("layout", 3, LAYOUT_NAMES, "How its bits are meant."),
                Field("value", 64, "The bits.", hexadecimal=True),
            ),
        ),
        Spec(
            "ar",
            7,
            "",
            "Moves an address register.",
            "r = (set ? 0 : r) + delta, modulo 2^32; if `modulus` is not 0 and the sum, unsigned, is not below it, "
            "`modulus` is taken off once. Registers hold 0 at the start; register 0 cannot be written.",
            (
                Field("reg", 4, "Which one.", least=1),
                flag("set", "Whether the old value is dropped."),
                signed("delta", 32, "What is added."),
                Field("modulus", 32, "Where it wraps around; 0: nowhere.", default=0),
            ),
        ),
        Spec(
            "loop",
            8,
            "",
            "What follows, up to its `end`, is done `count` times.",
            f"At most {LOOP_DEPTH} deep.",
            (count("count", 16, "How often."),),
        ),
        Spec("end", 9, "", "The end of the innermost loop.", "Goes back to behind its `loop`, or on.", ()),
        Spec("bar", 10, "", "Waits until every unit has completed everything.", "Nothing is dispatched before.", ()),
        Spec("halt", 11, "", "Ends the program.", "Waits like `bar`.", ()),
        Spec("trap", 12, "", "Ends the program with an error.", "At once.", (Field("code", 16, "Told in the error."),)),
        Spec(
            "sync",
            13,
            "",
            "Goes through the queue of a unit and does nothing there but wait, signal and be seen.",
            "Counts as one step of the unit. With `mark` the cycle of its start is recorded with `tag`.",
            (
                choice("unit", 3, UNITS, "Which unit."),
                flag("mark", "Whether a performance mark is recorded."),
                Field("tag", 16, "The mark's number.", default=0),
            ),
        ),
    )
}
BY_OPCODE = {spec.opcode: spec for spec in SPECS.values()}
