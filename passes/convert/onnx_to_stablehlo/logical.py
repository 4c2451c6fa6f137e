"""ONNX's logic, comparisons and bitwise operators in hub ops."""

from __future__ import annotations

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value
from .table import lowers


@lowers("Not", "BitwiseNot")
def logical_not(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.NotOp(x))


@lowers("And", "BitwiseAnd", since=7)
def logical_and(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.logical_and(x, y)


@lowers("Or", "BitwiseOr", since=7)
def logical_or(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.logical_or(x, y)


@lowers("Xor", "BitwiseXor", since=7)
def logical_xor(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.binary(hlo.XorOp, x, y)


@lowers("Equal", since=7)
def equal(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.compare(x, y, "EQ")


@lowers("Less", since=7)
def less(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.compare(x, y, "LT")


@lowers("LessOrEqual")
def less_or_equal(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.compare(x, y, "LE")


@lowers("Greater", since=7)
def greater(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.compare(x, y, "GT")


@lowers("GreaterOrEqual")
def greater_or_equal(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.compare(x, y, "GE")


@lowers("Where")
def where(b: GraphBuilder, condition: Value, x: Value, y: Value) -> Value:
    return b.select(condition, x, y)
