"""Winograd's transforms: MLIR's `linalg.winograd_{filter,input,output}_transform` and the matrices behind them.

F(m x m, 3 x 3) computes m x m outputs of a 3 x 3 convolution of stride 1 from (m+2) x (m+2) inputs with (m+2)^2
multiplications instead of 9 m^2:

    Y = AT [ (G g GT) * (BT d B) ] A        * element by element, summed over the channels

Upstream's ops, with two things more: the input transform reads zeros outside of its input, which begins at `pad`
(so a padded copy is not needed), and the output transform leaves out rows and columns beyond its output's edge.
The filter is height x width x channels x filters, as convolutions are after stablehlo-propagate-layout (upstream:
filters first).

The matrices are Cook and Toom's for the points 0, ±1, ∞ (m = 2) and 0, ±√½, ±√2, ∞ (m = 4). Any points give the same
result in exact numbers; these round less than the usual ±1, ±2 (about a fifth of the error), and as √½·√2 = 1 most
coefficients are as simple.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod, sqrt
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, TensorType, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .effects import DestinationEffects

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Matrices:
    """The three transforms of F(m, 3), one-dimensional: each is applied to the rows and then to the columns."""

    filter: Matrix  # G, (m + 2) x 3
    input: Matrix  # BT, (m + 2) x (m + 2)
    output: Matrix  # AT, m x (m + 2)


@cache
def matrices(m: int) -> Matrices:
    """The matrices of F(m, 3) for m = 2 or 4.

    >>> matrices(2).input
    ((-1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 1.0, 0.0), (0.0, -1.0, 1.0, 0.0), (0.0, -1.0, 0.0, 1.0))
    """
    pairs = {2: (1.0,), 4: (sqrt(0.5), sqrt(2.0))}[m]
    squares = {2: (1.0,), 4: (0.5, 2.0)}[m]  # of the pairs, exactly
    points = [0.0, *(sign * p for p in pairs for sign in (1.0, -1.0))]
    whole = _polynomial(squares)  # the product of all x - p but that for 0
    filter_: list[tuple[float, ...]] = [(1 / whole[0], 0.0, 0.0)]
    input_: list[tuple[float, ...]] = [(*whole, 0.0)]
    for i, point in enumerate(points[1:]):
        square = squares[i // 2]
        others = [s for s in squares if s != square]
        scale = 1 / (2 * square * prod(square - s for s in others))
        filter_.append((scale, point * scale, square * scale))
        rest = _polynomial(others)
        shifted = (0.0, *(point * c for c in rest), 0.0, 0.0)  # x (x + p) times the rest
        input_.append(tuple(a + b for a, b in zip(shifted, (0.0, 0.0, *rest, 0.0), strict=True)))
    filter_.append((0.0, 0.0, 1.0))
    input_.append((0.0, *whole))
    output = [
        tuple(_power(points, squares, i, k) for i in range(len(points))) + (1.0 if k == m - 1 else 0.0,)
        for k in range(m)
    ]
    return Matrices(tuple(filter_), tuple(input_), tuple(output))


def _polynomial(squares: tuple[float, ...] | list[float]) -> tuple[float, ...]:
    """The coefficients of the product of all x² - s, lowest first."""
    result = [1.0]
    for s in squares:
        raised, scaled = [0.0, 0.0, *result], [*(-s * c for c in result), 0.0, 0.0]
        result = [a + b for a, b in zip(raised, scaled, strict=True)]
    return tuple(result)


def _power(points: list[float], squares: tuple[float, ...], i: int, k: int) -> float:
    """points[i] to the k, from exact squares."""
    square = squares[(i - 1) // 2] if i else 0.0
    return square ** (k // 2) * points[i] ** (k % 2)


class WinogradConv2DFmr(StrEnum):
    """The size of the tiles: F_m_r computes m x m outputs of an r x r filter."""

    F_2_3 = "F_2_3"
    F_4_3 = "F_4_3"


@irdl_attr_definition
class WinogradConv2DFmrAttr(EnumAttribute[WinogradConv2DFmr]):
    """`F_4_3`"""

    name = "linalg.winograd_conv2d_fmr"


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType | MemRefType)
    return value.type.get_shape()


class WinogradOp(IRDLOperation):
    """What the three transforms have in common: one input, one destination, the size of the tiles."""

    fmr = prop_def(WinogradConv2DFmrAttr)
    input = operand_def(TensorType | MemRefType)
    output = operand_def(TensorType | MemRefType)
    result = opt_result_def(TensorType)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(DestinationEffects())
    assembly_format: ClassVar[str | None] = (
        "attr-dict `fmr` `(` $fmr `)` `ins` `(` $input `:` type($input) `)`"
        " `outs` `(` $output `:` type($output) `)` (`->` type($result)^)?"
    )

    def __init__(self, m: int, input: SSAValue, output: SSAValue):
        super().__init__(
            operands=[input, output],
            result_types=[output.type if isinstance(output.type, TensorType) else None],
            properties={"fmr": WinogradConv2DFmrAttr(WinogradConv2DFmr(f"F_{m}_3"))},
        )

    @property
    def m(self) -> int:
        """Outputs of a tile along each side."""
        return int(self.fmr.data.value[2])

    @property
    def alpha(self) -> int:
        """Inputs of a tile along each side."""
        return self.m + 2

    def _expect(self, good: bool, what: str) -> None:
        if not good:
            raise VerifyException(f"{what}, got {list(_shape(self.input))} and {list(_shape(self.output))}")

    def _expect_tiles(self, tiles: tuple[int, ...], image: tuple[int, ...]) -> None:
        a = self.alpha
        self._expect(len(tiles) == 6 and tiles[:2] == (a, a), f"expected {a} x {a} x rows x columns x N x C (C1)")
        self._expect(len(image) == 4 and (image[0], image[3]) == tiles[4:], "expected N x H x W x C of these (C2)")


@irdl_op_definition
class WinogradFilterTransformOp(WinogradOp):
    """U = G g GT for each channel and filter.

        %u = linalg.winograd_filter_transform fmr(F_4_3) ins(%g : tensor<3x3x8x16xf32>)
            outs(%e : tensor<6x6x8x16xf32>) -> tensor<6x6x8x16xf32>

    Filters may lie in panels of so many of them, each whole; such are transformed while the convolution runs.

    C1: from 3 x 3 x C x F to α x α x C x F, or from panels x C x 3 x 3 x F to α x α x panels x C x F.
    """

    name = "linalg.winograd_filter_transform"

    @property
    def of_panels(self) -> bool:
        """Whether the filters lie in panels."""
        return len(_shape(self.input)) == 5

    def verify_(self) -> None:
        filter_, tiles, a = _shape(self.input), _shape(self.output), self.alpha
        panels, sides = (2, 4) if self.of_panels else (0, 2)
        good = len(filter_) in (4, 5) and filter_[panels:sides] == (3, 3)
        good &= tiles == (a, a, *filter_[:panels], *filter_[sides:])
        self._expect(good, f"expected 3 x 3 x C x F and {a} x {a} x C x F, perhaps in panels (C1)")


@irdl_op_definition
class WinogradInputTransformOp(WinogradOp):
    """V = BT d B for each channel of each tile; tile (i, j) begins at (i m, j m) less `pad`, outside is zero.

        %v = linalg.winograd_input_transform {pad = array<i64: 1, 1>} fmr(F_4_3)
            ins(%x : tensor<1x14x14x8xf32>) outs(%e : tensor<6x6x4x4x1x8xf32>) -> tensor<6x6x4x4x1x8xf32>

    C1: to α x α x rows x columns x N x C. C2: from N x H x W x C. C3: `pad` is two numbers, not negative.
    """

    name = "linalg.winograd_input_transform"

    pad = opt_prop_def(DenseArrayBase.constr(i64))

    def __init__(self, m: int, input: SSAValue, output: SSAValue, pad: tuple[int, int] = (0, 0)):
        super().__init__(m, input, output)
        if any(pad):
            self.properties["pad"] = DenseArrayBase.from_list(i64, pad)

    @property
    def padding(self) -> tuple[int, int]:
        """Rows of zeros above the input, columns of zeros left of it."""
        if self.pad is None:
            return 0, 0
        top, left = self.pad.get_values()
        return int(top), int(left)

    def verify_(self) -> None:
        self._expect_tiles(_shape(self.output), _shape(self.input))
        if self.pad is not None and (len(self.pad) != 2 or min(self.pad.get_values()) < 0):
            raise VerifyException(f"expected two paddings, got {list(self.pad.get_values())} (C3)")


@irdl_op_definition
class WinogradOutputTransformOp(WinogradOp):
    """Y += AT M A for each filter of each tile, as far as the output reaches.

        %y = linalg.winograd_output_transform fmr(F_4_3) ins(%m : tensor<6x6x4x4x1x16xf32>)
            outs(%zero : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>

    C1: from α x α x rows x columns x N x F. C2: to N x H x W x F. C3: the last tiles reach into the output.
    """

    name = "linalg.winograd_output_transform"

    def verify_(self) -> None:
        tiles, image, m = _shape(self.input), _shape(self.output), self.m
        self._expect_tiles(tiles, image)
        fits = all(-(-extent // m) == count for extent, count in zip(image[1:3], tiles[2:4], strict=True))
        self._expect(fits, "expected as many tiles as cover the output (C3)")
