"""Small networks like those of MLPerf Tiny, with seeded random weights: `python -m lamina.tools.tiny_models OUT_DIR`.

DS-CNN (keyword spotting), ResNet-8 (CIFAR-10), MobileNetV1-0.25 (visual wake words) and an autoencoder (anomaly
detection), of the published layers (Banbury et al. 2021). Each is written as a float model, `NAME.onnx`, and as one of
bytes, `NAME.int8.onnx`, quantised with random samples. By its name only: `resnet18` (He et al. 2015), for 224 x 224.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto

SEED = 7


class _Net:
    """Nodes one behind the other; `at` is the last value, of `shape`."""

    def __init__(self, shape: Sequence[int]):
        self.shape = list(shape)
        self.input = list(shape)
        self.at = "x"
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.rng = np.random.default_rng(SEED)

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        from onnx import helper

        self.at = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [self.at], **attributes))
        return self.at

    def constant(self, shape: Sequence[int], scale: float) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = (self.rng.standard_normal(tuple(shape)) * scale).astype(np.float32)
        return name

    def conv(
        self,
        filters: int,
        kernel: Sequence[int] = (3, 3),
        stride: int = 1,
        *,
        depthwise: bool = False,
        relu: bool = True,
    ) -> str:
        channels = self.shape[1]
        group = channels if depthwise else 1
        fan = channels // group * kernel[0] * kernel[1]
        w = self.constant([filters, channels // group, *kernel], (2 / fan) ** 0.5)
        b = self.constant([filters], 0.1)
        self.node(
            "Conv",
            [self.at, w, b],
            auto_pad="SAME_UPPER",
            kernel_shape=list(kernel),
            strides=[stride, stride],
            group=group,
        )
        self.shape = [self.shape[0], filters, *(-(-n // stride) for n in self.shape[2:])]
        return self.node("Relu", [self.at]) if relu else self.at

    def separable(self, filters: int, stride: int = 1) -> None:
        self.conv(self.shape[1], stride=stride, depthwise=True)
        self.conv(filters, (1, 1))

    def dense(self, units: int, relu: bool = False) -> None:
        w = self.constant([self.shape[1], units], (2 / self.shape[1]) ** 0.5)
        self.node("Gemm", [self.at, w, self.constant([units], 0.1)])
        self.shape = [self.shape[0], units]
        if relu:
            self.node("Relu", [self.at])

    def classify(self, classes: int) -> None:
        self.node("GlobalAveragePool", [self.at])
        self.node("Flatten", [self.at])
        self.shape = self.shape[:2]
        self.dense(classes)

    def model(self) -> ModelProto:
        from onnx import TensorProto, helper, numpy_helper

        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input)],
            [helper.make_tensor_value_info(self.at, TensorProto.FLOAT, self.shape)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ds_cnn() -> ModelProto:
    """Keyword spotting: 49 x 10 coefficients, 12 words."""
    net = _Net([1, 1, 49, 10])
    net.conv(64, (10, 4), 2)
    for _ in range(4):
        net.separable(64)
    net.classify(12)
    return net.model()


def _residual(net: _Net, filters: int, stride: int) -> None:
    """Two convolutions, around which the image goes as it is, or through one of 1 x 1 where its shape is another."""
    before, shape = net.at, list(net.shape)
    net.conv(filters, stride=stride)
    inner = net.conv(filters, relu=False)
    if net.shape != shape:
        after = list(net.shape)
        net.at, net.shape = before, shape
        before = net.conv(filters, (1, 1), stride, relu=False)
        net.shape = after
    net.node("Add", [inner, before])
    net.node("Relu", [net.at])


def resnet8() -> ModelProto:
    """CIFAR-10: three residual blocks of 16, 32 and 64 channels."""
    net = _Net([1, 3, 32, 32])
    net.conv(16)
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        _residual(net, filters, stride)
    net.classify(10)
    return net.model()


def resnet18() -> ModelProto:
    """ImageNet: eight residual blocks of 64 to 512 channels."""
    net = _Net([1, 3, 224, 224])
    net.conv(64, (7, 7), 2)
    net.node("MaxPool", [net.at], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    net.shape[2:] = [56, 56]
    for filters, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        _residual(net, filters, stride)
    net.classify(1000)
    return net.model()


def mobilenet_v1() -> ModelProto:
    """Visual wake words: MobileNetV1 of width 0.25 at 96 x 96, two classes."""
    net = _Net([1, 3, 96, 96])
    net.conv(8, stride=2)
    for filters, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)):
        net.separable(filters, stride)
    net.classify(2)
    return net.model()


def autoencoder() -> ModelProto:
    """Anomaly detection: 640 numbers through 128, 8, and back."""
    net = _Net([1, 640])
    for units in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        net.dense(units, relu=True)
    net.dense(640)
    return net.model()


MODELS: dict[str, Callable[[], ModelProto]] = {
    "ds_cnn": ds_cnn,
    "resnet8": resnet8,
    "mobilenet_v1": mobilenet_v1,
    "autoencoder": autoencoder,
}
LARGER: dict[str, Callable[[], ModelProto]] = {"resnet18": resnet18}


def write(name: str, folder: Path) -> Path:
    """Writes a network and its quantised form, whose path is returned."""
    import onnx

    from .main import main as lamina

    source, target = folder / f"{name}.onnx", folder / f"{name}.int8.onnx"
    onnx.save((MODELS | LARGER)[name](), source)
    if lamina(["quantize", str(source), "-o", str(target)]):
        raise SystemExit(2)
    return target


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="lamina.tools.tiny_models", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help=f"default: {', '.join(MODELS)}; also {', '.join(LARGER)}")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in MODELS | LARGER]:
        print(f"lamina.tools.tiny_models: error: unknown models {', '.join(unknown)}", file=sys.stderr)
        return 2
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or MODELS:
        print(write(name, args.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
