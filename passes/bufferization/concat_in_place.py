"""`concat-in-place`: kernels write what is concatenated where it belongs in the whole, and nothing is copied.

Before:
    func.call @left(%x, %a) : (memref<8x4xf32>, memref<8x16xf32>) -> ()
    func.call @right(%x, %b) : (memref<8x4xf32>, memref<8x16xf32>) -> ()
    func.call @concat(%a, %b, %y) : (memref<8x16xf32>, memref<8x16xf32>, memref<8x32xf32>) -> ()
After:
    func.call @left_in_0_0(%x, %y) : (memref<8x4xf32>, memref<8x32xf32>) -> ()
    func.call @right_in_0_16(%x, %y) : (memref<8x4xf32>, memref<8x32xf32>) -> ()
with
    func.func private @right_in_0_16(%x: memref<8x4xf32>, %y: memref<8x32xf32>) {
      %part = memref.subview %y[0, 16] [8, 16] [1, 1] : ...
      ...                                                             // as @right, on %part

A part is written in place if one kernel makes it and only the concatenation reads it; the others are still copied.
It goes behind bufferize and before kernels get their schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, MemRefType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from ...compiler.walking import all_ops
from ...dialects.linalg import FillOp, GenericOp, YieldOp
from ...dialects.memref import AllocOp, SubviewOp
from ...dialects.scf import ForOp, WhileOp

KERNEL = "lamina.kernel"
MOST_PLACES = 4  # that a kernel is compiled for; one that writes to more keeps its own buffer, which is copied
_WHOLE_IMAGES = frozenset(map(StringAttr, ("winograd", "depthwise", "separable", "attention")))  # written whole

Place = tuple[int, MemRefType, tuple[int, ...]]
"""Which argument of a kernel is a part of what, and where it begins."""


@dataclass(frozen=True)
class ConcatInPlace(ModulePass):
    """Takes copies of concatenations away."""

    name = "concat-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp) and KERNEL in f.attributes}
        concats = {name: parts for name, f in kernels.items() if (parts := _parts(f)) is not None}
        if not concats:
            return
        calls = [inner for inner in all_ops(op) if isinstance(inner, CallOp)]
        order = {call: i for i, call in enumerate(calls)}
        found = [
            placement
            for call in calls
            if (parts := concats.get(call.callee.string_value())) is not None
            for placement in _placements(call, parts, kernels)
        ]
        places: dict[str, set[Place]] = {}
        for each in found:
            places.setdefault(each.kernel, set()).add(each.place)
        found = [each for each in found if len(places[each.kernel]) <= MOST_PLACES]
        new = _Variants(op, kernels)
        for call, group in groupby(found, key=lambda each: each.concat):
            chosen = list(group)
            first = min((each.maker for each in chosen), key=order.__getitem__)
            _allocate_before(first, call.operands[-1])
            for each in chosen:
                each.redirect(new.placed(each))
            new.shorten(call, {each.index for each in chosen})
        used = {inner.callee.string_value() for inner in all_ops(op) if isinstance(inner, CallOp)}
        for name in new.left - used:
            kernels[name].detach()
            kernels[name].erase()


@dataclass(frozen=True)
class _Placement:
    """An operand of a concatenation that its maker may write into the result."""

    concat: CallOp
    index: int  # of the operand
    maker: CallOp
    position: int  # of the operand among the maker's
    part: SubviewOp

    @property
    def kernel(self) -> str:
        """The maker's kernel."""
        return self.maker.callee.string_value()

    @property
    def place(self) -> Place:
        """Where the kernel will write."""
        whole = cast("MemRefType", self.part.source.type)
        return self.position, whole, tuple(self.part.static_offsets.get_values())

    def redirect(self, kernel: FuncOp) -> None:
        """Lets the maker write into the result."""
        operands = list(self.maker.operands)
        operands[self.position] = self.concat.operands[-1]
        self.maker.operands = operands
        self.maker.properties["callee"] = SymbolRefAttr(kernel.sym_name)


def _parts(function: FuncOp) -> list[SubviewOp] | None:
    """The part of the last argument that each other argument is copied to, if the kernel does nothing else."""
    if function.attributes[KERNEL] != StringAttr("copy") or len(function.body.blocks) != 1:
        return None
    *sources, whole = function.body.block.args
    parts: dict[SSAValue, SubviewOp] = {}
    for op in function.body.block.ops:
        match op:
            case SubviewOp() if op.source is whole and not op.operands[1:]:
                pass
            case GenericOp() if _is_copy(op) and isinstance(part := op.outputs[0].owner, SubviewOp):
                if op.inputs[0] in parts:
                    return None
                parts[op.inputs[0]] = part
            case ReturnOp():
                pass
            case _:
                return None
    return [parts[source] for source in sources] if len(sources) == len(parts) > 1 else None


def _is_copy(op: GenericOp) -> bool:
    """Whether each element of the one output is that of the one input, an argument."""
    if len(op.inputs) != 1 or len(op.outputs) != 1 or not isinstance(op.inputs[0], BlockArgument):
        return False
    first, identity = op.body.block.first_op, AffineMap.identity(len(op.iterators))
    same = isinstance(first, YieldOp) and list(first.operands) == [op.body.block.args[0]]
    return same and all(map == identity for map in op.maps)


