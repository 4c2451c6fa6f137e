"""ONNX inside a program: models of files as functions, and the way of both models and operators to the hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from .....compiler.context import LaminaContext
from .....compiler.verifier import verify
from ....onnx.load import DIMS, NAME
from ....onnx.ops import OPSETS
from ....onnx.schemas import DEFAULT_DOMAIN, newest_opset

DESCENT = ("onnx-infer-shapes", "convert-onnx-to-stablehlo")
"""The passes from the onnx level to the hub, by name: they live a floor above, the context knows them."""


def one_function(block: Block, results: Sequence[SSAValue], location: Any) -> ModuleOp:
    """A module whose `@main` is `block`, returning `results`."""
    ending = ReturnOp(*results)
    ending.location = location
    block.add_op(ending)
    for argument in block.args:
        argument.location = location
    kind = FunctionType.from_lists(list(block.arg_types), [value.type for value in results])
    function = FuncOp("main", kind, Region(block), "public")
    function.location = location
    module = ModuleOp([function], {OPSETS: DictionaryAttr({DEFAULT_DOMAIN: IntegerAttr(newest_opset(), i64)})})
    module.location = location
    return module


def lowered(context: LaminaContext, module: ModuleOp) -> FuncOp:
    """Takes `@main` of a module down to the hub, in place. Raises LaminaError for what cannot be."""
    for name in DESCENT:
        context.find_pass(name)().apply(context, module)
    verify(module)
    return main_of(module)


def main_of(module: ModuleOp) -> FuncOp:
    """The function of the module."""
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def inputs_of(module: ModuleOp) -> list[tuple[str, Attribute, list[str]]]:
    """Name, type and symbolic dimensions ("" where there is none) of each input of a model."""
    function = main_of(module)
    found: list[tuple[str, Attribute, list[str]]] = []
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    for kind, entry in zip(function.function_type.inputs.data, attributes, strict=True):
        name, dims = entry.data.get(NAME), entry.data.get(DIMS)
        symbols = [d.data if isinstance(d, StringAttr) else "" for d in dims] if isinstance(dims, ArrayAttr) else []
        found.append((name.data if isinstance(name, StringAttr) else "", kind, symbols))
    return found


def bind(module: ModuleOp, types: Sequence[TensorType]) -> None:
    """Gives the arguments of `@main` these types, which fit the declared ones."""
    function = main_of(module)
    block = function.body.block
    for argument, kind in zip(block.args, types, strict=True):
        if argument.type != kind:
            Rewriter.replace_value_with_new_type(argument, kind)
    function.properties["function_type"] = FunctionType.from_lists(
        list(types), list(function.function_type.outputs.data)
    )
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr({}) for _ in types])
