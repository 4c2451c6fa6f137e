"""The Python interface: symbolic shapes, saving and loading, ONNX's backend interface."""

import hashlib
import json
import struct

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import lamina
from lamina.backends.cpu.target import CpuTarget
from lamina.compiler.diagnostics import LaminaError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))


def model():
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 5]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"])], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def softmax(x):
    e = np.exp(x)
    return e / e.sum(1, keepdims=True)


def product(weights):
    m = model()
    m.graph.node[0].op_type, m.graph.node[0].input[:] = "MatMul", ["x", "w"]
    m.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    m.graph.output[0].type.tensor_type.shape.dim[1].dim_value = weights.shape[1]
    return m


def test_each_shape_is_compiled_on_first_use():
    compiled = lamina.compile(model())
    assert compiled.signature.symbols == ("N",)
    for n in (1, 3, 1, 0):
        x = np.random.default_rng(n).standard_normal((n, 5)).astype(np.float32)
        np.testing.assert_allclose(compiled(x)[0], softmax(x), rtol=1e-5)


@pytest.mark.parametrize("name", ["", "?"])  # Paddle's "?" is no name: two of them need not be equal
def test_dimensions_without_a_name_are_called_after_their_input(name, tmp_path):
    m = model()
    for value in (*m.graph.input, *m.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
            if name:
                dim.dim_param = name
    compiled = lamina.compile(m)
    assert compiled.signature.symbols == ("x_dim0", "x_dim1")
    x = np.random.default_rng(0).standard_normal((3, 7)).astype(np.float32)
    np.testing.assert_allclose(compiled(x)[0], softmax(x), rtol=1e-5)
    assert str(lamina.compile(m, shapes={"x_dim0": 2}).signature).startswith("(x: float32[2, x_dim1])")
    compiled.save(tmp_path / "m.lamx")
    np.testing.assert_allclose(lamina.load(tmp_path / "m.lamx")(x)[0], softmax(x), rtol=1e-5)
    with pytest.raises(LaminaError, match="no dimension 'N'"):
        lamina.compile(m, shapes={"N": 2})


def test_a_branch_that_does_not_fit_the_shapes_is_left_out_where_an_input_chooses():
    """As in networks for two sample rates, whose branches take windows of different lengths."""

    def branch(size):
        weights = onnx.numpy_helper.from_array(np.full((size, 2), size, np.float32), f"w{size}")
        node = helper.make_node("MatMul", ["x", f"w{size}"], [f"y{size}"])
        result = helper.make_tensor_value_info(f"y{size}", TensorProto.FLOAT, [1, 2])
        return helper.make_graph([node], f"of {size}", [], [result], [weights])

    condition = helper.make_node("Equal", ["rate", "high"], ["is high"])
    choice = helper.make_node("If", ["is high"], ["y"], then_branch=branch(6), else_branch=branch(3))
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "N"]),
        helper.make_tensor_value_info("rate", TensorProto.INT64, []),
    ]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])
    high = onnx.numpy_helper.from_array(np.array(16000), "high")
    graph = helper.make_graph([condition, choice], "g", inputs, [result], [high])
    compiled = lamina.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    for size, rate in ((6, 16000), (3, 8000), (6, 16000)):
        x = np.arange(size, dtype=np.float32)[None]
        np.testing.assert_array_equal(compiled(x, np.array(rate))[0], [[x.sum() * size] * 2])
    with pytest.raises(LaminaError, match="MatMul"):
        compiled(np.ones((1, 6), np.float32), np.array(8000))


