"""Pairs of QuantizeLinear and DequantizeLinear around what is to be computed in bytes.

    y = Conv(x, w, b)
    ->
    y' = Conv(DQ(Q(x)), DQ(w: int8 by channel), DQ(b: int32));  y = DQ(Q(y'))

Weights are symmetric, one scale for each output channel; a bias has the scale of its products, and so adds up with
them. Where both operands of a product are activations both are symmetric, as an array has no sums of either. A value
has one pair, whoever reads it. What only chooses or moves numbers (MaxPool, Reshape, Transpose, ...) keeps the scale
of what it reads, and what Concat joins has one; Relu and Clip go with the op before them. A sum that Softmax reads
stays as it is: masks are as good as infinite, and would leave the scores no steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.signature import Array
from .calibration import Range
from .graph import FloatModel, attribute, weight_axis

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

CONTRACTIONS = frozenset({"Conv", "Gemm", "MatMul"})
COMPUTED = CONTRACTIONS | {"Add", "AveragePool", "GlobalAveragePool"}
MOVED = frozenset({"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"})
ACTIVATIONS = frozenset({"Relu", "Clip"})
_BYTES = {"int8": (-128, 127), "uint8": (0, 255)}
_PARAMETERS = ("scale", "zero")


@dataclass
class Plan:
    """Which values get a pair, and from which value they take scale and zero point (often themselves).

    Those in `symmetric` have zero in the middle; a scale holds the ranges of all that it `covers`, or of its own value.
    """

    like: dict[str, str] = field(default_factory=dict[str, str])
    covers: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    symmetric: set[str] = field(default_factory=set[str])

    def join(self, values: Sequence[str], result: str) -> None:
        """Gives values, and all that have a scale with one of them, the scale of `result`."""
        roots = {self.like[value] for value in values}
        self.like |= {name: result for name, root in self.like.items() if root in roots}
        self.like[result] = result
        self.covers[result] = {result}.union(*(self.covers.pop(root, {root}) for root in roots))
        if roots & self.symmetric:
            self.symmetric.add(result)

    @property
    def scaled(self) -> dict[str, set[str]]:
        """The values that have a scale of their own, each with those whose ranges it must hold."""
        return {root: self.covers.get(root, {root}) for root in sorted(set(self.like.values()))}

    @property
    def measured(self) -> list[str]:
        """The values whose range must be known."""
        return sorted(set().union(*self.scaled.values()))


def plan(model: FloatModel) -> Plan:
    """What is quantised: inputs and outputs of every op that computes in bytes, and what moves between them."""
    readers, made = model.readers, Plan()
    for node in model.nodes:
        out = node.output[0] if node.output else ""
        if node.op_type in COMPUTED and _quantizable(model, node):
            given = _activations(model, node)
            for name in given:
                made.like.setdefault(name, name)
            if node.op_type == "MatMul" and len(given) == 2:
                made.symmetric |= {made.like[name] for name in given}
            last = _after_activation(model, node, readers)
            made.like.setdefault(last, last)
        elif node.op_type == "Concat" and all(name in made.like for name in node.input):
            made.join(node.input, out)
        elif node.op_type in MOVED and node.input[0] in made.like and out in model.floats and len(node.output) == 1:
            made.like.setdefault(out, made.like[node.input[0]])
    return made


def _quantizable(model: FloatModel, node: NodeProto) -> bool:
    inputs = [name for name in node.input if name]
    if any(name not in model.floats for name in [*inputs[:2], node.output[0]]):
        return False
    if node.op_type == "Gemm":
        plain = attribute(node, "alpha", 1.0) == attribute(node, "beta", 1.0) == 1 and not attribute(node, "transA", 0)
        return plain and inputs[1] in model.constants and _is_vector(model, inputs)
    if node.op_type == "Conv":
        return inputs[1] in model.constants and _is_vector(model, inputs)
    if node.op_type in ("Add", "MatMul") and inputs[0] in model.constants:
        return False
    if node.op_type == "Add":
        masked = any(reader.op_type == "Softmax" for reader in model.readers[node.output[0]])
        return inputs[1] not in model.constants and not masked
    return True


def _is_vector(model: FloatModel, inputs: Sequence[str]) -> bool:
    """Whether a bias, if there is one, is a constant with one number for each channel."""
    return len(inputs) < 3 or (inputs[2] in model.constants and model.constants[inputs[2]].ndim == 1)


def _activations(model: FloatModel, node: NodeProto) -> list[str]:
    return [name for name in node.input[:2] if name and name not in model.constants]


def _after_activation(model: FloatModel, node: NodeProto, readers: dict[str, list[NodeProto]]) -> str:
    """The result of a node, or of the Relu or Clip that is all that reads it."""
    name = node.output[0]
    following = readers[name]
    if len(following) == 1 and name not in model.outputs and following[0].op_type in ACTIVATIONS:
        return following[0].output[0]
    return name


def insert(model: FloatModel, made: Plan, ranges: dict[str, Range], activations: str = "int8") -> ModelProto:
    """The model with its pairs. `ranges` has every value that the plan measures."""
    return _Inserter(model, made, ranges, activations).model()


class _Inserter:
    def __init__(self, model: FloatModel, made: Plan, ranges: dict[str, Range], activations: str):
        self.source = model
        self.plan = made
        self.low, self.high = _BYTES[activations]
        self.dtype = np.dtype(activations)
        self.scales: dict[str, np.float32] = {}
        self.nodes: list[NodeProto] = []
        for name, covered in made.scaled.items():
            low, high = min(ranges[n].low for n in covered), max(ranges[n].high for n in covered)
            self._activation_parameters(name, Range(low, high))

    def model(self) -> ModelProto:
        for name in self.source.inputs:
            self._pair(name, name)
        for node in self.source.nodes:
            self._node(node)
        self.source.nodes = self.nodes
        result = self.source.proto()
        result.producer_name = "lamina"
        return result

    def _node(self, node: NodeProto) -> None:
        from onnx import NodeProto

        copy = NodeProto()
        copy.CopyFrom(node)
        quantized = node.op_type in CONTRACTIONS and _quantizable(self.source, node)
        for i, name in enumerate(node.input):
            if name in self.plan.like:
                copy.input[i] = f"{name}.real"
        if quantized and node.input[1] in self.source.constants:
            self._weights(node, copy)
        for i, name in enumerate(node.output):
            if name in self.plan.like:
                copy.output[i] = f"{name}.exact" if name in self.source.outputs else name
        self.nodes.append(copy)
        for before, name in zip(copy.output, node.output, strict=True):
            self._pair(before, name)

    def _pair(self, before: str, name: str) -> None:
        """Q and DQ after the value; an output of the model keeps its name."""
        from onnx import helper

        if name not in self.plan.like:
            return
        parameters = [f"{self.plan.like[name]}.{each}" for each in _PARAMETERS]
        real = f"{name}.real"
        self.nodes.append(helper.make_node("QuantizeLinear", [before, *parameters], [f"{name}.q"], f"{name}.Q"))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}.q", *parameters], [real], f"{name}.DQ"))
        if name in self.source.outputs and name not in self.source.inputs:
            self.nodes.append(helper.make_node("Identity", [real], [name], f"{name}.out"))

    def _activation_parameters(self, name: str, told: Range) -> None:
        low, high = min(told.low, 0.0), max(told.high, 0.0)
        symmetric = name in self.plan.symmetric
        if symmetric:
            low, high = min(low, -high), max(high, -low)
        steps = self.high - self.low - int(symmetric)  # as many below as above
        scale = np.float32((high - low) / steps) if high > low else np.float32(1)
        if not np.isfinite(scale) or scale < np.finfo(np.float32).tiny:
            scale = np.float32(1)
        zero = int(np.clip(np.rint(self.low + int(symmetric) - low / float(scale)), self.low, self.high))
        self.scales[name] = scale
        self.source.constants[f"{name}.scale"] = np.array(scale)
        self.source.constants[f"{name}.zero"] = np.array(zero, self.dtype)

    def _weights(self, node: NodeProto, copy: NodeProto) -> None:
        name = node.input[1]
        weights = self.source.constants[name].astype(np.float64)
        axis = weight_axis(node) % weights.ndim
        others = tuple(i for i in range(weights.ndim) if i != axis)
        biased = self.source.constants[node.input[2]] if len(node.input) > 2 and node.input[2] else None
        data_scale = float(self.scales[self.plan.like[node.input[0]]])
        scales = np.abs(weights).max(axis=others, initial=0) / 127
        scales[scales < np.finfo(np.float32).tiny] = 1
        if biased is not None:  # a bias that no 31 bits hold asks for a coarser scale
            scales = np.maximum(scales, np.abs(biased) / (2.0**31 - 2**16) / data_scale)
        scales = scales.astype(np.float32)
        spread = scales.reshape([-1 if i == axis else 1 for i in range(weights.ndim)])
        stored = np.clip(np.rint(weights / spread), -127, 127).astype(np.int8)
        label = f"{name}.{node.output[0]}"
        copy.input[1] = self._dequantized(label, stored, scales, axis)
        if biased is not None:
            products = scales * np.float32(data_scale)
            whole = np.clip(np.rint(biased / products.astype(np.float64)), -(2**31), 2**31 - 1).astype(np.int32)
            copy.input[2] = self._dequantized(f"{label}.bias", whole, products, 0)

    def _dequantized(self, label: str, stored: Array, scales: Array, axis: int) -> str:
        from onnx import helper

        constants = self.source.constants
        constants[f"{label}.q"], constants[f"{label}.scale"] = stored, scales
        constants[f"{label}.zero"] = np.zeros(scales.shape, stored.dtype)
        inputs = [f"{label}.{part}" for part in ("q", *_PARAMETERS)]
        node = helper.make_node("DequantizeLinear", inputs, [f"{label}.real"], f"{label}.DQ", axis=axis)
        self.nodes.append(node)
        return f"{label}.real"
