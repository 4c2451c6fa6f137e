"""The ops of `cta`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from .attributes import DIMENSIONS, SharedAttr, ViewType

TF32 = "tf32"
KINDS = ("add", "maximumf")
_TILE = base(TensorType)


def tile_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tile."""
    assert isinstance(value.type, TensorType)
    return cast("TensorType[Attribute]", value.type)


def _verify_shared(type_: TensorType[Attribute]) -> None:
    if not isinstance(type_.encoding, SharedAttr):
        raise VerifyException(f"{type_} does not say how it lies in shared memory")
    shape = tuple(mode.size for mode in type_.encoding.layout.data.modes)
    if shape != type_.get_shape():
        raise VerifyException(f"a layout of {list(shape)} for a tile of {list(type_.get_shape())}")


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """What each block of threads does to the part of the result that begins at its arguments.

    One block for each tile of `sizes`: which matrix, row and column; the last tiles may reach beyond. `schedule` says
    how threads are to do it.

    cta.program {sizes = array<i64: 1, 100, 96>, tile = array<i64: 1, 64, 64>, schedule = {unit = "mma"}} do {
    ^bb0(%b: index, %m: index, %n: index):
      ...
      cta.yield
    }
    """

    name = "cta.program"
    sizes = prop_def(DenseArrayBase.constr(i64))
    tile = prop_def(DenseArrayBase.constr(i64))
    schedule = prop_def(DictionaryAttr)
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `do` $body"

    def __init__(self, sizes: Sequence[int], tile: Sequence[int], schedule: DictionaryAttr, body: Region):
        arrays = {"sizes": DenseArrayBase.from_list(i64, sizes), "tile": DenseArrayBase.from_list(i64, tile)}
        super().__init__(properties={**arrays, "schedule": schedule}, regions=[body])

    @staticmethod
    def empty_body() -> Block:
        """A body to be filled, which begins with which matrix, row and column."""
        body = Block(arg_types=[IndexType()] * DIMENSIONS)
        for argument, name in zip(body.args, ("matrix", "row", "column"), strict=True):
            argument.name_hint = name
        return body

    @property
    def extents(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sizes of the result, and of a tile."""
        return tuple(map(int, self.sizes.get_values())), tuple(map(int, self.tile.get_values()))

    def verify_(self) -> None:
        sizes, tile = self.extents
        if len(sizes) != DIMENSIONS or len(tile) != DIMENSIONS or min(*sizes, *tile) < 1:
            raise VerifyException(f"expected {DIMENSIONS} positive sizes of the result and of a tile")
        if [arg.type for arg in self.body.block.args] != [IndexType()] * DIMENSIONS:
            raise VerifyException(f"expected {DIMENSIONS} indices: which matrix, row and column")


@irdl_op_definition
class ViewOp(IRDLOperation):
    """A buffer seen as matrices: `%v = cta.view %x : memref<8x64xf32> to !cta.view<f32, (1,8,64):(0,64,1)>`."""

    name = "cta.view"
    buffer = operand_def(MemRefType)
    result = result_def(ViewType)
    traits = traits_def(Pure())
    assembly_format = "$buffer attr-dict `:` type($buffer) `to` type($result)"

    def __init__(self, buffer: SSAValue, type_: ViewType):
        super().__init__(operands=[buffer], result_types=[type_])

    def verify_(self) -> None:
        buffer, view = self.buffer.type, self.result.type
        assert isinstance(buffer, MemRefType) and isinstance(view, ViewType)
        if buffer.element_type != view.element_type:
            raise VerifyException(f"a view of {view.element_type} in a buffer of {buffer.element_type}")
        if not isinstance(buffer.layout, NoneAttr):
            raise VerifyException("expected a buffer whose elements follow each other")
        count = prod(buffer.get_shape())
        if not view.borders and not 0 <= view.first.data <= count - view.layout.data.cosize:
            first = f" from {view.first.data}" if view.first.data else ""
            raise VerifyException(f"{view.layout.data}{first} reaches beyond the {count} elements")


class _Access(IRDLOperation, ABC):
    """A tile of one matrix, from a row and a column on."""

    def check(self, tile: SSAValue, view: SSAValue, at: Sequence[SSAValue]) -> None:
        """Raises VerifyException where tile, view and place do not fit."""
        type_ = tile_type(tile)
        assert isinstance(view.type, ViewType)
        if type_.element_type != view.type.element_type or len(type_.get_shape()) != 2:
            raise VerifyException(f"expected a tile of rows and columns of {view.type.element_type}, got {type_}")
        if len(at) != DIMENSIONS:
            raise VerifyException(f"expected {DIMENSIONS} indices: which matrix, row and column")


@irdl_op_definition
class LoadOp(_Access):
    """A tile of a view; what lies outside the matrix is zero.

    %t = cta.load %v[%b, %m, %k] : !cta.view<f32, (1,8,64):(0,64,1)> to tensor<4x16xf32>
    """

    name = "cta.load"
    view = operand_def(ViewType)
    at = var_operand_def(IndexType)
    result = result_def(_TILE)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$view `[` $at `]` attr-dict `:` type($view) `to` type($result)"

    def __init__(self, view: SSAValue, at: Sequence[SSAValue], type_: Attribute):
        super().__init__(operands=[view, at], result_types=[type_])

    def verify_(self) -> None:
        self.check(self.result, self.view, self.at)


@irdl_op_definition
class StoreOp(_Access):
    """A tile into a view; what lies outside the matrix is dropped.

    cta.store %t, %v[%b, %m, %n] : tensor<4x16xf32>, !cta.view<f32, (1,8,64):(0,64,1)>
    """

    name = "cta.store"
    value = operand_def(_TILE)
    view = operand_def(ViewType)
    at = var_operand_def(IndexType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value `,` $view `[` $at `]` attr-dict `:` type($value) `,` type($view)"

    def __init__(self, value: SSAValue, view: SSAValue, at: Sequence[SSAValue]):
        super().__init__(operands=[value, view, at])

    def verify_(self) -> None:
        self.check(self.value, self.view, self.at)
        if isinstance(self.view.type, ViewType) and self.view.type.borders:
            raise VerifyException("nothing is stored beyond borders")


@irdl_op_definition
class DotOp(IRDLOperation):
    """A product of tiles added to a third, in f32; `precision` "tf32" lets operands be rounded to 10 bits.

    %d = cta.dot %a, %b, %c : (tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    """

    name = "cta.dot"
    lhs = operand_def(_TILE)
    rhs = operand_def(_TILE)
    T: ClassVar = VarConstraint("T", AnyAttr())
    acc = operand_def(T)
    precision = opt_prop_def(StringAttr)
    result = result_def(T)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$lhs `,` $rhs `,` $acc attr-dict `:` `(` type($lhs) `,` type($rhs) `,` type($acc) `)` `->` type($result)"
    )

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue, precision: str = ""):
        properties = {"precision": StringAttr(precision)} if precision else {}
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type], properties=properties)

    def verify_(self) -> None:
        left, right, acc = (tile_type(value).get_shape() for value in (self.lhs, self.rhs, self.acc))
        if (left[0], right[1]) != acc or left[1] != right[0]:
            raise VerifyException(f"{list(left)} times {list(right)} is not {list(acc)}")
        if self.precision is not None and self.precision.data != TF32:
            raise VerifyException(f"precision '{self.precision.data}' is not {TF32}")


@irdl_op_definition
class MapOp(IRDLOperation):
    """The same computation for each place of tiles; one with a single row, or column, has the same in all of them.

    %r = cta.map %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> do {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      cta.yield %s : f32
    }
    """

    name = "cta.map"
    inputs = var_operand_def(_TILE)
    result = result_def(_TILE)
    body = region_def("single_block")
    traits = traits_def(Pure())
    assembly_format = "$inputs attr-dict `:` functional-type($inputs, $result) `do` $body"

    def __init__(self, inputs: Sequence[SSAValue], type_: Attribute, body: Region):
        super().__init__(operands=[inputs], result_types=[type_], regions=[body])

    def verify_(self) -> None:
        result = tile_type(self.result)
        for value, argument in zip(self.inputs, self.body.block.args, strict=True):
            type_ = tile_type(value)
            pairs = zip(type_.get_shape(), result.get_shape(), strict=True)
            if any(own not in (1, size) for own, size in pairs) or argument.type != type_.element_type:
                raise VerifyException(f"an input of {type_} does not go with a result of {result}")


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Each row of a tile combined to one number, by `add` or by `maximumf`, which keeps what is no number.

    %m = cta.reduce %x {kind = "maximumf"} : tensor<64x32xf32> -> tensor<64x1xf32>
    """

    name = "cta.reduce"
    input = operand_def(_TILE)
    kind = prop_def(StringAttr)
    result = result_def(_TILE)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, kind: str):
        type_ = tile_type(input)
        column = TensorType(type_.element_type, [type_.get_shape()[0], 1])
        super().__init__(operands=[input], result_types=[column], properties={"kind": StringAttr(kind)})

    def verify_(self) -> None:
        type_ = tile_type(self.input)
        if self.result.type != TensorType(type_.element_type, [type_.get_shape()[0], 1]):
            raise VerifyException(f"the rows of {type_} are not reduced to {self.result.type}")
        if self.kind.data not in KINDS:
            raise VerifyException(f"'{self.kind.data}' is none of {', '.join(KINDS)}")


@irdl_op_definition
class NumbersOp(IRDLOperation):
    """The numbers of a tile's rows, or columns, where the first one has number `first`.

    %c = cta.numbers %first : tensor<1x64xi32>
    """

    name = "cta.numbers"
    first = operand_def(IndexType)
    result = result_def(_TILE)
    traits = traits_def(Pure())
    assembly_format = "$first attr-dict `:` type($result)"

    def __init__(self, first: SSAValue, rows: int, columns: int):
        super().__init__(operands=[first], result_types=[TensorType(i32, [rows, columns])])

    def verify_(self) -> None:
        type_ = tile_type(self.result)
        if type_.element_type != i32 or 1 not in type_.get_shape():
            raise VerifyException(f"expected a row or a column of i32, got {type_}")


@irdl_op_definition
class ShareOp(IRDLOperation):
    """A tile that was computed goes to shared memory, laid out as the encoding of the result's type says.

    %s = cta.share %x : tensor<64x32xf32> to tensor<64x32xf32, #cta.shared<(64,32):(36,1)>>
    """

    name = "cta.share"
    value = operand_def(_TILE)
    result = result_def(_TILE)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue, encoding: SharedAttr):
        type_ = tile_type(value)
        shared = TensorType(type_.element_type, type_.get_shape(), encoding)
        super().__init__(operands=[value], result_types=[shared])

    def verify_(self) -> None:
        before, after = tile_type(self.value), tile_type(self.result)
        _verify_shared(after)
        if (before.get_shape(), before.element_type) != (after.get_shape(), after.element_type):
            raise VerifyException(f"{before} is not {after}")


