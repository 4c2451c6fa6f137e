"""Models with strings, sequences and optionals: host code between compiled pieces."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.tools.onnx_host.graph import HostModel

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
INTS = helper.make_tensor_type_proto(TensorProto.INT64, None)


def model(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any]) -> Any:
    given, results = ([helper.make_value_info(name, kind) for name, kind in side.items()] for side in (inputs, outputs))
    graph = helper.make_graph(nodes, "g", given, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def strings(*values: str) -> np.ndarray[Any, Any]:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_a_sequence_between_compiled_pieces(target: str) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("SequenceConstruct", ["x", "square"], ["pair"]),
        helper.make_node("SequenceInsert", ["pair", "x"], ["three"]),
        helper.make_node("ConcatFromSequence", ["three"], ["joined"], axis=0),
        helper.make_node("Neg", ["joined"], ["y"]),
    ]
    compiled = lamina.compile(model(nodes, {"x": FLOATS}, {"y": FLOATS}), target)
    for n in (2, 3, 2):
        x = np.arange(n, dtype=np.float32)
        [y] = compiled(x)
        np.testing.assert_array_equal(y, -np.concatenate([x, x * x, x]))


def test_a_loop_that_carries_a_sequence() -> None:
    """The trip count is an input; the body sees a value from outside."""
    info = helper.make_tensor_value_info
    sequence = helper.make_sequence_type_proto(FLOATS)
    body = helper.make_graph(
        [
            helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["f", "outer"], ["sum"]),
            helper.make_node("SequenceInsert", ["seq", "sum"], ["more"]),
            helper.make_node("Identity", ["c"], ["go"]),
        ],
        "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), helper.make_value_info("seq", sequence)],
        [info("go", TensorProto.BOOL, []), helper.make_value_info("more", sequence)],
    )
    nodes = [
        helper.make_node("SequenceEmpty", [], ["none"], dtype=TensorProto.FLOAT),
        helper.make_node("Loop", ["n", "", "none"], ["all"], body=body),
    ]
    kinds = {"n": helper.make_tensor_type_proto(TensorProto.INT64, []), "outer": FLOATS}
    [found] = lamina.compile(model(nodes, kinds, {"all": sequence}), "interpret")(
        np.array(3), np.array([5], np.float32)
    )
    assert [row.tolist() for row in found] == [[5], [6], [7]]


def test_strings() -> None:
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    nodes = [
        helper.make_node("StringConcat", ["a", "b"], ["ab"]),
        helper.make_node("StringNormalizer", ["ab"], ["n"], case_change_action="UPPER", stopwords=["xy"]),
        helper.make_node("StringSplit", ["n"], ["parts", "count"], delimiter="-"),
    ]
    outputs = {"parts": text, "count": helper.make_tensor_type_proto(TensorProto.INT64, None)}
    compiled = lamina.compile(model(nodes, {"a": text, "b": text}, outputs), "interpret")
    parts, count = compiled(strings("a-", "x", "c"), strings("b-c", "y", "d"))
    assert parts.tolist() == [["A", "B", "C"], ["CD", "", ""]] and count.tolist() == [3, 1]


def test_what_is_refused_is_named() -> None:
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    nodes = [helper.make_node("GridSample", ["a", "a"], ["b"])]
    with pytest.raises(LaminaError, match="GridSample at 'b'"):
        lamina.compile(model(nodes, {"a": text}, {"b": text}), "interpret")
    pair = [helper.make_node("SequenceConstruct", ["x"], ["s"]), helper.make_node("SequenceAt", ["s", "i"], ["y"])]
    kinds = {"x": FLOATS, "i": helper.make_tensor_type_proto(TensorProto.INT64, [])}
    with pytest.raises(LaminaError, match="SequenceAt at 'y'"):
        lamina.compile(model(pair, kinds, {"y": FLOATS}), "interpret")(np.array([1], np.float32), np.array(4))


def test_strings_that_are_moved() -> None:
    """The compiled code moves numbers that stand for them."""
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    ints = helper.make_tensor_type_proto(TensorProto.INT64, None)
    nodes = [
        helper.make_node("Concat", ["a", "a"], ["twice"], axis=0),
        helper.make_node("Unique", ["twice"], ["words", "", "places"], sorted=1),
        helper.make_node("Constant", [], ["x"], value_strings=["x"]),
        helper.make_node("Pad", ["words", "one"], ["padded"]),
        helper.make_node("Where", ["same", "x", "padded"], ["y"]),
        helper.make_node("Equal", ["padded", "empty"], ["same"]),
        helper.make_node("Constant", [], ["empty"], value_string=""),
    ]
    nodes = [*nodes[:4], nodes[6], nodes[5], nodes[4]]
    outputs = {"y": text, "places": ints, "words": text}
    y, places, words = lamina.compile(model(nodes, {"a": text, "one": ints}, outputs), "cpu")(
        strings("dog", "cat", "dog"), np.array([1, 0])
    )
    assert words.tolist() == ["cat", "dog"] and y.tolist() == ["x", "cat", "dog"]
    assert places.tolist() == [1, 0, 1, 1, 0, 1]


def test_strings_that_are_not_there_are_empty() -> None:
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    size = helper.make_node("Constant", [], ["n"], value_ints=[3])
    nodes = [size, helper.make_node("CenterCropPad", ["a", "n"], ["y"])]
    [y] = lamina.compile(model(nodes, {"a": text}, {"y": text}), "interpret")(strings("dog"))
    assert y.tolist() == ["", "dog", ""]


def test_strings_and_numbers() -> None:
    text, floats = helper.make_tensor_type_proto(TensorProto.STRING, None), FLOATS
    nodes = [helper.make_node("Cast", ["a"], ["x"], to=1), helper.make_node("Cast", ["x"], ["y"], to=8)]
    x, y = lamina.compile(model(nodes, {"a": text}, {"x": floats, "y": text}), "interpret")(strings("1.5", "-2"))
    assert x.tolist() == [1.5, -2] and y.tolist() == ["1.5", "-2.0"]


def test_labels_that_are_strings() -> None:
    """As scikit-learn's classifiers are exported: a label and a map of probabilities for each row."""
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, FLOATS))
    options: dict[str, Any] = {"classlabels_strings": ["no", "yes"]}
    nodes = [
        helper.make_node(
            "LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", coefficients=[-1.0, 1.0], **options
        ),
        helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", **options),
    ]
    built = model(nodes, {"x": FLOATS}, {"label": text, "maps": maps})
    built.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    label, rows = lamina.compile(built, "cpu")(np.array([[2.0], [-3.0]], np.float32))
    assert label.tolist() == ["yes", "no"] and rows == [{"no": -2, "yes": 2}, {"no": 3, "yes": -3}]


