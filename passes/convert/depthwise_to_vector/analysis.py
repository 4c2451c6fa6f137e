"""What a kernel of a depthwise convolution holds: the image without its padding, the sums, the epilogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.affine.linear_forms import access, memref_shape
from ....dialects.linalg import FillOp, GenericOp, YieldOp
from ....dialects.linalg.depthwise import Depthwise, match_depthwise
from ....dialects.memref import SubviewOp
from ..contraction_to_vector.analysis import (
    Contraction,
    Kernel,
    Operand,
    Unsupported,
    accumulation,
    check_epilogue,
    loop_extents,
)
from ..contraction_to_vector.epilogue import check


@dataclass(frozen=True)
class Problem:
    """A convolution, its kernel, and what it convolves: `image` with `pad` rows and columns of zeros before it."""

    convolution: Depthwise
    kernel: Kernel
    image: SSAValue
    size: tuple[int, int]  # rows and columns of `image`
    pad: tuple[int, int]


def analyse(function: FuncOp) -> Problem:
    """The convolution in `function`. Raises Unsupported where it holds anything else."""
    generics = [op for op in function.body.block.ops if isinstance(op, GenericOp)]
    at = next((i for i, op in enumerate(generics) if "reduction" in op.iterators), len(generics))
    if at == len(generics):
        raise Unsupported("there is no depthwise convolution")
    return problem_of(function, generics[:at], generics[at], generics[at + 1 :])


def problem_of(function: FuncOp, before: Sequence[GenericOp], op: GenericOp, epilogue: Sequence[GenericOp]) -> Problem:
    """The convolution `op`, with the padding `before` it. Raises Unsupported where it is no such."""
    found = match_depthwise(op)
    if found is None:
        raise Unsupported("there is no depthwise convolution")
    fill = fill_of(function, op)
    if fill is None:
        raise Unsupported("the sums are added to what is there")
    rows, columns = found.space
    image, pads = _image(op.inputs[0], before)
    if any(pads[d] for d in range(4) if d not in found.space):
        raise Unsupported("more than rows and columns are padded")
    size = memref_shape(image)
    contraction = _contraction(op)
    for generic in epilogue:
        check_epilogue(contraction, generic)
    kernel = Kernel(function, (), fill, contraction, tuple(epilogue))
    check(kernel)
    if size is None:
        raise Unsupported("the image is not plain")
    return Problem(found, kernel, image, (size[rows], size[columns]), (pads[rows], pads[columns]))


def fill_of(function: FuncOp, op: GenericOp) -> FillOp | None:
    """What fills the sums of `op`."""
    fills = [each for each in function.body.block.ops if isinstance(each, FillOp)]
    return next((each for each in fills if each.output is op.outputs[0]), None)


def _image(read: SSAValue, before: Sequence[GenericOp]) -> tuple[SSAValue, list[int]]:
    """What is convolved, and how many zeros there are before it in each dimension."""
    if not before:
        return read, [0] * 4
    [copy] = before if len(before) == 1 else [None]
    view = copy.outputs[0].owner if copy is not None and len(copy.outputs) == 1 else None
    if copy is None or not isinstance(view, SubviewOp) or view.source is not read or len(copy.inputs) != 1:
        raise Unsupported("more than padding comes before the convolution")
    offsets, steps = list(view.static_offsets.get_values()), list(view.static_strides.get_values())
    yielded = copy.body.block.last_op
    plain = isinstance(yielded, YieldOp) and yielded.operands[0] is copy.body.block.args[0]
    identity = all(m == AffineMap.identity(4) for m in copy.maps)
    if not plain or not identity or DYNAMIC_INDEX in offsets or set(steps) != {1}:
        raise Unsupported("more than padding comes before the convolution")
    return copy.inputs[0], [int(offset) for offset in offsets]


def _contraction(op: GenericOp) -> Contraction:
    """The sums as those of a contraction whose columns are a row's and whose batch is the planes.

    With channels last they are its columns, and images' rows its batch.
    """
    sizes = loop_extents(op)
    maps = list(op.maps)
    if len(sizes) > 6:  # of a group any channel stands for all: none is read by this form
        maps[0] = AffineMap(len(sizes), 0, (*maps[0].results[:3], AffineExpr.dimension(3)))
    image, taps, output = (access(value, map_) for value, map_ in zip(op.operands, maps, strict=True))
    if image is None or taps is None or output is None:
        raise Unsupported("an access is not linear")
    add, product = accumulation(op.body.block)
    operands = [Operand(value, form) for value, form in zip(op.operands, (image, taps, output), strict=True)]
    batch, k = tuple(d for d in (0, 1) if sizes[d] > 1), tuple(range(4, len(sizes)))
    return Contraction(op, sizes, operands[1], operands[0], operands[2], 1, batch, (2,), 3, k, None, add, product)
