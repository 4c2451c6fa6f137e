"""Calls that Python makes without any Python of ours on the way: right, safe, and left to others where they must be."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import lamina
from lamina import LaminaError
from lamina.backends.cpu.native_model import NativeModel
from lamina.backends.cpu.outputs import KEPT
from lamina.compiler.signature import Array

ROWS = 300  # of 64 numbers: a result large enough for its memory to be used again
SHAPE = (ROWS, 64)
TYPES = f"(x: f32[{ROWS}, 64], y: f32[64]) -> (f32[{ROWS}, 64], f32[{ROWS}])"
PROGRAM = f"fn main{TYPES} {{ return x + y, sum(x, axis=1) }}"


@pytest.fixture(scope="module")
def compiled() -> lamina.Model:
    return lamina.compile(PROGRAM, threads=1)


@pytest.fixture
def model(compiled: lamina.Model) -> Iterator[lamina.Model]:
    """Called before, so that its direct call is ready, and left as it was found."""
    compiled(*arguments())
    yield compiled
    compiled(*arguments())


def arguments(seed: int = 0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    return random.standard_normal(SHAPE, np.float32), random.standard_normal(64, np.float32)


def expected(x: Array, y: Array) -> tuple[Array, Array]:
    return x + y, x.sum(axis=1)


def check(outputs: list[Array] | None, x: Array, y: Array) -> None:
    assert outputs is not None
    assert [type(array) for array in outputs] == [np.ndarray] * 2
    for got, want in zip(outputs, expected(x, y), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype and got.flags.carray
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def direct(model: lamina.Model) -> Callable[..., list[Array] | None]:
    return model._only.direct_call  # type: ignore[union-attr]


def native(model: lamina.Model) -> NativeModel:
    return model._only._native  # type: ignore[union-attr]


def test_it_makes_the_calls_that_nearly_all_are(model: lamina.Model) -> None:
    for seed in range(3):
        x, y = arguments(seed)
        check(direct(model)(x, y), x, y)


def test_a_model_that_was_never_called_has_no_arena_yet() -> None:
    fresh = lamina.compile(PROGRAM, threads=1)
    x, y = arguments()
    assert direct(fresh)(x, y) is None
    check(fresh(x, y), x, y)
    check(direct(fresh)(x, y), x, y)


class Derived(np.ndarray[Any, np.dtype[Any]]):
    """Not NumPy's own array: what it does on its way in is its own."""


@pytest.mark.parametrize(
    "change",
    [
        lambda x, y: (x,),
        lambda x, y: (x, y, y),
        lambda x, y: (x, None),
        lambda x, y: (x, y.tolist()),
        lambda x, y: (x, 3.0),
        lambda x, y: (x, y.astype(np.float64)),
        lambda x, y: (x, y.astype(">f4")),
        lambda x, y: (x, y.view(np.int32)),
        lambda x, y: (x[:-1], y),
        lambda x, y: (x.ravel(), y),
        lambda x, y: (x[None], y),
        lambda x, y: (x.T.copy().T, y),
        lambda x, y: (x, np.repeat(y, 2)[::2]),
        lambda x, y: (x, y.view(Derived)),
        lambda x, y: (x, np.frombuffer(b"." + y.tobytes(), np.uint8)[1:].view(np.float32)),
    ],
)
def test_all_else_is_left_to_others(model: lamina.Model, change: Callable[[Array, Array], tuple[Any, ...]]) -> None:
    """Whatever they make of it: the same result, where these are the same numbers, or an error."""
    x, y = arguments(5)
    given = change(x, y)
    assert direct(model)(*given) is None
    try:
        outputs = model(*given)
    except LaminaError as error:
        assert "input" in str(error)
    else:
        check(outputs, x, y)


def test_memory_is_used_again_when_nobody_refers_to_it(model: lamina.Model) -> None:
    x, y = arguments()
    places = [model(x, y)[0].ctypes.data for _ in range(4)]
    assert len(set(places)) == 1 and places[0] % 4096 == x.ctypes.data % 4096 // 64 * 64


@pytest.mark.parametrize("hold", [lambda a: a, lambda a: a[5:, ::2].T, memoryview, np.from_dlpack])
def test_what_is_referred_to_is_left_alone(model: lamina.Model, hold: Callable[[Any], Any]) -> None:
    given = [arguments(seed) for seed in range(2 * KEPT + 1)]
    held: list[Any] = []
    for x, y in given:
        (result, _) = model(x, y)
        held.append((hold(result), hold(expected(x, y)[0])))
    for got, want in held:
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_results_outlive_the_model() -> None:
    made = lamina.compile(PROGRAM, threads=1)
    x, y = arguments()
    call, outputs, _ = direct(made), made(x, y), made(x, y)
    del made, _
    gc.collect()
    check(outputs, x, y)
    check(call(x, y), x, y)


def test_nothing_is_counted_twice_or_lost(model: lamina.Model) -> None:
    """References: of arguments, of dtypes, of None, and as many arrays as before."""
    x, y = arguments()
    watched = (x, y, x.dtype)
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    objects = sys.getallocatedblocks()
    for _ in range(1000):
        model(x, y)
        direct(model)(x, None)
    assert [sys.getrefcount(each) for each in watched] == before
    assert sys.getallocatedblocks() < objects + 500


