"""What `lamina fuzz` found once, as small as it gets, and what is said of it now."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.parser import parse_model

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.parsing import parse_attribute
from lamina.dialects.stablehlo.conv_dimensions import ConvDimensions
from lamina.tools.sources import new_context

HEAD = '<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 5, "here": 1]>'


def sparse(dims: list[int], indices: list[int]) -> ModelProto:
    """A model with a sparse constant of two values."""
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
    places = helper.make_tensor("", TensorProto.INT64, [len(indices)], indices)
    model = parse_model(HEAD + "g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, dims))
    return model


MODELS = {
    "Sum without an input": ('g (float[2] x) => (float[2] y) { y = Sum("") }', "is required"),
    "LabelEncoder without an input": ('g () => (int64[2] y) { y = ai.onnx.ml.LabelEncoder("") }', "is required"),
    "TreeEnsemble without an input": (
        'g () => (float[1] y) { y = ai.onnx.ml.TreeEnsemble<nodes_modes = uint8[1] {0}>("") }',
        "TreeEnsemble",
    ),
    "Split into more than it says": (
        "g (float[2, 6] x) => (float[2, 3] y) { y, z, more = Split<axis = 1, num_outputs = 2>(x) }",
        "unknown attribute .num_outputs.",
    ),
    "a pool that ends before it begins": (
        """g (int32[12] x) => (y) { y = TfIdfVectorizer<max_gram_length = 2, max_skip_count = 5, min_gram_length = 1,
        mode = "TF", ngram_counts = [0, 4, -2], ngram_indexes = [0, 1, 2], pool_int64s = [2, 3, 5, 4, 5, 6]>(x) }""",
        "do not divide 6 tokens",
    ),
    "EyeLike of no known type": ("g () => (y) { x = here.F() y = EyeLike(x) }", "here.F"),
    "LabelEncoder of no known type": ("g () => (y) { x = here.F() y = ai.onnx.ml.LabelEncoder(x) }", "here.F"),
    "GatherND before the first dimension": (
        "g (float[2, 3] x, int64[2, 1] i) => (float[2] y) { y = GatherND<batch_dims = -7>(x, i) }",
        "'batch_dims' is -7",
    ),
    "too large to address": (
        "g (float[1, 1, 1] x) => (float[a, b, c] y) <int64[3] s = {1099511627776, 1048576, 3}> { y = Expand(x, s) }",
        "larger than any memory",
    ),
    "fewer numbers than dimensions": (
        "g (float[1, 2, 3, 3] x, float[2, 2, 3, 3] w) => (y) { y = ConvTranspose<strides = [2]>(x, w) }",
        "strides has incorrect size",
    ),
    "a range of very much": (
        "g () => (int64[n] y) <int64 a = {0}, int64 b = {10000000000}, int64 c = {1}> { y = Range(a, b, c) }",
        "a constant of shape",
    ),
    "a body without the result": ("g (float[2] x) => (y) { y = here.F(x) }", "here.F"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    text, message = MODELS[name]
    with pytest.raises(LaminaError, match=message):
        lamina.lower(lamina.import_onnx(parse_model(f"{HEAD}\n{text}")), "stablehlo")


@pytest.mark.parametrize(
    ("dims", "indices"), [([2], [0, 5]), ([2], [-1, 0]), ([2], [0]), ([1 << 40, 4], [0, 1]), ([-1], [0, 1])]
)
def test_sparse_tensors(dims: list[int], indices: list[int]) -> None:
    with pytest.raises(LaminaError, match="tensor 'w'"):
        lamina.import_onnx(sparse(dims, indices))


def test_a_function_that_calls_itself() -> None:
    head = '<ir_version: 8, opset_import: ["": 17, "local": 1]>'
    function = '<domain: "local", opset_import: ["": 17, "local": 1]> F (a) => (b) { b = local.F(a) }'
    model = parse_model(f"{head} g (float[2] x) => (float[2] y) {{ y = local.F(x) }} {function}")
    with pytest.raises(LaminaError, match="must not be recursive"):
        lamina.import_onnx(model)


def aliases(count: int) -> str:
    """Each alias is eight times the one before it."""
    lines = ["#a0 = [1]", *(f"#a{i} = [{', '.join([f'#a{i - 1}'] * 8)}]" for i in range(1, count))]
    return "\n".join([*lines, f"module attributes {{a = #a{count - 1}}} {{}}"])


def calls(depth: int) -> str:
    """Each function calls the next one twice."""
    head, kind = "(%x: tensor<f32>) -> tensor<f32>", "(tensor<f32>) -> tensor<f32>"
    functions = [f"func.func @main{head} {{ %0 = call @f0(%x) : {kind}\nreturn %0 : tensor<f32> }}"]
    for i in range(depth):
        body = f"%0 = call @f{i + 1}(%x) : {kind}\n%1 = call @f{i + 1}(%0) : {kind}"
        functions.append(f"func.func private @f{i}{head} {{ {body}\nreturn %1 : tensor<f32> }}")
    functions.append(
        f"func.func private @f{depth}{head} {{ %0 = stablehlo.tanh %x : tensor<f32>\nreturn %0 : tensor<f32> }}"
    )
    return "\n".join(functions)


def constant(text: str) -> str:
    """A program that gives a constant."""
    kind = text.partition(" : ")[2]
    return f"func.func @main() -> {kind} {{ %0 = stablehlo.constant {text}\nreturn %0 : {kind} }}"


def identity(attributes: str, kind: str = "tensor<3xf32>", module: str = "") -> str:
    """A program that gives back what it is given, its result with attributes."""
    function = f"func.func @main(%x: {kind}) -> ({kind} {{{attributes}}}) {{ return %x : {kind} }}"
    return f"module attributes {{{module}}} {{ {function} }}"


PROGRAMS = {
    "a weight that is not there": (constant("dense_resource<w> : tensor<2xf32>"), "weight 'w' is not there"),
    "many elements": (constant("dense<0.0> : tensor<1048576x1048576xf32>"), "literal of 1099511627776 elements"),
    "many dimensions": (identity("", f"tensor<{'1x' * 65}f32>"), "65 dimensions are too many"),
    "an alias for very much": (aliases(12), "parts, at most"),
    "calls of calls": (calls(25), "stand for more than"),
    "main calls itself": (
        "func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = call @main(%x) : (tensor<f32>) -> tensor<f32>\n"
        "return %0 : tensor<f32> }",
        "@main calls itself",
    ),
    "no body": ("func.func private @main(tensor<f32>) -> tensor<f32>", "@main has no body"),
    "a signature that is none": (identity("", module='lamina.signature = "{"'), "do not tell a signature"),
    "extents that are none": (identity("lamina.extents = [1]"), "do not tell a signature"),
    "a size that data decide": (
        """func.func @main(%x: tensor<2x3xf32>, %two: tensor<i32>) -> tensor<i32> {
        %f = stablehlo.set_dimension_size %x, %two, dim = 1 :
            (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32, #stablehlo.bounds<?, 3>>
        %n = stablehlo.get_dimension_size %f, dim = 1 : (tensor<2x?xf32, #stablehlo.bounds<?, 3>>) -> tensor<i32>
        return %n : tensor<i32> }""",
        "no size that is known",
    ),
    "a value that only a region of its user defines": (
        """func.func @main(%x: tensor<8x2xf32>) -> tensor<8xf32> {
        %y = stablehlo.reduce(%x init: %a) across dimensions = [1] : (tensor<8x2xf32>, tensor<f32>) -> tensor<8xf32>
          reducer(%a: tensor<f32>, %b: tensor<f32>) {
            %s = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %s : tensor<f32> }
        return %y : tensor<8xf32> }""",
        "operand #1 is defined nowhere that it sees",
    ),
    "an integer of very many bits": (
        "func.func @main() attributes {a = 4 : i372036854775808} { return }",
        "'i372036854775808' are too wide",
    ),
    "extents of no output": (identity("lamina.extents = [array<i64: 7, 9>]"), "no dimension 9 of output 7"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tmp_path: Path) -> None:
    text, message = PROGRAMS[name]
    path = tmp_path / "m.mlir"
    path.write_text(text)
    with pytest.raises(LaminaError, match=message):
        lamina.compile(path, cache=False)


def test_damage_in_the_header_of_an_artefact(tmp_path: Path) -> None:
    path = tmp_path / "m.lamx"
    model = parse_model(HEAD + "g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")
    lamina.compile(model, threads=1, cache=False).save(path)
    assert lamina.load(path)(np.ones((2, 3), np.float32))[0].shape == (2, 3)
    path.write_bytes(path.read_bytes().replace(b"[2, 3]", b"[2, 9]"))
    with pytest.raises(LaminaError, match="the header is not what was written"):
        lamina.load(path)


def test_a_dimension_of_a_convolution_that_is_not_there() -> None:
    numbers = [0, 3, [1, 1 << 40], 2, 3, [0, 1], 0, 3, [1, 2]]
    text = ", ".join(f"{field.name} = {value}" for field, value in zip(fields(ConvDimensions), numbers, strict=True))
    with pytest.raises(LaminaError, match="are not places among 4 dimensions"):
        parse_attribute(new_context(), f"#stablehlo.conv<raw {text}>")


def test_an_operator_in_a_program_on_which_inference_crashes() -> None:
    text = "fn f(x: f32[2, 3], i: i64[2, 1]) -> f32[2] = onnx.GatherND(x, i, batch_dims=-7)"
    with pytest.raises(LaminaError, match="'batch_dims' is -7"):
        lamina.dsl.compile(text).f(np.zeros((2, 3), np.float32), np.zeros((2, 1), np.int64))


@pytest.mark.parametrize("exponent", ["inf", "-inf", "nan"])
def test_powers_of_exponents_that_are_no_integers(exponent: str) -> None:
    x = np.array([0.0, -0.5, 1.0, -1.0, 2.0, -np.inf, np.nan], np.float32)
    got = lamina.dsl.compile(f"fn f(x: f32[7]) -> f32[7] = x ** {exponent}").f(x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, np.power(x, np.float32(exponent)))
