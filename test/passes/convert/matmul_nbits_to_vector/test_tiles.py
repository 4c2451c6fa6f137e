"""Products of bfloat16 with weights of a few bits in tiles of AMX: interpreted anywhere, run where there are tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.parser import Parser

import lamina
from lamina.backends import Options
from lamina.backends.cpu.aot import write_native
from lamina.compiler.context import LaminaContext
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.machine import Machine
from lamina.passes import all_passes
from lamina.tools.registry import all_dialects
from lamina.tools.sources import read_program, whole

Array = np.ndarray
BF16 = ml_dtypes.bfloat16
LANES = 16
HERE = pytest.mark.skipif(
    not {"amx-tile", "amx-bf16", "avx512bf16"} <= set(Machine.host().features), reason="this machine has no AMX"
)
# rows around a tile, a strip and two; panels that are not whole, one, two and three
SHAPES = [
    (16, 16, 1, 32),
    (17, 15, 2, 32),
    (31, 40, 3, 32),
    (32, 32, 2, 64),
    (33, 47, 1, 96),
    (63, 33, 2, 128),
    (65, 17, 5, 32),
]


def product(rows: int, columns: int, blocks: int, block: int, bits: int) -> tuple[str, list[Array], Array]:
    """The kernel, its arrays and the result of the op's text in float64."""
    rng = np.random.default_rng()
    panels, words = -(-columns // LANES), blocks * block * bits // 32
    lhs = rng.standard_normal((blocks, rows, block)).astype(BF16)
    packed = rng.integers(0, 256, (panels, words, LANES, 4), np.uint8)
    scales = rng.standard_normal((panels, blocks, LANES)).astype(np.float32)
    x, w, s, o = (
        f"memref<{'x'.join(map(str, shape))}x{kind}>"
        for shape, kind in ((lhs.shape, "bf16"), (packed.shape, "i8"), (scales.shape, "f32"), ((rows, columns), "f32"))
    )
    text = f"""
    func.func public @kernel(%x: {x}, %w: {w}, %s: {s}, %o: {o}) attributes {{lamina.kernel = "matmul_nbits"}} {{
      "linalg_ext.matmul_nbits"(%x, %w, %s, %o)
          <{{bits = {bits} : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}}> : ({x}, {w}, {s}, {o}) -> ()
      func.return
    }}"""
    shifts = np.arange(0, 8, bits)[:, None, None]
    elements = (packed[:, :, None].astype(int) >> shifts) & ((1 << bits) - 1)  # panels, words, shifts, lanes, bytes
    whole_ = elements.transpose(0, 3, 1, 2, 4).reshape(-1, blocks, block)[:columns] - (1 << (bits - 1))
    factors = scales.transpose(0, 2, 1).reshape(-1, blocks)[:columns, :, None]
    weights = (whole_.astype(np.float32) * factors).astype(BF16).astype(np.float64)
    expected = np.einsum("bmk,nbk->mn", lhs.astype(np.float64), weights)
    return text, [lhs, packed.view(np.int8), scales, np.full((rows, columns), np.nan, np.float32)], expected


def interpreted(text: str, arrays: list[Array], l2_bytes: int) -> None:
    """Runs the loops and tiles as their ops mean, for a machine with such a cache."""
    ctx = LaminaContext(machine=replace(Machine.preset("x86-64-amx"), cores=1, l2_bytes=l2_bytes))
    for dialect, factory in all_dialects().items():
        ctx.register_dialect(dialect, factory)
    module = Parser(ctx, text).parse_module()
    all_passes()["convert-matmul-nbits-to-vector"]()().apply(ctx, module)
    module.verify()
    assert "amx.tile_mulf" in str(module)
    Interpreter(ctx).run(module, arrays, "kernel")


def close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_interpreted(shape: tuple[int, int, int, int]) -> None:
    text, arrays, expected = product(*shape, bits=4)
    interpreted(text, arrays, 2 << 20)
    close(arrays[-1], expected)


@pytest.mark.parametrize("bits", [2, 8])
def test_bits(bits: int) -> None:
    text, arrays, expected = product(18, 20, 2, 32, bits)
    interpreted(text, arrays, 2 << 20)
    close(arrays[-1], expected)


def test_stretches_and_blocks_of_rows() -> None:
    """A cache so small that k comes in five parts, and rows in two."""
    text, arrays, expected = product(5 * 32 + 3, 33, 5, 32, 4)
    interpreted(text, arrays, 1 << 15)
    close(arrays[-1], expected)


@HERE
@pytest.mark.parametrize("shape", [*SHAPES, (512 + 9, 70, 176, 32)])
def test_hardware(shape: tuple[int, int, int, int], kernel: Callable[..., None]) -> None:
    for bits in (2, 4, 8):
        text, arrays, expected = product(*shape, bits)
        kernel(text, "convert-matmul-nbits-to-vector", arrays)
        close(arrays[-1], expected)


def model(rows: int, columns: int, zeros: bool) -> onnx.ModelProto:
    """MatMulNBits with blocks of 32."""
    rng = np.random.default_rng()
    parts = [
        numpy_helper.from_array(rng.integers(0, 256, (columns, 4, 16), np.uint8), "w"),
        numpy_helper.from_array(rng.standard_normal((columns, 4)).astype(np.float32), "s"),
    ]
    if zeros:
        parts.append(numpy_helper.from_array(rng.integers(0, 256, (columns, 2), np.uint8), "z"))
    node = helper.make_node(
        "MatMulNBits",
        ["x", *(part.name for part in parts)],
        ["y"],
        domain="com.microsoft",
        K=128,
        N=columns,
        bits=4,
        block_size=32,
        accuracy_level=4,
    )
    info = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [rows, 128]), ("y", [rows, columns]))
    ]
    graph = helper.make_graph([node], "product", info[:1], info[1:], parts)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("rows", [3, 40])
def test_models(rows: int, zeros: bool) -> None:
    """With --precision bf16, whatever this machine has: within its rounding of the reference."""
    net = model(rows, 50, zeros)
    x = np.random.default_rng().standard_normal((rows, 128)).astype(np.float32)
    [reference] = lamina.compile(net, "interpret")(x)
    [found] = lamina.compile(net, precision="bf16")(x)
    np.testing.assert_allclose(found, reference, rtol=0, atol=1e-2 * np.abs(reference).max())


def test_assembly(tmp_path: Path) -> None:
    """Sixteen tile products a round of the unrolled loop or four, nothing on the stack, and no rounding by hand."""
    write_native(
        whole(read_program(model(96, 160, False))), tmp_path / "net.s", "x86-64-amx", Options(precision="bf16")
    )
    loops = (tmp_path / "net.s").read_text().split("\n.L")
    products = [loop for loop in loops if "tdpbf16ps" in loop]
    assert products and all(loop.count("tdpbf16ps") % 4 == 0 and "vcmpunordps" not in loop for loop in products)
    rounding = [loop for loop in loops if "vcvtne2ps2bf16" in loop]
    assert rounding and all("vpmovdw" not in loop for loop in rounding)
