"""Cases on systems: same inputs, threads and cores, a process per system, rounds that alternate between them.

All systems see the same minutes of a machine whose speed drifts, and what the machine can do at all (multiply-adds,
bytes) is measured in the same rounds by a process of its own.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array
from ..compare import compare
from ..precision import add_precision_argument
from .cases import COMPUTE, Case
from .peers import ASKED, OURS, PEERS, Settings, Unsupported, chosen
from .plot import write_plot
from .report import Row, print_closing, print_head, print_row, write_json
from .worker import CEILINGS, Failed, Prepared, Worker, cores, new_cache

ROUND_S = 0.05  # what a system's turn takes, if a run is shorter than that
PEER = "onnxruntime"  # unless told otherwise
CASE_S = 12.0  # what the rounds of a case may take; slow cases get fewer rounds, at least LEAST_ROUNDS
LEAST_ROUNDS = 3
ROUNDED = 2e-2  # the error that operands of 8 significant bits may make (docs/precision.md)


def add_arguments(parser: argparse.ArgumentParser, threads: str = "1", rounds: int = 5) -> None:
    """The arguments that all groups have."""
    parser.add_argument("--peers", default=PEER, help=f"{ASKED} (default {PEER})")
    parser.add_argument("--threads", default=threads, help=f"thread counts, comma separated (default {threads})")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"alternating rounds (default {rounds})")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="cases whose family/name contains this, as softmax/ or mm_1024"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the speeds against the best peer")
    parser.add_argument(
        "--cache", action="store_true", help="let ours take compiled code from its on-disk cache (default: all cold)"
    )
    add_precision_argument(parser)
    parser.add_argument(
        "--cpu-time", action="store_true", help="1 thread: time of the processor, for a machine that others use as well"
    )


def run_group(group: str, cases: Sequence[Case], args: argparse.Namespace, *, fresh: bool = False) -> int:
    """Measures a group: a row per case and thread count, then the rows worst first and the means.

    `fresh` gives each case processes of its own. 1 when an output of ours is wrong or ours fails.
    Raises LaminaError for arguments that make no sense.
    """
    asked = [case for case in cases if args.only in f"{case.family}/{case.name}"]
    if not asked:
        raise LaminaError(f"no case has '{args.only}' in its family/name", where=f"bench {group}")
    if args.rounds < 1:
        raise LaminaError(f"{args.rounds} rounds are too few", hint="--rounds 5")
    systems = [OURS, *chosen(args.peers)]
    counts = _thread_counts(args.threads)
    for count in counts:
        cores(count)
    if args.cpu_time and counts != [1]:
        raise LaminaError("--cpu-time is for one thread", hint="--threads 1")
    common = Settings(1, args.cache, args.precision, "cpu" if args.cpu_time else "wall")
    rows: list[Row] = []
    print_head(systems)
    for count in counts:
        for row in measure_all(group, asked, systems, replace(common, threads=count), args.rounds, fresh):
            rows.append(row)
            print_row(row, systems)
            if args.json:  # after each row: a run that is cut short leaves what it has
                write_json(args.json, group, rows, systems)
    print_closing(rows, systems)
    if args.plot:
        write_plot(args.plot, f"{group}: speed of Lamina against the best peer", [(r.label, r.speed) for r in rows])
    return 1 if any(row.bad for row in rows) else 0


def _thread_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise LaminaError(f"'{text}' are no thread counts", hint="--threads 1,2") from None


def measure_all(
    group: str, cases: Iterable[Case], systems: Sequence[str], settings: Settings, rounds: int, fresh: bool = False
) -> Iterable[Row]:
    """A row per case at one thread count.

    Where processes are fresh, what is measured of ours has found its code in a cache, as a model in use has; a process
    before it has compiled it, which tells the time and the memory of that.
    """
    with ExitStack() as stack:
        cached = replace(settings, cache=settings.cache or fresh)
        workers = [Worker(system, PEERS[system], cached) for system in systems]
        ceilings = Worker(CEILINGS, None, settings)
        for worker in (*workers, ceilings):
            stack.callback(worker.stop)
            if not fresh:
                worker.start()
        for case in cases:
            with nullcontext() if not fresh or settings.cache else new_cache():
                yield measure(group, case, workers, ceilings, settings, rounds, fresh)
            for worker in workers if fresh else ():
                worker.stop()


def _prepare(worker: Worker, case: Case, fresh: bool) -> Prepared:
    prepared = worker.ask("prepare", case)
    if not fresh or worker.system != OURS:
        return prepared
    worker.stop()
    return replace(worker.ask("prepare", case), compile_s=prepared.compile_s, memory_mb=prepared.memory_mb)


def measure(
    group: str,
    case: Case,
    workers: Sequence[Worker],
    ceilings: Worker,
    settings: Settings,
    rounds: int,
    fresh: bool = False,
) -> Row:
    """One case on all systems. A peer that fails is said on stderr and left out."""
    row = Row(group, case.name, case.family, settings.threads, case.bound)
    prepared: dict[str, Prepared] = {}
    outputs: dict[str, list[Array]] = {}
    for worker in workers:
        try:
            prepared[worker.system] = _prepare(worker, case, fresh)
            outputs[worker.system] = worker.ask("outputs")
        except Unsupported:
            continue
        except Failed as failure:
            prepared.pop(worker.system, None)
            _say(row, worker.system, str(failure))
    rounds_operands = settings.precision == "bf16"
    limit = max(case.limit, ROUNDED) if rounds_operands else case.limit
    judge(row, outputs, limit, of_largest=rounds_operands or case.of_largest)
    running = [worker for worker in workers if worker.system in prepared and worker.system not in row.failures]
    if OURS in prepared:
        times, tops = _rounds(row, case, prepared, running, ceilings, rounds)
        fill(row, case, prepared, times, tops)
    for worker in running:
        worker.ask("drop")
    return row


def _say(row: Row, system: str, why: str) -> None:
    row.failures[system] = why.strip().splitlines()[0][:200] if why.strip() else "no reason given"
    print(f"{system} on {row.case}: {row.failures[system]}", file=sys.stderr)


def judge(row: Row, outputs: dict[str, list[Array]], limit: float, of_largest: bool = False) -> None:
    """Ours must agree with a peer; a peer that ours does not agree with, while it does with another, is left out."""
    ours = outputs.pop(OURS, None)
    if ours is None or not outputs:
        return
    errors = {system: disagreement(ours, theirs, of_largest) for system, theirs in outputs.items()}
    row.error = min(errors.values())
    row.wrong = not row.error <= limit
    for system, error in errors.items():
        if not row.wrong and not error <= limit:
            _say(row, system, f"its result is off by {error:.1e}")


def disagreement(ours: Sequence[Array], theirs: Sequence[Array], of_largest: bool = False) -> float:
    """The largest error of any output: of floats as `compare` takes it, of integers the largest difference.

    Or of floats relative to the largest of an output, as rounded operands make it (docs/precision.md): what they add to
    a sum does not shrink where the sum happens to be small.
    """
    if len(ours) != len(theirs):
        return math.inf
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.size != b.size:
            return math.inf
        b = b.astype(a.dtype).reshape(a.shape)  # peers change bool and 64-bit integers, and drop axes of one
        if a.dtype.kind in "biu":
            error = float(np.abs(a.astype(np.int64) - b.astype(np.int64)).max(initial=0))
        else:
            found = compare("", a, b)
            error = math.inf if found.mismatch else _of_largest(a, b) if of_largest else found.error
        worst = max(worst, error)
    return worst


def _of_largest(a: Array, b: Array) -> float:
    """The largest difference over the largest value; both are finite in the same places."""
    finite = np.isfinite(b.astype(np.float64))
    x, y = (side.astype(np.float64)[finite] for side in (a, b))
    off, largest = np.abs(x - y).max(initial=0), np.abs(y).max(initial=0)
    return float(off / largest) if largest else math.inf if off else 0.0


def _rounds(
    row: Row,
    case: Case,
    prepared: dict[str, Prepared],
    running: Sequence[Worker],
    ceilings: Worker,
    rounds: int,
) -> tuple[dict[str, list[float]], list[float]]:
    """Seconds of each system in each round, and the ceiling in each round."""
    times: dict[str, list[float]] = {worker.system: [] for worker in running}
    tops: list[float] = []
    expected = sum(max(ROUND_S, prepared[worker.system].run_s) for worker in running)
    count = min(rounds, max(LEAST_ROUNDS, int(CASE_S / expected)))
    everybody = (*running, ceilings)
    for _ in range(count):
        for worker in running:
            if worker.system in times:
                try:
                    with worker.alone(everybody):
                        times[worker.system].append(worker.ask("time", ROUND_S))
                except Failed as failure:
                    del times[worker.system]
                    _say(row, worker.system, str(failure))
        with ceilings.alone(everybody):
            tops.append(ceilings.ask("ceiling", case.bound, prepared[OURS].moved))
    return times, tops


def fill(
    row: Row, case: Case, prepared: dict[str, Prepared], times: dict[str, list[float]], tops: Sequence[float]
) -> None:
    """What follows from the times."""
    row.ms = {system: statistics.median(values) * 1e3 for system, values in times.items()}
    row.compile_s = {system: prepared[system].compile_s for system in times}
    row.memory_mb = {system: prepared[system].memory_mb for system in times}
    row.running_mb = {system: prepared[system].running_mb for system in times}
    row.ceiling = statistics.median(tops)
    if OURS not in times:
        return
    work: int = case.operations if case.bound in COMPUTE else prepared[OURS].moved
    row.rate = work / row.ms[OURS] / 1e6
    row.share = statistics.median(work / ours / top / 1e9 for ours, top in zip(times[OURS], tops, strict=True))
    peers: list[Any] = [system for system in times if system != OURS]
    if peers:
        row.best = min(peers, key=lambda system: row.ms[system])
        ratios = [theirs / ours for ours, theirs in zip(times[OURS], times[row.best], strict=True)]
        row.speed, row.spread = statistics.median(ratios), max(ratios) - min(ratios)
