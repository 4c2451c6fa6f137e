# ruff: noqa: E501
"""A program for each op of the hub, in any element type: `<2x3>` stands for a tensor of that type, `T` for the type."""

from __future__ import annotations

import re

CLASSES = {
    "bool": "i1",
    "signed": "i32",
    "unsigned": "ui8",
    "float": "f32",
    "half": "bf16",
    "complex": "complex<f32>",
    "quantized": "!quant.uniform<i8:f32, 0.25:3>",
}
ALL = " ".join(CLASSES)
NUMBERS = "signed unsigned float half complex quantized"
REAL = "float half quantized"
ANALYTIC = "float half complex quantized"
INTEGER = "signed unsigned"
PLAIN = "bool signed unsigned float half complex"


def _elementwise() -> dict[str, tuple[str, str]]:
    unary = {
        "abs": "signed float half quantized",
        "cbrt ceil floor round_nearest_afz round_nearest_even": REAL,
        "cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh": ANALYTIC,
        "count_leading_zeros popcnt": INTEGER,
        "negate": NUMBERS,
        "not": "bool signed unsigned",
        "sign": "signed float half complex quantized",
    }
    binary = {
        "add multiply": ALL,
        "maximum minimum": ALL,
        "and or xor": "bool signed unsigned",
        "atan2": ANALYTIC,
        "divide power subtract": NUMBERS,
        "remainder": "signed unsigned float half quantized",  # of complex numbers it is not specified
        "shift_left shift_right_arithmetic shift_right_logical": INTEGER,
    }
    chlo = {
        """acos acosh asin asinh atan atanh cosh sinh conj square tan""": "float half",
        "bessel_i1e digamma erf erf_inv erfc lgamma": "float half",
    }
    chlo_binary = {"next_after polygamma zeta": "float half", "mulhi": INTEGER}
    found: dict[str, tuple[str, str]] = {}
    for table, form in (
        (unary, "%x: <2x3> | <2x3> | stablehlo.{} %x : <2x3>"),
        (binary, "%x: <2x3>, %y: <2x3> | <2x3> | stablehlo.{} %x, %y : <2x3>"),
        (chlo, "%x: <2x3> | <2x3> | chlo.{} %x : <2x3> -> <2x3>"),
        (chlo_binary, "%x: <2x3>, %y: <2x3> | <2x3> | chlo.{} %x, %y : <2x3>, <2x3> -> <2x3>"),
    ):
        for names, classes in table.items():
            for name in names.split():
                key = name if form.find("stablehlo") >= 0 else f"chlo.{name}"
                found[key] = (classes, form.format(name))
    return found


