"""Whole models against ONNX Runtime: same file, same inputs, same threads, alternating rounds.

Each system runs in a process of its own, so that neither's idle threads spin on the other's cores; rounds alternate,
so that both see the same minutes of a machine whose speed drifts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import statistics
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from .. import light_models
from ..compare import compare
from ..inputs import complete, read_named
from ..run import parse_shapes
from ..sources import read_program, resolve, with_shapes

SYSTEMS = ("lamina", "onnxruntime")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("models", nargs="*", help="ONNX files or onnx:NAME (default: every light model)")
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
    """Prints one row per model and thread count; 1 when an output differs."""
    names = args.models or [light_models.SCHEME + name for name in light_models.NAMES]
    rows: list[dict[str, Any]] = []
    print(
        f"{'model':<28}{'threads':>8}{'lamina ms':>12}{'ort ms':>10}{'ratio':>8}"
        f"{'spread':>9}{'error':>10}{'compile s':>11}"
    )
    for name in names:
        for threads in (int(t) for t in args.threads.split(",")):
            row = measure(name, threads, args)
            rows.append(row)
            print(
                f"{row['model']:<28}{threads:>8}{row['lamina_ms']:>12.2f}{row['onnxruntime_ms']:>10.2f}"
                f"{row['ratio']:>8.2f}{row['spread']:>9.2f}{row['error']:>10.1e}{row['compile_s']:>11.2f}",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    ratios = [row["ratio"] for row in rows]
    print(f"geometric mean of the ratios {statistics.geometric_mean(ratios):.2f}, worst {max(ratios):.2f}")
    return 0 if all(row["error"] <= 1e-3 for row in rows) else 1


def measure(name: str, threads: int, args: argparse.Namespace) -> dict[str, Any]:
    """Both systems on one model: medians in ms, the median of the rounds' ratios, the largest error."""
    context = mp.get_context("spawn")
    pipes: dict[str, Connection] = {}
    compile_s = 0.0
    workers: list[Any] = []
    shapes = parse_shapes(args.shape)
    for system in SYSTEMS:
        ours, theirs = context.Pipe()
        worker = context.Process(
            target=serve, args=(theirs, system, name, threads, shapes, args.inputs, args.random_weights), daemon=True
        )
        worker.start()
        pipes[system] = ours
        workers.append(worker)
        if isinstance(ready := ours.recv(), str):
            raise LaminaError(ready, where=f"{system} on {name}")
        if system == "lamina":
            compile_s = ready
    outputs = {system: ask(pipes[system], 0)[1] for system in SYSTEMS}
    times: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    for _ in range(args.rounds):
        for system in SYSTEMS:
            times[system].append(ask(pipes[system], 1)[0])
    for system in SYSTEMS:
        pipes[system].send(None)
    for worker in workers:
        worker.join()
    ratios = [a / b for a, b in zip(times["lamina"], times["onnxruntime"], strict=True)]
    error = max(compare("", a, b).error for a, b in zip(outputs["lamina"], outputs["onnxruntime"], strict=True))
    return {
        "model": Path(name).stem if not name.startswith(light_models.SCHEME) else name,
        "threads": threads,
        "lamina_ms": statistics.median(times["lamina"]) * 1e3,
        "onnxruntime_ms": statistics.median(times["onnxruntime"]) * 1e3,
        "ratio": statistics.median(ratios),
        "spread": max(ratios) - min(ratios),
        "error": error,
        "compile_s": compile_s,
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
) -> None:
    """The worker: prepares the model, then answers requests until told to stop."""
    try:
        start = time.perf_counter()
        short = name.removeprefix(light_models.SCHEME)
        source: Any = light_models.randomized(short) if random_weights and short != name else resolve(name)
        program = with_shapes(read_program(source), shapes)
        beside = Path(name).with_name(Path(name).name.partition(".")[0] + ".npz")
        file = inputs_file or (beside if beside.is_file() else None)
        given = read_named([str(file)]) if file else {}
        inputs = complete(program.signature, given, 0)
        start = time.perf_counter()
        prepare = lamina_call if system == "lamina" else ort_call
        call = prepare(source, threads, program, inputs)
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
        print(f"{system}: {type(error).__name__}: {error}", file=sys.stderr)
        pipe.send(f"{type(error).__name__}: {error}")


def lamina_call(source: Any, threads: int, program: Any, inputs: list[Any]) -> Any:
    """Ours, compiled without the model cache so that the compile time is the cold one where kernels are new."""
    from ..api import compile as compile_model

    model = compile_model(program, threads=threads, cache=os.environ.get("LAMINA_BENCH_CACHE", "1") == "1")
    return lambda: model(*inputs)


def ort_call(source: Any, threads: int, program: Any, inputs: list[Any]) -> Any:
    """ONNX Runtime's CPU provider, all graph optimisations on."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    model = os.fspath(source) if isinstance(source, Path) else source.SerializeToString()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {spec.name: array for spec, array in zip(program.signature.inputs, inputs, strict=True)}
    return lambda: session.run(None, feed)
