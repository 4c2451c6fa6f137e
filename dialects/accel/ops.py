"""The ops of `accel`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, TensorType, UnitAttr, f32, i8, i64
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
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


def integers(values: Sequence[int]) -> DenseArrayBase:
    """An array attribute."""
    return DenseArrayBase.from_list(i64, list(values))


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    return tuple(type_.get_shape())


def numbers_of(attr: Attribute) -> tuple[int, ...]:
    """What an array attribute holds."""
    assert isinstance(attr, DenseArrayBase)
    return tuple(int(v) for v in attr.get_values())  # pyright: ignore[reportAttributeAccessIssue]


def _expect_image(value: SSAValue, what: str) -> tuple[int, ...]:
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.element_type != i8 or type_.get_num_dims() != 4:
        raise VerifyException(f"{what} is {type_}, expected a tensor of bytes of four dimensions")
    return tuple(type_.get_shape())


@irdl_op_definition
class EnterOp(IRDLOperation):
    """A tensor as an image: channels first become last, unsigned bytes signed ones.

    %y = accel.enter %x : tensor<1x3x8x8xui8> -> tensor<1x8x8x3xi8>

    Of a tensor of other than four dimensions the last is the channels, and the others are pixels of one row. With
    `gather` (how many rows, stride, dilation, the first, and what lies outside) row y of the image is the rows
    first + y * stride + r * dilation of the tensor, beside each other as channels, that of the first r first:

    %y = accel.enter %x {gather = array<i64: 3, 2, 1, -1, -128>} : tensor<1x3x8x8xui8> -> tensor<1x4x8x9xi8>
    """

    name = "accel.enter"
    source = operand_def(TensorType)
    gather = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, shape: Sequence[int], gather: Sequence[int] = ()):
        super().__init__(
            operands=[source],
            result_types=[TensorType(i8, shape)],
            properties={"gather": integers(gather)} if gather else {},
        )

    @property
    def gathered(self) -> tuple[int, ...]:
        """What `gather` says; nothing without it."""
        return () if self.gather is None else numbers_of(self.gather)

    def verify_(self) -> None:
        image, told = _expect_image(self.result, "the result"), self.gathered
        if told and (len(told) != 5 or min(told[:3]) < 1 or shape_of(self.source)[1] * told[0] != image[3]):
            raise VerifyException(f"gathers {list(told)} into {self.result.type}")


@irdl_op_definition
class LeaveOp(IRDLOperation):
    """The tensor that an image is: the inverse of `accel.enter`."""

    name = "accel.leave"
    source = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result: Attribute):
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        _expect_image(self.source, "the image")


class LayerOp(IRDLOperation, ABC):
    """What computes: its result is an image, all else are images, weights and tables."""

    result = result_def(TensorType)

    @property
    def images(self) -> Sequence[SSAValue]:
        """The operands that are images."""
        return self.operands[:1]

    @property
    def repeats(self) -> int:
        """How often its kernel runs for an image, each time for the next part of all images."""
        return 1


class WindowedOp(LayerOp, ABC):
    """Layers over windows: kernel, strides, dilations of height and width; pads top, left, bottom, right."""

    def numbers(self, name: str) -> tuple[int, ...]:
        """An attribute as integers."""
        return numbers_of(self.properties[name])

    @property
    def groups(self) -> int:
        """In how many groups of channels it works, each by itself and all alike."""
        return 1

    @property
    def pad_value(self) -> int:
        """What lies around the image."""
        attr = self.properties["pad"]
        assert isinstance(attr, IntegerAttr)
        return attr.value.data

    @property
    def counts(self) -> tuple[int, int]:
        """How many windows fit, along height and width."""
        image, pads = _expect_image(self.operands[0], "the image"), self.numbers("pads")
        found: list[int] = []
        for axis in range(2):
            k, s, d = (self.numbers(name)[axis] for name in ("kernel", "strides", "dilations"))
            found.append((image[1 + axis] + pads[axis] + pads[2 + axis] - (k - 1) * d - 1) // s + 1)
        return found[0], found[1]

    def check_size(self) -> None:
        """The result has as many windows as fit."""
        out = _expect_image(self.result, "the result")[1:3]
        for axis, (has, fit) in enumerate(zip(out, self.counts, strict=True)):
            if has != fit:
                raise VerifyException(f"C1: {fit} windows fit along dimension {1 + axis}, not {has}")


def window_properties(
    kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int], pad: int
) -> dict[str, Attribute]:
    """The attributes that all layers over windows have."""
    told = {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": pads}
    return {**{name: integers(values) for name, values in told.items()}, "pad": IntegerAttr(pad, i8)}


class WeightedOp(WindowedOp):
    """A layer of sums of windows times weights, made bytes by table and `post` (zero point, least, greatest)."""

    image = operand_def(TensorType)
    weights = operand_def(TensorType)
    table = operand_def(TensorType)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    pad = prop_def(IntegerAttr.constr(i8))
    post = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$image `,` $weights `,` $table attr-dict `:` "
        "type($image) `,` type($weights) `,` type($table) `->` type($result)"
    )

    def __init__(
        self,
        operands: tuple[SSAValue, SSAValue, SSAValue],
        shape: Sequence[int],
        window: dict[str, Attribute],
        post: Sequence[int],
    ):
        super().__init__(
            operands=operands, result_types=[TensorType(i8, shape)], properties={**window, "post": integers(post)}
        )

    def verify_(self) -> None:
        self.check_size()


@irdl_op_definition
class ConvOp(WeightedOp):
    """A convolution, or a product; sums become bytes by table and `post` (zero point, least, greatest).

    %y = accel.conv %x, %w, %t {kernel = array<i64: 3, 3>, ..., pad = -3 : i8, post = array<i64: 4, -128, 127>}
        : tensor<1x8x8x3xi8>, tensor<1x1x9x16x16xi8>, tensor<1x16x2xi32> -> tensor<1x8x8x7xi8>

    Where it makes fewer blocks the pixels of a row of the kernel are one block of channels.
    C1 the result has as many windows as fit.
    """

    name = "accel.conv"


@irdl_op_definition
class GroupedConvOp(WeightedOp):
    """Convolutions side by side, of groups of channels one behind the other; weights and tables are those of each.

    %y = accel.grouped_conv %x, %w, %t {...}
        : tensor<1x8x8x64xi8>, tensor<4x1x1x9x16x16xi8>, tensor<4x1x16x2xi32> -> tensor<1x8x8x64xi8>

    C1 the result has as many windows as fit; C2 channels and filters are as many in each group.
    """

    name = "accel.grouped_conv"

    @property
    def groups(self) -> int:
        return shape_of(self.weights)[0]

    def verify_(self) -> None:
        super().verify_()
        counts = shape_of(self.image)[3], shape_of(self.result)[3]
        if any(count % self.groups for count in counts) or shape_of(self.table)[0] != self.groups:
            raise VerifyException(f"C2: {self.groups} groups of {counts[0]} channels and {counts[1]} filters")


@irdl_op_definition
class DepthwiseOp(WeightedOp):
    """Sums of windows channel by channel; weights are [blocks of channels, taps, lanes].

    %y = accel.depthwise %x, %w, %t {...} : tensor<1x8x8x20xi8>, tensor<2x9x16xi8>, tensor<2x16x2xi32> -> ...

    C1 the result has as many windows as fit.
    """

    name = "accel.depthwise"


@irdl_op_definition
class ConvAddOp(WindowedOp):
    """A convolution whose bytes, made as those of `accel.conv`, are added to another image as by `accel.add`.

    %y = accel.conv_add %x, %w, %t, %r {..., post = array<i64: 4, -128, 127>, factors = [0.5 : f32, 0.25 : f32,
        3.0 : f32], total = array<i64: 0, -128, 127>} : ... -> tensor<1x8x8x7xi8>

    `post` is of the convolution, `factors` and `total` (zero point, least, greatest) of the sum, of which the
    convolution is the first addend; with `behind` the second.

    C1 the result has as many windows as fit; C2 and is like the image that is added.
    """

    name = "accel.conv_add"
    image = operand_def(TensorType)
    weights = operand_def(TensorType)
    table = operand_def(TensorType)
    residual = operand_def(TensorType)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    pad = prop_def(IntegerAttr.constr(i8))
    post = prop_def(DenseArrayBase.constr(i64))
    factors = prop_def(ArrayAttr[FloatAttr])
    total = prop_def(DenseArrayBase.constr(i64))
    behind = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$image `,` $weights `,` $table `,` $residual attr-dict `:` "
        "type($image) `,` type($weights) `,` type($table) `,` type($residual) `->` type($result)"
    )

    def __init__(self, conv: ConvOp, add: AddOp, residual: SSAValue):
        properties = {**conv.properties, "factors": add.factors, "total": add.post}
        if add.a == residual:
            properties["behind"] = UnitAttr()
        super().__init__(operands=[*conv.operands, residual], result_types=[add.result.type], properties=properties)

    @property
    def images(self) -> Sequence[SSAValue]:
        return self.image, self.residual

    def verify_(self) -> None:
        self.check_size()
        if self.residual.type != self.result.type:
            raise VerifyException(f"C2: adds {self.residual.type} to {self.result.type}")


@irdl_op_definition
class ProductOp(LayerOp):
    """Products of two matrices, `count` of them one behind the other; sums become bytes by table and `post`.

    %y = accel.product %a, %b, %t {count = 12 : i64, post = array<i64: 4, -128, 127>}
        : tensor<1x1x1536x64xi8>, tensor<1x1x768x128xi8>, tensor<8x16x2xi32> -> tensor<1x1x1536x128xi8>

    The second matrix is there as an image is, not in blocks: it may be what another layer makes.
    C1 all images have one row of `count` matrices; C2 whose sizes are those of a product.
    """

    name = "accel.product"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    table = operand_def(TensorType)
    count = prop_def(IntegerAttr.constr(i64))
    post = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $table attr-dict `:` type($a) `,` type($b) `,` type($table) `->` type($result)"

    def __init__(
        self, operands: tuple[SSAValue, SSAValue, SSAValue], shape: Sequence[int], count: int, post: Sequence[int]
    ):
        super().__init__(
            operands=operands,
            result_types=[TensorType(i8, shape)],
            properties={"count": IntegerAttr(count, i64), "post": integers(post)},
        )

    @property
    def images(self) -> Sequence[SSAValue]:
        return self.a, self.b

    @property
    def repeats(self) -> int:
        return self.count.value.data

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, K and N of one product."""
        (_, _, pixels, k), n = shape_of(self.a), shape_of(self.b)[3]
        return pixels // self.repeats, k, n

    def verify_(self) -> None:
        count = self.repeats
        named = (self.a, "the first image"), (self.b, "the second image"), (self.result, "the result")
        a, b, y = (_expect_image(value, what) for value, what in named)
        if count < 1 or any(shape[:2] != (1, 1) or shape[2] % count for shape in (a, b, y)):
            raise VerifyException(f"C1: {count} products of {self.a.type} and {self.b.type} to {self.result.type}")
        m, k, n = self.sizes
        if b[2:] != (count * k, n) or y[2:] != (count * m, n):
            raise VerifyException(f"C2: {count} products of {self.a.type} and {self.b.type} to {self.result.type}")


