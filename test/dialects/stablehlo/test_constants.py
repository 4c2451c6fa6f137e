"""Constants as arrays: what is written into the IR, what goes to the store, and what comes back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType, f32
from xdsl.dialects.test import TestOp as SourceOp

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.dtypes import dense_attribute
from lamina.compiler.parsing import parse_module
from lamina.compiler.printing import print_module
from lamina.compiler.weights import WeightStore
from lamina.dialects import all_dialects
from lamina.dialects.stablehlo import AddOp
from lamina.dialects.stablehlo.constants import constant_value, make_constant

FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn]
INTEGERS = [np.bool_, np.int8, np.uint8, np.int32, np.uint64, ml_dtypes.int4, ml_dtypes.uint4]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.complex64])
def test_small_arrays_are_written_out_and_survive_text(dtype: Any) -> None:
    special = [0, 1, 1, 0] if dtype in INTEGERS else [0.1, -0.0, np.nan, 3]
    array = np.array(special).astype(dtype).reshape(2, 2)
    op = make_constant(array, WeightStore())
    assert isinstance(op.value, DenseIntOrFPElementsAttr)
    ctx = LaminaContext()
    for name in ("builtin", "stablehlo"):
        ctx.register_dialect(name, all_dialects()[name])
    (again,) = parse_module(print_module(op), "text", ctx).ops
    for attr in (op, again):
        read = constant_value(attr, ctx.weights)
        assert read is not None and read.dtype == array.dtype
        np.testing.assert_array_equal(read.view(np.uint8), array.view(np.uint8))


def test_large_arrays_go_to_the_store_uncopied() -> None:
    weights = WeightStore()
    array = np.broadcast_to(np.float32(0.5), (64, 64))
    op = make_constant(array, weights, "w")
    assert isinstance(op.value, DenseResourceAttr)
    assert str(op.output.type) == "tensor<64x64xf32>"
    assert constant_value(op.output, weights) is array


def test_infinities_in_text_are_bit_patterns() -> None:
    assert "0x7f800000" in str(dense_attribute(np.array(np.inf, np.float32)))


def test_what_is_no_constant() -> None:
    x = SourceOp(result_types=[TensorType(f32, [2])]).results[0]
    assert constant_value(x, WeightStore()) is None
    assert constant_value(AddOp(x, x), WeightStore()) is None


def test_missing_handle() -> None:
    with pytest.raises(LaminaError, match="weight 'absent' is not there"):
        constant_value(DenseResourceAttr.from_params("absent", TensorType(f32, [100])), WeightStore())
