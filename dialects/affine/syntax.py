"""Affine expressions over SSA names, as MLIR writes them: `[%i * 2 + symbol(%n), %j floordiv 16]`.

A name stands for a dimension, `symbol(%n)` for a symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from xdsl.dialects.builtin import DenseIntElementsAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.parser import AffineParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

_PRECEDENCE = {
    AffineBinaryOpKind.Add: 10,
    AffineBinaryOpKind.Mul: 20,
    AffineBinaryOpKind.Mod: 20,
    AffineBinaryOpKind.FloorDiv: 20,
    AffineBinaryOpKind.CeilDiv: 20,
}


class SsaExpressions(AffineParser):
    """Parses affine expressions over SSA names and remembers which name became which dimension or symbol."""

    def __init__(self, parser: Parser):
        super().__init__(parser._parser_state)  # pyright: ignore[reportPrivateUsage]
        self._parser = parser
        self._dims: dict[str, Span] = {}
        self._symbols: dict[str, Span] = {}

    def expression(self) -> AffineExpr:
        """One expression."""
        return self._parse_affine_expr(self._name)

    def operands(self) -> tuple[list[SSAValue[IndexType]], list[SSAValue[IndexType]]]:
        """The values the dimensions and the symbols stand for, in order."""
        return self._resolve(self._dims), self._resolve(self._symbols)

    def map(self, results: Sequence[AffineExpr]) -> AffineMap:
        """The map with these results over all names met."""
        return AffineMap(len(self._dims), len(self._symbols), tuple(results))

    def _resolve(self, spans: dict[str, Span]) -> list[SSAValue[IndexType]]:
        index = IndexType()
        return [self._parser.resolve_operand(UnresolvedOperand(span, 0), index) for span in spans.values()]

    def _name(self) -> AffineExpr | None:
        if self.parse_optional_keyword("symbol") is not None:
            with self.in_parens():
                return AffineExpr.symbol(self._position(self._symbols, "expected an SSA name"))
        if self._current_token.kind != MLIRTokenKind.PERCENT_IDENT:
            return None
        return AffineExpr.dimension(self._position(self._dims, ""))

    def _position(self, spans: dict[str, Span], message: str) -> int:
        span = self._parse_token(MLIRTokenKind.PERCENT_IDENT, message).span
        spans.setdefault(span.text, span)
        return list(spans).index(span.text)


def parse_map_of_ssa_names(parser: Parser) -> tuple[AffineMap, list[SSAValue[IndexType]]]:
    """`[expr, ...]`; the operands are the dimensions', then the symbols'."""
    names = SsaExpressions(parser)
    results = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, names.expression)
    dims, symbols = names.operands()
    return names.map(results), [*dims, *symbols]


def print_expression(
    printer: Printer, expr: AffineExpr, dims: Sequence[SSAValue], symbols: Sequence[SSAValue], outer: int = 0
) -> None:
    """Prints `expr` with names for dimensions and symbols, and no more parentheses than needed."""
    match expr:
        case AffineConstantExpr():
            printer.print_string(str(expr.value))
        case AffineDimExpr():
            printer.print_ssa_value(dims[expr.position])
        case AffineSymExpr():
            printer.print_string("symbol(")
            printer.print_ssa_value(symbols[expr.position])
            printer.print_string(")")
        case AffineBinaryOpExpr():
            own = _PRECEDENCE[expr.kind]
            with printer.in_parens() if own < outer else nullcontext():
                print_expression(printer, expr.lhs, dims, symbols, own)
                printer.print_string(f" {expr.kind.get_token()} ")
                right = own if expr.kind is AffineBinaryOpKind.Add else own + 1
                print_expression(printer, expr.rhs, dims, symbols, right)
        case _:
            raise TypeError(f"not an affine expression: {expr}")


def print_map_of_ssa_names(printer: Printer, map: AffineMap, operands: Sequence[SSAValue]) -> None:
    """Prints `[expr, ...]`."""
    dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
    with printer.in_square_brackets():
        printer.print_list(map.results, lambda expr: print_expression(printer, expr, dims, symbols))


def parse_map_application(parser: Parser) -> tuple[AffineMap, list[SSAValue[IndexType]]]:
    """`affine_map<...>(%dims)[%symbols]`; the numbers of operands are checked."""
    start = parser.pos
    attribute = parser.parse_attribute()
    map = getattr(attribute, "data", None)
    if not isinstance(map, AffineMap):
        parser.raise_error("expected an affine map", start)
    index = IndexType()
    dims = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: parser.parse_operand(index))
    symbols = (
        parser.parse_optional_comma_separated_list(Parser.Delimiter.SQUARE, lambda: parser.parse_operand(index)) or []
    )
    if (len(dims), len(symbols)) != (map.num_dims, map.num_symbols):
        parser.raise_error(
            f"the map takes {map.num_dims} dimensions and {map.num_symbols} symbols, "
            f"got {len(dims)} and {len(symbols)}",
            start,
        )
    return map, [*dims, *symbols]


def print_application(printer: Printer, operands: Sequence[SSAValue], num_dims: int) -> None:
    """Prints `(%dims)[%symbols]`."""
    with printer.in_parens():
        printer.print_list(operands[:num_dims], printer.print_ssa_value)
    if len(operands) > num_dims:
        with printer.in_square_brackets():
            printer.print_list(operands[num_dims:], printer.print_ssa_value)


def parse_bounds(parser: Parser, keyword: str) -> tuple[AffineMap, list[int], list[SSAValue[IndexType]]]:
    """`(0, max(%a, 2))`: the map of all bounds, how many results each takes, and its operands."""
    names = SsaExpressions(parser)
    results: list[AffineExpr] = []

    def bound() -> int:
        if parser.parse_optional_keyword(keyword) is None:
            results.append(names.expression())
            return 1
        group = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, names.expression)
        results.extend(group)
        return len(group)

    groups = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, bound)
    dims, symbols = names.operands()
    return names.map(results), groups, [*dims, *symbols]


def print_bounds(
    printer: Printer, map: AffineMap, groups: DenseIntElementsAttr, operands: Sequence[SSAValue], keyword: str
) -> None:
    """Prints what `parse_bounds` reads."""
    dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
    results = iter(map.results)

    def bound(size: int) -> None:
        exprs = [next(results) for _ in range(size)]
        if size == 1:
            print_expression(printer, exprs[0], dims, symbols)
            return
        printer.print_string(keyword)
        with printer.in_parens():
            printer.print_list(exprs, lambda expr: print_expression(printer, expr, dims, symbols))

    with printer.in_parens():
        printer.print_list([int(size) for size in groups.get_values()], bound)
