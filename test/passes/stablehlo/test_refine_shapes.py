"""Programs whose sizes come later: bound, refined, run; deprecated ops against their meaning."""

import numpy as np
import pytest

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.compiler.verifier import verify
from lamina.passes import all_passes
from lamina.tools.sources import new_context

# as jax.export writes a function of symbolic shape: sizes are read off, checked, and given to an inner function
PROGRAM = """
func.func public @main(%x: tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?x3xf32>) {
  %one = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %ok = stablehlo.compare GE, %n, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%ok, %n) {error_message = "expected at least 2 rows, got {0}"} :
    (tensor<i1>, tensor<i32>) -> ()
  %r:2 = func.call @inner(%n, %x) : (tensor<i32>, tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?x3xf32>)
  func.return %r#0, %r#1 : tensor<?xf32>, tensor<?x3xf32>
}
func.func private @inner(%n: tensor<i32>, %x: tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?x3xf32>) {
  %three = stablehlo.constant dense<3> : tensor<i32>
  %all = stablehlo.multiply %n, %three : tensor<i32>
  %s = stablehlo.reshape %all : (tensor<i32>) -> tensor<1xi32>
  %flat = stablehlo.dynamic_reshape %x, %s : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
  %twice = stablehlo.add %flat, %flat : tensor<?xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %i, %y = stablehlo.while(%k = %zero, %acc = %x) : tensor<i32>, tensor<?x3xf32>
  cond {
    %more = stablehlo.compare LT, %k, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %k, %step : tensor<i32>
    %sum = stablehlo.add %acc, %x : tensor<?x3xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<?x3xf32>
  }
  func.return %twice, %y : tensor<?xf32>, tensor<?x3xf32>
}
"""


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_sizes_are_bound_when_inputs_come(target, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    model = lamina.compile(path, target=target)
    for rows in (2, 5) if target == "interpret" else (4,):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        flat, fourfold = model(x)
        np.testing.assert_allclose(flat, 2 * x.reshape(-1), 1e-6)
        np.testing.assert_allclose(fourfold, 4 * x, 1e-6)


def test_an_assertion_that_does_not_hold(tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    with pytest.raises(LaminaError, match="expected at least 2 rows, got 1"):
        lamina.compile(path, target="interpret")(np.zeros((1, 3), np.float32))


@pytest.mark.parametrize("config", ["ij,jk->ik", "bij,bjk->bki", "ij,kj->k", "ij,ij->ji", "i,j->ji", "ij,k->jk"])
def test_einsum(config):
    sizes = dict(zip("bijk", (2, 3, 4, 5), strict=True))
    terms, result = config.split("->")
    left, right = terms.split(",")
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal([sizes[c] for c in term]).astype(np.float32) for term in (left, right)]
    kinds = [f"tensor<{''.join(f'{sizes[c]}x' for c in term)}f32>" for term in (left, right, result)]
    text = f"func.func public @main(%a: {kinds[0]}, %b: {kinds[1]}) -> {kinds[2]} {{\n"
    text += f'%r = stablehlo.einsum %a, %b, config = "{config}" : ({kinds[0]}, {kinds[1]}) -> {kinds[2]}\n'
    context = new_context()
    module = parse_module(f"{text}func.return %r : {kinds[2]}\n}}", "einsum", context)
    all_passes()["stablehlo-replace-deprecated"]()().apply(context, module)
    verify(module)
    assert "einsum" not in str(module)
    [got] = Interpreter(context).run(module, inputs)
    np.testing.assert_allclose(got, np.einsum(config, *inputs), 1e-5, 1e-6)
