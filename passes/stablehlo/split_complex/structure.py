"""Ops with regions whose arguments do not come in the order of their operands."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....compiler.conversion import Replacement, RuleBuilder
from ....dialects import stablehlo as hlo
from .parts import SPLIT, is_complex


@SPLIT.lowers(hlo.SortOp)
def sort(op: hlo.SortOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    """The comparator takes both sides of one operand, then those of the next: of parts, too."""
    counts = [2 if is_complex(v.type) else 1 for v in op.operands]
    region = b.convert_region(op.regions[0])
    block = region.block
    old, at = list(block.args), 0
    order: list[int] = []
    for count in counts:  # left parts, then right parts: to pairs of left and right
        order += [at + side * count + k for k in range(count) for side in range(2)]
        at += 2 * count
    new = [block.insert_arg(old[i].type, len(old) + n) for n, i in enumerate(order)]
    for i, argument in zip(order, new, strict=True):
        argument.name_hint = old[i].name_hint
        old[i].replace_all_uses_with(argument)
    for argument in old:
        block.erase_arg(argument)
    made = b(
        hlo.SortOp.create(
            operands=operands,
            result_types=[v.type for v in operands],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[region],
        )
    )
    results = iter(made.results)
    return [[next(results) for _ in range(count)] for count in counts]
