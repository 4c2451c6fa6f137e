"""Operators that stay one op of the hub, with what they mean beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value


def composite(
    b: GraphBuilder,
    name: str,
    inputs: Sequence[Value],
    said: Mapping[str, int],
    meaning: Callable[..., Sequence[Value]],
) -> list[Value]:
    """A stablehlo.composite with the attributes `said` that means what `meaning(builder, said, *inputs)` makes.

    The name of a decomposition says all of it, so that equal ones are one, of all functions of a module.
    """
    types = [value.type for value in inputs]
    whole = "_".join([name.rpartition(".")[2], *map(str, said.values()), *(str(t)[7:-1] for t in types)])
    if whole not in b.decompositions:
        with b.inner(types) as inner:
            results = meaning(inner, said, *inner.block.args)
        inner.all(ReturnOp(*results))
        kinds = [result.type for result in results]
        function = FuncOp(whole, (types, kinds), Region(inner.block), visibility="private")
        function.location = b.location or function.location
        b.decompositions[whole] = function
    kinds = b.decompositions[whole].function_type.outputs.data
    attributes = {key: IntegerAttr(value, i64) for key, value in said.items()}
    return b.all(hlo.CompositeOp(inputs, kinds, name=name, decomposition=whole, composite_attributes=attributes))