def test_calls_that_look_like_one_before_are_checked_all_the_same():
    m = model()
    m.graph.node[0].op_type, m.graph.node[0].input[:] = "Slice", ["x", "start", "end"]
    for name in ("start", "end"):
        m.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, [1]))
    compiled = lamina.compile(m)
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    for start, end in ((0, 2), (1, 3), (0, 2), (1, 2)):  # the values decide the size of the result
        bounds = [np.array([n]) for n in (start, end)]
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x, *bounds)[0], x[start:end])
            np.testing.assert_array_equal(compiled(x=x, start=bounds[0], end=bounds[1])[0], x[start:end])
            np.testing.assert_array_equal(compiled(x, end=bounds[1], start=bounds[0])[0], x[start:end])
        with pytest.raises(LaminaError, match="missing input 'end'"):
            compiled(x, bounds[0])
        with pytest.raises(LaminaError, match="dtype float64, expected float32"):
            compiled(x.astype(np.float64), *bounds)
        with pytest.raises(LaminaError, match="shape"):
            compiled(x, bounds[0], np.array(end))
        np.testing.assert_array_equal(compiled(np.asfortranarray(x), *bounds)[0], x[start:end])
        np.testing.assert_array_equal(compiled(memoryview(x), *bounds)[0], x[start:end])


def test_a_saved_model_is_compiled_for_each_shape_where_it_is_loaded(tmp_path, monkeypatch):
    weights = np.random.default_rng(0).standard_normal((5, 600)).astype(np.float32)
    compiled = lamina.compile(product(weights), precision="bf16")
    compiled.save(tmp_path / "m.lamx")
    assert str(lamina.load(tmp_path / "m.lamx", shapes={"N": 2}).signature).startswith("(x: float32[2, 5])")
    for _ in range(2):
        loaded = lamina.load(tmp_path / "m.lamx")
        for n in (2, 7):
            x = np.random.default_rng(n).standard_normal((n, 5)).astype(np.float32)
            np.testing.assert_allclose(loaded(x)[0], x @ weights, rtol=2e-2, atol=5e-2)
            assert np.array_equal(loaded(x)[0], compiled(x)[0])
        monkeypatch.setattr(CpuTarget, "compile", None)  # what was compiled before is known


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ({"arrays": {"w": ["float32", [5, 600], 4096]}}, "array 'w' lies outside the file"),
        ({"arrays": {"w": ["float32", [-5, -3], 0]}}, "array 'w' lies outside the file"),
        ({"arrays": {"w": ["float33", [5, 3], 0]}}, "float33"),
        ({"arrays": {}}, "weight 'w' is not there"),
        ({"arrays": [1]}, "damaged artefact"),
        ({"target": "toaster"}, "unknown target 'toaster'"),
        ({"manifest": {}}, "damaged artefact"),
    ],
)
def test_a_damaged_open_artefact_is_told(tmp_path, damage, told):
    path = tmp_path / "m.lamx"
    lamina.compile(product(np.ones((5, 600), np.float32))).save(path)
    change_header(path, damage)
    with pytest.raises(LaminaError, match=told):
        lamina.load(path)(np.ones((2, 5), np.float32))


def change_header(path, damage):
    """Another header for an artefact, its digest made right."""
    data = path.read_bytes()
    start = struct.Struct("<8sQQ32s")
    magic, where, length, _ = start.unpack_from(data)
    header = json.dumps(json.loads(data[where : where + length]) | damage).encode()
    head = start.pack(magic, where, len(header), hashlib.sha256(header).digest())
    path.write_bytes(head + data[start.size : where] + header)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ({"entry": "lamin_main"}, "no function 'lamin_main'"),
        ({"signature": {"inputs": [], "outputs": [["y", [2], "floa32"]]}}, "floa32"),
        ({"signature": {"inputs": [], "outputs": [["y", [-2], "float32"]]}}, "'y' of shape .-2. is no tensor"),
        ({"signature": {"inputs": [["x", ["N"], "float32"]], "outputs": []}}, "shapes that are not known: N"),
        ({"sizes": [1 << 50, 1, 1]}, "damaged artefact"),
    ],
)
def test_a_damaged_artefact_is_told(tmp_path, damage, told):
    path = tmp_path / "m.lamx"
    lamina.compile(model(), shapes={"N": 4}).save(path)
    change_header(path, damage)
    with pytest.raises(LaminaError, match=told):
        lamina.load(path)


def test_a_program_of_functions_is_saved_with_its_sizes_only():
    compiled = lamina.compile("fn f[N](x: f32[N]) = x + 1\n")
    with pytest.raises(LaminaError, match="symbolic dimensions"):
        compiled.save("never.lamx")


