"""What a user does wrong is answered with one paragraph and exit code 2: no traceback, no partial file."""

import os
import resource
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.compiler.artefact import MAGIC
from lamina.tools.main import main


def model(nodes=None, *, shape=(2, 3), dtype=TensorProto.FLOAT, opset=17, initializers=()):
    graph = helper.make_graph(
        nodes or [helper.make_node("Relu", ["x"], ["y"], "the_relu")],
        "g",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", dtype, None)],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def fails(tmp_path, capsys, monkeypatch):
    """Runs the command line on a model (proto, bytes or path) and returns the message it failed with."""
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))

    def run(source, *arguments, command="run"):
        path = source
        if isinstance(source, onnx.ModelProto):
            source = source.SerializeToString()
        if isinstance(source, bytes):
            path = tmp_path / "m.onnx"
            path.write_bytes(source)
        code = main([command, str(path), *map(str, arguments)])
        captured = capsys.readouterr()
        assert code == 2, captured.err
        assert captured.err.startswith(f"lamina {command}: ") and "Traceback" not in captured.err
        assert "internal error" not in captured.err, captured.err
        return captured.err

    return run


def with_external(location: str, data: bytes | None, directory):
    weight = numpy_helper.from_array(np.ones((3, 3), np.float32), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "36")):
        weight.external_data.add(key=key, value=value)
    if data is not None:
        (directory / location).write_bytes(data)
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], initializers=[weight])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "m.onnx: error"),
        (b"this is not a protobuf", "m.onnx: error"),
        (model().SerializeToString()[:-20], "m.onnx: error"),
        (model(opset=0), "opset"),
        (model(opset=999), "opset"),
        (model([helper.make_node("NoSuchOp", ["x"], ["y"], "odd")]), "NoSuchOp"),
        (model([helper.make_node("Relu", ["z"], ["y"], "n")]), "'z'"),
        (
            model([helper.make_node("Add", ["x", "b"], ["a"], "n1"), helper.make_node("Relu", ["a"], ["b"], "n2")]),
            "cycl",
        ),
        (model([helper.make_node("MatMul", ["x", "x"], ["y"], "mm")]), "mm"),
    ],
    ids=["empty", "garbage", "cut", "old", "new", "operator", "undefined", "cyclic", "shapes"],
)
def test_models(fails, source, message):
    assert message in fails(source)


@pytest.mark.parametrize(
    ("location", "data"),
    [("../w.bin", None), ("/etc/hostname", None), ("none.bin", None), ("short.bin", b"1234")],
)
def test_external_data(fails, tmp_path, location, data):
    assert location.strip("./") in fails(with_external(location, data, tmp_path))


def test_external_data_behind_a_link(fails, tmp_path):
    (tmp_path / "link.bin").symlink_to("/etc/hostname")
    assert "link.bin" in fails(with_external("link.bin", None, tmp_path))


def test_files(fails, tmp_path):
    assert "no such file" in fails(tmp_path / "none.onnx")
    assert "is a directory" in fails(tmp_path)
    (tmp_path / "m.txt").write_text("x")
    assert "expected .onnx, .lam, .pt2, .mlir, .mlirbc or .jax" in fails(tmp_path / "m.txt")
    assert "unknown light model" in fails("onnx:resnet51")
    (tmp_path / "m.lamx").write_bytes(MAGIC + b"\xff" * 30)
    assert "damaged" in fails(tmp_path / "m.lamx")


def test_textual_ir(fails, tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text("func.func @main( {")
    assert "m.mlir:1:" in fails(path)
    path.write_text("func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n  func.return %x : tensor<2xf32>\n}\n")
    assert "m.mlir" in fails(path)
    constant = "%w = stablehlo.constant dense_resource<w> : tensor<2xf32>"
    path.write_text(f"func.func @main() -> tensor<2xf32> {{\n  {constant}\n  func.return %w : tensor<2xf32>\n}}\n")
    assert "weight 'w' is not there" in fails(path)


def test_inputs(fails, tmp_path):
    np.save(tmp_path / "wide.npy", np.zeros((4, 4), np.float32))
    np.save(tmp_path / "double.npy", np.zeros((2, 3)))
    assert "shape [4, 4], expected [2, 3]" in fails(model(), "--input", f"x={tmp_path}/wide.npy")
    assert "dtype float64, expected float32" in fails(model(), "--input", f"x={tmp_path}/double.npy")
    assert "unknown input 'q'" in fails(model(), "--input", f"q={tmp_path}/wide.npy")
    assert "not a NumPy file" in fails(model(), "--input", f"x={__file__}")
    assert "No such file" in fails(model(), "--input", "x=/none.npy")


def test_dimensions_and_targets(fails):
    assert "symbolic dimensions N" in fails(model(shape=("N", 3)))
    assert "no dimension 'M'" in fails(model(shape=("N", 3)), "--shape", "M=3")
    assert "is not a dimension" in fails(model(), "--shape", "M")
    assert "unknown target 'tpu'" in fails(model(), "--target", "tpu")


def test_outputs_are_whole_or_absent(fails, tmp_path):
    assert "cannot write files of kind '.exe'" in fails(model(), "-o", tmp_path / "m.exe", command="compile")
    assert "cannot write" in fails(model(), "-o", tmp_path / "none" / "m.lamx", command="compile")
    assert not (tmp_path / "none").exists()


def test_nan_weights_and_empty_dimensions_are_no_errors(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    weight = numpy_helper.from_array(np.full((3, 3), np.nan, np.float32), "w")
    path = tmp_path / "m.onnx"
    onnx.save(model([helper.make_node("MatMul", ["x", "w"], ["y"])], initializers=[weight]), path)
    assert main(["run", str(path), "--check", "--quiet"]) == 0
    onnx.save(model(shape=(0, 3)), path)
    assert main(["run", str(path), "--check", "--quiet"]) == 0


def test_only_arrays_have_timelines(tmp_path, capsys):
    onnx.save(model(), tmp_path / "m.onnx")
    assert main(["run", str(tmp_path / "m.onnx"), "--trace", str(tmp_path / "t.json")]) == 2
    assert "target 'cpu' has no timeline (--target systolic has)" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "compile", "tune"])
