"""convert-dot-to-llvm: each `dot.product` becomes the machine's instructions for it, or plain multiply-adds.

before (on x86-64 with AVX2, whose vpmaddwd takes 16 elements):
    %s = dot.product %a, %b, %acc : vector<32xi16>, vector<32xi16> into vector<16xi32>
after:
    %a0 = vector.shuffle %a, %a [0, 1, ..., 15] : ...
    %p0 = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%a0, %b0) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
    ... %a1, %b1, %p1
    %p = vector.shuffle %p0, %p1 [0, 1, ..., 15] : vector<8xi32>, vector<8xi32>
    %s = arith.addi %acc, %p : vector<16xi32>

All of them are exact modulo 2^32. vpmaddubsw saturates at 16 bits: it is taken only where the product promises that
pairs fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
    VectorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...compiler.context import lamina_context
from ...compiler.locations import locate
from ...compiler.machine import Machine
from ...compiler.walking import all_ops
from ...dialects import vector
from ...dialects.arith import shaped
from ...dialects.dot import ProductOp
from ...dialects.dot.ops import sum_type

SIGNED, UNSIGNED = False, True


@dataclass(frozen=True)
class Instruction:
    """An intrinsic for `lanes` sums, of operands so signed; `accumulates`: it takes the sums so far, first."""

    name: str
    lanes: int
    element: str
    unsigned: tuple[bool, bool] = (SIGNED, SIGNED)
    accumulates: bool = True
    features: tuple[tuple[str, ...], ...] = ()  # any of these sets will do
    architecture: str = "x86_64"

    def runs_on(self, machine: Machine) -> bool:
        """Whether the machine has it."""
        if machine.triple.partition("-")[0].replace("arm64", "aarch64") != self.architecture:
            return False
        return not self.features or any(all(f in machine.features for f in group) for group in self.features)


def _vnni() -> list[Instruction]:
    found = [
        Instruction("llvm.x86.avx512.vpdpbusd.512", 16, "i8", (UNSIGNED, SIGNED), features=(("avx512vnni", "avx512f"),))
    ]
    for bits in (256, 128):
        either = (("avx512vnni", "avx512vl"), ("avxvnni",))
        found.append(
            Instruction(f"llvm.x86.avx512.vpdpbusd.{bits}", bits // 32, "i8", (UNSIGNED, SIGNED), features=either)
        )
        for word, signs in (("ss", (SIGNED, SIGNED)), ("uu", (UNSIGNED, UNSIGNED))):
            name = f"llvm.x86.avx2.vpdpb{word}d.{bits}"
            found.append(Instruction(name, bits // 32, "i8", signs, features=(("avxvnniint8",),)))
    return found


def _bf16() -> list[Instruction]:
    names = {512: ("avx512bf16", "avx512f"), 256: ("avx512bf16", "avx512vl"), 128: ("avx512bf16", "avx512vl")}
    return [
        Instruction(f"llvm.x86.avx512bf16.dpbf16ps.{bits}", bits // 32, "bf16", features=(needs,))
        for bits, needs in names.items()
    ]


# The widest first: a product is cut into as many of these as cover its lanes.
INSTRUCTIONS: tuple[Instruction, ...] = (
    Instruction("llvm.x86.avx512.pmaddw.d.512", 16, "i16", accumulates=False, features=(("avx512bw",),)),
    Instruction("llvm.x86.avx2.pmadd.wd", 8, "i16", accumulates=False, features=(("avx2",),)),
    Instruction("llvm.x86.sse2.pmadd.wd", 4, "i16", accumulates=False),
    *_vnni(),
    *_bf16(),
    Instruction("llvm.aarch64.neon.sdot.v4i32.v16i8", 4, "i8", features=(("dotprod",),), architecture="aarch64"),
    Instruction(
        "llvm.aarch64.neon.udot.v4i32.v16i8",
        4,
        "i8",
        (UNSIGNED, UNSIGNED),
        features=(("dotprod",),),
        architecture="aarch64",
    ),
    Instruction(
        "llvm.aarch64.neon.usdot.v4i32.v16i8",
        4,
        "i8",
        (UNSIGNED, SIGNED),
        features=(("i8mm",),),
        architecture="aarch64",
    ),
)


# vpmaddubsw and vpmaddwd, by lanes of 32 bits
_PAIRS = {
    16: ("llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512"),
    8: ("llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd"),
    4: ("llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd"),
}


def instruction_for(element: str, unsigned: tuple[bool, bool], lanes: int, machine: Machine) -> Instruction | None:
    """The widest instruction that `lanes` lanes fill (the narrowest where they fill none), None where there is none."""
    fitting = [i for i in INSTRUCTIONS if i.element == element and i.unsigned == unsigned and i.runs_on(machine)]
    return next((i for i in fitting if i.lanes <= lanes), fitting[-1] if fitting else None)


@dataclass(frozen=True)
class ConvertDotToLLVM(ModulePass):
    """Sums of products of neighbours become the machine's instructions."""

    name = "convert-dot-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        products = [inner for inner in all_ops(op) if isinstance(inner, ProductOp)]
        pieces: Pieces = {}
        for product in products:
            _Lowering(product, machine, pieces).run()


