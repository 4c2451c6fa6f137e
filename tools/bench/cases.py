"""What is measured: a case is a model with inputs, and how much work it is at least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.signature import Array

OPSET = 17
COMPUTE = ("fma", "bf16", "int8")  # bounds in operations; the others are in bytes


@dataclass(frozen=True)
class Workload:
    """A case ready to be given to a system: an ONNX model (in memory or a file) and its inputs by name.

    `functions` says the same in the words of other libraries: for "jax", "torch" and "numpy" a function
    `f(library, *inputs, *constants)`, for "ncnn" one of the constants that gives the network and its weights.
    `aliases` are inputs and the outputs to be computed in their memory, by those who can.
    """

    model: Any
    inputs: Mapping[str, Array]
    outputs: Sequence[str]
    constants: Mapping[str, Array] = field(default_factory=dict[str, Array])
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    shapes: Mapping[str, int] = field(default_factory=dict[str, int])
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    def file(self, folder: Path) -> Path:
        """The model as a file, written into `folder` when it is in memory."""
        if isinstance(self.model, Path):
            return self.model
        path = folder / "model.onnx"
        path.write_bytes(self.model.SerializeToString())
        return path


@dataclass(frozen=True)
class Case:
    """One row of a group. It travels to the workers, so `build` is a function of a module with its arguments bound.

    `family` is what geometric means are taken over. `bound` names the ceiling that the speed is a share of: "fma"
    (multiply-adds of float32), "bf16" or "int8" (the processor's instructions for them), "copy" or "read" (memory).
    `operations` counts multiplications and additions; `moved` the bytes that must be touched where that is not all
    inputs, constants and outputs.
    `limit` is the largest error against a peer, as `compare` takes it, or `of_largest` value of an output.
    """

    name: str
    family: str
    build: Callable[[], Workload]
    bound: str = "fma"
    operations: int = 0
    moved: int = 0
    limit: float = 1e-3
    of_largest: bool = False


@dataclass
class Graph:
    """An ONNX graph in the making. Values are named by strings; constants and nodes are entered in order."""

    inputs: Mapping[str, Array]
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    nodes: list[Any] = field(default_factory=list[Any])

    def constant(self, array: Array) -> str:
        """A new initializer."""
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A new node; its only output."""
        from onnx import helper

        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def workload(self, output: str, dtype: Any, shape: Sequence[int], **functions: Callable[..., Any]) -> Workload:
        """The model that ends at `output`, whose dtype and shape are given."""
        from onnx import helper, numpy_helper

        def info(name: str, dtype: Any, dims: Sequence[int]) -> Any:
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(dims))

        graph = helper.make_graph(
            self.nodes,
            "case",
            [info(name, array.dtype, array.shape) for name, array in self.inputs.items()],
            [info(output, dtype, shape)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        return Workload(model, self.inputs, [output], self.constants, functions)


def normal(seed: int, *shape: int) -> Array:
    """Seeded standard normal float32 values."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