@pytest.mark.parametrize("threads", [0, -1])
def test_fewer_than_one_thread(fails, tmp_path, command, threads):
    output = () if command == "run" else ("-o", tmp_path / "written")
    assert f"{threads} threads (at least 1" in fails(model(), "--threads", threads, *output, command=command)
    assert not (tmp_path / "written").exists()


def test_fewer_than_one_thread_for_an_artefact(fails, tmp_path):
    path = tmp_path / "m.lamx"
    lamina.compile(model()).save(path)
    assert "0 threads (at least 1" in fails(path, "--threads", 0)


def test_numerics_are_verified_where_there_are_passes(fails, tmp_path):
    path = tmp_path / "m.lamx"
    lamina.compile(model()).save(path)
    assert "an artefact has no passes that --verify-numerics runs" in fails(path, "--verify-numerics")
    for target in ("systolic", "interpret"):
        assert f"target '{target}' has no passes" in fails(model(), "--verify-numerics", "--target", target)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["no_net"], "unknown: no_net"), (["lcnet_100", "--batch", "0"], "0 images are no batch (--batch 1 or more)")],
)
def test_networks_to_measure(fails, arguments, message):
    assert message in fails("networks", *arguments, command="bench")


def test_kinds_to_measure(fails):
    assert "unknown: no_net (there are unet, detector" in fails("kinds", "no_net", command="bench")
    assert "-1 samples are no batch" in fails("kinds", "unet", "--batch", "-1", command="bench")


def test_detectors_to_measure(fails):
    assert "unknown: no_net (there are fasterrcnn_" in fails("detectors", "no_net", command="bench")


def test_published_models_to_measure(fails):
    assert "unknown: no_net (there are ocr_v4_det" in fails("published", "no_net", command="bench")


def test_usage():
    with pytest.raises(SystemExit) as stop:
        main(["run"])
    assert stop.value.code == 2


@pytest.mark.parametrize("state", ["unwritable", "full"])
def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path, state):
    """A read-only directory, and a disk with no room (stood in for by a limit on file sizes), cost time only."""
    onnx.save(model(), tmp_path / "m.onnx")
    cache = tmp_path / "cache"
    if state == "unwritable":
        cache.write_text("a file where the directory should be")

    def no_room():
        if state == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run(
        [sys.executable, "-m", "lamina.tools.main", "run", str(tmp_path / "m.onnx"), "--quiet"],
        env={**os.environ, "LAMINA_CACHE": str(cache)},
        capture_output=True,
        text=True,
        preexec_fn=no_room,
    )
    assert done.returncode == 0, done.stderr
    assert "y: float32[2, 3]" in done.stdout and "Traceback" not in done.stderr
    if state == "full":
        assert not cache.exists() or not [f for f in cache.rglob("*") if f.is_file()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "none.bin"], "none.bin: error: No such file"),
        (["check", "text.mlir"], "is no UTF-8 text"),
        (["disasm", "text.mlir"], "is no UTF-8 text"),
        (["asm", "stop.mlir", "-o", "none/x.bin"], "none/x.bin: error: No such file"),
        (["run", "stop.mlir", "--input", "x=none.npy"], "none.npy: error: cannot read"),
        (["run", "stop.mlir", "--trace", "none/t.json"], "none/t.json: error: cannot write: No such file"),
        (["run", "stop.mlir", "--dram", "-5"], "stop.mlir: error: needs -5 bytes of DRAM"),
        (["rtl", "tiny4", "-o", "none/x.sv"], "none/x.sv: error: No such file"),
        (["rtl", "tiny5"], "unknown systolic machine 'tiny5'"),
    ],
)
def test_systolic_programs(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.mlir").write_bytes(b"\xff\xfe")
    (tmp_path / "stop.mlir").write_text('systolic.program @main for "tiny4" {\n  systolic.halt\n}\n')
    assert main(["systolic", *arguments]) == 2
    assert message in capsys.readouterr().err
