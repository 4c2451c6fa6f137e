"""Operators on random inputs against ONNX's own reference, and where that is too slow or wrong against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import lamina
from lamina.backends import Options
from lamina.backends import target as find_target
from lamina.compiler.diagnostics import LaminaError
from lamina.passes.convert.onnx_to_stablehlo import suppression
from lamina.tools import api

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(low: int, high: int, *shape: int, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    return RNG.integers(low, high, shape).astype(dtype)


def one_node(
    operator: str, inputs: list[Any], outputs: int = 1, opset: int = 22, domain: str = "", **attributes: Any
) -> Any:
    """A model of one node; inputs of None are left out."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, results, domain=domain, **attributes)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
        if name
    ]
    undefined = [helper.make_value_info(name, helper.make_tensor_type_proto(0, None)) for name in results]
    graph = helper.make_graph([node], "g", infos, undefined)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(
    operator: str,
    inputs: list[Any],
    outputs: int = 1,
    target: str = "interpret",
    rtol: float = 1e-4,
    cache: bool = True,
    **options: Any,
) -> None:
    model = one_node(operator, inputs, outputs, **options)
    given = [x for x in inputs if x is not None]
    want = ReferenceEvaluator(model).run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None})
    for result, info in zip(want, model.graph.output, strict=True):  # now that the types are known
        array = np.asarray(result)
        info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    for got, expected in zip(lamina.compile(model, target, cache=cache)(*given), want, strict=True):
        expected = np.asarray(expected)
        assert got.shape == expected.shape and got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-5)


def test_nan_is_the_largest_of_hardmax() -> None:
    check("Hardmax", [np.array([[1, np.nan, 3, np.nan], [0, 2, 2, 1]], np.float32)])


def test_quantising_to_four_bits_from_a_zero_point_on() -> None:
    few = ml_dtypes.float4_e2m1fn
    x, scale, zero = floats(3, 5) * 2, np.float32(0.5), np.array(1.5, few)
    expected = (x / scale + np.float32(1.5)).clip(-6, 6).astype(few)
    [stored] = lamina.compile(one_node("QuantizeLinear", [x, scale, zero], opset=23), "interpret")(x, scale, zero)
    np.testing.assert_array_equal(stored.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
def test_shrinking_integers_by_what_is_not_whole(dtype: Any) -> None:
    x = ints(0, 9, 20, dtype=np.uint16) if dtype is np.uint16 else ints(-9, 9, 20, dtype=np.int16)
    got = lamina.compile(one_node("Shrink", [x], bias=1.5, lambd=1.5), "interpret")(x)[0]
    wide = x.astype(np.float64)
    expected = np.where(wide < -1.5, wide + 1.5, np.where(wide > 1.5, wide - 1.5, 0)).astype(dtype)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(1, 2, 3, 2), (0, 70, 0, 90), (-1, -2, 4, -2), (0, 0, 0, 3000)])
def test_pad_with_what_is_there(pads: tuple[int, ...], mode: str) -> None:
    x, places = floats(3, 4), []
    for n, before, after in zip(x.shape, pads[:2], pads[2:], strict=True):
        at = np.arange(-before, n + after)
        fold = {"reflect": (n - 1) - np.abs(at % (2 * n - 2) - (n - 1)), "edge": at.clip(0, n - 1), "wrap": at % n}
        places.append(fold[mode])
    model = one_node("Pad", [x, np.array(pads)], opset=19, mode=mode)
    np.testing.assert_array_equal(lamina.compile(model)(x, np.array(pads))[0], x[np.ix_(*places)])


def test_many_known_places_are_one_operation() -> None:
    text = """<ir_version: 8, opset_import: ["": 19]> g (float[3] x) => (float[603] y)
        <int64[2] pads = {300, 300}> { y = Pad<mode = "reflect">(x, pads) }"""
    hub = find_target("cpu").lower(api.import_onnx(parse_model(text)), "stablehlo", Options())
    assert len(list(hub.module.walk())) < 10


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_grid_sample(mode: str, padding: str, align: int) -> None:
    grid = RNG.uniform(-1.8, 1.8, (2, 3, 2, 2)).astype(np.float32)
    check("GridSample", [floats(2, 2, 4, 5), grid], mode=mode, padding_mode=padding, align_corners=align)


