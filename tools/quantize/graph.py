"""A float ONNX model made ready to be quantised: weights as arrays, batch normalisations folded into what is before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array
from ...dialects.onnx.inference import infer_value_types

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

OLDEST = 13  # the first opset whose QuantizeLinear knows an axis
INITIALIZERS_ALONE = 4  # the first version of the format whose constants are not inputs too
_CONTRACTIONS = ("Conv", "Gemm")
_COUNTED = frozenset(
    {"Add", "And", "Cast", "Concat", "Equal", "Expand", "Gather", "GatherElements", "Mul", "Not", "Sub", "Where"}
)  # of integers: exporters compute shapes and positions with them
_MOST_COUNTED = 1 << 16
_FOLDED = ("Constant", "ConstantOfShape", "Identity", "Reshape", "Transpose", "Unsqueeze")


class FloatModel:
    """A copy of a model: its nodes in order, its constants by name, who makes and who reads each value."""

    def __init__(self, model: ModelProto, where: str):
        import onnx
        from onnx import numpy_helper

        self.where = where
        self.model = onnx.ModelProto()
        self.model.CopyFrom(_upgraded(model, where))
        graph = self.model.graph
        if any(node.op_type in ("QuantizeLinear", "DequantizeLinear") for node in graph.node):
            raise LaminaError("the model is quantised already", where=where)
        self.constants: dict[str, Array] = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.nodes: list[NodeProto] = []
        self.sizes = _sizes(self.model, where) if any(node.op_type == "Shape" for node in graph.node) else {}
        for node in graph.node:
            if not self._fold(node):
                self.nodes.append(node)
        self.inputs = [i.name for i in graph.input if i.name not in self.constants]
        self.outputs = [o.name for o in graph.output]
        for node in list(self.nodes):
            if node.op_type == "BatchNormalization":
                self._fold_normalization(node)
        self.floats = self._float_values()

    @property
    def readers(self) -> dict[str, list[NodeProto]]:
        """The nodes that read each value."""
        found: dict[str, list[NodeProto]] = defaultdict(list)
        for node in self.nodes:
            for name in node.input:
                found[name].append(node)
        return found

    @property
    def maker(self) -> dict[str, NodeProto]:
        """The node that makes each value."""
        return {name: node for node in self.nodes for name in node.output}

    def proto(self, extra_outputs: list[str] | None = None) -> ModelProto:
        """The model as it stands, with more values as outputs if asked for."""
        import onnx
        from onnx import TensorProto, helper, numpy_helper

        made = onnx.ModelProto()
        made.CopyFrom(self.model)
        made.ir_version = max(made.ir_version, INITIALIZERS_ALONE)
        graph = made.graph
        inputs = [info for info in graph.input if info.name in self.inputs]
        del graph.input[:]
        graph.input.extend(inputs)
        del graph.node[:], graph.initializer[:], graph.value_info[:]
        graph.node.extend(self.nodes)
        used = {name for node in self.nodes for name in node.input} | set(self.outputs)
        graph.initializer.extend(
            numpy_helper.from_array(np.asarray(a, order="C"), n) for n, a in self.constants.items() if n in used
        )
        known = set(self.outputs)
        for name in extra_outputs or ():
            if name not in known:
                graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        return made

    def _fold(self, node: NodeProto) -> bool:
        """Makes constants of what an operator of constants gives, where it is one that only makes or moves them, or
        counts with a few."""
        from onnx.reference import ReferenceEvaluator

        given = {name: self._known(name, node) for name in node.input if name}
        known = {name: array for name, array in given.items() if array is not None}
        if len(known) < len(given) or not (node.op_type in _FOLDED or node.op_type == "Shape" or _counts(node, known)):
            return False
        if node.op_type == "GatherElements":  # of which ONNX's evaluator cannot do all
            data, indices = (known[name] for name in node.input)
            values = [_gathered(data, indices, attribute(node, "axis", 0))]
        else:
            values = ReferenceEvaluator(node).run(None, known)
        self.constants.update({name: np.asarray(value) for name, value in zip(node.output, values, strict=True)})
        return True

    def _known(self, name: str, node: NodeProto) -> Array | None:
        """A constant; of what Shape reads, anything of that size."""
        if name in self.constants or node.op_type != "Shape" or name not in self.sizes:
            return self.constants.get(name)
        return np.broadcast_to(np.zeros((), np.bool_), self.sizes[name])

    def _fold_normalization(self, node: NodeProto) -> None:
        """Scale and shift of each channel into the weights and the bias of the convolution or Gemm before."""
        source = self.maker.get(node.input[0])
        if source is None or source.op_type not in _CONTRACTIONS or len(self.readers[node.input[0]]) != 1:
            return
        names = [*node.input[1:5], *source.input[1:]]
        if node.input[0] in self.outputs or any(name not in self.constants for name in names):
            return
        gamma, beta, mean, variance = (self.constants[name].astype(np.float64) for name in node.input[1:5])
        factor = gamma / np.sqrt(variance + attribute(node, "epsilon", 1e-5))
        weights = self.constants[source.input[1]]
        if source.op_type == "Gemm" and (attribute(source, "alpha", 1.0) != 1 or attribute(source, "beta", 1.0) != 1):
            return
        axis = weight_axis(source)
        shape = [-1 if i == axis else 1 for i in range(weights.ndim)]
        bias = self.constants[source.input[2]] if len(source.input) > 2 else np.zeros_like(mean)
        out = node.output[0]
        self.constants[f"{out}.weights"] = (weights * factor.reshape(shape)).astype(weights.dtype)
        self.constants[f"{out}.bias"] = ((bias - mean) * factor + beta).astype(weights.dtype)
        del source.input[1:]
        source.input.extend([f"{out}.weights", f"{out}.bias"])
        source.output[0] = out
        self.nodes.remove(node)

    def _float_values(self) -> set[str]:
        """The values of type float32, as declared, inferred, or of a constant."""
        from onnx import TensorProto

        types = infer_value_types(self.proto(), self.where)
        types |= {value.name: value.type for value in (*self.model.graph.input, *self.model.graph.output)}
        found = {name for name, kind in types.items() if kind.tensor_type.elem_type == TensorProto.FLOAT}
        return found | {name for name, array in self.constants.items() if array.dtype == np.float32}


def _counts(node: NodeProto, known: Mapping[str, Array]) -> bool:
    """Whether a node reads a few integers only."""
    few = all(array.dtype.kind in "biu" and array.size <= _MOST_COUNTED for array in known.values())
    return node.op_type in _COUNTED and few and bool(known)


def _gathered(data: Array, indices: Array, axis: int) -> Array:
    axis %= data.ndim
    kept = data[tuple(slice(None) if d == axis else slice(n) for d, n in enumerate(indices.shape))]
    return np.take_along_axis(kept, indices.astype(np.int64), axis)


def _sizes(model: ModelProto, where: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the values that have one, without symbols."""
    types = infer_value_types(model, where) | {value.name: value.type for value in model.graph.input}
    found: dict[str, tuple[int, ...]] = {}
    for name, kind in types.items():
        if kind.tensor_type.HasField("shape"):
            dims = kind.tensor_type.shape.dim
            if all(dim.HasField("dim_value") for dim in dims):
                found[name] = tuple(dim.dim_value for dim in dims)
    return found


def _upgraded(model: ModelProto, where: str) -> ModelProto:
    from onnx import version_converter

    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), OLDEST)
    if version >= OLDEST:
        return model
    try:
        return version_converter.convert_version(model, OLDEST)
    except Exception as error:  # whatever the converter of `onnx` raises: it has no one class of errors
        raise LaminaError(f"cannot bring the model to opset {OLDEST}: {error}", where=where) from error


def attribute(node: NodeProto, name: str, default: Any) -> Any:
    """The value of an attribute, or the default."""
    from onnx import helper

    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def weight_axis(node: NodeProto) -> int:
    """Which dimension of a node's weights counts its output channels."""
    if node.op_type == "Conv":
        return 0
    if node.op_type == "Gemm":
        return 0 if attribute(node, "transB", 0) else 1
    return -1
