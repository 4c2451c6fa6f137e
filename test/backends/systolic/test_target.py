"""Networks on an array: exactly what the integer model means, no race, and what is told of it."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.backends import Options, meaning, target
from lamina.backends.systolic.binary import Binary
from lamina.backends.systolic.engine import run
from lamina.backends.systolic.parts import ArrayPart
from lamina.backends.systolic.traffic import Layer, layer_lines
from lamina.backends.systolic.verilator import missing
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.dialects.systolic.checker import check_program
from lamina.dialects.systolic.encoding import configure, instruction
from lamina.tools.main import main
from lamina.tools.sources import read_program
from lamina.tools.systolic.against_onnxruntime import EXACT, agreements
from lamina.tools.tiny_models import MODELS, write


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quantised ResNet-8."""
    return write("resnet8", tmp_path_factory.mktemp("tiny"))


def agrees(path: Path, machine: str, engine: str) -> Any:
    """Runs a model on the array; its results must be those of the integers, and its program free of races."""
    program = read_program(path)
    executable: Any = target(machine).compile(program, Options(engine=engine))
    x = np.random.default_rng(5).standard_normal(program.signature.inputs[0].shape).astype(np.float32)
    [got], [right] = executable.run([x]), lamina.compile(meaning(machine, program, Options()), "interpret")(x)
    assert np.array_equal(got, right)
    for part in executable.parts:
        if isinstance(part, ArrayPart):
            check_program(part.binary.instructions, part.binary.machine, part.binary.dram_bytes)
    return executable


def test_resnet8(tiny: Path) -> None:
    executable = agrees(tiny, "systolic:gemmini16", "timing")
    [(name, counters)] = executable.counters
    assert name == "systolic_1" and counters["cycles"] < 54_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name != "resnet8"])
def test_tiny_networks(tmp_path: Path, name: str) -> None:
    path = write(name, tmp_path)
    for machine in ("systolic:gemmini16", "systolic:edge8", "systolic:8x16", "systolic:16x8"):
        agrees(path, machine, "timing")


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_tiny_networks_on_hardware(tmp_path: Path) -> None:
    """All of them, on one generated machine, with its building; bit by bit as the integers and ONNX Runtime have it."""
    onnxruntime = pytest.importorskip("onnxruntime")
    start = used()
    for name in MODELS:
        path = write(name, tmp_path)
        executable = agrees(path, "systolic:gemmini16", "rtl")
        assert all(counters["rtl_cycles"] == counters["cycles"] for _, counters in executable.counters)
        x = np.random.default_rng(6).standard_normal(executable.signature.inputs[0].shape).astype(np.float32)
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.x64quantprecision", "1")  # without it pairs of products saturate
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        assert np.array_equal(executable.run([x])[0], session.run(None, {"x": x})[0])
    assert used() - start < 60  # of the processor; it takes 20, most of them Verilator's and the compiler's


def used() -> float:
    """Seconds of the processor, of this process and of those that it started and that ended."""
    return sum(os.times()[:4])


