"""A warp-specialised kernel, and bugs planted into it: each must be found, and none where there is none."""

import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from lamina.backends.cuda.emulator.layouts import TensorMap
from lamina.backends.cuda.emulator.machine import launch
from lamina.backends.cuda.emulator.memory import GlobalMemory
from lamina.backends.cuda.emulator.ptx import parse
from lamina.compiler.diagnostics import LaminaError

SOURCE = Path(__file__).with_name("pipelined.ptx")
SEEDS = range(5)

WAIT_EMPTY = "\t@!%p2 bra WAIT_EMPTY;\n"
WAIT_FULL = "\t@!%p2 bra WAIT_FULL;\n"
WAIT_GROUP = "\twgmma.wait_group.sync.aligned 0;\n"
RELEASE = "RELEASED:\n"

BUGS = {
    "the producer does not wait for an empty stage": (WAIT_EMPTY, ""),
    "the consumer does not wait for a full stage": (WAIT_FULL, ""),
    "too few bytes expected": ("[%r8], 9216;", "[%r8], 9088;"),
    "too many bytes expected": ("[%r8], 9216;", "[%r8], 9344;"),
    "the empty barrier counts two": ("[%r1+16], 1;", "[%r1+16], 2;"),
    "a barrier that nobody initialised": ("[%r1+24], 1;", "[%r1], 1;"),
    "rows eight apart at the wrong distance": ("0x4000004000010000", "0x4000002000010000"),
    "no swizzle": ("0x4000004000010000", "0x0000004000010000"),
    "half the step along the depth": ("add.u64 %rd5, %rd3, 2;", "add.u64 %rd5, %rd3, 1;"),
    "the right operand read at the wrong place": ("add.u64 %rd4, %rd3, 512;", "add.u64 %rd4, %rd3, 448;"),
    "the wrong parity": ("\txor.b32 %r6, %r6, 1;\n", ""),
    "a stage that overlaps the other": ("9216, %r2;\n\tshl", "8192, %r2;\n\tshl"),
    "a store beyond the result": ("[%rd12+256]", "[%rd12+1280]"),
    "a misaligned store": ("[%rd12+256]", "[%rd12+252]"),
    "a row stored at another's place": ("[%rd12+256]", "[%rd12+224]"),
}


def late_release(text: str) -> str:
    """The stage is given back before the products that read it are waited for."""
    return text.replace(WAIT_GROUP, "").replace(RELEASE, RELEASE + WAIT_GROUP)


def error(text: str, late: bool, seed: int, steps: int = 6) -> float:
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal((rows, 64 * steps)).astype(ml_dtypes.bfloat16) for rows in (64, 8))
    memory = GlobalMemory(1 << 20)
    maps = [
        TensorMap(memory.upload(x, name), x.shape[::-1], (x.shape[1] * 2,), (64, x.shape[0]), 2, 128).encode()
        for x, name in ((a, "a"), (b, "b"))
    ]
    out = memory.allocate(64 * 8 * 4, "out")
    counters = launch(
        parse(text).kernel(),
        [*maps, out, steps],
        grid=(1, 1, 1),
        block=(256, 1, 1),
        memory=memory,
        shared_bytes=2 * 9216,
        late=late,
        seed=seed,
    )
    assert counters.global_read_bytes == a.nbytes + b.nbytes and counters.global_written_bytes == 64 * 8 * 4
    assert counters.full_sectors
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return float(np.abs(memory.download(out, (64, 8), np.float32) - expected).max())


def found(text: str, late: bool, seed: int) -> bool:
    try:
        return not error(text, late, seed) < 1e-4
    except LaminaError:
        return True


def test_without_bugs() -> None:
    text = SOURCE.read_text()
    assert error(text, late=False, seed=0) < 1e-4
    for seed in SEEDS:
        assert error(text, late=True, seed=seed) < 1e-4


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug: str) -> None:
    before, after = BUGS[bug]
    text = SOURCE.read_text()
    assert before in text
    assert any(found(text.replace(before, after), late=True, seed=seed) for seed in SEEDS)


def test_a_stage_given_back_too_early_is_found_late_only() -> None:
    text = late_release(SOURCE.read_text())
    assert not found(text, late=False, seed=0)
    assert any(found(text, late=True, seed=seed) for seed in SEEDS)


@pytest.mark.parametrize(
    ("bug", "message"),
    [
        ("too many bytes expected", r"deadlock in block \(0, 0, 0\): threads wait in 'mbarrier.try_wait"),
        ("a barrier that nobody initialised", "no mbarrier was initialised at 24 of shared memory"),
        (
            "a store beyond the result",
            r"line 117: 'st.global.v2.f32 .* error: writes 8 bytes at 2304 of 'out', which has",
        ),
        ("a misaligned store", "misaligned"),
    ],
)
def test_messages(bug: str, message: str) -> None:
    with pytest.raises(LaminaError, match=message):
        error(SOURCE.read_text().replace(*BUGS[bug]), late=False, seed=0)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas")
def test_the_assembler_takes_it(tmp_path: Path) -> None:
    command = ["ptxas", "-arch=sm_90a", str(SOURCE), "-o", str(tmp_path / "product.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
