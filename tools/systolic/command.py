"""`lamina systolic`: assembles, checks and runs programs of systolic arrays, and makes and tests their hardware."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...backends.systolic.binary import MAGIC, Binary, machine_of
from ...backends.systolic.engine import ENGINES, run
from ...backends.systolic.rtl.generate import generate
from ...backends.systolic.timeline import Told, write_timeline
from ...backends.systolic.verilator import missing
from ...compiler.context import LaminaContext
from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects import all_dialects
from ...dialects.systolic import ProgramOp
from ...dialects.systolic.checker import check_program
from ...dialects.systolic.timing import simulate
from ..inputs import read_named
from .against_onnxruntime import EXACT, agreements
from .check_hardware import compare
from .gates import count_gates
from .page import page
from .random_shapes import try_shapes
from .shapes import report

FUZZED = ("tiny4", "edge8", "gemmini16", "8x16", "16x8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(name: str, line: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")

    asm = add("asm", "assemble a systolic.program into a binary")
    dis = add("disasm", "print the program of a binary")
    check = add("check", "prove that a program neither hangs nor races")
    start = add("run", "run a program and print the outputs' checksums and what was counted")
    for sub in (asm, check, start):
        sub.add_argument("file", type=Path, help="a .mlir file with a systolic.program, or a binary")
        sub.add_argument("--dram", type=int, default=1 << 16, metavar="BYTES", help="DRAM of a .mlir program (65536)")
    dis.add_argument("file", type=Path, help="a binary")
    asm.add_argument("-o", "--output", type=Path, required=True, help="the binary")
    start.add_argument("--engine", choices=list(ENGINES), default="timing", help="who runs it (default: timing)")
    start.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="the bytes of an input")
    start.add_argument(
        "--trace",
        type=Path,
        help="a timeline for chrome://tracing or Perfetto, and beside it a plot (.svg)",
    )
    rtl = add("rtl", "write the SystemVerilog of a machine")
    gates = add("gates", "count the gates of a machine, with Yosys")
    fuzz = add("fuzz", "hold the hardware against the models on random programs")
    shaped = add("shapes", "cycles of the products and convolutions that others publish, beside SCALE-Sim's")
    for sub in (rtl, gates):
        sub.add_argument("machine", help="a preset, or a .toml file")
    shaped.add_argument("machines", nargs="+", metavar="machine", help="presets, or .toml files")
    shaped.add_argument("--only", action="append", default=[], metavar="WORD", help="those with WORD in their names")
    shaped.add_argument("--engine", choices=("timing", "rtl"), default="timing", help="rtl: on the hardware, too")
    rtl.add_argument("-o", "--output", type=Path, help="the file (default: standard output)")
    fuzz.add_argument("machine", nargs="*", help=f"presets or .toml files (default: {' '.join(FUZZED)})")
    fuzz.add_argument("--programs", type=int, default=1000, help="how many for each machine (default 1000)")
    fuzz.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first program")
    random = add("random-shapes", "compile products and convolutions of random shapes and hold them against NumPy")
    random.add_argument("--count", type=int, default=10000, help="how many (default 10000)")
    random.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first")
    beside = add("against-onnxruntime", "tell which outputs of a quantised model are ONNX Runtime's, bit by bit")
    beside.add_argument("model", nargs="+", type=Path, help="a quantised .onnx file")
    beside.add_argument("--machine", default="gemmini16", help="the array (default: gemmini16)")
    beside.add_argument("--samples", type=int, default=4, help="how many random inputs (default 4)")
    spec = add("spec", "print the page of the instructions, made from their table")
    spec.add_argument("-o", "--output", type=Path, help="the file (default: standard output)")


def main(args: argparse.Namespace) -> int:
    """Runs the action."""
    try:
        return _ACTIONS[args.action](args)
    except OSError as error:
        raise LaminaError(error.strerror or str(error), where=error.filename) from error


def read_program(file: Path, dram_bytes: int) -> Binary:
    """The program in a binary, or the first one in a .mlir file. Raises LaminaError where there is none."""
    data = file.read_bytes()
    if data.startswith(MAGIC) or file.suffix != ".mlir":
        return Binary.from_bytes(data, SystolicMachine.preset(machine_of(data, str(file))), str(file))
    from ...compiler.parsing import parse_module  # heavy: binaries need no parser

    context = LaminaContext()
    for name, load in all_dialects().items():
        context.register_dialect(name, load)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise LaminaError(f"is no UTF-8 text: {error.reason}", where=str(file)) from error
    module = parse_module(text, str(file), context)
    module.verify()
    for op in module.walk():
        if isinstance(op, ProgramOp):
            binary = Binary(SystolicMachine.preset(op.machine.data), op.instructions, dram_bytes)
            binary.verify(str(file))
            return binary
    raise LaminaError("has no systolic.program", where=str(file))


def _asm(args: argparse.Namespace) -> int:
    args.output.write_bytes(read_program(args.file, args.dram).to_bytes())
    return 0


def _disasm(args: argparse.Namespace) -> int:
    binary = read_program(args.file, 0)
    print(ProgramOp("main", binary.machine.name, binary.instructions))
    return 0


def _check(args: argparse.Namespace) -> int:
    binary = read_program(args.file, args.dram)
    check_program(binary.instructions, binary.machine, binary.dram_bytes)
    timing = simulate(binary.instructions, binary.machine)
    print(f"{len(timing.spans)} instructions on {binary.machine.name}: no race, no hang, {timing.cycles} cycles")
    return 0


def _run(args: argparse.Namespace) -> int:
    binary = read_program(args.file, args.dram)
    outcome = run(binary, read_named(args.input), args.engine)
    for name, data in outcome.outputs.items():
        print(f"{name}: {data.size} bytes, sum {int(data.view(np.int8).sum(dtype=np.int64))}")
    if outcome.counters:
        print(json.dumps(outcome.counters, indent=2))
    if args.trace is not None:
        write_timeline(args.trace, [Told("program", simulate(binary.instructions, binary.machine))])
    return 0


def _rtl(args: argparse.Namespace) -> int:
    _written(generate(SystolicMachine.preset(args.machine)), args.output)
    return 0


def _gates(args: argparse.Namespace) -> int:
    for name, count in count_gates(SystolicMachine.preset(args.machine)).items():
        print(f"{name:<12} {count}")
    return 0


def _fuzz(args: argparse.Namespace) -> int:
    if why := missing():
        raise LaminaError(f"there is no hardware to compare with: {why}")
    failed = False
    for name in args.machine or FUZZED:
        start = time.perf_counter()
        verdict = compare(SystolicMachine.preset(name), range(args.first, args.first + args.programs))
        print(
            f"{name}: {verdict.programs} programs, {verdict.instructions} instructions, {verdict.cycles} cycles, "
            f"{len(verdict.faults)} differ, {time.perf_counter() - start:.0f} s"
        )
        for fault in verdict.faults[:5]:
            print(f"  {fault}")
        failed |= bool(verdict.faults)
    return int(failed)


def _shapes(args: argparse.Namespace) -> int:
    for name in args.machines:
        print(f"{name}: {SystolicMachine.preset(name).describe()}")
        for line in report(SystolicMachine.preset(name), args.only, args.engine == "rtl"):
            print(line, flush=True)
    return 0


def _random_shapes(args: argparse.Namespace) -> int:
    start = time.perf_counter()
    tally = try_shapes(range(args.first, args.first + args.count), lambda line: print(line, flush=True))
    for fault in tally.faults[:20]:
        print(f"  {fault}")
    print(
        f"{tally.shapes} shapes, {tally.instructions} instructions, {len(tally.faults)} wrong, "
        f"{time.perf_counter() - start:.0f} s"
    )
    return int(bool(tally.faults))


def _against_onnxruntime(args: argparse.Namespace) -> int:
    """1 where even sums that are not saturated differ."""
    good = True
    for model in args.model:
        for found in agreements(model, args.machine, range(args.samples)):
            print(f"{model}: {found}", flush=True)
            good &= found.way != EXACT or found.equal == found.elements
    return int(not good)


def _spec(args: argparse.Namespace) -> int:
    _written(page(), args.output)
    return 0


def _written(text: str, file: Path | None) -> None:
    if file is None:
        sys.stdout.write(text)
    else:
        file.write_text(text)


_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "asm": _asm,
    "disasm": _disasm,
    "check": _check,
    "run": _run,
    "rtl": _rtl,
    "gates": _gates,
    "fuzz": _fuzz,
    "shapes": _shapes,
    "random-shapes": _random_shapes,
    "against-onnxruntime": _against_onnxruntime,
    "spec": _spec,
}
