"""`bufferize`: every tensor becomes a buffer, and it is decided whose.

Before:
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %w = arith.constant dense_resource<w> : tensor<4xf32>
      %dst = tensor.empty() : tensor<4xf32>
      %y = func.call @kernel_0(%x, %w, %dst) : (...) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
After:
    func.func public @main(%x: memref<4xf32>, %y: memref<4xf32>, %constants: memref<16xi8>) {
      %offset = arith.constant 0 : index
      %w = memref.view %constants[%offset][] : memref<16xi8> to memref<4xf32>
      func.call @kernel_0(%x, %w, %y) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
      func.return
    }

Results are written where they are wanted: into the caller's output buffers and, between kernels, into
`memref.alloc`s, which `plan-arena` replaces by places in one arena. A kernel argument is never both read and
written under two names. Weights lie in one section, `lamina.constants` says where.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from .kernels import KernelEmitter
from .layout import STACK_LIMIT, memref_type
from .main_function import MainEmitter


@dataclass(frozen=True)
class Bufferize(ModulePass):
    """Tensors become buffers, destination-passing; constants get a section.

    `stack`: bytes up to which a kernel's own buffers are on its stack.
    """

    name = "bufferize"

    stack: int = STACK_LIMIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        functions = [f for f in op.ops if isinstance(f, FuncOp)]
        for declaration in functions:
            if not declaration.body.blocks:
                inputs = [memref_type(t) for t in declaration.function_type.inputs]
                declaration.properties["function_type"] = FunctionType.from_lists(inputs, [])
        functions = [f for f in functions if f.body.blocks]
        kernels: dict[str, KernelEmitter] = {}
        for function in functions:
            if function.sym_name.data != "main":
                kernel = kernels[function.sym_name.data] = KernelEmitter(function, self.stack)
                kernel.run()
        scratch = {name: kernel.scratch for name, kernel in kernels.items()}
        for function in functions:
            if function.sym_name.data == "main":
                main = MainEmitter(function, weights, scratch)
                main.run()
                op.attributes["lamina.constants"] = ArrayAttr(
                    [
                        DictionaryAttr(
                            {
                                "key": StringAttr(part.key),
                                "offset": IntegerAttr(part.offset, i64),
                                "bytes": IntegerAttr(part.size, i64),
                            }
                        )
                        for part in main.constants.parts
                    ]
                )
