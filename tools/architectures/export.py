"""Architectures as ONNX files with their inputs beside. Needs the extra `torch`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from ..pytorch.tensors import array_of, torch_module
from .sizes import SIZES
from .table import ARCHITECTURES

OPSET = 20


def exported(module: Any, inputs: Sequence[Any]) -> Any:
    """The module as PyTorch's exporter (the one on `torch.export`) writes it: the `onnx.ModelProto`."""
    import onnx

    module.inner.set_attn_implementation("eager")  # the exporter refuses attention with a bias otherwise
    buffer = io.BytesIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        program = torch_module().onnx.export(module, tuple(inputs), dynamo=True, opset_version=OPSET, verbose=False)
        program.save(buffer)
    return onnx.load_from_string(buffer.getvalue())


def write(name: str, size: str, folder: Path) -> Path:
    """The ONNX file of an architecture, written into `folder` unless it is there, with `.npz` inputs beside it."""
    stem = f"{name.lower().replace(' ', '-')}-{size}"
    path = folder / f"{stem}.onnx"
    if path.is_file():
        return path
    module, inputs = ARCHITECTURES[name].build(SIZES[size])
    model = exported(module, list(inputs.values()))
    arrays: dict[str, Any] = {
        f"in.{s.name}": array_of(x) for s, x in zip(model.graph.input, inputs.values(), strict=True)
    }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{stem}.npz", **arrays)
    path.write_bytes(model.SerializeToString())  # last: what is there is whole
    return path
