"""`lamina tune`: searches better schedules for the contractions of a model by measuring them on this machine.

Writes a lock-file, which `--schedules` replays to the same code, and the tuning database, which compiling consults.
What differs between targets, candidates and how they are timed, is in `cpu` and `cuda`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from ...compiler.artefact import written_whole
from ...compiler.diagnostics import LaminaError
from ...compiler.schedules import Schedules
from ..precision import add_precision_argument
from ..run import parse_shapes
from ..schedules import add_schedules_argument, read_schedules, schedules_text
from ..sources import read_program, whole, with_shapes
from .models import keep_the_best
from .rounds import CHECK_SHARE, Turn, parse_budget, settle, spend
from .subjects import Tuned, won


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", help="a .onnx or .mlir file, program.lam::function, or onnx:NAME")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("-o", "--output", type=Path, help="the lock-file (default: the model's name.schedules)")
    either.add_argument(
        "--list-candidates",
        action="store_true",
        help="of cuda: print what would be measured, and why; measures nothing and needs no GPU",
    )
    parser.add_argument("--target", default="cpu", help="cpu (default), cuda or cuda:sm_90a: what this machine has")
    parser.add_argument("--budget", default="5m", metavar="TIME", help="how long it may take: 90s, 5m (default), 1h")
    parser.add_argument("--keep", type=int, metavar="N", help="of cuda: candidates of a product that are measured (24)")
    parser.add_argument("--threads", type=int, help="of cpu: how many the code will run on (default: all cores)")
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    add_precision_argument(parser)
    add_schedules_argument(parser)
    parser.add_argument("--no-database", action="store_true", help="leave the tuning database as it is")


def main(args: argparse.Namespace) -> int:
    """Runs the command."""
    start = time.perf_counter()
    until = start + parse_budget(args.budget)
    check_arguments(args)
    if args.list_candidates:
        return _list(args)
    output: Path = args.output or Path(Path(args.model.replace(":", "-")).stem + ".schedules")
    if not output.parent.is_dir():
        raise LaminaError("no such directory", where=str(output.parent))
    tuned = tuned_for(args)
    known = tuned.database.read().merged(read_schedules(args) or Schedules())
    program = tuned.canonical(whole(with_shapes(read_program(args.model), parse_shapes(args.shape))))
    subjects = tuned.subjects(program, known)
    turns = subjects.turns()
    reserve = max(CHECK_SHARE * (until - start), time.perf_counter() - start)  # the end compiles what the start did
    search_until = until - reserve
    whole_run = spend(turns, search_until, time.perf_counter, _tell)
    if not whole_run:
        print("interrupted: comparing what was found so far with the default", file=sys.stderr)
    settle(turns, until - reserve / 2, time.perf_counter)
    kept, ratio = keep_the_best(turns, tuned.models(program), until, time.perf_counter)
    final = subjects.schedules(kept)
    gains = {turn.name: turn.search.gain for turn in kept}
    remarks = {name: f"{1 / gain.value:.2f}x the default" for name, gain in gains.items() if gain is not None}
    head = f"Tuned for {tuned.place} by lamina tune; {len(kept)} of {len(turns)} differ from the default."
    text = schedules_text(
        subjects.problems, final, args.model, tuned.machine, remarks=remarks, head=head, precision=args.precision
    )
    with written_whole(output) as file:
        file.write(text.encode())
    if not args.no_database:
        found = won(kept)
        tuned.database.update(found, {turn.name for turn in turns} - set(found.entries))
    print(f"{'share':>6}{'gain':>8}  contraction: schedule")
    for turn in kept:
        gain = turn.search.gain
        print(f"{turn.share:>6.1%}{1 / gain.value if gain else 1:>7.2f}x  {turn.name}: {turn.search.best}")
    speed = f"{1 / ratio:.3f} times as fast as" if kept else "the same as"
    print(f"{args.model}: {speed} the default; wrote {output} in {time.perf_counter() - start:.0f} s")
    for text in subjects.faults():
        print(f"lamina tune: warning: {text} (a defect of lamina)", file=sys.stderr)
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    """Raises LaminaError for what is not for the target, and for a target that has nothing to tune."""
    base, _, detail = args.target.partition(":")
    if base not in ("cpu", "cuda"):
        raise LaminaError(f"target '{args.target}' has no schedules that are measured", hint="cpu and cuda have")
    if base == "cpu" and detail:
        raise LaminaError(f"'{args.target}' is another machine", hint="tune on that machine, with --target cpu")
    if base == "cpu" and args.precision == "int8":
        raise LaminaError("contractions of --precision int8 are not tuned", hint="those of f32 and bf16 are")
    others = {"--list-candidates": args.list_candidates or None, "--keep": args.keep}
    for name, given in others.items() if base == "cpu" else [("--threads", args.threads)]:
        if given is not None:
            raise LaminaError(f"{name} is not for target {base}", hint="see lamina tune --help")
    if args.keep is not None and args.keep < 1:
        raise LaminaError(f"--keep {args.keep}", hint="at least 1")


def tuned_for(args: argparse.Namespace) -> Tuned:
    """The target as this machine has it. Raises LaminaError where it has no such target."""
    base, _, detail = args.target.partition(":")
    if base == "cpu":
        from .cpu.subjects import CpuTuned

        return CpuTuned(args.threads, args.precision)
    from .cuda.subjects import KEEP, CudaTuned

    return CudaTuned(detail, args.precision, args.keep or KEEP)


def _list(args: argparse.Namespace) -> int:
    from .cuda.listing import listing
    from .cuda.subjects import KEEP

    program = whole(with_shapes(read_program(args.model), parse_shapes(args.shape)))
    detail = args.target.partition(":")[2]
    for line in listing(program, detail, args.precision, args.keep or KEEP, read_schedules(args) or Schedules()):
        print(line)
    return 0


def _tell(turn: Turn) -> None:
    search = turn.search
    found = "the default stays" if search.best == search.default else str(search.best)
    print(f"{turn.share:>6.1%}  {turn.name}: {len(search.tried) - 1} tried, {found}", file=sys.stderr)
