"""A module with its context: what travels between the levels, and where on the staircase it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    ShapedType,
    StringAttr,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Operation

from .context import LaminaContext
from .copying import copied
from .diagnostics import LaminaError
from .dtypes import dtype_of
from .printing import print_module
from .signature import Signature, TensorSpec, check_alias

SIGNATURE = "lamina.signature"
LEVEL = "lamina.level"
EXTENTS = "lamina.extents"  # on a result: which dimensions of others it tells the true size of
ALIAS = "lamina.aliasing_output"  # on an argument: which output is computed in its memory
KEY = "lamina.key"  # on an argument, the last: random numbers are made of it, and every call is given another


@dataclass
class Program:
    """An IR module and the context (dialects, weights, machine) that gives it meaning."""

    module: ModuleOp
    context: LaminaContext

    def __str__(self) -> str:
        return print_module(self.module)

    def clone(self) -> Program:
        """A copy whose module can be changed freely; weights stay shared."""
        return replace(self, module=copied(self.module))

    @property
    def signature(self) -> Signature:
        """Names, shapes and dtypes of `@main`. Raises LaminaError when the module has no `@main`."""
        return signature_of(self.module)

    def record_signature(self) -> None:
        """Writes the signature on the module, so that it survives levels whose types no longer tell it."""
        if SIGNATURE not in self.module.attributes:
            self.module.attributes[SIGNATURE] = StringAttr(json.dumps(self.signature.to_json()))


def main_function(module: ModuleOp) -> Operation:
    """The function `@main` of a module. Raises LaminaError when there is none."""
    for op in module.ops:
        name = op.properties.get("sym_name")
        if isinstance(name, StringAttr) and name.data == "main":
            if not op.regions or not op.regions[0].blocks:
                raise LaminaError("the function @main has no body", where=op)
            return op
    raise LaminaError("the module has no function @main", hint="the entry of a program is `func.func public @main`")


def signature_of(module: ModuleOp) -> Signature:
    """The recorded signature of a module, or the one that the tensor types of `@main` tell."""
    try:
        return _told(module)
    except (AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
        what = f"{SIGNATURE}, lamina.name, lamina.dims or {EXTENTS}"
        raise LaminaError(f"the attributes of @main do not tell a signature: {error}", hint=f"see {what}") from error


def _told(module: ModuleOp) -> Signature:
    recorded = module.attributes.get(SIGNATURE)
    if isinstance(recorded, StringAttr):
        return Signature.from_json(json.loads(recorded.data))
    main = main_function(module)
    type_ = main.properties["function_type"]
    assert isinstance(type_, FunctionType)
    sides = (("arg_attrs", type_.inputs, "input"), ("res_attrs", type_.outputs, "output"))
    inputs, outputs = (_specs(main.properties.get(attrs), types.data, word) for attrs, types, word in sides)
    extents = _extents(main.properties.get("res_attrs"))
    for output, dimension, _ in extents:
        if not (0 <= output < len(outputs) and 0 <= dimension < len(outputs[output].shape)):
            raise ValueError(f"there is no dimension {dimension} of output {output}")
    aliases = aliases_of(main)
    sized = {output for output, _, _ in extents}
    for input_, output in aliases:
        if not 0 <= output < len(outputs):
            raise LaminaError(f"input {input_} is to hold output {output}, which there is not", where=main)
        check_alias(inputs[input_], outputs[output])
        if output in sized:
            raise LaminaError(
                f"how large output '{outputs[output].name}' is only its data tell",
                hint=f"it cannot lie in the memory of input '{inputs[input_].name}'",
            )
    attributes = _entries(main.properties.get("arg_attrs"))
    random = any(isinstance(entry, DictionaryAttr) and KEY in entry.data for entry in attributes)
    return Signature(inputs, outputs, extents, random, aliases)


def aliases_of(main: Operation) -> tuple[tuple[int, int], ...]:
    """Which inputs of `@main` outputs are computed in, and these: `lamina.aliasing_output = N : i64` of an argument.

    Raises LaminaError for anything else under that name.
    """
    found: list[tuple[int, int]] = []
    for place, entry in enumerate(_entries(main.properties.get("arg_attrs"))):
        output = entry.data.get(ALIAS) if isinstance(entry, DictionaryAttr) else None
        if output is not None:
            if not isinstance(output, IntegerAttr):
                raise LaminaError(f"{ALIAS} of input {place} is {output}", where=main, hint="the number of an output")
            found.append((place, output.value.data))
    if len({output for _, output in found}) < len(found):
        raise LaminaError("two inputs are to hold the same output", where=main, hint=f"see {ALIAS}")
    return tuple(found)


def _extents(attrs: Attribute | None) -> tuple[tuple[int, int, int], ...]:
    """Which results tell the size of a dimension of others: `lamina.extents = [array<i64: output, dimension>, ...]`."""
    found: list[tuple[int, int, int]] = []
    for place, entry in enumerate(_entries(attrs)):
        told = entry.data.get(EXTENTS) if isinstance(entry, DictionaryAttr) else None
        for pair in _entries(told):
            assert isinstance(pair, DenseArrayBase)
            output, dimension = (int(value) for value in pair.get_values())
            found.append((output, dimension, place))
    return tuple(found)


def _entries(array: Attribute | None) -> tuple[Attribute, ...]:
    return array.data if isinstance(array, ArrayAttr) else ()


def dimension_names(kind: ShapedType, told: Mapping[str, Attribute], otherwise: str) -> list[str]:
    """What each open dimension of a value is called, "" for those of known size.

    One that `lamina.dims` of `told` has no name for is called after the value: `x_dim0`, where `lamina.name` does not
    name that either, after `otherwise`.
    """
    name, dims = told.get("lamina.name"), told.get("lamina.dims")
    label = name.data if isinstance(name, StringAttr) else otherwise
    given = [d.data if isinstance(d, StringAttr) else "" for d in dims.data] if isinstance(dims, ArrayAttr) else []
    named = zip_longest(kind.get_shape(), given[: kind.get_num_dims()], fillvalue="")
    return [(symbol or f"{label}_dim{k}") if n == DYNAMIC_INDEX else "" for k, (n, symbol) in enumerate(named)]


def _specs(attrs: Attribute | None, types: tuple[Attribute, ...], word: str) -> tuple[TensorSpec, ...]:
    specs: list[TensorSpec] = []
    for i, type_ in enumerate(types):
        if not isinstance(type_, ShapedType):
            if word == "input":
                if isinstance(type_, UnrankedTensorType):
                    raise LaminaError(f"input {i} of @main has no known rank", hint="give the model's inputs a shape")
                raise LaminaError(f"input {i} of @main is {type_}, expected a tensor")
            dtype = dtype_of(type_.element_type).name if isinstance(type_, UnrankedTensorType) else "?"
            specs.append(TensorSpec(f"output{i}", ("...",), dtype))  # told after lowering
            continue
        told: dict[str, Attribute] = {}
        if isinstance(attrs, ArrayAttr):
            entry = attrs.data[i]
            assert isinstance(entry, DictionaryAttr)
            told = dict(entry.data)
        name = told.get("lamina.name")
        label = name.data if isinstance(name, StringAttr) else f"{word}{i}"
        symbols = dimension_names(type_, told, f"{word}{i}")
        shape = tuple(symbol or n for symbol, n in zip(symbols, type_.get_shape(), strict=True))
        specs.append(TensorSpec(label, shape, dtype_of(type_).name))  # pyright: ignore
    return tuple(specs)
