"""Schedules of a model: written, edited, compiled with; the tuning database; what they do to the caches."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import lamina
from lamina.backends import Options
from lamina.backends.cpu.target import CpuTarget
from lamina.backends.kernel_cache import CacheWarning
from lamina.compiler.machine import Machine
from lamina.compiler.schedules import Entry, Schedules
from lamina.tools.main import main
from lamina.tools.sources import read_program

NAME = "matmul f32 m21 n40 k24"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = relu(x @ w) @ v."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("w", (24, 40)), ("v", (40, 9)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "v"], ["y"]),
    ]
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
        for name, shape in (("x", (21, 24)), ("y", None))
    )
    path = tmp_path / "m.onnx"
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


def objects(model: Path, **options: object) -> list[bytes]:
    artefact = lamina.compile(model, options=Options(**options)).artefact  # pyright: ignore[reportArgumentType]
    return artefact.objects


def test_written_edited_and_compiled_with(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "m.schedules"
    assert main(["compile", str(model), "-o", str(file)]) == 0
    text = file.read_text()
    assert f'"{NAME}" = "lanes=' in text and '"matmul f32 m21 n9 k40"' in text
    chosen = Schedules.read(file)
    assert objects(model, schedules=chosen) == objects(model)  # the cost model's choice, given or not
    edited = Schedules(
        {NAME: Entry({"lanes": 32, "rows": 4, "panels": 1, "row_blocks": 2}), **{"matmul f32 m1 n1 k1": Entry({})}}
    )
    file.write_text(edited.format())
    ir = tmp_path / "m.mlir"
    command = ["compile", str(model), "--schedules", str(file), "-o", str(ir), "--emit", "buffers"]
    assert main(command) == 0
    assert "the model has no kernel 'matmul f32 m1 n1 k1'" in capsys.readouterr().err
    assert 'lamina.schedule = "rows=4 panels=1 row_blocks=2' in ir.read_text()
    assert "memref<2x24x32xf32>" in ir.read_text()
    x = np.random.default_rng(1).standard_normal((21, 24)).astype(np.float32)
    given = lamina.compile(model, options=Options(schedules=Schedules.read(file)))
    np.testing.assert_allclose(given(x)[0], lamina.interpret(read_program(model), [x])[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("lanes=12", "m.schedules:2: error: 12 lanes (expected a power of two"),
        ("rows=900", "m.schedules:2: error: a tile of 900 rows and"),
        ("rows=six", "m.schedules:2: error: 'rows=six' is not a name with a number"),
        ("lanes=six", "m.schedules:2: error: 'lanes=six' is not a name with a number"),
        ("rows=0", "m.schedules:2: error: not a schedule"),
        ("colour=3", "m.schedules:2: error: 'colour' is no part of a schedule (one of lanes, rows"),
    ],
)
def test_wrong_entries_are_told_with_their_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: str, message: str
):
    file = tmp_path / "m.schedules"
    file.write_text(f'[contractions]\n"{NAME}" = "{entry}"\n')
    assert main(["run", str(model), "--schedules", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_the_database_is_consulted(model: Path):
    default = objects(model)
    threads = Machine.host().cores
    database = CpuTarget().database(threads)
    database.update(Schedules({NAME: Entry({"rows": 2}), "another": Entry({"rows": 2})}), set())
    tuned = objects(model)  # the model is in the cache, but not with these schedules
    assert tuned != default
    assert tuned == objects(model, schedules=Schedules({NAME: Entry({"rows": 2})}))
    assert objects(model, cache=False) == default
    assert objects(model, schedules=Schedules()) == default
    more = threads + 1  # has a database of its own
    assert objects(model, threads=more) == objects(model, threads=more, schedules=Schedules())
    database.update(Schedules({"another": Entry({"rows": 5})}), {NAME})
    assert {n: dict(e.values) for n, e in database.read().entries.items()} == {"another": {"rows": 5}}
    assert objects(model) == default


def test_what_the_compiler_no_longer_knows_is_left_out(model: Path):
    default = objects(model)
    database = CpuTarget().database(None)
    database.update(Schedules({NAME: Entry({"rows": 3, "colour": 1, "lanes": 7})}), set())
    assert objects(model) == default
    database.path.write_text("not TOML")
    with pytest.warns(CacheWarning, match="the tuning database is not used: .*not TOML"):
        assert CpuTarget().schedules(Options()).entries == {}
