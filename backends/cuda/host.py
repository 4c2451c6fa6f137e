"""The host's part of a program on the level `gpu`: what is launched, in order, on which memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...compiler.places import describe_location
from ...compiler.program import main_function
from ...compiler.walking import all_ops
from ...dialects.gpu import DynamicSharedMemoryOp, LaunchFuncOp
from ...dialects.nvgpu import CreateDescriptorOp, TensorMapType

_VIEWS = (memref.CollapseShapeOp, memref.ExpandShapeOp, memref.CastOp)


@dataclass(frozen=True)
class Place:
    """Where an argument of a kernel lies: so many bytes into an `input`, an `output`, the `arena` or `constants`."""

    section: str
    index: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Tensor:
    """A tensor map that a kernel is given by value: sizes, strides in elements and box, outermost dimension first."""

    place: Place
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


@dataclass(frozen=True)
class Launch:
    """One kernel on a grid of blocks. `origin` is where in the model it comes from."""

    kernel: str
    arguments: tuple[Place | Tensor, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    origin: str


def launches_of(module: ModuleOp, inputs: int, outputs: int) -> list[Launch]:
    """What `@main` of a module on the level `gpu` launches, given how many inputs and outputs it has.

    Raises LaminaError where that depends on values: loops and conditions of the host are not run yet.
    """
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    main = main_function(module)
    assert isinstance(main, FuncOp)
    sections = [Place("input", i) for i in range(inputs)] + [Place("output", i) for i in range(outputs)]
    sections += [Place("arena"), Place("constants")]
    return _launches(main.body.block, sections, functions, "")


def _launches(block: Block, arguments: Sequence[Place], functions: Mapping[str, FuncOp], origin: str) -> list[Launch]:
    places: dict[SSAValue, Place] = dict(zip(block.args, arguments, strict=False))
    tensors: dict[SSAValue, Tensor] = {}
    found: list[Launch] = []
    for op in block.ops:
        match op:
            case memref.ViewOp():
                start = places[op.source]
                shift = start.offset + _constant(op.byte_shift, op)
                places[op.results[0]] = Place(start.section, start.index, shift)
            case _ if isinstance(op, _VIEWS):
                places[op.results[0]] = places[op.operands[0]]
            case func.CallOp():
                called = functions[op.callee.string_value()]
                where = describe_location(op.location) or origin
                found += _launches(called.body.block, [places[v] for v in op.arguments], functions, where)
            case CreateDescriptorOp():
                tensors[op.result] = _tensor(op, places[op.buffer])
            case LaunchFuncOp():
                name = op.callee.string_value()
                given = tuple(tensors.get(v) or places[v] for v in op.arguments)
                where = describe_location(op.location) or origin
                found.append(Launch(name, given, op.grid, op.block, shared_bytes(functions[name]), where))
            case func.ReturnOp() | arith.ConstantOp():
                pass
            case _:
                raise LaminaError("the host's part of a program for CUDA cannot do this", where=op)
    return found


def _tensor(op: CreateDescriptorOp, place: Place) -> Tensor:
    type_ = op.result.type
    assert isinstance(type_, TensorMapType)
    sizes, strides = (tuple(int(n) for n in numbers.get_values()) for numbers in (op.sizes, op.strides))
    return Tensor(place, dtype_of(type_.element_type).name, sizes, strides, type_.extents, type_.swizzle.data)


def _constant(value: SSAValue, op: Operation) -> int:
    owner = value.owner
    number = owner.properties.get("value") if isinstance(owner, arith.ConstantOp) else None
    if not isinstance(number, IntegerAttr):
        raise LaminaError("an offset that is no constant", where=op)
    return number.value.data


def shared_bytes(kernel: FuncOp) -> int:
    """The shared memory that a kernel's blocks are given."""
    sizes = [0]
    for op in all_ops(kernel):
        if isinstance(op, DynamicSharedMemoryOp):
            assert isinstance(op.result.type, MemRefType)
            sizes += op.result.type.get_shape()
    return max(sizes)
