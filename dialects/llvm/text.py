"""Prints a module of the llvm dialect as LLVM IR text.

A dispatch over ops that decides nothing: every flag, alignment and attribute was chosen before. Values are
numbered per function, constants stand where they are used, block arguments become phis.
Intrinsics are printed without their type suffix and without a declaration; LLVM's reader completes both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.utils.hints import isa

from ...compiler.diagnostics import LaminaError
from .addressing import GEPOp
from .instructions import (
    ATOMIC_BIN_OPS,
    ORDERING_BY_VALUE,
    AddrSpaceCastOp,
    AtomicCmpXchgOp,
    AtomicRMWOp,
    ExtractElementOp,
    FCmpOp,
    FenceOp,
    FPToSIOp,
    FPToUIOp,
    FreezeOp,
    PoisonOp,
    SelectOp,
    SwitchOp,
    UIToFPOp,
)
from .literals import constant_text, type_text
from .target_instruction import TargetInstruction

UNROLL = "lamina.unroll"  # on a loop, then on its branch back: code for so many rounds at once
NO_MEMCPY = "llvm.no_memcpy"  # on a function: its loops that copy are as they should be, no calls are to replace them
ROLLED = "llvm.rolled"  # on a function: its loops are as they should be, nobody is to unroll them
_BARE_ARGUMENT_ATTRIBUTES = (
    "noalias",
    "nonnull",
    "noundef",
    "readonly",
    "writeonly",
    "signext",
    "zeroext",
    "nofree",
)
_BARE_FUNCTION_ATTRIBUTES = {
    "no_inline": "noinline",
    "no_unwind": "nounwind",
    "always_inline": "alwaysinline",
    NO_MEMCPY: '"no-builtin-memcpy"',
}


def print_module(module: ModuleOp, *, triple: str = "", data_layout: str = "", as_told: bool = False) -> str:
    """The LLVM IR of `module`. With `as_told`, LLVM is to unroll those loops alone that say how far (UNROLL).

    Raises LaminaError at an op that is not of the llvm dialect.
    """
    lines: list[str] = []
    if data_layout:
        lines.append(f'target datalayout = "{data_layout}"')
    if triple:
        lines.append(f'target triple = "{triple}"')
    for op in module.body.block.ops:
        match op:
            case llvm.FuncOp():
                _function(op, lines, as_told)
            case llvm.GlobalOp():
                lines.append(_global(op))
            case _:
                raise LaminaError("not an operation of the llvm dialect", where=op)
    nontemporal, unrolled = False, set[int]()
    for op in module.walk():
        nontemporal = nontemporal or (isinstance(op, llvm.StoreOp) and op.nontemporal is not None)
        if UNROLL in op.attributes:
            unrolled.add(_unrolled(op))
    if nontemporal:
        lines.append(f"{_NONTEMPORAL} = !{{i32 1}}")
    for count in sorted(unrolled):
        lines += [f'!{_LOOPS + count} = distinct !{{!{_LOOPS + count}, !{{!"llvm.loop.unroll.count", i32 {count}}}}}']
    if as_told or any(ROLLED in op.attributes for op in module.body.block.ops):
        lines += [f"{_ROLLED} = distinct !{{{_ROLLED}, !2}}", '!2 = !{!"llvm.loop.unroll.disable"}']
    return "\n".join(lines) + "\n"


def _unrolled(op: Operation) -> int:
    """The rounds that code of a loop has at once, told on the branch back."""
    count = op.attributes[UNROLL]
    if not isinstance(count, IntegerAttr) or count.value.data < 1:
        raise LaminaError(f"{UNROLL} = {count} is no number of rounds", where=op, hint="an integer above 0")
    return count.value.data


def _global(op: llvm.GlobalOp) -> str:
    linkage = op.linkage.linkage.data
    kind = "constant" if op.constant is not None else "global"
    value = "zeroinitializer" if op.value is None else constant_text(op.value, op.global_type)
    if linkage == "external":
        linkage, value = ("external", "") if op.value is None else ("", value)
    align = f", align {op.alignment.value.data}" if op.alignment else ""
    space = f"addrspace({op.addr_space.value.data})" if op.addr_space.value.data else ""
    text = " ".join(filter(None, (linkage, space, kind, type_text(op.global_type), value)))
    return f"@{op.sym_name.data} = {text}{align}"


def _argument_attributes(attributes: DictionaryAttr | None) -> str:
    if attributes is None:
        return ""
    words: list[str] = []
    for key, value in attributes.data.items():
        name = key.removeprefix("llvm.")
        if name in _BARE_ARGUMENT_ATTRIBUTES and isinstance(value, UnitAttr):
            words.append(name)
        elif name == "byval" and isinstance(value, TypeAttribute):
            words.append(f"byval({type_text(value)})")
        elif name == "grid_constant":
            words.append('"nvvm.grid_constant"')
        elif name == "align" and isinstance(value, IntegerAttr):
            words.append(f"align {value.value.data}")
        elif name == "dereferenceable" and isinstance(value, IntegerAttr):
            words.append(f"dereferenceable({value.value.data})")
        elif name == "captures":
            words.append("captures(none)")
        elif key.startswith("llvm."):
            raise LaminaError(f"argument attribute {key} has no counterpart in LLVM IR")
    return "".join(" " + word for word in words)


def _function_attributes(op: llvm.FuncOp) -> str:
    words: list[str] = []
    for key, word in _BARE_FUNCTION_ATTRIBUTES.items():
        if key in op.properties or key in op.attributes:
            words.append(word)
    passthrough = op.properties.get("passthrough") or op.attributes.get("passthrough")
    if isa(passthrough, ArrayAttr[Attribute]):
        for item in passthrough:
            if isinstance(item, StringAttr):
                words.append(item.data)
            elif isa(item, ArrayAttr[StringAttr]):
                words.append("=".join(f'"{part.data}"' for part in item))
    return "".join(" " + word for word in words)


def _function(op: llvm.FuncOp, lines: list[str], as_told: bool) -> None:
    linkage = op.linkage.linkage.data
    attributes = list(op.arg_attrs) if op.arg_attrs else [None] * len(op.function_type.inputs)
    words = "" if linkage == "external" else f"{linkage} "
    hidden = "hidden " if op.visibility_.value.data == 1 else ""
    result = type_text(op.function_type.output)
    launched = "ptx_kernel " if "nvvm.kernel" in op.attributes else ""
    head = f"{words}{hidden}{launched}{result} @{op.sym_name.data}"
    parameters = [
        type_text(type_) + _argument_attributes(attrs)
        for type_, attrs in zip(op.function_type.inputs, attributes, strict=True)
    ]
    if not op.body.blocks:
        variadic = ["..."] if op.function_type.is_variadic else []
        lines.append(f"declare {head}({', '.join(parameters + variadic)}){_function_attributes(op)}")
        return
    body = _Function(op, as_told)
    names = [body.names[arg] for arg in body.blocks[0].args]
    arguments = ", ".join(f"{text} {name}" for text, name in zip(parameters, names, strict=True))
    lines.append(f"define {head}({arguments}){_function_attributes(op)} {{")
    body.write(lines)
    lines.append("}")


class _Function:
    """One function body: names of values, labels of blocks, values that flow into block arguments."""

    def __init__(self, op: llvm.FuncOp, as_told: bool):
        self.names: dict[SSAValue, str] = {}
        self.blocks = list(op.body.blocks)
        self.numbers = {block: i for i, block in enumerate(self.blocks)}
        self.labels = {block: f"b{i}" for i, block in enumerate(self.blocks)}
        self.incoming: dict[Block, list[tuple[str, list[SSAValue]]]] = {}
        self.count = 0
        self.rolled, self.as_told = ROLLED in op.attributes, as_told
        for arg in self.blocks[0].args:
            self.fresh(arg)

    def fresh(self, value: SSAValue) -> str:
        name = self.names[value] = f"%v{self.count}"
        self.count += 1
        return name

    def name(self, value: SSAValue) -> str:
        return self.names[value]

    def typed(self, value: SSAValue) -> str:
        return f"{type_text(value.type)} {self.names[value]}"

    def flow(self, source: str, target: Block, values: Any) -> None:
        if target.args:
            self.incoming.setdefault(target, []).append((source, list(values)))

    def write(self, lines: list[str]) -> None:
        # Names first: a phi may use a value defined further down.
        for block in self.blocks:
            if block is not self.blocks[0]:
                for arg in block.args:
                    self.fresh(arg)
            for op in block.ops:
                inline = _INLINE.get(type(op))
                if inline is not None:
                    self.names[op.results[0]] = inline(op)
                elif op.results:
                    self.fresh(op.results[0])
        for block in self.blocks:
            last = block.last_op
            label = self.labels[block]
            if isinstance(last, llvm.BrOp):
                self.flow(label, last.successor, last.arguments)
            elif isinstance(last, llvm.CondBrOp):
                self.flow(label, last.then_block, last.then_arguments)
                self.flow(label, last.else_block, last.else_arguments)
        for block in self.blocks:
            lines.append(f"{self.labels[block]}:")
            self.phis(block, lines)
            for op in block.ops:
                if type(op) in _INLINE:
                    continue
                rule = _RULES.get(type(op))
                if rule is not None:
                    text = rule(self, op)
                elif op.name.startswith("llvm.intr."):
                    text = _intrinsic(self, op)
                elif isinstance(op, TargetInstruction):
                    text = _target_instruction(self, op)
                else:
                    raise LaminaError("no LLVM IR text is known for this operation", where=op)
                if op.successors:
                    text += self.loop(op, block)
                lines.append(f"  {self.names[op.results[0]]} = {text}" if op.results else "  " + text)

    def loop(self, op: Operation, block: Block) -> str:
        """What LLVM is told of the loop that a branch at the end of `block` closes."""
        told = UNROLL in op.attributes
        if (self.rolled or (self.as_told and not told)) and any(
            self.numbers[to] <= self.numbers[block] for to in op.successors
        ):
            return f", !llvm.loop {_ROLLED}"
        return f", !llvm.loop !{_LOOPS + _unrolled(op)}" if told else ""

    def phis(self, block: Block, lines: list[str]) -> None:
        if block is self.blocks[0] or not block.args:
            return
        edges = self.incoming.get(block, [])
        for i, arg in enumerate(block.args):
            pairs = ", ".join(f"[ {self.names[values[i]]}, %{label} ]" for label, values in edges)
            lines.append(f"  {self.names[arg]} = phi {type_text(arg.type)} {pairs}")


_INLINE: dict[type[Operation], Callable[[Any], str]] = {
    llvm.ConstantOp: lambda op: constant_text(op.value, op.result.type),
    llvm.UndefOp: lambda op: "undef",
    PoisonOp: lambda op: "poison",
    llvm.ZeroOp: lambda op: "null" if type_text(op.res.type) == "ptr" else "zeroinitializer",
    llvm.AddressOfOp: lambda op: f"@{op.global_name.string_value()}",
}

_Rule = Callable[[_Function, Any], str]


def _fast(op: Operation) -> str:
    flags = op.properties.get("fastmathFlags")
    if not isinstance(flags, llvm.FastMathAttr) or not flags.data:
        return ""
    return " ".join(sorted(flag.value for flag in flags.data)) + " "


def _align(op: Operation) -> str:
    alignment = op.properties.get("alignment")
    return f", align {alignment.value.data}" if isinstance(alignment, IntegerAttr) else ""


def _integer_binary(word: str) -> _Rule:
    def rule(f: _Function, op: Operation) -> str:
        flags = ""
        overflow = op.properties.get("overflowFlags")
        if isinstance(overflow, IntegerAttr):
            flags = ("", "nsw ", "nuw ", "nuw nsw ")[overflow.value.data]
        if op.properties.get("isExact") is not None:
            flags += "exact "
        if op.properties.get("isDisjoint") is not None:
            flags += "disjoint "
        return f"{word} {flags}{f.typed(op.operands[0])}, {f.name(op.operands[1])}"

    return rule


def _float_binary(word: str) -> _Rule:
    return lambda f, op: f"{word} {_fast(op)}{f.typed(op.operands[0])}, {f.name(op.operands[1])}"


def _cast(word: str) -> _Rule:
    def rule(f: _Function, op: Operation) -> str:
        flag = "nneg " if op.properties.get("nonNeg") is not None else ""
        return f"{word} {flag}{f.typed(op.operands[0])} to {type_text(op.results[0].type)}"

    return rule


def _gep(f: _Function, op: GEPOp) -> str:
    flags = "".join(name + " " for name in op.flag_names())
    indices = [f"i32 {i}" if isinstance(i, int) else f.typed(i) for i in op.indices()]
    return f"getelementptr {flags}{type_text(op.elem_type)}, {f.typed(op.base)}, {', '.join(indices)}"


def _ordering(op: Operation, name: str = "ordering") -> str:
    value = op.properties.get(name)
    number = value.value.data if isinstance(value, IntegerAttr) else 0
    return ORDERING_BY_VALUE[number] if number else ""


_NONTEMPORAL, _ROLLED = "!0", "!1"
_LOOPS = 16  # and more: loops of so many rounds at a time


def _load(f: _Function, op: llvm.LoadOp) -> str:
    order = _ordering(op)
    atomic, suffix = ("atomic ", f" {order}") if order else ("", "")
    return f"load {atomic}{type_text(op.dereferenced_value.type)}, {f.typed(op.ptr)}{suffix}{_align(op)}"


def _store(f: _Function, op: llvm.StoreOp) -> str:
    order = _ordering(op)
    atomic, suffix = ("atomic ", f" {order}") if order else ("", "")
    volatile = "volatile " if op.volatile_ is not None else ""
    hint = f", !nontemporal {_NONTEMPORAL}" if op.nontemporal is not None else ""
    return f"store {atomic}{volatile}{f.typed(op.value)}, {f.typed(op.ptr)}{suffix}{_align(op)}{hint}"


def _call(f: _Function, op: llvm.CallOp) -> str:
    result = type_text(op.returned.type) if op.returned is not None else "void"
    if op.var_callee_type is not None:
        result = type_text(op.var_callee_type)
    if op.callee is None:
        callee, arguments = f.name(op.args[0]), op.args[1:]
    else:
        callee, arguments = f"@{op.callee.string_value()}", op.args
    return f"call {_fast(op)}{result} {callee}({', '.join(f.typed(a) for a in arguments)})"


def _call_intrinsic(f: _Function, op: llvm.CallIntrinsicOp) -> str:
    result = type_text(op.ress.type) if op.ress is not None else "void"
    return f"call {_fast(op)}{result} @{op.intrin.data}({', '.join(f.typed(a) for a in op.args)})"


def _intrinsic(f: _Function, op: Operation) -> str:
    """`llvm.intr.<name>`: operands in order, then what the op keeps as attributes and LLVM wants as arguments."""
    result = type_text(op.results[0].type) if op.results else "void"
    arguments = [f.typed(operand) for operand in op.operands]
    properties = op.properties
    for flag in ("is_zero_poison", "is_int_min_poison", "isVolatile"):
        value = properties.get(flag)
        if isinstance(value, IntegerAttr):
            arguments.append(f"i1 {'true' if value.value.data else 'false'}")
    for number in ("rw", "hint", "cache"):
        value = properties.get(number)
        if isinstance(value, IntegerAttr):
            arguments.append(f"i32 {value.value.data}")
    alignment = properties.get("alignment")
    if isinstance(alignment, IntegerAttr):
        at = 1 if op.name.endswith(("store", "scatter")) else 0
        pointer = op.operands[at]
        arguments[at] = f"{type_text(pointer.type)} align {alignment.value.data} {f.name(pointer)}"
    return f"call {_fast(op)}{result} @llvm.{op.name[len('llvm.intr.') :]}({', '.join(arguments)})"


def _target_instruction(f: _Function, op: TargetInstruction) -> str:
    result = type_text(op.results[0].type) if op.results else "void"
    arguments = [*(f.typed(operand) for operand in op.operands), *op.immediates]
    words = "".join(f" {word}" for word in op.call_attributes)
    return f"call {result} {op.callee}({', '.join(arguments)}){words}"


def _compare(word: str, names: Callable[[int], str]) -> _Rule:
    def rule(f: _Function, op: Any) -> str:
        predicate = names(op.predicate.value.data).removeprefix("_")
        return f"{word} {_fast(op)}{predicate} {f.typed(op.lhs)}, {f.name(op.rhs)}"

    return rule


def _position(op: llvm.ExtractValueOp | llvm.InsertValueOp) -> str:
    return "".join(f", {i}" for i in op.position.iter_values())


def _shuffle(f: _Function, op: llvm.ShuffleVectorOp) -> str:
    mask = [int(i) for i in op.mask.iter_values()]
    lanes = ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in mask)
    return f"shufflevector {f.typed(op.v1)}, {f.typed(op.v2)}, <{len(mask)} x i32> <{lanes}>"


def _switch(f: _Function, op: SwitchOp) -> str:
    type_ = type_text(op.value.type)
    cases = " ".join(f"{type_} {number}, label %{f.labels[block]}" for number, block in op.cases())
    return f"switch {f.typed(op.value)}, label %{f.labels[op.default_block]} [ {cases} ]"


def _cond_br(f: _Function, op: llvm.CondBrOp) -> str:
    if op.then_block is op.else_block and op.then_arguments:
        raise LaminaError("a conditional branch with two sets of arguments for one block", where=op)
    return f"br {f.typed(op.cond)}, label %{f.labels[op.then_block]}, label %{f.labels[op.else_block]}"


def _inline_asm(f: _Function, op: llvm.InlineAsmOp) -> str:
    effects = " sideeffect" if op.has_side_effects is not None else ""
    result = type_text(op.results[0].type) if op.results else "void"
    arguments = ", ".join(f.typed(operand) for operand in op.operands)
    return f'call {result} asm{effects} "{op.asm_string.data}", "{op.constraints.data}"({arguments})'


_RULES: dict[type[Operation], _Rule] = {
    **{
        op: _integer_binary(op.name.removeprefix("llvm."))
        for op in (
            *(llvm.AddOp, llvm.SubOp, llvm.MulOp, llvm.UDivOp, llvm.SDivOp, llvm.URemOp, llvm.SRemOp),
            *(llvm.AndOp, llvm.OrOp, llvm.XOrOp, llvm.ShlOp, llvm.LShrOp, llvm.AShrOp),
        )
    },
    **{
        op: _float_binary(op.name.removeprefix("llvm."))
        for op in (llvm.FAddOp, llvm.FSubOp, llvm.FMulOp, llvm.FDivOp, llvm.FRemOp)
    },
    GEPOp: _gep,
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.CallOp: _call,
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.ICmpOp: _compare("icmp", lambda i: llvm.ICmpPredicateFlag.from_int(i).value),
    FCmpOp: _compare("fcmp", lambda i: llvm.FCmpPredicateFlag.from_int(i).value),
    llvm.FNegOp: lambda f, op: f"fneg {_fast(op)}{f.typed(op.arg)}",
    SelectOp: lambda f, op: f"select {_fast(op)}{f.typed(op.cond)}, {f.typed(op.lhs)}, {f.typed(op.rhs)}",
    FreezeOp: lambda f, op: f"freeze {f.typed(op.val)}",
    llvm.AllocaOp: lambda f, op: f"alloca {type_text(op.elem_type)}, {f.typed(op.size)}{_align(op)}",
    llvm.ExtractValueOp: lambda f, op: f"extractvalue {f.typed(op.container)}{_position(op)}",
    llvm.InsertValueOp: lambda f, op: f"insertvalue {f.typed(op.container)}, {f.typed(op.value)}{_position(op)}",
    ExtractElementOp: lambda f, op: f"extractelement {f.typed(op.vector)}, {f.typed(op.position)}",
    llvm.InsertElementOp: lambda f, op: f"insertelement {f.typed(op.vector)}, {f.typed(op.value)}, {f.typed(op.index)}",
    llvm.ShuffleVectorOp: _shuffle,
    llvm.InlineAsmOp: _inline_asm,
    AtomicRMWOp: lambda f, op: (
        f"atomicrmw {ATOMIC_BIN_OPS[op.bin_op.value.data].removeprefix('_')} {f.typed(op.ptr)}, "
        f"{f.typed(op.val)} {_ordering(op)}"
    ),
    AtomicCmpXchgOp: lambda f, op: (
        f"cmpxchg {f.typed(op.ptr)}, {f.typed(op.cmp)}, {f.typed(op.val)} "
        f"{_ordering(op, 'success_ordering')} {_ordering(op, 'failure_ordering')}"
    ),
    FenceOp: lambda f, op: f"fence {_ordering(op)}",
    llvm.ReturnOp: lambda f, op: f"ret {f.typed(op.arg)}" if op.arg is not None else "ret void",
    llvm.BrOp: lambda f, op: f"br label %{f.labels[op.successor]}",
    llvm.CondBrOp: _cond_br,
    SwitchOp: _switch,
    llvm.UnreachableOp: lambda f, op: "unreachable",
    **{
        op: _cast(op.name.removeprefix("llvm."))
        for op in (llvm.TruncOp, llvm.ZExtOp, llvm.SExtOp, llvm.FPExtOp, llvm.FPTruncOp, llvm.SIToFPOp)
    },
    **{
        op: _cast(op.name.removeprefix("llvm."))
        for op in (
            llvm.BitcastOp,
            llvm.IntToPtrOp,
            llvm.PtrToIntOp,
            FPToSIOp,
            FPToUIOp,
            UIToFPOp,
            AddrSpaceCastOp,
        )
    },
}
