"""The ops of `tile`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .memory import integers, ints, space_of, tile_type


def _expect(value: SSAValue, space: str, what: str, rank: int | None = None) -> MemRefType:
    type_ = value.type
    if not isinstance(type_, MemRefType) or space_of(type_) != space:
        raise VerifyException(f'{what} is {type_}, expected a memref in "{space}"')
    if rank is not None and type_.get_num_dims() != rank:
        raise VerifyException(f"{what} has {type_.get_num_dims()} dimensions, expected {rank}")
    return type_


@irdl_op_definition
class PatchOp(IRDLOperation):
    """Bytes of an image in DRAM, gathered as planes of `block` channels in the scratchpad.

    %p = tile.patch %x[%h, %b] in "a" {steps = array<i64: 1, 64>, block = 16, run = 64, pad = -3 : i8}
        : memref<56x3584xi8, "dram"> -> memref<4x58x58x16xi8, "spm">

    Byte l of pixel (i, j) of plane k is x[h + i * steps[0], b + j * steps[1] + k * block + l], or `pad` where that lies
    outside of x; it is 0 for l >= block and for k * block + l >= run.

    C1 x is a memref of two dimensions in "dram", the result one of four in "spm"; all are bytes.
    """

    name = "tile.patch"
    source = operand_def(MemRefType)
    row = operand_def(IndexType)
    byte = operand_def(IndexType)
    ring = prop_def(StringAttr)
    steps = prop_def(DenseArrayBase.constr(i64))
    block = prop_def(IntegerAttr.constr(i64))
    run = prop_def(IntegerAttr.constr(i64))
    pad = prop_def(IntegerAttr.constr(i8))
    result = result_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `[` $row `,` $byte `]` `in` $ring attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self,
        source: SSAValue,
        at: tuple[SSAValue, SSAValue],
        ring: str,
        shape: Sequence[int],
        *,
        steps: tuple[int, int],
        block: int,
        run: int,
        pad: int,
    ):
        super().__init__(
            operands=[source, *at],
            result_types=[tile_type(shape, i8, "spm")],
            properties={
                "ring": StringAttr(ring),
                "steps": integers(steps),
                "block": IntegerAttr(block, i64),
                "run": IntegerAttr(run, i64),
                "pad": IntegerAttr(pad, i8),
            },
        )

    @property
    def step(self) -> tuple[int, int]:
        """Rows and bytes from pixel to pixel."""
        rows, bytes_ = ints(self.steps)
        return rows, bytes_

    def verify_(self) -> None:
        source, result = _expect(self.source, "dram", "C1: x", 2), _expect(self.result, "spm", "C1: the result", 4)
        if source.element_type != i8 or result.element_type != i8:
            raise VerifyException("C1: expected bytes")
        if not 0 < self.block.value.data <= result.get_shape()[3]:
            raise VerifyException(f"a block of {self.block.value.data} bytes in rows of {result.get_shape()[3]}")


@irdl_op_definition
class LoadOp(IRDLOperation):
    """A contiguous part of a tensor in DRAM: `%w = tile.load %x[%n, %k] in "w" : memref<..> -> memref<..., "spm">`.

    The indices are those of the first dimensions; the part has the sizes of the result, which are one in the
    dimensions that the result lacks.

    C1 the result is in "spm" or "tab" and has the last sizes of x behind its first.
    """

    name = "tile.load"
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    ring = prop_def(StringAttr)
    result = result_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$source `[` $indices `]` `in` $ring attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue], ring: str, result: MemRefType):
        super().__init__(operands=[source, indices], result_types=[result], properties={"ring": StringAttr(ring)})

    def verify_(self) -> None:
        source = _expect(self.source, "dram", "x")
        result = self.result.type
        assert isinstance(result, MemRefType)
        ours, theirs = result.get_shape(), source.get_shape()
        if space_of(result) not in ("spm", "tab") or tuple(theirs[len(theirs) - len(ours) + 1 :]) != tuple(ours[1:]):
            raise VerifyException(f"C1: a part of {source} cannot be {result}")


@irdl_op_definition
class WeightsOp(IRDLOperation):
    """Tiles of weights, cut out of a matrix whose rows lie one behind the other in DRAM.

    %w = tile.weights %b[%k, %n] in "w" {len = 16 : i64} : memref<128x64xi8, "dram"> -> memref<4x1x16x16xi8, "spm">

    w[p, 0, r, c] is b[k + 16 p + r, n + c] for tiles of 16 rows, and 0 for c >= len.

    C1 the matrix is one of bytes in "dram", the tiles lie in "spm"; C2 a row has `len` bytes, and one tap.
    """

    name = "tile.weights"
    source = operand_def(MemRefType)
    row = operand_def(IndexType)
    column = operand_def(IndexType)
    ring = prop_def(StringAttr)
    len = prop_def(IntegerAttr.constr(i64))
    result = result_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `[` $row `,` $column `]` `in` $ring attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, at: tuple[SSAValue, SSAValue], ring: str, shape: Sequence[int], length: int):
        super().__init__(
            operands=[source, *at],
            result_types=[tile_type(shape, i8, "spm")],
            properties={"ring": StringAttr(ring), "len": IntegerAttr(length, i64)},
        )

    def verify_(self) -> None:
        _expect(self.source, "dram", "C1: the matrix", 2)
        tiles = _expect(self.result, "spm", "C1: the result", 4).get_shape()
        if tiles[1] != 1 or not 0 < self.len.value.data <= tiles[3]:
            raise VerifyException(f"C2: rows of {self.len.value.data} bytes do not make {self.result.type}")


@irdl_op_definition
class SumsOp(IRDLOperation):
    """A slot for sums, whose values are not known yet: `%c = tile.sums in "c" : memref<1x8x8x16xi32, "acc">`."""

    name = "tile.sums"
    ring = prop_def(StringAttr)
    result = result_def(MemRefType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "`in` $ring attr-dict `:` type($result)"

    def __init__(self, ring: str, shape: Sequence[int]):
        super().__init__(result_types=[tile_type(shape, i32, "acc")], properties={"ring": StringAttr(ring)})

    def verify_(self) -> None:
        _expect(self.result, "acc", "the result", 4)


class WindowOp(IRDLOperation):
    """What ops over windows of a patch share: kernel, strides and dilations, of height and width."""

    @property
    def geometry(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Kernel, strides, dilations."""
        found: list[tuple[int, int]] = []
        for name in ("kernel", "strides", "dilations"):
            attr = self.properties[name]
            assert isinstance(attr, DenseArrayBase)
            height, width = ints(attr)
            found.append((height, width))
        return found[0], found[1], found[2]


