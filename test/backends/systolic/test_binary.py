"""The file of a program, and what is said when it is not good."""

import numpy as np
import pytest

from lamina.backends.systolic.binary import Binary, Buffer, Constant
from lamina.backends.systolic.engine import run
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.dialects.systolic.encoding import Instruction, configure, instruction

TINY = SystolicMachine.preset("tiny4")


def product() -> Binary:
    """Twelve rows times a tile of weights, with bias and scale."""
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 128, (4, 4), dtype=np.int8)
    table = np.zeros((4, 2), np.uint32)
    table[:, 0] = np.array([3, -5, 700, 0], np.int32).view(np.uint32)
    table[:, 1] = np.float32([0.01, 0.02, 0.003, 0.5]).view(np.uint32)
    program = [
        configure(1, "stride", s0=4, d1=0),
        configure(2, "stride", s0=32, d1=0),
        configure(3, "post", zero=5),
        instruction("ld", to="spm", dst=0, src=0, n0=12, len=4, stride=1, signal0=0),
        instruction("ld", to="spm", dst=32, src=64, n0=4, len=4, stride=1, signal0=1),
        instruction("ld", to="tab", dst=0, src=80, n0=1, len=4, stride=2, signal0=2),
        instruction("wl", src=32, rows=4, wait0=1),
        instruction("mm", a=0, acc=0, n0=12, swap=1, wait0=0, signal0=3),
        instruction("st", source="acc", src=0, to="dram", dst=128, n0=12, len=4, stride=1, post=3, wait0=2, wait1=3),
        instruction("halt"),
    ]
    buffers = [Buffer("x", 0, 48, "input"), Buffer("y", 128, 48, "output")]
    constants = [Constant("w", 64, weights.tobytes()), Constant("post", 80, table.tobytes())]
    return Binary(TINY, program, 256, buffers, constants)


def test_a_program_runs_as_read_from_its_file() -> None:
    made = product()
    binary = Binary.from_bytes(made.to_bytes(), TINY)
    assert binary == made
    x = np.random.default_rng(1).integers(-128, 128, (12, 4), dtype=np.int8)
    weights = np.frombuffer(binary.constants[0].data, np.int8).reshape(4, 4).astype(np.int32)
    table = np.frombuffer(binary.constants[1].data, np.uint32).reshape(4, 2)
    sums = x.astype(np.int32) @ weights + np.ascontiguousarray(table[:, 0]).view(np.int32)
    scaled = sums.astype(np.float32) * np.ascontiguousarray(table[:, 1]).view(np.float32)
    expected = np.clip(np.rint(scaled) + 5, -128, 127).astype(np.int8)
    y = run(binary, {"x": x}).outputs["y"].view(np.int8).reshape(12, 4)
    np.testing.assert_array_equal(y, expected)


def test_other_machines_and_changed_files_are_refused() -> None:
    data = product().to_bytes()
    with pytest.raises(LaminaError, match=r"is for machine 'tiny4' \(\w+\), not for 'edge8'"):
        Binary.from_bytes(data, SystolicMachine.preset("edge8"))
    for at in (20, len(data) // 2, len(data) - 1):
        changed = bytearray(data)
        changed[at] ^= 4
        with pytest.raises(LaminaError, match="was cut off or changed"):
            Binary.from_bytes(bytes(changed), TINY)
    for short in (b"", data[:7], data[:40], data[:-1]):
        with pytest.raises(LaminaError, match=r"is no program|was cut off"):
            Binary.from_bytes(short, TINY)


def outcome(*program: Instruction) -> None:
    run(Binary(TINY, [*program, instruction("halt")], 64), {})


def test_what_lies_outside_traps() -> None:
    stride = configure(1, "stride", s0=4, d1=0)
    cases = (
        ("address 0x43 is outside of DRAM", {"to": "spm", "dst": 0, "src": 52}),
        ("row 0x401 is outside of 'spm'", {"to": "spm", "dst": 0x3FE, "src": 0}),
        ("row 0x11 is outside of 'tab'", {"to": "tab", "dst": 14, "src": 0, "len": 1}),
    )
    for message, fields in cases:
        load = instruction("ld", **({"n0": 4, "len": 4, "stride": 1} | fields))
        with pytest.raises(LaminaError, match=f"instruction 1: systolic.ld .*trap: {message}"):
            outcome(stride, load)
    with pytest.raises(LaminaError, match="no loaded weights"):
        outcome(instruction("mm", a=0, acc=0, n0=1, swap=1))
    with pytest.raises(LaminaError, match="asks for trap 7"):
        outcome(instruction("trap", code=7))
    with pytest.raises(LaminaError, match="its configuration register was not written"):
        outcome(instruction("ve", kind="lut", dst=0, a=0, n0=1, gen=9, out=9))


def test_data_outside_of_dram_is_refused() -> None:
    with pytest.raises(LaminaError, match="'x' lies at 0x20 to 0x60, outside of DRAM"):
        Binary(TINY, [instruction("halt")], 64, [Buffer("x", 32, 64, "input")]).to_bytes()
    with pytest.raises(LaminaError, match="input 'x' has 3 bytes, expected 4"):
        run(Binary(TINY, [instruction("halt")], 64, [Buffer("x", 0, 4, "input")]), {"x": np.zeros(3, np.int8)})
