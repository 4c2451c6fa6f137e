"""The CPU pipeline, read aloud: what happens to a model between the ONNX file and the machine code, in order.

Each phase ends on a level of the staircase and leaves only that level's dialects behind. The module phases run
once on the whole model; the kernel phases run on each distinct kernel, whose machine code is cached.
"""

from __future__ import annotations

from ...compiler.descent import Phase
from ...dialects.stablehlo.composites import GROUPED_MATMUL_NBITS, MATMUL_NBITS, TOP_K
from ..graph_phases import graph_phases

MODULE_PHASES = (
    *graph_phases(keep=(MATMUL_NBITS, GROUPED_MATMUL_NBITS, TOP_K), before_layout=("stablehlo-hoist-products",)),
    Phase(
        "linalg",
        "every computation is a structured op; ops that belong together become one kernel",
        (
            "convert-top-k-to-linalg",
            "stablehlo-split-complex",
            "stablehlo-store-as-bytes",
            "stablehlo-flatten-windows",
            "stablehlo-dilations-as-images",
            "stablehlo-split-taps",
            "stablehlo-rows-as-images",
            "stablehlo-sum-in-steps",
            "stablehlo-separate-windows",
            "stablehlo-sort-by-digits",
            "convert-matmul-nbits-to-linalg",
            "convert-stablehlo-to-linalg{slices=true}",
            "canonicalize",
            "cse",
            "linalg-grow-concats",
            "linalg-unsigned-bytes",  # where the machine wants them
            "linalg-merge-groups",
            "linalg-fuse-elementwise",
            "linalg-winograd",  # before the filters are packed
            "linalg-fuse-attention",
            "linalg-simplify-softmax",  # of those that attention left
            "linalg-pack-contractions",
            "linalg-hoist-constants",
            "linalg-fold-constants",
            "linalg-block-separable",
            "linalg-split-reductions",
            "linalg-outline-kernels{roundings=true pools=true columns=true slices=true}",
            "linalg-share-kernels",
            "linalg-deduplicate-kernels",
            "inline",
        ),
    ),
    Phase(
        "buffers",
        "every value gets a place: caller's buffer, arena or constants; every contraction a schedule",
        (
            "bufferize",
            "concat-in-place",
            "linalg-schedule-contractions",
            "linalg-alternate-panels",
            "reserve-copies",
            "plan-arena",
        ),
    ),
)

KERNEL_PHASES = (
    Phase(
        "affine",
        "contractions become register tiles, the rest loop nests, tiled, fused and made parallel",
        (
            "linalg-strip-columns",
            "convert-contraction-to-vector",
            "convert-depthwise-to-vector",
            "convert-separable-to-vector",
            "convert-pool-to-affine",
            "convert-winograd-to-vector",
            "convert-attention-to-vector",
            "convert-matmul-nbits-to-vector",
            "convert-linalg-to-affine",
            "affine-loop-fusion",
            "affine-loop-coalescing",  # before loops that belong together are parted
            "affine-loop-interchange",
            "affine-loop-coalescing",
            "affine-loop-strip",
            "affine-loop-tile",
            "affine-skip-terms",  # before rows are taken together
            "affine-loop-unroll-jam",  # rows times a vector
            "affine-parallelize",
            "affine-scalrep",
            "affine-narrow-scratch",
            "affine-pipeline-rows",
        ),
    ),
    Phase(
        "vector",
        "innermost loops take vectors, math functions become polynomials",
        (
            "affine-vectorize",
            "affine-prefetch-rows",
            "affine-prefetch-ahead",
            "affine-stream-stores",
            "affine-prefetch-results",  # of stores that are left
            "math-chain-extremes",
            "math-simplify-quantization",
            "math-expand",
            "convert-rounding-to-x86",
            "canonicalize",
            "cse",
        ),
    ),
    Phase(
        "llvm",
        "one instruction set: LLVM's",
        (
            "convert-affine-to-scf",
            "convert-parallel-to-runtime",
            "canonicalize",
            "cse",
            "convert-scf-to-cf",
            "convert-dot-to-llvm",
            "convert-to-llvm",
        ),
    ),
)

# The kernel passes without which there is no machine code; the others only make it faster.
REQUIRED = frozenset(
    {
        "convert-winograd-to-vector",
        "convert-attention-to-vector",
        "convert-matmul-nbits-to-vector",
        "convert-linalg-to-affine",
        "math-expand",
        "convert-affine-to-scf",
        "convert-parallel-to-runtime",
        "convert-scf-to-cf",
        "convert-dot-to-llvm",
        "convert-to-llvm",
    }
)

PHASES = MODULE_PHASES + KERNEL_PHASES
LEVELS = ("onnx", *(phase.level for phase in PHASES))
