"""Functions are found again by what they do, whatever they and their values are called."""

import pytest
from xdsl.dialects.func import FuncOp

from lamina.compiler.anonymous_text import anonymous_text
from lamina.compiler.parsing import parse_module
from lamina.tools.sources import new_context

FIRST = """
func.func @first(%x: memref<4xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    %a = affine.load %x[%i] : memref<4xf32>
    %b = arith.addf %a, %zero : f32
    affine.store %b, %x[%i] : memref<4xf32>
  }
  func.return
}
"""


def _text(source: str) -> str:
    [function] = parse_module(source, "here", new_context()).ops
    assert isinstance(function, FuncOp)
    return anonymous_text(function)


def test_names_are_no_part_of_it() -> None:
    renamed = (
        FIRST.replace("@first", "private @second").replace("%a", "%loaded").replace("%i", "%at").replace("%n", "%7")
    )
    assert _text(renamed) == _text(FIRST)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.0 : f32", "-0.0 : f32"),
        ("0 to 4", "0 to 3"),
        ("%a, %zero", "%zero, %a"),
        ("%n: index", "%n: i64"),
        ("arith.addf %a", "arith.mulf %a"),
        (") {\n  %zero", ") attributes {gpu.kernel} {\n  %zero"),
    ],
)
def test_all_else_is(old: str, new: str) -> None:
    assert old in FIRST
    assert _text(FIRST.replace(old, new)) != _text(FIRST)


BLOCKS = """
func.func @blocks(%x: f32) {
  cf.br ^second
^first:
  %b = arith.addf %a, %x : f32
  func.return
^second:
  %a = arith.mulf %x, %x : f32
  cf.br ^first
}
"""


def test_blocks_in_any_order() -> None:
    """A value may be used in a block that stands before the one in which it is made."""
    assert _text(BLOCKS) == _text(BLOCKS.replace("%a", "%made").replace("^first", "^then"))
    assert _text(BLOCKS) != _text(BLOCKS.replace("arith.addf %a, %x", "arith.addf %x, %a"))