def _window(kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> dict[str, Attribute]:
    return {"kernel": integers(kernel), "strides": integers(strides), "dilations": integers(dilations)}


def _check_window(op: WindowOp, patch: MemRefType, out: tuple[int, int]) -> None:
    for size, count, k, s, d in zip(patch.get_shape()[1:3], out, *op.geometry, strict=True):
        needed = (count - 1) * s + (k - 1) * d + 1
        if size < needed:
            raise VerifyException(f"C1: the patch has {size} rows or columns where {needed} are read")


@irdl_op_definition
class ContractOp(WindowOp):
    """Adds to sums the products of windows of a patch and a tile of weights, or begins the sums with them.

    tile.contract %p, %w, %c[%j] {kernel = array<i64: 3, 3>, strides = ..., dilations = ..., accumulate}
        : memref<4x10x10x16xi8, "spm">, memref<4x9x16x16xi8, "spm">, memref<1x8x8x16xi32, "acc">

    c[j, y, x, n] (+)= sum over k, r, q, l of p[k, y s + r d, x s + q d, l] * w[k, r kw + q, l, n].

    C1 the windows lie in the patch; C2 planes, taps and channels fit.
    """

    name = "tile.contract"
    patch = operand_def(MemRefType)
    weights = operand_def(MemRefType)
    sums = operand_def(MemRefType)
    part = operand_def(IndexType)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    accumulate = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$patch `,` $weights `,` $sums `[` $part `]` attr-dict `:` type($patch) `,` type($weights) `,` type($sums)"
    )

    def __init__(
        self,
        patch: SSAValue,
        weights: SSAValue,
        sums: SSAValue,
        part: SSAValue,
        *,
        window: tuple[Sequence[int], Sequence[int], Sequence[int]],
        accumulate: bool,
    ):
        super().__init__(
            operands=[patch, weights, sums, part],
            properties=_window(*window) | ({"accumulate": UnitAttr()} if accumulate else {}),
        )

    def verify_(self) -> None:
        patch, weights = _expect(self.patch, "spm", "the patch", 4), _expect(self.weights, "spm", "the weights", 4)
        sums = _expect(self.sums, "acc", "the sums", 4).get_shape()
        _check_window(self, patch, (sums[1], sums[2]))
        kernel = self.geometry[0]
        planes, taps, channels, columns = weights.get_shape()
        if planes != patch.get_shape()[0] or taps != kernel[0] * kernel[1] or columns != sums[3]:
            raise VerifyException(f"C2: {patch} and {weights} do not give {self.sums.type}")
        if channels > patch.get_shape()[3]:
            raise VerifyException(f"C2: weights of {channels} channels for rows of {patch.get_shape()[3]}")


