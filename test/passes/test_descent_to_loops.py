"""The samples of the linalg level give the same numbers on every level down to affine loops."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.dtypes import dtype_of
from lamina.compiler.interpreter import Interpreter
from lamina.dialects import all_dialects
from lamina.passes import all_passes

SAMPLES = sorted((Path(__file__).parent.parent / "samples" / "linalg").glob("*.mlir"))
PIPELINES = [
    "bufferize",
    "plan-arena",
    "convert-linalg-to-affine",
]


def context() -> LaminaContext:
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


def values(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    if dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.integers(-4, 5, shape).astype(dtype)


def main_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def run_buffers(ctx: LaminaContext, module: ModuleOp, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
    """Calls a @main on buffers: inputs, outputs, arena if planned, constants."""
    main = main_of(module)
    arguments = [*inputs, *outputs]
    for argument in main.body.block.args[len(arguments) :]:
        arguments.append(np.full(argument.type.get_shape(), 0x55, np.int8))
    for part in module.attributes["lamina.constants"]:
        start, size = part.data["offset"].value.data, part.data["bytes"].value.data
        arguments[-1][start : start + size] = (
            np.ascontiguousarray(ctx.weights.get(part.data["key"].data)).view(np.int8).reshape(-1)
        )
    Interpreter(ctx).run(module, arguments)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_levels_agree(sample: Path):
    ctx = context()
    module = Parser(ctx, sample.read_text()).parse_module()
    rng = np.random.default_rng(0)
    for op in module.walk():
        value = op.properties.get("value")
        if isinstance(value, DenseResourceAttr):
            type_ = op.results[0].type
            ctx.weights.add(values(type_.get_shape(), dtype_of(type_), rng), value.resource_handle.data)
    types = main_of(module).function_type
    inputs = [values(t.get_shape(), dtype_of(t), rng) for t in types.inputs]
    expected = Interpreter(ctx).run(module, inputs)
    for name in PIPELINES:
        all_passes()[name]()().apply(ctx, module)
        module.verify()
        outputs = [np.full(t.get_shape(), 77, dtype_of(t)) for t in types.outputs]
        run_buffers(ctx, module, inputs, outputs)
        for got, want in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5, err_msg=f"after {name}")
