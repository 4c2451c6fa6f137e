"""Reading model files: what is kept, and what is said of bad ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import lamina
from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.places import describe_location
from lamina.dialects.onnx import OnnxOp
from lamina.dialects.onnx.load import load_model
from lamina.dialects.onnx.order import put_in_order

WEIGHT = np.arange(2048, dtype=np.float32).reshape(4, 512)


def model(
    *,
    nodes: list[Any] | None = None,
    opset: int = 13,
    shape: list[Any] | None = None,
    initializers: list[Any] | None = None,
    outputs: list[str] | None = None,
    **options: Any,
) -> ModelProto:
    """x of [batch, 4] times w, then Relu, unless told otherwise."""
    graph = helper.make_graph(
        nodes
        if nodes is not None
        else [
            helper.make_node("MatMul", ["x", "w"], ["xw"], name="first"),
            helper.make_node("Relu", ["xw"], ["y"], name="second"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4] if shape is None else shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs or ["y"]],
        initializers if initializers is not None else [numpy_helper.from_array(WEIGHT, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **options)


def load(source: Any) -> tuple[ModuleOp, LaminaContext]:
    ctx = LaminaContext()
    module = load_model(source, ctx)
    module.verify()
    return module, ctx


def refusal(source: Any) -> str:
    with pytest.raises(LaminaError) as info:
        load(source)
    return str(info.value)


def saved(folder: Path, proto: ModelProto) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def test_what_a_model_becomes(tmp_path: Path) -> None:
    path = saved(tmp_path, model())
    module, ctx = load(path)
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    assert str(function.function_type) == "(tensor<?x4xf32>) -> tensor<?x512xf32>"
    assert 'lamina.dims = ["batch", ""]' in str(module)
    constant, product, relu = [op for op in function.walk() if isinstance(op, OnnxOp)]
    assert describe_location(product.location) == f"first:xw at {path}:1:1"
    assert relu.operands[0] is product.results[0]
    array = ctx.weights.get("w")
    assert isinstance(array, np.memmap) and np.array_equal(array, WEIGHT)
    assert constant.opset == 13


def test_inputs_with_initialisers_are_constants() -> None:
    proto = model()
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 512]))
    function = next(op for op in load(proto)[0].ops if isinstance(op, FuncOp))
    assert len(function.body.block.args) == 1


def test_functions_of_the_model_are_expanded() -> None:
    body = [helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])]
    function = helper.make_function("own", "NegRelu", ["a"], ["b"], body, [helper.make_opsetid("", 13)])
    proto = model(nodes=[helper.make_node("NegRelu", ["x"], ["y"], domain="own")], functions=[function])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    names = [op.name for op in load(proto)[0].walk() if isinstance(op, OnnxOp)]
    assert names == ["onnx.Constant", "onnx.Relu", "onnx.Neg"]


def test_truncated_and_foreign_files(tmp_path: Path) -> None:
    whole = model().SerializeToString()
    for content in (
        whole[: len(whole) // 2],
        whole[:-7],
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"hello world",
        np.random.default_rng(0).bytes(999),
    ):
        path = tmp_path / "m.onnx"
        path.write_bytes(content)
        assert refusal(path).startswith(f"{path}: error: not an ONNX model")
    assert "cannot read the model" in refusal(tmp_path / "absent.onnx")


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (lambda: model(opset=999), "opset 999 is not supported"),
        (lambda: model(nodes=[helper.make_node("Relu", ["nowhere"], ["y"])]), "'nowhere' is not defined by any"),
        (lambda: model(outputs=["z"]), "'z' is not defined by any"),
        (lambda: model(nodes=[helper.make_node("Rely", ["x"], ["y"])]), "ai.onnx has no operator 'Rely'"),
        (
            lambda: model(nodes=[helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])]),
            "two values are called 'y'",
        ),
        (
            lambda: model(nodes=[helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Neg", ["a"], ["b"])]),
            "the graph has a cycle: Neg 'b' -> Add 'a' -> Neg 'b'",
        ),
        (lambda: model(initializers=[]), "'w' is not defined by any node"),
    ],
)
def test_graphs_that_make_no_sense(proto: Callable[[], ModelProto], message: str) -> None:
    assert message in refusal(proto())


def test_nodes_in_disorder_are_sorted() -> None:
    """As converters to float16 leave them; what a subgraph reads counts, too."""
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, ())
    branches = {
        name: helper.make_graph(
            [helper.make_node(op, ["b"], ["r"]), helper.make_node("Neg", ["r"], ["s"])],
            name,
            [],
            [helper.make_tensor_value_info("s", TensorProto.FLOAT, (4,))],
        )
        for name, op in (("then_branch", "Relu"), ("else_branch", "Abs"))
    }
    branches["then_branch"].node.extend([branches["then_branch"].node[0]])
    del branches["then_branch"].node[0]
    nodes = [
        helper.make_node("If", ["flag"], ["y"], **branches),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("Neg", ["x"], ["a"]),
    ]
    x = np.array([-1.0, 0.5, 2.0, -3.0], np.float32)
    given = [flag, helper.make_tensor_value_info("x", TensorProto.FLOAT, (4,))]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4,))]
    proto = helper.make_model(
        helper.make_graph(nodes, "g", given, results), opset_imports=[helper.make_opsetid("", 17)]
    )
    for value in (True, False):
        [y] = lamina.compile(proto, "interpret")(np.array(value), x)
        np.testing.assert_allclose(y, -np.exp(-x), rtol=1e-6)


def test_a_long_chain_in_reverse_is_sorted() -> None:
    names = ["x", *(f"v{i}" for i in range(20_000)), "y"]
    chain = [helper.make_node("Neg", [a], [b]) for a, b in pairwise(names)]
    graph = helper.make_graph(chain[::-1], "g", [], [])
    put_in_order(graph, {"x"}, "g")
    assert [node.input[0] for node in graph.node] == names[:-1]


def test_bad_tensors() -> None:
    short = numpy_helper.from_array(WEIGHT, "w")
    short.raw_data = short.raw_data[:-4]
    assert "tensor 'w': error: shape 4x512 needs 8192 bytes of data, the file has 8188" in refusal(
        model(initializers=[short])
    )
    unknown = numpy_helper.from_array(WEIGHT, "w")
    unknown.data_type = 99
    assert "unknown data type 99" in refusal(model(initializers=[unknown]))
    proto = model()
    proto.graph.input[0].type.tensor_type.elem_type = 77
    assert "unknown data type 77" in refusal(proto)


def test_opsets_before_7_become_the_newest() -> None:
    """Up to opset 4 the shape of Reshape was an attribute."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [6])
    graph = helper.make_graph([helper.make_node("Reshape", ["x"], ["y"], shape=[6])], "old", [x], [y])
    module, _ = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 4)], ir_version=3))
    assert "shape = " not in str(module) and "onnx.Constant" in str(module)


