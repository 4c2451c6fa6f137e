"""Runs the kernels of models in the emulator: `python -m lamina.tools.cuda.check_kernels [MODEL ...]`.

Each distinct kernel of the level `linalg`, with the schedule that it has on an architecture, is cut to smaller extents
(`smaller`), compiled, and run on random inputs against the interpreter of that level: once with everything at once,
then, with warps interrupted and what is asynchronous late, once for each seed. Kernels that are the same when they are
cut are run once. Without names: those of every model that the tests run, in f32 and bf16. A line for each, and how many
move how many times the bytes that must be (`--seeds 0 --target sm_80` tells that alone, in a quarter of an hour for all
models); exit code 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.math import RoundEvenOp, TanhOp
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...backends import Options
from ...backends.cuda.emulated import EmulatedProgram
from ...backends.cuda.emulator.memory import SECTOR
from ...backends.cuda.target import CudaTarget
from ...compiler.collector import collector_paused
from ...compiler.diagnostics import LaminaError
from ...compiler.parsing import parse_module
from ...compiler.pass_manager import PassFault
from ...compiler.program import LEVEL, Program
from ...compiler.signature import Array, dtype_named
from ...compiler.walking import all_ops
from ...compiler.workers import parallel_map, usable_cores
from ...dialects.cta import ProgramOp
from ...dialects.linalg_ext import AttentionOp
from ...dialects.tensor import EmptyOp
from ...passes.bufferization.groups import is_changed
from ...passes.bufferization.more_scratch import take_scratch
from ...passes.convert.contraction_to_cta.problem import problem_of
from ...passes.convert.contraction_to_cta.schedule import FMA, MMA, SCHEDULE, WGMMA, Schedule
from ...passes.convert.contraction_to_cta.splits import PARTIAL_SUMS, divided
from ...passes.gpu.kernels import TIMES
from ..api import interpret
from ..compare import Comparison, compare
from ..sources import new_context
from .compile_models import TARGETS
from .every_model import models_named
from .gathered import needed_bytes
from .smaller import points, smaller, summed, times

KERNEL = "lamina.kernel"
LIMITS = {"bfloat16": 2.0**-7, "float16": 2.0**-10}  # of what is rounded to these: it may be the other way
LIMIT = 1e-4  # of other floats, relative to the larger of a value and a hundredth of the largest
MOST = 1 << 26  # points of a kernel that is run at all
SEEDS = 5
LARGE = 1 << 12  # points from which on what a kernel moves is looked at
RATIOS = (1.02, 1.1, 1.25)  # bytes moved for each that must be
EXACT = 16  # parts of one that numbers are multiples of where sums are to be exact
PRECISIONS = ("f32", "bf16")
HEAD = ("kernel", "as", "unit", "points", "eager", "late", "traffic", "cached", "conflicts", "")
UNITS = (FMA, MMA, WGMMA)
WIDTHS = (36, 6, 16, 9, 9, 9, 8, 8, 9, 0)


@dataclass(frozen=True)
class Case:
    """A kernel at smaller extents, as a program of its own; `stands_for` names those that it is."""

    targets: Sequence[str]
    text: str
    unit: str
    points: int
    stands_for: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """How far a kernel is from the reference at once and late, sectors moved for each that must be, bank conflicts.

    `cached` are sectors when each block reads one but once.
    """

    eager: float = 0
    late: float = 0
    traffic: float = 0
    cached: float = 0
    conflicts: int = 0
    told: str = ""


def tiled(program: Program, targets: Sequence[str], precision: str) -> tuple[Program, dict[str, Program]]:
    """A model on the level `linalg`, down to which no pass asks which architecture it is, and on `tiles` for each."""
    options = Options(cache=False, precision=precision)
    lowered = CudaTarget(targets[0]).lower(program, "linalg", options)
    return lowered, {target: CudaTarget(target).lower(lowered, "tiles", options) for target in targets}


@collector_paused()
def cases_of(name: str, lowered: Program, tiles: Mapping[str, Program], precision: str) -> list[Case]:
    """The distinct kernels of a model that was `tiled`."""
    suffix = "" if precision == PRECISIONS[0] else f" {precision}"
    return merged([case for target in tiles for case in _cases_for(name, lowered, target, tiles[target], suffix)])


def _cases_for(name: str, lowered: Program, target: str, tiles: Program, suffix: str) -> list[Case]:
    schedules = _schedules(tiles)
    found: list[Case] = []
    for kernel in lowered.module.ops:
        if isinstance(kernel, FuncOp) and KERNEL in kernel.attributes:
            schedule = schedules.get(kernel.sym_name.data)
            cut = smaller(kernel, schedule)
            if schedule is not None:
                cut.attributes[SCHEDULE] = schedule_of_cut(cut, kernel, schedule, lowered, target).attribute
            elif (more := times(kernel, cut)) > 1:
                cut.attributes[TIMES] = IntegerAttr(more, i64)
            unit = _unit(schedule) if schedule else _kind(kernel)
            label = f"{name} @{kernel.sym_name.data}{suffix}"
            found.append(Case([target], _text(Program(_alone(cut), lowered.context)), unit, points(cut), [label]))
    return found


def _unit(schedule: Schedule) -> str:
    shared = f" /{schedule.splits}" if schedule.splits > 1 else ""
    return f"{schedule.unit} {schedule.rows}x{schedule.columns}{shared}"


def schedule_of_cut(cut: FuncOp, kernel: FuncOp, schedule: Schedule, lowered: Program, target: str) -> Schedule:
    """The schedule of a kernel that is cut: with the fewest parts of the sum that may be, with one where none may."""
    every: list[int] = []
    if schedule.splits > 1:
        buffers = CudaTarget(target).lower(
            Program(_alone(cut.clone()), lowered.context), "buffers", Options(cache=False)
        )
        [found] = [op for op in buffers.module.ops if isinstance(op, FuncOp) and KERNEL in op.attributes]
        take_scratch(found, PARTIAL_SUMS)
        problem = problem_of(found)
        every = [n for n in range(2, schedule.splits + 1) if problem is not None and divided(problem, n) is not None]
    part, left = summed(kernel) // schedule.splits, summed(cut)
    every.sort(key=lambda n: (left // n - part) % schedule.depth != 0)  # so that last steps are as they were
    return replace(schedule, splits=every[0] if every else 1)


def _kind(kernel: FuncOp) -> str:
    kind = kernel.attributes[KERNEL]
    return kind.data if isinstance(kind, StringAttr) else ""


def merged(cases: Sequence[Case]) -> list[Case]:
    """Cases of the same program as one."""
    found: dict[str, Case] = {}
    for case in cases:
        before = found.get(case.text)
        if before is None:
            found[case.text] = case
            continue
        targets = dict.fromkeys((*before.targets, *case.targets))
        names = dict.fromkeys((*before.stands_for, *case.stands_for))
        found[case.text] = replace(before, targets=[*targets], stands_for=[*names])
    return list(found.values())


def _schedules(tiled: Program) -> dict[str, Schedule]:
    """How kernels that are products are cut into tiles, by name."""
    found: dict[str, Schedule] = {}
    for function in tiled.module.ops:
        if isinstance(function, FuncOp) and function.body.blocks:
            for op in function.body.block.ops:
                if isinstance(op, ProgramOp):
                    found[function.sym_name.data] = Schedule.of(op.schedule)
    return found


def _alone(kernel: FuncOp) -> ModuleOp:
    """A program that does nothing but call a kernel, whose last arguments are places for its results.

    A place of which the kernel changes a part is an input.
    """
    kernel.properties["sym_name"] = StringAttr("kernel")
    inputs, outputs = kernel.function_type.inputs.data, kernel.function_type.outputs.data
    count = len(inputs) - len(outputs)
    changed = [is_changed(place) for place in kernel.body.block.args[count:]]
    block = Block(arg_types=[*inputs[:count], *(t for t, old in zip(outputs, changed, strict=True) if old)])
    b = Builder(InsertPoint.at_end(block))
    olds = iter(block.args[count:])
    places: list[SSAValue] = []
    for type_, old in zip(outputs, changed, strict=True):
        assert isinstance(type_, TensorType)
        places.append(next(olds) if old else b.insert(EmptyOp([], type_)).tensor)
    call = b.insert(CallOp("kernel", [*block.args[:count], *places], outputs))
    b.insert(ReturnOp(*call.results))
    main = FuncOp("main", FunctionType.from_lists(block.arg_types, outputs), Region(block), "public")
    module = ModuleOp([main, kernel])
    module.attributes[LEVEL] = StringAttr("linalg")
    return module


def _text(program: Program) -> str:
    for op in program.module.walk():
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            value.name_hint = None
    return str(program)


def check(case: Case, seeds: int = SEEDS) -> Outcome:
    """Runs one case, as the first of its architectures does.

    All that passes ask of an architecture is in the schedule that a case carries, so that others get the same code.
    """
    if case.points > MOST:
        return Outcome(told=f"not run: {case.points} points at the smallest extents that were found")
    context = new_context()
    program = Program(parse_module(case.text, "kernel", context), context)
    target = CudaTarget(case.targets[0])
    try:
        inputs = _inputs(program)
        right = _Right(interpret(program, inputs), _by_rounding(program, inputs), needed_bytes(_kernel(program)))
        return _run(target.emulated(program, Options(cache=False)), inputs, right, seeds)
    except (LaminaError, PassFault) as error:
        return Outcome(told=str(error))


@dataclass(frozen=True)
class _Right:
    """What is expected, how far from it rounding in between may take results, and the bytes that are to be moved."""

    results: Sequence[Array]
    by_rounding: Sequence[Array] | None
    nbytes: int

    def worst(self, found: Sequence[Array]) -> Comparison:
        """The result that is furthest off."""
        every: list[Comparison] = []
        for i, (got, right) in enumerate(zip(found, self.results, strict=True)):
            if self.by_rounding is not None:
                got = _towards(got, right, self.by_rounding[i])
            every.append(compare(f"result {i}", got, right, LIMITS.get(right.dtype.name, LIMIT)))
        return max(every, key=lambda each: (not each.good, each.error))


def _run(model: EmulatedProgram, inputs: Sequence[Array], right: _Right, seeds: int) -> Outcome:
    eager = right.worst(model.run(inputs))
    counted = list(model.counters)
    model.late, model.counted = True, False
    late: list[Comparison] = []
    for model.seed in range(seeds):
        late.append(right.worst(model.run(inputs)))
    worst = max([eager, *late], key=lambda each: (not each.good, each.error))
    read = sum(each.global_read_sectors for each in counted)
    once = sum(each.global_block_sectors for each in counted)
    written = sum(each.global_written_sectors for each in counted)
    return Outcome(
        eager.error,
        max((each.error for each in late), default=0),
        (read + written) * SECTOR / right.nbytes,
        (once + written) * SECTOR / right.nbytes,
        sum(each.bank_conflicts for each in counted),
        "" if worst.good else f"WRONG: {worst}",
    )


def _inputs(program: Program) -> list[Array]:
    """Normal numbers, any bytes, and zeros and ones for wider integers, which may be indices.

    Where a kernel rounds to integers numbers are such that sums are exact, in any order: else one that is next to the
    middle of two may become either. So too where it clamps, as tanh does: what is left is small beside the numbers
    that were added.
    """
    rng = np.random.default_rng(0)
    kinds = RoundEvenOp | arith.FPToSIOp | arith.MinimumfOp | TanhOp
    exact = any(isinstance(op, kinds) for op in all_ops(_kernel(program)))
    found: list[Array] = []
    for spec in program.signature.inputs:
        dtype, shape = dtype_named(spec.dtype), tuple(int(n) for n in spec.shape)
        if dtype.kind in "iu" and dtype.itemsize == 1:
            drawn = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape)
        else:
            drawn = rng.integers(0, 2, shape) if dtype.kind in "biu" else rng.standard_normal(shape)
            drawn = np.round(drawn * EXACT) / EXACT if exact else drawn
        found.append(np.asarray(drawn).astype(dtype))
    return found


def _kernel(program: Program) -> FuncOp:
    return next(op for op in program.module.ops if isinstance(op, FuncOp) and KERNEL in op.attributes)


def _by_rounding(program: Program, inputs: Sequence[Array]) -> list[Array] | None:
    """How much weights of attention that are rounded to 16 bits, here before they are divided and there after, change.

    Both round each weight once, and results are sums of weights times values.
    """
    kernel = _kernel(program)
    attention = next((op for op in kernel.body.block.ops if isinstance(op, AttentionOp)), None)
    end = kernel.body.block.last_op
    if attention is None or end is None or list(attention.results) != list(end.operands):
        return None
    values = attention.operands[2]
    if not isinstance(values, BlockArgument) or inputs[values.index].dtype.name not in LIMITS:
        return None
    sizes = list(inputs)
    sizes[values.index] = np.abs(inputs[values.index])
    limit = LIMITS[inputs[values.index].dtype.name]
    return [limit * result.astype(np.float64) for result in interpret(program, sizes)]


def _towards(got: Array, right: Array, allowed: Array) -> Array:
    """What was found, as much nearer to what is right as is allowed."""
    if got.shape != right.shape or got.dtype != right.dtype:
        return got
    wide = got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        off = wide - right
        nearer = wide - np.clip(off, -allowed, allowed)
    return np.where(np.isfinite(off) & np.isfinite(allowed), nearer, wide).astype(got.dtype)


def line(cells: Sequence[str]) -> str:
    """Cells below each other."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def told(case: Case, outcome: Outcome) -> str:
    """One line."""
    label = case.stands_for[0] + (f" and {len(case.stands_for) - 1} more" if len(case.stands_for) > 1 else "")
    moved = f"{outcome.traffic:.2f}", f"{outcome.cached:.2f}", str(outcome.conflicts)
    numbers = f"{outcome.eager:.0e}", f"{outcome.late:.0e}", *moved
    targets = "all" if len(case.targets) == len(TARGETS) else " ".join(case.targets)
    return line((label, targets, case.unit, str(case.points), *numbers, outcome.told))