def test_maps() -> None:
    def run(operator: str, value: Any, kind: Any, output: int, **attributes: Any) -> Any:
        node = helper.make_node(operator, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
        built = model([node], {"x": kind}, {"y": helper.make_tensor_type_proto(output, None)})
        built.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
        return lamina.compile(built, "interpret")(value)[0].tolist()

    numbers = helper.make_map_type_proto(TensorProto.INT64, FLOATS)
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    assert run("CastMap", {3: 1.5, 1: 2.0}, numbers, TensorProto.FLOAT) == [[2.0, 1.5]]
    assert run("CastMap", {2: 1.5}, numbers, TensorProto.INT64, cast_to="TO_INT64", map_form="SPARSE", max_map=4) == [
        [0, 0, 1, 0]
    ]
    assert run("DictVectorizer", {7: 1.5}, numbers, TensorProto.FLOAT, int64_vocabulary=[5, 7]) == [0, 1.5]
    names: dict[str, Any] = {"cats_strings": ["a", "b"], "cats_int64s": [4, 5]}
    assert run("CategoryMapper", strings("b", "c"), text, TensorProto.INT64, **names) == [5, -1]


def test_images() -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    file = io.BytesIO()
    image.fromarray(pixels).save(file, "PNG")
    encoded = np.frombuffer(file.getvalue(), np.uint8)
    octets = helper.make_tensor_type_proto(TensorProto.UINT8, None)
    for order, wanted in (("RGB", pixels), ("BGR", pixels[:, :, ::-1])):
        node = helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format=order)
        compiled = lamina.compile(model([node], {"x": octets}, {"y": octets}), "interpret")
        np.testing.assert_array_equal(compiled(encoded)[0], wanted)
        assert compiled(encoded[:9])[0].shape == (0, 0, 3)


ML = "ai.onnx.ml"


def classical(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], version: int) -> Any:
    """A model of ai.onnx.ml, as scikit-learn's converter writes it."""
    result = model(nodes, inputs, outputs)
    result.opset_import.append(helper.make_opsetid(ML, version))
    return result


def of_onnxruntime(proto: Any, **inputs: Any) -> Any:
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(None, inputs)