def test_saved_and_loaded(tmp_path):
    compiled = lamina.compile(model(), shapes={"N": 4})
    assert str(compiled.signature) == "(x: float32[4, 5]) -> (y: float32[4, 5])"
    compiled.save(tmp_path / "m.lamx")
    loaded = lamina.load(tmp_path / "m.lamx")
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    assert np.array_equal(loaded(x=x)[0], compiled(x)[0])


def test_onnx_backend():
    assert lamina.onnx_backend.supports_device("CPU") and not lamina.onnx_backend.supports_device("TPU")
    x = np.ones((2, 5), np.float32)
    np.testing.assert_allclose(lamina.onnx_backend.run_model(model(), [x])[0], softmax(x), rtol=1e-5)


def test_a_file_compiled_before_is_not_read_again(tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    fixed = model()
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    onnx.save(fixed, path)
    x = np.ones((2, 5), np.float32)
    first = lamina.compile(path)(x)[0]
    with monkeypatch.context() as patch:
        patch.setattr("lamina.tools.sources.read_program", lambda model: pytest.fail("it was read"))
        assert np.array_equal(lamina.compile(path)(x)[0], first)
    fixed.graph.node[0].op_type = "LogSoftmax"
    onnx.save(fixed, path)
    np.testing.assert_allclose(lamina.compile(path)(x)[0], np.log(softmax(x)), rtol=1e-5)


def test_a_program_as_text():
    text = "fn twice[N](x: f32[N]) -> f32[N] {\n  return 2 * x\n}\n"
    model = lamina.compile(text, "interpret")
    assert str(model.signature) == "(x: float32[N]) -> (result: float32[N])"
    assert model(np.ones(3, np.float32))[0].tolist() == [2, 2, 2]
    assert model(np.ones(1, np.float32))[0].tolist() == [2]
    with pytest.raises(LaminaError, match="2 functions: which one"):
        lamina.compile(text + "fn half(x: f32) -> f32 = x / 2\n")


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("twice.lam::twise", "no function 'twise' .did you mean 'twice'"),
        ("twice.lam::twice", ""),
        ("none.lam", "no such file"),
        ("m.onnx::f", "no such file"),
    ],
)
def test_functions_of_programs(tmp_path, monkeypatch, model, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twice.lam").write_text("fn twice[N](x: f32[N]) -> f32[N] = 2 * x\n")
    if not told:
        fixed = lamina.compile(model, "interpret", shapes={"N": 2})
        assert fixed.signature.inputs[0].shape == (2,) and fixed(np.ones(2, np.float32))[0].tolist() == [2, 2]
        return
    with pytest.raises(LaminaError, match=told):
        lamina.compile(model)


def reshaping():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    axes = helper.make_tensor_value_info("axes", TensorProto.INT64, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("ReduceSum", ["r", "axes"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x, shape, axes], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_inputs_that_decide_shapes_are_compiled_in_for_each_value(target):
    compiled = lamina.compile(reshaping(), target)
    rng = np.random.default_rng(0)
    for n, shape, axis in ((2, [3, 4], 1), (2, [4, -1], 1), (2, [4, -1], 0), (4, [-1, 8], 0), (2, [3, 4], 1)):
        x = rng.standard_normal((n, 6)).astype(np.float32)
        [y] = compiled(x, np.array(shape, np.int64), np.array([axis], np.int64))
        np.testing.assert_allclose(y, x.reshape(shape).sum(axis, keepdims=True), rtol=1e-5)
    with pytest.raises(LaminaError, match=r"cannot take the shape \[5, 5\]"):
        compiled(x, np.array([5, 5], np.int64), np.array([0], np.int64))


def test_a_model_compiled_for_values_is_saved_without(tmp_path):
    lamina.compile(reshaping(), "interpret", shapes={"N": 2}).save(tmp_path / "m.lamx")
    loaded = lamina.load(tmp_path / "m.lamx")
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    for axis in (0, 1):
        [y] = loaded(x, np.array([3, 4], np.int64), np.array([axis], np.int64))
        assert np.array_equal(y, x.reshape(3, 4).sum(axis, keepdims=True))
