"""The extents of a kernel on tensors: which are the same number, which follow from others, and the kernel with others.

    %p = tensor.pad %x low[0, 1] high[0, 1] : tensor<8x30xf32> to tensor<8x32xf32>
    %y = linalg.generic {... (i, j, k) -> (i, 2 * j + k), (j, k) -> (k), (i, j, k) -> (i, j)} ins(%p, %w) outs(%d)

Here the first extents of all are one number, that of `%p` is that of `%x` and 2, and twice that of `%y` and what
windows need beside. An extent that is told by an op whose meaning is not known here stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr
from xdsl.rewriter import Rewriter

from ...compiler.walking import all_ops
from ...dialects.linalg import FillOp, GenericOp, IndexOp
from ...dialects.linalg.views import linear_form, loop_ranges
from ...dialects.linalg_ext import AttentionOp
from ...dialects.tensor import ConcatOp, EmptyOp, ExtractOp, PadOp

Extent: TypeAlias = tuple[SSAValue | Operation, int]
"""A dimension of a value, or a loop of an op."""


@dataclass(frozen=True)
class Sum:
    """An extent that is at least the sum of multiples of others and a constant; or exactly that."""

    total: Extent
    parts: tuple[tuple[Extent, int], ...]
    constant: int
    exact: bool

    def needed(self, known: Mapping[Extent, int]) -> int:
        """The sum, of parts that are known."""
        return self.constant + sum(factor * known[part] for part, factor in self.parts)


@dataclass
class Extents:
    """The extents of a kernel. `first` is the one that others are equal to but for a constant."""

    kernel: FuncOp
    sizes: dict[Extent, int] = field(default_factory=dict[Extent, int])
    parents: dict[Extent, tuple[Extent, int]] = field(default_factory=dict[Extent, tuple[Extent, int]])
    sums: list[Sum] = field(default_factory=list[Sum])
    kept: set[Extent] = field(default_factory=set[Extent])

    def __post_init__(self) -> None:
        for argument in self.kernel.body.block.args:
            self._value(argument)
        for op in self.kernel.body.block.ops:
            for result in op.results:
                self._value(result)
        for op in self.kernel.body.block.ops:
            self._op(op)

    def first(self, extent: Extent) -> tuple[Extent, int]:
        """What an extent is equal to, and the constant to be added."""
        more = 0
        while (parent := self.parents.get(extent)) is not None:
            further = self.parents.get(parent[0])
            if further is None:
                return parent[0], more + parent[1]
            half = self.parents[extent] = further[0], parent[1] + further[1]  # the way is half as long next time
            extent, more = half[0], more + half[1]
        return extent, more

    def free(self) -> dict[Extent, int]:
        """The extents that others follow from, with what they are now."""
        kept = {self.first(extent)[0] for extent in self.kept}
        bound = kept | {self.first(each.total)[0] for each in self.sums}
        firsts = dict.fromkeys(self.first(extent)[0] for extent in self.sizes)
        return {extent: self.sizes[extent] for extent in firsts if extent not in bound}

    def solved(self, chosen: Mapping[Extent, int]) -> dict[Extent, int] | None:
        """All extents where those that are free are `chosen`; None where that cannot be."""
        known = {self.first(extent)[0]: self.sizes[self.first(extent)[0]] for extent in self.kept}
        known.update(chosen)
        waiting: dict[Extent, list[Sum]] = {}
        for each in self._between_firsts:
            waiting.setdefault(each.total, []).append(each)
        while waiting:
            ready = [total for total, sums in waiting.items() if all(p in known for s in sums for p, _ in s.parts)]
            if not ready:
                return None
            for total in ready:
                needed = [(each.needed(known), each.exact) for each in waiting.pop(total)]
                size = known.setdefault(total, max(n for n, _ in needed))
                if any(n > size or (exact and n != size) for n, exact in needed):
                    return None
        found: dict[Extent, int] = {}
        for extent in self.sizes:
            first, more = self.first(extent)
            if first not in known or known[first] + more < 1:
                return None
            found[extent] = known[first] + more
        return found

    @cached_property
    def _between_firsts(self) -> list[Sum]:
        """The sums with what is equal in the place of each extent, of a kernel that was read to its end."""
        found: list[Sum] = []
        for each in self.sums:
            total, constant = self.first(each.total)
            firsts = [(*self.first(part), factor) for part, factor in each.parts]
            constant = each.constant - constant + sum(factor * more for _, more, factor in firsts)
            found.append(Sum(total, tuple((part, factor) for part, _, factor in firsts), constant, each.exact))
        return found

    def _value(self, value: SSAValue) -> None:
        if isinstance(value.type, TensorType):
            self.sizes.update({(value, i): n for i, n in enumerate(value.type.get_shape())})

    def _same(self, a: Extent, b: Extent, more: int = 0) -> None:
        """`a` is `b` and a constant."""
        (first_a, more_a), (first_b, more_b) = self.first(a), self.first(b)
        if first_a != first_b:
            self.parents[first_a] = first_b, more + more_b - more_a

    def _alike(self, a: SSAValue, b: SSAValue) -> None:
        for i in range(_rank(a)):
            self._same((a, i), (b, i))

    def _op(self, op: Operation) -> None:
        match op:
            case GenericOp() | AttentionOp():
                self._structured(op)
            case FillOp():
                self._alike(op.results[0], op.output)
            case PadOp():
                low, high = (_numbers(a) for a in (op.static_low, op.static_high))
                for i, more in enumerate(a + b for a, b in zip(low, high, strict=True)):
                    self._same((op.results[0], i), (op.source, i), more)
            case ConcatOp():
                axis = op.dim.value.data
                for value in op.inputs:
                    for i in range(_rank(value)):
                        if i != axis:
                            self._same((op.results[0], i), (value, i))
                parts = tuple(((value, axis), 1) for value in op.inputs)
                self.sums.append(Sum((op.results[0], axis), parts, 0, True))
            case ReturnOp():
                places = self.kernel.body.block.args[-len(op.operands) :]
                for value, place in zip(op.operands, places, strict=True):
                    self._alike(value, place)
            case EmptyOp():
                pass
            case _:
                for value in (*op.operands, *op.results):
                    self._keep(value)

    def _keep(self, value: SSAValue) -> None:
        self.kept.update((value, i) for i in range(_rank(value)))

    def _structured(self, op: GenericOp | AttentionOp) -> None:
        ranges = loop_ranges(op) if isinstance(op, GenericOp) else op.ranges()
        self.sizes.update({(op, d): n for d, n in enumerate(ranges)})
        for value, map in zip(op.operands, op.maps, strict=True):
            for i, expr in enumerate(map.results if _rank(value) else ()):
                self._subscript(op, (value, i), expr)
        for result, output in zip(op.results, op.outputs, strict=True):
            self._alike(result, output)
        inner = list(all_ops(op))
        extracts = [each for each in inner if isinstance(each, ExtractOp)]
        walked: set[tuple[SSAValue, int]] = set()
        for each in inner if extracts else ():
            if isinstance(each, IndexOp):
                walked |= self._walked(op, each)
        for each in extracts:
            self.kept.update({(each.tensor, i) for i in range(_rank(each.tensor))} - walked)

    def _walked(self, op: GenericOp | AttentionOp, index: IndexOp) -> set[tuple[SSAValue, int]]:
        """The extents that a loop walks where its number says which element is read, and nothing else."""
        loop = op, index.dim.value.data
        found: set[tuple[SSAValue, int]] = set()
        for use in index.result.uses:
            place = use.operation.operands[0], use.index - 1
            if not isinstance(use.operation, ExtractOp) or use.index == 0 or self.sizes[place] != self.sizes[loop]:
                self.kept.add(loop)
                return set()
            found.add(place)
        for place in found:
            self._same(loop, place)
        return found

    def _subscript(self, op: GenericOp | AttentionOp, extent: Extent, expr: AffineExpr) -> None:
        """What a subscript says of the extent that it walks."""
        if isinstance(expr, AffineDimExpr):
            self._same((op, expr.position), extent)
            return
        form = linear_form(expr)
        if form is None or any(factor < 0 for factor in form[0].values()) or not form[0]:
            self.kept.add(extent)
            self.kept.update((op, d) for d in expr.used_dims())
            return
        parts = tuple(((op, d), factor) for d, factor in form[0].items())
        walked = sum(factor * (self.sizes[part] - 1) for part, factor in parts)
        beside = self.sizes[extent] - walked
        self.sums.append(Sum(extent, parts, beside - sum(factor for _, factor in parts), False))


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape()) if isinstance(value.type, TensorType) else 0


def _numbers(array: Attribute) -> tuple[int, ...]:
    assert isinstance(array, DenseArrayBase)
    return tuple(int(n) for n in array.get_values())


def with_extents(kernel: FuncOp, sizes: Mapping[Extent, int]) -> FuncOp:
    """A copy of a kernel whose tensors have other extents."""
    values: dict[SSAValue, SSAValue] = {}
    copy = kernel.clone(values)
    block, other = kernel.body.block, copy.body.block
    pairs: list[tuple[SSAValue, SSAValue]] = list(zip(block.args, other.args, strict=True))
    for op, new in zip(block.ops, other.ops, strict=True):
        pairs += list(zip(op.results, new.results, strict=True))
    types: dict[SSAValue, Attribute] = {}
    for old, new in pairs:
        if isinstance(old.type, TensorType):
            types[old] = TensorType(old.type.element_type, [sizes[old, i] for i in range(_rank(old))])
            Rewriter.replace_value_with_new_type(new, types[old])
    last = block.last_op
    assert last is not None
    copy.properties["function_type"] = FunctionType.from_lists(
        [types.get(argument, argument.type) for argument in block.args],
        [types.get(value, value.type) for value in last.operands],
    )
    return copy
