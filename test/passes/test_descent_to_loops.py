"""Small kernels give the same numbers after every pass from tensors down to parallel affine loops."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.dtypes import dtype_of
from lamina.compiler.interpreter import Interpreter
from lamina.dialects import all_dialects
from lamina.passes import all_passes

PIPELINE = [
    ("bufferize", {}),
    ("plan-arena", {}),
    ("convert-linalg-to-affine", {}),
    ("affine-loop-fusion", {}),
    ("affine-scalrep", {}),
    ("affine-loop-interchange", {}),
    ("affine-loop-coalescing", {}),
    ("affine-loop-tile", {"sizes": (3, 0, 4)}),
    ("affine-loop-unroll-jam", {"factor": 3}),
    ("affine-parallelize", {"grain": 16}),
]

ELEMENTWISE = """
  %dst = tensor.empty() : tensor<5x7xf32>
  %y = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<5x7xf32>, tensor<7xf32>) outs(%dst : tensor<5x7xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
"""
ROWS = """
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<5xf32>) -> tensor<5xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x7xf32>) outs(%f : tensor<5xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %dst = tensor.empty() : tensor<5x7xf32>
  %y = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<5x7xf32>, tensor<5xf32>) outs(%dst : tensor<5x7xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.subf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
"""
COLUMNS = """
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<7xf32>) -> tensor<7xf32>
  %y = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<5x7xf32>) outs(%f : tensor<7xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
"""
TRANSPOSE = """
  %dst = tensor.empty() : tensor<7x5xf32>
  %y = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5x7xf32>) outs(%dst : tensor<7x5xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<7x5xf32>
"""
PAD_AND_CONCAT = """
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<5x7xf32> to tensor<6x9xf32>
  %y = tensor.concat dim(0) %p, %p : (tensor<6x9xf32>, tensor<6x9xf32>) -> tensor<12x9xf32>
"""
SLICES = """
  %s = tensor.extract_slice %x[1, 2] [1, 4] [1, 1] : tensor<5x7xf32> to tensor<4xf32>
  %dst = tensor.empty() : tensor<9xf32>
  %v = arith.constant 2.0 : f32
  %f = linalg.fill ins(%v : f32) outs(%dst : tensor<9xf32>) -> tensor<9xf32>
  %y = tensor.insert_slice %s into %f[1] [4] [2] : tensor<4xf32> into tensor<9xf32>
"""
REVERSED_IN_PLACE = """
  %d0 = tensor.empty() : tensor<7xf32>
  %a = linalg.generic {indexing_maps = [#k, #k], iterator_types = ["parallel"]}
      ins(%b : tensor<7xf32>) outs(%d0 : tensor<7xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(k) -> (-k + 6)>, #k], iterator_types = ["parallel"]}
      ins(%a : tensor<7xf32>) outs(%d0 : tensor<7xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<7xf32>
"""
PACKED = """
  %zero = arith.constant 0.0 : f32
  %d = tensor.empty() : tensor<2x5x4xf32>
  %y = linalg.pack %x padding_value(%zero : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [4]
      into %d : tensor<5x7xf32> -> tensor<2x5x4xf32>
"""
KERNELS = {
    "elementwise": (ELEMENTWISE, "5x7"),
    "rows": (ROWS, "5x7"),
    "columns": (COLUMNS, "7"),
    "transpose": (TRANSPOSE, "7x5"),
    "pad_and_concat": (PAD_AND_CONCAT, "12x9"),
    "slices": (SLICES, "9"),
    "reversed_in_place": (REVERSED_IN_PLACE, "7"),
    "packed": (PACKED, "2x5x4"),
}


def program(body: str, shape: str) -> str:
    """A @main that calls a kernel with this body, whose result is %y."""
    type_ = f"tensor<{shape}xf32>"
    return f"""
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
#k = affine_map<(k) -> (k)>
func.func public @main(%x: tensor<5x7xf32>, %b: tensor<7xf32>) -> {type_} {{
  %to = tensor.empty() : {type_}
  %r = func.call @kernel(%x, %b, %to) : (tensor<5x7xf32>, tensor<7xf32>, {type_}) -> {type_}
  func.return %r : {type_}
}}
func.func private @kernel(%x: tensor<5x7xf32>, %b: tensor<7xf32>, %to: {type_}) -> {type_} {{
{body}
  func.return %y : {type_}
}}
"""


def context() -> LaminaContext:
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


def main_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def run_buffers(ctx: LaminaContext, module: ModuleOp, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
    """Calls a @main on buffers: inputs, outputs, arena if planned, constants (none here)."""
    arguments = [*inputs, *outputs]
    for argument in main_of(module).body.block.args[len(arguments) :]:
        arguments.append(np.full(argument.type.get_shape(), 0x55, np.int8))
    Interpreter(ctx).run(module, arguments)


@pytest.mark.parametrize("name", KERNELS)
def test_levels_agree(name: str):
    ctx = context()
    module = Parser(ctx, program(*KERNELS[name])).parse_module()
    rng = np.random.default_rng(0)
    types = main_of(module).function_type
    inputs = [rng.uniform(-1, 1, t.get_shape()).astype(dtype_of(t)) for t in types.inputs]
    expected = Interpreter(ctx).run(module, inputs)
    for pass_name, options in PIPELINE:
        all_passes()[pass_name]()(**options).apply(ctx, module)
        module.verify()
        outputs = [np.full(t.get_shape(), 77, dtype_of(t)) for t in types.outputs]
        run_buffers(ctx, module, inputs, outputs)
        for got, want in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5, err_msg=f"after {pass_name}")
