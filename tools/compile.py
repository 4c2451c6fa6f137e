"""`lamina compile`: a model to an artefact, an object for C programs, assembly, or the IR of any level."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from ..backends import Options
from ..backends import target as find_target
from ..backends.cpu.target import CpuTarget
from ..compiler.artefact import written_whole
from ..compiler.compile_times import CompileTimes
from ..compiler.diagnostics import LaminaError
from ..compiler.program import Program
from ..compiler.schedules import Schedules
from . import api
from .aliases import add_alias_argument, parse_aliases, with_aliases
from .precision import PRECISIONS, add_precision_argument
from .run import parse_shapes
from .schedules import add_schedules_argument, problems_of, read_schedules, schedules_text, show_warnings
from .sources import read_program, whole, with_shapes, write_program
from .summary import DescentLog, show_times

NATIVE = (".o", ".ll", ".s", ".so")
DEVICE = (".ptx", ".cubin")
SHOWN = ("ll", "s", "ptx")  # kinds of files that are text, which standard output takes as well


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", help="a .onnx, .mlir, .mlirbc or .pt2 file, program.lam::function, or onnx:NAME")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="model.lamx, .o (with .h and .weights), .so, .s, .ll, .ptx, .cubin, .bin, .mlir, .onnx, or .schedules; "
        "without it, or -, standard output gets what --emit says",
    )
    parser.add_argument(
        "--emit",
        metavar="LEVEL",
        help="the level to stop at: of .mlir (default: llvm), of .onnx (default: as it is; stablehlo: rewritten); "
        f"of standard output also {', '.join(SHOWN[:-1])} or {SHOWN[-1]}",
    )
    parser.add_argument(
        "--target",
        default="cpu",
        help="cpu (default), cpu:NAME (see lamina targets), cpu:<triple>[,features], cuda or cuda:sm_90a, systolic",
    )
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    parser.add_argument("--threads", type=int, help="how many threads compiled code uses (default: all cores)")
    add_schedules_argument(parser)
    add_precision_argument(parser)
    add_alias_argument(parser)
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the on-disk cache")
    parser.add_argument("--no-winograd", action="store_true", help="convolutions as sums, with less rounding")
    parser.add_argument("--timing", action="store_true", help="show the time of each level, pass and kernel")
    parser.add_argument("--timing-json", type=Path, metavar="FILE", help="write these times as JSON")


def _write_schedules(program: Program, output: Path, args: argparse.Namespace, options: Options) -> None:
    from ..backends.cuda.target import CudaTarget

    target = find_target(args.target)
    if not isinstance(target, CpuTarget | CudaTarget):
        raise LaminaError(f"target '{args.target}' has no schedules", hint="cpu and cuda have")
    problems = problems_of(target.lower(program, "buffers", options))
    schedules = Schedules({problem.name: problem.entry for problem in problems})
    head = "Edit any number; a line or a number that is left out is as the cost model has it."
    machine = target.machine if isinstance(target, CpuTarget) else target.architecture.machine
    text = schedules_text(problems, schedules, args.model, machine, remarks={}, head=head, precision=options.precision)
    with written_whole(output) as file:
        file.write(text.encode())


def main(args: argparse.Namespace) -> int:
    """Runs the command."""
    start = time.perf_counter()
    log = DescentLog()
    timed = args.timing or args.timing_json is not None
    times = CompileTimes()
    options = Options(
        threads=args.threads,
        cache=not args.no_cache,
        on_level=log if timed else None,
        times=times if timed else None,
        schedules=read_schedules(args),
        winograd=0 if args.no_winograd else None,
        precision=args.precision,
    )
    output = _destination(args)
    program = whole(with_shapes(read_program(args.model), parse_shapes(args.shape)))
    program = with_aliases(program, parse_aliases(args.alias))
    show_warnings(program.context, "compile")
    if output is None:
        _show(program, args, options)
    else:
        _write(program, output, args, options)
    seconds = time.perf_counter() - start
    if args.timing:
        log.show()
        show_times(times)
    if args.timing_json is not None:
        told = {"wall": seconds, "levels": [{"name": row[0], "seconds": row[3]} for row in log.rows], **times.to_json()}
        with written_whole(args.timing_json) as file:
            file.write(json.dumps(told, indent=1).encode())
    if note := PRECISIONS[args.precision]:
        print(note, file=sys.stderr)
    if output is not None:
        print(f"wrote {output} in {seconds:.2f} s", file=sys.stderr)
    return 0


def _destination(args: argparse.Namespace) -> Path | None:
    """The file to write; None for standard output."""
    if args.output is not None and args.output != Path("-"):
        return args.output
    if args.emit is None:
        raise LaminaError(
            "nothing says what to write",
            hint="-o FILE, as model.lamx, or --emit LEVEL for standard output",
        )
    return None


def _show(program: Program, args: argparse.Namespace, options: Options) -> None:
    """Prints the IR of a level, or what a file of a kind of `SHOWN` would hold."""
    if args.emit not in SHOWN:
        print(api.lower(program, args.emit, target=args.target, options=options), end="")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model.{args.emit}"
        _write(program, file, args, options)
        print(file.read_text(), end="")


def _write(program: Program, output: Path, args: argparse.Namespace, options: Options) -> None:
    """Writes a file of the kind that its suffix tells."""
    match output.suffix:
        case ".mlir":
            write_program(api.lower(program, args.emit or "llvm", target=args.target, options=options), output)
        case ".schedules":
            _write_schedules(program, output, args, options)
        case ".onnx":
            from .export import export_onnx

            export_onnx(api.lower(program, args.emit) if args.emit else program, output)
        case ".lamx":
            anywhere = replace(options, emulate=args.target.partition(":")[0] == "cuda")  # needs no GPU
            api.compile(program, args.target, options=anywhere).save(output)
        case suffix if suffix in NATIVE:
            from ..backends.cpu.aot import write_native

            if not args.target.startswith("cpu"):
                raise LaminaError(f"'{suffix}' is for target cpu, not '{args.target}'")
            write_native(program, output, args.target.partition(":")[2], options)
        case suffix if suffix in DEVICE:
            from ..backends.cuda.files import write_device

            base, _, detail = args.target.partition(":")
            if base != "cuda":
                raise LaminaError(f"'{suffix}' is for target cuda, not '{args.target}'", hint="--target cuda:sm_90a")
            for line in write_device(program, output, detail, options):
                print(line, file=sys.stderr)
        case ".bin":
            from ..backends.systolic.files import write_binary

            base, _, detail = args.target.partition(":")
            if base != "systolic":
                raise LaminaError(f"'.bin' is for target systolic, not '{args.target}'", hint="--target systolic")
            for line in write_binary(program, output, detail, options):
                print(line, file=sys.stderr)
        case suffix:
            raise LaminaError(
                f"cannot write files of kind '{suffix}'",
                hint="expected .lamx, .o, .so, .s, .ll, .ptx, .cubin, .bin, .mlir, .onnx or .schedules",
            )
