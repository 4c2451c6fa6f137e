"""What LLVM is told of functions beside their code: how wide registers are, and that spilled ones lie in lines."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, VectorType
from xdsl.ir import Attribute, Block, SSAValue

from ....compiler.machine import Machine

STACK = 16  # bytes: how the stack is aligned where a function is called
POINTER = 64  # bits
PREFERRED = 32  # bytes of the widest vectors that LLVM leaves whole on every processor


def describe_functions(module: ModuleOp, machine: Machine) -> None:
    """Adds LLVM's attributes to functions that have a body.

    With 512-bit registers LLVM halves wide vectors for some processors unless told otherwise. And it aligns the places
    of spilled registers only in functions that have a frame pointer anyway: elsewhere some lie across two lines, or, by
    where the stack begins in this process, across two pages, which takes a kernel twice its time.

    A frame pointer also keeps `rbp` from being what loads of arrays are told from, which some processors are slow at,
    perhaps since they look for what was stored on the stack: one loop of 512 x 768 x 768, instruction by instruction
    the same, takes 4.4 ms without it instead of 4.9, of 197 x 768 x 768 1.48 instead of 1.58, seven networks 0.91 to
    1.06 of the time, 0.975 on average; measured on Emerald Rapids.
    """
    for function in module.ops:
        if not isinstance(function, llvm.FuncOp) or not function.body.blocks:
            continue
        words: list[tuple[str, str]] = []
        if machine.vector_bytes > PREFERRED:
            words.append(("prefer-vector-width", str(8 * machine.vector_bytes)))
        if machine.keeps_rbp or (machine.vector_bytes > STACK and _spills(function, machine)):
            words.append(("frame-pointer", "all"))
        if words:
            pairs = [ArrayAttr([StringAttr(name), StringAttr(value)]) for name, value in words]
            function.attributes["passthrough"] = ArrayAttr[Attribute](pairs)


def _spills(function: llvm.FuncOp, machine: Machine) -> bool:
    """Whether LLVM surely keeps some vectors in memory: with twice as many at a time as registers.

    That is in the order of the program, where a product loads all its operands before it uses the first.
    """
    return any(_most_registers(block, machine) > 2 * machine.vector_registers for block in function.body.blocks)


def _most_registers(block: Block, machine: Machine) -> int:
    """The most registers of vectors that are needed at the same time; what comes from other blocks is needed in all."""
    ops = list(block.ops)
    live: dict[SSAValue, int] = {}
    for op in ops:
        for operand in op.operands:
            if isinstance(operand.type, VectorType) and _home(operand) is not block:
                live[operand] = _registers(operand.type, machine)
        for result in op.results:
            if isinstance(result.type, VectorType) and any(use.operation.parent is not block for use in result.uses):
                live[result] = _registers(result.type, machine)
    total = most = sum(live.values())
    for op in reversed(ops):
        for result in op.results:
            total -= live.pop(result, 0)
        for operand in op.operands:
            if isinstance(operand.type, VectorType) and operand not in live:
                live[operand] = _registers(operand.type, machine)
                total += live[operand]
        most = max(most, total)
    return most


def _home(value: SSAValue) -> Block | None:
    """The block that defines it."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def _registers(type_: VectorType, machine: Machine) -> int:
    (lanes,) = type_.get_shape()
    return -(-lanes * getattr(type_.element_type, "bitwidth", POINTER) // (8 * machine.vector_bytes))
