"""The static checker takes correct programs, and none in which a semaphore is missing."""

from collections.abc import Iterator

import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.dialects.systolic.checker import check_program
from lamina.dialects.systolic.encoding import Instruction, configure, instruction
from lamina.dialects.systolic.fields import NONE
from lamina.tools.systolic.random_programs import DRAM_BYTES, random_program

TINY = SystolicMachine.preset("tiny4")


def without_one(program: list[Instruction]) -> Iterator[list[Instruction]]:
    """The program without one of the waits or signals, for each of them."""
    for at, i in enumerate(program):
        for verb in ("wait", "signal") if i.spec.has_semaphores else ():
            told = [v for n in "01" if (v := getattr(i, verb + n)) != NONE]
            for gone in told:
                left = [*(v for v in told if v != gone), NONE, NONE]
                yield [*program[:at], i.changed(**{f"{verb}0": left[0], f"{verb}1": left[1]}), *program[at + 1 :]]


def detected(seeds: range) -> None:
    changed = 0
    for seed in seeds:
        program = random_program(TINY, seed).instructions
        check_program(program, TINY, DRAM_BYTES)
        if seed % 3 == 2:
            continue  # rings may have slots to spare, so that some of their semaphores are not needed
        for other in without_one(program):
            changed += 1
            with pytest.raises(LaminaError, match=r"race|hangs"):
                check_program(other, TINY, DRAM_BYTES)
    assert changed > 5 * len(seeds)


def test_a_missing_semaphore_is_found() -> None:
    detected(range(9))


@pytest.mark.slow
def test_missing_semaphores_are_found() -> None:
    detected(range(9, 150))


def test_races_are_told_with_both_instructions() -> None:
    program = [
        configure(1, "stride", s0=4, d1=0),
        instruction("ld", to="spm", dst=0, src=0, n0=4, len=4, stride=1),
        instruction("st", source="spm", src=3, to="dram", dst=64, n0=1, len=4, stride=1),
        instruction("halt"),
    ]
    with pytest.raises(LaminaError, match=r"race: instruction 2 reads spm 0x3, which instruction 1 touches") as error:
        check_program(program, TINY, 128)
    assert "instruction 1: systolic.ld" in str(error.value)


def test_dram_is_watched_by_the_byte() -> None:
    def program(src: int) -> list[Instruction]:
        return [
            configure(1, "stride", s0=4, d1=0),
            instruction("st", source="spm", src=0, to="dram", dst=64, n0=2, len=3, stride=1),
            instruction("ld", to="spm", dst=8, src=src, n0=1, len=1, stride=1),
            instruction("halt"),
        ]

    check_program(program(67), TINY, 128)  # between the rows
    with pytest.raises(LaminaError, match="race: instruction 2 reads dram 0x44"):
        check_program(program(68), TINY, 128)


def test_bar_and_weights_order() -> None:
    program = [
        configure(1, "stride", s0=4, d1=0),
        instruction("ld", to="spm", dst=0, src=0, n0=4, len=4, stride=1),
        instruction("bar"),
        instruction("wl", src=0, rows=4),
        instruction("mm", a=8, acc=0, n0=4, swap=1),
        instruction("halt"),
    ]
    check_program(program, TINY, 64)
    with pytest.raises(LaminaError, match="race: instruction 2 reads spm"):
        check_program([i for i in program if i.spec.name != "bar"], TINY, 64)
