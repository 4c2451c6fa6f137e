"""Compile time: cold (an empty cache), warm (the same again), and against depth, each in a fresh process.

Seconds are those until a model can run; importing the system is told apart (`process` is all together). Peers keep no
code on disk: theirs are always cold. Depth is a number of equal layers with weights of their own, which compile once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...compiler.diagnostics import LaminaError
from ..run import parse_shapes
from ..summary import profile_compilation
from . import models
from .cases import Case, Graph, Workload, normal
from .peers import ASKED, OURS, PEERS, Settings, Unsupported, chosen
from .worker import Failed, Prepared, Worker, cores, new_cache

TOKENS, WIDTH = 64, 256  # of the layers whose number grows


@dataclass
class CompileRow:
    """One model: seconds and MB of ours, cold and warm, and seconds of the peers."""

    model: str
    cold_s: float = 0.0
    cold_process_s: float = 0.0
    warm_s: float = 0.0
    warm_process_s: float = 0.0
    memory_mb: float = 0.0
    peers_s: dict[str, float] = field(default_factory=dict[str, float])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("models", nargs="*", help="ONNX files or onnx:NAME (default: onnx:resnet50)")
    parser.add_argument("--depths", default="", metavar="N,N", help="also stacks of so many layers, as 2,8,32")
    parser.add_argument("--peers", default="", help=f"{ASKED} (default: none)")
    parser.add_argument("--threads", type=int, default=0, help="threads and cores of every system (default: all)")
    parser.add_argument("--no-profile", dest="profile", action="store_false", help="no times by pass and by kernel")
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")


def main(args: argparse.Namespace) -> int:
    """Prints a row per model, and how the time grows from the least depth to the greatest."""
    try:
        depths = sorted(int(part) for part in args.depths.split(",") if part)
    except ValueError:
        raise LaminaError(f"'{args.depths}' are no depths", hint="--depths 2,8,32") from None
    peers = chosen(args.peers)
    threads = args.threads or len(os.sched_getaffinity(0))
    cores(threads)
    shapes = parse_shapes(args.shape)
    names = args.models or [] if depths else args.models or ["onnx:resnet50"]
    cases = [models.case(name, shapes) for name in names]
    rows: list[CompileRow] = []
    heads = f"{'cold s':>9}{'process':>9}{'warm s':>9}{'process':>9}{'MB':>9}"
    print(f"{'model':<32}{heads}" + "".join(f"{name + ' s':>{len(name) + 4}}" for name in peers))
    with tempfile.TemporaryDirectory() as folder:
        stacks = [Case(f"stack of {depth}", "depth", partial(stack, depth, Path(folder))) for depth in depths]
        for case in (*cases, *stacks):
            rows.append(measure(case, peers, threads))
            print_row(rows[-1], peers)
    if len(depths) > 1:
        least, greatest = rows[len(cases)], rows[-1]
        print(f"{depths[-1] / depths[0]:.0f} times the layers cost {greatest.cold_s / least.cold_s:.2f} times the time")
    for name in names if args.profile else ():
        profile_compilation(name)
    if args.json:
        try:
            args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
        except OSError as error:
            raise LaminaError(f"cannot write: {error.strerror}", where=str(args.json)) from error
    return 0


def print_row(row: CompileRow, peers: Sequence[str]) -> None:
    """One line."""
    seconds = (row.cold_s, row.cold_process_s, row.warm_s, row.warm_process_s)
    ours = "".join(f"{each:>9.2f}" for each in seconds) + f"{row.memory_mb:>9.0f}"
    theirs = "".join(f"{_seconds(row.peers_s.get(name)):>{len(name) + 4}}" for name in peers)
    print(f"{row.model:<32}{ours}{theirs}", flush=True)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def measure(case: Case, peers: Sequence[str], threads: int) -> CompileRow:
    """One model on ours, twice with the same new cache, and on the peers. Raises LaminaError when ours fails."""
    row = CompileRow(case.name)
    with new_cache():
        try:
            cold, row.cold_process_s = prepared(OURS, case, threads)
            warm, row.warm_process_s = prepared(OURS, case, threads)
        except Failed as failure:
            raise LaminaError(str(failure), where=f"{OURS} on {case.name}") from None
    row.cold_s, row.warm_s, row.memory_mb = cold.compile_s, warm.compile_s, cold.memory_mb
    for name in peers:
        try:
            row.peers_s[name] = prepared(name, case, threads)[0].compile_s
        except Unsupported:
            continue
        except Failed as failure:
            print(f"{name} on {case.name}: {str(failure).splitlines()[0][:200]}", file=sys.stderr)
    return row


def prepared(system: str, case: Case, threads: int) -> tuple[Prepared, float]:
    """A case made ready by a system in a process of its own, and the seconds of that process."""
    worker = Worker(system, PEERS[system], Settings(threads, cache=True))
    start = time.perf_counter()
    try:
        return worker.ask("prepare", case), time.perf_counter() - start
    finally:
        worker.stop()


def stack(depth: int, folder: Path) -> Workload:
    """So many layers x + W₂ relu(W₁ norm(x)), all of one shape, none with another's weights.

    The model is a file in `folder`, the same each time: a warm start knows it by its path.
    """
    graph = Graph({"a": normal(0, TOKENS, WIDTH)})
    value = "a"
    for layer in range(depth):
        scale, shift = graph.constant(normal(3 * layer, WIDTH)), graph.constant(normal(3 * layer + 1, WIDTH))
        x = graph.node("LayerNormalization", value, scale, shift, axis=-1)
        for size in ((WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)):
            weight = graph.constant(normal(3 * layer + 2, *size) / np.float32(size[0] ** 0.5))
            x = graph.node("MatMul", x, weight)
            x = graph.node("Relu", x) if size[1] > WIDTH else x
        value = graph.node("Add", value, x)
    made = graph.workload(value, np.float32, (TOKENS, WIDTH))
    path = folder / f"stack_{depth}.onnx"
    if not path.exists():
        path.write_bytes(made.model.SerializeToString())
    return replace(made, model=path)
