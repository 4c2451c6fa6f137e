"""Parallel loops become calls of the thread pool, and the pool's context an explicit argument.

before:
    func.func @k(%a: memref<64xf32>) {
      scf.parallel (%i) = (%c0) to (%c64) step (%c1) { ... %a ... }
after:
    func.func @k(%a: memref<64xf32>, %ctx: !llvm.ptr) {
      %closure = llvm.alloca ...                       // holds what the body captures
      llvm.store %a, %closure
      llvm.call @lamina_parallel_for(%ctx, @k_task0, %closure, 64)
    llvm.func internal @k_task0(%closure, %begin: i64, %end: i64)   // unpacks the closure, calls
    func.func private @k_body0(%begin: index, %end: index, %a)      // runs iterations [begin, end)

Several dimensions are one linear range. Constants and views are computed again inside the body, so that what is
captured are distinct buffers and the body's arguments can be marked as not aliasing each other.
Parallel loops inside a parallel body run in sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.diagnostics import LaminaError
from ...compiler.walking import all_ops
from ...dialects.llvm.addressing import INBOUNDS, GEPOp
from ...dialects.llvm.text import NO_MEMCPY, ROLLED

PARALLEL_FOR = "lamina_parallel_for"
OpT = TypeVar("OpT", bound=Operation)
_INDEX = IndexType()
_POINTER = llvm.LLVMPointerType()
_VIEWS = (memref.SubviewOp, memref.CollapseShapeOp, memref.ExpandShapeOp, memref.ReinterpretCastOp, memref.CastOp)
_VIEWS_OF_BYTES = (memref.ViewOp,)


@dataclass(frozen=True)
class ConvertParallelToRuntime(ModulePass):
    """Parallel loops become calls of the thread pool, and the pool's context an explicit last argument."""

    name = "convert-parallel-to-runtime"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, func.FuncOp)]
        contexts = {function: _add_context(function) for function in functions if function.body.blocks}
        for function in functions:
            if not function.body.blocks:
                _append_context_type(function)
        called = False
        for function, context in contexts.items():
            for call in [c for c in all_ops(function) if isinstance(c, func.CallOp)]:
                call.operands = [*call.operands, context]
            for count, loop in enumerate(_outermost_parallel(function)):
                _outline(op, function, loop, context, count)
                called = True
        if called:
            signature = llvm.LLVMFunctionType([_POINTER, _POINTER, _POINTER, i64])
            declare = llvm.FuncOp(PARALLEL_FOR, signature, llvm.LinkageAttr("external"))
            Rewriter.insert_op(declare, InsertPoint.at_end(op.body.block))


def _append_context_type(function: func.FuncOp) -> None:
    old = function.function_type
    function.properties["function_type"] = FunctionType.from_lists([*old.inputs, _POINTER], list(old.outputs))
    if function.arg_attrs is not None:
        function.properties["arg_attrs"] = ArrayAttr([*function.arg_attrs, DictionaryAttr({})])


def _add_context(function: func.FuncOp) -> SSAValue:
    _append_context_type(function)
    block = function.body.blocks[0]
    context = block.insert_arg(_POINTER, len(block.args))
    context.name_hint = "ctx"
    return context


def _outermost_parallel(root: Operation) -> list[scf.ParallelOp]:
    """The parallel loops of `root` not inside another one; the inner ones are made sequential here."""
    found: list[scf.ParallelOp] = []

    def visit(op: Operation, inside: bool) -> None:
        for region in op.regions:
            for block in region.blocks:
                for child in list(block.ops):
                    parallel = isinstance(child, scf.ParallelOp)
                    visit(child, inside or parallel)
                    if parallel and inside:
                        _make_sequential(child)
                    elif parallel:
                        found.append(child)

    visit(root, False)
    return found


def _check_plain(loop: scf.ParallelOp) -> None:
    if loop.results:
        raise LaminaError("a parallel loop with a reduction cannot be given to threads", where=loop)


def _make_sequential(loop: scf.ParallelOp) -> None:
    _check_plain(loop)
    block = loop.body.block
    last = block.last_op
    assert isinstance(last, scf.ReduceOp)
    body = loop.detach_region(loop.body)
    bounds = list(zip(loop.lowerBound, loop.upperBound, loop.step, strict=True))
    variables = list(block.args)
    Rewriter.erase_op(last)
    for variable, (lower, upper, step) in reversed(list(zip(variables, bounds, strict=True))):
        inner = Block(arg_types=[_INDEX])
        variable.replace_all_uses_with(inner.args[0])
        if block.parent is not None:
            body.detach_block(block)
        for op in list(block.ops):
            op.detach()
            inner.add_op(op)
        inner.add_op(_placed(scf.YieldOp(), loop))
        block = Block([_placed(scf.ForOp(lower, upper, step, [], Region(inner)), loop)])
    for op in list(block.ops):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(loop))
    Rewriter.erase_op(loop)


