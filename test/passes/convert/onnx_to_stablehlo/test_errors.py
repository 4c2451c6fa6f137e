"""What is said when a model cannot be lowered."""

from __future__ import annotations

import pytest
from onnx import helper
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.parsing import parse_module
from lamina.dialects import all_dialects
from lamina.passes.convert.onnx_to_stablehlo import ConvertOnnxToStablehlo, lowers, operators


def refusal(body: str, arguments: str = "%x: tensor<2x3xf32>", opset: int = 17) -> str:
    ctx = LaminaContext()
    for name, load in all_dialects().items():
        ctx.register_dialect(name, load)
    text = f"""builtin.module attributes {{onnx.opsets = {{ai.onnx = {opset} : i64}}}} {{
      func.func public @main({arguments}) -> tensor<*xf32> {{
        {body}
        func.return %y : tensor<*xf32>
      }}
    }}"""
    module = parse_module(text, "m.mlir", ctx)
    assert isinstance(module, ModuleOp)
    with pytest.raises(LaminaError) as info:
        ConvertOnnxToStablehlo().apply(ctx, module)
    return str(info.value)


def test_unsupported_operators_are_named_all_at_once() -> None:
    message = refusal(
        """
        %a = "onnx.com.example.Twist"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
        %b = "onnx.com.example.Swirl"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
        %y = "onnx.com.example.Swirl"(%b) : (tensor<*xf32>) -> tensor<*xf32>
        """
    )
    assert "3 nodes cannot be lowered" in message
    assert "note: com.example.Swirl (opset 1) of f32: has no lowering: 2 nodes: m.mlir:5:14, m.mlir:6:14" in message
    assert "note: com.example.Twist (opset 1) of f32: has no lowering: 1 node: m.mlir:4:14" in message


def test_symbolic_dimensions_are_named() -> None:
    message = refusal(
        '%y = "onnx.Relu"(%x) : (tensor<?x3xf32>) -> tensor<*xf32>',
        '%x: tensor<?x3xf32> {lamina.name = "data", lamina.dims = ["batch", ""]}',
    )
    assert "input 'data' of type tensor<?x3xf32> has no static shape (bind batch: onnx-bind-shapes" in message


def test_shapes_that_do_not_fit() -> None:
    message = refusal(
        '%y = "onnx.MatMul"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>',
    )
    assert message == "m.mlir:3:14: error: 'onnx.MatMul' op shapes [2, 3] and [2, 3] do not fit: 3 is not 2"
    message = refusal(
        '%y = "onnx.Add"(%x, %z) : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<*xf32>',
        "%x: tensor<2x3xf32>, %z: tensor<2x2xf32>",
    )
    assert "shapes [2, 3] and [2, 2] do not broadcast" in message


def test_shapes_only_known_at_run_time() -> None:
    message = refusal(
        '%y = "onnx.Reshape"(%x, %s) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>',
        "%x: tensor<2x3xf32>, %s: tensor<2xi64>",
    )
    assert "shape of Reshape must be known at compile time" in message


def test_one_lowering_per_operator_and_opset() -> None:
    assert ("ai.onnx", "Gemm", 7) in operators()
    with pytest.raises(LaminaError, match=r"both lower ai.onnx.Gemm since 7"):
        lowers("Gemm", since=7)(lambda b, a: a)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ('"onnx.SpaceToDepth"(%x) {blocksize = 2 : i64} : (tensor<2x3xf32>)', "4"),
        ('"onnx.com.microsoft.FusedMatMul"(%x, %x) {alpha = "1"} : (tensor<2x3xf32>, tensor<2x3xf32>)', "be float"),
        ('"onnx.com.microsoft.FusedMatMul"(%x) : (tensor<2x3xf32>)', "is required"),
        ('"onnx.com.microsoft.FusedMatMul"(%x, %x) {nap = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>)', "'nap'"),
    ],
)
def test_what_does_not_fit_is_said(node: str, reason: str) -> None:
    assert reason in refusal(f"%y = {node} -> tensor<*xf32>")


