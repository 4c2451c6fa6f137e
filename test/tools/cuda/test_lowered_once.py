"""A model for several architectures: what is the same on `tiles` is lowered once, and all is what it is alone."""

from xdsl.dialects.func import FuncOp

from lamina.backends import Options
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.passes.gpu.kernels import LAMINA_KERNEL
from lamina.tools.cuda.lowered_once import LoweredOnce
from lamina.tools.sources import new_context

# By warps on sm_80 and by warpgroups on sm_90a; and what is the same on both.
PRODUCT_AND_TANH = """
func.func public @main(%a: tensor<256x128xbf16>, %b: tensor<128x256xbf16>, %x: tensor<5x7xf32>)
    -> (tensor<256x256xf32>, tensor<5x7xf32>) {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<256x128xbf16>, tensor<128x256xbf16>) -> tensor<256x256xf32>
  %t = stablehlo.tanh %x : tensor<5x7xf32>
  return %d, %t : tensor<256x256xf32>, tensor<5x7xf32>
}
"""


def test_what_is_the_same_is_lowered_once() -> None:
    lowered: list[int] = []

    def watch(level: str, program: Program, _: float) -> None:
        if level == "gpu":
            functions = [op for op in program.module.ops if isinstance(op, FuncOp) and LAMINA_KERNEL in op.attributes]
            lowered.append(sum(bool(function.body.blocks) for function in functions))

    context = new_context()
    program = Program(parse_module(PRODUCT_AND_TANH, "product_and_tanh", context), context)
    once = LoweredOnce(Options(cache=False, on_level=watch))
    for name in ("sm_80", "sm_90a", "sm_90a", "sm_80"):
        target = CudaTarget(name)
        whole = target.lower(program, "gpu", Options(cache=False))
        assert str(once.lower(program, target)) == str(whole)
    assert lowered == [2, 1, 1, 0]  # warpgroups ask how many processors there are
