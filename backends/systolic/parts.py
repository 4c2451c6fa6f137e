"""A model in parts: programs of the array and of the host, run one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import SSAValue

from ...compiler.artefact import Artefact
from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...compiler.places import describe_location
from ...compiler.program import Program, main_function
from ...compiler.signature import Array, Signature
from ...compiler.systolic_machine import SystolicMachine
from ...compiler.weights import WeightStore
from ...dialects.accel.ops import numbers_of
from ...dialects.accel.semantics import from_image, to_image
from ...dialects.onnx import OnnxOp
from ...dialects.onnx.ops import OPSETS
from ...dialects.pipe import RunOp
from ...dialects.systolic.encoding import Instruction
from ...dialects.systolic.timing import simulate
from ...passes.systolic.link import linked, streams_of
from ...passes.systolic.names import CONSTANTS, DRAM, INPUTS, LAYER, MACHINE, OUTPUTS, PROGRAM
from .. import Executable
from .binary import Binary, Buffer, Constant
from .engine import run
from .timeline import Told, write_timeline
from .traffic import Layer, layer_lines

Tell = Callable[[str], None]


class Part(Protocol):
    """What runs in one place; `told` says which operators or layers it has."""

    @property
    def name(self) -> str: ...

    @property
    def told(self) -> str: ...

    def run(self, arrays: Sequence[Array], engine: str) -> tuple[list[Array], Mapping[str, Any]]:
        """The tensors that leave, and what was counted."""
        ...


@dataclass(frozen=True)
class ArrayPart:
    """A program of the array: `binary` with a buffer for each image that enters (x0, x1, ...) or leaves (y0, ...)."""

    name: str
    binary: Binary
    inputs: Sequence[tuple[int, ...]]  # shapes of images, and behind them how they are gathered
    outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]  # shapes and types of tensors
    told: str
    layers: Sequence[Layer] = ()  # one behind the other, with a `bar` between them

    def run(self, arrays: Sequence[Array], engine: str) -> tuple[list[Array], Mapping[str, Any]]:
        """The tensors that leave, and what the engine counted."""
        images = {
            f"x{i}": to_image(a, s[:4], s[4:]) for i, (a, s) in enumerate(zip(arrays, self.inputs, strict=True)) if s
        }
        outcome = run(self.binary, images, engine)
        left: list[Array] = []
        for i, (shape, dtype) in enumerate(self.outputs):
            data = outcome.outputs[f"y{i}"].view(np.int8)
            image = data.reshape(shape[0], *shape[2:], shape[1]) if len(shape) == 4 else data
            left.append(from_image(image, shape, dtype))
        return left, outcome.counters

    def timed(self) -> Told:
        """Its program with the times of all instructions."""
        timing = simulate(self.binary.instructions, self.binary.machine)
        return Told(self.name, timing, [layer.name for layer in self.layers])

    def report(self, counted: Mapping[str, Any]) -> list[str]:
        """What each layer took and moved, and how the hardware did."""
        lines: list[str] = []
        if "rtl_cycles" in counted:
            speed = counted["rtl_cycles_per_second"]
            lines.append(
                f"{self.name}: {counted['rtl_cycles']:,} cycles of the hardware, too; {speed:,} a second of CPU time"
            )
        if len(self.layers) == len(counted.get("layers", ())) > 0:
            lines += layer_lines(self.layers, counted["layers"], self.binary.machine)
        return lines


@dataclass(frozen=True)
class HostPart:
    """A program of the host."""

    name: str
    executable: Executable
    told: str

    def run(self, arrays: Sequence[Array], engine: str) -> tuple[list[Array], Mapping[str, Any]]:
        """The tensors that leave; nothing is counted."""
        return self.executable.run(arrays), {}


@dataclass(frozen=True)
class _Call:
    part: Part
    arguments: Sequence[SSAValue]
    results: Sequence[SSAValue]


class PartedProgram:
    """Parts in their order; `counters` has what the engine counted in the last run, part by part."""

    artefact: Artefact | None = None

    def __init__(
        self,
        signature: Signature,
        main: FuncOp,
        calls: Sequence[_Call],
        engine: str,
        tell: Tell | None = None,
        trace: Path | None = None,
    ):
        self.signature = signature
        self.main = main
        self.calls = calls
        self.engine = engine
        self.tell = tell
        self.trace = trace
        self.counters: list[tuple[str, Mapping[str, Any]]] = []

    @property
    def parts(self) -> list[Part]:
        """The parts in the order in which they run."""
        return [call.part for call in self.calls]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference."""
        block = self.main.body.block
        values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
        counters: list[tuple[str, Mapping[str, Any]]] = []
        for call in self.calls:
            results, counted = call.part.run([values[v] for v in call.arguments], self.engine)
            if not isinstance(call.part, HostPart):
                counters.append((call.part.name, counted))
                if self.tell is not None:
                    _tell_counters(call.part, counted, self.tell)
            values |= dict(zip(call.results, results, strict=True))
        self.counters = counters
        if self.trace is not None:
            write_timeline(self.trace, [part.timed() for part in self.parts if isinstance(part, ArrayPart)])
        last = block.last_op
        assert isinstance(last, ReturnOp)
        return [values[v] for v in last.operands]


