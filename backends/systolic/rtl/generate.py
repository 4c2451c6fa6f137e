"""Writes the hardware of a machine: one SystemVerilog file, decoder and sizes made from the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

from ....compiler.systolic_machine import SystolicMachine
from ....dialects.systolic.fields import NONE, Field
from ....dialects.systolic.instructions import HEADER_BITS, LAYOUTS, SPECS, UNITS, WORD_BITS, Rule, Spec

MODULES = ("queue", "dispatch", "load", "array", "matrix", "vector", "store", "core")
TOP = "systolic"
_WAIVER = """// Every unit gets whole words and addresses, and leaves bits of them alone that are not for it.
/* verilator lint_off UNUSEDSIGNAL */"""


def generate(machine: SystolicMachine) -> str:
    """The SystemVerilog of a machine; its top module is `systolic`."""
    parts = [f"// A systolic array of {machine.describe()}; hash {machine.hash}.", _WAIVER, *_macros(), _decoder()]
    parts += [_source(f"{name}.sv") for name in MODULES]
    parts.append(_top(machine))
    return "\n".join(parts) + "\n"


def _source(name: str) -> str:
    text = (resources.files(__package__ or "") / name).read_text()
    return re.sub(r'^ *`include "(.+)"$', lambda match: _source(match[1]), text, flags=re.MULTILINE)


def _macros() -> Iterator[str]:
    """Where each field lies: `word[`LD_DST]`."""
    for spec in SPECS.values():
        yield f"`define OP_{spec.name.upper()} 4'd{spec.opcode}"
        for field in spec.payload:
            yield f"`define {spec.name.upper()}_{field.name.upper()} {_bits(spec.offsets[field.name], field.bits)}"
    semaphores = SPECS["ld"].fields[:4]
    for field in semaphores:
        offset = SPECS["ld"].offsets[field.name]
        yield f"`define {field.name.upper()}_ON {offset + 4}"
        yield f"`define {field.name.upper()}_ID {_bits(offset, 4)}"
    for layout in LAYOUTS.values():
        offset = 0
        for field in layout.fields:
            yield f"`define {layout.name.upper()}_{field.name.upper()} {_bits(offset, field.bits)}"
            offset += field.bits


def _bits(offset: int, bits: int) -> str:
    return f"{offset} +: {bits}" if bits > 1 else str(offset)


_DECODER = """
// Made from the table of instructions: who executes a word, what its addresses and configuration are.
module systolic_decoder (
  input  logic [127:0] instr,
  output logic [11:0]  uses,    // the address registers of at most three operands
  input  logic [95:0]  offsets, // what they hold
  output logic [19:0]  reads,   // the configuration registers of at most four operands
  input  logic [255:0] values,  // what they hold
  output logic [4:0]   unit,
  output logic [127:0] word,    // the instruction with addresses resolved
  output logic [255:0] cfgs,
  output logic [15:0]  tab,     // what is added to the row of the table
  output logic         illegal
);
  always_comb begin
    uses = 0;
    reads = 0;
    case (instr[3:0])
{selection}
      default: ;
    endcase
  end
  always_comb begin
    unit = 0;
    word = instr;
    cfgs = 0;
    tab = 0;
    illegal = 0;
    case (instr[3:0])
{resolution}
      default: illegal = 1;
    endcase
{semaphores}
    if (illegal) unit = 0;
  end
endmodule
"""


def _decoder() -> str:
    selection: list[str] = []
    resolution: list[str] = []
    for spec in SPECS.values():
        selected, resolved = _operands(spec)
        illegal = " || ".join(f"({condition})" for condition in _illegal(spec)) or "0"
        if selected:
            selection += _case(spec, selected)
        resolution += _case(spec, [*resolved, f"illegal = {illegal};"])
    return _DECODER.format(
        selection="\n".join(selection), resolution="\n".join(resolution), semaphores="\n".join(_semaphores())
    )


def _case(spec: Spec, lines: list[str]) -> list[str]:
    return [f"      `OP_{spec.name.upper()}: begin", *(f"        {line}" for line in lines), "      end"]


def _semaphores() -> Iterator[str]:
    """What is illegal of waits and signals, whatever the instruction."""
    on = {name: f"instr[`{name.upper()}_ON]" for name in ("wait0", "wait1", "signal0", "signal1")}
    number = {name: f"instr[`{name.upper()}_ID]" for name in on}
    yield "    if (unit != 0) begin"
    for name in on:
        yield f"      if (!{on[name]} && {number[name]} != 0) illegal = 1;"
    for a, b in (("wait0", "wait1"), ("signal0", "signal1")):
        yield f"      if ({on[b]} && (!{on[a]} || {number[a]} >= {number[b]})) illegal = 1;"
    yield f"    end else if (instr[{HEADER_BITS - 1}:4] != 0) illegal = 1;"


