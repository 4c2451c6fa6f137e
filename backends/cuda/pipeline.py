"""The CUDA pipeline, read aloud: what happens to a model between the ONNX file and PTX, in order.

Down to the graph's canonical form it is every target's. Then contractions stay as they are written, since threads take
other tiles than vectors do, and nothing is left on a stack: what a kernel keeps between its loops is in the arena.
"""

from __future__ import annotations

from ...compiler.descent import Phase
from ..graph_phases import graph_phases

MODULE_PHASES = (
    *graph_phases(),
    Phase(
        "linalg",
        "every computation is a structured op; ops that belong together become one kernel",
        (
            "stablehlo-split-complex",
            "stablehlo-store-as-bytes",
            "convert-stablehlo-to-linalg",
            "canonicalize",
            "cse",
            "linalg-fuse-elementwise",
            "linalg-fuse-attention{queries=16 deepest=128}",
            "linalg-simplify-softmax",  # of those that attention left
            "gpu-split-reductions",
            "linalg-hoist-constants",
            "linalg-fold-constants",
            "linalg-outline-kernels",
            "linalg-share-kernels",
            "linalg-deduplicate-kernels",
            "inline",
            "gpu-join-pads",
            "linalg-narrow-values",
        ),
    ),
    Phase(
        "buffers",
        "every value gets a place: caller's buffer, arena or constants; every product a schedule",
        ("bufferize{stack=0}", "gpu-schedule-contractions", "gpu-reserve-partial-sums", "plan-arena"),
    ),
)

GPU_PHASES = (
    Phase(
        "tiles",
        "products and attention become programs of blocks on tiles, which go through shared memory in stages",
        ("convert-contraction-to-cta", "convert-attention-to-cta", "cta-pipeline"),
    ),
    Phase(
        "gpu",
        "kernels become launches of blocks of threads: of teams for rows, of one thread for each other point",
        (
            "convert-linalg-to-tiles",
            "gpu-distribute-tiles",
            "convert-linalg-to-affine{parallel=true}",
            "affine-scalrep",
            "gpu-fuse-points",
            "convert-cta-to-gpu",
            "gpu-widen-points",
            "convert-affine-to-gpu",
            "gpu-expand-reductions",
            "canonicalize",
            "cse",
        ),
    ),
)

DEVICE_PHASES = (
    Phase(
        "llvm",
        "one instruction set: LLVM's, with what NVIDIA's GPUs have beside it",
        (
            "math-expand",
            "convert-affine-to-scf",
            "canonicalize",
            "cse",
            "gpu-narrow-indices",
            "convert-scf-to-cf",
            "convert-gpu-to-nvvm",
            "convert-to-llvm",
        ),
    ),
)

PHASES = MODULE_PHASES + GPU_PHASES + DEVICE_PHASES
