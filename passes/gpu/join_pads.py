"""`gpu-join-pads`: a kernel that pads and the only one that reads what it padded, in windows, become one kernel.

Before:
    %p = func.call @pad(%x, %0) : (tensor<1x14x14x32xf32>, tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
    %y = func.call @pool(%p, %1) : (tensor<1x16x16x32xf32>, tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
After:
    %y = func.call @pad_pool(%x, %1) : (tensor<1x14x14x32xf32>, tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>

Threads choose between elements and what is around them as they read (`gpu-fuse-points`); vectors do not, which is why
these are two kernels elsewhere. So do threads that gather windows for a product, 16 bytes at a time, where a pad does
nothing else (views with borders, `convert-contraction-to-cta`). Other products and attention keep operands that lie
whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.locations import fuse
from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp
from ...dialects.linalg.contraction import match_contraction
from ...dialects.tensor import EmptyOp, PadOp
from ..linalg.padding import zeros_before
from .kernels import LAMINA_KERNEL, placed

PIECE = 8  # elements of 16 bits that a thread copies at a time


@dataclass(frozen=True)
class JoinPads(ModulePass):
    """Pads become part of the kernels that read them in windows."""

    name = "gpu-join-pads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        joiner = _Joiner(op, {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp)})
        for call in [inner for inner in all_ops(op) if isinstance(inner, CallOp)]:
            joiner.visit(call)
        joiner.clean()


@dataclass
class _Joiner:
    module: ModuleOp
    functions: dict[str, FuncOp]
    made: dict[tuple[str, str, int], str] = field(default_factory=dict[tuple[str, str, int], str])
    left: set[str] = field(default_factory=set[str])  # kernels that lost a caller

    def visit(self, pad: CallOp) -> None:
        """Joins one call with its reader, where it pads."""
        kernel = self.functions.get(pad.callee.string_value())
        if kernel is None or not _pads(kernel) or len(pad.results) != 1:
            return
        uses = list(pad.results[0].uses)
        if len(uses) != 1 or not isinstance(reader := uses[0].operation, CallOp) or reader.parent is not pad.parent:
            return
        index = uses[0].index
        other = self.functions.get(reader.callee.string_value())
        if other is None or not (_reads_windows(other, index) or _gathers_windows(kernel, other, index)):
            return
        name = self.joined(kernel, other, index)
        taken = [*pad.operands[: len(kernel.args) - 1], *(v for i, v in enumerate(reader.operands) if i != index)]
        call = CallOp(name, taken, list(reader.result_types))
        call.location = fuse([pad.location, reader.location])
        Rewriter.insert_op(call, InsertPoint.before(reader))
        for old, new in zip(reader.results, call.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        place = pad.operands[-1].owner
        for op in (reader, pad, place):
            if isinstance(op, CallOp) or (isinstance(op, EmptyOp) and op.tensor.first_use is None):
                op.detach()
                op.erase()
        self.left |= {kernel.sym_name.data, other.sym_name.data}

    def joined(self, pad: FuncOp, reader: FuncOp, index: int) -> str:
        """The kernel that does both, made where there is none yet."""
        key = pad.sym_name.data, reader.sym_name.data, index
        if key in self.made:
            return self.made[key]
        name = f"{key[0]}_{key[1]}"
        while name in self.functions:
            name += "_"
        inputs = [*pad.args[:-1], *(a for i, a in enumerate(reader.args) if i != index)]
        block = Block(arg_types=[v.type for v in inputs])
        values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
        for old, new in zip(inputs, block.args, strict=True):
            new.name_hint = old.name_hint
        type_ = pad.args[-1].type
        assert isinstance(type_, TensorType)
        empty = placed(EmptyOp([], type_), pad)
        block.add_op(empty)
        values[pad.args[-1]] = empty.tensor
        for function in (pad, reader):
            for op in function.body.block.ops:
                if not isinstance(op, ReturnOp):
                    block.add_op(op.clone(values))
                elif function is pad:
                    values[reader.args[index]] = values[op.operands[0]]
                else:
                    block.add_op(op.clone(values))
        outputs = list(reader.function_type.outputs.data)
        kernel = FuncOp(name, FunctionType.from_lists([v.type for v in inputs], outputs), Region(block), "private")
        kernel.attributes.update(reader.attributes)
        kernel.location = fuse([pad.location, reader.location])
        Rewriter.insert_op(kernel, InsertPoint.after(reader))
        self.functions[name] = kernel
        self.made[key] = name
        return name

    def clean(self) -> None:
        """Drops kernels that nobody calls any more."""
        called = {op.callee.string_value() for op in all_ops(self.module) if isinstance(op, CallOp)}
        for name in self.left - called:
            self.functions[name].detach()
            self.functions[name].erase()


def _pads(kernel: FuncOp) -> bool:
    """Whether a kernel returns a tensor that it pads, of elements that are as they were or computed one by one."""
    if LAMINA_KERNEL not in kernel.attributes or not kernel.body.blocks:
        return False
    last = kernel.body.block.last_op
    ops = [op for op in kernel.body.block.ops if op is not last]
    if not isinstance(last, ReturnOp) or len(last.operands) != 1 or not isinstance(last.operands[0].owner, PadOp):
        return False
    return all(
        isinstance(op, PadOp | EmptyOp | arith.ConstantOp) or (isinstance(op, GenericOp) and _is_elementwise(op))
        for op in ops
    )


def _is_elementwise(op: GenericOp) -> bool:
    return "reduction" not in op.iterators


def _reads_windows(kernel: FuncOp, index: int) -> bool:
    """Whether a kernel that is no product reads an argument in windows, and in no other way."""
    if LAMINA_KERNEL not in kernel.attributes or not kernel.body.blocks:
        return False
    argument = kernel.body.block.args[index]
    readers = [use.operation for use in argument.uses]
    generics = [op for op in kernel.body.block.ops if isinstance(op, GenericOp)]
    if not readers or any(match_contraction(op) is not None for op in generics):
        return False
    return all(isinstance(op, GenericOp) and _in_windows(op, argument) for op in readers)


def _gathers_windows(pad: FuncOp, reader: FuncOp, index: int) -> bool:
    """Whether a product reads windows, and nothing else, of what is an image of 16-bit numbers with zeros around it.

    Pieces of 16 bytes are neighbours in the last dimension, which has no zeros around it.
    """
    uses = list(reader.body.block.args[index].uses)
    op = uses[0].operation if len(uses) == 1 else None
    if not isinstance(op, GenericOp) or uses[0].index > 1 or match_contraction(op) is None:
        return False
    [first, *others] = [op for op in pad.body.block.ops if not isinstance(op, arith.ConstantOp | EmptyOp | ReturnOp)]
    if others or not isinstance(first, PadOp) or first.source is not pad.body.block.args[0]:
        return False
    type_ = first.source.type
    assert isinstance(type_, TensorType)
    element, shape = type_.element_type, type_.get_shape()
    if not isinstance(element, BFloat16Type | Float16Type) or shape[-1] % PIECE:
        return False
    neighbours = isinstance(op.maps[uses[0].index].results[-1], AffineDimExpr)
    return neighbours and zeros_before(first, tuple(range(len(shape) - 1))) is not None


def _in_windows(op: GenericOp, value: SSAValue) -> bool:
    maps = [map for operand, map in zip(op.operands, op.maps, strict=True) if operand is value]
    return all(any(not isinstance(e, AffineDimExpr) and len(e.used_dims()) > 1 for e in m.results) for m in maps)
