"""Where the time of a model goes: each distinct kernel alone, times how often it is called, with its origin."""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...backends import Options
from ...backends.cpu.jit import link, pool
from ...backends.cpu.memory import aligned_bytes
from ...backends.cpu.target import CpuTarget
from ...compiler.dtypes import dtype_of
from ...dialects.linalg_ext import AttentionOp, MatmulNBitsOp
from ...dialects.linalg_ext.matmul_nbits import shape_of
from ..precision import add_precision_argument
from ..run import parse_shapes
from ..sources import read_program, whole, with_shapes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("model", help="an ONNX file or onnx:NAME")
    parser.add_argument("--threads", type=int, default=1, help="how many threads (default 1)")
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    parser.add_argument("--rows", type=int, default=25, help="how many kernels to show (default 25)")
    add_precision_argument(parser)


def main(args: argparse.Namespace) -> int:
    """Prints the kernels by their share of the time."""
    target = CpuTarget()
    program = whole(with_shapes(read_program(args.model), parse_shapes(args.shape)))
    options = Options(threads=args.threads, precision=args.precision)
    lowered = target.buffers(program, options)
    built = target.build(lowered, options)
    functions = {op.sym_name.data: op for op in lowered.module.ops if isinstance(op, FuncOp)}
    threads = pool(args.threads, target.machine)
    library: Any = link([*built.objects, threads.object], [kernel.symbol for kernel in built.kernels])
    rows: list[tuple[float, float, Any]] = []
    clock = time.thread_time if args.threads == 1 else time.perf_counter  # a busy machine does not count
    for kernel in built.kernels:
        function = functions[kernel.name]
        arrays = [_argument(type_) for type_ in function.function_type.inputs]
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 1))(library[kernel.symbol])
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        seconds = _time(lambda c=call, p=pointers: c(*p, threads.context), clock)
        rows.append((seconds * kernel.calls, seconds, kernel))
    total = sum(row[0] for row in rows)
    print(f"{'kernel':<12}{'kind':<13}{'calls':>6}{'us':>11}{'share':>8}{'GFLOP/s':>9}{'GB/s':>7}  from")
    for all_calls, seconds, kernel in sorted(rows, key=lambda row: -row[0])[: args.rows]:
        function = functions[kernel.name]
        gflops = operations(function, lowered.module) / seconds / 1e9
        moved = sum(_nbytes(type_) for type_ in function.function_type.inputs) / seconds / 1e9
        origin = kernel.origins[0] if kernel.origins else ""
        print(
            f"{kernel.name:<12}{kernel.kind:<13}{kernel.calls:>6}{seconds * 1e6:>11.1f}{all_calls / total:>8.1%}"
            f"{gflops:>9.1f}{moved:>7.1f}  {origin[:60]}"
        )
    print(f"{len(rows)} kernels, {sum(k.calls for k in built.kernels)} calls, {total * 1e3:.2f} ms in all")
    return 0


def operations(function: FuncOp, module: ModuleOp) -> int:
    """Multiplications and additions of the contractions in a kernel of the buffers level."""
    count = 0
    for op in function.walk():
        if isinstance(op, AttentionOp):
            *batch, queries, depth, keys, columns = op.ranges()
            count += 2 * prod(batch) * queries * keys * (depth + columns)
            continue
        if isinstance(op, MatmulNBitsOp):
            blocks, rows, block = shape_of(op.lhs)
            count += 2 * rows * shape_of(op.output)[1] * blocks * block
            continue
        kinds: Any = op.properties.get("iterator_types")
        if op.name != "linalg.generic" or kinds is None or "reduction" not in str(kinds):
            continue
        if not any(inner.name in ("arith.mulf", "arith.muli") for inner in op.walk()):
            continue
        count += 2 * prod(op.get_static_loop_ranges())  # pyright: ignore
    return count


def _argument(type_: Any) -> np.ndarray[Any, Any]:
    dtype = dtype_of(type_)
    array = aligned_bytes(_nbytes(type_)).view(dtype).reshape(type_.get_shape())
    rng = np.random.default_rng(0)
    array[...] = rng.standard_normal(array.shape).astype(dtype) if dtype.kind == "f" else 0
    return array


def _nbytes(type_: Any) -> int:
    return prod(type_.get_shape()) * dtype_of(type_).itemsize


def _time(call: Callable[[], None], clock: Callable[[], float]) -> float:
    call()
    samples: list[float] = []
    until = time.perf_counter() + 0.05
    while time.perf_counter() < until or len(samples) < 3:
        begin = clock()
        for _ in range(5):
            call()
        samples.append((clock() - begin) / 5)
    return statistics.median(samples)
