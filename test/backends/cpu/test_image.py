"""Objects linked ahead: what they say of each other holds, what they lack is told, and no compiler is needed."""

from __future__ import annotations

import ctypes
import gc
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import save

import lamina
from lamina.backends import Options
from lamina.backends.cpu.code import Code
from lamina.backends.cpu.emit import object_code, optimise, with_target
from lamina.backends.cpu.image import Unlinkable, link_image
from lamina.backends.cpu.target import CpuTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine
from lamina.tools.sources import read_program

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="images are for x86-64")


def compiled(text: str, machine: Machine | None = None) -> bytes:
    machine = machine or Machine.host()
    return object_code(optimise(with_target(text, machine), machine), machine)


CALLER = """
@table = internal constant [4 x i32] [i32 7, i32 11, i32 13, i32 17]
@names = constant [2 x ptr] [ptr @twice, ptr @shared]
declare i64 @twice(i64)
declare ptr @memset(ptr, i32, i64)
define i64 @main(i64 %i, ptr %to) {
  %p = getelementptr i32, ptr @table, i64 %i
  %x = load i32, ptr %p
  %w = sext i32 %x to i64
  %y = call i64 @twice(i64 %w)
  %z = call i32 @shared()
  %v = sext i32 %z to i64
  %f = call ptr @memset(ptr %to, i32 1, i64 %y)
  %sum = add i64 %y, %v
  ret i64 %sum
}
define ptr @address(i64 %i) {
  %p = getelementptr ptr, ptr @names, i64 %i
  %q = load volatile ptr, ptr %p
  ret ptr %q
}
define weak i32 @shared() noinline { ret i32 1 }
"""
CALLEE = """
define i64 @twice(i64 %x) { %y = mul i64 %x, 2  ret i64 %y }
define i32 @shared() noinline { ret i32 100 }
"""


def test_calls_tables_and_addresses():
    image = link_image([compiled(CALLER), compiled(CALLEE)], ["main", "twice", "address"])
    code = Code(image)
    memory = np.zeros(64, np.uint8)
    main = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(code["main"])
    assert [main(i, memory.ctypes.data) for i in range(4)] == [114, 122, 126, 134]  # the strong definition wins
    assert memory.tolist() == [1] * 34 + [0] * 30
    address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(code["address"])
    assert address(0) == code["twice"]
    assert set(code) == {"main", "twice", "address"}
    del code, main, address
    gc.collect()


def test_what_cannot_be_linked():
    with pytest.raises(LaminaError, match="'twice' is defined twice"):
        link_image([compiled(CALLEE), compiled(CALLEE)], [])
    with pytest.raises(LaminaError, match="'other' is not defined"):
        link_image([compiled(CALLEE)], ["other"])
    with pytest.raises(Unlinkable, match="not an object of x86-64"):
        link_image([compiled(CALLEE, Machine.preset("aarch64-neon"))], [])
    with pytest.raises(Unlinkable, match="not a 64-bit"):
        link_image([b"something else"], [])
    lacking = "declare void @no_such_function()\ndefine void @main() { call void @no_such_function() ret void }"
    with pytest.raises(LaminaError, match="needs 'no_such_function'"):
        Code(link_image([compiled(lacking)], ["main"]))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    graph = h.make_graph(
        [h.make_node("Exp", ["x"], ["e"]), h.make_node("Softmax", ["e"], ["y"])],
        "g",
        [h.make_tensor_value_info("x", T.FLOAT, [3, 50])],
        [h.make_tensor_value_info("y", T.FLOAT, [3, 50])],
    )
    path = tmp_path / "m.onnx"
    save(h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10), path)
    return path


def test_without_an_image_llvm_links(model: Path):
    artefact = CpuTarget().compile_artefact(read_program(model), Options())
    x = np.random.default_rng(0).standard_normal((3, 50)).astype(np.float32)
    (mapped,) = CpuTarget().load(artefact).run([x])
    assert artefact.image
    artefact.image = b""
    np.testing.assert_array_equal(CpuTarget().load(artefact).run([x])[0], mapped)


def test_for_another_processor_there_is_none(model: Path):
    artefact = CpuTarget("aarch64-neon").compile_artefact(read_program(model), Options())
    assert artefact.objects and not artefact.image


LIGHT = """
import sys, lamina
model = getattr(lamina, sys.argv[1])(sys.argv[2])
print(sorted(name for name in ("xdsl", "llvmlite", "onnx", "ml_dtypes", "rich", "lark") if name in sys.modules))
"""


def imported(how: str, path: Path) -> str:
    """What a process of its own imports to make a model callable."""
    ran = subprocess.run([sys.executable, "-c", LIGHT, how, str(path)], check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def test_a_model_compiled_before_needs_no_compiler(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    lamina.compile(model)
    assert imported("compile", model) == "[]"


def test_a_saved_model_needs_no_compiler(model: Path, tmp_path: Path):
    lamina.compile(model).save(tmp_path / "m.lamx")
    assert imported("load", tmp_path / "m.lamx") == "['llvmlite']"  # which knows the processor