def _placed(op: OpT, origin: Operation) -> OpT:
    op.location = origin.location
    return op


class _Builder:
    """Appends ops at one point, each with the location of the loop."""

    def __init__(self, point: InsertPoint, origin: Operation):
        self.point = point
        self.origin = origin

    def __call__(self, op: OpT) -> OpT:
        Rewriter.insert_op(_placed(op, self.origin), self.point)
        return op

    def index(self, number: int) -> SSAValue:
        return self(arith.ConstantOp(IntegerAttr(number, _INDEX))).result

    def binary(self, op: type[Operation], a: SSAValue, c: SSAValue) -> SSAValue:
        return self(op.create(operands=[a, c], result_types=[_INDEX])).results[0]


def _outline(module: ModuleOp, function: func.FuncOp, loop: scf.ParallelOp, context: SSAValue, count: int) -> None:
    _check_plain(loop)
    name = function.sym_name.data
    body_name, task_name = f"{name}_body{count}", f"{name}_task{count}"
    b = _Builder(InsertPoint.before(loop), loop)
    trips = [_trips(b, *bounds) for bounds in zip(loop.lowerBound, loop.upperBound, loop.step, strict=True)]
    total = trips[0]
    for trip in trips[1:]:
        total = _product(b, total, trip)

    outside = _from_outside(loop)
    captured = _captured(loop, trips, outside)
    body = _make_body(loop, body_name, trips, captured, outside)
    for told in (NO_MEMCPY, ROLLED):
        if told in function.attributes:
            body.attributes[told] = function.attributes[told]
    task = _make_task(task_name, body_name, captured, loop)
    for new in (body, task):
        Rewriter.insert_op(_placed(new, loop), InsertPoint.at_end(module.body.block))

    types = [_stored(value.type) for value in captured]
    struct = llvm.LLVMStructType.from_type_list(types)
    entry = _Builder(InsertPoint.at_start(function.body.blocks[0]), loop)
    one = entry(llvm.ConstantOp(IntegerAttr(1, i64), i64)).result
    closure = entry(llvm.AllocaOp(one, struct, alignment=64)).res
    for i, (value, type_) in enumerate(zip(captured, types, strict=True)):
        field = b(GEPOp(closure, [0, i], struct, flags=INBOUNDS)).res
        b(llvm.StoreOp(_cast(b, value, type_), field))
    address = b(llvm.AddressOfOp(task_name, _POINTER)).result
    b(llvm.CallOp(PARALLEL_FOR, context, address, closure, _cast(b, total, i64)))
    Rewriter.erase_op(loop)


def _constant(value: SSAValue) -> int | None:
    if isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp):
        attribute = value.op.value
        return attribute.value.data if isinstance(attribute, IntegerAttr) else None
    return None


