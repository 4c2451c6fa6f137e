"""Operators of ONNX that no other group has: what networks for detection, segmentation, speech and images are made of
beside products: pools, images resized, the first ones of many, elements at computed places, unusual convolutions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...compiler.signature import Array
from .cases import OPSET, Case, Workload, normal
from .engine import add_arguments, run_group

__all__ = ["add_arguments", "cases", "main"]

Arrays = Callable[[], Mapping[str, Array]]


@dataclass(frozen=True)
class Node:
    """One operator on `inputs`, then on `constants` (`_` stands for one left out), with all `results` of it."""

    op: str
    inputs: Arrays
    constants: Arrays = dict
    results: Sequence[type[np.generic]] = (np.float32,)
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    moved: int = 0  # bytes, where not all of the inputs are touched
    domain: str = ""
    shapes: Sequence[Sequence[int]] | None = None  # of the results, where `onnx` infers none


def main(args: argparse.Namespace) -> int:
    """Measures the group."""
    return run_group("operators", cases(), args)


def cases() -> list[Case]:
    """All of them, by what they do."""
    return [
        Case(name, family, partial(build, family, name), "copy", moved=node.moved)
        for family, members in families().items()
        for name, node in members.items()
    ]


def build(family: str, name: str) -> Workload:
    """The model of one operator, with its inputs."""
    from onnx import helper, numpy_helper, shape_inference

    node = families()[family][name]
    inputs, constants = node.inputs(), node.constants()
    results = [f"y{i}" for i in range(len(node.results))]
    shapes = node.shapes or [None] * len(results)

    def info(name: str, dtype: Any, shape: Sequence[int] | None) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    given = ["" if name == "_" else name for name in (*inputs, *constants)]
    graph = helper.make_graph(
        [helper.make_node(node.op, given, results, node.op.lower(), domain=node.domain, **node.attributes)],
        "case",
        [info(name, array.dtype, array.shape) for name, array in inputs.items()],
        [info(name, dtype, made) for name, dtype, made in zip(results, node.results, shapes, strict=True)],
        [numpy_helper.from_array(array, name) for name, array in constants.items() if name != "_"],
    )
    opsets = [helper.make_opsetid("", OPSET), *([helper.make_opsetid(node.domain, 1)] if node.domain else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    model = shape_inference.infer_shapes(model, data_prop=True)  # those of the results
    return Workload(model, inputs, results, {name: array for name, array in constants.items() if name != "_"})


def families() -> Mapping[str, Mapping[str, Node]]:
    """The operators by family and name."""
    return {
        "pool": {
            "max_3s2_64x112": _pool("MaxPool", (1, 64, 112, 112), 3, 2, 1),
            "max_2s2_64x56": _pool("MaxPool", (1, 64, 56, 56), 2, 2),
            "max_5s1_256x20": _pool("MaxPool", (1, 256, 20, 20), 5, 1, 2),  # of YOLO, from v5 on
            "max_13s1_512x13": _pool("MaxPool", (1, 512, 13, 13), 13, 1, 6),  # of YOLO v4
            "max_3s3_64x56": _pool("MaxPool", (1, 64, 56, 56), 3, 3),
            "mean_3s2_64x56": _pool("AveragePool", (1, 64, 56, 56), 3, 2, 1),
            "mean_8s8_256x64": _pool("AveragePool", (1, 256, 64, 64), 8, 8),
            "mean_all_512x7": Node("GlobalAveragePool", _x(1, 512, 7, 7)),
        },
        "resize": {
            "nearest_2_64x28": _resize((1, 64, 28, 28), 2, "nearest", "asymmetric", nearest_mode="floor"),
            "nearest_2_256x20": _resize((1, 256, 20, 20), 2, "nearest", "asymmetric", nearest_mode="floor"),
            "linear_2_64x56": _resize((1, 64, 56, 56), 2, "linear", "half_pixel"),
            "linear_8_21x65": _resize((1, 21, 65, 65), 8, "linear", "align_corners"),  # of DeepLab
            "linear_half_3x720": _resize((1, 3, 720, 1280), 0.5, "linear", "half_pixel"),
            "cubic_2_16x28": _resize((1, 16, 28, 28), 2, "cubic", "half_pixel"),
        },
        "order": {
            "top_10_of_64x1000": _top((64, 1000), 10),
            "top_50_of_50257": _top((1, 50257), 50),
            "top_300_of_8400": _top((1, 8400), 300),
            "top_1000_of_20000": _top((1, 20000), 1000),
            "top_5_of_8x100x64": _top((8, 100, 64), 5, axis=1),
            "sort_64x768": _top((64, 768), 768),
            "argmax_21x256x256": Node(
                "ArgMax", _x(1, 21, 256, 256), results=(np.int64,), attributes={"axis": 1, "keepdims": 0}
            ),
            "unique_10000": Node("Unique", lambda: {"x": _numbers(0, 1000, 10000)}, results=(np.int64,)),
            "nonzero_10000": Node("NonZero", lambda: {"x": normal(0, 10000) > 1}, results=(np.int64,)),
            "boxes_1000": _boxes(1, 1000, 1000),
            "boxes_80x8400": _boxes(80, 8400, 100, rare=0.9995),
        },
        "place": {
            "gather_128_of_30522x768": _gather((30522, 768), (128,), 0),
            "gather_100_of_512x768": _gather((512, 768), (100,), 1),
            "elements_512x768": Node(
                "GatherElements",
                _x(512, 768),
                lambda: {"i": _numbers(0, 512, 512, 768)},
                attributes={"axis": 0},
            ),
            "nd_1000_of_64x64x64": Node(
                "GatherND", _x(64, 64, 64), lambda: {"i": _numbers(0, 64, 1000, 2)}, moved=8 * 64 * 1000
            ),
            "scatter_100x768": Node(
                "ScatterElements",
                lambda: {"x": normal(0, 512, 768), "i": _different(512, 768)[:100], "u": normal(1, 100, 768)},
            ),
            "grid_32x56": _grid(32, 56),
            "grid_64x64": _grid(64, 64),
            "regions_64x56_50": _regions(64, 56, 56, 50, 1.0, 0),
            "regions_256x50x68_100": _regions(256, 50, 68, 100, 0.0625, 2),  # of Mask R-CNN
        },
        "transposed": {
            "4s2_128x32_to_64": _transposed((1, 128, 32, 32), 64, 4, 2, 1),
            "2s2_64x56_to_32": _transposed((1, 64, 56, 56), 32, 2, 2),  # of U-Net
            "4s2_64x64_to_3": _transposed((1, 64, 64, 64), 3, 4, 2, 1),  # of DCGAN: the last, and the first
            "4_100x1_to_512": _transposed((1, 100, 1, 1), 512, 4, 1),
            "3s1_64x28": _transposed((1, 64, 28, 28), 64, 3, 1),
            "16s8_128x200_to_64": _transposed((1, 128, 200), 64, 16, 8, 4),  # of HiFi-GAN
            "40s20_64x200_to_32": _transposed((1, 64, 200), 32, 40, 20, 10),
        },
        "convolution": {
            "16s16_3x224_to_768": _conv((1, 3, 224, 224), 768, 16, 16),  # patches
            "4s4_3x224_to_96": _conv((1, 3, 224, 224), 96, 4, 4),
            "6s2_3x320_to_16": _conv((1, 3, 320, 320), 16, 6, 2, 2),
            "8s4_4x84_to_32": _conv((1, 4, 84, 84), 32, 8, 4),
            "11s4_3x224_to_64": _conv((1, 3, 224, 224), 64, 11, 4, 2),
            "1d_3_80x3000_to_384": _conv((1, 80, 3000), 384, 3, 1, 1),  # of Whisper
            "1d_10s5_1x16000_to_512": _conv((1, 1, 16000), 512, 10, 5),  # of wav2vec 2
            "1d_128_768x100_groups_16": _conv((1, 768, 100), 768, 128, 1, 64, 16),
            "3d_3_16x16x28": _conv((1, 16, 16, 28, 28), 32, 3, 1, 1),
            "depthwise_7_96x56": _conv((1, 96, 56, 56), 96, 7, 1, 3, 96),
            "depthwise_13_64x28": _conv((1, 64, 28, 28), 64, 13, 1, 6, 64),
            "depthwise_31_64x28": _conv((1, 64, 28, 28), 64, 31, 1, 15, 64),
            "depthwise_1d_31_256x400": _conv((1, 256, 400), 256, 31, 1, 15, 256),
        },
        "type": {
            "float_to_int32": _cast(np.float32, np.int32),
            "float_to_uint8": _cast(np.float32, np.uint8),
            "float_to_half": _cast(np.float32, np.float16),
            "uint8_to_float": _cast(np.uint8, np.float32),
            "int64_to_float": _cast(np.int64, np.float32),
            "quantize": Node("QuantizeLinear", _x(200704), _steps, (np.uint8,)),
            "dequantize": Node("DequantizeLinear", lambda: {"x": _numbers(0, 256, 200704).astype(np.uint8)}, _steps),
        },
        "row": {
            "sums_so_far_512x768_0": Node("CumSum", _x(512, 768), lambda: {"a": np.array(0)}),
            "sums_so_far_512x768_1": Node("CumSum", _x(512, 768), lambda: {"a": np.array(1)}),
            "instance_norm_64x56": Node("InstanceNormalization", _x(1, 64, 56, 56), _scale_and_shift),
            "batch_norm_64x56": Node("BatchNormalization", _x(1, 64, 56, 56), _statistics),
            "local_response_64x28": Node("LRN", _x(1, 64, 28, 28), attributes={"size": 5}),
            "softmax_channels_21x128": Node("Softmax", _x(1, 21, 128, 128), attributes={"axis": 1}),
        },
        "experts": {
            **{f"{rows}_by_2_of_8": _experts(rows, 512, 1024, 8, 2) for rows in (1, 64, 512)},
            **{
                f"{rows}_by_4_of_32_in_4_bits": _experts_of_4_bits(rows, 1024, 1024, 32, 4) for rows in (1, 16, 64, 512)
            },
        },
        "states": {
            f"{steps}_of_{heads}x{width}": _states(steps, heads, width)
            for steps, heads, width in ((1, 32, 128), (64, 32, 128), (256, 8, 64))
        },
    }


def _x(*shape: int) -> Arrays:
    return lambda: {"x": normal(0, *shape)}


def _numbers(low: int, high: int, *shape: int) -> Array:
    return np.random.default_rng(1).integers(low, high, shape)


def _different(rows: int, columns: int) -> Array:
    """In each column the row numbers in another order."""
    return np.argsort(np.random.default_rng(1).random((rows, columns)), axis=0)


def _pool(op: str, shape: tuple[int, ...], size: int, step: int, pad: int = 0) -> Node:
    attributes = {"kernel_shape": [size] * 2, "strides": [step] * 2, "pads": [pad] * 4}
    return Node(op, _x(*shape), attributes=attributes)


def _resize(shape: tuple[int, ...], factor: float, mode: str, coordinates: str, **more: str) -> Node:
    def scales() -> Mapping[str, Array]:
        return {"_": np.empty(0), "scales": np.array([1, 1, factor, factor], np.float32)}

    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **more}
    return Node("Resize", _x(*shape), scales, attributes=attributes)


def _top(shape: tuple[int, ...], k: int, axis: int = -1) -> Node:
    return Node("TopK", _x(*shape), lambda: {"k": np.array([k])}, (np.float32, np.int64), {"axis": axis})


def _boxes(classes: int, n: int, most: int, rare: float = 0.0) -> Node:
    """Boxes as detectors find them, of each class the best of those that overlap; `rare`: the share of low scores."""

    def arrays() -> Mapping[str, Array]:
        rng = np.random.default_rng(0)
        middles, sizes = rng.uniform(0, 600, (1, n, 2)), rng.uniform(20, 90, (1, n, 2))
        boxes = np.concatenate([middles - sizes / 2, middles + sizes / 2], 2)
        scores = rng.uniform(0.3, 1, (1, classes, n)) * (rng.uniform(size=(1, classes, n)) >= rare)
        return {"boxes": boxes.astype(np.float32), "scores": scores.astype(np.float32)}

    def limits() -> Mapping[str, Array]:
        overlap, least = (np.array([share], np.float32) for share in (0.5, 0.25))
        return {"most": np.array([most]), "overlap": overlap, "least": least}

    return Node("NonMaxSuppression", arrays, limits, (np.int64,))


def _gather(table: tuple[int, ...], picked: tuple[int, ...], axis: int) -> Node:
    def arrays() -> Mapping[str, Array]:
        return {"i": _numbers(0, table[axis], *picked)}

    moved = 8 * prod(picked) * prod(table) // table[axis]
    return Node("Gather", _x(*table), arrays, attributes={"axis": axis}, moved=moved)


def _grid(channels: int, size: int) -> Node:
    def arrays() -> Mapping[str, Array]:
        return {"x": normal(0, 1, channels, size, size), "grid": normal(1, 1, size, size, 2).clip(-1, 1)}

    return Node("GridSample", arrays)


def _regions(channels: int, height: int, width: int, count: int, scale: float, samples: int) -> Node:
    def boxes() -> Mapping[str, Array]:
        corners = np.random.default_rng(1).random((count, 2, 2)) * [width / scale, height / scale]
        given = np.sort(corners, axis=1).reshape(count, 4).astype(np.float32)
        return {"rois": given, "images": np.zeros(count, np.int64)}

    attributes = {"output_height": 7, "output_width": 7, "sampling_ratio": samples, "spatial_scale": scale}
    return Node("RoiAlign", _x(1, channels, height, width), boxes, attributes=attributes)


def _window(rank: int, size: int, step: int, pad: int, groups: int = 1) -> Mapping[str, Any]:
    return {"kernel_shape": [size] * rank, "strides": [step] * rank, "pads": [pad] * 2 * rank, "group": groups}


def _conv(shape: tuple[int, ...], filters: int, size: int, step: int = 1, pad: int = 0, groups: int = 1) -> Node:
    rank = len(shape) - 2

    def weights() -> Mapping[str, Array]:
        return {"w": normal(1, filters, shape[1] // groups, *[size] * rank), "b": normal(2, filters)}

    return Node("Conv", _x(*shape), weights, attributes=_window(rank, size, step, pad, groups))


def _transposed(shape: tuple[int, ...], filters: int, size: int, step: int, pad: int = 0) -> Node:
    rank = len(shape) - 2

    def weights() -> Mapping[str, Array]:
        return {"w": normal(1, shape[1], filters, *[size] * rank), "b": normal(2, filters)}

    return Node("ConvTranspose", _x(*shape), weights, attributes=_window(rank, size, step, pad))


def _experts(rows: int, hidden: int, inner: int, count: int, k: int) -> Node:
    """A layer of Mixtral: gates in turn with what they let through."""

    def weights() -> Mapping[str, Array]:
        first, second = normal(2, count, 2 * inner, hidden), normal(3, count, hidden, inner)
        return {"first": first / np.float32(30), "_": np.zeros(0), "second": second / np.float32(30)}

    attributes = {"k": k, "normalize_routing_weights": 1, "activation_type": "swiglu", "swiglu_fusion": 1}
    used = min(count, rows * k) * 12 * hidden * inner

    def inputs() -> Mapping[str, Array]:
        return {"x": normal(0, rows, hidden), "scores": normal(1, rows, count)}

    shapes = [[rows, hidden]]
    return Node("MoE", inputs, weights, attributes=attributes, moved=used, domain="com.microsoft", shapes=shapes)


def _experts_of_4_bits(rows: int, hidden: int, inner: int, count: int, k: int) -> Node:
    """A layer of gpt-oss but for its sizes: blocks of 32 numbers have a scale each."""
    floats, block = _experts(rows, hidden, inner, count, k), 32

    def weights() -> Mapping[str, Array]:
        found: dict[str, Array] = {}
        for name, columns, depth in (("first", 2 * inner, hidden), ("second", hidden, inner)):
            found[name] = _numbers(0, 256, count, columns, depth // 2).astype(np.uint8)
            found[f"{name}_scales"] = np.abs(normal(2, count, columns, depth // block)) / np.float32(100)
            found["_"] = np.zeros(0)
        return {name: found[name] for name in ("first", "first_scales", "_", "second", "second_scales")}

    limits = {"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0}
    attributes = {**floats.attributes, **limits, "expert_weight_bits": 4, "block_size": block}
    moved = min(count, rows * k) * 3 * hidden * inner * (4 + 32 // block) // 8
    return replace(floats, op="QMoE", constants=weights, attributes=attributes, moved=moved)


def _states(steps: int, heads: int, width: int) -> Node:
    """A gated delta net's recurrence: each step changes a state of width x width in each head, and asks it."""

    def inputs() -> Mapping[str, Array]:
        query, key, value = (normal(i, 1, steps, heads * width) for i in range(3))
        decay, rate = (np.abs(normal(3 + i, 1, steps, heads)) / np.float32(4) for i in range(2))
        state = normal(5, 1, heads, width, width)
        return {"q": query, "k": key / np.float32(width**0.5), "v": value, "past": state, "decay": -decay, "rate": rate}

    shapes = [[1, steps, heads * width], [1, heads, width, width]]
    attributes = {"q_num_heads": heads, "kv_num_heads": heads}
    floats = (np.float32, np.float32)
    return Node("LinearAttention", inputs, dict, floats, attributes, domain="com.microsoft", shapes=shapes)


def _cast(source: type[np.generic], target: type[np.generic]) -> Node:
    from onnx import helper

    def numbers() -> Mapping[str, Array]:
        return {"x": (np.abs(normal(0, 200704)) * 20).astype(source)}

    return Node(
        "Cast", numbers, results=(target,), attributes={"to": helper.np_dtype_to_tensor_dtype(np.dtype(target))}
    )


def _steps() -> Mapping[str, Array]:
    return {"scale": np.array(0.02, np.float32), "zero": np.array(128, np.uint8)}


def _scale_and_shift() -> Mapping[str, Array]:
    return {"scale": normal(1, 64), "shift": normal(2, 64)}


def _statistics() -> Mapping[str, Array]:
    return {**_scale_and_shift(), "mean": normal(3, 64), "variance": np.abs(normal(4, 64)) + 0.1}
