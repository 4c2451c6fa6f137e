"""A program on tiles computes what its text says."""

from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import bf16
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.layouts import Layout
from lamina.dialects import all_dialects
from lamina.dialects.cta import BorderAttr, ViewType


def run(entry: str, *buffers: Any) -> None:
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, Path(__file__).with_name("ops.mlir").read_text()).parse_module()
    Interpreter(ctx).run(module, list(buffers), entry=entry)


def test_a_product_of_tiles() -> None:
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(8, dtype=np.float32).reshape(4, 2)
    c = np.full((3, 2), 7, np.float32)
    run("product", a, b, c)
    assert np.array_equal(c, 2 * (a @ b))


def test_beyond_borders_there_are_zeros() -> None:
    a, b = np.array([1, 2, 3, 4], np.float32), np.full(13, 7, np.float32)
    run("windows", a, b)
    assert b.tolist() == [7, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 0]


def test_neighbours_that_are_inside_together() -> None:
    """Windows of three points of images of 8 points, with 16 channels, with 4, and with the points as neighbours."""

    def width(layout: Layout, border: Layout, first: int) -> int:
        return ViewType.of(bf16, layout, first, [BorderAttr.of(border, -1, 8)]).width(2, 8)

    assert width(Layout((1, 8, 48), (0, 16, 1)), Layout((1, 8, (16, 3)), (0, 1, (0, 1))), -16) == 8
    assert width(Layout((1, 8, 12), (0, 4, 1)), Layout((1, 8, (4, 3)), (0, 1, (0, 1))), -4) == 4
    assert width(Layout((1, 3, 8), (0, 8, 1)), Layout((1, 3, 8), (0, 1, 1)), -1) == 1
