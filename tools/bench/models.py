"""Whole models against the peers: same file, same inputs, same threads on the same cores, alternating rounds.

Each system runs in a process of its own, so that nobody's idle threads spin on another's cores; rounds alternate, so
that all see the same minutes of a machine whose speed drifts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from .. import light_models
from ..compare import compare
from ..inputs import complete, read_named
from ..run import parse_shapes
from ..sources import read_program, resolve, whole, with_shapes
from .peers import PEERS, Task, chosen

PATIENCE = 600  # seconds a peer may take to prepare a model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("models", nargs="*", help="ONNX files or onnx:NAME (default: every light model)")
    parser.add_argument(
        "--peers", default="onnxruntime", help=f"comma separated, or all that are installed: {', '.join(PEERS)}"
    )
    parser.add_argument("--threads", default="1,2", help="thread counts, comma separated (default 1,2)")
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds (default 7)")
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    parser.add_argument(
        "--inputs", type=Path, help="an .npz with the inputs (default: <model>.npz beside it, or random)"
    )
    parser.add_argument(
        "--random-weights", action="store_true", help="light models: random weights instead of constants"
    )
    parser.add_argument("--json", type=Path, help="write the rows as JSON")


def main(args: argparse.Namespace) -> int:
    """Prints one row per model and thread count; 1 when an output of ours differs from a peer's."""
    names = args.models or [light_models.SCHEME + name for name in light_models.NAMES]
    peers = chosen(args.peers)
    rows: list[dict[str, Any]] = []
    print(
        f"{'model':<28}{'threads':>8}{'lamina ms':>11}"
        + "".join(f"{name + ' ms':>{len(name) + 5}}" for name in peers)
        + f"{'ratio':>8}{'spread':>9}{'error':>10}{'compile s':>11}"
    )
    for name in names:
        for threads in (int(t) for t in args.threads.split(",")):
            row = measure(name, threads, peers, args)
            rows.append(row)
            cells = "".join(f"{_cell(row['ms'].get(peer)):>{len(peer) + 5}}" for peer in peers)
            print(
                f"{row['model']:<28}{threads:>8}{row['ms']['lamina']:>11.2f}{cells}"
                f"{row['ratio']:>8.2f}{row['spread']:>9.2f}{row['error']:>10.1e}{row['compile_s']:>11.2f}",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    ratios = [row["ratio"] for row in rows if row["best"]]
    if ratios:
        print(
            f"time against the best peer of each row: geometric mean {statistics.geometric_mean(ratios):.2f}, "
            f"worst {max(ratios):.2f}"
        )
    return 0 if all(row["error"] <= 1e-3 for row in rows) else 1


def _cell(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.2f}"


@dataclass
class Worker:
    """A process that holds one system with the model ready. `failure` says why it does not."""

    system: str
    pipe: Connection
    process: Any
    compile_s: float = 0.0
    failure: str = ""


def start(system: str, name: str, threads: int, scratch: str, args: argparse.Namespace) -> Worker:
    """Starts a worker and waits until its model is ready."""
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=serve,
        args=(theirs, system, name, threads, parse_shapes(args.shape), args.inputs, args.random_weights, scratch),
        daemon=True,
    )
    process.start()
    worker = Worker(system, ours, process)
    ready: Any = f"not ready after {PATIENCE} s"
    with suppress(EOFError):
        ready = ours.recv() if ours.poll(PATIENCE) else ready
    if isinstance(ready, str):
        worker.failure = ready if process.is_alive() or ready[:3] != "not" else "its process died"
    else:
        worker.compile_s = ready
    return worker


def measure(name: str, threads: int, peers: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
    """All systems on one model: medians in ms, the rounds' ratios to the best peer, the largest error of ours.

    A peer that fails on the model is said on stderr and left out. Raises LaminaError when ours fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        workers = [start(system, name, threads, scratch, args) for system in ("lamina", *peers)]
        try:
            if workers[0].failure:
                raise LaminaError(workers[0].failure, where=f"lamina on {name}")
            for worker in workers:
                if worker.failure:
                    print(f"{worker.system} on {name}: {worker.failure.splitlines()[0][:200]}", file=sys.stderr)
            running = [worker for worker in workers if not worker.failure]
            outputs = {w.system: ask(w.pipe, 0)[1] for w in running}
            ours = outputs["lamina"]
            times: dict[str, list[float]] = {w.system: [] for w in running}
            for _ in range(args.rounds):
                for worker in running:
                    times[worker.system].append(ask(worker.pipe, 1)[0])
            for worker in running:
                worker.pipe.send(None)
        finally:
            for worker in workers:
                worker.process.join(1)
                worker.process.kill()
    ms = {system: statistics.median(values) * 1e3 for system, values in times.items()}
    best = min((system for system in ms if system != "lamina"), key=lambda system: ms[system], default="")
    ratios = [a / b for a, b in zip(times["lamina"], times[best], strict=True)] if best else [0.0]
    errors = [
        max(compare("", a, b.astype(a.dtype).reshape(a.shape)).error for a, b in zip(ours, theirs, strict=True))
        for system, theirs in outputs.items()
        if system != "lamina"
    ]
    return {
        "model": Path(name).stem if not name.startswith(light_models.SCHEME) else name,
        "threads": threads,
        "ms": ms,
        "best": best,
        "ratio": statistics.median(ratios),
        "spread": max(ratios) - min(ratios),
        "error": max(errors, default=0.0),
        "compile_s": workers[0].compile_s,
    }


def ask(pipe: Connection, rounds: int) -> Any:
    """One request to a worker: 0 for the outputs, 1 for the median time of a batch of runs."""
    pipe.send(rounds)
    answer = pipe.recv()
    if isinstance(answer, str):
        raise LaminaError(answer)
    return answer


def serve(
    pipe: Connection,
    system: str,
    name: str,
    threads: int,
    shapes: dict[str, int],
    inputs_file: Path | None,
    random_weights: bool,
    scratch: str,
) -> None:
    """The worker: prepares the model, then answers requests until told to stop."""
    try:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        os.environ["TVM_NUM_THREADS"] = str(threads)
        short = name.removeprefix(light_models.SCHEME)
        folder = Path(tempfile.mkdtemp(dir=scratch))
        if random_weights and short != name:
            file = folder / "model.onnx"
            file.write_bytes(light_models.randomized(short).SerializeToString())
        else:
            file = resolve(name)
        program = whole(with_shapes(read_program(file), shapes))
        beside = Path(name).with_name(Path(name).name.partition(".")[0] + ".npz")
        values = inputs_file or (beside if beside.is_file() else None)
        given = read_named([str(values)]) if values else {}
        arrays = complete(program.signature, given, 0)
        inputs = {spec.name: array for spec, array in zip(program.signature.inputs, arrays, strict=True)}
        task = Task(file, program, inputs, threads, folder)
        start = time.perf_counter()
        call = PEERS[system].prepare(task)
        pipe.send(time.perf_counter() - start)
        while (request := pipe.recv()) is not None:
            if request == 0:
                pipe.send((0.0, call()))
                continue
            samples: list[float] = []
            until = time.perf_counter() + 0.4
            while time.perf_counter() < until or len(samples) < 3:
                begin = time.perf_counter()
                call()
                samples.append(time.perf_counter() - begin)
            pipe.send((statistics.median(samples[len(samples) // 5 :]), None))
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
