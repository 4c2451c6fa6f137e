"""Architectures as ONNX files with their inputs beside. Needs the extra `torch`."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ..pytorch.tensors import array_of, torch_module
from .sizes import SIZES
from .table import ARCHITECTURES

OPSET = 20


def exported(module: Any, inputs: Sequence[Any]) -> Any:
    """The module as PyTorch's exporter (the one on `torch.export`) writes it: the `onnx.ModelProto`.

    Raises LaminaError where that fails.
    """
    import onnx

    torch = torch_module()

    if hasattr(module.inner, "set_attn_implementation"):
        module.inner.set_attn_implementation("eager")  # the exporter refuses attention with a bias otherwise
    buffer = io.BytesIO()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), torch.no_grad():
            program = torch.onnx.export(module, tuple(inputs), dynamo=True, opset_version=OPSET, verbose=False)
            program.save(buffer)
    except torch.onnx.OnnxExporterError as error:
        raise LaminaError(f"PyTorch cannot export it: {str(error).splitlines()[0]}") from error
    return onnx.load_from_string(buffer.getvalue())


def write(name: str, size: str, folder: Path) -> Path:
    """The ONNX file of an architecture, written into `folder` unless it is there, with `.npz` inputs beside it."""
    return write_as(f"{name.lower().replace(' ', '-')}-{size}", lambda: ARCHITECTURES[name].build(SIZES[size]), folder)


def write_as(
    stem: str,
    build: Callable[[], tuple[Any, dict[str, Any]]],
    folder: Path,
    export: Callable[[Any, Sequence[Any]], Any] = exported,
) -> Path:
    """The same of a module and its inputs by name, as files of that name."""
    path = folder / f"{stem}.onnx"
    if path.is_file():
        return path
    module, inputs = build()
    model = export(module, list(inputs.values()))
    arrays: dict[str, Any] = {
        f"in.{s.name}": array_of(x) for s, x in zip(model.graph.input, inputs.values(), strict=True)
    }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{stem}.npz", **arrays)
    path.write_bytes(model.SerializeToString())  # last: what is there is whole
    return path