def test_groups(tmp_path: Path) -> None:
    """Two groups of four are computed together."""
    rng = np.random.default_rng(8)
    net = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], group=4, pads=[1, 1, 1, 1], kernel_shape=[3, 3])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8, 6, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 12, 6, 5])],
        [numpy_helper.from_array(rng.standard_normal((12, 2, 3, 3)).astype(np.float32), "w")],
    )
    source, path = tmp_path / "groups.onnx", tmp_path / "groups.int8.onnx"
    onnx.save(helper.make_model(net, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    assert main(["quantize", str(source), "-o", str(path)]) == 0
    executable = agrees(path, "systolic:tiny4", "functional")
    assert any(part.told == "grouped_conv x4" for part in executable.parts)


def test_concatenations_and_pools(tmp_path: Path) -> None:
    """A convolution writes between the channels of the joined image, a pool is copied there; a pool is fused."""
    rng = np.random.default_rng(10)
    shapes = {"v": (6, 3, 3, 3), "w": (5, 6, 1, 1), "u": (4, 11, 3, 3)}
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["c"]),
        helper.make_node("MaxPool", ["b"], ["d"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Concat", ["d", "c"], ["e"], axis=1),
        helper.make_node("Conv", ["e", "u"], ["f"]),
        helper.make_node("MaxPool", ["f"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    net = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 7, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 2, 3])],
        [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), n) for n, s in shapes.items()],
    )
    source, path = tmp_path / "joined.onnx", tmp_path / "joined.int8.onnx"
    onnx.save(helper.make_model(net, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    assert main(["quantize", str(source), "-o", str(path)]) == 0
    executable = agrees(path, "systolic:tiny4", "functional")
    told = {word.split()[0] for part in executable.parts for word in part.told.split(", ")}
    assert {"conv", "conv_pool", "max_pool", "concat"} <= told and len(executable.parts) == 3


def test_products_of_activations(tmp_path: Path) -> None:
    """Attention of two heads with a mask: the scores and what is made of them are products of the array, too."""
    rng = np.random.default_rng(9)
    constants = {f"w{i}": rng.standard_normal((8, 8)).astype(np.float32) for i in range(3)}
    constants["mask"] = np.where(np.arange(7) < 5, 0, np.finfo(np.float32).min).astype(np.float32).reshape(1, 1, 1, 7)
    constants["shape"] = np.array([1, 7, 2, 4], np.int64)
    nodes = [helper.make_node("Mul", ["mask", "one"], ["far"])]
    for i, order in enumerate(([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])):
        nodes.append(helper.make_node("MatMul", ["x", f"w{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Reshape", [f"m{i}", "shape"], [f"r{i}"]))
        nodes.append(helper.make_node("Transpose", [f"r{i}"], [f"t{i}"], perm=order))
    nodes.append(helper.make_node("MatMul", ["t0", "t1"], ["scores"]))
    nodes.append(helper.make_node("Add", ["scores", "far"], ["masked"]))
    nodes.append(helper.make_node("Softmax", ["masked"], ["shares"]))
    nodes.append(helper.make_node("MatMul", ["shares", "t2"], ["y"]))
    net = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 7, 8]), ("one", [1]))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 7, 4])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    source, path = tmp_path / "attention.onnx", tmp_path / "attention.int8.onnx"
    onnx.save(helper.make_model(net, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    calibration = tmp_path / "samples"
    calibration.mkdir()
    x, one = rng.standard_normal((1, 7, 8)).astype(np.float32), np.ones(1, np.float32)
    np.savez(calibration / "0.npz", x=x, one=one)
    assert main(["quantize", str(source), "-o", str(path), "--calibration", str(calibration)]) == 0
    program = read_program(path)
    executable: Any = target("systolic:tiny4").compile(program, Options(engine="functional"))
    right = lamina.compile(meaning("systolic:tiny4", program, Options()), "interpret")(x, one)
    assert np.array_equal(executable.run([x, one])[0], right[0])
    assert [part.told for part in executable.parts if "product" in part.told] == ["product x2", "product x2"]
    floats = lamina.compile(source, "interpret")(x, one)[0]
    assert np.abs(right[0] - floats).mean() < 0.05 * np.abs(floats).mean()  # the mask has not taken the scores' bytes


def test_command(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tiny), "--target", "systolic:gemmini16", "--engine", "timing", "--check"]) == 0
    told = capsys.readouterr()
    assert "largest error 0.00e+00" in told.out
    assert "systolic_1: conv x7, conv_add x3, depthwise" in told.err and "cycles" in told.err
    assert "times the least (compulsory" in told.err and "  all" in told.err


