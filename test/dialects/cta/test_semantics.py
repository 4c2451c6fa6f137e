"""A program on tiles computes what its text says."""

from pathlib import Path

import numpy as np
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.interpreter import Interpreter
from lamina.dialects import all_dialects


def test_a_product_of_tiles() -> None:
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, Path(__file__).with_name("ops.mlir").read_text()).parse_module()
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(8, dtype=np.float32).reshape(4, 2)
    c = np.full((3, 2), 7, np.float32)
    Interpreter(ctx).run(module, [a, b, c], entry="product")
    assert np.array_equal(c, 2 * (a @ b))
