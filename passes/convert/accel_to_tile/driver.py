"""The pass: one function of layers after the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    i8,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.memref import ViewOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.systolic_machine import SystolicMachine
from ....compiler.weights import WeightStore
from ....dialects import accel
from ....dialects.accel.ops import integers, shape_of
from ....dialects.stablehlo.constants import constant_value
from ....dialects.tile.memory import tile_type
from ...systolic.dram import Place, aligned, arrange
from ...systolic.names import CONSTANTS, DRAM, INPUTS, LAYER, MACHINE, OUTPUTS, PROGRAM
from .kernels import CONVOLUTIONS, Kernels, geometry_of


@dataclass(frozen=True)
class ConvertAccelToTile(ModulePass):
    """Lowers the functions that name a machine."""

    name = "convert-accel-to-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels, weights = Kernels(), lamina_context(ctx).weights
        for function in list(op.ops):
            name = function.attributes.get(MACHINE)
            if isinstance(function, FuncOp) and isinstance(name, StringAttr) and not function.is_declaration:
                _Lowering(function, SystolicMachine.preset(name.data), kernels, weights).run(op)
        for kernel in kernels.made.values():
            op.body.block.add_op(kernel)


class _Lowering:
    def __init__(self, function: FuncOp, machine: SystolicMachine, kernels: Kernels, weights: WeightStore):
        self.function, self.machine, self.kernels, self.weights = function, machine, kernels, weights
        self.places: dict[SSAValue, Place] = {}
        self.inside: dict[SSAValue, tuple[SSAValue, int]] = {}  # of which image they are channels, from which one on
        self.constants: list[tuple[SSAValue, int, int]] = []  # with offset and bytes

    def run(self, module: ModuleOp) -> None:
        dram = self._plan()
        name = f"{self.function.sym_name.data}_program"
        type_ = FunctionType.from_lists([tile_type([dram], i8, "dram")], [])
        program = FuncOp(name, type_, visibility="private")
        program.attributes[MACHINE] = StringAttr(self.machine.name)
        program.args[0].name_hint = "dram"
        self.offsets: dict[int, SSAValue] = {}
        for op in self.function.body.block.ops:
            if isinstance(op, accel.LayerOp):
                self._calls(op, program)
        program.body.block.add_op(ReturnOp())
        module.body.block.insert_op_after(program, self.function)
        self._declare(name, dram)

    def _plan(self) -> int:
        """Gives constants and images their places; the bytes of DRAM that are used."""
        ops = list(self.function.body.block.ops)
        at = 0
        for step, op in enumerate(ops):
            match op:
                case ConstantOp():
                    array = constant_value(op, self.weights)
                    assert array is not None
                    self.constants.append((op.result, at, array.nbytes))
                    self.places[op.result] = Place(array.nbytes, 0, len(ops), at)
                    at = aligned(at + array.nbytes)
                case accel.EnterOp():
                    self.places[op.result] = Place(_bytes(op.result), 0, step)
                case accel.LayerOp():
                    self.places[op.result] = Place(_bytes(op.result), step, step)
                    for operand in op.operands:
                        self.places[operand].last = max(self.places[operand].last, step)
                    if isinstance(op, accel.ConcatOp):
                        self._joined(op)
                case accel.LeaveOp():
                    self.places[op.source].last = len(ops)
                case ReturnOp():
                    pass
                case _:
                    raise LaminaError("is no layer of an accelerator", where=op)
        images = [place for place in self.places.values() if place.start < 0]
        grouped = [op for op in ops if isinstance(op, accel.GroupedConvOp | accel.ConcatOp)]
        # views of a group, or a part, begin and end later
        beyond = max((shape_of(value)[3] for op in grouped for value in (*op.images, op.result)), default=0)
        return max(aligned(1), arrange(images, at) + aligned(beyond))

    def _joined(self, op: accel.ConcatOp) -> None:
        """Convolutions that nobody else reads write into the joined image, which so begins with the first of them."""
        first, whole = 0, self.places[op.result]
        for value in op.parts:
            if isinstance(value.owner, CONVOLUTIONS) and len(list(value.uses)) == 1:
                self.inside[value] = op.result, first
                whole.first = min(whole.first, self.places.pop(value).first)
            first += shape_of(value)[3]

    def _start(self, value: SSAValue, turn: int, turns: int) -> int:
        """Where an image, or the `turn`th of `turns` equal parts of one, begins."""
        whole, first = self.inside.get(value, (value, 0))
        return self.places[whole].start + turn * (_bytes(whole) // turns) + first

    def _view(self, offset: int, type_: Attribute, program: FuncOp) -> SSAValue:
        assert isinstance(type_, MemRefType)
        block = program.body.block
        if offset not in self.offsets:
            constant = ConstantOp(IntegerAttr(offset, IndexType()))
            block.add_op(constant)
            self.offsets[offset] = constant.result
        view = ViewOp.build(operands=[program.args[0], self.offsets[offset], []], result_types=[type_])
        block.add_op(view)
        return view.results[0]

    def _copies(self, op: accel.ConcatOp, program: FuncOp) -> None:
        """A call for each part of each image."""
        images, height, width, pitch = shape_of(op.result)
        first, pixels = 0, height * width
        for value in op.parts:
            channels = shape_of(value)[3]
            if value in self.inside:
                first += channels
                continue
            kernel = self.kernels.copy(pixels, channels, pitch, self.machine)
            x, y = kernel.function_type.inputs
            for image in range(images):
                source = self._start(value, image, images)
                target = self._start(op.result, image, images) + first
                self._call(kernel, [self._view(source, x, program), self._view(target, y, program)], op, {}, program)
            first += channels

    def _call(
        self,
        kernel: FuncOp,
        arguments: list[SSAValue],
        op: accel.LayerOp,
        told: dict[str, Attribute],
        program: FuncOp,
    ) -> None:
        call = CallOp(kernel.sym_name.data, arguments, [])
        call.location = op.location
        call.attributes |= told
        program.body.block.add_op(call)

    def _calls(self, op: accel.LayerOp, program: FuncOp) -> None:
        """One call of the kernel for each image, or part of one, and each group."""
        if isinstance(op, accel.ConcatOp):
            self._copies(op, program)
            return
        whole = self.inside.get(op.result, (None, 0))[0]
        kernel = self.kernels.kernel(op, self.machine, 0 if whole is None else shape_of(whole)[3])
        types = list(kernel.function_type.inputs)
        images = {*op.images, op.result}
        values = [*op.operands, op.result]
        told: dict[str, Attribute] = {}
        if isinstance(op, accel.ConvOp | accel.ConvAddOp | accel.ConvPoolOp | accel.GroupedConvOp):
            g = geometry_of(op)
            told[LAYER] = integers([g.products, prod(g.kernel), prod(g.strides)])
        elif isinstance(op, accel.ProductOp):
            told[LAYER] = integers([prod(op.sizes), 1, 1])
        groups = op.groups if isinstance(op, accel.WindowedOp) else 1
        turns = shape_of(op.result)[0] * op.repeats
        for turn, group in product(range(turns), range(groups)):
            arguments: list[SSAValue] = []
            for value, type_ in zip(values, types, strict=True):
                if value in images:
                    start = self._start(value, turn, turns) + group * shape_of(value)[3] // groups
                else:
                    start = self.places[value].start + group * _bytes(value) // groups
                arguments.append(self._view(start, type_, program))
            self._call(kernel, arguments, op, told, program)

    def _declare(self, name: str, dram: int) -> None:
        """What is left of the function: its type, and where its borders lie."""
        block = self.function.body.block
        entered = {op.source: op for op in block.ops if isinstance(op, accel.EnterOp)}
        left: dict[SSAValue, SSAValue] = {op.result: op.source for op in block.ops if isinstance(op, accel.LeaveOp)}
        last = block.last_op
        assert isinstance(last, ReturnOp)
        attributes = self.function.attributes
        attributes[PROGRAM], attributes[DRAM] = StringAttr(name), IntegerAttr(dram, i64)
        attributes[INPUTS] = ArrayAttr([self._entered(entered.get(arg)) for arg in block.args])
        attributes[OUTPUTS] = ArrayAttr([self._border(left[value]) for value in last.operands])
        attributes[CONSTANTS] = ArrayAttr([self._constant(value, start) for value, start, _ in self.constants])
        type_ = self.function.function_type
        declaration = FuncOp.external(self.function.sym_name.data, type_.inputs.data, type_.outputs.data)
        declaration.attributes.update(attributes)
        parent = self.function.parent
        assert parent is not None
        parent.insert_op_before(declaration, self.function)
        self.function.detach()
        self.function.erase()

    def _entered(self, op: accel.EnterOp | None) -> Attribute:
        return integers([] if op is None else [self.places[op.result].start, *shape_of(op.result), *op.gathered])

    def _border(self, image: SSAValue) -> Attribute:
        return integers([self.places[image].start, *shape_of(image)])

    def _constant(self, value: SSAValue, start: int) -> Attribute:
        owner = value.owner
        assert isinstance(owner, Operation)
        attr = owner.properties["value"]
        if not isinstance(attr, DenseResourceAttr):
            array = constant_value(value, self.weights)
            assert array is not None
            key = self.weights.add(array, "constant")
        else:
            key = attr.resource_handle.data
        return DictionaryAttr({"key": StringAttr(key), "offset": IntegerAttr(start, i64)})


def _bytes(value: SSAValue) -> int:
    type_ = value.type
    assert isinstance(type_, TensorType)
    return prod(type_.get_shape()) * dtype_of(type_).itemsize
