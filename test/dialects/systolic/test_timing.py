"""Cycles as the contract says them, where they go, and how they are shown."""

import json

import pytest

from lamina.backends.systolic.timeline import Told, busy_shares, chrome_trace, plot
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.dialects.systolic.encoding import Instruction, configure, instruction
from lamina.dialects.systolic.timing import simulate

TINY = SystolicMachine.preset("tiny4")


def spans(*program: Instruction) -> list[tuple[str, int, int, int]]:
    """Name, pop, last step and completion of each instruction."""
    timing = simulate([*program, instruction("halt")], TINY)
    return [(s.issued.name, s.start, s.end, s.done) for s in timing.spans]


def test_units_start_completes_and_follow_each_other() -> None:
    load = instruction("ld", to="spm", dst=0, src=0, n0=3, len=4, stride=1)
    table = instruction("ld", to="tab", dst=0, src=0, n0=1, len=4, stride=1)
    assert spans(configure(1, "stride", s0=4, d1=0), load, table) == [("ld", 2, 5, 13), ("ld", 5, 13, 21)]
    copy = instruction("st", source="spm", src=0, to="spm", dst=8, n0=3, len=4, stride=1)
    assert spans(copy, copy) == [("st", 1, 4, 8), ("st", 8, 11, 15)]


def test_weights_follow_each_other_without_a_gap() -> None:
    load = instruction("wl", src=0, rows=2)
    multiply = instruction("mm", a=0, acc=0, n0=4, swap=1)
    found = spans(load, multiply, load, multiply, load, multiply)
    assert [s for s in found if s[0] == "mm"] == [("mm", 5, 9, 17), ("mm", 9, 13, 21), ("mm", 13, 17, 25)]
    assert [s[1] for s in found if s[0] == "wl"] == [1, 5, 9]


def test_waiting_is_told_by_its_reason() -> None:
    program = [
        configure(1, "stride", s0=4, d1=0),
        instruction("ld", to="spm", dst=0, src=0, n0=4, len=4, stride=1, signal0=0),
        instruction("wl", src=0, rows=4, wait0=0),
        instruction("mm", a=0, acc=0, n0=4, swap=1, signal0=1),
        instruction("sync", unit="st", mark=1, tag=7, wait0=1),
        instruction("halt"),
    ]
    timing = simulate(program, TINY)
    assert timing.counters["stalls"]["wl"] == {"ld": 15, "end": timing.cycles - 1 - 19}
    assert timing.counters["stalls"]["mm"]["weights"] == 19
    assert timing.marks == ((7, 32),)
    assert timing.utilisation == 4 / timing.cycles
    events = json.loads(chrome_trace([Told("one", timing)]))["traceEvents"]
    shown = [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert ("mm", 19, 4) in shown and ("wait: weights", 0, 19) in shown
    shares = busy_shares(timing, timing.cycles)["mm"]  # one column for each cycle
    assert [round(share) for share in shares] == [int(19 <= cycle < 23) for cycle in range(timing.cycles)]
    assert plot(timing).count("<polygon") == 5 and timing.bars == (timing.cycles - 1,)


def test_bytes_of_dram_are_counted_without_padding() -> None:
    program = [
        configure(1, "stride", s0=4, s1=16, d1=4),
        configure(2, "window", x_lo=4, x_hi=15, y_lo=1, y_hi=9, value=0),
        instruction("ld", to="spm", dst=0, src=0, n0=4, n1=3, len=4, stride=1, window=2),
        instruction("st", source="acc", src=0, to="dram", dst=0, n0=2, len=3, stride=1),
        instruction("halt"),
    ]
    counters = simulate(program, TINY).counters
    assert (counters["dram_bytes_read"], counters["dram_bytes_written"]) == (2 * 11, 2 * 12)


def test_hangs_and_overflows_are_told() -> None:
    with pytest.raises(LaminaError, match="the program hangs"):
        simulate([instruction("sync", unit="mm", wait0=3), instruction("halt")], TINY)
    stuck = [instruction("sync", unit="mm", wait0=3)] + [instruction("sync", unit="mm")] * 9
    with pytest.raises(LaminaError, match="the program hangs"):
        simulate([*stuck, instruction("sync", unit="ld", signal0=3), instruction("halt")], TINY)
    with pytest.raises(LaminaError, match="semaphore 3 is signalled by ld and by mm"):
        both = [instruction("sync", unit=unit, signal0=3) for unit in ("mm", "ld")]
        simulate([*both, instruction("halt")], TINY)
    many = [instruction("loop", count=256), instruction("sync", unit="mm", signal0=3), instruction("end")]
    with pytest.raises(LaminaError, match="trap: semaphore 3 overflows"):
        simulate([*many, instruction("halt")], TINY)
