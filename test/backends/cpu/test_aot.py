"""Ahead-of-time output: a C program with only libc and pthread runs the object."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cpu.aot import write_native
from lamina.compiler.diagnostics import LaminaError
from lamina.tools.sources import read_program

SAMPLES = Path(__file__).parents[2] / "samples" / "linalg"
CC = shutil.which("cc")

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "softmax.h"
static float x[SOFTMAX_X_SIZE], y[SOFTMAX_Y_SIZE], z[SOFTMAX_Y_SIZE];
int main(int argc, char **argv) {
  FILE *f = fopen(argv[1], "rb");
  if (!f || fread(x, sizeof(float), SOFTMAX_X_SIZE, f) != SOFTMAX_X_SIZE) return 2;
  fclose(f);
  void *arena = aligned_alloc(64, SOFTMAX_ARENA_BYTES), *pool = lamina_pool_create(3);
  for (int i = 0; i < 1000; i++)
    if (softmax_run(x, y, arena, NULL, pool)) return 3;
  lamina_pool_destroy(pool);
  if (softmax_run(x, z, arena, NULL, NULL)) return 4;
  for (int i = 0; i < SOFTMAX_Y_SIZE; i++)
    if (y[i] != z[i]) return 5;
  fwrite(y, sizeof(float), SOFTMAX_Y_SIZE, stdout);
  return 0;
}
"""


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_a_c_program_runs_the_object(tmp_path: Path):
    output = tmp_path / "softmax.o"
    write_native(read_program(SAMPLES / "softmax.mlir"), output, "", Options())
    (tmp_path / "main.c").write_text(MAIN)
    command = [str(CC), "-Wall", "-Werror", "-o", str(tmp_path / "run"), str(tmp_path / "main.c"), str(output)]
    subprocess.run([*command, "-lpthread"], check=True, cwd=tmp_path)
    x = np.random.default_rng(0).standard_normal((2, 7, 33), dtype=np.float32)
    (tmp_path / "x").write_bytes(x.tobytes())
    done = subprocess.run([str(tmp_path / "run"), str(tmp_path / "x")], check=True, capture_output=True, timeout=60)
    got = np.frombuffer(done.stdout, np.float32).reshape(x.shape)
    power = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(got, power / power.sum(-1, keepdims=True), rtol=1e-5)


COUNT = """
#include <stdio.h>
#include "count.h"
int main(int argc, char **argv) {
  float x[COUNT_X_SIZE] = {1, 2, 3, 4}, row[COUNT_ROW_SIZE] = {7, 8};
  _Alignas(64) char arena[COUNT_ARENA_BYTES], weights[COUNT_WEIGHTS_BYTES];
  FILE *f = fopen(argv[1], "rb");
  if (!f || fread(weights, 1, COUNT_WEIGHTS_BYTES, f) != COUNT_WEIGHTS_BYTES) return 3;
  if (count_run(x, row, arena, weights, NULL)) return 2;
  return !(x[0] == 1 && x[1] == 2 && x[2] == 7 && x[3] == 8);
}
"""


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_an_output_in_the_memory_of_an_input(tmp_path: Path):
    """It has no parameter of its own."""
    source = tmp_path / "count.mlir"
    source.write_text("""
        func.func public @main(%x: tensor<2x2xf32> {lamina.name = "x", lamina.aliasing_output = 0 : i64},
                               %row: tensor<1x2xf32> {lamina.name = "row"}) -> (tensor<2x2xf32> {lamina.name = "y"}) {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %y = stablehlo.dynamic_update_slice %x, %row, %one, %zero
              : (tensor<2x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
          return %y : tensor<2x2xf32>
        }
    """)
    output = tmp_path / "count.o"
    write_native(read_program(source), output, "", Options())
    (tmp_path / "main.c").write_text(COUNT)
    command = [str(CC), "-Wall", "-Werror", "-o", str(tmp_path / "run"), str(tmp_path / "main.c"), str(output)]
    subprocess.run([*command, "-lpthread"], check=True, cwd=tmp_path)
    subprocess.run([str(tmp_path / "run"), str(output.with_suffix(".weights"))], check=True, timeout=60)
    assert "y is computed in the memory of x" in output.with_suffix(".h").read_text()