@irdl_op_definition
class DepthwiseOp(WindowOp):
    """Sums, channel by channel, of windows of a patch times weights: `tile.depthwise %p, %w, %c {kernel = ...}`.

    c[0, y, x, n] (+)= sum over r, q of p[0, y s + r d, x s + q d, n] * w[r kw + q, n]. C1 the windows lie in the patch.
    """

    name = "tile.depthwise"
    patch = operand_def(MemRefType)
    weights = operand_def(MemRefType)
    sums = operand_def(MemRefType)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    accumulate = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$patch `,` $weights `,` $sums attr-dict `:` type($patch) `,` type($weights) `,` type($sums)"

    def __init__(
        self,
        patch: SSAValue,
        weights: SSAValue,
        sums: SSAValue,
        window: tuple[Sequence[int], Sequence[int], Sequence[int]],
        accumulate: bool = False,
    ):
        super().__init__(
            operands=[patch, weights, sums],
            properties=_window(*window) | ({"accumulate": UnitAttr()} if accumulate else {}),
        )

    def verify_(self) -> None:
        sums = _expect(self.sums, "acc", "the sums", 4).get_shape()
        _expect(self.weights, "spm", "the weights", 2)
        _check_window(self, _expect(self.patch, "spm", "the patch", 4), (sums[1], sums[2]))


@irdl_op_definition
class MaxOp(WindowOp):
    """The greatest byte of each window: `%o = tile.max %p in "o" {kernel = ...} : memref<..> -> memref<..>`.

    C1 the windows lie in the patch.
    """

    name = "tile.max"
    patch = operand_def(MemRefType)
    ring = prop_def(StringAttr)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    result = result_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$patch `in` $ring attr-dict `:` type($patch) `->` type($result)"

    def __init__(
        self,
        patch: SSAValue,
        ring: str,
        shape: Sequence[int],
        window: tuple[Sequence[int], Sequence[int], Sequence[int]],
    ):
        super().__init__(
            operands=[patch],
            result_types=[tile_type(shape, i8, "spm")],
            properties={"ring": StringAttr(ring), **_window(*window)},
        )

    def verify_(self) -> None:
        result = _expect(self.result, "spm", "the result", 4).get_shape()
        _check_window(self, _expect(self.patch, "spm", "the patch", 4), (result[1], result[2]))


@irdl_op_definition
class AddOp(IRDLOperation):
    """Bytes added in new scales: round(a ra + (b rb + offset)) + zero, each step in f32, limited to lo..hi.

    %o = tile.add %a, %b in "o" {factors = [0.5 : f32, 0.25 : f32, 3.0 : f32], post = array<i64: 0, -128, 127>}
        : memref<1x8x8x16xi8, "spm">
    """

    name = "tile.add"
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    ring = prop_def(StringAttr)
    factors = prop_def(ArrayAttr[FloatAttr])
    post = prop_def(DenseArrayBase.constr(i64))
    result = result_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `in` $ring attr-dict `:` type($a) `,` type($b) `->` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, ring: str, factors: Sequence[float], post: Sequence[int]):
        super().__init__(
            operands=[a, b],
            result_types=[a.type],
            properties={
                "ring": StringAttr(ring),
                "factors": ArrayAttr([FloatAttr(f, f32) for f in factors]),
                "post": integers(post),
            },
        )

    def verify_(self) -> None:
        if not self.a.type == self.b.type == self.result.type:
            raise VerifyException(f"adds {self.a.type} and {self.b.type} to {self.result.type}")


