"""func and cf to llvm; `@main` becomes the native entry `i32 @lamina_main(inputs, outputs, arena, constants, ctx)`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf, func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ....compiler.conversion import RuleBuilder
from ....compiler.program import SIGNATURE, signature_of
from ....dialects.llvm.addressing import INBOUNDS, GEPOp
from ....dialects.llvm.text import NO_MEMCPY, ROLLED, UNROLL
from ....dialects.nvgpu import TensorMapType
from .memref import is_identity
from .rules import POINTER, RULES, element_bytes, llvm_type

ENTRY = "lamina_main"
MAIN = "main"
TENSOR_MAP: dict[str, Attribute] = {  # given by value, the same for the whole grid
    "llvm.byval": llvm.LLVMArrayType(128, i8),
    "llvm.align": IntegerAttr(64, i64),
    "llvm.grid_constant": UnitAttr(),
}
# attributes of functions that LLVM, or what prints for it, wants
KEPT = ("no_inline", "passthrough", "nvvm.kernel", NO_MEMCPY, ROLLED)


def _is_entry(op: func.FuncOp) -> bool:
    return op.sym_name.data == MAIN and bool(op.body.blocks)


def _argument_attributes(op: func.FuncOp) -> ArrayAttr[DictionaryAttr]:
    """What LLVM may assume: a kernel's buffers are apart, exist in full and are aligned to their element."""
    kernel = "lamina.kernel" in op.attributes or "nvvm.kernel" in op.attributes
    given = op.arg_attrs.data if op.arg_attrs else [DictionaryAttr({})] * len(op.function_type.inputs)
    result: list[DictionaryAttr] = []
    for type_, attributes in zip(op.function_type.inputs, given, strict=True):
        told: dict[str, Attribute] = {k: v for k, v in attributes.data.items() if k.startswith("llvm.")}
        if isinstance(type_, MemRefType):
            if kernel:
                told["llvm.noalias"] = UnitAttr()
            told["llvm.nonnull"] = UnitAttr()
            told["llvm.noundef"] = UnitAttr()
            told["llvm.align"] = IntegerAttr(element_bytes(type_.element_type), i64)
            size = element_bytes(type_.element_type)
            for extent in type_.get_shape():
                size *= extent
            if type_.has_static_shape() and is_identity(type_) and size > 0:
                told["llvm.dereferenceable"] = IntegerAttr(size, i64)
        elif isinstance(type_, TensorMapType):
            told |= TENSOR_MAP
        result.append(DictionaryAttr(told))
    return ArrayAttr(result)


@RULES.lowers(func.FuncOp)
def lower_func(op: func.FuncOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    if _is_entry(op):
        _lower_entry(op, b)
        return
    outputs = list(op.function_type.outputs)
    if len(outputs) > 1:
        raise b.fail("a function with several results", "kernels write to buffers given to them")
    type_ = llvm.LLVMFunctionType(
        [llvm_type(t) for t in op.function_type.inputs], llvm_type(outputs[0]) if outputs else None
    )
    private = op.sym_visibility is not None and op.sym_visibility.data == "private" and op.body.blocks
    attributes = {key: op.attributes[key] for key in KEPT if key in op.attributes}
    body = b.convert_region(op.body)
    b(
        llvm.FuncOp(
            op.sym_name,
            type_,
            llvm.LinkageAttr("internal" if private else "external"),
            body=body,
            other_props={"arg_attrs": _argument_attributes(op)},
            extra_attrs=attributes,
        )
    )


def _lower_entry(op: func.FuncOp, b: RuleBuilder) -> None:
    inputs, outputs = _counts(op, b)
    body = b.convert_region(op.body)
    block = body.blocks[0]
    old = list(block.args)
    if len(old) - inputs - outputs not in (2, 3):
        raise b.fail(
            f"@main takes {len(old)} arguments, expected {inputs} inputs, {outputs} outputs, the arena, the constants"
        )
    entry = [block.insert_arg(POINTER, i) for i in range(5)]
    names = ("inputs", "outputs", "arena", "constants", "ctx")
    for arg, name in zip(entry, names, strict=True):
        arg.name_hint = name
    made: list[Operation] = []

    def element(array: SSAValue, index: int) -> SSAValue:
        address = GEPOp(array, [index], POINTER, flags=INBOUNDS)
        value = llvm.LoadOp(address.res, POINTER, alignment=8)
        made.extend((address, value))
        return value.dereferenced_value

    values = [element(entry[0], i) for i in range(inputs)] + [element(entry[1], i) for i in range(outputs)]
    for argument, value in zip(old, [*values, *entry[2:]], strict=False):
        argument.replace_all_uses_with(value)
        value.name_hint = argument.name_hint
    for argument in reversed(old):
        block.erase_arg(argument)
    first = block.first_op
    for new in made:
        new.location = op.location
    if first is not None:
        block.insert_ops_before(made, first)
    type_ = llvm.LLVMFunctionType([POINTER] * 5, i32)
    b(llvm.FuncOp(ENTRY, type_, llvm.LinkageAttr("external"), body=body))


def _counts(op: func.FuncOp, b: RuleBuilder) -> tuple[int, int]:
    """How many inputs and outputs `@main` has: from the signature on the module, or written on the function."""
    module = op.parent_op()
    if isinstance(module, ModuleOp) and SIGNATURE in module.attributes:
        signature = signature_of(module)
        return len(signature.inputs), len(signature.outputs)
    counts = [op.attributes.get(name) for name in ("lamina.inputs", "lamina.outputs")]
    found = [count.value.data for count in counts if isinstance(count, IntegerAttr)]
    if len(found) != 2:
        raise b.fail(
            "@main does not say how many inputs and outputs it has",
            f"attributes lamina.inputs and lamina.outputs on it, or {SIGNATURE} on the module",
        )
    return found[0], found[1]


@RULES.lowers(func.ReturnOp)
def lower_return(op: func.ReturnOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    parent = op.parent_op()
    if isinstance(parent, func.FuncOp) and _is_entry(parent):
        b(llvm.ReturnOp(b(llvm.ConstantOp(IntegerAttr(0, i32), i32)).result))
    else:
        b(llvm.ReturnOp(*operands))


@RULES.lowers(func.CallOp)
def lower_call(op: func.CallOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    result = llvm_type(op.results[0].type) if op.results else None
    return b(llvm.CallOp(op.callee.string_value(), *operands, return_type=result)).results


@RULES.lowers(cf.BranchOp)
def lower_br(op: cf.BranchOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    _keep_rounds(op, b(llvm.BrOp(op.successor, *operands)))


@RULES.lowers(cf.ConditionalBranchOp)
def lower_cond_br(op: cf.ConditionalBranchOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    flag, *rest = operands
    count = len(op.then_arguments)
    _keep_rounds(op, b(llvm.CondBrOp(flag, op.then_block, rest[:count], op.else_block, rest[count:])))


def _keep_rounds(op: Operation, branch: Operation) -> None:
    """A branch back still says how many rounds of its loop have code at once."""
    if UNROLL in op.attributes:
        branch.attributes[UNROLL] = op.attributes[UNROLL]


@RULES.lowers(llvm.FuncOp)
def keep_function(op: llvm.FuncOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    """Already ours; only what is inside converts."""
    body: Region = b.convert_region(op.body)
    new = llvm.FuncOp(
        op.sym_name,
        op.function_type,
        op.linkage,
        body=body,
        other_props={key: value for key, value in op.properties.items() if key.endswith("_attrs")},
        extra_attrs=op.attributes,
    )
    b(new)
