"""Convolutions: the layers of ResNet-50, MobileNetV2 and VGG-19 and their kinds, in float32 and int8.

Images are NCHW as in ONNX: the changes of layout at both ends, which a whole model does once, are part of the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...compiler.signature import Array, dtype_named
from .cases import Case, Graph, Workload, normal
from .engine import add_arguments, run_group

__all__ = ["add_arguments", "cases", "main"]


@dataclass(frozen=True)
class Layer:
    """A convolution of square images, padded to keep the size (before the stride)."""

    channels: int
    size: int
    filters: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1

    @property
    def pad(self) -> int:
        """Zeros on each side."""
        return self.dilation * (self.kernel // 2)

    @property
    def out(self) -> int:
        """Height and width of the result."""
        return (self.size - 1 + 2 * self.pad - self.dilation * (self.kernel - 1)) // self.stride + 1

    @property
    def multiply_adds(self) -> int:
        """As the definition counts them, whatever an algorithm saves."""
        return self.out**2 * self.filters * self.kernel**2 * self.channels // self.groups

    def __str__(self) -> str:
        extra = "".join(
            f"{letter}{n}" for letter, n in (("s", self.stride), ("d", self.dilation), ("g", self.groups)) if n > 1
        )
        return f"{self.kernel}x{self.kernel}{extra}_{self.channels}x{self.size}_{self.filters}"


FAMILIES: dict[str, Sequence[Layer]] = {
    "7x7": (Layer(3, 224, 64, 7, 2),),
    "1x1": (  # ResNet-50
        Layer(64, 56, 64, 1),
        Layer(64, 56, 256, 1),
        Layer(256, 56, 128, 1),
        Layer(128, 28, 512, 1),
        Layer(512, 28, 128, 1),
        Layer(256, 14, 1024, 1),
        Layer(1024, 14, 256, 1),
        Layer(512, 7, 2048, 1),
        Layer(2048, 7, 512, 1),
        # MobileNetV2
        Layer(16, 112, 96, 1),
        Layer(24, 56, 144, 1),
        Layer(384, 14, 64, 1),
        Layer(320, 7, 1280, 1),
    ),
    "3x3": (
        Layer(64, 56, 64, 3),
        Layer(128, 28, 128, 3),
        Layer(256, 14, 256, 3),
        Layer(512, 7, 512, 3),
        # VGG-19
        Layer(3, 224, 64, 3),
        Layer(64, 224, 64, 3),
        Layer(128, 112, 128, 3),
        Layer(256, 56, 256, 3),
        Layer(512, 28, 512, 3),
        Layer(512, 14, 512, 3),
    ),
    "strided": (
        Layer(3, 224, 32, 3, 2),
        Layer(128, 56, 128, 3, 2),
        Layer(256, 28, 256, 3, 2),
        Layer(512, 14, 512, 3, 2),
        Layer(256, 56, 512, 1, 2),
        Layer(1024, 14, 2048, 1, 2),
    ),
    "dilated": (
        Layer(64, 56, 64, 3, dilation=2),
        Layer(256, 28, 256, 3, dilation=4),
        Layer(512, 28, 512, 3, dilation=4),  # of networks for segmentation, as the next two
        Layer(2048, 28, 256, 3, dilation=12),
        Layer(2048, 28, 256, 3, dilation=24),
    ),
    "grouped": (Layer(128, 56, 128, 3, groups=32), Layer(512, 14, 512, 3, groups=32), Layer(240, 28, 240, 1, groups=3)),
    "depthwise": (
        Layer(32, 112, 32, 3, groups=32),
        Layer(96, 112, 96, 3, 2, groups=96),
        Layer(144, 56, 144, 3, groups=144),
        Layer(192, 28, 192, 3, groups=192),
        Layer(384, 14, 384, 3, groups=384),
        Layer(960, 7, 960, 3, groups=960),
        Layer(240, 28, 240, 5, groups=240),
    ),
    "int8": (
        Layer(3, 224, 64, 7, 2),
        Layer(64, 56, 256, 1),
        Layer(128, 28, 128, 3),
        Layer(144, 56, 144, 3, groups=144),
    ),
}


def main(args: argparse.Namespace) -> int:
    """Measures the group."""
    return run_group("conv", cases(), args)


def cases() -> list[Case]:
    """All layers."""
    return [
        Case(
            f"conv{'_int8_' * (family == 'int8')}{layer}",
            family,
            partial(quantised if family == "int8" else convolution, layer),
            "int8" if family == "int8" else "fma",
            operations=2 * layer.multiply_adds,
            limit=1.0 if family == "int8" else 1e-3,  # a rounding to the other neighbour
        )
        for family, layers in FAMILIES.items()
        for layer in layers
    ]


def convolution(layer: Layer) -> Workload:
    """A Conv with constant weights and bias."""
    x, w, bias = _arrays(layer, 1)
    graph = Graph({"a": x})
    output = graph.node("Conv", "a", graph.constant(w), graph.constant(bias), **_attributes(layer))
    return graph.workload(
        output,
        np.float32,
        (1, layer.filters, layer.out, layer.out),
        jax=partial(_jax, layer),
        torch=partial(_torch, layer),
        ncnn=partial(_ncnn, layer),
    )


def channels_last(layer: Layer, batch: int, dtype: str) -> Workload:
    """The same without a bias, of images whose channels lie next to each other, as those of the result do."""
    x, w = (array.astype(dtype_named(dtype)) for array in _arrays(layer, batch)[:2])
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    graph = Graph({"a": x})
    turned = graph.node("Transpose", "a", perm=[0, 3, 1, 2])
    result = graph.node("Conv", turned, graph.constant(w), **_attributes(layer))
    output = graph.node("Transpose", result, perm=[0, 2, 3, 1])

    def torch(library: Any, x: Any, w: Any) -> Any:
        return _torch(layer, library, x.permute(0, 3, 1, 2), w, None).permute(0, 2, 3, 1)

    return graph.workload(output, x.dtype, (batch, layer.out, layer.out, layer.filters), torch=torch)


def _arrays(layer: Layer, batch: int) -> tuple[Array, Array, Array]:
    """Images, weights and bias."""
    fan_in = layer.channels // layer.groups * layer.kernel**2
    w = normal(1, layer.filters, layer.channels // layer.groups, layer.kernel, layer.kernel) / np.float32(fan_in**0.5)
    return normal(0, batch, layer.channels, layer.size, layer.size), w, normal(2, layer.filters)


def quantised(layer: Layer) -> Workload:
    """A QLinearConv: bytes by signed weights of 7 bits (as `integer_product`), a scale per filter, bytes again."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 255, (1, layer.channels, layer.size, layer.size), dtype=np.uint8)
    shape = (layer.filters, layer.channels // layer.groups, layer.kernel, layer.kernel)
    w = rng.integers(-64, 64, shape, dtype=np.int8)
    graph = Graph({"a": x})
    spread = 75 * 37 * (shape[1] * layer.kernel**2) ** 0.5 / 40  # so that results fill the range of a byte
    scales = rng.uniform(0.8, 1.2, layer.filters).astype(np.float32)
    quantities = (
        (np.float32(1), np.uint8(128)),
        (w, scales, np.zeros(layer.filters, np.int8)),
        (np.float32(spread), np.uint8(128), rng.integers(-500, 500, layer.filters, dtype=np.int32)),
    )
    constants = [graph.constant(np.asarray(array)) for each in quantities for array in each]
    output = graph.node("QLinearConv", "a", *constants, **_attributes(layer))
    return graph.workload(output, np.uint8, (1, layer.filters, layer.out, layer.out))


def _attributes(layer: Layer) -> dict[str, object]:
    return {
        "kernel_shape": [layer.kernel] * 2,
        "strides": [layer.stride] * 2,
        "pads": [layer.pad] * 4,
        "dilations": [layer.dilation] * 2,
        "group": layer.groups,
    }


def _jax(layer: Layer, jax: Any, x: Any, w: Any, bias: Any) -> Any:
    pads = [(layer.pad, layer.pad)] * 2
    y = jax.lax.conv_general_dilated(
        x, w, [layer.stride] * 2, pads, rhs_dilation=[layer.dilation] * 2, feature_group_count=layer.groups
    )
    return y + bias[None, :, None, None]


def _torch(layer: Layer, torch: Any, x: Any, w: Any, bias: Any) -> Any:
    return torch.conv2d(x, w, bias, layer.stride, layer.pad, layer.dilation, layer.groups)


def _ncnn(layer: Layer, constants: Sequence[Array]) -> tuple[str, list[Array]]:
    w, bias = constants
    kind = "Convolution" if layer.groups == 1 else "ConvolutionDepthWise"
    parameters = (
        f"0={layer.filters} 1={layer.kernel} 2={layer.dilation} 3={layer.stride} 4={layer.pad} 5=1 6={w.size} "
        f"7={layer.groups}"
    )
    return f"{kind} y 1 1 a y {parameters}", [w, bias]
