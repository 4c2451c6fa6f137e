"""The nine real networks that ship inside the `onnx` package, and the same with their constant weights made random.

Their weights are `ConstantOfShape` nodes, which hides indexing errors; `randomized` puts seeded values in their place.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.diagnostics import LaminaError
from ..compiler.signature import Array

if TYPE_CHECKING:
    from onnx import ModelProto

NAMES = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)
SCHEME = "onnx:"


def path_of(name: str) -> Path:
    """Where the light model `name` lies. Raises LaminaError for an unknown name."""
    if name not in NAMES:
        raise LaminaError(f"unknown light model '{name}'", hint=f"one of {', '.join(NAMES)}")
    spec = find_spec("onnx")  # found, not imported: that takes a third of a second
    if spec is None or spec.origin is None:
        raise LaminaError("the package 'onnx' is not installed")
    return Path(spec.origin).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"


def expected_output(model: Path) -> Array | None:
    """The stored output beside a light model for `standard_input`, or None for any other file."""
    stored = model.with_name(f"{model.stem}_output_0.pb")
    if not (model.stem.startswith("light_") and stored.is_file()):
        return None
    from onnx import TensorProto, numpy_helper

    proto = TensorProto()
    proto.ParseFromString(stored.read_bytes())
    return numpy_helper.to_array(proto)


def standard_input(shape: tuple[int, ...]) -> Array:
    """The input for which the outputs are stored: 0, 1/n, 2/n, … in row-major order (ONNX's test loader)."""
    n = int(np.prod(shape))
    return (np.arange(n).reshape(shape) / n).astype(np.float32)


def randomized(name: str, seed: int = 0) -> ModelProto:
    """The light model with every constant weight replaced by random values of a scale that keeps activations finite.

    Matrices and filters are normal with variance 2 / fan-in, vectors uniform around one (so that a batch norm's
    variance stays positive), both float32. The model ends at its scores: a softmax over random scores is nearly
    one-hot, and comparing that would say nothing.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path_of(name))
    rng = np.random.default_rng(seed)
    shapes = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    kept: list[Any] = []
    made: set[str] = set()
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        weight, shape = node.output[0], tuple(int(d) for d in shapes[node.input[0]])
        model.graph.initializer.append(numpy_helper.from_array(_draw(rng, shape), weight))
        made.add(weight)
    for i in model.graph.initializer:
        if i.name not in made and i.data_type == onnx.TensorProto.FLOAT:
            i.CopyFrom(numpy_helper.from_array(_draw(rng, tuple(i.dims)), i.name))
    if kept[-1].op_type == "Softmax":
        model.graph.output[0].name = kept.pop().input[0]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def _draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    if len(shape) < 2:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    fan_in = int(np.prod(shape[1:]))
    return (rng.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / fan_in))).astype(np.float32)
