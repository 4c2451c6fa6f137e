"""convert-stablehlo-to-onnx: each hub op becomes ONNX operators, so that any program can leave as an ONNX model.

    %y = stablehlo.rsqrt %x : tensor<2x3xf32>
    ->
    %s = "onnx.Sqrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %y = "onnx.Reciprocal"(%s) : (tensor<2x3xf32>) -> tensor<2x3xf32>

Composites and calls are to be inlined before. Ops that no ONNX operator can say are named, all at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.diagnostics import Diagnostic, LaminaError
from ....dialects import stablehlo as hlo
from ....dialects.onnx.ops import OPSETS
from ....dialects.onnx.schemas import DEFAULT_DOMAIN
from .builder import OPSET_WRITTEN, NodeBuilder
from .table import TABLE, Rule

CHAPTERS = ("elementwise", "movement", "contraction", "reduction", "indexing", "control")


@dataclass(frozen=True)
class ConvertStablehloToOnnx(ModulePass):
    """Writes the hub in operators of ONNX."""

    name = "convert-stablehlo-to-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = _rules()
        weights = lamina_context(ctx).weights
        functions = [f for f in op.ops if isinstance(f, FuncOp) and f.body.blocks]
        _check_supported(functions, rules)
        for function in functions:
            old = function.body.block
            block = Block(arg_types=[arg.type for arg in old.args])
            for before, after in zip(old.args, block.args, strict=True):
                after.name_hint, after.location = before.name_hint, before.location
            builder = NodeBuilder(block, weights, rules)
            builder.values |= dict(zip(old.args, block.args, strict=True))
            builder.lower(old)
            end = old.last_op
            assert isinstance(end, ReturnOp)
            final = ReturnOp(*(builder.values[operand] for operand in end.operands))
            final.location = end.location
            block.add_op(final)
            _drop_dead(block)
            function.body.detach_block(old)
            function.body.add_block(block)
            old.erase(safe_erase=False)
        op.attributes[OPSETS] = DictionaryAttr({DEFAULT_DOMAIN: IntegerAttr(OPSET_WRITTEN, i64)})


@cache
def _rules() -> Mapping[type[Operation], Rule]:
    for chapter in CHAPTERS:
        import_module(f".{chapter}", __package__)
    return TABLE


def _check_supported(functions: list[FuncOp], rules: Mapping[type[Operation], Rule]) -> None:
    """Raises LaminaError that names every op, with its place, for which there is no rule."""
    left: list[Operation] = []
    for function in functions:
        pending = list(function.body.block.ops)
        while pending:
            op = pending.pop(0)
            if type(op) in rules:
                if isinstance(op, hlo.WhileOp | hlo.IfOp | hlo.CaseOp):
                    pending += [inner for region in op.regions for inner in region.block.ops]
            elif not isinstance(op, ReturnOp | hlo.ReturnOp):
                left.append(op)
    if left:
        first, *others = left
        notes = tuple(Diagnostic.at("note", f"nor '{other.name}'", other) for other in others)
        raise LaminaError("no operator of ONNX says this", where=first, notes=notes)


def _drop_dead(block: Block) -> None:
    """Removes ops that nothing reads: constants that became attributes, branches' leftovers."""
    op = block.last_op
    while op is not None:
        before = op.prev_op
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
        else:
            for region in op.regions:
                _drop_dead(region.block)
        op = before