def test_grid_sample_of_volumes() -> None:
    grid = RNG.uniform(-1.3, 1.3, (1, 2, 2, 2, 3)).astype(np.float32)
    check("GridSample", [floats(1, 2, 3, 4, 2), grid], target="cpu")


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize(("ratio", "half"), [(2, "half_pixel"), (0, "output_half_pixel"), (0, "half_pixel")])
def test_roi_align(mode: str, ratio: int, half: str) -> None:
    rois = np.array([[0.5, 1, 7, 8.5], [-2, -1, 3, 4], [3, 3, 3.2, 9]], np.float32)
    inputs = [floats(2, 3, 6, 7), rois, np.array([1, 0, 1])]
    options: dict[str, Any] = {"output_height": 2, "output_width": 3, "sampling_ratio": ratio, "spatial_scale": 0.8}
    check("RoiAlign", inputs, mode=mode, coordinate_transformation_mode=half, **options)


def test_deform_conv() -> None:
    inputs = [floats(2, 4, 5, 6), floats(6, 2, 2, 3), floats(2, 24, 3, 3), floats(6), floats(2, 12, 3, 3)]
    check("DeformConv", inputs, group=2, offset_group=2, strides=[2, 2], pads=[1, 0, 0, 1])


@pytest.mark.parametrize("length", [1, 7, 12, 96, 127, 192])
def test_fourier(length: int) -> None:
    """96 and 192 are taken apart, 127 is prime."""
    for last in (1, 2):
        x, axis = floats(2, length, 3, last), np.array(1)
        check("DFT", [x, None, axis], rtol=1e-3)
        check("DFT", [x, None, axis], onesided=1, rtol=1e-3)
        check("DFT", [x, np.array(5), axis], inverse=1, rtol=1e-3)
    check("DFT", [floats(1, 7, 2), np.array(12), np.array(1)], inverse=1, onesided=1, rtol=1e-3)


def test_short_time_fourier() -> None:
    check("STFT", [floats(2, 40, 1), np.array(5), floats(16)], rtol=1e-3)
    check("STFT", [floats(1, 40, 2), np.array(7), None, np.array(8)], onesided=0, rtol=1e-3)
    check("STFT", [floats(2, 100, 1), np.array(5), floats(16)], rtol=1e-3)  # more windows than are slices
    check("STFT", [floats(2, 100, 1), np.array(8), None, np.array(8)], rtol=1e-3)  # that do not overlap


def test_short_time_fourier_of_real_samples_without_a_last_dimension() -> None:
    """As ONNX Runtime takes it, and exporters of speech recognition write it."""
    signal, window = floats(2, 100), floats(16)

    def transformed(samples: np.ndarray[Any, Any]) -> Any:
        model = one_node("STFT", [samples, np.array(5), window])
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
        return lamina.compile(model, "interpret")(samples, np.array(5), window)

    np.testing.assert_array_equal(transformed(signal)[0], transformed(signal[..., None])[0])
    with pytest.raises(LaminaError, match=r"the signal of STFT has the shape \[100\], expected \[batch"):
        transformed(signal[0])


def test_mel_weight_matrix() -> None:
    inputs = [np.array(n) for n in (9, 64, 8000)] + [np.array(n, np.float32) for n in (20, 3500)]
    check("MelWeightMatrix", inputs)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("shape", [(12,), (3, 9)])
def test_tf_idf(mode: str, shape: tuple[int, ...]) -> None:
    pool = [1, 2, 3, 1, 2, 2, 3, 4, 1, 1, 2, 3]
    options: dict[str, Any] = {"ngram_counts": [0, 3, 9], "ngram_indexes": [0, 2, 1, 6, 3, 4, 5]}
    for low, high, skip in ((1, 3, 0), (1, 2, 2), (2, 3, 1)):
        options |= {"min_gram_length": low, "max_gram_length": high, "max_skip_count": skip}
        weights = [float(w) for w in range(1, 8)]
        check("TfIdfVectorizer", [ints(1, 5, *shape)], mode=mode, pool_int64s=pool, weights=weights, **options)


def test_selections() -> None:
    x = ints(0, 3, 3, 4, 5)
    check("NonZero", [x])
    check("NonZero", [x != 0], target="cpu")
    check("Compress", [x, np.array([True, False, True])], axis=1)
    check("Compress", [floats(2, 3), np.array([False, True, True, False, True])])


