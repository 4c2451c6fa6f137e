"""Programs as ONNX models: what others make of them is what we do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import lamina
from lamina.compiler.tolerance import bounded_reference
from lamina.tools import random_ops, random_regions
from lamina.tools.export import export_onnx
from lamina.tools.main import main
from lamina.tools.random_programs import Generator, random_choices

assert random_ops and random_regions  # they register the makers


OUTPUTS = {"y": ["batch", 512], "x": ["batch", 4], "w": [4, 512]}


def two_layers() -> ModelProto:
    """relu(x w) and x itself, with a loop beside: names, a symbolic dimension, an output that is an input."""
    weight = np.random.default_rng(0).standard_normal((4, 512)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["x/w:0"], name="first"),
            helper.make_node("Relu", ["x/w:0"], ["y"], name="second"),
        ],
        "two_layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in OUTPUTS.items()],
        [numpy_helper.from_array(weight, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run(model: Any, inputs: Sequence[Any]) -> list[Any]:
    """What ONNX Runtime says."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model if isinstance(model, bytes) else str(model))
    return session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs, strict=True)})


def test_what_was_imported_goes_out_as_it_came(tmp_path: Path) -> None:
    source = two_layers()
    del source.graph.output[1]  # an output that is an input takes another name
    model = export_onnx(source)
    assert model is not None
    onnx.checker.check_model(model, full_check=True)
    assert [n.name for n in model.graph.node[:2]] == ["first", "second"]
    assert [n.op_type for n in model.graph.node] == ["MatMul", "Relu", "Identity"]
    assert [i.name for i in model.graph.input] == ["x"] and model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    assert model.opset_import[0].version == 17
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    for ours, theirs in zip(run(model.SerializeToString(), [x]), run(source.SerializeToString(), [x]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert str(lamina.import_onnx(model)).count('"onnx.') == str(lamina.import_onnx(source)).count('"onnx.') + 1


def test_large_weights_lie_beside(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    export_onnx(two_layers(), path, largest_inside=1000)
    assert path.stat().st_size < 2000 and (tmp_path / "m.onnx.data").stat().st_size == 4 * 512 * 4
    onnx.checker.check_model(str(path), full_check=True)
    x = np.ones((2, 4), np.float32)
    for ours, theirs in zip(
        lamina.interpret(lamina.import_onnx(path), [x]), lamina.interpret(two_layers(), [x]), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_the_command_writes_a_program_of_ours(tmp_path: Path) -> None:
    program = tmp_path / "f.lam"
    program.write_text("fn softmax(x: f32[3, 4]) = [i, j] => exp(x[i, j]) / (sum[k] exp(x[i, k]))")
    path = tmp_path / "f.onnx"
    assert main(["compile", str(program), "-o", str(path)]) == 0
    onnx.checker.check_model(str(path), full_check=True)
    x = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
    [y] = run(path, [x])
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-6)


def check_random(seeds: range) -> int:
    """How many random programs of the hub went to ONNX and back with the meaning they had."""
    written = 0
    for seed in seeds:
        case = Generator(random_choices(seed)).case()
        try:
            model = export_onnx(case.program)
        except lamina.LaminaError:  # ONNX lacks an operator: that is said
            continue
        assert model is not None
        onnx.checker.check_model(model, full_check=True)
        expected = bounded_reference(case.program.module, case.inputs, case.program.context)
        for got, right in zip(lamina.interpret(model, list(case.inputs)), expected, strict=True):
            assert got.shape == right.value.shape and got.dtype == right.value.dtype, seed
            assert not right.wrong(got).any(), seed
        written += 1
    return written


def test_random_programs_come_back_as_they_were() -> None:
    assert check_random(range(40)) > 15


@pytest.mark.slow
def test_many_random_programs_come_back_as_they_were() -> None:
    assert check_random(range(1000, 3000)) > 1000


WHILE_IF_SCATTER = """
func.func public @main(%x: tensor<3x4xf32>, %i: tensor<2x1xi32>, %u: tensor<2x4xf32>, %n: tensor<i32>)
    -> (tensor<3x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x2xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %1 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  %2:2 = stablehlo.while(%k = %zero, %y = %x) : tensor<i32>, tensor<3x4xf32>
  cond {
    %go = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %k, %one : tensor<i32>
    %more = stablehlo.add %y, %x : tensor<3x4xf32>
    stablehlo.return %next, %more : tensor<i32>, tensor<3x4xf32>
  }
  %3 = "stablehlo.case"(%n) ({
    %r = stablehlo.negate %x : tensor<3x4xf32>
    stablehlo.return %r : tensor<3x4xf32>
  }, {
    stablehlo.return %x : tensor<3x4xf32>
  }, {
    %r = stablehlo.abs %x : tensor<3x4xf32>
    stablehlo.return %r : tensor<3x4xf32>
  }) : (tensor<i32>) -> tensor<3x4xf32>
  %4 = stablehlo.dynamic_slice %x, %n, %n, sizes = [1, 2]
      : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  func.return %0, %1, %2#1, %3, %4 : tensor<3x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x2xf32>
}
"""


def test_control_flow_and_places_out_of_range(tmp_path: Path) -> None:
    source, path = tmp_path / "m.mlir", tmp_path / "m.onnx"
    source.write_text(WHILE_IF_SCATTER)
    export_onnx(source, path)
    onnx.checker.check_model(str(path), full_check=True)
    x = np.random.default_rng(3).standard_normal((3, 4)).astype(np.float32)
    for n in (0, 1, 5, -2):
        inputs = [x, np.array([[n], [1]], np.int32), x[:2], np.array(n, np.int32)]
        for got, expected in zip(run(path, inputs), lamina.compile(source, "interpret")(*inputs), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_what_has_no_operator_is_named() -> None:
    case = Generator(random_choices(7)).case()
    with pytest.raises(lamina.LaminaError, match="no operator of ONNX says this"):
        export_onnx(case.program)
