"""Arrays from files: `param w: f32[K, N] from "w.npy"`, `param w from "m.safetensors" key "layer.weight"`.

Files are mapped, never copied, and lie below the folder of the `.lam` file that names them.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.confined import file_below
from ....compiler.diagnostics import LaminaError
from ....compiler.weights import Array, mapped_arrays
from ..language import tree
from .builtins.failure import Failure
from .types import TensorType, dtype_name, is_dtype, is_unknown, numpy_dtype
from .values import Value

if TYPE_CHECKING:
    from .elaborator import Elaborator
    from .scope import Scope


def param(e: Elaborator, node: tree.Param, scope: Scope, folder: Path | None) -> Value:
    """The value of a param, in instance mode a constant; a name in its type that nothing defines is bound by the file.

    The type of the array must be the declared one; `folder` is that of the program, None where it is only a text.
    """
    try:
        declared = node.type
        if declared is not None and not isinstance(declared, tree.TensorType):
            raise Failure("E724", "a param is a tensor, not a tuple", declared)
        dtype = declared.dtype.text if declared is not None and is_dtype(declared.dtype.text) else None
        array = param_array(node, folder, None if dtype is None else numpy_dtype(dtype))
        kind = TensorType(_name_of(array, node), array.shape)
        if declared is not None:
            _bind_names(declared, array, scope)
            wanted = e.type(declared, scope)
            if wanted != kind and not is_unknown(wanted):
                raise Failure("E724", f"'{node.path.value}' holds {kind}, declared is {wanted}", declared)
    except Failure as failure:
        return e.error(failure.code, failure.message, failure.where, hint=failure.hint)
    return e.emit(lambda: e.constant(array, node.name.text), kind, node)


def _name_of(array: Array, node: tree.Param) -> str:
    try:
        return dtype_name(array.dtype)
    except KeyError:
        hint = "say which in the type of the param" if array.dtype.type is np.void else ""
        message = f"'{node.path.value}' holds {array.dtype}, which the language has no name for"
        raise Failure("E724", message, node.path, hint) from None


def _bind_names(declared: tree.TensorType, array: Array, scope: Scope) -> None:
    """Dimensions that are names of nothing yet become those of the array: `param w: f32[K, N] from …`."""
    if len(declared.dims) != array.ndim:
        return
    for dim, size in zip(declared.dims, array.shape, strict=True):
        if isinstance(dim, tree.Name) and scope.find(dim.text) is None:
            where = tree.Identifier(span=dim.span, text=dim.text)
            scope.define(where, Value(TensorType("i64"), const=size, weak=True, node=dim), "dim", used=True)


def param_array(param: tree.Param, base: Path | None, dtype: np.dtype[np.generic] | None) -> Array:
    """The array that a param names; `base` is the folder of its file, `dtype` the one that the annotation says.

    A dtype that `.npy` has no name for (bfloat16, float8) is stored as bytes of its size: the annotation tells it.
    Raises Failure where there is no such array.
    """
    path = named_file(param.path, base)
    match path.suffix:
        case ".npy":
            if param.key is not None:
                raise Failure("E722", "a .npy file holds one array, it has no keys", param.key, "leave the key out")
            array = _npy(path, param.path)
        case ".safetensors":
            array = _safetensors(path, param)
        case suffix:
            raise Failure(
                "E721", f"params come from .npy or .safetensors files, not '{suffix or path.name}'", param.path
            )
    if array.dtype.type is np.void and dtype is not None and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def named_file(path: tree.String, base: Path | None) -> Path:
    """The file that a program names, below its folder. Raises Failure where there is none."""
    try:
        return file_below(path.value, base, f"'{path.value}'", "program", path.span.file)
    except LaminaError as error:
        raise Failure("E720", error.message, path, error.hint or "") from error


def _npy(path: Path, where: tree.Node) -> Array:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else str(error)
        raise Failure("E723", f"'{path.name}' is no array file: {reason}", where) from error
    if not isinstance(array, np.ndarray):
        raise Failure("E723", f"'{path.name}' is no array file", where)
    return array


def _safetensors(path: Path, param: tree.Param) -> Array:
    try:
        stat = path.stat()
        arrays = _mapped(path, stat.st_mtime_ns, stat.st_size)
    except (LaminaError, OSError) as error:
        reason = error.message if isinstance(error, LaminaError) else str(error)
        raise Failure("E723", f"'{path.name}': {reason}", param.path) from error
    if param.key is None:
        if len(arrays) == 1:
            return next(iter(arrays.values()))
        some = ", ".join(f'"{key}"' for key in list(arrays)[:5])
        raise Failure("E722", f"'{path.name}' holds {len(arrays)} arrays", param.path, f"say which: key {some} …")
    found = arrays.get(param.key.value)
    if found is None:
        close = get_close_matches(param.key.value, arrays, 1)
        hint = f'did you mean "{close[0]}"?' if close else f"it has {len(arrays)} arrays"
        raise Failure("E722", f"'{path.name}' has no array \"{param.key.value}\"", param.key, hint)
    return found


@lru_cache(maxsize=16)
def _mapped(path: Path, changed: int, size: int) -> dict[str, Array]:
    return mapped_arrays(path)