def test_a_classifier_of_scikit_learn_with_labels_that_are_strings() -> None:
    """ONNX says nothing of the type that Normalizer gives."""
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "scores"],
            domain=ML,
            classlabels_strings=["cat", "dog", "bird"],
            coefficients=[0.5, -1.0, 2.0, 1.0, 0.25, -0.5],
            intercepts=[0.1, 0.2, 0.3],
            multi_class=1,
            post_transform="SOFTMAX",
        ),
        helper.make_node("Identity", ["label"], ["y"]),
        helper.make_node("Normalizer", ["scores"], ["shares"], domain=ML, norm="L1"),
        helper.make_node("ZipMap", ["shares"], ["maps"], domain=ML, classlabels_strings=["cat", "dog", "bird"]),
    ]
    words = helper.make_tensor_type_proto(TensorProto.STRING, [None])
    maps = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    )
    rows = helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 2])
    proto = classical(nodes, {"x": rows}, {"y": words, "maps": maps}, version=1)
    x = np.random.default_rng(0).standard_normal((7, 2)).astype(np.float32)
    (labels, shares), (right, expected) = lamina.compile(proto)(x), of_onnxruntime(proto, x=x)
    assert labels.tolist() == list(right)
    for row, other in zip(shares, expected, strict=True):
        assert row == pytest.approx(other, rel=1e-5)


def test_categories_that_an_encoder_does_not_know_are_told() -> None:
    rows = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    cases: list[tuple[int, dict[str, Any], Any, Any]] = [
        (TensorProto.INT64, {"cats_int64s": [3, 5]}, np.array([[5], [3], [5]]), np.array([[5], [4]])),
        (TensorProto.STRING, {"cats_strings": ["a", "b"]}, strings("b", "a")[:, None], strings("b", "c")[:, None]),
    ]
    for kind, categories, known, unknown in cases:
        node = helper.make_node("OneHotEncoder", ["x"], ["y"], domain=ML, zeros=0, **categories)
        given = helper.make_tensor_type_proto(kind, [None, 1])
        compiled = lamina.compile(proto := classical([node], {"x": given}, {"y": rows}, version=1))
        np.testing.assert_array_equal(compiled(known)[0], of_onnxruntime(proto, x=known)[0])
        with pytest.raises(LaminaError, match=r"OneHotEncoder at 'y'.*is none of its 2 categories"):
            compiled(unknown)


def test_the_first_label_encoder_goes_both_ways() -> None:
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain=ML, classes_strings=["a", "b", "c"], default_int64=-7)
    words, numbers = (helper.make_tensor_type_proto(kind, [None]) for kind in (TensorProto.STRING, TensorProto.INT64))
    there = classical([node], {"x": words}, {"y": numbers}, version=1)
    assert lamina.compile(there)(strings("c", "a", "z"))[0].tolist() == [2, 0, -7]
    back = classical([node], {"x": numbers}, {"y": words}, version=1)
    assert lamina.compile(back)(np.array([1, 3, 0, -1]))[0].tolist() == ["b", "_Unused", "a", "_Unused"]


def test_what_is_compiled_is_compiled_together() -> None:
    """What runs here lies between, and only the last node waits for it."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("StringConcat", ["s", "s"], ["t"]),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("StringConcat", ["t", "s"], ["u"]),
        helper.make_node("Sqrt", ["b"], ["y"]),
        helper.make_node("Shape", ["u"], ["n"]),
    ]
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    proto = model(nodes, {"x": FLOATS, "s": text}, {"y": FLOATS, "u": text, "n": INTS})
    pieces: list[list[str]] = []

    def compile_piece(piece: Any) -> Any:
        pieces.append([node.op_type for node in piece.graph.node])
        return lamina.compile(piece)

    y, u, n = HostModel(proto, compile_piece)(np.array([2.0], np.float32), strings("ab"))
    np.testing.assert_allclose(y, np.exp(-1), rtol=1e-6)
    assert u.tolist() == ["ababab"] and n.tolist() == [1]
    assert pieces == [["Neg", "Exp", "Sqrt"], ["Shape"]]


def test_results_and_inputs_that_are_left_out() -> None:
    """They have the same name, which is none."""
    nodes = [
        helper.make_node("TopK", ["x", "k"], ["", "places"]),
        helper.make_node("StringSplit", ["s"], ["parts", "counts"]),
        helper.make_node("Shape", ["parts"], ["size"]),
        helper.make_node("Clip", ["size", "", "most"], ["n"]),
        helper.make_node("Add", ["places", "n"], ["y"]),
    ]
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    inputs = {"x": FLOATS, "k": INTS, "s": text, "most": INTS}
    compiled = lamina.compile(model(nodes, inputs, {"y": INTS}))
    (y,) = compiled(np.array([1, 5, 3], np.float32), np.array([2]), strings("a b", "c d"), np.array(9))
    assert y.tolist() == [3, 4]
