"""linalg-unsigned-bytes: products of signed bytes become those of unsigned and signed ones, where only these are fast.

before: %y = linalg.generic ... ins(%a, %w : tensor<4x64xi8>, tensor<64x8xi8>) { extsi %a * extsi %w + ... }
after:  %u = linalg.generic ins(%a) { arith.xori %a, -128 }                  // a + 128, without a sign
        %p = linalg.generic ... ins(%u, %w) { extui %u * extsi %w + ... }
        %y = linalg.generic ins(%p, %sums) { arith.subi %p, %sums }          // 128 times the sums of %w's columns

x86's vpdpbusd multiplies unsigned bytes by signed ones. The right operand is constant, so its sums are too; both new
ops fuse with what is around them. Exact modulo 2^32.

vpmaddubsw adds up pairs in 16 bits: where it is all there is, products whose pairs fit are marked `lamina.pairs_fit`;
the others take operands widened to 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    UnitAttr,
    i8,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.walking import all_ops
from ...compiler.weights import WeightStore
from ...dialects.arith.semantics import attribute_array
from ...dialects.dot.pairs import pairs_fit
from ...dialects.linalg import FillOp, GenericOp, YieldOp
from ...dialects.linalg.contraction import PAIRS_FIT, Contraction, match_contraction
from ...dialects.linalg.ops import Iterator
from ...dialects.stablehlo.constants import constant_attr
from ...dialects.tensor import EmptyOp, PadOp
from ...dialects.tensor import YieldOp as FillerOp
from .hoist_constants import is_constant_argument

SHIFT = 128
i16 = IntegerType(16)


@dataclass(frozen=True)
class UnsignedBytes(ModulePass):
    """Left operands of signed bytes become unsigned ones, on machines that want them so."""

    name = "linalg-unsigned-bytes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        pairs = ours.machine.multiplies_pairs_of_bytes
        if not ours.machine.wants_unsigned_bytes and not pairs:
            return
        every = all_ops(op)
        calls = [inner for inner in every if isinstance(inner, CallOp)]
        for generic in [inner for inner in every if isinstance(inner, GenericOp)]:
            found = match_contraction(generic)
            if found is None or not _takes_signed_bytes(generic, found):
                continue
            if pairs and not _pairs_fit(generic, found, calls, ours.weights):
                _widen(generic, found, ours.weights)
                continue
            if pairs:
                generic.attributes[PAIRS_FIT] = UnitAttr()
            _convert(generic, found, ours.weights)


def _takes_signed_bytes(op: GenericOp, c: Contraction) -> bool:
    types = [cast("TensorType[Attribute]", op.operands[i].type).element_type for i in (c.lhs, c.rhs)]
    right = op.operands[c.rhs]
    plain = all(isinstance(e, AffineDimExpr) or not e.used_dims() for e in op.maps[c.rhs].results)
    return (
        types == [i8, i8]
        and (isinstance(right.owner, arith.ConstantOp) or is_constant_argument(right))
        and plain
        and all(isinstance(_extension(op, i), arith.ExtSIOp) for i in (c.lhs, c.rhs))
    )


def _pairs_fit(op: GenericOp, c: Contraction, calls: list[CallOp], weights: WeightStore) -> bool:
    """Whether pairs of neighbours along the innermost loop of the left operand, if it is over k, fit in 16 bits."""
    inner = op.maps[c.lhs].results[-1]
    if not isinstance(inner, AffineDimExpr) or inner.position not in c.k:
        return False
    axis = op.maps[c.rhs].results.index(inner)
    given = _given(op.operands[c.rhs], calls)
    return bool(given) and all(
        isinstance(value.owner, arith.ConstantOp) and pairs_fit(attribute_array(value.owner.value, weights), axis)
        for value in given
    )


def _given(value: SSAValue, calls: list[CallOp]) -> list[SSAValue]:
    """The value, or what all calls give for an argument."""
    if not isinstance(value, BlockArgument):
        return [value]
    function = value.block.parent_op()
    name = function.sym_name.data if isinstance(function, FuncOp) else None
    return [call.operands[value.index] for call in calls if call.callee.string_value() == name]


def _widen(op: GenericOp, c: Contraction, weights: WeightStore) -> None:
    """Both operands in 16 bits."""
    for argument in (c.rhs, c.lhs):
        made = _wide(op, op.operands[argument], weights)
        Rewriter.insert_op(made, InsertPoint.before(op))
        op.operands[argument] = made[-1].results[0]
        Rewriter.replace_value_with_new_type(op.body.block.args[argument], i16)


def _wide(op: GenericOp, value: SSAValue, weights: WeightStore) -> list[Operation]:
    if isinstance(value.owner, arith.ConstantOp):
        attribute = constant_attr(attribute_array(value.owner.value, weights).astype(np.int16), weights, "wide")
        assert isinstance(attribute, DenseIntOrFPElementsAttr | DenseResourceAttr)
        constant = arith.ConstantOp(attribute)
        constant.location = op.location
        return [constant]
    type_ = cast("TensorType[Attribute]", value.type)
    same = AffineMap.identity(type_.get_num_dims())
    return _elementwise(op, [value], [same], TensorType(i16, type_.get_shape()), _extend)


def _extend(arguments: list[SSAValue]) -> list[Operation]:
    return [arith.ExtSIOp(arguments[0], i16)]


def _extension(op: GenericOp, index: int) -> Operation | None:
    """What widens an argument of the body, if that is all that reads it."""
    argument = op.body.block.args[index]
    return argument.get_user_of_unique_use()


def _convert(op: GenericOp, c: Contraction, weights: WeightStore) -> None:
    unsigned = _unsigned(op, op.operands[c.lhs])
    op.operands[c.lhs] = unsigned
    signed = _extension(op, c.lhs)
    assert isinstance(signed, arith.ExtSIOp)
    Rewriter.replace_op(signed, arith.ExtUIOp(signed.input, i32))

    result = op.res[0]
    rank = len(op.maps[2].results)
    sums, places = _column_sums(op, c, weights)
    spread = AffineMap(rank, 0, tuple(AffineExpr.dimension(place) for place in places))
    less = _elementwise(op, [result, sums[-1].results[0]], [AffineMap.identity(rank), spread], result.type, _less)
    Rewriter.insert_op([*sums, *less], InsertPoint.after(op))
    result.replace_uses_with_if(less[-1].results[0], lambda use: use.operation is not less[-1])


def _unsigned(op: GenericOp, left: SSAValue) -> SSAValue:
    """An operand of `op` without its sign: of a padded one what is padded, which then is written in its place."""
    source = _flipped_source(left)
    if source is not None:
        return source
    pad = left.owner
    filler = _filler(pad) if isinstance(pad, PadOp) and left.has_one_use() else None
    if isinstance(pad, PadOp) and filler is not None:
        inside = _unsigned(op, pad.source)
        constant = arith.ConstantOp(IntegerAttr(filler ^ -SHIFT, i8))
        type_ = cast("TensorType[Attribute]", left.type)
        block = Block(arg_types=[IndexType()] * type_.get_num_dims())
        block.add_op(FillerOp(constant.result))
        low, high = pad.static_low.get_values(), pad.static_high.get_values()
        made: list[Operation] = [constant, PadOp(inside, [], [], Region(block), low, high, type_)]
        for new in made:
            new.location = pad.location
    else:
        type_ = cast("TensorType[Attribute]", left.type)
        made = _elementwise(op, [left], [AffineMap.identity(type_.get_num_dims())], type_, _flip)
    Rewriter.insert_op(made, InsertPoint.before(op))
    return made[-1].results[0]


def _filler(pad: PadOp) -> int | None:
    """The number around what is padded, if it is known and always the same."""
    value = pad.region.block.last_op
    constant = value.operands[0].owner if value is not None else None
    edges = (*pad.static_low.get_values(), *pad.static_high.get_values())
    if DYNAMIC_INDEX in edges or not isinstance(constant, arith.ConstantOp):
        return None
    return constant.value.value.data if isinstance(constant.value, IntegerAttr) else None


def _column_sums(op: GenericOp, c: Contraction, weights: WeightStore) -> tuple[list[Operation], list[int]]:
    """128 times the sums over k of the right operand, and the dimensions of the result along which they lie.

    Of an argument that is a constant in every call they are ops, for `linalg-hoist-constants` to move there.
    """
    right = op.operands[c.rhs]
    loops = [e.position if isinstance(e, AffineDimExpr) else -1 for e in op.maps[c.rhs].results]
    kept = [loop for loop in loops if loop >= 0 and loop not in c.k]
    places = [op.maps[2].results.index(AffineExpr.dimension(loop)) for loop in kept]
    if isinstance(right.owner, arith.ConstantOp):
        axes = tuple(i for i, loop in enumerate(loops) if loop not in kept)
        sums = SHIFT * attribute_array(right.owner.value, weights).sum(axis=axes, dtype=np.int64)
        attribute = constant_attr(sums.astype(np.int32), weights, "column_sums")
        assert isinstance(attribute, DenseIntOrFPElementsAttr | DenseResourceAttr)
        constant = arith.ConstantOp(attribute)
        constant.location = op.location
        return [constant], places
    return _summed(op, right, [loop in kept for loop in loops]), places


def _summed(op: GenericOp, right: SSAValue, kept: list[bool]) -> list[Operation]:
    """128 times the sums of an operand over the dimensions that are not kept."""
    source = cast("TensorType[Attribute]", right.type)
    rank = source.get_num_dims()
    block = Block(arg_types=[source.element_type, i32])
    wide = arith.ExtSIOp(block.args[0], i32)
    shift = arith.ConstantOp(IntegerAttr(SHIFT, i32))
    raised = arith.MuliOp(wide.result, shift.result)
    total = arith.AddiOp(block.args[1], raised.result)
    block.add_ops([wide, shift, raised, total, YieldOp(total.result)])
    type_ = TensorType(i32, [n for n, keep in zip(source.get_shape(), kept, strict=True) if keep])
    zero, empty = arith.ConstantOp(IntegerAttr(0, i32)), EmptyOp([], type_)
    filled = FillOp(zero.result, empty.tensor)
    to = AffineMap(rank, 0, tuple(AffineExpr.dimension(i) for i, keep in enumerate(kept) if keep))
    iterators: list[Iterator] = ["parallel" if keep else "reduction" for keep in kept]
    summed = GenericOp.of([right], [filled.res[0]], [AffineMap.identity(rank), to], iterators, Region(block))
    made: list[Operation] = [zero, empty, filled, summed]
    for new in made:
        new.location = op.location
    return made


def _flip(arguments: list[SSAValue]) -> list[Operation]:
    constant = arith.ConstantOp(IntegerAttr(-SHIFT, i8))
    return [constant, arith.XOrIOp(arguments[0], constant.result)]


def _flipped_source(value: SSAValue) -> SSAValue | None:
    """The bytes of which `value` is the flipped form, as of unsigned inputs; None where it is something else."""
    op = value.owner
    if not isinstance(op, GenericOp) or set(op.iterators) != {"parallel"} or len(op.inputs) != 2:
        return None
    if any(map != AffineMap.identity(map.num_dims) for map in op.maps):
        return None
    source, spread = op.inputs
    fill = spread.owner
    by = fill.value.owner if isinstance(fill, FillOp) else None
    if not isinstance(by, arith.ConstantOp) or not isinstance(by.value, IntegerAttr) or by.value.value.data != -SHIFT:
        return None
    match list(op.body.block.ops):
        case [arith.XOrIOp() as flip, YieldOp()] if tuple(flip.operands) == tuple(op.body.block.args[:2]):
            return source
        case _:
            return None


def _less(arguments: list[SSAValue]) -> list[Operation]:
    return [arith.SubiOp(arguments[0], arguments[1])]


def _elementwise(
    op: Operation,
    inputs: list[SSAValue],
    maps: list[AffineMap],
    type_: TensorType[Attribute],
    body: Callable[[list[SSAValue]], list[Operation]],
) -> list[Operation]:
    """An empty tensor and the op that fills it, at the location of `op`."""
    elements = [cast("TensorType[Attribute]", v.type).element_type for v in inputs]
    block = Block(arg_types=[*elements, type_.element_type])
    made = body(list(block.args[: len(inputs)]))
    block.add_ops([*made, YieldOp(made[-1].results[0])])
    rank = type_.get_num_dims()
    empty = EmptyOp([], type_)
    generic = GenericOp.of(
        inputs, [empty.tensor], [*maps, AffineMap.identity(rank)], ["parallel"] * rank, Region(block)
    )
    for new in (empty, generic):
        new.location = op.location
    return [empty, generic]
