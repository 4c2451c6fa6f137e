"""The passes, under headings, in the order of the descent: a table of contents that loads nothing.

`ls passes/convert` is the staircase. The name is the command-line name; the path is where it lives.
"""

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

PASSES: dict[str, dict[str, str]] = {
    "any level": {
        "canonicalize": ".builtin.canonicalize:Canonicalize",
        "cse": ".builtin.cse:CommonSubexpressionElimination",
        "dce": ".builtin.dce:DeadCodeElimination",
        "inline": ".builtin.inline:Inline",
        "symbol-dce": ".builtin.symbol_dce:SymbolDeadCodeElimination",
    },
    "dsl: index notation": {
        "convert-dsl-to-stablehlo": ".convert.dsl_to_stablehlo:ConvertDslToStablehlo",
    },
    "onnx: the graph as imported": {
        "onnx-bind-shapes": ".onnx.bind_shapes:BindShapes",
        "onnx-infer-shapes": ".onnx.infer_shapes:InferShapes",
        "onnx-fuse-qdq": ".onnx.fuse_qdq:FuseQdq",
        "onnx-fuse-dequantized-weights": ".onnx.fuse_dequantized_weights:FuseDequantizedWeights",
        "onnx-dynamic-quantization": ".onnx.dynamic_quantization:DynamicQuantization",
        "convert-onnx-to-stablehlo": ".convert.onnx_to_stablehlo:ConvertOnnxToStablehlo",
    },
    "stablehlo: the graph, canonical": {
        "stablehlo-legalize-quantized-op-to-qdq": ".stablehlo.legalize_quantized_op_to_qdq:LegalizeQuantizedOpToQdq",
        "stablehlo-legalize-quant-to-math": ".stablehlo.legalize_quant_to_math:LegalizeQuantToMath",
        "stablehlo-refine-shapes": ".stablehlo.refine_shapes:RefineShapes",
        "stablehlo-replace-deprecated": ".stablehlo.replace_deprecated:ReplaceDeprecated",
        "stablehlo-decompose-chlo": ".stablehlo.decompose_chlo:DecomposeChlo",
        "stablehlo-flatten-windows": ".stablehlo.flatten_windows:FlattenWindows",
        "stablehlo-dilations-as-images": ".stablehlo.dilations_as_images:DilationsAsImages",
        "stablehlo-hoist-products": ".stablehlo.hoist_products:HoistProducts",
        "stablehlo-split-taps": ".stablehlo.split_taps:SplitTaps",
        "stablehlo-rows-as-images": ".stablehlo.rows_as_images:RowsAsImages",
        "stablehlo-sum-in-steps": ".stablehlo.sum_in_steps:SumInSteps",
        "stablehlo-sort-by-digits": ".stablehlo.sort_by_digits:SortByDigits",
        "stablehlo-separate-windows": ".stablehlo.separate_windows:SeparateWindows",
        "stablehlo-inline-composites": ".stablehlo.inline_composites:InlineComposites",
        "stablehlo-fold-constants": ".stablehlo.fold_constants:FoldConstants",
        "stablehlo-simplify": ".stablehlo.simplify:Simplify",
        "stablehlo-narrow-integers": ".stablehlo.narrow_integers:NarrowIntegers",
        "stablehlo-propagate-layout": ".stablehlo.propagate_layout:PropagateLayout",
        "stablehlo-lower-precision": ".stablehlo.lower_precision:LowerPrecision",
        "stablehlo-widen-halves": ".stablehlo.widen_halves:WidenHalves",
        "stablehlo-store-as-bytes": ".stablehlo.store_as_bytes:StoreAsBytes",
        "stablehlo-expand-fft": ".stablehlo.expand_fft:ExpandFft",
        "stablehlo-expand-library-calls": ".stablehlo.expand_library_calls:ExpandLibraryCalls",
        "stablehlo-expand-linear-algebra": ".stablehlo.expand_linear_algebra:ExpandLinearAlgebra",
        "stablehlo-expand-random": ".stablehlo.expand_random:ExpandRandom",
        "stablehlo-split-complex": ".stablehlo.split_complex:SplitComplex",
        "stablehlo-outline-repeats": ".stablehlo.outline_repeats:OutlineRepeats",
        "convert-stablehlo-to-onnx": ".convert.stablehlo_to_onnx:ConvertStablehloToOnnx",
        "convert-top-k-to-linalg": ".convert.top_k_to_linalg:ConvertTopKToLinalg",
        "convert-matmul-nbits-to-linalg": ".convert.matmul_nbits_to_linalg:ConvertMatmulNBitsToLinalg",
        "convert-stablehlo-to-linalg": ".convert.stablehlo_to_linalg:ConvertStablehloToLinalg",
    },
    "linalg: structured ops on tensors": {
        "linalg-unsigned-bytes": ".linalg.unsigned_bytes:UnsignedBytes",
        "linalg-grow-concats": ".linalg.grow_concats:GrowConcats",
        "linalg-merge-groups": ".linalg.merge_groups:MergeGroups",
        "linalg-fuse-elementwise": ".linalg.fuse_elementwise:FuseElementwise",
        "linalg-winograd": ".linalg.winograd:Winograd",
        "linalg-fuse-attention": ".linalg.fuse_attention:FuseAttention",
        "linalg-simplify-softmax": ".linalg.simplify_softmax:SimplifySoftmax",
        "linalg-pack-contractions": ".linalg.pack_contractions:PackContractions",
        "linalg-hoist-constants": ".linalg.hoist_constants:HoistConstants",
        "linalg-fold-constants": ".linalg.fold_constants:FoldConstants",
        "linalg-block-separable": ".linalg.block_separable:BlockSeparable",
        "linalg-split-reductions": ".linalg.split_reductions:SplitReductions",
        "linalg-outline-kernels": ".linalg.outline_kernels:OutlineKernels",
        "linalg-narrow-values": ".linalg.narrow_values:NarrowValues",
        "linalg-share-kernels": ".linalg.share_kernels:ShareKernels",
        "linalg-deduplicate-kernels": ".linalg.deduplicate_kernels:DeduplicateKernels",
    },
    "buffers: where each value lives": {
        "bufferize": ".bufferization.bufferize:Bufferize",
        "linalg-schedule-contractions": ".linalg.schedule_contractions:ScheduleContractions",
        "linalg-alternate-panels": ".linalg.alternate_panels:AlternatePanels",
        "concat-in-place": ".bufferization.concat_in_place:ConcatInPlace",
        "reserve-copies": ".bufferization.reserve_copies:ReserveCopies",
        "plan-arena": ".bufferization.plan_arena:PlanArena",
    },
    "loops": {
        "linalg-strip-columns": ".linalg.strip_columns:StripColumns",
        "convert-contraction-to-vector": ".convert.contraction_to_vector:ConvertContractionToVector",
        "convert-separable-to-vector": ".convert.separable_to_vector:ConvertSeparableToVector",
        "convert-depthwise-to-vector": ".convert.depthwise_to_vector:ConvertDepthwiseToVector",
        "convert-pool-to-affine": ".convert.pool_to_affine:ConvertPoolToAffine",
        "convert-winograd-to-vector": ".convert.winograd_to_vector:ConvertWinogradToVector",
        "convert-attention-to-vector": ".convert.attention_to_vector:ConvertAttentionToVector",
        "convert-matmul-nbits-to-vector": ".convert.matmul_nbits_to_vector:ConvertMatmulNBitsToVector",
        "convert-linalg-to-affine": ".convert.linalg_to_affine:ConvertLinalgToAffine",
        "affine-loop-fusion": ".affine.loop_fusion:LoopFusion",
        "affine-loop-interchange": ".affine.loop_interchange:LoopInterchange",
        "affine-loop-coalescing": ".affine.loop_coalescing:LoopCoalescing",
        "affine-loop-strip": ".affine.loop_strip:LoopStrip",
        "affine-loop-tile": ".affine.loop_tile:LoopTile",
        "affine-loop-unroll-jam": ".affine.loop_unroll_jam:LoopUnrollJam",
        "affine-parallelize": ".affine.parallelize:Parallelize",
        "affine-narrow-scratch": ".affine.narrow_scratch:NarrowScratch",
        "affine-scalrep": ".affine.scalar_replacement:ScalarReplacement",
    },
    "vectors": {
        "affine-pipeline-rows": ".affine.pipeline_rows:PipelineRows",
        "affine-prefetch-ahead": ".affine.prefetch_ahead:PrefetchAhead",
        "affine-prefetch-results": ".affine.prefetch_results:PrefetchResults",
        "affine-prefetch-rows": ".affine.prefetch_rows:PrefetchRows",
        "affine-skip-terms": ".affine.skip_terms:SkipTerms",
        "affine-stream-stores": ".affine.stream_stores:StreamStores",
        "affine-vectorize": ".affine.vectorize:Vectorize",
        "convert-rounding-to-x86": ".convert.rounding_to_x86:ConvertRoundingToX86",
        "math-expand": ".math.expand:ExpandMath",
        "math-chain-extremes": ".math.chain_extremes:ChainExtremes",
        "math-simplify-quantization": ".math.simplify_quantization:SimplifyQuantization",
    },
    "tiles: programs of blocks": {
        "convert-attention-to-cta": ".convert.attention_to_cta:ConvertAttentionToCta",
        "convert-contraction-to-cta": ".convert.contraction_to_cta:ConvertContractionToCta",
        "cta-pipeline": ".cta.pipeline:Pipeline",
    },
    "gpu: blocks and threads": {
        "convert-cta-to-gpu": ".convert.cta_to_gpu:ConvertCtaToGpu",
        "convert-linalg-to-tiles": ".convert.linalg_to_tiles:ConvertLinalgToTiles",
        "gpu-distribute-tiles": ".gpu.distribute_tiles:DistributeTiles",
        "gpu-join-pads": ".gpu.join_pads:JoinPads",
        "gpu-split-reductions": ".gpu.split_reductions:SplitReductions",
        "gpu-schedule-contractions": ".gpu.schedule_contractions:ScheduleContractions",
        "gpu-reserve-partial-sums": ".gpu.reserve_partial_sums:ReservePartialSums",
        "gpu-fuse-points": ".gpu.fuse_points:FusePoints",
        "gpu-widen-points": ".gpu.widen_points:WidenPoints",
        "convert-affine-to-gpu": ".convert.affine_to_gpu:ConvertAffineToGpu",
        "gpu-expand-reductions": ".gpu.expand_reductions:ExpandReductions",
        "gpu-narrow-indices": ".gpu.narrow_indices:NarrowIndices",
    },
    "systolic: layers, tiles, tokens, instructions": {
        "systolic-flatten-products": ".systolic.flatten_products:FlattenProducts",
        "systolic-partition": ".systolic.partition:Partition",
        "systolic-fuse-pools": ".systolic.fuse_pools:FusePools",
        "systolic-fuse-adds": ".systolic.fuse_adds:FuseAdds",
        "convert-onnx-to-accel": ".convert.onnx_to_accel:ConvertOnnxToAccel",
        "convert-accel-to-tile": ".convert.accel_to_tile:ConvertAccelToTile",
        "convert-tile-to-pipe": ".convert.tile_to_pipe:ConvertTileToPipe",
        "convert-pipe-to-systolic": ".convert.pipe_to_systolic:ConvertPipeToSystolic",
    },
    "target": {
        "convert-affine-to-scf": ".convert.affine_to_scf:ConvertAffineToScf",
        "convert-parallel-to-runtime": ".convert.parallel_to_runtime:ConvertParallelToRuntime",
        "convert-scf-to-cf": ".convert.scf_to_cf:ConvertScfToCf",
        "convert-dot-to-llvm": ".convert.dot_to_llvm:ConvertDotToLLVM",
        "convert-gpu-to-nvvm": ".convert.gpu_to_nvvm:ConvertGpuToNvvm",
        "convert-to-llvm": ".convert.to_llvm:ConvertToLLVM",
    },
}


def load_pass(path: str) -> type[ModulePass]:
    """The pass class at `module:Class`; a leading dot means a module of this package."""
    module, _, name = path.partition(":")
    return getattr(import_module(module, __name__), name)


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass name with the function that loads its class."""
    return {name: (lambda path=path: load_pass(path)) for heading in PASSES.values() for name, path in heading.items()}