@pytest.mark.parametrize(
    ("node", "arguments", "reason"),
    [
        (
            '"onnx.Conv"(%x, %w) {group = 0 : i64}',
            ("1x0x8xf32", "4x2x3xf32"),
            "0 input channels do not fit weights of shape [4, 2, 3] in 0 groups",
        ),
        ('"onnx.Conv"(%x, %w) {strides = [0]}', ("1x2x8xf32", "4x2x3xf32"), "strides [0] and dilations [1] must be"),
        (
            '"onnx.Conv"(%x, %w) {pads = [8589934592, 0]}',
            ("1x2x8xf32", "4x2x3xf32"),
            "pads [8589934592, 0] are more than 1048576",
        ),
        (
            '"onnx.ConvTranspose"(%x, %w) {group = 0 : i64}',
            ("1x2x8xf32", "2x2x3xf32"),
            "2 input channels do not fit weights of shape [2, 2, 3] in 0 groups",
        ),
        ('"onnx.GRU"(%x, %w, %w)', ("3x2x4xf32", "f32"), "X, W and R need three dimensions, got [[3, 2, 4], [], []]"),
        (
            '"onnx.LSTM"(%x, %w, %w) {hidden_size = 5 : i64}',
            ("3x2x4xf32", "1x20x5xf32"),
            "W has the shape [1, 20, 5], expected [1, 20, 4]",
        ),
        ('"onnx.Compress"(%x, %w)', ("2x3xf32", "i1"), "condition of Compress must have one dimension, got []"),
        (
            '"onnx.DeformConv"(%x, %w, %x) {kernel_shape = [8589934592 : i64, 2 : i64]}',
            ("1x1x3x3xf32", "1x1x2x2xf32"),
            "attributes, weights and offsets do not fit 2 dimensions",
        ),
        (
            '"onnx.NonMaxSuppression"(%x, %w)',
            ("1x6x4x5xf32", "1x2x6xf32"),
            "boxes [batches, n, 4] and scores [batches, classes, n], got [1, 6, 4, 5] and [1, 2, 6]",
        ),
    ],
)
def test_operands_and_attributes_that_do_not_fit(node: str, arguments: tuple[str, str], reason: str) -> None:
    kinds = [f"tensor<{kind}>" for kind in arguments]
    operands = [kinds["xw".index(name)] for name in node[node.index("(") : node.index(")")] if name in "xw"]
    text = f"%y = {node.replace('[0]', '[0 : i64]')} : ({', '.join(operands)}) -> tensor<*xf32>"
    text = text.replace("[8589934592, 0]", "[8589934592 : i64, 0 : i64]")
    assert reason in refusal(text, f"%x: {kinds[0]}, %w: {kinds[1]}", opset=21)


@pytest.mark.parametrize("groups", [0, -1])
def test_group_normalization_needs_groups(groups: int) -> None:
    kinds = ["tensor<1x4x8xf32>", "tensor<4xf32>", "tensor<4xf32>"]
    node = f'%y = "onnx.GroupNormalization"(%x, %s, %b) {{num_groups = {groups} : i64}} : ({", ".join(kinds)})'
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in zip("xsb", kinds, strict=True))
    message = refusal(f"{node} -> tensor<*xf32>", arguments, opset=21)
    assert f"the channels of [1, 4, 8] do not divide into {groups} groups" in message


@pytest.mark.parametrize(
    ("modes", "yes", "no", "told"),
    [
        (["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], [1, 0, 0], [2, 2, 0], "tree 0 has no root: it runs in circles"),
        (["BRANCH_LEQ", "LEAF"], [7, 0], [1, 0], "tree 0 has no node 7, which node 0 leads to"),
    ],
)
def test_trees_that_are_none(modes: list[str], yes: list[int], no: list[int], told: str) -> None:
    count = len(modes)
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        nodes_treeids=[0] * count,
        nodes_nodeids=list(range(count)),
        nodes_featureids=[0] * count,
        nodes_values=[0.5] * count,
        nodes_modes=modes,
        nodes_truenodeids=yes,
        nodes_falsenodeids=no,
        target_treeids=[0],
        target_nodeids=[count - 1],
        target_ids=[0],
        target_weights=[1.0],
        n_targets=1,
    )
    rows, result = (helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [2, 3]), ("y", [2, 1])))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    model = helper.make_model(helper.make_graph([node], "g", [rows], [result]), opset_imports=opsets, ir_version=8)
    with pytest.raises(LaminaError, match=told):
        lamina.compile(model, "interpret")
