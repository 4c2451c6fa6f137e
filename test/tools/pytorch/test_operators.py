"""Every operator against PyTorch itself: the same function, exported and compiled for both targets.

Needs PyTorch (the extra `torch`); `pytest test/tools/pytorch`.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
from lamina.tools.pytorch.tensors import array_of  # noqa: E402

_spec = importlib.util.spec_from_file_location("pytorch_cases", Path(__file__).with_name("cases.py"))
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
CASES = _module.CASES

ROUNDING = {"float64": 1e-12, "float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2}


AT_ONCE = 25  # PyTorch takes most of a second over each program, however small
NAMES = list(CASES)


class Module(torch.nn.Module):
    """Functions, each on inputs of its own, as what `torch.export` takes."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, inputs):
        return {name: self.functions[name](*inputs[name]) for name in self.functions}


def flat(value):
    """Nested tuples and dictionaries as one list."""
    if isinstance(value, dict):
        value = list(value.values())
    return [x for part in value for x in flat(part)] if isinstance(value, tuple | list) else [value]


def close(name, got, right):
    """Raises AssertionError where two arrays differ by more than rounding."""
    assert got.shape == right.shape and got.dtype == right.dtype, name
    if right.dtype.kind == "c":
        bound = ROUNDING[right.real.dtype.name]
        assert np.all(np.abs(got - right) <= bound * np.maximum(np.abs(right), 1)), name
    elif right.dtype.kind in "biu":
        np.testing.assert_array_equal(got, right, name)
    else:
        bound = ROUNDING[right.dtype.name]
        np.testing.assert_allclose(got.astype(np.float64), right.astype(np.float64), bound, bound, err_msg=name)


def agree(names, target):
    """Exports the cases in one program and compares what a target makes of it with PyTorch's own results."""
    functions = {name: CASES[name][0] for name in names}
    inputs = {name: CASES[name][1] for name in names}
    exported = torch.export.export(Module(functions), (inputs,))
    results = {name: flat(functions[name](*inputs[name])) for name in names}
    owners = [name for name in names for _ in results[name]]
    outputs = lamina.compile(exported, target)(*(array_of(x) for x in flat(inputs)))
    assert len(outputs) == len(owners)
    for name, got, right in zip(owners, outputs, flat(results), strict=True):
        close(name, got, array_of(right))


@pytest.mark.parametrize("first", range(0, len(NAMES), AT_ONCE))
def test_reference(first):
    agree(NAMES[first : first + AT_ONCE], "interpret")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(NAMES), AT_ONCE))
def test_cpu(first):
    agree(NAMES[first : first + AT_ONCE], "cpu")
