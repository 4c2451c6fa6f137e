"""Ops are constructed from plain Python values, and their result types follow from their operands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ComplexType, TensorType, f32, f64, i1, i8, i16, i32, i64
from xdsl.dialects.test import TestOp as SourceOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects import stablehlo as hlo

Types = list[Attribute]


def values(types: Types) -> list[SSAValue]:
    return list(SourceOp(result_types=types).results)


def f(*shape: int) -> Attribute:
    return TensorType(f32, shape)


def i(*shape: int) -> Attribute:
    return TensorType(i64, shape)


def compare_region(element: Attribute) -> Region:
    block = Block(arg_types=[TensorType(element, [])] * 2)
    less = hlo.CompareOp(*block.args, comparison_direction="LT")
    block.add_ops([less, hlo.ReturnOp([less])])
    return Region(block)


INFERRED: list[tuple[str, Types, Callable[..., Operation], str]] = [
    ("unary", [f(2)], hlo.TanhOp, "tensor<2xf32>"),
    ("binary", [f(2, 3), f(2, 3)], hlo.AddOp, "tensor<2x3xf32>"),
    ("abs of complex", [TensorType(ComplexType(f32), [2])], hlo.AbsOp, "tensor<2xf32>"),
    ("is_finite", [f(2)], hlo.IsFiniteOp, "tensor<2xi1>"),
    ("complex", [f(2), f(2)], hlo.ComplexOp, "tensor<2xcomplex<f32>>"),
    ("compare", [f(2), f(2)], lambda a, b: hlo.CompareOp(a, b, comparison_direction="LT"), "tensor<2xi1>"),
    ("select", [TensorType(i1, []), f(2), f(2)], hlo.SelectOp, "tensor<2xf32>"),
    ("clamp", [f(), f(2), f()], hlo.ClampOp, "tensor<2xf32>"),
    ("convert", [f(2)], lambda x: hlo.ConvertOp(x, f64), "tensor<2xf64>"),
    ("bitcast to narrow", [f(2)], lambda x: hlo.BitcastConvertOp(x, i16), "tensor<2x2xi16>"),
    ("bitcast to wide", [TensorType(i8, [3, 8])], lambda x: hlo.BitcastConvertOp(x, f64), "tensor<3xf64>"),
    ("reshape", [f(2, 3)], lambda x: hlo.ReshapeOp(x, [6]), "tensor<6xf32>"),
    ("transpose", [f(2, 3, 4)], lambda x: hlo.TransposeOp(x, permutation=[2, 0, 1]), "tensor<4x2x3xf32>"),
    (
        "broadcast",
        [f(3)],
        lambda x: hlo.BroadcastInDimOp(x, shape=[2, 3], broadcast_dimensions=[1]),
        "tensor<2x3xf32>",
    ),
    ("concatenate", [f(1, 3), f(2, 3)], lambda *x: hlo.ConcatenateOp(x, dimension=0), "tensor<3x3xf32>"),
    (
        "slice",
        [f(9, 8)],
        lambda x: hlo.SliceOp(x, start_indices=[1, 0], limit_indices=[9, 8], strides=[3, 1]),
        "tensor<3x8xf32>",
    ),
    (
        "pad, empty and negative",
        [f(4, 0), f()],
        lambda x, v: hlo.PadOp(x, v, edge_padding_low=[1, 0], edge_padding_high=[-2, 3], interior_padding=[2, 5]),
        "tensor<9x3xf32>",
    ),
    (
        "dynamic_slice",
        [f(4, 4), i(), i()],
        lambda x, *at: hlo.DynamicSliceOp(x, at, slice_sizes=[1, 4]),
        "tensor<1x4xf32>",
    ),
    (
        "gather",
        [f(5, 3, 4), i(2, 7, 1)],
        lambda x, at: hlo.GatherOp(
            x,
            at,
            offset_dims=[0, 3],
            collapsed_slice_dims=[0],
            start_index_map=[0],
            index_vector_dim=2,
            slice_sizes=[1, 3, 4],
        ),
        "tensor<3x2x7x4xf32>",
    ),
    (
        "gather with implicit index vector",
        [f(5, 4), i(7)],
        lambda x, at: hlo.GatherOp(
            x,
            at,
            offset_dims=[1],
            collapsed_slice_dims=[0],
            start_index_map=[0],
            index_vector_dim=1,
            slice_sizes=[1, 4],
        ),
        "tensor<7x4xf32>",
    ),
    (
        "scatter",
        [f(5, 4), i(7, 1), f(7, 4)],
        lambda x, at, u: hlo.ScatterOp(
            [x],
            at,
            [u],
            update_computation="add",
            update_window_dims=[1],
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
        ),
        "tensor<5x4xf32>",
    ),
    (
        "dot_general",
        [f(5, 2, 3), f(3, 4, 5)],
        lambda a, b: hlo.DotGeneralOp(
            a,
            b,
            lhs_batching_dimensions=[0],
            rhs_batching_dimensions=[2],
            lhs_contracting_dimensions=[2],
            rhs_contracting_dimensions=[0],
        ),
        "tensor<5x2x4xf32>",
    ),
    (
        "dot_general that accumulates wider",
        [TensorType(i8, [2, 3]), TensorType(i8, [3, 4])],
        lambda a, b: hlo.DotGeneralOp(
            a, b, lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0], element_type=i32
        ),
        "tensor<2x4xi32>",
    ),
    (
        "convolution, strided, padded, dilated, grouped",
        [f(2, 8, 9, 4), f(3, 2, 2, 6)],
        lambda x, k: hlo.ConvolutionOp(
            x,
            k,
            dimension_numbers="[b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1]",
            window_strides=[2, 1],
            padding=[[1, 1], [0, 3]],
            lhs_dilation=[1, 2],
            rhs_dilation=[2, 1],
            feature_group_count=2,
        ),
        "tensor<2x6x3x19xf32>",
    ),
    (
        "convolution by batch groups, one dimension",
        [f(4, 3, 8), f(6, 3, 3)],
        lambda x, k: hlo.ConvolutionOp(x, k, dimension_numbers="[b, f, 0]x[o, i, 0]->[b, f, 0]", batch_group_count=2),
        "tensor<2x6x6xf32>",
    ),
    ("reduce", [f(2, 3, 4), f()], lambda x, c: hlo.ReduceOp([x], [c], dimensions=[0, 2], body="add"), "tensor<3xf32>"),
    (
        "reduce_window",
        [f(1, 7, 7, 2), f()],
        lambda x, c: hlo.ReduceWindowOp(
            [x],
            [c],
            body="maximum",
            window_dimensions=[1, 3, 3, 1],
            window_strides=[1, 2, 2, 1],
            padding=[[0, 0], [1, 1], [0, 0], [0, 0]],
        ),
        "tensor<1x4x3x2xf32>",
    ),
    (
        "select_and_scatter",
        [f(4, 6), f(2, 3), f()],
        lambda x, s, c: hlo.SelectAndScatterOp(x, s, c, select="GE", window_dimensions=[2, 2], window_strides=[2, 2]),
        "tensor<4x6xf32>",
    ),
    ("sort", [f(4)], lambda x: hlo.SortOp([x], compare_region(f32)), "tensor<4xf32>"),
    ("fft", [f(3, 8)], lambda x: hlo.FftOp(x, fft_type="RFFT", fft_length=[8]), "tensor<3x5xcomplex<f32>>"),
    ("tuple", [f(4), i()], lambda *x: hlo.TupleOp(x), "tuple<tensor<4xf32>, tensor<i64>>"),
]


@pytest.mark.parametrize(("types", "make", "expected"), [pytest.param(*c[1:], id=c[0]) for c in INFERRED])
def test_inferred(types: Types, make: Callable[..., Operation], expected: str) -> None:
    op = make(*values(types))
    op.verify()
    assert [str(r.type) for r in op.results] == [expected]


def test_construction_names_the_constraint() -> None:
    with pytest.raises(VerifyException, match=r"must have the same size, got 3 and 4 \(C10\)"):
        hlo.DotGeneralOp(*values([f(2, 3), f(4, 5)]), lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0])


def test_combiner_is_recognised() -> None:
    assert hlo.combiner_of(hlo.combiner("maximum", f32)) == "maximum"
    assert hlo.combiner_of(compare_region(f32)) is None


def test_window_where_it_is_larger_than_the_input() -> None:
    assert hlo.Window((3, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)).output_shape((2, 0)) == (0, 0)
