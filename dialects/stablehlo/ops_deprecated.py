"""Ops that the specification has left behind, which older programs still have: each is another op said differently.

`stablehlo-replace-deprecated` says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType, StringAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from . import shapes
from .attributes import PrecisionAttr, ints
from .syntax import TENSOR, Clause, ClausedOp, IntList, PrecisionList, StableHLOOp, tensor_operand


class _Text:
    """`"ij,jk->ik"`."""

    def parse(self, parser: Parser) -> Attribute:
        return StringAttr(parser.parse_str_literal())

    def print(self, printer: Printer, value: StringAttr) -> None:
        printer.print_string_literal(value.data)


@irdl_op_definition
class DotOp(ClausedOp):
    """The product of vectors and matrices: `dot_general` over the last and the first dimension.

    `%r = stablehlo.dot %a, %b, precision = [DEFAULT, HIGH] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>`
    """

    name = "stablehlo.dot"
    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("precision", "precision_config", PrecisionList),)

    def verify_(self) -> None:
        super().verify_()
        left, right = self.lhs.type.get_shape(), self.rhs.type.get_shape()
        if not 1 <= len(left) <= 2 or not 1 <= len(right) <= 2 or left[-1] != right[0]:
            shapes.fail(f"lhs and rhs must be vectors or matrices that fit, got {self.lhs.type} and {self.rhs.type}")
        if self.result.type.get_shape() != (*left[:-1], *right[1:]):
            shapes.fail(f"result must have shape {[*left[:-1], *right[1:]]}, got {self.result.type}")


@irdl_op_definition
class BroadcastOp(ClausedOp):
    """Repeats the operand along new dimensions in front.

    `%r = stablehlo.broadcast %x, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>`
    """

    name = "stablehlo.broadcast"
    operand = tensor_operand()
    result = result_def(TENSOR)
    broadcast_sizes = prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("sizes", "broadcast_sizes", IntList),)

    def infer(self) -> Sequence[Attribute] | None:
        sizes = ints(self.broadcast_sizes)
        if any(size < 0 for size in sizes):
            shapes.fail(f"broadcast_sizes = {list(sizes)} must not be negative")
        return (shapes.with_shape(self.operand.type, (*sizes, *self.operand.type.get_shape())),)


def einsum_terms(config: str, count: int) -> tuple[list[str], str]:
    """The letters of the operands and of the result. Raises VerifyException where it is not of that form."""
    left, arrow, right = config.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != count or not all(term.isalpha() or not term for term in (*terms, right)):
        shapes.fail(f"einsum_config must have {count} terms of letters and a result, got '{config}'")
    if set(right) - set("".join(terms)) or len(set(right)) != len(right):
        shapes.fail(f"the result of '{config}' may only have letters of the operands, each once")
    return terms, right


def _check_einsum(config: str, kinds: Sequence[TensorType], result: TensorType) -> None:
    terms, right = einsum_terms(config, len(kinds))
    sizes: dict[str, int] = {}
    for term, kind in zip(terms, kinds, strict=True):
        if len(term) != kind.get_num_dims():
            shapes.fail(f"'{term}' has {len(term)} letters for {kind}")
        for letter, size in zip(term, kind.get_shape(), strict=True):
            if sizes.setdefault(letter, size) != size:
                shapes.fail(f"'{letter}' stands for the sizes {sizes[letter]} and {size}")
    if result.get_shape() != tuple(sizes[letter] for letter in right):
        shapes.fail(f"result must have shape {[sizes[letter] for letter in right]}, got {result}")


@irdl_op_definition
class EinsumOp(ClausedOp):
    """The sum of products that `einsum_config` names.

    `%r = stablehlo.einsum %a, %b, config = "ij,jk->ik" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>`
    """

    name = "stablehlo.einsum"
    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)
    einsum_config = prop_def(StringAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("config", "einsum_config", _Text()),)

    def verify_(self) -> None:
        super().verify_()
        _check_einsum(self.einsum_config.data, (self.lhs.type, self.rhs.type), self.result.type)


@irdl_op_definition
class UnaryEinsumOp(ClausedOp):
    """The sum that `einsum_config` names.

    `%r = stablehlo.unary_einsum %x, config = "ij->i" : (tensor<2x3xf32>) -> tensor<2xf32>`
    """

    name = "stablehlo.unary_einsum"
    operand = tensor_operand()
    result = result_def(TENSOR)
    einsum_config = prop_def(StringAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("config", "einsum_config", _Text()),)

    def verify_(self) -> None:
        super().verify_()
        _check_einsum(self.einsum_config.data, (self.operand.type,), self.result.type)


@irdl_op_definition
class TorchIndexSelectOp(StableHLOOp):
    """The entries of the operand along `dim` that `index` names; the first `batch_dims` dimensions go together."""

    name = "stablehlo.torch_index_select"
    operand = tensor_operand()
    index = tensor_operand()
    result = result_def(TENSOR)
    dim = prop_def(IntegerAttr)
    batch_dims = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    def infer(self) -> Sequence[Attribute] | None:
        shape, index = self.operand.type.get_shape(), self.index.type.get_shape()
        dim, batch = self.dim.value.data, self.batch_dims.value.data
        if not isinstance(self.index.type.element_type, IntegerType):
            shapes.fail(f"index must be a tensor of integers, got {self.index.type}")
        if not 0 <= batch <= dim < len(shape) or batch > len(index) or shape[:batch] != index[:batch]:
            shapes.fail(f"dim = {dim} and batch_dims = {batch} do not fit {self.operand.type} and {self.index.type}")
        return (shapes.with_shape(self.operand.type, (*shape[:dim], *index[batch:], *shape[dim + 1 :])),)


OPS: Sequence[type[Operation]] = (DotOp, BroadcastOp, EinsumOp, UnaryEinsumOp, TorchIndexSelectOp)
