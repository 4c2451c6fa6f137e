"""Linear algebra: dot_general, convolution, fft, cholesky, triangular_solve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from . import shapes, shapes_indexed
from .attributes import (
    DotAlgorithmAttr,
    DotDimensionNumbersAttr,
    DotDimensions,
    FftType,
    FftTypeAttr,
    Ints,
    Pads,
    PrecisionAttr,
    Transpose,
    TransposeAttr,
    bool_array,
    bool_attr,
    int_array,
    int_attr,
    ints,
    pads,
    pads_attr,
    precision_config,
)
from .conv_dimensions import ConvDimensionNumbersAttr, ConvDimensions, parse_layouts
from .shapes import Window
from .syntax import (
    TENSOR,
    Bool,
    Clause,
    ClausedOp,
    IntList,
    Keyword,
    PrecisionList,
    StableHLOOp,
    finish,
    print_attributes,
    print_types,
    tensor_operand,
)

Value = SSAValue | Operation
PrecisionConfig = Iterable[str] | ArrayAttr[PrecisionAttr] | None


def _precision(value: PrecisionConfig) -> ArrayAttr[PrecisionAttr] | None:
    return None if value is None else precision_config(value)


@irdl_op_definition
class DotGeneralOp(ClausedOp):
    """Sums of products over the contracting dimensions, for each index of the batching dimensions (C1-C24).

    `%c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] :
        (tensor<4x2x3xf32>, tensor<4x3x5xf32>) -> tensor<4x2x5xf32>`
    """

    name = "stablehlo.dot_general"
    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)
    dot_dimension_numbers = prop_def(DotDimensionNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    algorithm = opt_prop_def(DotAlgorithmAttr)
    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        *,
        lhs_batching_dimensions: Iterable[int] = (),
        rhs_batching_dimensions: Iterable[int] = (),
        lhs_contracting_dimensions: Iterable[int] = (),
        rhs_contracting_dimensions: Iterable[int] = (),
        dot_dimension_numbers: DotDimensionNumbersAttr | None = None,
        precision_config: PrecisionConfig = None,
        algorithm: DotAlgorithmAttr | None = None,
        element_type: Attribute | None = None,
    ):
        if dot_dimension_numbers is None:
            dot_dimension_numbers = DotDimensionNumbersAttr(
                DotDimensions(
                    tuple(lhs_batching_dimensions),
                    tuple(rhs_batching_dimensions),
                    tuple(lhs_contracting_dimensions),
                    tuple(rhs_contracting_dimensions),
                )
            )
        properties = {
            "dot_dimension_numbers": dot_dimension_numbers,
            "precision_config": _precision(precision_config),
            "algorithm": algorithm,
        }
        result_types = None
        if element_type is not None:
            left, right = shapes.tensor(SSAValue.get(lhs)), shapes.tensor(SSAValue.get(rhs))
            result_types = [shapes_indexed.dot_general(left, right, dot_dimension_numbers.data, element_type)]
        self._build([lhs, rhs], properties, result_types=result_types)

    def infer(self) -> Sequence[Attribute] | None:
        # The element type of the result is the op's choice: it says what is accumulated in.
        chosen = self.result.type.element_type if self.results else None
        dims = self.dot_dimension_numbers.data
        return (shapes_indexed.dot_general(self.lhs.type, self.rhs.type, dims, chosen),)

    def verify_(self) -> None:
        super().verify_()
        _check_precision(self.precision_config, "C11")
        if self.algorithm is None:
            return
        if self.precision_config and any(p.data.value != "DEFAULT" for p in self.precision_config):
            shapes.fail("precision_config must be DEFAULT where an algorithm is given", "C21")
        for field, constraint in (
            ("lhs_component_count", "C22"),
            ("rhs_component_count", "C23"),
            ("num_primitive_operations", "C24"),
        ):
            if getattr(self.algorithm.data, field) <= 0:
                shapes.fail(f"{field} of the algorithm must be positive", constraint)

    def print(self, printer: Printer) -> None:
        dims = self.dot_dimension_numbers.data
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        if dims.lhs_batching_dimensions or dims.rhs_batching_dimensions:
            left, right = list(dims.lhs_batching_dimensions), list(dims.rhs_batching_dimensions)
            printer.print_string(f", batching_dims = {left} x {right}")
        left, right = list(dims.lhs_contracting_dimensions), list(dims.rhs_contracting_dimensions)
        printer.print_string(f", contracting_dims = {left} x {right}")
        if self.precision_config is not None:
            printer.print_string(", precision = ")
            PrecisionList.print(printer, self.precision_config)
        if self.algorithm is not None:
            printer.print_string(", algorithm = ")
            self.algorithm.print_parameter(printer)
        print_attributes(printer, self, ("dot_dimension_numbers", "precision_config", "algorithm"))
        print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> DotGeneralOp:
        def pair() -> tuple[tuple[int, ...], tuple[int, ...]]:
            left = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            parser.parse_keyword("x")
            right = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            return tuple(left), tuple(right)

        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        batching, contracting = ((), ()), ((), ())
        properties: dict[str, Attribute] = {}
        while parser.parse_optional_punctuation(","):
            key = parser.parse_keyword_in(("batching_dims", "contracting_dims", "precision", "algorithm"))
            parser.parse_punctuation("=")
            if key == "batching_dims":
                batching = pair()
            elif key == "contracting_dims":
                contracting = pair()
            elif key == "precision":
                properties["precision_config"] = PrecisionList.parse(parser)
            else:
                properties["algorithm"] = DotAlgorithmAttr(DotAlgorithmAttr.parse_parameter(parser))
        properties["dot_dimension_numbers"] = DotDimensionNumbersAttr(DotDimensions(*batching, *contracting))
        return finish(cls, parser, operands, properties)


def _check_precision(config: ArrayAttr[PrecisionAttr] | None, constraint: str) -> None:
    if config is not None and len(config) > 2:
        shapes.fail(f"precision_config must have at most 2 entries, one per operand, got {len(config)}", constraint)


@irdl_op_definition
class ConvolutionOp(StableHLOOp):
    """Slides a kernel over dilated, padded input; features and batches may be split in groups (C1-C27).

    `%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>`
    """

    name = "stablehlo.convolution"
    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    lhs_dilation = opt_prop_def(DenseArrayBase)
    rhs_dilation = opt_prop_def(DenseArrayBase)
    window_reversal = opt_prop_def(DenseArrayBase)
    dimension_numbers = prop_def(ConvDimensionNumbersAttr)
    feature_group_count = prop_def(IntegerAttr)
    batch_group_count = prop_def(IntegerAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        *,
        dimension_numbers: str | ConvDimensions | ConvDimensionNumbersAttr,
        window_strides: Ints | None = None,
        padding: Pads | None = None,
        lhs_dilation: Ints | None = None,
        rhs_dilation: Ints | None = None,
        window_reversal: Sequence[bool] | DenseArrayBase | None = None,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: PrecisionConfig = None,
        element_type: Attribute | None = None,
    ):
        properties = {
            "window_strides": None if window_strides is None else int_array(window_strides),
            "padding": None if padding is None else pads_attr(padding),
            "lhs_dilation": None if lhs_dilation is None else int_array(lhs_dilation),
            "rhs_dilation": None if rhs_dilation is None else int_array(rhs_dilation),
            "window_reversal": None if window_reversal is None else bool_array(window_reversal),
            "dimension_numbers": ConvDimensionNumbersAttr.of(dimension_numbers),
            "feature_group_count": int_attr(feature_group_count),
            "batch_group_count": int_attr(batch_group_count),
            "precision_config": _precision(precision_config),
        }
        self._build([lhs, rhs], properties, result_types=None if element_type is None else ())
        if element_type is not None:
            self._set_results([self._result_type(element_type)])

    @property
    def dims(self) -> ConvDimensions:
        """The dimension numbers as plain data."""
        return self.dimension_numbers.data

    def window(self) -> Window:
        """The window over the spatial dimensions, with defaults where the op states nothing."""
        kernel = self.rhs.type.get_shape()
        size = tuple(kernel[axis] for axis in self.dims.kernel_spatial_dimensions)
        ones = (1,) * len(size)
        reversal = ints(self.window_reversal, (0,) * len(size))
        return Window(
            size,
            ints(self.window_strides, ones),
            pads(self.padding, len(size)),
            ints(self.lhs_dilation, ones),
            ints(self.rhs_dilation, ones),
            tuple(bool(r) for r in reversal),
        )

    def infer(self) -> Sequence[Attribute] | None:
        # The element type of the result is the op's choice: it says what is accumulated in.
        return (self._result_type(self.result.type.element_type if self.results else None),)

    def _result_type(self, element_type: Attribute | None) -> TensorType:
        feature_groups, batch_groups = self.feature_group_count.value.data, self.batch_group_count.value.data
        return shapes_indexed.convolution(
            self.lhs.type, self.rhs.type, self.window(), self.dims, feature_groups, batch_groups, element_type
        )

    def verify_(self) -> None:
        super().verify_()
        _check_precision(self.precision_config, "C24")

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.operands, printer.print_operand)
        window: list[str] = []
        for key, name in _WINDOW_KEYS.items():
            attr: Any = self.properties.get(name)
            if attr is None:
                continue
            if key == "pad":
                values = [list(pair) for pair in pads(attr, 0)]
            elif key == "reverse":
                values = "[" + ", ".join("true" if v else "false" for v in ints(attr)) + "]"
            else:
                values = list(ints(attr))
            window.append(f"{key} = {values}")
        printer.print_string(f") dim_numbers = {self.dims}, window = {{{', '.join(window)}}}")
        print_attributes(printer, self, ("dimension_numbers", *_WINDOW_KEYS.values()))
        print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> ConvolutionOp:
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"dimension_numbers": ConvDimensionNumbersAttr(parse_layouts(parser))}
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")

        def numbers() -> list[int]:
            return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)

        def entry() -> None:
            key = parser.parse_keyword_in(_WINDOW_KEYS)
            parser.parse_punctuation("=")
            name = _WINDOW_KEYS[key]
            if key == "pad":
                position = parser.pos
                pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, numbers)
                if any(len(pair) != 2 for pair in pairs):
                    parser.raise_error("expected pairs of low and high padding", position)
                properties[name] = pads_attr(pairs)
            elif key == "reverse":
                properties[name] = bool_array([bool(n) for n in numbers()])
            else:
                properties[name] = int_array(numbers())

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
        return finish(cls, parser, operands, properties)


_WINDOW_KEYS = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


@irdl_op_definition
class FftOp(ClausedOp):
    """The discrete Fourier transform over the last one to three dimensions (C1-C5).

    `%r = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>`
    """

    name = "stablehlo.fft"
    operand = tensor_operand()
    result = result_def(TENSOR)
    fft_type = prop_def(FftTypeAttr)
    fft_length = prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (
        Clause("type", "fft_type", Keyword(FftTypeAttr)),
        Clause("length", "fft_length", IntList),
    )

    def __init__(self, operand: Value, *, fft_type: str | FftTypeAttr, fft_length: Ints):
        if isinstance(fft_type, str):
            fft_type = FftTypeAttr(FftType(fft_type))
        self._build([operand], {"fft_type": fft_type, "fft_length": int_array(fft_length)})

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.fft(self.operand.type, self.fft_type.data.value, ints(self.fft_length)),)


@irdl_op_definition
class CholeskyOp(ClausedOp):
    """The lower or upper factor L of L L^H for a batch of matrices (C1-C3).

    `%r = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>`
    """

    name = "stablehlo.cholesky"
    a = tensor_operand()
    result = result_def(TENSOR)
    lower = opt_prop_def(BoolAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("lower", "lower", Bool),)
    ONE_TYPE: ClassVar = True

    def __init__(self, a: Value, *, lower: bool = False):
        self._build([a], {"lower": bool_attr(lower)})

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.cholesky(self.a.type),)


@irdl_op_definition
class TriangularSolveOp(StableHLOOp):
    """Solves op(a) x = b, or x op(a) = b, for a batch of triangular matrices a (C1-C4)."""

    name = "stablehlo.triangular_solve"
    a = tensor_operand()
    b = tensor_operand()
    result = result_def(TENSOR)
    left_side = prop_def(BoolAttr)
    lower = prop_def(BoolAttr)
    unit_diagonal = prop_def(BoolAttr)
    transpose_a = prop_def(TransposeAttr)
    traits = traits_def(Pure())

    def __init__(
        self,
        a: Value,
        b: Value,
        *,
        left_side: bool,
        lower: bool,
        unit_diagonal: bool,
        transpose_a: str | TransposeAttr = "NO_TRANSPOSE",
    ):
        if isinstance(transpose_a, str):
            transpose_a = TransposeAttr(Transpose(transpose_a))
        properties = {
            "left_side": bool_attr(left_side),
            "lower": bool_attr(lower),
            "unit_diagonal": bool_attr(unit_diagonal),
            "transpose_a": transpose_a,
        }
        self._build([a, b], properties)

    def infer(self) -> Sequence[Attribute] | None:
        if self.transpose_a.data == Transpose.TRANSPOSE_INVALID:
            shapes.fail("transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT", "I6")
        return (shapes.triangular_solve(self.a.type, self.b.type, bool(self.left_side.value.data)),)
