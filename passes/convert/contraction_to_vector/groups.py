"""Register tiles of narrow elements: each step takes a group of neighbours along k into every lane.

after (16-bit integers, groups of two, one row of a tile):
    %sum = affine.for %k = 0 to 64 step 2 iter_args(%s = ...) -> (vector<16xi32>) {
      %b = affine.vector_load %w[%panel + %k * 16] : memref<7168xi16>, vector<32xi16>   // 16 columns, two of k each
      %a = affine.vector_load %x[%row + %k] : memref<832xi16>, vector<2xi16>
      ... the pair in every lane: vector<32xi16>
      %t = dot.product %pairs, %b, %s : vector<32xi16>, vector<32xi16> into vector<16xi32>

Where k is no multiple of the group, the last step reads what is left of A one by one and fills up with zeros;
the panels of B are filled up when they are packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import dot, vector
from ....dialects.linalg.contraction import PAIRS_FIT
from .analysis import Contraction, is_grouped
from .spot import TilePlace, zero
from .tile import Fetch, Left, Step, TileWriter


def with_room(machine: Machine, contraction: Contraction) -> Machine:
    """The machine as the schedule should see it: where there are registers enough, LLVM loads groups well ahead.

    No instruction of 512 bits takes A from memory and repeats it: each row's group needs a register. Sums of pairs of
    bytes take one, and the ones they are multiplied by another.
    """
    if PAIRS_FIT in contraction.op.attributes:
        return replace(machine, scratch_registers=max(machine.scratch_registers, 4))
    if not is_grouped(contraction) or machine.vector_registers < 32:
        return machine
    return replace(machine, scratch_registers=max(machine.scratch_registers, 9))


def is_unsigned(contraction: Contraction, argument: int) -> bool:
    """Whether the body extends this argument with zeros."""
    return any(isinstance(use.operation, arith.ExtUIOp) for use in contraction.body.args[argument].uses)


class GroupWriter(TileWriter):
    """Writes tiles of `dot.product`."""

    @property
    def group(self) -> int:
        """How many neighbours a lane takes in at a time."""
        assert self.contraction.panels is not None
        return self.contraction.panels.group

    def _can_ask(self, ahead: int) -> bool:
        return False

    def nest(
        self,
        step: Step,
        ks: tuple[SSAValue, ...],
        sums: Sequence[SSAValue],
        block: SSAValue | None,
        fetch: Fetch | None,
    ) -> Sequence[SSAValue]:
        if len(ks) < len(self.levels) - 1:
            return super().nest(step, ks, sums, block, fetch)
        size = self.levels[-1][0]
        tail = size % self.group
        whole = size - tail
        at_once = self.unroll if whole % (self.unroll * self.group) == 0 else 1
        if whole:
            end = AffineExpr.constant(whole)
            sums = self.code.serial(
                AffineExpr.constant(0), end, (), sums, lambda k, held: step((*ks, k), held), self.group, at_once
            )
        if tail:
            last = self.code.index(AffineExpr.constant(whole))
            self.present = tail
            sums = step((*ks, last), sums)
            self.present = self.group
        return sums

    present: int = 0  # elements of A that are there in the group being taken in; 0: all

    def step(
        self,
        place: TilePlace,
        left: Left,
        b_place: SSAValue,
        spots: Sequence[tuple[int, int]],
        ks: Sequence[SSAValue],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The sums after one more group along k."""
        assert self.contraction.panels is not None
        b_flat, b_walk = self.flats[self.contraction.b.value], self.walk(2)
        b_type = VectorType(self.contraction.b.element, [place.lanes * self.group])
        apart = self.contraction.panels.stride
        rights = {
            panel: self.code.load_vector(b_type, b_flat, b_walk + panel * apart, b_place, *ks)
            for panel in dict.fromkeys(panel for _, panel in spots)
        }
        lefts = {
            row: self.spread(place, left.places[row], ks, self.walk(1))
            for row in dict.fromkeys(row for row, _ in spots)
        }
        flags = {
            "unsigned_lhs": is_unsigned(self.contraction, self.contraction.a_argument),
            "unsigned_rhs": is_unsigned(self.contraction, 1 - self.contraction.a_argument),
            "pairs_fit": PAIRS_FIT in self.contraction.op.attributes,
        }
        return [
            self.code(dot.ProductOp(lefts[row], rights[panel], total, **flags)).result
            for (row, panel), total in zip(spots, sums, strict=True)
        ]

    def spread(self, place: TilePlace, at: tuple[SSAValue, int], ks: Sequence[SSAValue], walk: AffineExpr) -> SSAValue:
        """A group of one row of A, in every lane."""
        element: Attribute = self.contraction.a.element
        flat = self.flats[self.contraction.a.value]
        base, offset = at
        pair = VectorType(element, [self.group])
        if self.present in (0, self.group):
            few = self.code.load_vector(pair, flat, walk + offset, base, *ks)
        else:
            few = self.code(vector.BroadcastOp(zero(self.code, element), pair)).vector
            for j in range(self.present):
                value = self.code.load(flat, walk + offset + j, base, *ks)
                few = self.code(vector.InsertOp(value, few, [j])).result
        bits = IntegerType(32)
        one = self.code(vector.BitcastOp(few, VectorType(bits, [1]))).result
        scalar = self.code(vector.ExtractOp(one, [0], bits)).result
        every = self.code(vector.BroadcastOp(scalar, VectorType(bits, [place.lanes]))).vector
        return self.code(vector.BitcastOp(every, VectorType(element, [place.lanes * self.group]))).result
