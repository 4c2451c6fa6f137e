"""Schedules of products that a person, a lock-file or a search gives: read, and held against what can be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.machine import Machine
from ....compiler.schedules import Entry
from ....dialects.cta.ops import TF32
from ....dialects.gpu.ops import WARPGROUP
from .choice import usual_schedule
from .problem import Problem
from .schedule import BESIDE, FMA, MMA, PIECE, ROW_BYTES, WGMMA, WORD, Schedule, in_boxes
from .splits import divided

UNITS = (FMA, MMA, WGMMA)
LANES = 4  # numbers that a thread of `fma` reads at a time
PIECE_BYTES = 16  # that a thread brings at a time at most
MOST_PIECES = 40  # whose places a thread knows
SQUARE = 16  # rows and columns that warps multiply at a time
GROUP = 64  # rows of the result of a warpgroup
PANEL = 64  # columns of 16-bit numbers in a row of shared memory
MOST_SUMS = {FMA: 64, MMA: 128, WGMMA: 128}  # of a thread, beside which it has registers for operands
MOST_THREADS = 1024
REGISTERS = 64 << 10  # of a multiprocessor
OTHERS = 48  # registers of a thread that are no sums
MOST_COLUMNS = 256  # of an instruction of a warpgroup
MOST_STAGES = 8


def given_schedule(entry: Entry, problem: Problem, machine: Machine, precision: str) -> Schedule:
    """The schedule of a file's entry; what it leaves out is as is usual with what multiplies.

    Raises LaminaError at the entry's line for what is no part of a schedule, or cannot be made of the problem.
    """
    names = [each.name for each in fields(Schedule)]
    for name in entry.values:
        if name not in names:
            hint = f"one of {', '.join(names)}"
            raise LaminaError(f"'{name}' is no part of a schedule of a GPU", where=entry.where, hint=hint)
    unit = entry.values.get("unit")
    if unit is not None and unit not in UNITS:
        raise LaminaError(f"'unit={unit}'", where=entry.where, hint=f"expected one of {', '.join(UNITS)}")
    numbers = {name: entry.number(name) for name in entry.without("unit").values}
    usual = usual_schedule(problem, machine, precision, None if unit is None else str(unit))
    schedule = replace(usual, **numbers)
    fault = fault_of(schedule, problem, machine, precision)
    if fault is not None:
        raise LaminaError(fault[0], where=entry.where, hint=f"expected {fault[1]}")
    return schedule


def fault_of(schedule: Schedule, problem: Problem, machine: Machine, precision: str) -> tuple[str, str] | None:
    """Why a problem cannot be computed so on a machine, and what is expected; None where it can."""
    parts = divided(problem, schedule.splits) if schedule.splits > 1 else problem
    fault = fault_of_unit(schedule.unit, parts or problem, machine, precision)
    fault = fault or fault_of_numbers(schedule, problem.element_bytes, machine)
    if parts is None:
        return fault or (f"splits={schedule.splits}", f"parts of equal length of a sum of {problem.k}")
    return fault


def fault_of_numbers(s: Schedule, size: int, machine: Machine) -> tuple[str, str] | None:
    """The same of a schedule whose unit multiplies the problem's elements, which have `size` bytes."""
    if min(s.rows, s.columns, s.depth, s.down, s.across, s.stages, s.splits) < 1:
        return "a schedule with a zero", "numbers from 1 on"
    fault = {FMA: _of_threads, MMA: _of_warps, WGMMA: _of_warpgroups}[s.unit](s, size)
    if fault is not None:
        return fault
    if s.threads > MOST_THREADS:
        return f"{s.threads} threads", f"a block has {MOST_THREADS} at most"
    workers, most = s.threads, min(MOST_SUMS[s.unit], REGISTERS // s.threads - OTHERS)
    if s.unit == WGMMA:  # one copies, and gives its registers to the others
        workers, most = s.threads - WARPGROUP, MOST_SUMS[WGMMA]
    if s.rows * s.columns > most * workers:
        return f"{s.rows * s.columns // workers} sums of a thread", f"{most} at most, or registers are spilled"
    shared = s.staged_bytes(size) + BESIDE
    if shared > machine.l1_bytes:
        return f"stages take {shared} bytes of shared memory", f"a block of {machine.name} has {machine.l1_bytes}"
    return None


def fault_of_unit(unit: str, problem: Problem, machine: Machine, precision: str) -> tuple[str, str] | None:
    """Why a problem cannot be computed by a unit of a machine, and what is expected; None where it can."""
    left, right = problem.left, problem.right
    if unit == FMA:
        return None
    if unit not in machine.features:
        return f"{machine.name} has no {unit}", f"one of {', '.join(u for u in UNITS if u in (FMA, *machine.features))}"
    narrow = left.element == right.element and dtype_of(left.element).itemsize == 2
    if unit == MMA and not narrow and not (precision == TF32 and dtype_of(left.element) == dtype_of(right.element)):
        return "unit=mma multiplies no f32", "--precision tf32 or bf16, or unit=fma"
    if unit == WGMMA:
        if not narrow:
            return "unit=wgmma multiplies numbers of 16 bits", "--precision bf16, or unit=fma"
        views = [matrix.view for matrix in (left, right)]
        if any(not in_boxes(v) and max(v.width(mode, PIECE) for mode in (1, 2)) < PIECE for v in views):
            return "unit=wgmma wants operands in pieces of 16 bytes", "unit=mma"
    return None


def _multiple(numbers: Mapping[str, tuple[int, int]]) -> tuple[str, str] | None:
    """The first number that is no multiple of what it should be."""
    for name, (value, of) in numbers.items():
        if value % of:
            return f"{name}={value}", f"a multiple of {of}"
    return None


def _of_threads(s: Schedule, size: int) -> tuple[str, str] | None:
    most = MOST_STAGES if size >= WORD else 1
    if s.stages > most:
        return f"stages={s.stages}", f"1 to {most}" if most > 1 else "1: numbers of 16 bits come through registers"
    numbers = {"down": (s.down, LANES), "across": (s.across, LANES), "depth": (s.depth, LANES)}
    fault = _multiple(numbers) or _multiple({"rows": (s.rows, s.down), "columns": (s.columns, s.across)})
    if fault is not None:
        return fault
    if s.threads % 32:
        return f"{s.threads} threads", "warps of 32"
    return _shares(s, PIECE_BYTES // size)


def _of_warps(s: Schedule, size: int) -> tuple[str, str] | None:
    if s.stages < 2 or s.stages > MOST_STAGES:
        return f"stages={s.stages}", f"2 to {MOST_STAGES}"
    if s.depth * size != ROW_BYTES:
        return f"depth={s.depth}", f"{ROW_BYTES // size}, which fills the rows of shared memory"
    for name, lines in (("rows", s.rows), ("columns", s.columns)):
        if lines % s.depth and (lines > s.depth or lines & (lines - 1)):
            return f"{name}={lines}", f"a power of two, or a multiple of {s.depth}: rows of shared memory are exchanged"
    uneven = _multiple({"rows": (s.rows, SQUARE * s.down), "columns": (s.columns, SQUARE * s.across)})
    return uneven or _shares(s, PIECE_BYTES // size)


def _of_warpgroups(s: Schedule, size: int) -> tuple[str, str] | None:
    if s.stages < 2 or s.stages > MOST_STAGES:
        return f"stages={s.stages}", f"2 to {MOST_STAGES}"
    if s.down not in (1, 2) or s.across != 1:
        return f"down={s.down} across={s.across}", "one or two warpgroups, one below the other (across=1)"
    if s.rows != GROUP * s.down:
        return f"rows={s.rows}", f"{GROUP} for each of {s.down} warpgroups"
    if s.columns % PANEL or s.columns > MOST_COLUMNS:
        return f"columns={s.columns}", f"a multiple of {PANEL} up to {MOST_COLUMNS}"
    if s.depth * size != ROW_BYTES:
        return f"depth={s.depth}", f"{ROW_BYTES // size}, which fills the rows of shared memory"
    return None


def _shares(s: Schedule, piece: int) -> tuple[str, str] | None:
    """Whether every thread brings as many pieces of both tiles as any other, and not too many."""
    pieces = (s.rows + s.columns) * s.depth // piece // s.threads
    if pieces > MOST_PIECES:
        return f"{pieces} pieces that a thread brings", f"{MOST_PIECES} at most, or registers are spilled"
    for name, lines in (("rows", s.rows), ("columns", s.columns)):
        if lines * s.depth % (piece * s.threads):
            return f"{name}={lines}", f"{lines * s.depth} elements of a step do not share out over {s.threads} threads"
    return None
