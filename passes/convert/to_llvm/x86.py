"""x86 to llvm: a vector of any length is cut into registers, and each has an intrinsic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType, VectorType, bf16, f32, i32
from xdsl.ir import SSAValue

from ....compiler.conversion import RuleBuilder
from ....dialects import x86
from .rules import RULES, constant
from .vector import lanes, shuffle

CURRENT_ROUNDING = 4  # what the intrinsic calls the rounding that the processor is set to
_LOOK_UPS = {8: "llvm.x86.avx2.permps", 16: "llvm.x86.avx512.permvar.sf.512"}


def _by_registers(
    b: RuleBuilder, operands: Sequence[SSAValue], register: int, make: Callable[[Sequence[SSAValue]], SSAValue]
) -> SSAValue:
    """What `make` makes of registers of each operand, one vector again; lanes that fill none up are anything."""
    count = lanes(operands[0].type)
    parts: list[SSAValue] = []
    for first in range(0, 1 << (count - 1).bit_length(), register):
        places = [i if i < count else -1 for i in range(first, first + register)]
        parts.append(make(operands if count == register else [shuffle(b, v, v, places) for v in operands]))
    while len(parts) > 1:
        both = range(2 * lanes(parts[0].type))
        parts = [shuffle(b, x, y, both) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0] if lanes(parts[0].type) == count else shuffle(b, parts[0], parts[0], range(count))


@RULES.lowers(x86.PermuteOp)
def lower_permute(op: x86.PermuteOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    table, index = operands
    register = lanes(table.type)

    def one(parts: Sequence[SSAValue]) -> SSAValue:
        return b(llvm.CallIntrinsicOp(_LOOK_UPS[register], [table, *parts], [table.type])).results[0]

    return _by_registers(b, [index], register, one)


@RULES.lowers(x86.ScaleOp)
def lower_scale(op: x86.ScaleOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    register = VectorType(f32, [x86.LANES])
    all_lanes, rounding = constant(b, -1, IntegerType(16)), constant(b, CURRENT_ROUNDING, i32)

    def one(parts: Sequence[SSAValue]) -> SSAValue:
        value, exponent = parts
        arguments = [value, exponent, value, all_lanes, rounding]
        return b(llvm.CallIntrinsicOp("llvm.x86.avx512.mask.scalef.ps.512", arguments, [register])).results[0]

    return _by_registers(b, operands, x86.LANES, one)


@RULES.lowers(x86.ToBFloat16Op)
def lower_to_bfloat16(op: x86.ToBFloat16Op, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    one, both = x86.LANES, 2 * x86.LANES

    def lower(parts: Sequence[SSAValue]) -> SSAValue:
        intrinsic = "llvm.x86.avx512bf16.cvtneps2bf16.512"
        return b(llvm.CallIntrinsicOp(intrinsic, parts, [VectorType(bf16, [one])])).results[0]

    def two(parts: Sequence[SSAValue]) -> SSAValue:
        (both_halves,) = parts
        halves = [shuffle(b, both_halves, both_halves, range(first, first + one)) for first in (one, 0)]
        intrinsic = "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
        return b(llvm.CallIntrinsicOp(intrinsic, halves, [VectorType(bf16, [both])])).results[0]

    few = lanes(operands[0].type) <= one
    return _by_registers(b, operands, one if few else both, lower if few else two)
