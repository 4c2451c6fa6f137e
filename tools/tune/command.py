"""`lamina tune`: searches better schedules for the contractions of a model by measuring them on this machine.

Writes a lock-file, which `--schedules` replays to the same code, and the tuning database, which compiling consults.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from ...backends import Options, check_threads
from ...backends.cpu.target import CpuTarget
from ...backends.cpu.tuning_database import TuningDatabase
from ...compiler.artefact import written_whole
from ...compiler.diagnostics import LaminaError
from ..run import parse_shapes
from ..schedules import add_schedules_argument, read_schedules, schedules_text
from ..sources import read_program, whole, with_shapes
from .models import ModelBench, keep_the_best
from .rounds import CHECK_SHARE, Turn, parse_budget, settle, spend
from .subjects import Subjects


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", help="a .onnx or .mlir file, program.lam::function, or onnx:NAME")
    parser.add_argument("-o", "--output", type=Path, help="the lock-file (default: the model's name.schedules)")
    parser.add_argument("--budget", default="5m", metavar="TIME", help="how long it may take: 90s, 5m (default), 1h")
    parser.add_argument("--threads", type=int, help="how many threads the code will run on (default: all cores)")
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    add_schedules_argument(parser)
    parser.add_argument("--no-database", action="store_true", help="leave the tuning database as it is")


def main(args: argparse.Namespace) -> int:
    """Runs the command."""
    check_threads(args.threads)
    start = time.perf_counter()
    until = start + parse_budget(args.budget)
    output: Path = args.output or Path(Path(args.model.replace(":", "-")).stem + ".schedules")
    if not output.parent.is_dir():
        raise LaminaError("no such directory", where=str(output.parent))
    target = CpuTarget()
    threads = args.threads or target.machine.cores
    database = TuningDatabase(target.machine, threads)
    known = database.read().merged(read_schedules(args) or database.read())
    program = whole(with_shapes(read_program(args.model), parse_shapes(args.shape)))
    subjects = Subjects(program, target, threads, known)
    turns = subjects.turns()
    reserve = max(CHECK_SHARE * (until - start), time.perf_counter() - start)  # the end compiles what the start did
    search_until = until - reserve
    whole_run = spend(turns, search_until, time.perf_counter, _tell)
    if not whole_run:
        print("interrupted: comparing what was found so far with the default", file=sys.stderr)
    settle(turns, until - reserve / 2, time.perf_counter)
    kept, ratio = keep_the_best(
        turns, ModelBench(subjects.hub, target, Options(threads=threads)), until, time.perf_counter
    )
    final = subjects.schedules(kept)
    gains = {turn.name: turn.search.gain for turn in kept}
    remarks = {name: f"{1 / gain.value:.2f}x the default" for name, gain in gains.items() if gain is not None}
    head = f"Tuned for {threads} threads by lamina tune; {len(kept)} of {len(turns)} differ from the default."
    text = schedules_text(subjects.problems, final, args.model, target.machine, remarks=remarks, head=head)
    with written_whole(output) as file:
        file.write(text.encode())
    if not args.no_database:
        won = subjects.won(kept)
        database.update(won, {turn.name for turn in turns} - set(won.entries))
    print(f"{'share':>6}{'gain':>8}  contraction: schedule")
    for turn in kept:
        gain = turn.search.gain
        print(f"{turn.share:>6.1%}{1 / gain.value if gain else 1:>7.2f}x  {turn.name}: {turn.search.best}")
    speed = f"{1 / ratio:.3f} times as fast as" if kept else "the same as"
    print(f"{args.model}: {speed} the default; wrote {output} in {time.perf_counter() - start:.0f} s")
    for text in subjects.faults():
        print(f"lamina tune: warning: {text} (a defect of lamina)", file=sys.stderr)
    return 0


def _tell(turn: Turn) -> None:
    search = turn.search
    found = "the default stays" if search.best == search.default else str(search.best)
    print(f"{turn.share:>6.1%}  {turn.name}: {len(search.tried) - 1} tried, {found}", file=sys.stderr)