@pytest.mark.parametrize("largest", [1, 0])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint32", "int8"])
def test_first_ones_of_columns(dtype: str, largest: int) -> None:
    """Beside each other, so that one pass finds all: of equals the first one, NaN above all, both zeros equal."""
    if "float" in dtype:
        x = RNG.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 1e-7, -3.0], (2, 9, 3, 4)).astype(dtype)
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        x = RNG.choice(np.array([least, least + 1, 0, 1, most], dtype), (2, 9, 3, 4))
    wide = x.astype(np.float64)
    keys = np.where(np.isnan(wide), np.inf, np.clip(wide, -1e300, 1e300)) * (-1 if largest else 1)
    places = np.argsort(keys, axis=1, kind="stable")[:, :5]
    model = one_node("TopK", [x, np.array([5])], outputs=2, axis=1, largest=largest)
    model.graph.initializer.append(numpy_helper.from_array(np.array([5]), "x1"))
    for info, element in zip(model.graph.output, (model.graph.input[0].type.tensor_type.elem_type, 7), strict=True):
        info.type.tensor_type.elem_type = element
    for target in ("interpret", "cpu"):
        found, where = lamina.compile(model, target)(x)
        assert where.tolist() == places.tolist()
        assert found.tobytes() == np.take_along_axis(x, places, 1).tobytes()


@pytest.mark.parametrize("kept", [1, 0])
def test_unique(kept: int) -> None:
    check("Unique", [ints(-2, 3, 12)], outputs=4, sorted=kept)
    rows = ints(0, 2, 6, 2).astype(np.float32)
    check("Unique", [rows], outputs=4, sorted=kept, axis=0)
    check("Unique", [np.array([np.nan, 1, np.nan, 0], np.float32)], outputs=4)


def test_unique_compiled() -> None:
    check("Unique", [ints(0, 3, 5)], outputs=4, sorted=0, target="cpu")


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_non_max_suppression(target: str) -> None:
    corners = RNG.uniform(0, 1, (2, 9, 2))
    boxes = np.concatenate([corners, corners + RNG.uniform(-0.5, 0.6, (2, 9, 2))], 2).astype(np.float32)
    scores = RNG.choice([0.2, 0.5, 0.7, 0.9], (2, 3, 9)).astype(np.float32)
    limits = [np.array([4]), np.array([0.3], np.float32), np.array([0.3], np.float32)]
    check("NonMaxSuppression", [boxes, scores, *limits], target=target)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    ("n", "most", "overlap", "least"),
    [(150, 200, 0.2, None), (192, 200, 0.2, None), (150, 7, 0.5, 0.9), (192, 3, 0.0, 0.2), (150, 0, 0.5, None)],
)
@pytest.mark.parametrize("many", [0, suppression.MANY])
def test_boxes_of_several_blocks(
    monkeypatch: pytest.MonkeyPatch, many: int, target: str, n: int, most: int, overlap: float, least: float | None
) -> None:
    """Middles and sizes; more boxes than a block of scores has, equal scores, infinite ones, classes without any.

    Blocks of 64 scores fill rows of 192, but none rows of 150: there keys are kept however many there are.
    """
    monkeypatch.setattr(suppression, "MANY", many)
    middles, sizes = RNG.uniform(0, 1, (2, n, 2)), RNG.uniform(0, 0.2, (2, n, 2))
    boxes = np.concatenate([middles, sizes], 2).astype(np.float32)
    scores = RNG.choice(np.linspace(0, 1, 40), (2, 3, n)).astype(np.float32)
    scores[0, 1], scores[1, 0, 70:90] = 0, np.inf
    limits = [np.array([limit], np.float32) for limit in (overlap, least) if limit is not None]
    check(
        "NonMaxSuppression", [boxes, scores, np.array([most]), *limits], target=target, cache=False, center_point_box=1
    )


def test_scores_that_are_no_numbers_pass_no_threshold() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [5, 5, 6, 6], [8, 8, 9, 9]]], np.float32)
    scores = np.array([[[np.nan, 0.5, np.nan, -np.inf]]], np.float32)
    limits = [np.array([9]), np.array([0.5], np.float32), np.array([-np.inf], np.float32)]
    model = one_node("NonMaxSuppression", [boxes, scores, *limits])
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    for target in ("interpret", "cpu"):
        assert lamina.compile(model, target)(boxes, scores, *limits)[0].tolist() == [[0, 0, 1]]


