"""`lamina quantize`: the model that is written, against ONNX Runtime, the float model, and its own integers."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.compiler.descent import Phase, descend
from lamina.passes import all_passes
from lamina.tools.main import main
from lamina.tools.quantize.calibration import Range, calibrate
from lamina.tools.sources import read_program


def network(path: Path) -> Path:
    """A padded convolution with BatchNorm and Relu, a residual Add, pools, and a Gemm."""
    rng = np.random.default_rng(3)
    constants = {
        "w": rng.standard_normal((5, 3, 3, 3)) * 0.3,
        "v": rng.standard_normal((5, 5, 1, 1)),
        "g": rng.uniform(0.5, 1.5, 5),
        "b": rng.standard_normal(5),
        "m": rng.standard_normal(5) * 0.1,
        "s": rng.uniform(0.5, 2, 5),
        "f": rng.standard_normal((5, 4)),
        "six": np.array(1.5),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c", "g", "b", "m", "s"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Conv", ["r", "v", "b"], ["d"]),
        helper.make_node("Add", ["d", "r"], ["a"]),
        helper.make_node("Clip", ["a", "", "six"], ["k"]),
        helper.make_node("MaxPool", ["k"], ["p"], kernel_shape=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["q"]),
        helper.make_node("Flatten", ["q"], ["l"]),
        helper.make_node("Gemm", ["l", "f"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def samples(folder: Path) -> list[np.ndarray[Any, Any]]:
    folder.mkdir()
    arrays = [np.random.default_rng(i).standard_normal((1, 3, 9, 9)).astype(np.float32) for i in range(3)]
    for i, array in enumerate(arrays):
        np.save(folder / f"{i}.npy", array)
    return arrays


@pytest.mark.parametrize("method, activations", [("minmax", "int8"), ("percentile", "uint8"), ("entropy", "int8")])
def test_quantized_network(tmp_path: Path, method: str, activations: str) -> None:
    import onnxruntime

    source, target = network(tmp_path / "net.onnx"), tmp_path / "q.onnx"
    inputs = samples(tmp_path / "samples")
    arguments = ["--calibration", str(tmp_path / "samples"), "--method", method, "--activations", activations]
    assert main(["quantize", str(source), "-o", str(target), *arguments]) == 0
    model = onnx.load(target)
    onnx.checker.check_model(model, full_check=True)
    assert not any(node.op_type == "BatchNormalization" for node in model.graph.node)
    program = read_program(target)
    assert isinstance(program, lamina.compiler.program.Program)
    descend(program, [Phase("onnx", "", ("onnx-infer-shapes", "onnx-fuse-qdq", "dce"))], all_passes())
    names = {op.name for op in program.module.walk()}
    assert not names & {"onnx.Conv", "onnx.Gemm", "onnx.Relu", "onnx.GlobalAveragePool", "onnx.com.microsoft.Add"}
    integers, floats = lamina.compile(program, "interpret"), lamina.compile(source, "interpret")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # as the file says it
    session = onnxruntime.InferenceSession(str(target), options)
    scale = float(numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == "y.scale")))
    for x in inputs:
        [got], [wanted], [runtime] = integers(x), floats(x), session.run(None, {"x": x})
        assert np.array_equal(np.rint(got / scale), np.rint(np.asarray(runtime) / scale))
        if method != "entropy":  # which cuts what a few samples of noise have
            assert np.abs(got - wanted).max() < 0.05 * np.abs(wanted).max()


def test_ranges() -> None:
    values = np.concatenate([np.linspace(-1, 1, 100_000), [50.0]]).astype(np.float32)

    def run(sample: Any) -> list[Any]:
        return [sample[0]]

    assert calibrate(run, ["x"], lambda: [[values]]) == {"x": Range(-1.0, 50.0)}
    cut = calibrate(run, ["x"], lambda: [[values]], "percentile", 99.9)["x"]
    assert -1.0 <= cut.low < -0.9 and 0.9 < cut.high < 1.1
    assert calibrate(run, ["x"], lambda: [[values]], "entropy")["x"].high < 10
    assert calibrate(run, ["x"], lambda: [[values * 0]], "entropy") == {"x": Range(0.0, 0.0)}


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = network(tmp_path / "net.onnx"), tmp_path / "q.onnx"
    assert main(["quantize", str(source), "-o", str(target), "--calibration", str(tmp_path / "none")]) == 2
    assert "no samples" in capsys.readouterr().err
    np.save(tmp_path / "bad.npy", np.zeros((1, 3, 8, 8), np.float32))
    assert main(["quantize", str(source), "-o", str(target), "--calibration", str(tmp_path)]) == 2
    assert "expected" in capsys.readouterr().err and not target.exists()
