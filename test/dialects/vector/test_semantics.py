"""Vectors in memory that is seen through views."""

import numpy as np
import pytest

from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.tools.sources import new_context

HALF = """
func.func public @main(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %zero = arith.constant 0 : index
  %s = memref.subview %x[0, 4] [4, 4] [1, 1] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>
  %t = memref.subview %y[0, 4] [4, 4] [1, 1] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>
  affine.for %i = 0 to 4 {
    LOAD
    STORE
  }
  func.return
}
"""
VIEW = "memref<4x4xf32, strided<[8, 1], offset: 4>>, vector<4xf32>"


@pytest.mark.parametrize("load", ["affine.vector_load %s[%i, 0]", "vector.load %s[%i, %zero]"])
@pytest.mark.parametrize("store", ["affine.vector_store %v, %t[%i, 0]", "vector.store %v, %t[%i, %zero]"])
def test_vectors_of_a_part_of_each_row(load: str, store: str) -> None:
    context = new_context()
    text = HALF.replace("LOAD", f"%v = {load} : {VIEW}").replace("STORE", f"{store} : {VIEW}")
    x, y = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    Interpreter(context).run(parse_module(text, "views.mlir", context), [x, y])
    assert (y[:, 4:] == x[:, 4:]).all() and not y[:, :4].any()
