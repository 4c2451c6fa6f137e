"""The generated hardware does what the models say, cycle by cycle and bit by bit."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lamina.backends.systolic.rtl.generate import generate
from lamina.backends.systolic.verilator import QUICK, Run, missing, run_all
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.dialects.systolic.encoding import Instruction, configure, encode_all, instruction
from lamina.tools.systolic.check_hardware import compare
from lamina.tools.systolic.command import FUZZED
from lamina.tools.systolic.gates import count_gates

TINY = SystolicMachine.preset("tiny4")
NARROW = replace(TINY, name="2x3", rows=2, cols=3, spm_bytes=3072, acc_bytes=1536, read_bytes=2, write_bytes=8)
needs_verilator = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@needs_verilator
@pytest.mark.parametrize("machine", [*map(SystolicMachine.preset, FUZZED), NARROW], ids=lambda machine: machine.name)
def test_random_programs_agree(machine: SystolicMachine) -> None:
    verdict = compare(machine, range(100))
    assert not verdict.faults and verdict.instructions > 3000


@needs_verilator
@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZED)
def test_a_thousand_random_programs_agree(name: str) -> None:
    assert not compare(SystolicMachine.preset(name), range(1000)).faults


def trapped(*program: Instruction) -> Run:
    return run_all(TINY, [([*program, instruction("halt")], np.zeros(64, np.uint8), 1000)], QUICK)[0]


@needs_verilator
def test_hardware_traps() -> None:
    stride = configure(1, "stride", s0=4, d1=0)
    load = instruction("ld", to="spm", dst=0x3FE, src=0, n0=4, len=4, stride=1)
    outside = instruction("ld", to="spm", dst=0, src=52, n0=4, len=4, stride=1)
    long = instruction("ld", to="spm", dst=0, src=0, n0=1, len=5, stride=1)
    window = instruction("ve", kind="lut", dst=0, a=0, n0=1, gen=9, out=9)
    signals = [instruction("loop", count=256), instruction("sync", unit="mm", signal0=3), instruction("end")]
    assert [
        trapped(stride, load).trap,
        trapped(stride, outside).trap,
        trapped(long).trap,
        trapped(window).trap,
        trapped(*signals).trap,
        trapped(instruction("end")).trap,
        trapped(instruction("sync", unit="mm", wait0=3)).trap,
    ] == [5, 15, 2, 4, 6, 3, 14]
    asked = trapped(instruction("trap", code=7))
    with pytest.raises(LaminaError, match="trap: the program asks for trap 7"):
        asked.check()
    illegal = [bytes(16), b"\x0b" + bytes(14) + b"\x80", encode_all([instruction("bar")])]
    runs = run_all(TINY, [(text, np.zeros(4, np.uint8), 1000) for text in illegal], QUICK)
    assert [run.trap for run in runs] == [1, 1, 1]  # the last one runs over its end


@pytest.mark.skipif(shutil.which("verilator") is None, reason="Verilator is not installed")
@pytest.mark.parametrize("name", ["tiny4", "16x8", "vta16"])
def test_the_hardware_is_free_of_warnings(name: str, tmp_path: Path) -> None:
    (tmp_path / "systolic.sv").write_text(generate(SystolicMachine.preset(name)))
    line = ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", "systolic", "systolic.sv"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("yosys") is None, reason="Yosys is not installed")
def test_semaphores_are_counters_of_8_bits() -> None:
    found = count_gates(TINY, "systolic_semaphores")
    assert found["flip-flops"] == 16 * 8 and found["gates"] > 16 * 8 and found["memories"] == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("yosys") is None, reason="Yosys is not installed")
def test_the_smallest_is_synthesised() -> None:
    found = count_gates(TINY)
    assert found["gates"] > 0 and found["flip-flops"] > 16 * 8 and found["memories"] > 0
    assert all(name[0] in "$" for name in found if name not in ("gates", "flip-flops", "memories"))