@irdl_op_definition
class ConvPoolOp(WeightedOp):
    """A convolution, made bytes as those of `accel.conv`, of which the greatest of each block of `pool` is kept.

    %y = accel.conv_pool %x, %w, %t {kernel = array<i64: 3, 3>, ..., pool = array<i64: 2, 2>}
        : tensor<1x8x9x3xi8>, tensor<1x1x9x16x16xi8>, tensor<1x16x2xi32> -> tensor<1x4x4x7xi8>

    C1 the result has as many blocks as are whole.
    """

    name = "accel.conv_pool"
    pool = prop_def(DenseArrayBase.constr(i64))

    def __init__(self, conv: ConvOp, pool: MaxPoolOp):
        IRDLOperation.__init__(
            self,
            operands=list(conv.operands),
            result_types=[pool.result.type],
            properties={**conv.properties, "pool": pool.kernel},
        )

    @property
    def block(self) -> tuple[int, int]:
        """Height and width of a block."""
        height, width = self.numbers("pool")
        return height, width

    def verify_(self) -> None:
        out = _expect_image(self.result, "the result")[1:3]
        fit = tuple(count // size for count, size in zip(self.counts, self.block, strict=True))
        if out != fit or 0 in fit:
            raise VerifyException(f"C1: {fit[0]}x{fit[1]} blocks are whole, not {out[0]}x{out[1]}")


@irdl_op_definition
class MaxPoolOp(WindowedOp):
    """The greatest byte of each window. C1 the result has as many windows as fit."""

    name = "accel.max_pool"
    image = operand_def(TensorType)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    pad = prop_def(IntegerAttr.constr(i8))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$image attr-dict `:` type($image) `->` type($result)"

    def __init__(self, image: SSAValue, shape: Sequence[int], window: dict[str, Attribute]):
        super().__init__(operands=[image], result_types=[TensorType(i8, shape)], properties=window)

    def verify_(self) -> None:
        self.check_size()


@irdl_op_definition
class AddOp(LayerOp):
    """Two images in new scales: round(a ra + (b rb + offset)) + zero, each step in f32, limited.

    %y = accel.add %a, %b {factors = [0.5 : f32, 0.25 : f32, 3.0 : f32], post = array<i64: 0, -128, 127>}
        : tensor<1x8x8x16xi8>
    """

    name = "accel.add"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    factors = prop_def(ArrayAttr[FloatAttr])
    post = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b attr-dict `:` type($a) `,` type($b) `->` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, factors: Sequence[float], post: Sequence[int]):
        super().__init__(
            operands=[a, b],
            result_types=[a.type],
            properties={"factors": ArrayAttr([FloatAttr(f, f32) for f in factors]), "post": integers(post)},
        )

    @property
    def images(self) -> Sequence[SSAValue]:
        return self.operands

    def verify_(self) -> None:
        if not self.a.type == self.b.type == self.result.type:
            raise VerifyException(f"adds {self.a.type} and {self.b.type} to {self.result.type}")


@irdl_op_definition
class ConcatOp(LayerOp):
    """Images beside each other, channels behind channels.

    %y = accel.concat %a, %b : tensor<1x8x8x16xi8>, tensor<1x8x8x20xi8> -> tensor<1x8x8x36xi8>

    C1 all have one size; C2 the channels of the result are those of all.
    """

    name = "accel.concat"
    parts = var_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$parts attr-dict `:` type($parts) `->` type($result)"

    def __init__(self, parts: Sequence[SSAValue], shape: Sequence[int]):
        super().__init__(operands=[parts], result_types=[TensorType(i8, shape)])

    @property
    def images(self) -> Sequence[SSAValue]:
        return self.operands

    def verify_(self) -> None:
        parts, out = [_expect_image(p, "an image") for p in self.parts], _expect_image(self.result, "the result")
        if any(part[:3] != out[:3] for part in parts):
            raise VerifyException(f"C1: images beside each other in {self.result.type}: {parts}")
        if sum(part[3] for part in parts) != out[3]:
            raise VerifyException(f"C2: {sum(part[3] for part in parts)} channels in {self.result.type}")
