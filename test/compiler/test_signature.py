import numpy as np
import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.signature import Signature, TensorSpec

SIGNATURE = Signature(
    (TensorSpec("x", ("batch", 3), "float32"), TensorSpec("n", ("batch",), "int64")),
    (TensorSpec("y", ("batch",), "float32"),),
)
X, N = np.zeros((2, 3), np.float32), np.zeros(2, np.int64)


def test_binds_by_position_and_by_name():
    assert SIGNATURE.bind((X,), {"n": N})[1] is N
    assert SIGNATURE.bindings([X, N]) == {"batch": 2}


def test_survives_json():
    assert Signature.from_json(SIGNATURE.to_json()) == SIGNATURE


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        ((X, N, N), {}, "3 positional inputs given, 2 expected"),
        ((X,), {}, "missing input 'n'"),
        ((X, N), {"n": N}, "input 'n' is given twice"),
        ((X,), {"m": N}, "unknown input 'm'"),
        ((X.astype(np.float64), N), {}, "input 'x' has dtype float64, expected float32"),
        ((X[0], N), {}, r"input 'x' has shape \[3\], expected \['batch', 3\]"),
    ],
)
def test_says_what_is_wrong(positional, named, message):
    with pytest.raises(LaminaError, match=message):
        SIGNATURE.bind(positional, named)


def test_one_symbol_has_one_value():
    with pytest.raises(LaminaError, match="dimension 'batch' is 2 in input 'x' but 3 in input 'n'"):
        SIGNATURE.bindings([X, np.zeros(3, np.int64)])


def test_describes_just_the_arrays_that_need_no_check():
    signature = Signature((TensorSpec("x", (2, 3), "float32"), TensorSpec("n", ("b",), "int64")), ())
    fixed = Signature((TensorSpec("x", (2, 3), "float32"),), ())
    x = np.zeros((2, 3), np.float32)
    assert fixed.describes([x]) and fixed.describes([np.asfortranarray(x)])
    assert not any(fixed.describes([other]) for other in (x.T, x.astype(">f4"), x.tolist(), np.ma.array(x), x[0]))
    assert not fixed.describes([]) and not fixed.describes([x, x])
    assert not signature.describes([x, np.zeros(4, np.int64)]), "symbolic dimensions have values to find"


def test_sizes_that_data_decide():
    """The second output tells how many rows of the first count."""
    rows, size = TensorSpec("y", (4, 2), "float32"), TensorSpec("size", (), "int64")
    signature = Signature((), (rows, size), ((0, 0, 1),))
    assert Signature.from_json(signature.to_json()) == signature
    assert str(signature.told) == "() -> (y: float32[size1, 2])"
    [y] = signature.trimmed([np.ones((4, 2), np.float32), np.array(3)])
    assert y.shape == (3, 2)