def moved(found: Sequence[tuple[Case, Outcome]]) -> str:
    """How many kernels that are no products, of many points, move how many times the bytes that must be."""
    large = [o for case, o in found if not o.told and case.points > LARGE and case.unit.split(" ")[0] not in UNITS]
    least = [f"{sum(o.traffic <= ratio for o in large)} at most {ratio} times" for ratio in RATIOS]
    asked = f"{sum(o.conflicts > 0 for o in large)} ask a bank twice"
    return f"of {len(large)} that are no products, of over {LARGE} points: {', '.join(least)} their bytes, {asked}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lamina.tools.cuda.check_kernels", description=__doc__)
    parser.add_argument("models", nargs="*", help="names of models, or files")
    parser.add_argument("--target", action="append", choices=TARGETS, help="an architecture (default: all)")
    parser.add_argument("--precision", action="append", choices=PRECISIONS, help="of products (default: all)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"late runs of each kernel (default {SEEDS})")
    parser.add_argument("--show", action="store_true", help="print the kernels as they are run, and run nothing")
    given = parser.parse_args(arguments)
    models = list(models_named(given.models).items())
    jobs = usable_cores()

    def cut(number: int) -> bytes:
        name, load = models[number]
        try:
            program = load()
            found = [
                case
                for precision in given.precision or PRECISIONS
                for case in cases_of(name, *tiled(program, given.target or TARGETS, precision), precision)
            ]
        except LaminaError as error:
            return json.dumps(f"{name}: {error}").encode()
        return json.dumps([asdict(case) for case in found]).encode()

    cases: list[Case] = []
    good = True
    for _, data in parallel_map(cut, len(models), jobs, [name for name, _ in models]):
        read = json.loads(data)
        if isinstance(read, str):
            print(read, flush=True)
            good = False
        else:
            cases += [Case(**each) for each in read]
    cases = merged(cases)
    kernels = len({name for case in cases for name in case.stands_for})
    if given.show:
        print(*(f"// {case.stands_for}, {case.unit}\n{case.text}" for case in cases), sep="\n")
        return 0

    together = min(jobs, len(cases))

    def checked(number: int) -> bytes:
        if together > 1:
            os.environ["LAMINA_JOBS"] = "1"  # of a process of its own
        return json.dumps(asdict(check(cases[number], given.seeds))).encode()

    print(line(HEAD))
    found: list[tuple[Case, Outcome]] = []
    for number, data in parallel_map(checked, len(cases), together, [case.stands_for[0] for case in cases]):
        found.append((cases[number], Outcome(**json.loads(data))))
        print(told(*found[-1]), flush=True)
    outcomes = [outcome for _, outcome in found]
    wrong = sum(bool(outcome.told) for outcome in outcomes)
    worst = max((max(o.eager, o.late) for o in outcomes), default=0)
    print(moved(found))
    print(f"{kernels} kernels, {len(cases)} when cut, {wrong} of them wrong or not run, largest error {worst:.1e}")
    return 0 if good and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
