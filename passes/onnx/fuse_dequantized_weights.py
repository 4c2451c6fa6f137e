"""onnx-fuse-dequantized-weights: a product with weights of a few bits reads these, not the floats they stand for.

    %b = "onnx.DequantizeLinear"(%w, %s) {axis = 0, block_size = 32} : (tensor<64x24xi4>, tensor<2x24xf32>) -> ...
    %y = "onnx.MatMul"(%x, %b)
    ->
    %y = "onnx.com.microsoft.MatMulNBits"(%x, %packed, %scales) {K = 64, N = 24, bits = 4, block_size = 32}
        : (tensor<3x64xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<3x24xf32>

Floats would be eight times as much to keep and, for a few rows, to read. So it is with weights of 2 and 4 bits, with
scales for blocks along what is summed, for columns or for all, and of bytes with scales for blocks; in MatMul and in
Gemm, transposed or not. Weights of bytes with scales for columns become floats: these have fused neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, NoneType, TensorType, f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.weights import Array, WeightStore
from ...dialects.onnx import OnnxOp, is_absent
from ...dialects.onnx.attributes import python_value
from .nodes import MICROSOFT, attributes_of, constant, constant_of, import_microsoft, inserted, made

BITS = {
    np.dtype(ml_dtypes.int2): 2,
    np.dtype(ml_dtypes.uint2): 2,
    np.dtype(ml_dtypes.int4): 4,
    np.dtype(ml_dtypes.uint4): 4,
    np.dtype(np.int8): 8,
    np.dtype(np.uint8): 8,
}
UNSIGNED = (np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4), np.dtype(np.uint8))
LONGEST = 128  # of blocks that are made of columns with one scale


@dataclass(frozen=True)
class FuseDequantizedWeights(ModulePass):
    """Makes MatMulNBits of products with dequantised weights."""

    name = "onnx-fuse-dequantized-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        functions = [function for function in op.ops if isinstance(function, FuncOp) and function.body.blocks]
        products = [
            inner
            for function in functions
            for inner in function.body.block.ops
            if isinstance(inner, OnnxOp) and inner.name in ("onnx.MatMul", "onnx.Gemm")
        ]
        if any([_fuse(product, weights) for product in products]):
            import_microsoft(op)


@dataclass(frozen=True)
class Weights:
    """Unsigned numbers of `bits` bits, [N, K], with scales and zero points for blocks of K, [N, blocks]."""

    numbers: Array
    scales: Array
    zeros: Array
    bits: int
    block: int


def _fuse(op: OnnxOp, store: WeightStore) -> bool:
    said: dict[str, Any] = attributes_of(op, store)
    if said.get("transA", 0) or said.get("alpha", 1.0) != 1.0 or said.get("beta", 1.0) != 1.0:
        return False
    x, y, *bias = op.operands
    if not isinstance(x.type, TensorType) or x.type.element_type != f32:
        return False
    turned = bool(said.get("transB", 0))
    if isinstance(y.owner, OnnxOp) and y.owner.name == "onnx.Transpose" and _turns(y.owner, store):
        y, turned = y.owner.operands[0], not turned
    bias = [value for value in bias if not is_absent(value)]
    if any(not isinstance(value.type, TensorType) or value.type.get_num_dims() > 1 for value in bias):
        return False
    found = _dequantized(y, turned, store)
    if found is None:
        return False
    (columns, depth), blocks = found.numbers.shape, found.scales.shape[1]
    numbers = np.pad(found.numbers, ((0, 0), (0, blocks * found.block - depth)))
    middle = 1 << (found.bits - 1)
    constants = [_packed(numbers.reshape(columns, blocks, found.block), found.bits), found.scales]
    if (found.zeros != middle).any():
        per_byte = 8 // found.bits
        constants.append(_packed(np.pad(found.zeros, ((0, 0), (0, -blocks % per_byte))), found.bits))
    name = op.results[0].name_hint or "weights"
    operands: list[SSAValue] = [x, *(constant(array, name, op, store) for array in constants)]
    if bias:
        absent = [inserted(made("onnx.NoValue", [], NoneType()), op) for _ in range(5 - len(operands))]
        operands += [*absent, *bias]
    sizes = {"K": depth, "N": columns, "bits": found.bits, "block_size": found.block}
    attributes: dict[str, Attribute] = {name: IntegerAttr(size, i64) for name, size in sizes.items()}
    result = inserted(made(f"onnx.{MICROSOFT}.MatMulNBits", operands, op.results[0].type, attributes), op)
    result.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(result)
    op.detach()
    op.erase()
    return True


def _turns(op: OnnxOp, store: WeightStore) -> bool:
    """Whether a Transpose swaps two dimensions."""
    order = op.attributes.get("perm")
    rank = op.operands[0].type.get_num_dims() if isinstance(op.operands[0].type, TensorType) else 0
    return rank == 2 and (order is None or list(python_value(order, store)) == [1, 0])


def _dequantized(value: SSAValue, turned: bool, store: WeightStore) -> Weights | None:
    """The known weights behind a DequantizeLinear of [K, N], of [N, K] where `turned`."""
    op = value.owner
    if not isinstance(op, OnnxOp) or op.name != "onnx.DequantizeLinear" or "output_dtype" in op.attributes:
        return None
    operands = [operand for operand in op.operands if not is_absent(operand)]
    arrays = [constant_of(operand, store) for operand in operands]
    numbers, scales = arrays[:2]
    if numbers is None or scales is None or any(array is None for array in arrays):
        return None
    if numbers.ndim != 2 or scales.dtype != np.float32 or numbers.dtype not in BITS:
        return None
    said: dict[str, Any] = attributes_of(op, store)
    axis, block = said.get("axis", 1) % 2, said.get("block_size", 0)
    bits, middle = BITS[numbers.dtype], 0
    if numbers.dtype not in UNSIGNED:
        middle = 1 << (bits - 1)
    zeros = arrays[2] if len(arrays) > 2 else None
    whole = (numbers.astype(np.int16) + middle).astype(np.uint8)
    shift = np.full(scales.shape, middle, np.uint8)
    if zeros is not None:
        shift = (zeros.astype(np.int16) + middle).astype(np.uint8)
    summed = 1 if turned else 0
    if not turned:
        whole = np.ascontiguousarray(whole.T)
    columns, depth = whole.shape
    if block:
        if axis != summed:
            return None
        if not turned:
            scales, shift = scales.T, shift.T
    else:
        block = _divisor(depth, 32 // bits)
        if bits == 8 or not block or (scales.size > 1 and axis == summed):
            return None
        scales, shift = (np.broadcast_to(a.reshape(-1, 1), (columns, depth // block)) for a in (scales, shift))
    if block * bits % 32:
        return None
    return Weights(whole, np.ascontiguousarray(scales), np.ascontiguousarray(shift), bits, block)


def _divisor(depth: int, unit: int) -> int:
    """The longest block, of whole units, that `depth` is a multiple of; 0 if there is none."""
    return next((size for size in range(LONGEST, 0, -unit) if depth % size == 0), 0)


def _packed(numbers: Array, bits: int) -> Array:
    """Those of the last dimension, the first in the lowest bits of a byte."""
    parts = numbers.reshape(*numbers.shape[:-1], -1, 8 // bits)
    return np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), axis=-1).astype(np.uint8)
