"""Kernels of one problem on the GPU, with any schedule."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, MemRefType, ModuleOp, StringAttr, i8
from xdsl.ir import Block, BlockArgument, Region
from xdsl.rewriter import InsertPoint

from ....backends import Options
from ....backends.cuda.build import BuiltProgram
from ....backends.cuda.device import DeviceProgram
from ....backends.cuda.driver import Driver, DriverError
from ....backends.cuda.steps import Place
from ....backends.cuda.target import CudaTarget
from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.program import LEVEL, SIGNATURE, Program
from ....compiler.schedules import Schedules
from ....compiler.signature import Array, Signature, TensorSpec
from ....compiler.workers import parallel_map, usable_cores
from ....dialects.linalg import GenericOp
from ....passes.bufferization.more_scratch import take_scratch
from ....passes.bufferization.plan_arena import PlanArena
from ....passes.convert.contraction_to_cta.problem import SCRATCH
from ....passes.convert.contraction_to_cta.schedule import SCHEDULE
from ....passes.convert.contraction_to_cta.splits import PARTIAL_SUMS
from ....passes.gpu.reserve_partial_sums import ReservePartialSums
from ..kernels import random
from .candidates import Candidate


def alone(kernel: func.FuncOp, candidate: Candidate, whole: Program) -> Program:
    """A program on the level of buffers that calls one kernel with buffers of its own, all of which are inputs.

    What a schedule needs besides is in the arena.
    """
    copy = kernel.clone()
    copy.attributes[SCHEDULE] = candidate.schedule.attribute
    types = kernel.function_type.inputs.data
    nothing = MemRefType(i8, [0])
    block = Block(arg_types=[*types, nothing])
    b = Builder(InsertPoint.at_end(block))
    b.insert(func.CallOp(kernel.sym_name.data, block.args[: len(types)], []))
    b.insert(func.ReturnOp())
    main = func.FuncOp("main", FunctionType.from_lists([*types, nothing], []), Region(block), "public")
    module = ModuleOp([main, copy])
    module.attributes[LEVEL] = StringAttr("buffers")
    module.attributes[SIGNATURE] = StringAttr(json.dumps(_signature(kernel).to_json()))
    module.attributes["lamina.constants"] = ArrayAttr([])
    for step in (ReservePartialSums(), PlanArena()):
        step.apply(whole.context, module)
    return Program(module, whole.context)


def plain(kernel: func.FuncOp) -> func.FuncOp:
    """A kernel without what its schedule needs besides."""
    copy = kernel.clone()
    take_scratch(copy, PARTIAL_SUMS)
    return copy


def _signature(kernel: func.FuncOp) -> Signature:
    specs: list[TensorSpec] = []
    for i, type_ in enumerate(kernel.function_type.inputs.data):
        assert isinstance(type_, MemRefType)
        specs.append(TensorSpec(f"argument {i}", type_.get_shape(), dtype_of(type_).name))
    return Signature(tuple(specs), ())


class Maker:
    """Compiles the kernels of one problem of a program, and brings them to the GPU."""

    def __init__(self, target: CudaTarget, driver: Driver, program: Program, kernels: Sequence[func.FuncOp]):
        self._target, self._driver, self._program = target, driver, program
        self._kernels = [plain(kernel) for kernel in kernels]
        self._data: dict[int, list[Array]] = {}

    def compiled(self, wanted: Sequence[tuple[Candidate, int]]) -> dict[tuple[Candidate, int], BuiltProgram]:
        """The code of kernels by candidate and number, less what spills registers or is refused otherwise."""
        options = Options(schedules=Schedules())
        programs = [alone(self._kernels[number], candidate, self._program) for candidate, number in wanted]

        def work(i: int) -> bytes:
            try:
                return pickle.dumps(self._target.built(programs[i], options)[1])
            except Exception:  # a schedule that the compiler cannot do is none
                return b""

        found: dict[int, bytes] = {}
        with suppress(LaminaError):  # a compiler process died: what is missing counts as refused
            found.update(parallel_map(work, len(programs), usable_cores(), [str(each) for each, _ in wanted]))
        return {each: pickle.loads(found[i]) for i, each in enumerate(wanted) if found.get(i)}

    def __call__(self, wanted: Sequence[tuple[Candidate, int]]) -> Mapping[tuple[Candidate, int], DeviceCode]:
        """The code of kernels on the GPU, less what is refused.

        Raises DriverError, with the candidate, where one does what no kernel may: then the GPU is lost to this process.
        """
        codes: dict[tuple[Candidate, int], DeviceCode] = {}
        for each, built in self.compiled(wanted).items():
            candidate, number = each
            if number not in self._data:
                self._data[number] = _data(self._kernels[number])
            try:
                code = DeviceCode(self._target, self._driver, built, self._kernels[number], self._data[number])
                code.outputs()
            except DriverError as error:
                if error.lost:
                    raise DriverError(f"{candidate}: {error.message}", error.code) from error
                continue  # more than the GPU has
            codes[each] = code
        return codes


class DeviceCode:
    """A kernel on the GPU, with its data."""

    def __init__(
        self, target: CudaTarget, driver: Driver, built: BuiltProgram, kernel: func.FuncOp, data: Sequence[Array]
    ):
        self._kernel, self._data = kernel, data
        nothing = np.zeros(0, np.uint8)
        self._program = DeviceProgram(driver, target.architecture, built, _signature(kernel), nothing)

    def outputs(self) -> Sequence[Array]:
        """The arrays that the kernel writes, after its first launch on fresh data."""
        return self._first

    @cached_property
    def _first(self) -> list[Array]:
        self._program.run(self._data)
        written = [(Place("input", i), self._data[i]) for i in _written(self._kernel)]
        return [self._program.contents(place, array.shape, array.dtype) for place, array in written]

    def sample(self, repeats: int) -> float:
        """The seconds that so many launches in one graph take on the GPU."""
        return max(1e-9, self._program.seconds_together(repeats))


def _data(kernel: func.FuncOp) -> list[Array]:
    """Numbers for the arguments of a kernel."""
    found: list[Array] = []
    for i, type_ in enumerate(kernel.function_type.inputs.data):
        assert isinstance(type_, MemRefType)
        found.append(random(type_.get_shape(), dtype_of(type_), i))
    return found


def _written(kernel: func.FuncOp) -> list[int]:
    """The arguments that the kernel writes, less those that nobody reads afterwards."""
    arguments = kernel.body.block.args
    told = kernel.attributes.get(SCRATCH)
    scratch = told.value.data if isinstance(told, IntegerAttr) else 0
    values = {value for op in kernel.walk() if isinstance(op, GenericOp) for value in op.outputs}
    found = {value.index for value in values if isinstance(value, BlockArgument) and value in arguments}
    return sorted(i for i in found if i < len(arguments) - scratch)
