import ctypes

import numpy as np
import pytest

from lamina.backends.cpu.emit import object_code, optimise
from lamina.backends.cpu.jit import link
from lamina.compiler.machine import Machine
from lamina.passes.convert.dot_to_llvm import INSTRUCTIONS
from lamina.tools.bench.peak import LINE, STREAMS, Peaks, copy_ir, dot_ir, read_ir, widest


@pytest.mark.parametrize("streams", STREAMS)
def test_reading_reads_every_word_once(streams):
    machine = Machine.host()
    library = link([object_code(optimise(read_ir(machine, streams), machine), machine)], [f"lamina_read_{streams}"])
    data = np.random.default_rng(0).integers(0, 1000, 16 * LINE, dtype=np.int32)
    sums = np.zeros(LINE * streams // 4, np.int32)
    read = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(library[f"lamina_read_{streams}"])
    read(data.ctypes.data, data.nbytes // streams, sums.ctypes.data)
    assert sums.sum() == data.sum()


def test_copying_copies_every_word():
    machine = Machine.host()
    library = link([object_code(optimise(copy_ir(machine), machine), machine)], ["lamina_copy"])
    room = np.zeros(8 * LINE + 64, np.uint8)
    start = -room.ctypes.data % 64
    room[start : start + 4 * LINE] = np.random.default_rng(0).integers(0, 256, 4 * LINE, dtype=np.uint8)
    copy = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(library["lamina_copy"])
    copy(room.ctypes.data + start + 4 * LINE, room.ctypes.data + start, 4 * LINE)
    assert (room[start + 4 * LINE : start + 8 * LINE] == room[start : start + 4 * LINE]).all()


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda i: i.name)
def test_each_dot_instruction_compiles(instruction):
    features = "".join(f",{feature}" for group in instruction.features[:1] for feature in group)
    machine = Machine.for_triple(f"{instruction.architecture}-unknown-linux-gnu{features}")
    assert object_code(optimise(dot_ir(machine, instruction), machine), machine)


def test_the_instruction_that_does_most():
    machine = Machine.for_triple("x86_64-unknown-linux-gnu,avx2,avx512f,avx512bw,avx512vnni")
    chosen = widest(machine, ("i8", "i16"))
    assert chosen is not None and chosen.name == "llvm.x86.avx512.vpdpbusd.512"
    assert widest(machine, ("bf16",)) is None


@pytest.mark.parametrize("bound", ["fma", "int8", "bf16", "copy", "read"])
def test_every_ceiling_is_measured(bound):
    assert Peaks(1).measure(bound, 1 << 20) > 0
