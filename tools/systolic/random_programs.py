"""Random programs that use everything: legal, free of races, with values that reach every corner of the arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.control import Registers
from ...dialects.systolic.encoding import Instruction, configure, instruction
from ...dialects.systolic.instructions import UNITS
from ...dialects.systolic.limits import check_limits
from ...dialects.systolic.places import places
from ...dialects.systolic.timetable import steps
from .synchronise import synchronise

DRAM_BYTES = 1 << 14
TABLES = 1 << 12  # the first bytes hold tables, and are never written
MOST_STEPS = 400


@dataclass(frozen=True)
class RandomProgram:
    """A program and the DRAM that it starts with."""

    instructions: list[Instruction]
    dram: npt.NDArray[np.uint8]


def random_program(machine: SystolicMachine, seed: int) -> RandomProgram:
    """Program number `seed` for a machine: every third one a loop with rings of slots, the others straight."""
    rng = random.Random(f"{machine.hash} {seed}")
    program = _ring(machine, rng) if seed % 3 == 2 else _Straight(machine, rng).program(rng.randint(4, 40))
    return RandomProgram([*program, instruction("halt")], _dram(seed))


def _dram(seed: int) -> npt.NDArray[np.uint8]:
    """Random bytes; tables of biases and scales that make all bytes likely, some of them odd."""
    rng = np.random.default_rng(seed)
    dram = rng.integers(0, 256, DRAM_BYTES, dtype=np.uint8)
    pairs = np.zeros((TABLES // 8, 2), np.uint32)
    bias = rng.integers(-(1 << 12), 1 << 12, len(pairs), dtype=np.int32)
    bias[::7] = rng.integers(-(1 << 31), 1 << 31, len(bias[::7]), dtype=np.int64).astype(np.int32)
    scale = np.exp2(rng.uniform(-12, 0, len(pairs))).astype(np.float32) * rng.choice([1, 1, 1, -1], len(pairs))
    scale = scale.astype(np.float32)
    scale[::5] = np.exp2(rng.integers(-10, 1, len(scale[::5]))).astype(np.float32)  # ties
    scale[3::11] = np.float32(0)
    scale[4::13] = rng.choice(np.array([1e-40, 1e-30, 1e18, -1e18, 2.0**63], np.float32), len(scale[4::13]))
    pairs[:, 0], pairs[:, 1] = bias.view(np.uint32), scale.view(np.uint32)
    dram[:TABLES] = pairs.view(np.uint8).reshape(-1)
    return dram


class _Straight:
    """A program without loops, in small parts of the memories so that instructions meet."""

    def __init__(self, machine: SystolicMachine, rng: random.Random):
        self.machine = machine
        self.rng = rng
        self.registers = Registers()
        self.made: list[Instruction] = []
        self.spm = rng.choice([0, machine.spm_rows - 96])
        self.acc = rng.choice([0, machine.acc_rows - 48])
        self.weights = 0  # loaded and not taken
        self.factors: list[int] = []

    def program(self, count: int) -> list[Instruction]:
        """The program with its semaphores."""
        kinds: list[tuple[int, Callable[[], Instruction]]] = [
            (4, self._load),
            (2, self._weights),
            (4, self._multiply),
            (4, self._vector),
            (4, self._store),
            (1, self._sync),
            (1, self._register),
        ]
        for reg in range(1, 7):
            self._configure(reg)
        while count:
            make = self.rng.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]
            if self.rng.random() < 0.15:
                self._configure(self.rng.randint(1, 6))
            if self.rng.random() < 0.02:
                self._keep(instruction("bar"))
            try:
                made = make()
                check_limits(made, self.machine)
                fits = self._fits(made)
            except LaminaError:
                continue
            if fits:
                self._keep(made)
                count -= 1
        return synchronise(self.made, self.machine, DRAM_BYTES)

    def _keep(self, made: Instruction) -> None:
        self.registers.take(0, made)
        self.made.append(made)
        self.weights += (made.spec.name == "wl") - (made.spec.name == "mm" and made.swap)

    def _fits(self, made: Instruction) -> bool:
        """Whether it does something legal, that is not for long, and spares the tables."""
        if (made.spec.name == "mm" and made.swap and not self.weights) or (made.spec.name == "wl" and self.weights):
            return False
        if not made.spec.unit:
            return True
        issued = self.registers.take(0, made)
        if steps(issued, self.machine) > MOST_STEPS:
            return False
        found = places(issued, self.machine, DRAM_BYTES)
        if made.spec.name == "st" and not made.to:
            return int(found["dst"].at.min()) >= TABLES
        if made.spec.name == "ld" and made.to == 2:
            source = found["src"].at
            return int(source.max()) < TABLES and not (source[:, 0] & 7).any()
        return True

    def _configure(self, reg: int) -> None:
        rng = self.rng
        layout = ("stride", "stride", "window", "gen", "out", "post")[reg - 1]
        lanes = self.machine.lanes
        values: dict[str, int | float]
        if layout == "stride":
            values = {
                "s0": rng.choice([0, 1, 8, lanes, 8 * self.machine.cols, -lanes, rng.randint(-40, 40)]),
                "s1": rng.choice([0, 16, 64, 256, -32, rng.randint(-99, 99)]),
                "d1": rng.choice([0, 1, 2, 8, rng.randint(0, 20)]),
            }
        elif layout == "window":
            values = {
                "x_lo": rng.choice([0, rng.randint(0, 3 * lanes)]),
                "x_hi": rng.choice([1 << 19, rng.randint(0, 8 * lanes)]),
                "y_lo": rng.randint(0, 2),
                "y_hi": rng.choice([255, rng.randint(0, 4)]),
                "value": rng.randint(-128, 127),
            }
        elif layout == "gen":
            values = {"s0": rng.randint(0, 3), "s1": rng.randint(0, 9), "t0": rng.randint(0, 2)}
            values |= {"t1": rng.randint(0, 9), "k0": rng.choice([1, 1, 2, 3]), "k1": rng.choice([1, 1, 2, 3])}
        elif layout == "out":
            values = {"d0": rng.choice([0, 1, 1, 2]), "d1": rng.randint(0, 9), "b0": rng.randint(0, 2)}
            values |= {"b1": rng.randint(0, 9), "bt": rng.randint(0, 1)}
        else:
            lo, hi = sorted(rng.choice([(-128, 127), (0, 127), (rng.randint(-128, 127), rng.randint(-128, 127))]))
            values = {"table": rng.randint(0, min(7, self.machine.table_rows - 1)), "lo": lo, "hi": hi}
            values |= {"zero": rng.randint(-128, 127), "offset": rng.choice([0.0, rng.uniform(-50, 50)])}
        self._keep(configure(reg, layout, **values))
        if layout == "post":
            factors = [rng.choice([1.0, 0.5, 0.0, 1e-39, 1e15, rng.uniform(-3, 3)]) for _ in range(2)]
            self._keep(configure(7, "scale", ra=factors[0], rb=factors[1]))

    def _address(self, name: str, value: int) -> dict[str, int]:
        """An address, sometimes by way of a register."""
        if self.rng.random() < 0.3:
            register = self.rng.randint(1, 3)
            return {name: (value - self.registers.addresses[register]) & 0xFFFF, f"{name}_r": register}
        return {name: value}

    def _byte(self, name: str, value: int) -> dict[str, int]:
        if self.rng.random() < 0.3:
            register = self.rng.randint(1, 3)
            return {name: (value - self.registers.addresses[register]) & 0xFFFFFFFF, f"{name}_r": register}
        return {name: value}

    def _row(self, memory: str) -> int:
        rng, machine = self.rng, self.machine
        if memory == "spm":
            return self.spm + rng.randint(0, 80)
        if memory == "acc":
            return self.acc + rng.randint(0, 40)
        return rng.randint(0, min(7, machine.table_rows - 1)) if memory == "tab" else rng.randint(0, machine.lut_rows)

    def _counts(self) -> dict[str, int]:
        rng = self.rng
        return {"n0": rng.choice([1, 2, rng.randint(1, 24)]), "n1": rng.choice([1, 1, rng.randint(1, 4)])}

    def _load(self) -> Instruction:
        rng, machine = self.rng, self.machine
        memory = rng.choices(["spm", "acc", "tab", "lut"], [6, 2, 2, 1])[0]
        most = machine.lanes if memory in ("spm", "lut") else machine.cols
        source = 8 * rng.randint(0, TABLES // 8) if memory == "tab" else rng.randint(0, DRAM_BYTES)
        window = {"window": 3} if memory == "spm" and rng.random() < 0.4 else {}
        return instruction(
            "ld",
            to=memory,
            len=rng.choice([most, most, rng.randint(1, most)]),
            stride=rng.choice([1, 2]),
            **self._address("dst", self._row(memory)),
            **self._byte("src", source),
            **self._counts(),
            **window,
        )

    def _weights(self) -> Instruction:
        rows = self.rng.choice([self.machine.rows, self.rng.randint(1, self.machine.rows)])
        return instruction("wl", rows=rows, **self._address("src", self._row("spm")))

    def _multiply(self) -> Instruction:
        rng = self.rng
        return instruction(
            "mm",
            s0=rng.choice([1, 1, 0, 2]),
            s1=rng.randint(0, 12),
            accumulate=rng.randint(0, 1),
            swap=rng.randint(0, 1),
            **self._address("a", self._row("spm")),
            **self._address("acc", self._row("acc")),
            **self._counts(),
        )

    def _vector(self) -> Instruction:
        kind = self.rng.choice(["mac", "max", "min", "add", "lut"])
        return instruction(
            "ve",
            kind=kind,
            gen=4,
            out=5,
            accumulate=self.rng.randint(0, 1),
            **({"post": 6, "scale": 7} if kind == "add" else {}),
            **self._address("dst", self._row("acc" if kind == "mac" else "spm")),
            **self._address("a", self._row("spm")),
            **self._address("b", self._row("spm")),
            **self._counts(),
        )

    def _store(self) -> Instruction:
        rng, machine = self.rng, self.machine
        source, to = rng.choice(["spm", "acc", "acc"]), rng.choice(["dram", "dram", "spm"])
        most = machine.cols if source == "acc" else machine.lanes
        post = {"post": 6} if source == "acc" and (to == "spm" or rng.random() < 0.7) else {}
        if post and rng.random() < 0.3:
            post["table_r"] = 4
        dst = (
            self._byte("dst", rng.randint(TABLES, DRAM_BYTES))
            if to == "dram"
            else self._address("dst", self._row("spm"))
        )
        return instruction(
            "st",
            source=source,
            to=to,
            len=rng.choice([most, most, rng.randint(1, most)]),
            stride=rng.choice([1, 2]),
            **dst,
            **self._address("src", self._row(source)),
            **self._counts(),
            **post,
        )

    def _sync(self) -> Instruction:
        return instruction("sync", unit=self.rng.choice(UNITS), mark=1, tag=self.rng.randint(0, 0xFFFF))

    def _register(self) -> Instruction:
        rng = self.rng
        if rng.random() < 0.2:
            return instruction("ar", reg=4, set=1, delta=rng.randint(0, 2))
        return instruction(
            "ar",
            reg=rng.randint(1, 3),
            set=rng.randint(0, 1),
            delta=rng.randint(-300, 300),
            modulus=rng.choice([0, 0, rng.randint(1, 400)]),
        )


def _ring(machine: SystolicMachine, rng: random.Random) -> list[Instruction]:
    """A product in a loop: rings of slots for activations, weights and sums, of any number and size."""
    rows, turns = rng.randint(1, 3 * machine.rows), rng.randint(2, 12)
    slots = {"a": rng.randint(1, 3), "w": rng.randint(1, 3), "acc": rng.randint(1, 3)}
    rows = min(rows, machine.acc_rows // slots["acc"], machine.spm_rows // (2 * slots["a"]))
    weights_at = rows * slots["a"]
    full_a, full_w, full_acc, free_a, free_w, free_acc = rng.sample(range(16), 6)
    program = [
        configure(1, "stride", s0=machine.lanes, d1=0),
        configure(2, "stride", s0=8 * machine.cols, d1=0),
        configure(3, "post", zero=rng.randint(-9, 9), lo=rng.choice([-128, 0])),
        instruction("ld", to="tab", dst=0, src=0, n0=1, len=machine.cols, stride=2),
        instruction("bar"),
    ]
    for unit, name, semaphore in (("mm", "a", free_a), ("wl", "w", free_w), ("st", "acc", free_acc)):
        program += [instruction("sync", unit=unit, signal0=semaphore)] * slots[name]
    post = {"post": 3} if rng.random() < 0.8 else {}
    body = [
        instruction(
            "ld", to="spm", dst=0, dst_r=1, src=TABLES, src_r=2, n0=rows, len=machine.rows, stride=1, wait0=free_a,
            signal0=full_a,
        ),
        instruction(
            "ld", to="spm", dst=weights_at, dst_r=3, src=TABLES + 99, src_r=2, n0=machine.rows, len=machine.cols,
            stride=1, wait0=free_w, signal0=full_w,
        ),
        instruction("wl", src=weights_at, src_r=3, rows=rng.randint(1, machine.rows), wait0=full_w, signal0=free_w),
        instruction("mm", a=0, a_r=1, acc=0, acc_r=4, n0=rows, swap=1, **_pair("wait", full_a, free_acc),
                    **_pair("signal", free_a, full_acc)),
        instruction(
            "st", source="acc", src=0, src_r=4, to="dram", dst=DRAM_BYTES // 2, dst_r=5, n0=rows,
            len=rng.randint(1, machine.cols), stride=1, wait0=full_acc, signal0=free_acc, **post,
        ),
        instruction("ar", reg=1, delta=rows, modulus=rows * slots["a"]),
        instruction("ar", reg=2, delta=rng.randint(0, 64)),
        instruction("ar", reg=3, delta=machine.rows, modulus=machine.rows * slots["w"]),
        instruction("ar", reg=4, delta=rows, modulus=rows * slots["acc"]),
        instruction("ar", reg=5, delta=rng.randint(0, 32)),
    ]  # fmt: skip
    if rng.random() < 0.5:
        program += [instruction("loop", count=rng.randint(1, 3)), instruction("loop", count=turns), *body]
        return [*program, instruction("end"), instruction("ar", reg=2, set=1, delta=0), instruction("end")]
    return [*program, instruction("loop", count=turns), *body, instruction("end")]


def _pair(verb: str, a: int, b: int) -> dict[str, int]:
    return {f"{verb}0": min(a, b), f"{verb}1": max(a, b)}