def test_no_opset() -> None:
    proto = model()
    del proto.opset_import[:]
    assert "does not say its opset" in refusal(proto)


def test_zero_sized_dimensions() -> None:
    empty = numpy_helper.from_array(np.zeros((4, 0), np.float32), "w")
    module, _ = load(model(initializers=[empty], shape=[0, 4]))
    assert "tensor<0x0xf32>" in str(module)


def external(location: str, *, offset: int = 0, length: int | None = None) -> ModelProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=WEIGHT.shape)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    tensor.external_data.add(key="offset", value=str(offset))
    if length is not None:
        tensor.external_data.add(key="length", value=str(length))
    return model(initializers=[tensor])


def test_external_data_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(bytes(64) + WEIGHT.tobytes())
    _, ctx = load(saved(tmp_path, external("data/w.bin", offset=64)))
    array = ctx.weights.get("w")
    assert isinstance(array, np.memmap) and np.array_equal(array, WEIGHT)


def test_external_data_stays_below_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    outside = tmp_path / "outside.bin"
    outside.write_bytes(WEIGHT.tobytes())
    for location in ("../outside.bin", str(outside), "a/../../outside.bin", "..\\outside.bin", "C:\\w.bin", ""):
        assert "must lie below the model's folder" in refusal(saved(folder, external(location)))
    (folder / "link.bin").symlink_to(outside)
    assert "is a link that leaves the model's folder" in refusal(saved(folder, external("link.bin")))
    assert "does not exist" in refusal(saved(folder, external("gone.bin")))
    (folder / "folder.bin").mkdir()
    assert "is not a file" in refusal(saved(folder, external("folder.bin")))


def test_external_data_that_is_too_short(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHT.tobytes()[:-1])
    assert "has 8191 bytes, bytes 0 to 8192 are wanted" in refusal(saved(tmp_path, external("w.bin")))
    assert "needs 8192 bytes, not 12" in refusal(saved(tmp_path, external("w.bin", length=12)))
    assert "error: shape" in refusal(saved(tmp_path, external("w.bin", offset=-4)))


def test_external_data_of_a_model_in_memory() -> None:
    assert "of a model that is not a file" in refusal(external("w.bin"))