def test_sizes_follow_the_data() -> None:
    """One executable, results of several sizes; the signature says which sizes are open."""
    model = one_node("NonZero", [np.zeros((2, 3), np.float32)])
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    compiled = lamina.compile(model)
    for count in (0, 2, 6):
        x = np.zeros(6, np.float32)
        x[:count] = 1
        assert compiled(x.reshape(2, 3))[0].tolist() == [list(row) for row in np.nonzero(x.reshape(2, 3))]


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_resize(mode: str) -> None:
    x = floats(1, 2, 7, 6)
    for sizes in ([4, 9], [3, 4], [14, 6]):
        for antialias in {"nearest": (0,)}.get(mode, (0, 1)):
            for exclude in (0, 1) if mode == "cubic" else (0,):
                inputs = [x, None, None, np.array(sizes)]
                options: dict[str, Any] = {"antialias": antialias, "exclude_outside": exclude, "axes": [2, 3]}
                check("Resize", inputs, mode=mode, **options)
    region = np.array([0.4, 0.1, 1.2, 0.7], np.float32)
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.5, "axes": [3, 2]}
    check("Resize", [x, region, None, np.array([3, 4])], mode=mode, **options)


def test_indices() -> None:
    x = floats(5, 3, 4)
    check("ReverseSequence", [x, np.array([5, 1, 3])])
    check("ReverseSequence", [x, np.array([1, 3, 2, 0, 3])], batch_axis=0, time_axis=1)
    for mode, places in (("linear", [0, 4, 2]), ("circular", [7, 4, 2])):
        inputs = [floats(3, 2, 8, 4), floats(3, 2, 4, 4), np.array(places)]
        check("TensorScatter", inputs, opset=24, mode=mode)
    for equation in ("ii->i", "iji->j", "bii"):
        check("Einsum", [floats(3, 3) if len(equation) == 5 else floats(3, 3, 3)], equation=equation)


def test_images_of_columns() -> None:
    shapes = [np.array([6, 7]), np.array([3, 2])]
    check("Col2Im", [floats(2, 12, 16), *shapes], dilations=[2, 1], pads=[1, 0, 1, 2], strides=[1, 2])
    check("Col2Im", [floats(1, 4, 3), np.array([7]), np.array([2])], strides=[2], pads=[0, 0])


@pytest.mark.parametrize("order", [0, 1])
def test_places_of_the_largest(order: int) -> None:
    x = ints(0, 4, 2, 2, 5, 6).astype(np.float32)
    options: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    check("MaxPool", [x], outputs=2, storage_order=order, **options)


def test_unpooling() -> None:
    x, places = floats(1, 2, 2, 2), np.array([0, 3, 9, 14, 17, 19, 24, 31]).reshape(1, 2, 2, 2)
    check("MaxUnpool", [x, places], kernel_shape=[2, 2], strides=[2, 2])
    check("MaxUnpool", [x, places, np.array([1, 2, 5, 6])], kernel_shape=[2, 2], strides=[2, 2])


def test_batch_statistics() -> None:
    inputs = [floats(3, 2, 4), floats(2), floats(2), floats(2), np.abs(floats(2))]
    check("BatchNormalization", inputs, outputs=3, training_mode=1, momentum=0.8)


