"""What a kernel of blocks of rows holds: a contraction, a depthwise convolution, a contraction, two of them or all."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.linalg import GenericOp
from ....dialects.linalg.depthwise import match_depthwise
from ....dialects.memref import SubviewOp
from ...linalg.grouping import BLOCK_ROWS
from ..contraction_to_vector.analysis import Kernel, Unsupported, analyse_contraction, check_epilogue
from ..contraction_to_vector.epilogue import check
from ..depthwise_to_vector.analysis import Problem, fill_of, problem_of


@dataclass(frozen=True)
class Stages:
    """What becomes the image of the windows, the windows, and what takes their sums; `rows` of the result a block."""

    rows: int
    before: Kernel | None
    windows: Problem
    behind: Kernel | None

    @property
    def image_rows(self) -> int:
        """Rows of the image that a block reads, at most."""
        c = self.windows.convolution
        return min(self.windows.size[0], (self.rows - 1) * c.strides[0] + c.reach[0])


def stages_of(function: FuncOp) -> Stages:
    """The stages of `function`. Raises Unsupported where it holds anything else."""
    generics = [op for op in function.body.block.ops if isinstance(op, GenericOp)]
    at = next((i for i, op in enumerate(generics) if match_depthwise(op)), len(generics))
    rows = generics[at].attributes.get(BLOCK_ROWS) if at < len(generics) else None
    if not isinstance(rows, IntegerAttr) or rows.value.data < 1:
        raise Unsupported(f"no depthwise convolution says in '{BLOCK_ROWS}' how many rows are a block")
    behind = next((i for i in range(at + 1, len(generics)) if "reduction" in generics[i].iterators), len(generics))
    first = next((i for i in range(at) if "reduction" in generics[i].iterators), at)
    padding = at - 1 if at and _pads(generics[at - 1], generics[at]) else at
    windows = problem_of(function, generics[padding:at], generics[at], generics[at + 1 : behind])
    if not windows.convolution.channels_last:
        raise Unsupported("channels do not come last")
    before = _kernel(function, generics[first:padding], windows.image) if first < padding else None
    made = windows.kernel.epilogue[-1].outputs[0] if windows.kernel.epilogue else windows.kernel.contraction.c.value
    after = _kernel(function, generics[behind:], None) if behind < len(generics) else None
    if after is not None and after.contraction.a.value is not made:
        raise Unsupported("the second contraction is of something else")
    if min(first, padding) or (before is None and after is None):
        raise Unsupported("there is more than contractions around a depthwise convolution")
    return Stages(min(rows.value.data, windows.convolution.output[0]), before, windows, after)


def _pads(copy: GenericOp, op: GenericOp) -> bool:
    """Whether `copy` puts the image of `op` among zeros."""
    view = copy.outputs[0].owner
    return isinstance(view, SubviewOp) and view.source is op.inputs[0]


def _kernel(function: FuncOp, ops: list[GenericOp], made: SSAValue | None) -> Kernel:
    """A contraction of rows of an image with its epilogue, which makes `made`."""
    contraction = analyse_contraction(ops[0])
    if contraction.op.maps[2] != AffineMap(len(contraction.sizes), 0, tuple(map(AffineExpr.dimension, range(4)))):
        raise Unsupported("the result's dimensions are not the first loops, in order")
    for op in ops[1:]:
        check_epilogue(contraction, op)
    kernel = Kernel(function, (), fill_of(function, ops[0]), contraction, tuple(ops[1:]))
    check(kernel)
    if kernel.fill is None:
        raise Unsupported("the sums are added to what is there")
    if made is not None and ops[-1].outputs[0] is not made:
        raise Unsupported("the image is another than what the contraction makes")
    return kernel
