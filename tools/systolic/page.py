"""The page of the instruction set, docs/systolic-isa.md, made from the table; `lamina systolic spec` writes it."""

from __future__ import annotations

from collections.abc import Iterator

from ...dialects.systolic import timetable
from ...dialects.systolic.fields import NONE, Field
from ...dialects.systolic.instructions import (
    CONFIGS,
    HEADER_BITS,
    LAYOUTS,
    LOOP_DEPTH,
    REGISTERS,
    SEMAPHORE_MOST,
    SEMAPHORES,
    SPECS,
    UNITS,
    WORD_BITS,
    Spec,
)

_EXAMPLE = """A program as text, which is the IR, too:

```console
$ cat > product.mlir <<'EOF'
> systolic.program @main for "tiny4" {
>   systolic.cfg 1 stride(s0=4 d1=0)
>   systolic.ld to=spm dst=0x0 src=0x0 n0=12 len=4 stride=1 signal(0)
>   systolic.ld to=spm dst=0x20 src=0x40 n0=4 len=4 stride=1 signal(1)
>   systolic.wl src=0x20 rows=4 wait(1)
>   systolic.mm a=0x0 acc=0x0 n0=12 swap wait(0) signal(2)
>   systolic.cfg 2 stride(s0=16 d1=0)
>   systolic.st source=acc src=0x0 to=dram dst=0x80 n0=12 len=4 stride=2 wait(2)
>   systolic.halt
> }
> EOF
$ lamina-opt product.mlir
$ lamina systolic check product.mlir
$ lamina systolic run product.mlir --engine timing --trace timeline.json
$ lamina systolic asm product.mlir -o product.bin
$ lamina systolic disasm product.bin
```"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# The instructions of systolic arrays"
    yield ""
    yield "Written by `lamina systolic spec` from `dialects/systolic/instructions.py`, as are the encoder, the decoder,"
    yield "the assembly, the ops and the decoder of the hardware."
    yield ""
    units = ", ".join(f"`{unit}`" for unit in UNITS)
    yield f"An instruction has {WORD_BITS} bits. The units {units} work each in its own order; {SEMAPHORES} counting"
    yield f"semaphores (0 to {SEMAPHORE_MOST}, 0 at the start) order them: one unit signals a semaphore, one waits for"
    yield "it. The dispatcher does the rest: it goes through the program, one instruction a cycle, through loops up to"
    yield f"{LOOP_DEPTH} deep, adds the address registers (r1 to r{REGISTERS - 1}, 32 bits) to addresses, looks up the"
    yield f"{CONFIGS} configuration registers of 64 bits, and puts the result into the queue of the unit."
    yield ""
    yield "DRAM is addressed in bytes, the memories on the chip in rows: `spm` (bytes), `acc` (sums, i32), `tab` (pairs"
    yield "of a bias, i32, and a scale, f32) and `lut` (256 bytes; the entry of value v is v + 128). Everything is 0 at"
    yield "the start. Every reader and every writer of a memory has a port of its own."
    yield ""
    yield from _EXAMPLE.splitlines()
    yield ""
    yield "## Instructions"
    for spec in SPECS.values():
        yield from _instruction(spec)
    yield ""
    yield "## Configuration registers"
    for layout in LAYOUTS.values():
        yield from ("", f"### `{layout.name}`", "", layout.doc, "", "| bits | field | values | |", "|---|---|---|---|")
        offset = 0
        for field in layout.fields:
            yield _row(field, offset)
            offset += field.bits
    yield ""
    yield "## Semaphores"
    yield ""
    yield f"Bits 4 to {HEADER_BITS - 1} of instructions that go through the queue of a unit; reserved (0) in others."
    yield "Two are told in rising order."
    yield from ("", "| bits | field | values | |", "|---|---|---|---|")
    for field in SPECS["ld"].fields[:4]:
        yield _row(field, SPECS["ld"].offsets[field.name])
    yield from ("", "## Time", "")
    yield (timetable.__doc__ or "").strip()
    yield ""
    yield "| unit | cycles from the last step to completion |"
    yield "|---|---|"
    yield "| `ld` | the latency of DRAM |"
    yield "| `wl` | 0 |"
    yield "| `mm` | rows + columns of the array |"
    yield f"| `ve` | {timetable.VECTOR_LATENCY} |"
    yield f"| `st` | {timetable.STORE_LATENCY} |"


def _instruction(spec: Spec) -> Iterator[str]:
    who = f"unit `{spec.unit}`" if spec.unit else "the unit it names" if spec.has_semaphores else "the dispatcher"
    yield from ("", f"### `{spec.name}`: {spec.summary}", "", f"Opcode {spec.opcode}, {who}. {spec.meaning}")
    yield from (f"Illegal: {rule.problem}." for rule in spec.rules)
    if spec.payload:
        yield from ("", "| bits | field | values | |", "|---|---|---|---|")
        yield from (_row(field, spec.offsets[field.name]) for field in spec.payload)


def _row(field: Field, offset: int) -> str:
    bits = f"{offset}–{offset + field.bits - 1}" if field.bits > 1 else str(offset)
    if field.kind == "choice":
        values = ", ".join(f"{n} {word}" for n, word in enumerate(field.choices))
    elif field.kind == "optional":
        values = f"top bit: there is one; 0–{field.high}"
    elif field.kind == "float":
        values = "f32"
    else:
        values = f"{field.low}–{field.high}" if field.bits < 32 else f"{field.bits} bits"
    default = "" if field.default in (None, NONE) or field.kind == "flag" else f" Default {field.default}."
    layout = f" Layout `{field.layout}`." if field.layout else ""
    return f"| {bits} | `{field.name}` | {values} | {field.doc}{layout}{default} |"