_SUM = "({ ^bb0(%a: <>, %b: <>): %s = stablehlo.add %a, %b : <> stablehlo.return %s : <> })"
_LESS = "({ ^bb0(%a: <>, %b: <>): %s = stablehlo.compare GE, %a, %b : (<>, <>) -> tensor<i1> stablehlo.return %s : tensor<i1> })"
_ALONE = "replica_groups = dense<0> : tensor<1x1xi64>"
OTHERS = f"""
all_gather | {ALL} | %x: <2x3> | <2x3> | "stablehlo.all_gather"(%x) <{{all_gather_dim = 0 : i64, {_ALONE}}}> : (<2x3>) -> <2x3>
all_reduce | {ALL} | %x: <2x3> | <2x3> | "stablehlo.all_reduce"(%x) <{{{_ALONE}}}> {_SUM} : (<2x3>) -> <2x3>
all_to_all | {ALL} | %x: <2x3> | <2x3> | "stablehlo.all_to_all"(%x) <{{concat_dimension = 0 : i64, split_count = 1 : i64, split_dimension = 1 : i64, {_ALONE}}}> : (<2x3>) -> <2x3>
collective_broadcast | {ALL} | %x: <2x3> | <2x3> | "stablehlo.collective_broadcast"(%x) <{{{_ALONE}}}> : (<2x3>) -> <2x3>
collective_permute | {ALL} | %x: <2x3> | <2x3> | "stablehlo.collective_permute"(%x) <{{source_target_pairs = dense<0> : tensor<1x2xi64>}}> : (<2x3>) -> <2x3>
collective_reduce | {ALL} | %x: <2x3> | <2x3> | "stablehlo.collective_reduce"(%x) <{{{_ALONE}}}> {_SUM} : (<2x3>) -> <2x3>
reduce_scatter | {ALL} | %x: <2x3> | <2x3> | "stablehlo.reduce_scatter"(%x) <{{scatter_dimension = 0 : i64, {_ALONE}}}> {_SUM} : (<2x3>) -> <2x3>
batch_norm_inference | {REAL} | %x: <2x3>, %s: <3> | <2x3> | "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{{epsilon = 0.5 : f32, feature_index = 1 : i64}}> : (<2x3>, <3>, <3>, <3>, <3>) -> <2x3>
bitcast_convert | {ALL} | %x: <2x3> | <2x3> | stablehlo.bitcast_convert %x : (<2x3>) -> <2x3>
broadcast_in_dim | {ALL} | %x: <3> | <2x3> | stablehlo.broadcast_in_dim %x, dims = [1] : (<3>) -> <2x3>
case | {ALL} | %i: tensor<i32>, %x: <2x3>, %y: <2x3> | <2x3> | "stablehlo.case"(%i) ({{ stablehlo.return %x : <2x3> }}, {{ stablehlo.return %y : <2x3> }}) : (tensor<i32>) -> <2x3>
cholesky | float complex quantized | %x: <2x2> | <2x2> | stablehlo.cholesky %x, lower = true : <2x2>
clamp | signed unsigned float half quantized | %a: <>, %x: <2x3>, %b: <> | <2x3> | stablehlo.clamp %a, %x, %b : (<>, <2x3>, <>) -> <2x3>
compare | {ALL} | %x: <2x3>, %y: <2x3> | tensor<2x3xi1> | stablehlo.compare EQ, %x, %y : (<2x3>, <2x3>) -> tensor<2x3xi1>
concatenate | {ALL} | %x: <2x3>, %y: <1x3> | <3x3> | stablehlo.concatenate %x, %y, dim = 0 : (<2x3>, <1x3>) -> <3x3>
convert | {PLAIN} | %x: <2x3> | tensor<2x3xf32> | stablehlo.convert %x : (<2x3>) -> tensor<2x3xf32>
convolution | {NUMBERS} | %x: <1x4x4x2>, %k: <2x2x2x3> | <1x3x3x3> | stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (<1x4x4x2>, <2x2x2x3>) -> <1x3x3x3>
dot_general | signed unsigned float half complex | %x: <2x3>, %y: <3x4> | <2x4> | stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (<2x3>, <3x4>) -> <2x4>
dynamic_slice | {ALL} | %x: <4x3>, %i: tensor<i32> | <2x2> | stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 2] : (<4x3>, tensor<i32>, tensor<i32>) -> <2x2>
dynamic_update_slice | {ALL} | %x: <4x3>, %u: <2x2>, %i: tensor<i32> | <4x3> | stablehlo.dynamic_update_slice %x, %u, %i, %i : (<4x3>, <2x2>, tensor<i32>, tensor<i32>) -> <4x3>
fft | complex | %x: <2x4> | <2x4> | stablehlo.fft %x, type = FFT, length = [4] : (<2x4>) -> <2x4>
gather | {ALL} | %x: <4x3>, %i: tensor<2xi32> | <2x3> | "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}}> : (<4x3>, tensor<2xi32>) -> <2x3>
get_dimension_size | {ALL} | %x: <2x3> | tensor<i32> | stablehlo.get_dimension_size %x, dim = 1 : (<2x3>) -> tensor<i32>
if | {ALL} | %c: tensor<i1>, %x: <2x3>, %y: <2x3> | <2x3> | "stablehlo.if"(%c) ({{ stablehlo.return %x : <2x3> }}, {{ stablehlo.return %y : <2x3> }}) : (tensor<i1>) -> <2x3>
imag | float complex | %x: <2x3> | tensor<2x3xf32> | stablehlo.imag %x : (<2x3>) -> tensor<2x3xf32>
real | float complex | %x: <2x3> | tensor<2x3xf32> | stablehlo.real %x : (<2x3>) -> tensor<2x3xf32>
iota | {NUMBERS} | | <2x3> | stablehlo.iota dim = 1 : <2x3>
is_finite | {REAL} | %x: <2x3> | tensor<2x3xi1> | stablehlo.is_finite %x : (<2x3>) -> tensor<2x3xi1>
map | {ALL} | %x: <2x3>, %y: <2x3> | <2x3> | "stablehlo.map"(%x, %y) <{{dimensions = array<i64: 0, 1>}}> {_SUM} : (<2x3>, <2x3>) -> <2x3>
optimization_barrier | {ALL} | %x: <2x3> | <2x3> | stablehlo.optimization_barrier %x : <2x3>
pad | {ALL} | %x: <2x3>, %v: <> | <3x5> | stablehlo.pad %x, %v, low = [1, 0], high = [0, 0], interior = [0, 1] : (<2x3>, <>) -> <3x5>
reduce | {ALL} | %x: <2x3>, %v: <> | <2> | stablehlo.reduce(%x init: %v) applies stablehlo.add across dimensions = [1] : (<2x3>, <>) -> <2>
reduce_precision | {REAL} | %x: <2x3> | <2x3> | stablehlo.reduce_precision %x, format = e5m2 : <2x3>
reduce_window | {ALL} | %x: <2x4>, %v: <> | <2x2> | "stablehlo.reduce_window"(%x, %v) <{{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}}> {_SUM} : (<2x4>, <>) -> <2x2>
reshape | {ALL} | %x: <2x3> | <6> | stablehlo.reshape %x : (<2x3>) -> <6>
reverse | {ALL} | %x: <2x3> | <2x3> | stablehlo.reverse %x, dims = [1] : <2x3>
scatter | {ALL} | %x: <4x3>, %i: tensor<2xi32>, %u: <2x3> | <4x3> | "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {_SUM} : (<4x3>, tensor<2xi32>, <2x3>) -> <4x3>
select | {ALL} | %c: tensor<2x3xi1>, %x: <2x3>, %y: <2x3> | <2x3> | stablehlo.select %c, %x, %y : tensor<2x3xi1>, <2x3>
select_and_scatter | signed unsigned float half quantized | %x: <2x4>, %u: <2x2>, %v: <> | <2x4> | "stablehlo.select_and_scatter"(%x, %u, %v) <{{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}}> ({_LESS[1:-1]}, {_SUM[1:-1]}) : (<2x4>, <2x2>, <>) -> <2x4>
slice | {ALL} | %x: <4x3> | <2x2> | stablehlo.slice %x [0:4:2, 1:3] : (<4x3>) -> <2x2>
sort | signed unsigned float half quantized | %x: <2x3> | <2x3> | "stablehlo.sort"(%x) <{{dimension = 1 : i64}}> {_LESS.replace("GE", "LT")} : (<2x3>) -> <2x3>
transpose | {ALL} | %x: <2x3> | <3x2> | stablehlo.transpose %x, dims = [1, 0] : (<2x3>) -> <3x2>
triangular_solve | float complex quantized | %x: <2x2>, %y: <2x3> | <2x3> | "stablehlo.triangular_solve"(%x, %y) <{{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}}> : (<2x2>, <2x3>) -> <2x3>
while | {ALL} | %c: tensor<i1>, %x: <2x3> | <2x3> | stablehlo.while(%b = %x) : <2x3> cond {{ %no = stablehlo.constant dense<false> : tensor<i1> stablehlo.return %no : tensor<i1> }} do {{ stablehlo.return %b : <2x3> }}
dynamic_iota | {NUMBERS} | %n: tensor<1xi32> | tensor<?xT> | stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xT>
uniform_quantize | float | %x: <2x3> | tensor<2x3x!quant.uniform<i8:f32, 0.5:3>> | stablehlo.uniform_quantize %x : (<2x3>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>
uniform_dequantize | quantized | %x: <2x3> | tensor<2x3xf32> | stablehlo.uniform_dequantize %x : (<2x3>) -> tensor<2x3xf32>
complex | float | %x: <2x3>, %y: <2x3> | tensor<2x3xcomplex<f32>> | stablehlo.complex %x, %y : tensor<2x3xcomplex<f32>>
replica_id | unsigned | | tensor<ui32> | stablehlo.replica_id : tensor<ui32>
partition_id | unsigned | | tensor<ui32> | stablehlo.partition_id : tensor<ui32>
chlo.scan | {PLAIN} | %x: <2x3>, %v: <3> | <2x3> | chlo.scan(%x) inits (%v) dimension=0 {{ ^bb0(%a: <3>, %b: <3>): %s = stablehlo.add %a, %b : <3> stablehlo.return %s, %s : <3>, <3> }} : (<2x3>, <3>) -> (<2x3>, <3>)
chlo.top_k | signed unsigned float half | %x: <2x3> | <2x2> | chlo.top_k(%x, k = 2) : <2x3> -> (<2x2>, tensor<2x2xi32>)
""".strip()


def programs() -> dict[str, dict[str, str]]:
    """Per op its program in each class of element types that it takes."""
    found: dict[str, dict[str, str]] = {}
    rows = {name: (classes, text) for name, (classes, text) in _elementwise().items()}
    for line in OTHERS.splitlines():
        name, classes, text = line.split(" | ", 2)
        rows[name] = (classes, text)
    for name, (classes, text) in sorted(rows.items()):
        arguments, result, op = (part.strip() for part in text.split("| " if text.startswith("|") else " | ", 2))
        count = 2 if name in ("chlo.scan", "chlo.top_k") else 1
        whole = f"func.func public @main({arguments}) -> {result} {{ %r{':2' if count == 2 else ''} = {op}\n"
        whole += f"func.return %r{'#0' if count == 2 else ''} : {result} }}"
        found[name] = {kind: with_type(whole, CLASSES[kind]) for kind in classes.split()}
    return found


def with_type(text: str, element: str) -> str:
    """`text` with its tensors of the element type spelt out."""
    text = re.sub(r"(?<![\w>])<(\d[\dx]*)?>", lambda m: f"tensor<{m[1] + 'x' if m[1] else ''}{element}>", text)
    return re.sub(r"(?<=x)T>", f"{element}>", text)