def _tell_counters(part: Part, counted: Mapping[str, Any], tell: Tell) -> None:
    if "cycles" in counted:
        tell(f"{part.name}: {counted['cycles']:,} cycles")
    for line in part.report(counted) if isinstance(part, ArrayPart) else ():
        tell(line)


def parts_of(
    program: Program,
    compile_host: Callable[[Program], Executable],
    engine: str,
    tell: Tell | None,
    trace: Path | None = None,
) -> PartedProgram:
    """The parts of a program on the level `pipe`. Raises LaminaError when none is of the array."""
    streams = streams_of(program.module)
    functions = {op.sym_name.data: op for op in program.module.ops if isinstance(op, FuncOp)}

    def array_part(function: FuncOp) -> Part | None:
        if PROGRAM not in function.attributes:
            return None
        return _array_part(function, functions, streams, program.context.weights)

    return parted(program, array_part, compile_host, engine, tell, trace)


def parted(
    program: Program,
    part_of: Callable[[FuncOp], Part | None],
    compile_host: Callable[[Program], Executable],
    engine: str,
    tell: Tell | None,
    trace: Path | None = None,
) -> PartedProgram:
    """The parts of a program whose `@main` only calls: those that `part_of` gives, the others the host's.

    Raises LaminaError when all are the host's.
    """
    functions = {op.sym_name.data: op for op in program.module.ops if isinstance(op, FuncOp)}
    main = main_function(program.module)
    assert isinstance(main, FuncOp)
    parts: dict[str, Part] = {}
    calls: list[_Call] = []
    for op in main.body.block.ops:
        if isinstance(op, CallOp):
            name = op.callee.root_reference.data
            if name not in parts:
                function = functions[name]
                parts[name] = part_of(function) or _host_part(function, program, compile_host)
            calls.append(_Call(parts[name], tuple(op.arguments), tuple(op.results)))
    if all(isinstance(part, HostPart) for part in parts.values()):
        raise LaminaError(
            "nothing in the model runs on a systolic array", hint="it takes quantised models: lamina quantize"
        )
    if tell is not None:
        for part in parts.values():
            tell(f"{part.name}: {part.told}")
    return PartedProgram(program.signature, main, calls, engine, tell, trace)


def _array_part(
    declared: FuncOp, functions: Mapping[str, FuncOp], streams: Mapping[str, list[Instruction]], weights: WeightStore
) -> ArrayPart:
    attributes = declared.attributes
    machine, name, dram = attributes[MACHINE], attributes[PROGRAM], attributes[DRAM]
    assert isinstance(machine, StringAttr) and isinstance(name, StringAttr) and isinstance(dram, IntegerAttr)
    body = functions[name.data]
    buffers: list[Buffer] = []
    shapes: list[tuple[int, ...]] = []
    for prefix, kind, key in (("x", "input", INPUTS), ("y", "output", OUTPUTS)):
        told = attributes[key]
        assert isinstance(told, ArrayAttr)
        for i, entry in enumerate(told.data):
            start, *shape = numbers_of(entry) or (0,)
            if kind == "input":
                shapes.append(tuple(shape))
            if shape:
                buffers.append(Buffer(f"{prefix}{i}", start, prod(shape[:4]), kind))
    constants: list[Constant] = []
    entries = attributes[CONSTANTS]
    assert isinstance(entries, ArrayAttr)
    for entry in entries.data:
        assert isinstance(entry, DictionaryAttr)
        key, offset = entry.data["key"], entry.data["offset"]
        assert isinstance(key, StringAttr) and isinstance(offset, IntegerAttr)
        data = np.ascontiguousarray(weights.get(key.data)).tobytes()
        constants.append(Constant(key.data, offset.value.data, data))
    binary = Binary(
        SystolicMachine.preset(machine.data), linked(body, streams), dram.value.data, tuple(buffers), tuple(constants)
    )
    results = declared.function_type.outputs.data
    outputs = [(tuple(t.get_shape()), dtype_of(t)) for t in results]  # pyright: ignore
    runs = [op for op in body.body.block.ops if isinstance(op, RunOp)]
    called = Counter(op.kernel.root_reference.data.rpartition("_")[0] for op in runs)
    return ArrayPart(declared.sym_name.data, binary, shapes, outputs, _told(called), [_layer(op) for op in runs])


def _layer(run: RunOp) -> Layer:
    """What is told of the layer of a kernel's run."""
    kernel, place = run.kernel.root_reference.data, describe_location(run.location)
    name = f"{kernel} of {place}" if place else kernel
    numbers = numbers_of(run.attributes[LAYER]) if LAYER in run.attributes else (0, 1, 1)
    products, windows, step = numbers
    return Layer(name, products, max(1.0, windows / step))


def _host_part(function: FuncOp, program: Program, compile_host: Callable[[Program], Executable]) -> HostPart:
    copy = function.clone()
    copy.properties["sym_name"] = StringAttr("main")
    copy.properties["sym_visibility"] = StringAttr("public")
    module = ModuleOp([copy])
    if OPSETS in program.module.attributes:
        module.attributes[OPSETS] = program.module.attributes[OPSETS]
    operators = Counter(
        op.operator for op in function.body.block.ops if isinstance(op, OnnxOp) and op.operator != "Constant"
    )
    return HostPart(function.sym_name.data, compile_host(Program(module, program.context.clone())), _told(operators))


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in counts.items())