@irdl_op_definition
class PipelineOp(IRDLOperation):
    """A loop whose tiles go through shared memory while earlier ones are used.

    `produce` makes the tiles of the step at its argument, and says, by the encoding of their types, how each lies in
    shared memory; `consume` takes the step's index, the tiles, and what is carried. `stages` steps are under way at a
    time: it is here alone that stages, phases and bytes are known, so that no program can wait for, or give back, the
    wrong one. Steps go from 0 to `size`, or to an `end` before that.

    %sum = cta.pipeline(%zero) {size = 256, step = 64, stages = 3} : (tensor<8x8xf32>) -> tensor<8x8xf32> produce {
    ^bb0(%k: index):
      ...
      cta.stage %a, %b : tensor<8x64xbf16, #cta.shared<...>>, tensor<64x8xbf16, #cta.shared<...>>
    } consume {
    ^bb0(%k: index, %a: tensor<8x64xbf16, #cta.shared<...>>, ..., %acc: tensor<8x8xf32>):
      ...
      cta.yield %d : tensor<8x8xf32>
    }
    """

    name = "cta.pipeline"
    inits = var_operand_def(_TILE)
    end = opt_operand_def(IndexType)
    size = prop_def(IntegerAttr.constr(i64))
    step = prop_def(IntegerAttr.constr(i64))
    stages = prop_def(IntegerAttr.constr(i64))
    sums = var_result_def(_TILE)
    produce = region_def("single_block")
    consume = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (ParsePropInAttrDict(), AttrSizedOperandSegments(as_property=True))
    assembly_format = (
        "`(` $inits `)` (`to` $end^)? attr-dict `:` functional-type($inits, $sums) "
        "`produce` $produce `consume` $consume"
    )

    def __init__(
        self,
        numbers: tuple[int, int, int],
        inits: Sequence[SSAValue],
        produce: Region,
        consume: Region,
        end: SSAValue | None = None,
    ):
        super().__init__(
            operands=[inits, [] if end is None else [end]],
            result_types=[[value.type for value in inits]],
            properties={
                name: IntegerAttr(number, i64) for name, number in zip(("size", "step", "stages"), numbers, strict=True)
            },
            regions=[produce, consume],
        )

    @property
    def steps(self) -> int:
        """How often tiles are made."""
        return -(-self.size.value.data // self.step.value.data)

    @property
    def staged(self) -> Sequence[SSAValue]:
        """The tiles that `produce` makes."""
        last = self.produce.block.last_op
        assert isinstance(last, StageOp)
        return last.tiles

    def verify_(self) -> None:
        if min(n.value.data for n in (self.size, self.step, self.stages)) < 1:
            raise VerifyException("size, step and stages are positive")
        if [arg.type for arg in self.produce.block.args] != [IndexType()]:
            raise VerifyException("`produce` takes the step's index")
        if not isinstance(self.produce.block.last_op, StageOp):
            raise VerifyException("`produce` ends with the tiles that it stages")
        types = [IndexType(), *(value.type for value in (*self.staged, *self.inits))]
        if [arg.type for arg in self.consume.block.args] != types:
            raise VerifyException("`consume` takes the step's index, what is staged and what is carried")


@irdl_op_definition
class StageOp(IRDLOperation):
    """The tiles of one step go to shared memory, each laid out as the encoding of its type says."""

    name = "cta.stage"
    tiles = var_operand_def(_TILE)
    traits = traits_def(IsTerminator())
    assembly_format = "$tiles attr-dict `:` type($tiles)"

    def __init__(self, tiles: Sequence[SSAValue]):
        super().__init__(operands=[tiles])

    def verify_(self) -> None:
        for tile in self.tiles:
            _verify_shared(tile_type(tile))


@irdl_op_definition
class YieldOp(IRDLOperation):
    """What a region gives: `cta.yield %s : f32`."""

    name = "cta.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])
