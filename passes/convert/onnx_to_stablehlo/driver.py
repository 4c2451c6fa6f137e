"""convert-onnx-to-stablehlo: each ONNX operator becomes hub ops, by the table.

    %y = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ->
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %z = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %y = stablehlo.maximum %x, %z : tensor<2x3xf32>

Shapes are inferred on the way: the hub ops know their types. What must be known at compile time (shapes, axes) is
folded on the way too. Operators that the table lacks are expanded through ONNX's own bodies where it has them;
what remains is named, all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError, ValuesNeeded
from ....compiler.program import KEY, dimension_names
from ....compiler.weights import WeightStore
from ....dialects.onnx import OnnxOp, is_absent
from ....dialects.onnx.attributes import python_value
from ....dialects.onnx.load import DIMS, NAME
from ....dialects.onnx.ops import OPSETS
from .bounded import lower_bounded
from .builder import GraphBuilder
from .extents import told_sizes
from .functions import expand, has_body
from .objections import check_arguments, check_types, objection
from .table import Entry, broken_plugins, find
from .unsupported import Refusal, Unsupported


@dataclass(frozen=True)
class ConvertOnnxToStablehlo(ModulePass):
    """Lowers the onnx level to the hub."""

    name = "convert-onnx-to-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = lamina_context(ctx)
        for warning in broken_plugins():
            context.diagnostics.tell(warning)
        weights = context.weights
        if missing := without_lowering(op):
            raise Refusal(missing)
        for function in _graphs(op):
            _convert(function, weights)
        op.attributes.pop(OPSETS, None)


def unsupported(module: ModuleOp, weights: WeightStore) -> list[Unsupported]:
    """Every node that cannot be lowered and why, as far as that can be told without the inputs' values.

    `module` is used up. Nodes behind one that fails are tried too, where its results' types are known.
    """
    found: list[Unsupported] = []
    for function in _graphs(module):
        found += without_lowering(function)
    for function in _graphs(module):
        failed = _lowered(function, weights)[1]
        known = {each.node for each in found}
        named = [Unsupported.of(op, error.message) for op, error in failed if not isinstance(error, ValuesNeeded)]
        found += [each for each in named if each.node not in known]
    return found


def _graphs(module: ModuleOp) -> list[FuncOp]:
    functions = [f for f in module.walk() if isinstance(f, FuncOp) and f.body.blocks]
    return [f for f in functions if any(isinstance(inner, OnnxOp) for inner in f.body.block.ops)]


def without_lowering(root: Operation) -> list[Unsupported]:
    """The nodes below `root` whose operators have neither a lowering nor a body."""
    return [
        Unsupported.of(op, "has no lowering")
        for op in root.walk()
        if isinstance(op, OnnxOp) and not find(op.domain, op.operator, op.opset) and not has_body(op)
    ]


def _lowered(function: FuncOp, weights: WeightStore) -> tuple[GraphBuilder, list[tuple[OnnxOp, LaminaError]]]:
    """The operators of a function in a block of their own, and those that failed."""
    old = function.body.block
    block = Block(arg_types=[arg.type for arg in old.args])
    builder = GraphBuilder(block, weights, lower)
    for before, after in zip(old.args, block.args, strict=True):
        after.name_hint, after.location = before.name_hint, before.location
        builder.values[before] = after
    failed: list[tuple[OnnxOp, LaminaError]] = []
    for op in old.ops:
        if not isinstance(op, OnnxOp):
            if not isinstance(op, ReturnOp) and not op.name.startswith("onnx."):
                raise LaminaError(f"'{op.name}' is no ONNX operator", where=op)
            continue
        if any(value not in builder.values for value in _read(op)):
            continue  # behind one that failed
        try:
            check_types(builder, op)
            lower(builder, op)
        except LaminaError as error:
            failed.append((op, error))
            _stand_in(builder, op)
    return builder, failed


def _read(op: OnnxOp) -> Iterator[SSAValue]:
    """The values from outside that an operator and the graphs in it read."""
    made = {value for inner in op.walk() for value in inner.results} if op.regions else set[SSAValue]()
    made |= {arg for inner in op.walk() for region in inner.regions for block in region.blocks for arg in block.args}
    for inner in op.walk():
        yield from (value for value in inner.operands if value not in made and not is_absent(value))


def _stand_in(b: GraphBuilder, op: OnnxOp) -> None:
    """Values of the right type for the results of an operator that failed, so that what reads them can be tried."""
    for result in op.results:
        if isinstance(result.type, TensorType) and result.type.has_static_shape():
            b.values[result] = b.block.insert_arg(result.type, len(b.block.args))


def _convert(function: FuncOp, weights: WeightStore) -> None:
    old = function.body.block
    for i, arg in enumerate(old.args):
        _check_input(function, i, arg.type)
    builder, failed = _lowered(function, weights)
    _refuse(failed)
    block = builder.block
    last = old.last_op
    assert isinstance(last, ReturnOp)
    results = [_result(builder, function, i, value) for i, value in enumerate(last.operands)]
    results += _extents(builder, function, results)
    final = ReturnOp(*results)
    final.location = last.location
    block.add_op(final)
    function.properties["function_type"] = FunctionType.from_lists(
        list(block.arg_types), [result.type for result in results]
    )
    _drop_dead(block)
    function.body.detach_block(old)
    function.body.add_block(block)
    _declare(function, builder)
    _check_made(block)
    old.erase(safe_erase=False)
    attributes = list(function.arg_attrs or [DictionaryAttr({}) for _ in old.args])
    kept = [DictionaryAttr({k: v for k, v in a.data.items() if k != DIMS}) for a in attributes]
    if builder.key is not None:
        kept.append(DictionaryAttr({NAME: StringAttr("key"), KEY: UnitAttr()}))
    if any(each.data for each in kept):
        function.properties["arg_attrs"] = ArrayAttr(kept)


def _declare(function: FuncOp, builder: GraphBuilder) -> None:
    """Puts what composites mean into the module."""
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    there = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    for name, decomposition in builder.decompositions.items():
        if name not in there:
            module.body.block.add_op(decomposition)


def _refuse(failed: Sequence[tuple[OnnxOp, LaminaError]]) -> None:
    """Raises what stands against a function: one error as it is, several together.

    What only the values of inputs decide may be right once they are known: it counts where nothing else is wrong.
    """
    certain = [(op, error) for op, error in failed if not isinstance(error, ValuesNeeded)]
    if len(certain) > 1:
        raise Refusal([Unsupported.of(op, error.message) for op, error in certain])
    if failed:
        raise (certain or failed)[0][1]


def _check_input(function: FuncOp, index: int, kind: Attribute) -> None:
    if isinstance(kind, TensorType) and kind.has_static_shape():
        return
    attributes = function.arg_attrs.data[index].data if function.arg_attrs else {}
    name = attributes.get(NAME)
    label = name.data if isinstance(name, StringAttr) else str(index)
    if not isinstance(kind, TensorType):
        raise LaminaError(f"input '{label}' has type {kind}, expected a tensor of known rank")
    names = [symbol for symbol in dimension_names(kind, attributes, f"input{index}") if symbol]
    raise LaminaError(
        f"input '{label}' of type {kind} has no static shape",
        hint=f'bind {", ".join(names)}: onnx-bind-shapes{{shapes="{names[0]}=8"}}, or --shape on the command line',
    )


def _result(b: GraphBuilder, function: FuncOp, index: int, value: SSAValue) -> SSAValue:
    result = b.values[value]
    declared = function.function_type.outputs.data[index]
    if not isinstance(declared, TensorType) or not isinstance(result.type, TensorType):
        return result
    if declared.element_type != result.type.element_type:
        raise LaminaError(f"output {index} has type {result.type}, the file says {declared}")
    return result


def _extents(b: GraphBuilder, function: FuncOp, results: Sequence[SSAValue]) -> list[SSAValue]:
    """Further results that tell the true sizes of those whose sizes data decide."""
    sizes, attributes = told_sizes(b.extents, results)
    if sizes:
        known = function.res_attrs or ArrayAttr([DictionaryAttr({}) for _ in results])
        function.properties["res_attrs"] = ArrayAttr([*known, *attributes])
    return sizes


def lower(b: GraphBuilder, op: OnnxOp) -> None:
    """Lowers one operator with `b`; its results are in `b.values` afterwards."""
    entry = find(op.domain, op.operator, op.opset)
    operands = [None if is_absent(operand) else b.values[operand] for operand in op.operands]
    b.node = op
    try:
        results = _call(b, op, entry, operands) if entry else _expanded(b, op, operands)
    except VerifyException as error:
        raise LaminaError(str(error), where=op) from error
    if len(results) < len(op.results) and any(r.uses for r in op.results[len(results) :]):
        raise LaminaError(f"only {len(results)} of the {len(op.results)} outputs are supported", where=op)
    for old, new in zip(op.results, results, strict=False):
        if new.name_hint is None:
            new.name_hint = old.name_hint
        b.values[old] = new


def _call(b: GraphBuilder, op: OnnxOp, entry: Entry, operands: list[SSAValue | None]) -> list[SSAValue]:
    attributes: dict[str, Any] = {
        name: python_value(attribute, b.weights)
        for name, attribute in op.attributes.items()
        if "." not in name and name not in _IGNORED
    }
    attributes |= {name: index for index, name in enumerate(op.region_names)}
    check_arguments(op, entry, operands, attributes)
    if not entry.variadic:
        operands = operands[: entry.inputs]

    def usual(b: GraphBuilder, operands: Sequence[SSAValue | None]) -> list[SSAValue]:
        results = entry.function(b, *operands, **attributes)
        return [results] if isinstance(results, SSAValue) else list(results)

    try:
        if any(x in b.extents or x in b.sizes for x in operands if x is not None):
            return lower_bounded(b, op.operator, operands, attributes, usual)
        return usual(b, operands)
    except _UNFORESEEN as error:
        if reason := objection(b, op, operands):
            raise LaminaError(reason, where=op) from error
        raise


# What an operator's rule raises on inputs and attributes that do not fit: ONNX must say why, or the rule is wrong
_UNFORESEEN = (ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
_IGNORED = {"consumed_inputs"}  # a leftover of opset 1


def _expanded(b: GraphBuilder, op: OnnxOp, operands: Sequence[SSAValue | None]) -> list[SSAValue]:
    body = expand(op, operands, b.weights)
    if body is None:
        raise LaminaError(f"{op.domain}.{op.operator} has no lowering for these types", where=op)
    block, outputs = body
    for arg, operand in zip(block.args, operands, strict=True):
        if operand is not None:
            b.values[arg] = operand
    if missing := without_lowering(ModuleOp(Region(block))):
        raise LaminaError(f"its body cannot be lowered: {Unsupported.summary(missing)[0]}", where=op)
    for inner in block.ops:
        if isinstance(inner, OnnxOp):
            lower(b, inner)
    b.node = op
    found = [b.values.get(output) for output in outputs]
    if any(value is None and result.uses for value, result in zip(found, op.results, strict=False)):
        raise LaminaError("the body that ONNX gives for this operator lacks an output that is read", where=op)
    return [value for value in takewhile(lambda value: value is not None, found) if value is not None]


def _check_made(block: Block) -> None:
    """Raises LaminaError at the node that became an op that does not verify: its inputs and attributes do not fit."""
    for outer in block.ops:
        for op in outer.walk():
            try:
                op.verify_()
            except VerifyException as error:
                raise LaminaError(f"cannot be lowered as it stands: {error}", where=op) from error


def _drop_dead(block: Block) -> None:
    """Removes ops nothing reads, constants above all that were only folded away."""
    op: Operation | None = block.last_op
    while op is not None:
        before = op.prev_op
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
        op = before
