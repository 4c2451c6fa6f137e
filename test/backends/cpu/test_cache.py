"""The on-disk cache under everything that may go wrong."""

import errno
import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import lamina
from lamina.backends import kernel_cache
from lamina.backends.cpu import build, model_cache
from lamina.backends.kernel_cache import CacheWarning, KernelCache

KEY = "ab" * 32


def test_what_is_put_is_got(tmp_path: Path):
    KernelCache(tmp_path).put(KEY, b"code")
    assert KernelCache(tmp_path).get(KEY) == b"code"
    assert KernelCache(tmp_path).get("cd" * 32) is None


def test_a_damaged_entry_is_a_miss(tmp_path: Path):
    cache = KernelCache(tmp_path)
    cache.put(KEY, b"code" * 100)
    (entry,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    entry.write_bytes(entry.read_bytes()[:-7])
    assert cache.get(KEY) is None
    assert not entry.exists()


def test_no_permission_warns_and_goes_on(tmp_path: Path):
    (tmp_path / "kernels").write_text("a file where the folder should be")
    cache = KernelCache(tmp_path)
    with pytest.warns(CacheWarning, match="cache is off"):
        cache.put(KEY, b"code")
    cache.put(KEY, b"code")  # silent from here on
    assert not cache.usable


def test_full_disk_warns_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kernel_cache.os, "replace", full)
    with pytest.warns(CacheWarning, match="No space left"):
        KernelCache(tmp_path).put(KEY, b"code")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_oldest_entries_go_first(tmp_path: Path):
    cache = KernelCache(tmp_path, limit_bytes=2500)
    keys = [f"{i:02x}" * 32 for i in range(4)]
    for age, key in enumerate(keys):
        cache.put(key, bytes(1000))
        os.utime(cache._path(key), (1000 + age, 1000 + age))  # pyright: ignore[reportPrivateUsage]
    cache.trim()
    assert [cache.get(key) is not None for key in keys] == [False, False, True, True]


@pytest.mark.parametrize("drawn, left", [(0.0, 2), (0.99, 4)])
def test_a_build_that_writes_little_seldom_looks_at_all_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: float, left: int
):
    for name in "abcd":
        KernelCache(tmp_path).put(name * 64, bytes(1 << 20))
    monkeypatch.setattr("random.random", lambda: drawn)
    cache = KernelCache(tmp_path, limit_bytes=5 << 19)
    cache.put("e" * 64, bytes(1 << 16))
    cache.trim()
    assert sum(cache.get(name * 64) is not None for name in "abcd") == left


def test_a_model_whose_constants_do_not_fit_on_the_disk_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    monkeypatch.setattr(model_cache, "write_constants", full)
    monkeypatch.setattr(model_cache, "WORTH_A_PROCESS", 1)
    w = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    value = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT, shape=(8, 8))
    graph = helper.make_graph([node], "g", [value("x")], [value("y")], [numpy_helper.from_array(w, "w")])
    with pytest.warns(CacheWarning, match="not cached: .*No space left"):
        model = lamina.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    x = w[::-1].copy()
    np.testing.assert_allclose(model(x)[0], x @ w, rtol=1e-5, atol=1e-5)


def small_model() -> ModelProto:
    value = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT, shape=[3])
    node = helper.make_node("Relu", ["x"], ["y"])
    return helper.make_model(helper.make_graph([node], "g", [value("x")], [value("y")]))


def test_a_file_that_another_process_was_writing_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is listed, and gone when it is looked at: as a link to nothing is."""
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    monkeypatch.setattr("random.random", lambda: 0.0)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / ".model.lamx.1").symlink_to(tmp_path / "nothing")
    with warnings.catch_warnings():
        warnings.simplefilter("error", CacheWarning)
        model = lamina.compile(small_model())
    np.testing.assert_array_equal(model(np.array([-1, 0, 2], np.float32))[0], [0, 0, 2])


@pytest.mark.parametrize("drawn, left", [(0.0, False), (0.99, True)])
def test_a_model_of_few_bytes_seldom_looks_at_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: float, left: bool
):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    monkeypatch.setattr("random.random", lambda: drawn)
    old = tmp_path / "models" / "old.lamx"
    old.parent.mkdir()
    old.touch()
    os.truncate(old, model_cache.LIMIT_BYTES)  # of nothing: the disk keeps no zeros
    os.utime(old, (1000, 1000))
    lamina.compile(small_model())
    assert old.exists() is left


def test_models_share_the_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    monkeypatch.setenv("LAMINA_JOBS", "1")  # in this process

    def compiled(op: str) -> object:
        path = tmp_path / f"{op}.mlir"
        text = f"%0 = stablehlo.{op} %x : tensor<4xf32> return %0 : tensor<4xf32>"
        path.write_text(f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{ {text} }}")
        return lamina.compile(str(path))(np.ones(4, np.float32))

    compiled("negate")
    monkeypatch.setattr(build, "runtime_object", lambda _: pytest.fail("the runtime was compiled again"))
    assert np.array_equal(compiled("abs"), [np.ones(4, np.float32)])
