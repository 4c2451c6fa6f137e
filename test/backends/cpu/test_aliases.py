"""Outputs computed in the memory of inputs are what they are elsewhere, whatever else reads the inputs."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.signature import Array

N = 24
ROW = "tensor<1x24xf32>"
SQUARE = "tensor<24x24xf32>"


def program(body: str, results: int = 1, arguments: int = 2) -> str:
    """A program of squares x0, x1, ... and a row number."""
    given = ", ".join(f'%x{i}: {SQUARE} {{lamina.name = "x{i}"}}' for i in range(arguments))
    made = ", ".join(f'{SQUARE} {{lamina.name = "y{i}"}}' for i in range(results))
    return (
        f'func.func public @main({given}, %row: tensor<i32> {{lamina.name = "row"}}) -> ({made}) {{\n'
        f"%zero = stablehlo.constant dense<0> : tensor<i32>\n{body}\n}}\n"
    )


UPDATE = (
    f"%part = stablehlo.slice %x1 [3:4, 0:24] : ({SQUARE}) -> {ROW}\n"
    f"%u = stablehlo.dynamic_update_slice %x0, %part, %row, %zero : ({SQUARE}, {ROW}, tensor<i32>, tensor<i32>)"
    f" -> {SQUARE}\n"
)
PROGRAMS = {
    "a row is written": program(UPDATE + f"return %u : {SQUARE}"),
    "what was there is returned too": program(UPDATE + f"return %u, %x0 : {SQUARE}, {SQUARE}", 2),
    "what was there is read afterwards": program(
        UPDATE + f"%s = stablehlo.dot %x0, %u : ({SQUARE}, {SQUARE}) -> {SQUARE}\nreturn %u, %s : {SQUARE}, {SQUARE}", 2
    ),
    "returned twice": program(UPDATE + f"return %u, %u : {SQUARE}, {SQUARE}", 2),
    "exchanged": program(f"return %x1, %x0 : {SQUARE}, {SQUARE}", 2),
    "passed on": program(f"return %x0, %x1 : {SQUARE}, {SQUARE}", 2),
    "transposed": program(
        f"%t = stablehlo.transpose %x0, dims = [1, 0] : ({SQUARE}) -> {SQUARE}\nreturn %t : {SQUARE}"
    ),
    "elementwise": program(f"%s = stablehlo.add %x0, %x1 : {SQUARE}\nreturn %s : {SQUARE}"),
    "a product with itself": program(
        f"%s = stablehlo.dot %x0, %x0 : ({SQUARE}, {SQUARE}) -> {SQUARE}\n"
        f"%t = stablehlo.dot %s, %x1 : ({SQUARE}, {SQUARE}) -> {SQUARE}\nreturn %t, %s : {SQUARE}, {SQUARE}",
        2,
    ),
    "of numbers": program(f"%c = stablehlo.constant dense<2.0> : {SQUARE}\nreturn %c : {SQUARE}"),
    "a loop": program(
        f"%n = stablehlo.constant dense<5> : tensor<i32>\n%one = stablehlo.constant dense<1> : tensor<i32>\n"
        f"%r:3 = stablehlo.while(%i = %zero, %a = %x0, %b = %x1) : tensor<i32>, {SQUARE}, {SQUARE}\n"
        "cond {\n%go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %go : tensor<i1>\n} do {\n%k = stablehlo.add %i, %one : tensor<i32>\n"
        f"%p = stablehlo.slice %b [2:3, 0:24] : ({SQUARE}) -> {ROW}\n"
        f"%c = stablehlo.dynamic_update_slice %a, %p, %i, %zero : ({SQUARE}, {ROW}, tensor<i32>, tensor<i32>)"
        f" -> {SQUARE}\nstablehlo.return %k, %b, %c : tensor<i32>, {SQUARE}, {SQUARE}\n}}\n"
        f"return %r#1, %r#2 : {SQUARE}, {SQUARE}",
        2,
    ),
}


def squares(count: int) -> list[Array]:
    return [np.random.default_rng().standard_normal((N, N)).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_elsewhere(name: str, target: str, tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAMS[name])
    given = [*squares(2), np.array(7, np.int32)]
    expected = lamina.compile(file, "interpret")(*given)
    for order in permutations(("x0", "x1"), len(expected)):
        aliases = {x: f"y{i}" for i, x in enumerate(order)}
        lent = [array.copy() for array in given]
        found = lamina.compile(file, target, aliases=aliases)(*lent)
        for i, (x, got, want) in enumerate(zip(order, found, expected, strict=True)):
            assert got is lent[int(x[1])], f"y{i} is not the array that was given for {x}"
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("order", [("row", "square"), ("square", "row")])
def test_a_part_of_what_is_changed(order: tuple[str, str], tmp_path: Path) -> None:
    """A slice of an input goes elsewhere before the input is overwritten, whichever result comes first."""
    kinds = {"row": ROW, "square": SQUARE}
    (tmp_path / "part.mlir").write_text(
        f"""
        func.func public @main(%r: {ROW} {{lamina.name = "r"}}, %s: {SQUARE} {{lamina.name = "s"}})
            -> ({", ".join(f'{kinds[name]} {{lamina.name = "{name}"}}' for name in order)}) {{
          %row = stablehlo.slice %s [3:4, 0:24] : ({SQUARE}) -> {ROW}
          %square = stablehlo.transpose %s, dims = [1, 0] : ({SQUARE}) -> {SQUARE}
          return {", ".join(f"%{name}" for name in order)} : {", ".join(kinds[name] for name in order)}
        }}"""
    )
    [square] = squares(1)
    lent = [np.zeros((1, N), np.float32), square.copy()]
    lamina.compile(tmp_path / "part.mlir", aliases={"r": "row", "s": "square"})(*lent)
    np.testing.assert_array_equal(lent[0], square[3:4])
    np.testing.assert_array_equal(lent[1], square.T)


def chance(rng: np.random.Generator) -> ModelProto:
    """A graph of three squares, each op of which takes what there is so far; two results."""
    values, nodes = ["a", "b", "c"], []
    for i in range(int(rng.integers(2, 9))):
        one, other = (str(v) for v in rng.choice(values, 2))
        kind = str(rng.choice(["Add", "MatMul", "Transpose", "Softmax", "ScatterND", "Relu", "Reshape", "Identity"]))
        inputs = {"Add": [one, other], "MatMul": [one, other], "ScatterND": [one, "rows", f"head{i}"]}.get(kind, [one])
        if kind == "ScatterND":
            nodes.append(helper.make_node("Slice", [other, "from", "to"], [f"head{i}"]))
        if kind == "Reshape":
            nodes.append(helper.make_node("Reshape", [one, "flat"], [f"flat{i}"]))
            inputs = [f"flat{i}", "square"]
        nodes.append(helper.make_node(kind, inputs, [f"v{i}"]))
        values.append(f"v{i}")
    for i in range(2):  # so that what is returned may be an input too
        nodes.append(helper.make_node("Identity", [str(rng.choice(values[-4:]))], [f"y{i}"]))
    numbers = {"rows": [[4], [1]], "from": [5, 0], "to": [7, N], "flat": [-1], "square": [N, N]}
    constants = [
        helper.make_tensor(name, TensorProto.INT64, np.shape(n), np.ravel(n).tolist()) for name, n in numbers.items()
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [N, N]) for name in (*"abc", "y0", "y1")]
    graph = helper.make_graph(nodes, "chance", info[:3], info[3:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("seed", range(12))
def test_any_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = chance(rng)
    names = [str(name) for name in rng.permutation(["a", "b", "c"])[:2]]
    aliases: dict[str, str] = {names[0]: "y0", names[1]: "y1"} if seed % 3 else {names[0]: "y1"}
    given = [array / 8 for array in squares(3)]
    expected = lamina.compile(model, "interpret")(*given)
    lent = [array.copy() for array in given]
    found = lamina.compile(model, aliases=aliases, cache=False)(*lent)
    for name, made in aliases.items():
        assert found[int(made[1])] is lent["abc".index(name)]
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


def test_saved_and_loaded(tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAMS["a row is written"])
    given: list[Any] = [*squares(2), np.array(30, np.int32)]  # clamped to the last row
    expected = lamina.compile(file, "interpret")(*given)[0]
    model = lamina.compile(file, aliases={"x0": "y0"})
    assert model.signature.aliases == ((0, 0),)
    model.save(tmp_path / "model.lamx")
    lent = [array.copy() for array in given]
    assert lamina.load(tmp_path / "model.lamx")(*lent)[0] is lent[0]
    np.testing.assert_array_equal(lent[0], expected)
    np.testing.assert_array_equal(lamina.compile(file)(*given)[0], expected)


def test_recalled(tmp_path: Path) -> None:
    """From the cache of whole models, which are found without reading them."""
    file = tmp_path / "model.onnx"
    file.write_bytes(chance(np.random.default_rng()).SerializeToString())
    given = squares(3)
    for aliases in ({"a": "y0"}, {}, {"a": "y1"}, {"a": "y0"}, {}):
        lent = [array.copy() for array in given]
        outputs = lamina.compile(file, aliases=aliases)(*lent)
        assert [found is lent[0] for found in outputs] == [aliases.get("a") == f"y{i}" for i in range(2)]


def test_what_cannot_be_lent(tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAMS["a row is written"])
    model = lamina.compile(file, aliases={"x0": "y0"})
    x0, x1 = squares(2)
    row = np.array(0, np.int32)
    with pytest.raises(LaminaError, match=r"inputs 'x[01]' and 'x[01]' share memory"):
        model(x0, x0[::1], row)
    many = np.zeros(3 * N * N, np.float32)
    with pytest.raises(LaminaError, match="inputs 'x1' and 'x0' share memory"):
        model(many[N : N + N * N].reshape(N, N), many[: N * N].reshape(N, N), row)
    model(many[N * N : 2 * N * N].reshape(N, N), many[: N * N].reshape(N, N), row)
    wide = np.zeros((N, 2 * N), np.float32)
    with pytest.raises(LaminaError, match="input 'x0' is not contiguous"):
        model(wide[:, :N], x1, row)
    x0.flags.writeable = False
    with pytest.raises(LaminaError, match="input 'x0' is read only"):
        model(x0, x1, row)
    model(x1, x0, row)  # what is only read may be


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ({"x2": "y0"}, "no input is called 'x2'"),
        ({"x0": "y1"}, "no output is called 'y1'"),
        ({"x*": "y*"}, "no output is called 'y1'"),
        ({"x*": "y0"}, "is in two aliases"),
        ({"row": "y0"}, "output y0: float32.24, 24. does not fit the memory of input row: int32"),
        ({"x0": "y*"}, "says nothing about"),
    ],
)
def test_names_that_do_not_fit(aliases: dict[str, str], message: str, tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAMS["a row is written"])
    with pytest.raises(LaminaError, match=message):
        lamina.compile(file, aliases=aliases)


@pytest.mark.parametrize("target", ["cuda:sm_80", "systolic"])
def test_targets_without(target: str, tmp_path: Path) -> None:
    from lamina.backends import Options

    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])],
            "relu",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [N])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [N])],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    with pytest.raises(LaminaError, match="computes nothing in the memory of inputs"):
        lamina.compile(model, target, aliases={"x": "y"}, options=Options(emulate=True))
