"""Matrix products and convolutions: GFLOP/s, the share of the FMA peak measured beside them, and the peers.

Each case is one ONNX node, run by Lamina, ONNX Runtime and (products) NumPy in alternating rounds; a round takes the
best of a few runs, a case the best round, so that a busy machine costs all of them alike. Convolutions are NCHW as
in ONNX: the changes of layout at both ends, which a whole model does once, are part of their time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .peak import Peak

Array = np.ndarray[Any, Any]
PRODUCTS = [(1024, 1024, 1024), (512, 512, 512), (128, 768, 768), (128, 3072, 768), (128, 768, 3072), (1, 4096, 4096)]
# input channels, height and width, output channels, kernel, stride: the layers of ResNet-50
CONVOLUTIONS = [
    (3, 224, 64, 7, 2),
    (64, 56, 64, 1, 1),
    (64, 56, 64, 3, 1),
    (64, 56, 256, 1, 1),
    (256, 56, 128, 1, 1),
    (128, 28, 128, 3, 1),
    (128, 28, 512, 1, 1),
    (256, 14, 256, 3, 1),
    (256, 14, 1024, 1, 1),
    (512, 7, 512, 3, 1),
    (512, 7, 2048, 1, 1),
]


@dataclass
class Case:
    """One node: its model, inputs, multiply-adds, and what NumPy would do (None: not compared)."""

    name: str
    model: Any
    inputs: dict[str, Array]
    multiply_adds: int
    numpy: Callable[[], Array] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("--threads", type=int, default=1, help="threads of every system (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (default 5)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--at-least", type=float, default=0.0, help="exit 1 if mm_1024 is below this share of peak")


def main(args: argparse.Namespace) -> int:
    """Prints a row per case; 1 when a result is wrong or the asked share is not reached."""
    peak = Peak()
    heads = (
        ("lamina ms", 11),
        ("GFLOP/s", 9),
        ("of peak", 9),
        ("ort ms", 9),
        ("ratio", 7),
        ("numpy ms", 10),
        ("error", 10),
    )
    print(f"{'case':<26}" + "".join(f"{head:>{width}}" for head, width in heads))
    status = 0
    for case in cases():
        if args.only not in case.name:
            continue
        share, error = measure(case, peak, args.threads, args.rounds)
        if error > 1e-4 or (case.name == "mm_1024x1024x1024" and share < args.at_least):
            status = 1
    return status


def measure(case: Case, peak: Peak, threads: int, rounds: int) -> tuple[float, float]:
    """Prints the row of `case`; returns its share of the peak and its largest relative error."""
    from ..api import compile as compile_model

    model = compile_model(case.model, threads=threads)
    arrays = [case.inputs[spec.name] for spec in model.signature.inputs]
    session = ort_session(case.model, threads)
    runs: dict[str, Callable[[], Any]] = {
        "lamina": lambda: model(*arrays),
        "ort": lambda: session.run(None, case.inputs),
    }
    if case.numpy is not None and threads == 1:
        runs["numpy"] = case.numpy
    want = session.run(None, case.inputs)[0]
    error = float(np.abs(model(*arrays)[0] - want).max() / np.abs(want).max())
    best = dict.fromkeys(runs, float("inf"))
    top = 0.0
    for _ in range(rounds):
        for name, run in runs.items():
            best[name] = min(best[name], best_time(run))
        top = max(top, peak.measure(threads))
    speed = 2 * case.multiply_adds / best["lamina"] / 1e9
    numpy_ms = f"{best['numpy'] * 1e3:10.3f}" if "numpy" in best else f"{'':>10}"
    print(
        f"{case.name:<26}{best['lamina'] * 1e3:11.3f}{speed:9.1f}{speed / top:9.0%}{best['ort'] * 1e3:9.3f}"
        f"{best['lamina'] / best['ort']:7.2f}{numpy_ms}{error:10.1e}",
        flush=True,
    )
    return speed / top, error


def best_time(run: Callable[[], Any]) -> float:
    """Seconds of the best of several runs, at least three and at least 50 ms of them."""
    best, until, count = float("inf"), time.perf_counter() + 0.05, 0
    while count < 3 or time.perf_counter() < until:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best


def cases() -> list[Case]:
    """Products with constant and with dynamic right-hand sides, then convolutions."""
    products = [product(*sizes, constant=True) for sizes in PRODUCTS]
    return [*products, product(*PRODUCTS[0], constant=False), *(convolution(*layer) for layer in CONVOLUTIONS)]


def product(m: int, n: int, k: int, *, constant: bool) -> Case:
    """A MatMul of float32."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    given = {"a": a} if constant else {"a": a, "b": b}
    model = node_model("MatMul", given, {"b": b} if constant else {}, (m, n))
    name = f"mm_{m}x{n}x{k}" + ("" if constant else "_dynamic")
    return Case(name, model, given, m * n * k, lambda: a @ b)


def convolution(channels: int, size: int, filters: int, kernel: int, stride: int) -> Case:
    """A Conv of float32 with constant weights, padded to keep the size."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, channels, size, size), dtype=np.float32)
    w = rng.standard_normal((filters, channels, kernel, kernel), dtype=np.float32)
    pad = kernel // 2
    out = (size + 2 * pad - kernel) // stride + 1
    model = node_model("Conv", {"a": x}, {"b": w}, (1, filters, out, out), strides=[stride] * 2, pads=[pad] * 4)
    name = f"conv{kernel}x{kernel}s{stride}_{channels}x{size}_{filters}"
    return Case(name, model, {"a": x}, out * out * filters * kernel * kernel * channels)


def node_model(
    op: str, inputs: dict[str, Array], constants: dict[str, Array], shape: tuple[int, ...], **attrs: Any
) -> Any:
    """An ONNX model of one node."""
    from onnx import TensorProto, helper, numpy_helper

    def info(name: str, dims: tuple[int, ...]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))

    graph = helper.make_graph(
        [helper.make_node(op, ["a", "b"], ["y"], **attrs)],
        op,
        [info(name, array.shape) for name, array in inputs.items()],
        [info("y", shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ort_session(model: Any, threads: int) -> Any:
    """ONNX Runtime's CPU provider."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
