"""Detectors of `torchvision`, with random weights, as ONNX files. Needs the extra `vision`.

How many boxes they find is decided by the image: what follows is done for as many as there are. PyTorch's exporter on
`torch.export` takes none of them, the one before it does.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from ..pytorch.tensors import torch_module
from .export import write_as
from .table import SEED

OPSET = 17
SIDE = 320  # of the image
OUTPUTS = ("boxes", "labels", "scores")
_SIZED: dict[str, int] = {"min_size": SIDE, "max_size": SIDE}  # of those that would make a larger image of it
DETECTORS: dict[str, dict[str, int]] = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": {},
    "fasterrcnn_resnet50_fpn": _SIZED,
    "fcos_resnet50_fpn": _SIZED,
    "retinanet_resnet50_fpn": {**_SIZED, "detections_per_img": 20},
    "ssd300_vgg16": {},
    "ssdlite320_mobilenet_v3_large": {},
}


def detector(name: str) -> tuple[Any, dict[str, Any]]:
    """The module, in evaluation mode, of one image [3, 320, 320], and that by name; the same at every call.

    Features are normalised by that image, and scores spread out, so that few are alike: which of two equal boxes is
    kept is a matter of rounding.
    """
    torch = torch_module()
    torch.manual_seed(SEED)
    detection = __import__("torchvision.models.detection").models.detection
    inner = getattr(detection, name)(weights=None, weights_backbone=None, **DETECTORS[name]).eval()
    image = torch.rand(3, SIDE, SIDE)
    norms = [layer for layer in inner.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    hooks = [layer.register_forward_pre_hook(_measure) for layer in norms]
    hooks += [layer.register_forward_hook(_spread) for key, layer in inner.named_modules() if _scores(key, layer)]
    with torch.no_grad():
        inner([image])
    for hook in hooks:
        hook.remove()
    inner.eval()

    class Detector(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, image: Any) -> Any:
            [found] = self.inner([image])
            return tuple(found[output] for output in OUTPUTS)

    return Detector().eval(), {"image": image}


def _scores(key: str, layer: Any) -> bool:
    """Whether a layer's results are scores of classes."""
    return hasattr(layer, "weight") and any(part in key for part in ("cls_", "classification_head.module_list"))


def _measure(norm: Any, inputs: Any) -> None:
    """Lets a normalisation take the statistics of what it is given, where these are more than a number."""
    norm.momentum = 1.0
    norm.train(inputs[0][:, 0].numel() > 1)


def _spread(layer: Any, inputs: Any, result: Any) -> Any:
    """Makes the first results of a layer differ by two from each other, in the mean."""
    if getattr(layer, "is_spread", False):
        return result
    layer.is_spread = True
    scale = 2 / result.std()
    layer.weight *= scale
    return result * scale


def write_detector(name: str, folder: Path) -> Path:
    """The ONNX file of a detector, written into `folder` unless it is there, with `.npz` inputs beside it."""
    return write_as(name, lambda: detector(name), folder, _exported)


def _exported(module: Any, inputs: Sequence[Any]) -> Any:
    """The module as PyTorch's older exporter writes it: the `onnx.ModelProto`."""
    import onnx

    torch = torch_module()
    buffer = BytesIO()
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        options: dict[str, Any] = {"dynamo": False, "opset_version": OPSET}
        torch.onnx.export(module, tuple(inputs), buffer, input_names=["image"], output_names=OUTPUTS, **options)
    return onnx.load_from_string(buffer.getvalue())
