"""Calls of LAPACK that JAX writes for processors, by name: `lapack_spotrf_ffi` is the Cholesky factor of f32 matrices.

Options are letters in `mhlo.backend_config`, as LAPACK has them: `uplo = 76 : ui8` is 'L', lower.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType, DictionaryAttr, IntegerAttr, TensorType, f32, f64
from xdsl.utils.hints import isa

from ...compiler.diagnostics import LaminaError
from .ops_call import CustomCallOp

_ELEMENTS = {"s": f32, "d": f64, "c": ComplexType(f32), "z": ComplexType(f64)}
_RANKS = {
    "trsm": ((2, 2), 1),
    "potrf": ((2,), 2),
    "getrf": ((2,), 3),
    "geqrf": ((2,), 2),
    "orgqr": ((2, 1), 1),
    "ungqr": ((2, 1), 1),
    "syevd": ((2,), 3),
    "heevd": ((2,), 3),
    "gesdd": ((2,), 5),
}
"""Of each routine, the dimensions of each operand behind those of the batch, and the number of results."""

_ONLY_REAL, _ONLY_COMPLEX = {"orgqr", "syevd"}, {"ungqr", "heevd"}
_SQUARE = {"trsm", "potrf", "syevd", "heevd"}


def routine_of(op: CustomCallOp) -> str | None:
    """The routine that `op` calls, without the letter of its elements (`potrf`); None if it is no such call.

    Raises LaminaError for operands that the routine does not take, and for results other than tensors.
    """
    target = op.call_target_name.data
    letter, name = target.removeprefix("lapack_")[:1], target.removeprefix("lapack_")[1:].removesuffix("_ffi")
    wrong_kind = name in (_ONLY_COMPLEX if letter in "sd" else _ONLY_REAL)
    if target != f"lapack_{letter}{name}_ffi" or letter not in _ELEMENTS or name not in _RANKS or wrong_kind:
        return None
    kind, (ranks, count) = _ELEMENTS[letter], _RANKS[name]
    sizes = [x.type.get_shape() for x in op.inputs if isa(x.type, TensorType) and x.type.element_type == kind]
    fits = all(len(size) >= rank for size, rank in zip(sizes, ranks, strict=False))
    batches = [size[: len(size) - rank] for size, rank in zip(sizes, ranks, strict=False)]
    if not fits or not len(sizes) == len(op.inputs) == len(ranks) or len(set(batches)) > 1:
        each = " and ".join("matrices" if rank == 2 else "vectors" for rank in ranks)
        raise LaminaError(f"@{target} takes {each} of {kind}, as many of each", where=op)
    if len(op.results) != count or not all(isa(x, TensorType) for x in op.result_types):
        raise LaminaError(f"@{target} gives {count} tensor{'s' if count > 1 else ''}", where=op)
    _verify_sizes(op, name, sizes)
    return name


def _verify_sizes(op: CustomCallOp, name: str, sizes: Sequence[Sequence[int]]) -> None:
    rows, columns = sizes[0][-2:]
    if name in _SQUARE and rows != columns:
        raise LaminaError(f"the matrix must be square, not {rows}x{columns}", where=op)
    if name == "trsm":
        axis = -2 if option(op, "side", "LR") == "L" else -1
        if sizes[1][axis] != columns:
            raise LaminaError(f"a system of {columns} equations has right sides of {sizes[1][axis]}", where=op)
    if name in ("orgqr", "ungqr") and not sizes[1][-1] <= columns <= rows:
        raise LaminaError(f"{sizes[1][-1]} reflectors do not make {columns} orthogonal columns", where=op)


def option(op: CustomCallOp, name: str, letters: str) -> str:
    """The letter that LAPACK is given for one of its options. Raises LaminaError if it is none of `letters`."""
    config = op.attributes.get("mhlo.backend_config")
    value = config.data.get(name) if isinstance(config, DictionaryAttr) else None
    if not isinstance(value, IntegerAttr):
        raise LaminaError(f"the call has no option '{name}'", where=op)
    if value.value.data not in [ord(letter) for letter in letters]:
        known = ", ".join(f"{ord(letter)} ({letter})" for letter in letters)
        raise LaminaError(f"option '{name}' is {value.value.data}; known are {known}", where=op)
    return chr(value.value.data)