def _placements(concat: CallOp, parts: Sequence[SubviewOp], kernels: dict[str, FuncOp]) -> Iterator[_Placement]:
    """The operands of a concatenation that one call makes, which nothing else reads."""
    *sources, whole = concat.operands
    if not isinstance(whole, BlockArgument | AllocOp) and not isinstance(whole.owner, AllocOp):
        return
    if _in_a_loop(concat, whole):
        return
    for index, (source, part) in enumerate(zip(sources, parts, strict=True)):
        users = [use.operation for use in source.uses]
        if not isinstance(source.owner, AllocOp) or len(users) != 2 or concat not in users:
            continue
        maker = users[users[0] is concat]
        if not isinstance(maker, CallOp) or maker.parent is not concat.parent or maker is concat:
            continue
        kernel, position = kernels.get(maker.callee.string_value()), list(maker.operands).index(source)
        if kernel is not None and _writes_structured(kernel, position):
            yield _Placement(concat, index, maker, position, part)


def _in_a_loop(concat: CallOp, whole: SSAValue) -> bool:
    """Whether a loop goes on with what it writes to `whole`: there, what it had before is read until the very call."""
    home = whole.owner if isinstance(whole.owner, Block) else whole.owner.parent
    block = concat.parent
    while block is not None and block is not home:
        around = block.parent_op()
        if isinstance(around, WhileOp | ForOp):
            return True
        block = None if around is None else around.parent
    return False


def _writes_structured(kernel: FuncOp, position: int) -> bool:
    """Whether the argument is only what structured ops write, which may as well write a part of another buffer."""
    if kernel.attributes[KERNEL] in _WHOLE_IMAGES or len(kernel.body.blocks) != 1:
        return False
    argument = kernel.body.block.args[position]
    users = [use.operation for use in argument.uses]
    return all(isinstance(user, FillOp | GenericOp) and user.parent is argument.owner for user in users) and any(
        argument in cast("FillOp | GenericOp", user).outputs for user in users
    )


def _allocate_before(first: CallOp, whole: SSAValue) -> None:
    block = first.parent
    if isinstance(whole.owner, AllocOp) and block is not None:
        whole.owner.detach()
        block.insert_op_before(whole.owner, first)


class _Variants:
    """Kernels made of others. `left` are those with a call less than before."""

    def __init__(self, module: ModuleOp, kernels: dict[str, FuncOp]):
        self.module = module
        self.kernels = kernels
        self.left: set[str] = set()
        self.made: dict[tuple[str, object], FuncOp] = {}

    def placed(self, placement: _Placement) -> FuncOp:
        """The maker's kernel, writing a part of a larger buffer."""
        name, place = placement.kernel, placement.place
        self.left.add(name)
        if (name, place) not in self.made:
            position, whole, offsets = place
            kernel = self.variant(name, "in_" + "_".join(map(str, offsets)))
            block = kernel.body.block
            argument = block.args[position]
            new = block.insert_arg(whole, position)
            new.name_hint = argument.name_hint
            sizes, strides = placement.part.static_sizes.get_values(), placement.part.static_strides.get_values()
            assert isinstance(placement.part.result.type, MemRefType)
            part = SubviewOp.get(new, offsets, sizes, strides, placement.part.result.type)
            block.insert_op_before(part, cast("GenericOp", block.first_op))
            argument.replace_all_uses_with(part.result)
            part.result.name_hint = "part"
            block.erase_arg(argument)
            kernel.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
            self.made[name, place] = kernel
        return self.made[name, place]

    def shorten(self, concat: CallOp, gone: set[int]) -> None:
        """Takes the operands that are in place out of the concatenation; all of it, if none is left."""
        name = concat.callee.string_value()
        self.left.add(name)
        buffers = [concat.operands[i].owner for i in sorted(gone)]
        kept = [operand for i, operand in enumerate(concat.operands) if i not in gone]
        concat.operands = kept
        for buffer in buffers:
            assert isinstance(buffer, AllocOp)
            buffer.detach()
            buffer.erase()
        if len(kept) == 1:
            concat.detach()
            concat.erase()
            return
        key = name, tuple(sorted(gone))
        if key not in self.made:
            kernel = self.variant(name, "without_" + "_".join(map(str, sorted(gone))))
            block = kernel.body.block
            for i in sorted(gone, reverse=True):
                (copy,) = (use.operation for use in block.args[i].uses)
                part = cast("GenericOp", copy).outputs[0].owner
                for op in (copy, cast("SubviewOp", part)):
                    op.detach()
                    op.erase()
                block.erase_arg(block.args[i])
            kernel.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
            attributes = kernel.properties.get("arg_attrs")
            if isinstance(attributes, ArrayAttr):
                kernel.properties["arg_attrs"] = ArrayAttr(a for i, a in enumerate(attributes) if i not in gone)
            self.made[key] = kernel
        concat.properties["callee"] = SymbolRefAttr(self.made[key].sym_name)

    def variant(self, name: str, what: str) -> FuncOp:
        """A copy of a kernel, behind it, with a name of its own."""
        kernel = self.kernels[name].clone()
        taken = {f.sym_name.data for f in self.module.ops if isinstance(f, FuncOp)}
        new = f"{name}_{what}"
        while new in taken:
            new += "_"
        kernel.properties["sym_name"] = StringAttr(new)
        self.module.body.block.insert_op_after(kernel, self.kernels[name])
        self.kernels[new] = kernel  # it may have other results, of which another variant is made
        return kernel
