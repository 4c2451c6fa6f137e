"""Regions on scalars that combine two values, as reductions and scatters carry them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Commutative

from . import shapes
from .ops_binary import AddOp, AndOp, BinaryOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp
from .ops_control import ReturnOp, check_region, returned
from .shapes import fail, is_promotable, scalar

Value = SSAValue | Operation

COMBINERS: dict[str, type[BinaryOp]] = {
    "add": AddOp,
    "multiply": MultiplyOp,
    "maximum": MaximumOp,
    "minimum": MinimumOp,
    "and": AndOp,
    "or": OrOp,
    "xor": XorOp,
}


def combiner(kind: str, element_type: Attribute) -> Region:
    """The region `(a, b) -> kind(a, b)` on scalars."""
    block = Block(arg_types=[scalar(element_type)] * 2)
    op = COMBINERS[kind](*block.args)
    block.add_ops([op, ReturnOp([op])])
    return Region(block)


def combiner_of(region: Region) -> str | None:
    """The inverse of `combiner`: "add" for a region that only adds its two arguments, else None."""
    block = region.blocks.first
    if block is None or len(block.args) != 2:
        return None
    op = block.first_op
    if op is None or not isinstance(end := op.next_op, ReturnOp) or end.next_op is not None:
        return None
    if not isinstance(op, BinaryOp) or not op.has_trait(Commutative):
        return None
    if tuple(op.operands) != tuple(block.args) or tuple(end.operands) != tuple(op.results):
        return None
    return op.name.removeprefix("stablehlo.")


def region_of(body: Region | str, inputs: Sequence[Value]) -> Region:
    """A region as it is, or the one that a name stands for, on scalars of the first input."""
    if isinstance(body, Region):
        return body
    return combiner(body, shapes.tensor(SSAValue.get(inputs[0])).element_type)


def accumulators(body: Region, inputs: Sequence[TensorType], name: str, constraint: str) -> list[Attribute]:
    """The element types that the region accumulates in, checked against those of the inputs."""
    kinds = returned(body, name)
    for kind in kinds:
        if not isinstance(kind, TensorType) or kind.get_num_dims():
            fail(f"{name} must return scalar tensors, got {kind}", constraint)
    check_region(body, name, [*kinds, *kinds], kinds, constraint)
    if len(kinds) != len(inputs):
        fail(f"{name} must return {len(inputs)} values, got {len(kinds)}", constraint)
    elements = [kind.element_type for kind in kinds if isinstance(kind, TensorType)]
    for source, element in zip(inputs, elements, strict=True):
        if not is_promotable(source.element_type, element):
            fail(
                f"{name} accumulates in {element}, to which {source.element_type} is not promotable",
                constraint,
            )
    return elements