def _operands(spec: Spec) -> tuple[list[str], list[str]]:
    """Which registers an instruction needs, and what becomes of what they hold."""
    selected: list[str] = []
    resolved: list[str] = []
    if spec.unit:
        resolved.append(f"unit = 5'd{1 << UNITS.index(spec.unit)};")
    elif spec.name == "sync":
        resolved.append("unit = 5'd1 << instr[`SYNC_UNIT];")
    names = {field.name for field in spec.payload}
    uses = reads = 0
    for field in spec.payload:
        macro = f"`{spec.name}_{field.name}".upper()
        if f"{field.name}_r" in names:
            selected.append(f"uses[{4 * uses} +: 4] = instr[{macro}_R];")
            resolved.append(f"word[{macro}] = instr[{macro}] + offsets[{32 * uses} +: {field.bits}];")
            uses += 1
        if field.layout:
            selected.append(f"reads[{5 * reads} +: 5] = instr[{_bits(spec.offsets[field.name], 5)}];")
            resolved.append(f"cfgs[{64 * reads} +: 64] = values[{64 * reads} +: 64];")
            reads += 1
    if spec.name == "st":
        selected.append(f"uses[{4 * uses} +: 4] = instr[`ST_TABLE_R];")
        resolved.append(f"tab = offsets[{32 * uses} +: 16];")
    return selected, resolved


def _illegal(spec: Spec) -> Iterator[str]:
    """Conditions under which the word is none."""
    for field in spec.payload:
        bits = f"instr[{_bits(spec.offsets[field.name], field.bits)}]"
        if field.least:
            yield f"{bits} < {field.least}"
        if field.kind == "choice" and field.high + 1 < 1 << field.bits:
            yield f"{bits} > {field.high}"
        if field.kind == "optional":
            top = spec.offsets[field.name] + field.bits - 1
            yield f"!instr[{top}] && {bits} != 0"
    for rule in spec.rules:
        yield " && ".join(_condition(spec, rule))
    end = max((spec.offsets[f.name] + f.bits for f in spec.fields), default=HEADER_BITS)
    if end < WORD_BITS:
        yield f"instr[{WORD_BITS - 1}:{end}] != 0"


def _condition(spec: Spec, rule: Rule) -> Iterator[str]:
    fields: dict[str, Field] = {field.name: field for field in spec.payload}
    for name, same, value in rule.conditions:
        offset, field = spec.offsets[name], fields[name]
        if value == NONE:
            yield f"{'!' if same else ''}instr[{offset + field.bits - 1}]"
        else:
            yield f"instr[{_bits(offset, field.bits)}] {'==' if same else '!='} {value}"


def parameters(machine: SystolicMachine) -> dict[str, int]:
    """The parameters of the core."""
    row = max(machine.lanes, 8 * machine.cols)
    out = max(machine.lanes, 4 * machine.cols)
    return {
        "R": machine.rows,
        "C": machine.cols,
        "W": machine.lanes,
        "SPM_ROWS": machine.spm_rows,
        "ACC_ROWS": machine.acc_rows,
        "TAB_ROWS": machine.table_rows,
        "LUT_ROWS": machine.lut_rows,
        "RB": machine.read_bytes,
        "WB": machine.write_bytes,
        "ROW_BYTES": -(-row // machine.read_bytes) * machine.read_bytes,
        "OUT_BYTES": -(-out // machine.write_bytes) * machine.write_bytes,
        "FLIGHT": machine.dma_latency + 1,
        "DEPTH": machine.queue_depth,
    }


def _top(machine: SystolicMachine) -> str:
    """The core with its parameters and no others."""
    told = ", ".join(f".{name}({value})" for name, value in parameters(machine).items())
    ports = (
        ("input", 1, "clk"),
        ("input", 1, "rst"),
        ("output", 32, "pc"),
        ("input", 128, "instr"),
        ("output", 1, "rd_v"),
        ("output", 32, "rd_a"),
        ("output", machine.read_bytes, "rd_m"),
        ("input", 1, "rsp_v"),
        ("input", 8 * machine.read_bytes, "rsp_d"),
        ("output", 1, "wr_v"),
        ("output", 32, "wr_a"),
        ("output", machine.write_bytes, "wr_m"),
        ("output", 8 * machine.write_bytes, "wr_d"),
        ("output", 5, "mark_v"),
        ("output", 80, "mark_tag"),
        ("output", 1, "done"),
        ("output", 4, "trap"),
        ("output", 16, "trap_code"),
    )
    lines = [f"  {way:<6} logic {f'[{bits - 1}:0] ' if bits > 1 else ''}{name}" for way, bits, name in ports]
    inner = ", ".join(f".{name}" for _, _, name in ports)
    return f"module {TOP} (\n" + ",\n".join(lines) + f"\n);\n  systolic_core #({told}) core ({inner});\nendmodule"