def test_calls_from_several_threads(model: lamina.Model) -> None:
    """One at a time is direct; the others find it busy and take an arena of their own."""
    wrong: list[BaseException] = []

    def work(seed: int) -> None:
        x, y = arguments(seed)
        try:
            for _ in range(300):
                check(model(x, y), x, y)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_while_one_call_is_under_way_another_is_not_direct(model: lamina.Model) -> None:
    plan = native(model).direct._plan  # type: ignore[union-attr]
    x, y = arguments()
    plan.busy = 1
    assert direct(model)(x, y) is None
    check(model(x, y), x, y)
    plan.busy = 0


def test_a_forked_child_makes_it_ready_anew(model: lamina.Model) -> None:
    x, y = arguments()
    child = os.fork()
    if child == 0:  # pytest must not go on in here
        good = direct(model)(x, y) is None
        outputs = model(x, y)
        good = good and np.array_equal(outputs[0], x + y) and direct(model)(x, y) is not None
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("place", "failing", "raised"),
    [(4, "PyErr_NoMemory", MemoryError), (8, "PyErr_NoMemory", MemoryError), (9, "PyLong_AsLong", TypeError)],
    ids=["PyList_New", "PyArray_NewFromDescr", "PyArray_SetBaseObject"],
)
def test_what_fails_in_python_is_raised(model: lamina.Model, place: int, failing: str, raised: Any) -> None:
    """And the next call goes well."""
    plan = native(model).direct._plan  # type: ignore[union-attr]
    x, y = arguments()
    before = plan.functions[place]
    plan.functions[place] = ctypes.cast(getattr(ctypes.pythonapi, failing), ctypes.c_void_p)
    with pytest.raises(raised):
        direct(model)(x, y)
    plan.functions[place] = before
    check(direct(model)(x, y), x, y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "bfloat16"])
def test_dtypes(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    short = dtype.replace("bfloat", "bf").replace("float", "f").replace("uint", "u").replace("int", "i")
    types = f"(x: {short}[3, 5], y: {short}[]) -> ({short}[5, 3], {short}[])"
    model = lamina.compile(f"fn main{types} {{ return transpose(x), y }}")
    x, y = np.arange(15).reshape(3, 5).astype(kind), np.array(1).astype(kind)
    model(x, y)
    outputs = direct(model)(x, y)
    assert outputs is not None and [array.dtype for array in outputs] == [kind, kind]
    np.testing.assert_array_equal(outputs[0], x.T)
    np.testing.assert_array_equal(outputs[1], y)


def test_no_inputs_and_nothing_in_them() -> None:
    model = lamina.compile("fn main() -> f32[2] { return [1.0, 2.0] }")
    model()
    assert [array.tolist() for array in direct(model)() or []] == [[1, 2]]
    empty = lamina.compile("fn main(x: f32[0, 4]) -> (f32[0, 4], f32[4]) { return x + 1.0, sum(x, axis=0) }")
    empty(np.zeros((0, 4), np.float32))
    outputs = direct(empty)(np.zeros((0, 4), np.float32))
    assert outputs is not None and outputs[0].shape == (0, 4) and outputs[1].tolist() == [0] * 4


def test_of_many_shapes_the_last_one_is_called_directly() -> None:
    model = lamina.compile("fn main[N](x: f32[N, 4]) -> (f32[N, 4], f32[4]) { return x * 2.0, sum(x, axis=0) }")
    given = {n: np.random.default_rng(n).standard_normal((n, 4), np.float32) for n in (1, 2, 5)}
    assert model._direct_call is None
    for n in (1, 1, 2, 5, 2, 2, 1, 5):
        x = given[n]
        for _ in range(2):
            outputs = model(x)
            np.testing.assert_array_equal(outputs[0], 2 * x)
            np.testing.assert_allclose(outputs[1], x.sum(axis=0), rtol=1e-5)
        assert model._direct_call is not None
        shapes = [m for m, other in given.items() if model._direct_call(other) is not None]
        assert shapes == [n]


def test_with_values_compiled_in_none_is_direct() -> None:
    """The code knows what the values were; others of the same shape need other code."""
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    x_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    axes_info = helper.make_tensor_value_info("axes", TensorProto.INT64, [1])
    y_info = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x_info, axes_info], [y_info])
    model = lamina.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, 0, 1):
        np.testing.assert_array_equal(model(x, np.array([axis]))[0], x.sum(axis=axis))
        assert model._direct_call is None


def test_what_only_tells_sizes_is_not_returned() -> None:
    graph = helper.make_graph(
        [helper.make_node("NonZero", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [1, "n"])],
    )
    model = lamina.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    for x in ([0, 1, 2], [0, 0, 0], [5, 0, 2]):
        (found,) = model(np.array(x, np.float32))
        assert found.tolist() == [np.flatnonzero(x).tolist()]


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_another_order_of_bytes_is_refused(target: str) -> None:
    model = lamina.compile(PROGRAM, target)
    x, y = arguments()
    with pytest.raises(LaminaError, match="input 'y' has dtype >f4, expected float32"):
        model(x, y.astype(">f4"))