@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_sequences_of_different_lengths(operator: str, gates: int, direction: str) -> None:
    """Each sequence of the batch gives what it gives alone; the reference knows no lengths."""
    count = 2 if direction == "bidirectional" else 1
    x, lengths = floats(5, 3, 2), np.array([5, 2, 4], np.int32)
    weights = [floats(count, 4 * gates, 2), floats(count, 4 * gates, 4), floats(count, 8 * gates)]
    options: dict[str, Any] = {"hidden_size": 4, "direction": direction}

    def run(x: Any, lengths: Any) -> list[Any]:
        model = one_node(operator, [x, *weights, lengths], outputs=2, **options)
        for info in model.graph.output:
            info.type.tensor_type.elem_type = TensorProto.FLOAT
        return lamina.compile(model, "interpret")(x, *weights, *([] if lengths is None else [lengths]))

    y, last = run(x, lengths)
    for i, n in enumerate(lengths):
        alone, end = run(np.ascontiguousarray(x[:n, i : i + 1]), None)
        np.testing.assert_allclose(y[:n, :, i], alone[:, :, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last[:, i], end[:, 0], rtol=1e-5, atol=1e-6)
        assert not y[n:, :, i].any()


def test_optimisers() -> None:
    domain = "ai.onnx.preview.training"
    rate, step = np.array(0.1, np.float32), np.array(3)
    pairs = [floats(2, 3), floats(4), floats(2, 3), floats(4), floats(2, 3), floats(4)]
    pairs[4:] = [np.abs(x) for x in pairs[4:]]
    check("Adagrad", [rate, step, *pairs], outputs=4, domain=domain, decay_factor=0.1, epsilon=1e-5)
    options: dict[str, Any] = {"alpha": 0.9, "beta": 0.7, "norm_coefficient": 0.01}
    for mode in ("standard", "nesterov"):
        check("Momentum", [rate, np.array(0), *pairs], outputs=4, domain=domain, mode=mode, **options)
    squares = [np.abs(x) for x in pairs[4:]]
    check("Adam", [rate, step, *pairs, *squares], outputs=6, domain=domain, epsilon=1e-4, norm_coefficient_post=0.1)


ML: dict[str, Any] = {"domain": "ai.onnx.ml"}


def test_numbers_of_ml() -> None:
    x = floats(5, 3)
    check("Scaler", [x], offset=[1.0, 0.5, -1.0], scale=[2.0, 1.0, 0.1], **ML)
    check("Binarizer", [x], threshold=0.3, **ML)
    check("LinearRegressor", [x], coefficients=[0.5, 1.0, -2.0, 1, 2, 3], intercepts=[0.1, 0.2], targets=2, **ML)
    for norm in ("MAX", "L1", "L2"):
        check("Normalizer", [x], norm=norm, **ML)
    for how in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        options: dict[str, Any] = {"classlabels_ints": [7, 3], "coefficients": [0.5, 1.0, -2.0], "intercepts": [0.1]}
        check("LinearClassifier", [x], outputs=2, post_transform=how, **options, **ML)
    x[1, 2] = np.nan
    check("Imputer", [x], imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"), **ML)
    check("OneHotEncoder", [ints(0, 5, 4)], cats_int64s=[3, 1, 2], **ML)
    check("FeatureVectorizer", [floats(4, 2), floats(4, 3)], inputdimensions=[2, 3], **ML)
    check("ArrayFeatureExtractor", [floats(4, 3), np.array([2, 0])], **ML)


def trees(**options: Any) -> dict[str, Any]:
    """Two trees: of depth 2, and of depth 1."""
    return {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [1, 0, 0, 0, 0, 2, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
        "nodes_values": [0.2, -0.4, 0, 0, 0, 0.1, 0, 0],
        "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0],
        "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0],
        **options,
    }


def test_trees() -> None:
    x = floats(9, 3)
    places = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2], "ids": [0, 1, 0, 1, 0]}
    weights = [1.0, -2.0, 0.5, 3.0, 0.25]
    targets: dict[str, Any] = {f"target_{name}": value for name, value in places.items()}
    for how in ("SUM", "AVERAGE"):
        options = trees(**targets, target_weights=weights, n_targets=2, aggregate_function=how, base_values=[0.5, 1.0])
        check("TreeEnsembleRegressor", [x], **options, **ML)
    classes: dict[str, Any] = {f"class_{name}": value for name, value in places.items()}
    options = trees(**classes, class_weights=weights, classlabels_int64s=[5, 9])
    check("TreeEnsembleClassifier", [x], outputs=2, **options, **ML)


def test_what_is_refused_is_named() -> None:
    def refusal(operator: str, inputs: list[Any], **options: Any) -> str:
        with pytest.raises(LaminaError) as error:
            lamina.compile(one_node(operator, inputs, **options), "interpret")
        return str(error.value)

    text = refusal("GridSample", [ints(0, 9, 1, 1, 2, 2), floats(1, 2, 2, 2)])
    assert "y0" in text and "GridSample of integers is not supported" in text
    assert "the last dimension is real and imaginary" in refusal("DFT", [floats(2, 3, 4)])