def _trips(b: _Builder, lower: SSAValue, upper: SSAValue, step: SSAValue) -> SSAValue:
    numbers = [_constant(value) for value in (lower, upper, step)]
    low, high, by = numbers
    if low is not None and high is not None and by is not None:
        return b.index(max(0, -((low - high) // by)))
    span = b.binary(arith.SubiOp, upper, lower)
    trips = b.binary(arith.CeilDivSIOp, span, step)
    return b.binary(arith.MaxSIOp, trips, b.index(0))


def _product(b: _Builder, a: SSAValue, c: SSAValue) -> SSAValue:
    left, right = _constant(a), _constant(c)
    if left is not None and right is not None:
        return b.index(left * right)
    return b.binary(arith.MuliOp, a, c)


def _rebuilt(value: SSAValue) -> Operation | None:
    """The op to run again in the body instead of capturing its result."""
    if isinstance(value, OpResult) and isinstance(value.op, (arith.ConstantOp, *_VIEWS, *_VIEWS_OF_BYTES)):
        return value.op
    return None


def _captured(loop: scf.ParallelOp, trips: Sequence[SSAValue], outside: Sequence[SSAValue]) -> list[SSAValue]:
    """The values from outside that the body needs, in order of first use; what is rebuilt counts by its operands."""
    found: dict[SSAValue, None] = {}

    def need(value: SSAValue) -> None:
        if (op := _rebuilt(value)) is not None:
            for operand in op.operands:
                need(operand)
        else:
            found[value] = None

    for value in (*loop.lowerBound, *loop.step, *trips):
        need(value)
    for value in outside:
        need(value)
    return list(found)


def _from_outside(loop: scf.ParallelOp) -> list[SSAValue]:
    """The operands inside `loop` that are defined outside of it, in order of first use."""
    inside: set[SSAValue] = set(loop.body.block.args)
    found: dict[SSAValue, None] = {}
    for op in loop.body.walk():
        for operand in op._operands:  # pyright: ignore[reportPrivateUsage]  # `operands` makes an object at each call
            if operand not in inside:
                found[operand] = None
        inside.update(op.results)
        for region in op.regions:
            for block in region.blocks:
                inside.update(block.args)
    return list(found)


def _make_body(
    loop: scf.ParallelOp,
    name: str,
    trips: Sequence[SSAValue],
    captured: Sequence[SSAValue],
    outside: Sequence[SSAValue],
) -> func.FuncOp:
    block = Block(arg_types=[_INDEX, _INDEX, *(value.type for value in captured)])
    begin, end, *arguments = block.args
    inside: dict[SSAValue, SSAValue] = dict(zip(captured, arguments, strict=True))
    b = _Builder(InsertPoint.at_end(block), loop)

    def value(outer: SSAValue) -> SSAValue:
        known = inside.get(outer)
        if known is not None:
            return known
        op = _rebuilt(outer)
        assert op is not None
        copy = b(op.clone({operand: value(operand) for operand in op.operands}))
        known = inside[outer] = copy.results[0]
        return known

    starts, steps = ([value(v) for v in side] for side in (loop.lowerBound, loop.step))
    inner_trips = [value(trip) for trip in trips]
    for outer in outside:
        value(outer)

    per_item = Block(arg_types=[_INDEX])
    one = b.index(1)
    p = _Builder(InsertPoint.at_end(per_item), loop)
    variables = _delinearize(p, per_item.args[0], starts, steps, inner_trips)
    source = loop.body.block
    for variable, new in zip(source.args, variables, strict=True):
        variable.replace_all_uses_with(new)
    last = source.last_op
    assert last is not None
    Rewriter.erase_op(last)
    for op in list(source.ops):
        op.detach()
        per_item.add_op(op)
    for op in per_item.walk():
        if any(operand in inside for operand in op._operands):  # pyright: ignore[reportPrivateUsage]
            op.operands = [inside.get(operand, operand) for operand in op.operands]
    p(scf.YieldOp())
    b(scf.ForOp(begin, end, one, [], Region(per_item)))
    b(func.ReturnOp())
    types = FunctionType.from_lists([arg.type for arg in block.args], [])
    distinct = DictionaryAttr({"llvm.noalias": UnitAttr()})
    attributes = [distinct if isinstance(arg.type, MemRefType) else DictionaryAttr({}) for arg in block.args]
    body = func.FuncOp(name, types, Region(block), "private", arg_attrs=ArrayAttr(attributes))
    body.attributes["no_inline"] = UnitAttr()  # as a function of its own it keeps what its arguments promise
    return body


def _delinearize(
    b: _Builder, linear: SSAValue, starts: Sequence[SSAValue], steps: Sequence[SSAValue], trips: Sequence[SSAValue]
) -> list[SSAValue]:
    counts: list[SSAValue] = []
    for trip in reversed(trips[1:]):
        counts.append(b.binary(arith.RemUIOp, linear, trip))
        linear = b.binary(arith.DivUIOp, linear, trip)
    counts.append(linear)
    variables: list[SSAValue] = []
    for count, start, step in zip(reversed(counts), starts, steps, strict=True):
        scaled = count if _constant(step) == 1 else b.binary(arith.MuliOp, count, step)
        variables.append(scaled if _constant(start) == 0 else b.binary(arith.AddiOp, scaled, start))
    return variables


def _stored(type_: Attribute) -> Attribute:
    """The type a captured value has in the closure."""
    if isinstance(type_, MemRefType):
        return _POINTER
    if isinstance(type_, IndexType):
        return i64
    if isinstance(type_, VectorType) and isinstance(type_.element_type, IndexType):
        return VectorType(i64, type_.get_shape())
    return type_


def _cast(b: _Builder, value: SSAValue, type_: Attribute) -> SSAValue:
    """A cast that convert-to-llvm folds away, once both sides have one type."""
    if value.type == type_:
        return value
    return b(UnrealizedConversionCastOp.get([value], [type_])).results[0]


def _make_task(name: str, body: str, captured: Sequence[SSAValue], loop: Operation) -> llvm.FuncOp:
    types = [_stored(value.type) for value in captured]
    struct = llvm.LLVMStructType.from_type_list(types)
    block = Block(arg_types=[_POINTER, i64, i64])
    closure, begin, end = block.args
    b = _Builder(InsertPoint.at_end(block), loop)
    arguments = [_cast(b, begin, _INDEX), _cast(b, end, _INDEX)]
    for i, (value, type_) in enumerate(zip(captured, types, strict=True)):
        field = b(GEPOp(closure, [0, i], struct, flags=INBOUNDS)).res
        arguments.append(_cast(b, b(llvm.LoadOp(field, type_)).dereferenced_value, value.type))
    b(func.CallOp(body, arguments, []))
    b(llvm.ReturnOp())
    return llvm.FuncOp(name, llvm.LLVMFunctionType([_POINTER, i64, i64]), body=Region(block))
