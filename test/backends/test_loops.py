"""Loops whose state is changed in place, on the targets that compile, against the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cpu.target import CpuTarget
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.program import Program
from lamina.tools.sources import read_program

HEAD = """
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %count = stablehlo.constant dense<6> : tensor<i32>
"""
COUNTED = """ cond {
    %p = stablehlo.compare LT, %i, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
"""
ROW = "(tensor<6x5xf32>, tensor<1x5xf32>, tensor<i32>, tensor<i32>) -> tensor<6x5xf32>"
SLICE = "sizes = [1, 5] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>"
UP = "(tensor<3x5xf32>, tensor<6x5xf32>) -> tensor<3x6xf32>"
DOWN = "(tensor<3x6xf32>, tensor<6x5xf32>) -> tensor<3x5xf32>"

STATES = {
    # each of two states is what the other was
    "swap": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        "%c = stablehlo.negate %a : tensor<6x5xf32>\n"
        "stablehlo.return %next, %b, %c : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # the new state is read by what gives the other one
    "chain": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        "%c = stablehlo.tanh %a : tensor<6x5xf32>\n%d = stablehlo.add %c, %b : tensor<6x5xf32>\n"
        "%e = stablehlo.multiply %d, %a : tensor<6x5xf32>\n"
        "stablehlo.return %next, %d, %e : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # one value for both
    "twice": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        "%c = stablehlo.subtract %a, %b : tensor<6x5xf32>\n"
        "stablehlo.return %next, %c, %c : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # a row is changed, and what the rows were before is read after that
    "row": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        f"%s = stablehlo.dynamic_slice %b, %i, %zero, {SLICE}\n%t = stablehlo.exponential %s : tensor<1x5xf32>\n"
        f"%c = stablehlo.dynamic_update_slice %a, %t, %i, %zero : {ROW}\n"
        "%d = stablehlo.subtract %c, %a : tensor<6x5xf32>\n"
        "stablehlo.return %next, %c, %d : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # rows are changed twice, and the second one is made of the first
    "rows": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        f"%s = stablehlo.dynamic_slice %a, %i, %zero, {SLICE}\n%t = stablehlo.cosine %s : tensor<1x5xf32>\n"
        f"%c = stablehlo.dynamic_update_slice %a, %t, %next, %zero : {ROW}\n"
        f"%s1 = stablehlo.dynamic_slice %c, %next, %zero, {SLICE}\n%t1 = stablehlo.sine %s1 : tensor<1x5xf32>\n"
        f"%d = stablehlo.dynamic_update_slice %c, %t1, %zero, %zero : {ROW}\n"
        "stablehlo.return %next, %d, %b : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # what is put together is the state that its parts are computed of
    "concatenation": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        "%l = stablehlo.slice %a [0:3, 0:5] : (tensor<6x5xf32>) -> tensor<3x5xf32>\n"
        "%r = stablehlo.slice %a [3:6, 0:5] : (tensor<6x5xf32>) -> tensor<3x5xf32>\n"
        f"%m = stablehlo.dot_general %r, %w, contracting_dims = [1] x [1] : {UP}\n"
        f"%k = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : {DOWN}\n"
        f"%m1 = stablehlo.dot_general %l, %w, contracting_dims = [1] x [1] : {UP}\n"
        f"%k1 = stablehlo.dot_general %m1, %w, contracting_dims = [1] x [0] : {DOWN}\n"
        "%j = stablehlo.tanh %k : tensor<3x5xf32>\n%j1 = stablehlo.tanh %k1 : tensor<3x5xf32>\n"
        "%c = stablehlo.concatenate %j, %j1, dim = 0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<6x5xf32>\n"
        "stablehlo.return %next, %c, %b : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # a loop in the loop goes on with the state of the outer one
    "nested": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        "%q:2 = stablehlo.while(%j = %zero, %c = %a) : tensor<i32>, tensor<6x5xf32>\n cond {\n"
        "%p1 = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %p1 : tensor<i1>\n} do {\n"
        f"%s = stablehlo.dynamic_slice %b, %j, %zero, {SLICE}\n"
        f"%d = stablehlo.dynamic_update_slice %c, %s, %i, %zero : {ROW}\n"
        "%e = stablehlo.sine %d : tensor<6x5xf32>\n%n1 = stablehlo.add %j, %one : tensor<i32>\n"
        "stablehlo.return %n1, %e : tensor<i32>, tensor<6x5xf32>\n}\n"
        "%f = stablehlo.add %q#1, %a : tensor<6x5xf32>\n"
        "stablehlo.return %next, %f, %q#1 : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # what a loop in the loop begins with is there before the outer state is read
    "early": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        "%g = stablehlo.sine %b : tensor<6x5xf32>\n%f = stablehlo.add %b, %a : tensor<6x5xf32>\n"
        "%q:2 = stablehlo.while(%j = %zero, %c = %g) : tensor<i32>, tensor<6x5xf32>\n cond {\n"
        "%p1 = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %p1 : tensor<i1>\n} do {\n"
        "%e = stablehlo.cosine %c : tensor<6x5xf32>\n%n1 = stablehlo.add %j, %one : tensor<i32>\n"
        "stablehlo.return %n1, %e : tensor<i32>, tensor<6x5xf32>\n}\n"
        "stablehlo.return %next, %q#1, %f : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # a branch reads the state after a part of it was to be changed
    "branch": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        f"%s = stablehlo.dynamic_slice %b, %i, %zero, {SLICE}\n"
        f"%c = stablehlo.dynamic_update_slice %a, %s, %i, %zero : {ROW}\n"
        "%h = stablehlo.compare GT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        '%d = "stablehlo.if"(%h) ({\n%e = stablehlo.add %a, %c : tensor<6x5xf32>\n'
        '"stablehlo.return"(%e) : (tensor<6x5xf32>) -> ()\n}, {\n"stablehlo.return"(%b) : (tensor<6x5xf32>) -> ()\n})'
        " : (tensor<i1>) -> tensor<6x5xf32>\n"
        "stablehlo.return %next, %c, %d : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # a state begins as what the loop reads, too, and another as what only it goes on with
    "begun": (
        "%x1 = stablehlo.sine %x : tensor<6x5xf32>\n%w1 = stablehlo.cosine %w : tensor<6x5xf32>\n"
        "%o:3 = stablehlo.while(%i = %zero, %a = %x1, %b = %w1) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        f"%s = stablehlo.dynamic_slice %x1, %i, %zero, {SLICE}\n"
        f"%c = stablehlo.dynamic_update_slice %a, %s, %zero, %zero : {ROW}\n"
        "%d = stablehlo.add %c, %c : tensor<6x5xf32>\n%e = stablehlo.add %b, %c : tensor<6x5xf32>\n"
        "stablehlo.return %next, %d, %e : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
    # elements are scattered into the state
    "scatter": (
        "%o:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
        "%where = stablehlo.reshape %i : (tensor<i32>) -> tensor<1x1xi32>\n"
        f"%s = stablehlo.dynamic_slice %b, %i, %zero, {SLICE}\n"
        '%c = "stablehlo.scatter"(%a, %where, %s) ({\n^bb0(%u: tensor<f32>, %v: tensor<f32>):\n'
        "%sum = stablehlo.add %u, %v : tensor<f32>\nstablehlo.return %sum : tensor<f32>\n}) {"
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],"
        " scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}"
        " : (tensor<6x5xf32>, tensor<1x1xi32>, tensor<1x5xf32>) -> tensor<6x5xf32>\n"
        "stablehlo.return %next, %c, %b : tensor<i32>, tensor<6x5xf32>, tensor<6x5xf32>",
    ),
}


def program(name: str, given: bool, folder: Path) -> Program:
    """The loop, six times; with `given`, as often as an input says."""
    head, body = STATES[name]
    start = HEAD.replace("%count = stablehlo.constant dense<6> : tensor<i32>", "") if given else HEAD
    count = ", %count: tensor<i32>" if given else ""
    results = "tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>"
    path = folder / f"{name}.mlir"
    path.write_text(
        f"func.func @main(%x: tensor<6x5xf32>, %w: tensor<6x5xf32>{count}) -> ({results}) {{{start}{head}\n{COUNTED}"
        f"{body}\n}}\n%sum = stablehlo.add %o#1, %o#2 : tensor<6x5xf32>\n"
        f"return %o#1, %o#2, %sum : {results}\n}}"
    )
    found = read_program(str(path))
    assert isinstance(found, Program)
    return found


@pytest.mark.parametrize("given", [False, True], ids=["counted", "given"])
@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_states_change_in_place(target: str, name: str, given: bool, tmp_path: Path):
    rng = np.random.default_rng(len(name))
    inputs = [rng.standard_normal((6, 5)).astype(np.float32) for _ in range(2)]
    inputs += [np.array(4, np.int32)] if given else []
    source = program(name, given, tmp_path)
    expected = lamina.interpret(source, inputs)
    if target == "cpu":
        model = CpuTarget().compile(source, Options(cache=False))
    else:
        model = CudaTarget("sm_80").compile(source, Options(cache=False, emulate=True))
    for _ in range(2):  # nothing is left of the first call
        for found, right in zip(model.run(inputs), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=2e-4, atol=1e-5)
