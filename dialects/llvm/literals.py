"""Types and constants of the llvm dialect as LLVM IR spells them."""

from __future__ import annotations

import struct

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
)
from xdsl.dialects.llvm import (
    LLVMArrayType,
    LLVMFunctionType,
    LLVMPointerType,
    LLVMStructType,
    LLVMVoidType,
)
from xdsl.ir import Attribute

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dense_array
from .tiles import X86AMXType

_FLOATS: dict[type[Attribute], str] = {
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
}
_known: dict[Attribute, str] = {}


def type_text(type_: Attribute) -> str:
    """`vector<8xf32>` is `<8 x float>`. Raises LaminaError for a type LLVM does not have."""
    text = _known.get(type_)
    if text is None:
        text = _known[type_] = _spell(type_)
    return text


def _spell(type_: Attribute) -> str:
    if isinstance(type_, IntegerType):
        return f"i{type_.width.data}"
    if type(type_) in _FLOATS:
        return _FLOATS[type(type_)]
    match type_:
        case LLVMPointerType():
            space = type_.addr_space
            return f"ptr addrspace({space.data})" if isinstance(space, IntAttr) and space.data else "ptr"
        case LLVMVoidType():
            return "void"
        case X86AMXType():
            return "x86_amx"
        case VectorType() if type_.get_num_dims() == 1:
            return f"<{type_.get_shape()[0]} x {type_text(type_.element_type)}>"
        case LLVMArrayType():
            return f"[{type_.size.data} x {type_text(type_.type)}]"
        case LLVMStructType():
            return "{ " + ", ".join(type_text(field) for field in type_.types) + " }"
        case LLVMFunctionType():
            inputs = [type_text(t) for t in type_.inputs] + (["..."] if type_.is_variadic else [])
            return f"{type_text(type_.output)} ({', '.join(inputs)})"
        case _:
            raise LaminaError(f"type {type_} has no counterpart in LLVM IR")


def float_text(value: float, type_: Attribute) -> str:
    """A float as the exact bits LLVM's parser wants.

    >>> from xdsl.dialects.builtin import f32
    >>> float_text(0.5, f32)
    '0x3FE0000000000000'
    """
    if isinstance(type_, Float16Type):
        return f"0xH{np.float16(value).view(np.uint16):04X}"
    if isinstance(type_, BFloat16Type):
        bits = int(np.float32(value).view(np.uint32))
        return f"0xR{bits >> 16:04X}"  # the attribute's value is a bfloat16 already: nothing is cut off
    if isinstance(type_, Float32Type):
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return "0x" + struct.pack(">d", value).hex().upper()


def constant_text(value: Attribute, type_: Attribute) -> str:
    """The literal for `value` of `type_`, without the type."""
    if isinstance(value, IntegerAttr):
        number = value.value.data
        if isinstance(type_, IntegerType) and type_.width.data == 1:
            return "true" if number else "false"
        return str(number)
    if isinstance(value, FloatAttr):
        return float_text(value.value.data, value.type)
    if isinstance(value, StringAttr):
        return 'c"' + "".join(f"\\{byte:02X}" for byte in value.data.encode()) + '"'
    if isinstance(value, DenseIntOrFPElementsAttr):
        return _dense_text(value, type_)
    raise LaminaError(f"attribute {value} has no counterpart in LLVM IR")


def _dense_text(value: DenseIntOrFPElementsAttr, type_: Attribute) -> str:
    element = value.get_element_type()
    text = type_text(element)
    if isinstance(element, IntegerType):
        numbers = dense_array(value).ravel().tolist()
        if element.width.data == 1:
            literals = ["true" if number else "false" for number in numbers]
        else:
            literals = [str(int(number)) for number in numbers]
    else:
        literals = [float_text(float(number), element) for number in dense_array(value).ravel()]
    if isinstance(type_, VectorType) and len(set(literals)) == 1:
        return f"splat ({text} {literals[0]})"
    inner = ", ".join(f"{text} {literal}" for literal in literals)
    return f"<{inner}>" if isinstance(type_, VectorType) else f"[{inner}]"
