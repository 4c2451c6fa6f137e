"""The on-disk cache and the compiler's processes under everything that may go wrong."""

import errno
import os
import signal
from pathlib import Path

import pytest

from lamina.backends.cpu import kernel_cache
from lamina.backends.cpu.kernel_cache import CacheWarning, KernelCache
from lamina.backends.cpu.workers import parallel_map
from lamina.compiler.diagnostics import LaminaError

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


def test_work_is_done_in_other_processes():
    parent = os.getpid()
    results = dict(parallel_map(lambda i: f"{i} {os.getpid() != parent}".encode(), 5, 2, list("abcde")))
    assert results == {i: f"{i} True".encode() for i in range(5)}


def test_large_results_arrive_whole():
    results = dict(parallel_map(lambda i: bytes([i]) * 300_000, 4, 2, list("abcd")))
    assert all(results[i] == bytes([i]) * 300_000 for i in range(4))


def test_an_error_keeps_its_words():
    def work(i: int) -> bytes:
        if i == 1:
            raise LaminaError("cannot do it", where="model.onnx", hint="try less")
        return b""

    with pytest.raises(LaminaError, match=r"model.onnx: error: cannot do it \(try less\)"):
        list(parallel_map(work, 3, 2, list("abc")))


def test_a_crash_names_what_was_compiled():
    def work(i: int) -> bytes:
        if i == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        return b"good"

    with pytest.raises(LaminaError, match=r"SIGSEGV.*while compiling @c"):
        list(parallel_map(work, 3, 2, ["@a", "@b", "@c"]))
