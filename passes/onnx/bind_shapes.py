"""onnx-bind-shapes: symbolic dimensions of the inputs get the sizes asked for.

    func.func public @main(%x: tensor<?x3xf32> {lamina.dims = ["batch", ""]}) ...
    -> onnx-bind-shapes{shapes="batch=8"}
    func.func public @main(%x: tensor<8x3xf32>) ...

A dimension without a name is called after its input: `x_dim0`. Types of what depends on them follow by
onnx-infer-shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...compiler.diagnostics import LaminaError
from ...compiler.program import dimension_names
from ...dialects.onnx.load import DIMS


@dataclass(frozen=True)
class BindShapes(ModulePass):
    """Fixes symbolic dimensions: `shapes="batch=8","length=128"`."""

    name = "onnx-bind-shapes"

    shapes: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bind_shapes(op, dict(self._binding(entry) for entry in self.shapes))

    def _binding(self, entry: str) -> tuple[str, int]:
        name, _, size = entry.partition("=")
        if not name or not size.isdigit():
            raise LaminaError(f"expected a dimension as NAME=SIZE, got '{entry}'", where=self.name)
        return name, int(size)


def bind_shapes(module: ModuleOp, sizes: dict[str, int]) -> None:
    """Gives the symbolic dimensions called as in `sizes` their sizes, in every function's arguments.

    Raises LaminaError for a name that no argument has.
    """
    known: set[str] = set()
    for function in module.ops:
        if isinstance(function, FuncOp):
            known |= _bind(function, sizes)
    if unknown := sizes.keys() - known:
        names = ", ".join(sorted(known)) or "none"
        raise LaminaError(f"no input has a dimension '{min(unknown)}'", hint=f"there are {names}")


def _bind(function: FuncOp, sizes: dict[str, int]) -> set[str]:
    known: set[str] = set()
    attributes: list[DictionaryAttr] = []
    args = function.body.block.args
    given = function.arg_attrs or [DictionaryAttr({}) for _ in args]
    for i, (arg, attribute) in enumerate(zip(args, given, strict=True)):
        if not isinstance(arg.type, TensorType):
            attributes.append(attribute)
            continue
        names = dimension_names(arg.type, attribute.data, f"input{i}")
        known |= {name for name in names if name}
        shape = [sizes.get(name, n) for name, n in zip(names, arg.type.get_shape(), strict=True)]
        Rewriter.replace_value_with_new_type(arg, TensorType(arg.type.element_type, shape))
        left = [name if n == DYNAMIC_INDEX else "" for name, n in zip(names, shape, strict=True)]
        entries = {key: value for key, value in attribute.data.items() if key != DIMS}
        if any(left):
            entries[DIMS] = ArrayAttr([StringAttr(name) for name in left])
        attributes.append(DictionaryAttr(entries))
    function.properties["arg_attrs"] = ArrayAttr(attributes)
    function.properties["function_type"] = FunctionType.from_lists(
        list(function.body.block.arg_types), list(function.function_type.outputs)
    )
    return known