def test_timeline(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "times.json"
    arguments = ["run", str(tiny), "--quiet", "--target", "systolic:gemmini16", "--trace"]
    assert main([*arguments, str(file)]) == 0
    told = json.loads(file.read_text())
    layers = [e for e in told["traceEvents"] if e["ph"] == "X" and e["name"].startswith(("conv", "depthwise"))]
    assert len(layers) == 11 and sum(e["dur"] for e in layers) == told["otherData"]["cycles"] - 1
    assert "cycles, array" in file.with_suffix(".svg").read_text()
    assert main([*arguments, str(tmp_path / "none" / "x.json")]) == 2
    assert "cannot write: No such file" in capsys.readouterr().err


def test_machines_of_files(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A machine of one's own runs models; a layer that does not fit on one is named."""
    facts = {k: v for k, v in vars(SystolicMachine.preset("edge8")).items() if k != "name"}
    for name, changes in (("own", {"rows": 6, "cols": 10, "spm_bytes": 40960, "acc_bytes": 20480}), ("small", {})):
        sizes = facts | (changes or {"spm_bytes": 64, "acc_bytes": 64})
        (tmp_path / f"{name}.toml").write_text("\n".join(f"{k} = {v}" for k, v in sizes.items()))
    own, small = (f"systolic:{tmp_path / name}.toml" for name in ("own", "small"))
    assert main(["run", str(tiny), "--target", own, "--check"]) == 0
    assert main(["compile", str(tiny), "--target", own, "-o", str(tmp_path / "net.bin")]) == 0
    assert main(["systolic", "check", str(tmp_path / "net.bin")]) == 0
    assert "largest error 0.00e+00" in capsys.readouterr().out
    assert main(["run", str(tiny), "--target", small]) == 2
    assert "'accel.conv' op not even the smallest tile fits on machine" in capsys.readouterr().err


def test_sums_that_do_not_saturate_are_those_of_onnxruntime(tiny: Path) -> None:
    pytest.importorskip("onnxruntime")
    found = {agreement.way: agreement for agreement in agreements(tiny, "gemmini16", range(2))}
    assert found[EXACT].equal == found[EXACT].elements == 20 and len(found) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name != "resnet8"])
def test_all_tiny_networks_are_those_of_onnxruntime(tmp_path: Path, name: str) -> None:
    pytest.importorskip("onnxruntime")
    exact = [a for a in agreements(write(name, tmp_path), "gemmini16", range(4)) if a.way == EXACT]
    assert exact and all(a.equal == a.elements for a in exact)


def test_layers_are_told_beside_their_bounds() -> None:
    """What is loaded twice is moved twice, and compulsory once."""
    machine = SystolicMachine.preset("tiny4")
    program = [configure(1, "stride", s0=4, d1=0)]
    for place in (0, 4):
        program.append(instruction("ld", to="spm", dst=place, src=0, n0=4, len=4, stride=1))
    program += [instruction("bar"), instruction("st", source="spm", src=0, to="dram", dst=16, n0=2, len=4, stride=1)]
    counters = run(Binary(machine, [*program, instruction("halt")], 64), {}, "timing").counters
    first, second = counters["layers"]
    assert (first["dram_bytes"], first["compulsory_bytes"]) == (32, 16)
    assert (second["dram_bytes"], second["compulsory_bytes"]) == (8, 8)
    assert first["cycles"] + second["cycles"] == counters["cycles"] - 1
    lines = layer_lines([Layer("a"), Layer("b", 1 << 40)], counters["layers"], machine)
    assert "2.00 times the least" in lines[0] and "0.00 times the least" in lines[1] and lines[2].endswith("all")


def test_binary(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "net.bin"
    assert main(["compile", str(tiny), "--target", "systolic:gemmini16", "-o", str(out), "--timing"]) == 0
    shown = capsys.readouterr().err
    assert "Passes, CPU time" in shown and "convert-tile-to-pipe" in shown and "nothing was compiled" not in shown
    binary = Binary.from_bytes(out.read_bytes(), SystolicMachine.preset("gemmini16"))
    assert [buffer.name for buffer in binary.buffers] == ["x0", "y0"]
    assert main(["compile", str(tiny), "-o", str(out)]) == 2
    assert "'.bin' is for target systolic, not 'cpu'" in capsys.readouterr().err


def test_floats_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "float.onnx"
    onnx.save(MODELS["autoencoder"](), path)
    assert main(["run", str(path), "--target", "systolic"]) == 2
    assert "nothing in the model runs on a systolic array" in capsys.readouterr().err


def test_bad_names(tiny: Path) -> None:
    with pytest.raises(LaminaError, match="unknown systolic machine 'none'"):
        target("systolic:none")
    with pytest.raises(LaminaError, match="unknown engine 'fast'"):
        target("systolic").compile(read_program(tiny), Options(engine="fast"))
