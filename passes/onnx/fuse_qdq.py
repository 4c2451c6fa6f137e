"""onnx-fuse-qdq: what is computed between DequantizeLinear and QuantizeLinear is computed in integers.

    %a = "onnx.DequantizeLinear"(%x, %sx, %zx)
    %b = "onnx.DequantizeLinear"(%w, %sw, %zw)
    %c = "onnx.Conv"(%a, %b)
    %d = "onnx.Relu"(%c)
    %y = "onnx.QuantizeLinear"(%d, %sy, %zy)
    ->
    %c = "onnx.QLinearConv"(%x, %sx, %zx, %w, %sw, %zw, %sy, %zy)
    %y = "onnx.Clip"(%c, %zy) : tensor<1x8x4x4xi8>            (where the range of the type does not clip already)

Conv, MatMul and Gemm add int32 products up and scale the sum once, by sx sw / sy in float32, as ONNX defines
QLinearConv and ONNX Runtime computes QDQ models. Read as floats the same model rounds every product and every partial
sum, so the two may differ by one step where a result lies next to the middle between two steps; the integers are the
exact ones. Clip and Relu move behind the rounding, which keeps order. What only moves, chooses or joins numbers
(MaxPool, Reshape, Concat, ...) works on the integers where all sides have one scale. Add and means become
com.microsoft's, with the same float meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.dtypes import dtype_of
from ...compiler.weights import Array, WeightStore
from ...dialects.onnx import OnnxOp, is_absent
from ...dialects.onnx.attributes import python_value
from .nodes import MICROSOFT, constant, constant_of, import_microsoft, inserted, made

_MOVED = ("MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity")
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


@dataclass(frozen=True)
class FuseQdq(ModulePass):
    """Makes integer operators of those between DequantizeLinear and QuantizeLinear."""

    name = "onnx-fuse-qdq"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                _Fuser(weights).run(function.body.block)
        import_microsoft(op)


@dataclass(frozen=True)
class Quantized:
    """Integers with what they stand for: `scale` times their distance from `zero`."""

    value: SSAValue
    scale: SSAValue
    zero: SSAValue
    axis: int

    @property
    def parameters(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        """As the operands of a quantised operator."""
        return self.value, self.scale, self.zero

    @property
    def is_uniform(self) -> bool:
        """Whether there is one scale for all."""
        return _elements(self.scale) == 1


class _Fuser:
    def __init__(self, weights: WeightStore):
        self.weights = weights

    def run(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, OnnxOp) and op.parent is block and (fused := _FUSED.get(op.name)):
                self._fuse(op, fused)

    def _fuse(self, op: OnnxOp, fused: Callable[[_Fuser, OnnxOp, Operation], Operation | None]) -> None:
        chain, last = self._activations(op)
        reader = _only_reader(last.results[0])
        if reader is None or not _is_plain(reader, "onnx.QuantizeLinear") or len(reader.operands) != 3:
            return
        if _elements(reader.operands[1]) != 1 or dtype_of(reader.results[0].type) not in _BYTES:
            return
        made = fused(self, op, reader)
        if made is None:
            return
        block = reader.parent
        assert block is not None
        made.location = op.location
        block.insert_op_before(made, reader)
        result = self._clipped(made.results[0], chain, reader)
        reader.results[0].replace_all_uses_with(result)
        for old in (reader, *reversed(chain), op):
            old.detach()
            old.erase()

    def _activations(self, op: OnnxOp) -> tuple[list[Operation], Operation]:
        """The Relu and Clip, with known bounds, through which the result goes and nowhere else."""
        chain: list[Operation] = []
        last: Operation = op
        while (reader := _only_reader(last.results[0])) is not None and self._bounds(reader) is not None:
            chain.append(reader)
            last = reader
        return chain, last

    def _bounds(self, op: Operation) -> tuple[float, float] | None:
        if op.name == "onnx.Relu":
            return 0.0, np.inf
        if op.name != "onnx.Clip" or op.attributes:
            return None
        found: list[float] = [-np.inf, np.inf]
        for i, bound in enumerate(op.operands[1:]):
            if not is_absent(bound):
                value = self.constant(bound)
                if value is None or value.size != 1:
                    return None
                found[i] = float(value.reshape(-1)[0])
        return found[0], found[1]

    def _clipped(self, value: SSAValue, chain: Sequence[Operation], reader: Operation) -> SSAValue:
        """The integers that what is between the bounds rounds to; nothing where these are all of the type."""
        if not chain:
            return value
        scale, zero = self.constant(reader.operands[1]), self.constant(reader.operands[2])
        dtype = dtype_of(value.type)
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        low, high = float(least), float(most)
        assert scale is not None and zero is not None
        for op in chain:
            bounds = self._bounds(op)
            assert bounds is not None
            rounded = np.rint(np.array(bounds, np.float32) / scale.reshape(-1)[0]) + np.float32(zero.reshape(-1)[0])
            first, last = np.clip(rounded, least, most)
            low, high = min(max(low, first), last), min(max(high, first), last)
        if (low, high) == (least, most):
            return value
        ends = [constant(np.array(end, dtype), "bound", reader, self.weights) for end in (low, high)]
        clip = made("onnx.Clip", [value, *ends], reader.results[0].type)
        result = inserted(clip, reader)
        clip.location = chain[-1].location
        return result

    def constant(self, value: SSAValue) -> Array | None:
        """The elements of an `onnx.Constant`."""
        return constant_of(value, self.weights)

    def quantized(self, value: SSAValue) -> Quantized | None:
        """What a DequantizeLinear with known scale and zero point reads."""
        op = value.owner
        if not isinstance(op, OnnxOp) or not _is_plain(op, "onnx.DequantizeLinear") or len(op.operands) != 3:
            return None
        if self.constant(op.operands[1]) is None or self.constant(op.operands[2]) is None:
            return None
        axis = op.attributes.get("axis")
        value, scale, zero = op.operands
        return Quantized(value, scale, zero, 1 if axis is None else python_value(axis, self.weights))

    def activation(self, value: SSAValue) -> Quantized | None:
        """Bytes with one scale."""
        found = self.quantized(value)
        return found if found and found.is_uniform and dtype_of(found.value.type) in _BYTES else None

    def bias(self, value: SSAValue, data: Quantized, weights: Quantized) -> SSAValue | None:
        """An int32 bias whose scale is that of the products."""
        found = self.quantized(value)
        if found is None or dtype_of(found.value.type) != np.int32:
            return None
        own, zero, *scales = (self.constant(v) for v in (found.scale, found.zero, data.scale, weights.scale))
        assert own is not None and zero is not None and scales[0] is not None and scales[1] is not None
        product = scales[0].reshape(-1)[0] * scales[1].reshape(-1)
        fits = np.allclose(own.reshape(-1), product, rtol=1e-6, atol=0) and not np.any(zero)
        return found.value if fits else None


def _convolution(fuser: _Fuser, op: OnnxOp, reader: Operation) -> Operation | None:
    data, weights = fuser.activation(op.operands[0]), fuser.quantized(op.operands[1])
    if data is None or weights is None or not (weights.is_uniform or weights.axis == 0):
        return None
    operands = [*data.parameters, *weights.parameters, *reader.operands[1:]]
    if len(op.operands) > 2 and not is_absent(op.operands[2]):
        bias = fuser.bias(op.operands[2], data, weights)
        if bias is None:
            return None
        operands.append(bias)
    return made("onnx.QLinearConv", operands, reader.results[0].type, op.attributes)


def _gemm(fuser: _Fuser, op: OnnxOp, reader: Operation) -> Operation | None:
    data, weights = fuser.activation(op.operands[0]), fuser.quantized(op.operands[1])
    told = {name: python_value(value, fuser.weights) for name, value in op.attributes.items()}
    channels = 0 if told.get("transB", 0) else 1
    if data is None or weights is None or not (weights.is_uniform or weights.axis in (channels, channels - 2)):
        return None
    if told.get("alpha", 1.0) != 1.0 or told.get("beta", 1.0) != 1.0:
        return None
    bias: list[SSAValue] = []
    if len(op.operands) > 2 and not is_absent(op.operands[2]):
        found = fuser.bias(op.operands[2], data, weights)
        if found is None:
            return None
        bias = [found]
    if not bias:
        bias = [inserted(made("onnx.NoValue", [], NoneType()), op)]
    kept = {name: value for name, value in op.attributes.items() if name in ("transA", "transB")}
    operands = [*data.parameters, *weights.parameters, *bias, *reader.operands[1:]]
    return made(f"onnx.{MICROSOFT}.QGemm", operands, reader.results[0].type, kept)


def _product(fuser: _Fuser, op: OnnxOp, reader: Operation) -> Operation | None:
    left, right = fuser.activation(op.operands[0]), fuser.quantized(op.operands[1])
    if left is None or right is None or dtype_of(right.value.type) not in _BYTES:
        return None
    rank = _rank(right.value)
    if not right.is_uniform and not (rank == 2 and right.axis in (1, -1)):
        return None
    operands = [*left.parameters, *right.parameters, *reader.operands[1:]]
    return made("onnx.QLinearMatMul", operands, reader.results[0].type)


def _sum(fuser: _Fuser, op: OnnxOp, reader: Operation) -> Operation | None:
    left, right = fuser.activation(op.operands[0]), fuser.activation(op.operands[1])
    if left is None or right is None or len({dtype_of(v.value.type) for v in (left, right)}) != 1:
        return None
    operands = [*left.parameters, *right.parameters, *reader.operands[1:]]
    return made(f"onnx.{MICROSOFT}.QLinearAdd", operands, reader.results[0].type)


def _mean(fuser: _Fuser, op: OnnxOp, reader: Operation) -> Operation | None:
    data = fuser.activation(op.operands[0])
    if data is None or dtype_of(data.value.type) != dtype_of(reader.results[0].type):
        return None
    operands = [*data.parameters, *reader.operands[1:]]
    name = f"onnx.{MICROSOFT}.QLinear{op.operator}"
    kept = {n: a for n, a in op.attributes.items() if n != "dilations"}
    if op.operator == "AveragePool" and len(kept) != len(op.attributes):
        return None
    return made(name, operands, reader.results[0].type, kept)


def _moved(fuser: _Fuser, op: OnnxOp, reader: Operation) -> Operation | None:
    data = fuser.activation(op.operands[0])
    if data is None or len(op.results) != 1 or dtype_of(data.value.type) != dtype_of(reader.results[0].type):
        return None
    for ours, theirs in zip((data.scale, data.zero), reader.operands[1:], strict=True):
        a, b = fuser.constant(ours), fuser.constant(theirs)
        if a is None or b is None or a.reshape(-1)[0] != b.reshape(-1)[0]:
            return None
    return made(op.name, [data.value, *op.operands[1:]], reader.results[0].type, op.attributes)


def _joined(fuser: _Fuser, op: OnnxOp, reader: Operation) -> Operation | None:
    found = [fuser.activation(value) for value in op.operands]
    right = [fuser.constant(value) for value in reader.operands[1:]]
    for data in found:
        if data is None or dtype_of(data.value.type) != dtype_of(reader.results[0].type):
            return None
        for ours, theirs in zip((data.scale, data.zero), right, strict=True):
            own = fuser.constant(ours)
            if own is None or theirs is None or own.reshape(-1)[0] != theirs.reshape(-1)[0]:
                return None
    return made(op.name, [data.value for data in found if data], reader.results[0].type, op.attributes)


_FUSED: dict[str, Callable[[_Fuser, OnnxOp, Operation], Operation | None]] = {
    "onnx.Conv": _convolution,
    "onnx.Gemm": _gemm,
    "onnx.MatMul": _product,
    "onnx.Add": _sum,
    "onnx.AveragePool": _mean,
    "onnx.Concat": _joined,
    "onnx.GlobalAveragePool": _mean,
    **{f"onnx.{name}": _moved for name in _MOVED},
}


def _only_reader(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _is_plain(op: Operation, name: str) -> bool:
    """Whether an op is this one, with scales for whole tensors or slices of an axis and types as they come."""
    return op.name == name and not any(key in op.attributes for key in ("block_size", "output_dtype", "precision"))


def _elements(value: SSAValue) -> int:
    type_ = value.type
    return int(np.prod(type_.get_shape())) if isinstance(type_, TensorType) and type_.has_static_shape() else -1


def _rank(value: SSAValue) -> int:
    return value.type.get_num_dims() if isinstance(value.type, TensorType) else -1
