"""Index notation against the hub's own ops, written by hand: same inputs, same threads, alternating rounds.

Index notation is to cost nothing: mostly the very same kernels come out, which their keys tell.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass

import numpy as np

from ...compiler.context import LaminaContext
from ...compiler.parsing import parse_module
from ...compiler.program import Program
from ...dialects.dsl.load import bind, instantiate, load_file
from ..api import Model
from ..api import compile as compile_model
from ..sources import new_context
from .timing import best_time


@dataclass(frozen=True)
class Case:
    """One computation: the function `f` of the language on f32 arguments of `shapes`, and `@main` of the hub."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    notation: str
    hub: str


CASES = (
    Case(
        "matmul",
        ((256, 512), (512, 384)),
        "fn f[M, K, N](x: f32[M, K], w: f32[K, N]) -> f32[M, N] = [i, j] => sum[k] x[i, k] * w[k, j]",
        """
        func.func public @main(%x: tensor<256x512xf32>, %w: tensor<512x384xf32>) -> tensor<256x384xf32> {
          %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<256x512xf32>, tensor<512x384xf32>) -> tensor<256x384xf32>
          func.return %y : tensor<256x384xf32>
        }""",
    ),
    Case(
        "conv2d",
        ((1, 64, 56, 56), (64, 64, 3, 3)),
        """
        fn f[N, C, H, W, O](x: f32[N, C, H, W], k: f32[O, C, 3, 3]) -> f32[N, O, H, W] =
          [n, o, p, q] => sum[c, r, s] x[n, c, p + r - 1, q + s - 1 ? 0] * k[o, c, r, s]
        """,
        """
        func.func public @main(%x: tensor<1x64x56x56xf32>, %k: tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
          %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
            window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
            {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
          func.return %y : tensor<1x64x56x56xf32>
        }""",
    ),
    Case(
        "softmax",
        ((512, 1024),),
        """
        fn f[M, N](x: f32[M, N]) -> f32[M, N] {
          let top[i] = max[j] x[i, j]
          let e[i, j] = exp(x[i, j] - top[i])
          let total[i] = sum[j] e[i, j]
          return [i, j] => e[i, j] / total[i]
        }
        """,
        """
        func.func public @main(%x: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
          %lowest = stablehlo.constant dense<0xff800000> : tensor<f32>
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %top = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
            : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
          %tops = stablehlo.broadcast_in_dim %top, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>
          %below = stablehlo.subtract %x, %tops : tensor<512x1024xf32>
          %e = stablehlo.exponential %below : tensor<512x1024xf32>
          %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
            : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
          %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>
          %y = stablehlo.divide %e, %sums : tensor<512x1024xf32>
          func.return %y : tensor<512x1024xf32>
        }""",
    ),
    Case(
        "layer norm",
        ((512, 1024), (1024,), (1024,)),
        """
        fn f[M, N](x: f32[M, N], scale: f32[N], bias: f32[N]) -> f32[M, N] {
          let mean[i] = (sum[j] x[i, j]) / N
          let centred[i, j] = x[i, j] - mean[i]
          let variance[i] = (sum[j] centred[i, j] * centred[i, j]) / N
          return [i, j] => centred[i, j] * rsqrt(variance[i] + 1e-5) * scale[j] + bias[j]
        }
        """,
        """
        func.func public @main(%x: tensor<512x1024xf32>, %scale: tensor<1024xf32>, %bias: tensor<1024xf32>)
            -> tensor<512x1024xf32> {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %n = stablehlo.constant dense<1024.0> : tensor<f32>
          %count = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<512xf32>
          %e = stablehlo.constant dense<1.0e-05> : tensor<f32>
          %epsilon = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f32>) -> tensor<512xf32>
          %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
            : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
          %mean = stablehlo.divide %sum, %count : tensor<512xf32>
          %means = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>
          %centred = stablehlo.subtract %x, %means : tensor<512x1024xf32>
          %squares = stablehlo.multiply %centred, %centred : tensor<512x1024xf32>
          %square = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1]
            : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
          %variance = stablehlo.divide %square, %count : tensor<512xf32>
          %above = stablehlo.add %variance, %epsilon : tensor<512xf32>
          %root = stablehlo.rsqrt %above : tensor<512xf32>
          %roots = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>
          %normal = stablehlo.multiply %centred, %roots : tensor<512x1024xf32>
          %scales = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<1024xf32>) -> tensor<512x1024xf32>
          %scaled = stablehlo.multiply %normal, %scales : tensor<512x1024xf32>
          %biases = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<1024xf32>) -> tensor<512x1024xf32>
          %y = stablehlo.add %scaled, %biases : tensor<512x1024xf32>
          func.return %y : tensor<512x1024xf32>
        }""",
    ),
    Case(
        "attention",
        ((8, 256, 64), (8, 256, 64), (8, 256, 64)),
        """
        fn f[H, T, D](q: f32[H, T, D], k: f32[H, T, D], v: f32[H, T, D]) -> f32[H, T, D] {
          let score[h, i, j] = (sum[d] q[h, i, d] * k[h, j, d]) * 0.125
          let top[h, i] = max[j] score[h, i, j]
          let e[h, i, j] = exp(score[h, i, j] - top[h, i])
          let total[h, i] = sum[j] e[h, i, j]
          return [h, i, d] => (sum[j] e[h, i, j] * v[h, j, d]) / total[h, i]
        }
        """,
        """
        func.func public @main(%q: tensor<8x256x64xf32>, %k: tensor<8x256x64xf32>, %v: tensor<8x256x64xf32>)
            -> tensor<8x256x64xf32> {
          %lowest = stablehlo.constant dense<0xff800000> : tensor<f32>
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %eighth = stablehlo.constant dense<0.125> : tensor<f32>
          %scale = stablehlo.broadcast_in_dim %eighth, dims = [] : (tensor<f32>) -> tensor<8x256x256xf32>
          %product = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
            : (tensor<8x256x64xf32>, tensor<8x256x64xf32>) -> tensor<8x256x256xf32>
          %score = stablehlo.multiply %product, %scale : tensor<8x256x256xf32>
          %top = stablehlo.reduce(%score init: %lowest) applies stablehlo.maximum across dimensions = [2]
            : (tensor<8x256x256xf32>, tensor<f32>) -> tensor<8x256xf32>
          %tops = stablehlo.broadcast_in_dim %top, dims = [0, 1] : (tensor<8x256xf32>) -> tensor<8x256x256xf32>
          %below = stablehlo.subtract %score, %tops : tensor<8x256x256xf32>
          %e = stablehlo.exponential %below : tensor<8x256x256xf32>
          %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
            : (tensor<8x256x256xf32>, tensor<f32>) -> tensor<8x256xf32>
          %mixed = stablehlo.dot_general %e, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
            : (tensor<8x256x256xf32>, tensor<8x256x64xf32>) -> tensor<8x256x64xf32>
          %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<8x256xf32>) -> tensor<8x256x64xf32>
          %y = stablehlo.divide %mixed, %sums : tensor<8x256x64xf32>
          func.return %y : tensor<8x256x64xf32>
        }""",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("--threads", type=int, default=1, help="how many threads (default 1)")
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds (default 7)")
    parser.add_argument("--at-least", type=float, default=0.95, help="the least speed against the hub (default 0.95)")


def main(args: argparse.Namespace) -> int:
    """Prints one row per computation; 1 where index notation is slower than it may be, or gives something else."""
    print(f"{'case':<14}{'notation ms':>13}{'hub ms':>10}{'speed':>8}{'error':>10}  kernels")
    good = True
    for case in CASES:
        speed, error = measure(case, args.threads, args.rounds)
        good = good and speed >= args.at_least and error <= 1e-5
    return 0 if good else 1


def measure(case: Case, threads: int, rounds: int) -> tuple[float, float]:
    """Prints the row of `case`; the median of the rounds' speeds of index notation over the hub, and the error."""
    ours, theirs = (
        compile_model(program, threads=threads)
        for program in (from_notation(case, new_context()), from_hub(case, new_context()))
    )
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape, np.float32) for shape in case.shapes]
    [got], [want] = ours(*inputs), theirs(*inputs)
    error = float(np.abs(got - want).max() / np.abs(want).max())
    times = [(best_time(lambda: ours(*inputs)), best_time(lambda: theirs(*inputs))) for _ in range(rounds)]
    mine, hub = (statistics.median(each) * 1e3 for each in zip(*times, strict=True))
    speed = statistics.median(b / a for a, b in times)
    same = "the same" if keys(ours) == keys(theirs) else "others"
    print(f"{case.name:<14}{mine:>13.3f}{hub:>10.3f}{speed:>8.2f}{error:>10.1e}  {same}, {len(keys(ours))}", flush=True)
    return speed, error


def from_notation(case: Case, context: LaminaContext) -> Program:
    """The case in the language."""
    files = load_file(case.notation, f"{case.name}.lam")
    bound = bind(files, "f", [("f32", shape) for shape in case.shapes])
    return Program(instantiate(files, bound, context), context)


def from_hub(case: Case, context: LaminaContext) -> Program:
    """The case in the hub's own ops."""
    return Program(parse_module(case.hub, f"{case.name}.mlir", context), context)


def keys(model: Model) -> list[str]:
    """The symbols of a model's kernels, which are made of their keys."""
    return sorted(kernel["symbol"] for kernel in model.artefact.manifest["kernels"])