Pieces = dict[tuple[SSAValue, int, int, Block], SSAValue]


class _Lowering:
    """One product; `pieces` are parts of vectors already cut out in a block."""

    def __init__(self, op: ProductOp, machine: Machine, pieces: Pieces):
        self.op = op
        self.machine = machine
        self.pieces = pieces
        self.builder = Builder(InsertPoint.before(op))

    def run(self) -> None:
        op = self.op
        last = op.prev_op
        element = element_of(op.lhs)
        lhs, rhs = op.lhs, op.rhs
        unsigned = (op.unsigned_lhs is not None, op.unsigned_rhs is not None)
        if unsigned == (SIGNED, UNSIGNED):
            lhs, rhs, unsigned = rhs, lhs, (UNSIGNED, SIGNED)
        chosen = instruction_for(str(element), unsigned, op.lanes, self.machine)
        if chosen is not None:
            result = self.by(chosen, lhs, rhs)
        elif op.pairs_fit is not None and self.machine.multiplies_pairs_of_bytes and unsigned == (UNSIGNED, SIGNED):
            result = self.by_pairs(lhs, rhs)
        elif isinstance(element, BFloat16Type):
            result = self.floats(lhs, rhs)
        else:
            result = self.integers(lhs, rhs, unsigned)
        new = op.prev_op
        while new is not None and new is not last:
            locate(new, op.location)
            new = new.prev_op
        op.result.replace_all_uses_with(result)
        op.detach()
        op.erase()

    def by(self, instruction: Instruction, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """As many of one instruction as cover the lanes."""
        lanes, group = instruction.lanes, self.op.group
        sums: list[SSAValue] = []
        for first in range(0, self.op.lanes, lanes):
            operands = [self.part(v, first * group, lanes * group) for v in (lhs, rhs)]
            if instruction.accumulates:
                operands.insert(0, self.part(self.op.acc, first, lanes))
            type_ = VectorType(sum_type(element_of(lhs)), [lanes])
            sums.append(self.builder.insert(llvm.CallIntrinsicOp(instruction.name, operands, [type_])).results[0])
        total = self.joined(sums)
        if instruction.accumulates:
            return total
        return self.builder.insert(arith.AddiOp(self.op.acc, total)).result

    def by_pairs(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Products of bytes added up in pairs of 16 bits, then these times one in pairs of 32."""
        widest = 16 if "avx512bw" in self.machine.features else 8
        lanes = next((n for n in _PAIRS if n <= min(widest, self.op.lanes)), 4)
        sums: list[SSAValue] = []
        for first in range(0, self.op.lanes, lanes):
            operands = [self.part(v, 4 * first, 4 * lanes) for v in (lhs, rhs)]
            words, sums_type = VectorType(IntegerType(16), [2 * lanes]), VectorType(i32, [lanes])
            bytes_name, words_name = _PAIRS[lanes]
            pairs = self.builder.insert(llvm.CallIntrinsicOp(bytes_name, operands, [words])).results[0]
            one = self.builder.insert(
                arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(words, [1] * 2 * lanes), words)
            ).result
            sums.append(self.builder.insert(llvm.CallIntrinsicOp(words_name, [pairs, one], [sums_type])).results[0])
        return self.builder.insert(arith.AddiOp(self.op.acc, self.joined(sums))).result

    def part(self, value: SSAValue, first: int, count: int) -> SSAValue:
        """`count` elements from `first` on, those beyond the end anything."""
        assert isinstance(value.type, VectorType)
        (length,) = value.type.get_shape()
        if length == count:
            return value
        block = self.op.parent
        assert block is not None
        key = (value, first, count, block)
        if key not in self.pieces:
            self.pieces[key] = self.shuffled(value, value, [min(first + i, length - 1) for i in range(count)])
        return self.pieces[key]

    def joined(self, parts: Sequence[SSAValue]) -> SSAValue:
        """Vectors end to end, cut to the product's lanes."""
        while len(parts) > 1:
            length = _length(parts[0])
            parts = [self.shuffled(a, b, range(2 * length)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return self.part(parts[0], 0, self.op.lanes)

    def shuffled(self, a: SSAValue, b: SSAValue, order: Sequence[int]) -> SSAValue:
        """Elements of both vectors by number."""
        assert isinstance(a.type, VectorType)
        type_ = VectorType(a.type.element_type, [len(order)])
        mask = DenseArrayBase.from_list(i64, list(order))
        return self.builder.insert(vector.ShuffleOp(a, b, mask, result_type=type_)).result

    def strided(self, value: SSAValue, first: int) -> SSAValue:
        """Every group's element number `first`."""
        return self.shuffled(value, value, range(first, _length(value), self.op.group))

    def integers(self, lhs: SSAValue, rhs: SSAValue, unsigned: tuple[bool, bool]) -> SSAValue:
        """Widened, multiplied and added one element of the groups after the other."""
        total = self.op.acc
        for j in range(self.op.group):
            x, y = (self.extended(self.strided(v, j), u) for v, u in zip((lhs, rhs), unsigned, strict=True))
            product = self.builder.insert(arith.MuliOp(x, y)).result
            total = self.builder.insert(arith.AddiOp(total, product)).result
        return total

    def extended(self, value: SSAValue, unsigned: bool) -> SSAValue:
        """Integers in 32 bits."""
        type_ = VectorType(i32, [self.op.lanes])
        op = shaped.ExtUIOp if unsigned else shaped.ExtSIOp
        return self.builder.insert(op.create(operands=[value], result_types=[type_])).results[0]

    def floats(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The upper half of a float is a bfloat16: shifts and masks widen a pair, which fused multiply-adds take."""
        total = self.op.acc
        for j in (0, 1):
            x, y = (self.half(v, j) for v in (lhs, rhs))
            total = self.builder.insert(vector.FMAOp(x, y, total)).res
        return total

    def half(self, value: SSAValue, j: int) -> SSAValue:
        """Element j of every pair as f32."""
        words = VectorType(IntegerType(32), [self.op.lanes])
        pairs = self.builder.insert(vector.BitcastOp(value, words)).result
        number = 16 if j == 0 else -(1 << 16)
        operand = self.builder.insert(
            arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(words, [number] * self.op.lanes), words)
        ).result
        wide = self.builder.insert(arith.ShLIOp(pairs, operand) if j == 0 else arith.AndIOp(pairs, operand)).result
        return self.builder.insert(vector.BitcastOp(wide, VectorType(f32, [self.op.lanes]))).result


def _length(value: SSAValue) -> int:
    assert isinstance(value.type, VectorType)
    return value.type.get_shape()[0]


def element_of(value: SSAValue) -> Attribute:
    """The element type of a vector."""
    assert isinstance(value.type, VectorType)
    return value.type.element_type
