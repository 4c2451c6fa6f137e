"""Narrow types through the cpu target: every code is read, numbers are rounded as ml_dtypes rounds them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import lamina

RNG = np.random.default_rng(3)
FLOATS = ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1"]
INTEGERS = ["INT4", "UINT4", "INT2", "UINT2"]


def casts(x: np.ndarray[Any, Any], *targets: str, **options: Any) -> list[np.ndarray[Any, Any]]:
    """`x` cast to each of `targets` by machine code."""
    source = helper.np_dtype_to_tensor_dtype(x.dtype)
    nodes = [helper.make_node("Cast", ["x"], [name], to=getattr(TensorProto, name), **options) for name in targets]
    outputs = [helper.make_tensor_value_info(name, getattr(TensorProto, name), x.shape) for name in targets]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", source, x.shape)], outputs)
    return lamina.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11))(x)


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return np.array_equal(a.astype(np.float32), b.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_floats_are_rounded_once(source: Any) -> None:
    bits = RNG.integers(0, 2**32, 500, dtype=np.uint64).astype(np.uint32).view(np.float32)
    spread = RNG.standard_normal(500) * np.exp2(RNG.integers(-20, 20, 500))
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 463, 465, -464, 240, 248, 249, 57344, 61440, 6, 7, 5, 0.25, 0.75]
    with np.errstate(all="ignore"):
        x = np.concatenate([bits, spread, edges]).astype(source)
        results = casts(x, *FLOATS, saturate=0)
        for name, y in zip(FLOATS, results, strict=True):
            want = x.astype(helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name)))
            assert y.dtype == want.dtype and same(y, want), name


def test_every_code_of_every_format_is_read() -> None:
    for name in [*FLOATS, "FLOAT8E8M0"]:
        dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name))
        codes = np.arange(1 << ml_dtypes.finfo(dtype).bits).astype(np.uint8).view(dtype)
        [y] = casts(codes, "FLOAT")
        assert same(y, codes), name


def test_integers_lose_their_upper_bits() -> None:
    x = np.arange(-20, 20).astype(np.float32) + np.float32(0.4)
    for name, y in zip(INTEGERS, casts(x, *INTEGERS), strict=True):
        assert same(y, x.astype(np.int32).astype(helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name)))), name
    for name in INTEGERS:
        dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name))
        x = np.arange(-8, 8).astype(dtype)
        [y] = casts(x, "INT8")
        assert np.array_equal(y, x.astype(np.int8)), name


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_powers_of_two(mode: str) -> None:
    from onnx.numpy_helper import to_float8e8m0

    x = np.array([0, 1e-40, 1.0, 1.25, 1.5, 1.75, 3, -3, 3.4e38, np.inf, np.nan, 2.0**-127, 0.7], np.float32)
    for saturate in (0, 1):
        [y] = casts(x, "FLOAT8E8M0", round_mode=mode, saturate=saturate)
        assert same(y, to_float8e8m0(x, bool(saturate), mode))
