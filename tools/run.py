"""`lamina run`: compile, run, look at the outputs, compare with the reference."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..backends import Options, meaning
from ..compiler.diagnostics import LaminaError
from ..compiler.program import Program
from ..compiler.random_keys import seed as draw_from
from ..compiler.signature import Array
from . import api, light_models
from .aliases import add_alias_argument, parse_aliases, with_aliases
from .checks import Checks
from .compare import Comparison, compare
from .inputs import complete, read_named, write_outputs
from .precision import add_precision_argument
from .replicas import Replicated
from .schedules import add_schedules_argument, read_schedules, show_warnings
from .sources import FUNCTION, read_program, resolve, whole, with_shapes
from .summary import DescentLog


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "model",
        help="a .onnx, .mlir or .lamx file, program.lam::function, or onnx:NAME for a network inside the onnx package",
    )
    parser.add_argument(
        "--target",
        default="cpu",
        help="cpu (default), cpu:NAME (see lamina targets), cpu:<triple>, cuda, systolic:MACHINE, interpret",
    )
    parser.add_argument("--emulate", action="store_true", help="run kernels for CUDA in the emulator of PTX")
    parser.add_argument("--engine", help="of systolic: functional (default), or another that lamina targets names")
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE.json",
        help="of systolic: write a timeline for chrome://tracing or Perfetto, and beside it a plot (.svg)",
    )
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an input; or FILE.npz")
    parser.add_argument(
        "--expect", action="append", default=[], metavar="NAME=FILE.npy", help="what to expect; or FILE.npz"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs (default 0)")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="DIM=N",
        help="fix a symbolic dimension, or a const of a function",
    )
    parser.add_argument(
        "--replicas", type=int, default=1, metavar="N", help="run N at once (interpret only); inputs count them first"
    )
    parser.add_argument("--partitions", type=int, default=1, metavar="N", help="the same of each replica")
    parser.add_argument("--threads", type=int, help="how many threads (default: all cores)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write each output as DIR/<name>.npy")
    parser.add_argument(
        "--check", action="store_true", help="compare with the reference semantics; exit 1 if they differ"
    )
    parser.add_argument(
        "--tolerance", type=float, default=1e-3, help="relative error that --check accepts (default 1e-3)"
    )
    add_schedules_argument(parser)
    add_precision_argument(parser)
    add_alias_argument(parser)
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the on-disk cache")
    parser.add_argument("--no-winograd", action="store_true", help="convolutions as sums, with less rounding")
    parser.add_argument("--verify-numerics", action="store_true", help="run after every pass; name the first that errs")
    parser.add_argument("--quiet", action="store_true", help="do not show the descent")


def main(args: argparse.Namespace) -> int:
    """Runs the command; 0 good, 1 when a comparison failed."""
    kept = api.is_artefact(args.model)
    base = "" if kept else args.target.partition(":")[0]
    what = "an artefact" if kept else f"target '{args.target}'"
    if args.emulate and base not in ("", "cuda"):
        raise LaminaError(f"{what} has no emulator", hint="--target cuda has")
    if base in ("", "cpu", "cuda", "interpret"):
        for given, wanted in ((args.engine, "engines to choose from"), (args.trace, "timeline")):
            if given is not None:
                raise LaminaError(f"{what} has no {wanted}", hint="--target systolic has")
    if args.verify_numerics and base != "cpu":
        raise LaminaError(f"{what} has no passes that --verify-numerics runs", hint="a model and --target cpu have")
    log = DescentLog()
    checks: Checks | None = None
    program: Any = None  # Program, Template, or None for an artefact
    start = time.perf_counter()
    options = Options(
        threads=args.threads,
        cache=not args.no_cache,
        on_level=None if args.quiet else log,
        schedules=read_schedules(args),
        winograd=0 if args.no_winograd else None,
        precision=args.precision,
        emulate=args.emulate,
        engine=args.engine,
        trace=args.trace,
        tell=None if args.quiet else lambda line: print(line, file=sys.stderr),
    )
    aliases = parse_aliases(args.alias)
    if kept and aliases:
        raise LaminaError("what an artefact computes in the memory of inputs is settled", hint="lamina compile --alias")
    if kept:
        model = api.load(args.model, shapes=parse_shapes(args.shape), threads=args.threads, emulate=args.emulate)
    else:
        program = with_aliases(with_shapes(read_program(args.model), parse_shapes(args.shape)), aliases)
        if isinstance(program, Program) and args.replicas == args.partitions == 1:
            checks = Checks.extract(program)
            show_warnings(program.context, "run")
        if args.verify_numerics:
            from .verify_numerics import verify_numerics

            return verify_numerics(whole(program), args)
        if args.replicas != 1 or args.partitions != 1:
            model = replicated(args, whole(program))
        else:
            model = api.compile(checks.program if checks else program, args.target, options=options)
    named = read_named(args.input)
    unknown = [name for name in named if name not in {spec.name for spec in model.signature.inputs}]
    if unknown and any(not a.endswith(".npz") for a in args.input):
        raise LaminaError(f"unknown input '{unknown[0]}'", hint=f"the model takes {model.signature}")
    standard = standard_case(args, model.signature.inputs[0].shape if len(model.signature.inputs) == 1 else None)
    if standard and not args.input:
        named = {model.signature.inputs[0].name: standard[0]}
    if symbols := [s for s in model.signature.symbols if not args.input]:
        raise LaminaError(
            f"symbolic dimensions {', '.join(symbols)} have no size", hint="give --shape NAME=N or --input"
        )
    inputs = complete(model.signature, named, args.seed)
    compiled = time.perf_counter()
    draw_from(args.seed)
    outputs = model(*(map(np.array, inputs) if model.signature.aliases else inputs))
    finished = time.perf_counter()
    if log.rows:
        log.show()
    print(f"compiled in {compiled - start:.2f} s, ran in {(finished - compiled) * 1e3:.2f} ms", file=sys.stderr)
    failed = checks.failures(inputs, outputs) if checks else []
    shown = outputs[: len(outputs) - checks.extra] if checks else outputs
    for spec, array in zip(model.signature.outputs, shown, strict=False):
        print(describe(spec.name, array))
    if args.output:
        write_outputs(args.output, model.signature, shown)
    comparisons: list[Comparison] = []
    if standard and args.check:
        comparisons.append(compare("stored output", shown[0], standard[1].reshape(shown[0].shape), args.tolerance))
    expected = read_named(args.expect, "out.")
    for spec, array in zip(model.signature.outputs, shown, strict=False):
        if spec.name in expected:
            comparisons.append(compare(f"{spec.name} against --expect", array, expected[spec.name], args.tolerance))
    if args.check and program is not None and args.target != "interpret":
        right = meaning(args.target, program, options) if isinstance(program, Program) else program
        draw_from(args.seed)
        reference = api.compile(right, "interpret")(*inputs)
        for spec, array, wanted in zip(model.signature.outputs, shown, reference, strict=False):
            comparisons.append(compare(f"{spec.name} against the reference", array, wanted, args.tolerance))
    for comparison in comparisons:
        print(("ok    " if comparison.good else "WRONG ") + str(comparison))
    for failure in failed:
        print(f"WRONG {failure}", file=sys.stderr)
    return 1 if failed or not all(c.good for c in comparisons) else 0


def replicated(args: argparse.Namespace, program: Program) -> Replicated:
    """The program as many processes run it. Raises LaminaError for a target that does not."""
    if args.target != "interpret":
        raise LaminaError("only the reference runs several replicas", hint="give --target interpret")
    return Replicated(program, args.replicas, args.partitions)


def parse_shapes(arguments: Sequence[str]) -> dict[str, int]:
    """`name=size` arguments; `B=2x3` gives a pack `..B` two sizes. Raises LaminaError for anything else."""
    shapes: dict[str, int] = {}
    for argument in arguments:
        name, _, size = argument.partition("=")
        sizes = size.split("x")
        if not name or not all(s.isascii() and s.isdecimal() for s in sizes):
            raise LaminaError(f"'{argument}' is not a dimension", hint="expected NAME=SIZE")
        names = [name] if len(sizes) == 1 else [f"{name}.{i}" for i in range(len(sizes))]
        shapes.update(zip(names, map(int, sizes), strict=True))
    return shapes


def standard_case(args: argparse.Namespace, shape: tuple[int | str, ...] | None) -> tuple[Array, Array] | None:
    """Input and stored output of a light model, when that is what is run with no input given."""
    if shape is None or args.input or api.is_artefact(args.model) or FUNCTION in args.model:
        return None
    expected = light_models.expected_output(resolve(args.model))
    if expected is None:
        return None
    return light_models.standard_input(tuple(int(d) for d in shape)), expected


def describe(name: str, array: Array) -> str:
    """One line about an output: shape, dtype, range, mean and the first values."""
    head = ", ".join(f"{v:.6g}" if array.dtype.kind in "fc" else str(v) for v in array.reshape(-1)[:4].tolist())
    text = f"{name}: {array.dtype}{list(array.shape)}"
    if array.size and array.dtype.kind == "f":
        wide = array.astype(np.float64)
        text += f" min {wide.min():.6g} max {wide.max():.6g} mean {wide.mean():.6g}"
    return text + (f" [{head}{', …' if array.size > 4 else ''}]" if array.size else " (empty)")