def test_text_for_another_machine(tmp_path: Path):
    output = tmp_path / "softmax.s"
    write_native(read_program(SAMPLES / "softmax.mlir"), output, "aarch64-unknown-linux-gnu", Options())
    text = output.read_text()
    assert "softmax_run:" in text and "fmla" in text
    assert "softmax_run(" in output.with_suffix(".h").read_text()


def test_an_unwritable_place_is_an_error(tmp_path: Path):
    with pytest.raises(LaminaError, match="cannot write"):
        write_native(read_program(SAMPLES / "transpose.mlir"), tmp_path / "no" / "t.o", "", Options())


RUNNER = r"""
#include <stdio.h>
#include <stdlib.h>
#include "resnet50.h"
static void *file(const char *path, size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  FILE *f = fopen(path, "rb");
  if (!f || fread(memory, 1, bytes, f) != bytes) exit(2);
  fclose(f);
  return memory;
}
int main(int argc, char **argv) {
  float *x = file(argv[1], sizeof(float) * RESNET50_INPUT_SIZE);
  void *weights = file(argv[2], RESNET50_WEIGHTS_BYTES);
  void *arena = aligned_alloc(64, (RESNET50_ARENA_BYTES + 63) / 64 * 64), *pool = lamina_pool_create(2);
  static float y[RESNET50_OUTPUT_SIZE];
  if (resnet50_run(x, y, arena, weights, pool)) return 3;
  lamina_pool_destroy(pool);
  return fwrite(y, sizeof(float), RESNET50_OUTPUT_SIZE, stdout) == RESNET50_OUTPUT_SIZE ? 0 : 4;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_resnet50_runs_from_c(tmp_path: Path):
    model = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_resnet50.onnx"
    output = tmp_path / "resnet50.o"
    program = read_program(model)
    write_native(program, output, "", Options())
    (name,) = (spec.name for spec in program.signature.inputs)
    (result,) = (spec.name for spec in program.signature.outputs)
    source = RUNNER.replace("INPUT_SIZE", f"{c_name(name)}_SIZE").replace("OUTPUT_SIZE", f"{c_name(result)}_SIZE")
    (tmp_path / "main.c").write_text(source)
    command = [str(CC), "-Wall", "-Werror", "-o", "run", "main.c", "resnet50.o", "-lpthread"]
    subprocess.run(command, check=True, cwd=tmp_path)
    x = np.random.default_rng(0).standard_normal((1, 3, 224, 224), dtype=np.float32)
    (tmp_path / "x").write_bytes(x.tobytes())
    done = subprocess.run(
        ["./run", "x", "resnet50.weights"], check=True, capture_output=True, timeout=120, cwd=tmp_path
    )
    (want,) = lamina.compile(model, cache=False)(x)
    np.testing.assert_allclose(np.frombuffer(done.stdout, np.float32), want.ravel(), rtol=1e-6)


def c_name(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


LIBC_AND_PTHREAD = {
    *("aligned_alloc", "free", "memcpy", "memset", "memmove", "sched_yield", "syscall"),
    *("pthread_create", "pthread_join"),
}


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
@pytest.mark.parametrize("sample", ["softmax", "attention", "maxpool"])
def test_nothing_but_libc_and_pthread_is_needed(sample: str, tmp_path: Path):
    output = tmp_path / f"{sample}.o"
    write_native(read_program(SAMPLES / f"{sample}.mlir"), output, "", Options())
    listed = subprocess.run(["nm", "-u", str(output)], check=True, capture_output=True, text=True).stdout.split()
    assert set(listed) - {"U"} <= LIBC_AND_PTHREAD | {"_GLOBAL_OFFSET_TABLE_"}
