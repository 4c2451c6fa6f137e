"""`convert-contraction-to-gpu`: products of f32 matrices by tiles, each of one block, through shared memory.

Before:
    linalg.fill ins(%zero) outs(%c)
    linalg.generic {... (m, k), (k, n) -> (m, n)} ins(%a, %b) outs(%c) { mulf, addf }
    linalg.generic {...} ins(%bias) outs(%c) { addf }
After, in a kernel of one block for each tile of C:
    %sums = affine.for %k = 0 to 1024 step 16 iter_args(...) {
      what the block needs of A and B comes into registers, 16 bytes at a time
      gpu.barrier
      and goes to shared memory, A transposed
      gpu.barrier
      affine.for %d = 0 to 16: outer products of a few rows and columns, vector.fma
    }
    the bias is added in registers; affine.vector_store %c

How large tiles are is data: `schedule`. A kernel is taken when its operands are of f32, C runs along n, and what
follows the product is elementwise on it; others stay as they are, convolutions among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from .emit import emit
from .problem import problem_of
from .schedule import choose

__all__ = ["ConvertContractionToGpu"]


@dataclass(frozen=True)
class ConvertContractionToGpu(ModulePass):
    """Products of f32 matrices by tiles, each of one block, through shared memory."""

    name = "convert-contraction-to-gpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.body.blocks and "lamina.kernel" in function.attributes:
                problem = problem_of(function)
                if problem is not None:
                    emit(function, problem, choose(problem.m, problem.n))