@irdl_op_definition
class RequantizeOp(IRDLOperation):
    """Sums as bytes in the scratchpad, the first `len` channels of each; the others are 0.

    %b = tile.requantize %c[%j] by %t in "b" {len = 16 : i64, post = array<i64: 3, -128, 127>}
        : memref<1x8x8x16xi32, "acc"> by memref<16x2xi32, "tab"> -> memref<1x8x8x16xi8, "spm">

    The bytes are those that `tile.store` makes. C1 there are as many as sums of a part.
    """

    name = "tile.requantize"
    source = operand_def(MemRefType)
    part = operand_def(IndexType)
    table = operand_def(MemRefType)
    ring = prop_def(StringAttr)
    len = prop_def(IntegerAttr.constr(i64))
    post = prop_def(DenseArrayBase.constr(i64))
    result = result_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$source `[` $part `]` `by` $table `in` $ring attr-dict `:` type($source) `by` type($table) `->` type($result)"
    )

    def __init__(
        self,
        source: tuple[SSAValue, SSAValue],
        table: SSAValue,
        ring: str,
        lanes: int,
        length: int,
        post: Sequence[int],
    ):
        type_ = source[0].type
        assert isinstance(type_, MemRefType)
        super().__init__(
            operands=[*source, table],
            result_types=[tile_type([1, *type_.get_shape()[1:3], lanes], i8, "spm")],
            properties={"ring": StringAttr(ring), "len": IntegerAttr(length, i64), "post": integers(post)},
        )

    def verify_(self) -> None:
        source = _expect(self.source, "acc", "the sums", 4).get_shape()
        result = _expect(self.result, "spm", "the result", 4).get_shape()
        _expect(self.table, "tab", "the table", 2)
        if result[:3] != (1, *source[1:3]) or not 0 < self.len.value.data <= min(source[3], result[3]):
            raise VerifyException(f"C1: {self.source.type} do not give {self.result.type}")


@irdl_op_definition
class StoreOp(IRDLOperation):
    """A piece to DRAM, its first `len` channels: sums become bytes on the way, by a row of the table.

    tile.store %c[%j], %t, %y[%h, %w, %n] {post = array<i64: 3, -128, 127>} : memref<1x8x8x16xi32, "acc">,
        memref<16x2xi32, "tab">, memref<56x56x64xi8, "dram">

    y[h + i, w + j', n + l] = limit(round(f32(c[j, i, j', l] + bias[l]) scale[l]) + zero) with `post` zero, lo, hi; the
    table holds the scale as the bits of an f32. Without a table the bytes of a piece in "spm".
    """

    name = "tile.store"
    source = operand_def(MemRefType)
    part = operand_def(IndexType)
    table = var_operand_def(MemRefType)
    target = operand_def(MemRefType)
    row = operand_def(IndexType)
    column = operand_def(IndexType)
    channel = operand_def(IndexType)
    len = prop_def(IntegerAttr.constr(i64))
    post = opt_prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$source `[` $part `]` (`by` $table^)? `to` $target `[` $row `,` $column `,` $channel `]` attr-dict "
        "`:` type($source) (`by` type($table)^)? `to` type($target)"
    )

    def __init__(
        self,
        source: tuple[SSAValue, SSAValue],
        target: SSAValue,
        at: tuple[SSAValue, SSAValue, SSAValue],
        length: int,
        *,
        table: SSAValue | None = None,
        post: Sequence[int] | None = None,
    ):
        properties: dict[str, Attribute] = {"len": IntegerAttr(length, i64)}
        if post is not None:
            properties["post"] = integers(post)
        super().__init__(
            operands=[*source, [] if table is None else [table], target, *at],
            properties=properties,
        )

    def verify_(self) -> None:
        _expect(self.target, "dram", "the target", 3)
        summed = space_of(self.source.type) == "acc"
        if summed != (len(self.table) == 1) or summed != (self.post is not None):
            raise VerifyException("sums, and only they, have a table and `post`")
