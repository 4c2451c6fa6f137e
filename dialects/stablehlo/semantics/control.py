"""Control flow, tuples, tokens, calls of functions and of the outside world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.semantics import Call, Region, Spec, semantics
from ....compiler.weights import Array
from ..check import is_check
from ..library_calls import routine_of
from ..ops_call import CustomCallOp
from .checks import CUSTOM_CHECKS
from .library_calls import LIBRARY_CALLS
from .regions import is_elementwise


@semantics("stablehlo.if")
def if_(pred: Array, *, regions: list[Region]) -> list[Array]:
    return regions[0]() if pred else regions[1]()


@semantics("stablehlo.case")
def case(index: Array, *, regions: list[Region]) -> list[Array]:
    """An index out of range takes the last branch."""
    inside = 0 <= int(index) < len(regions)
    return regions[int(index) if inside else -1]()


@semantics("stablehlo.while")
def while_(*state: Array, regions: list[Region]) -> list[Array]:
    condition, body = regions
    values = list(state)
    while condition(*values)[0]:
        values = body(*values)
    return values


@semantics("stablehlo.map")
def map_(*inputs: Array, dimensions: Sequence[int], regions: list[Region], call: Call, result: Spec) -> Array:
    if is_elementwise(call.op.regions[0]):
        return regions[0].lifted(*inputs)[0]
    out = np.empty(inputs[0].shape, result.dtype)
    for index in np.ndindex(*out.shape):
        [out[index]] = regions[0](*(np.asarray(x[index]) for x in inputs))
    return out


@semantics("stablehlo.optimization_barrier")
def optimization_barrier(*values: Array) -> list[Array]:
    return list(values)


@semantics("stablehlo.after_all", "stablehlo.create_token")
def after_all(*tokens: Any) -> list[Any]:
    return [None]


@semantics("stablehlo.tuple")
def tuple_(*values: Any) -> list[Any]:
    return [tuple(values)]


@semantics("stablehlo.get_tuple_element")
def get_tuple_element(values: Any, *, index: int) -> list[Any]:
    return [values[index]]


@semantics("stablehlo.composite")
def composite(*args: Array, decomposition: str, call: Call) -> list[Array]:
    return call.function(decomposition, args)


@semantics("stablehlo.custom_call")
def custom_call(*args: Any, call: Call, results: list[Spec]) -> list[Array]:
    """Routines of LAPACK, and checks, whose results are `true`: what does not hold is raised."""
    assert isinstance(call.op, CustomCallOp)
    target = call.op.call_target_name.data
    if is_check(call.op):
        CUSTOM_CHECKS[target](*args, call=call)
        return [np.array(True) for _ in results]
    routine = routine_of(call.op)
    if routine is None:
        raise LaminaError(f"custom call target '{target}' is unknown", where=call.op)
    made = LIBRARY_CALLS[routine](*args, call=call)
    if [Spec(x.shape, x.dtype) for x in made] != results:
        gives = ", ".join(f"{x.dtype} {list(x.shape)}" for x in made) or "nothing"
        raise LaminaError(f"@{target} gives {gives}", where=call.op)
    return made


@semantics("stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed")
def transfer(*values: Any, call: Call) -> list[Any]:
    raise LaminaError("there is no channel to the host or to another program", where=call.op)


@semantics("stablehlo.async_start")
def async_start(*values: Array, regions: list[Region]) -> list[Any]:
    """Nothing is gained by waiting: the future holds the results."""
    return [tuple(regions[0](*values))]


@semantics("stablehlo.async_done")
def async_done(future: Any) -> list[Array]:
    return list(future)
