"""Ops of VHLO as ops of StableHLO: dimension numbers gathered into one attribute, and defaults left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from ....compiler.bytecode.stream import Stream
from ....compiler.bytecode.tables import RawOp, Tables
from ....compiler.context import LaminaContext
from ....compiler.dtypes import dense_array, dense_attribute
from .. import attributes as hlo
from ..conv_dimensions import ConvDimensionNumbersAttr, ConvDimensions
from ..types import ChannelHandle, ChannelHandleAttr
from .properties import property_names

Attributes = dict[str, Attribute]
_Record = TypeVar("_Record")

_INT_ARRAYS_TEXT = """
permutation broadcast_dimensions broadcast_sizes fft_length slice_sizes dimensions edge_padding_low edge_padding_high
interior_padding start_indices limit_indices strides window_dimensions window_strides base_dilations window_dilations
lhs_dilation rhs_dilation known_expanding_dimensions known_nonexpanding_dimensions
"""
_INT_ARRAYS = frozenset(_INT_ARRAYS_TEXT.split())
_FALSE_IS_DEFAULT = frozenset(
    ["lower", "indices_are_sorted", "unique_indices", "is_stable", "has_side_effect", "is_host_transfer"]
)
_EMPTY_TEXT = """
composite_attributes backend_config called_computations output_operand_aliases infeed_config outfeed_config layout
result_tilings source_target_pairs known_expanding_dimensions known_nonexpanding_dimensions sym_visibility arg_attrs
res_attrs
"""
_EMPTY_IS_DEFAULT = frozenset(_EMPTY_TEXT.split())
_ONE_IS_DEFAULT = frozenset(["window_strides", "base_dilations", "window_dilations", "lhs_dilation", "rhs_dilation"])
_REQUIRED = {"triangular_solve": ("lower",), "collective_permute": ("source_target_pairs",)}
_ALGORITHM = (
    "lhs_precision_type",
    "rhs_precision_type",
    "accumulation_type",
    "lhs_component_count",
    "rhs_component_count",
    "num_primitive_operations",
    "allow_imprecise_accumulation",
)


def stable_op(raw: RawOp, tables: Tables, context: LaminaContext) -> Operation:
    """The op that a versioned one stands for. Raises LaminaError for one that is not known."""
    match = re.fullmatch(r"(.+)_v\d+", raw.name.name)
    name = match[1] if match else raw.name.name
    attributes = dict(raw.attributes) | _properties(raw, tables, name)
    if name != "constant":
        attributes = {key: _inline(value, tables) for key, value in attributes.items()}
    for builder in _BUILDERS.get(name, ()):
        builder(attributes)
    attributes = dict(_without_defaults(name, attributes))
    if name == "func":
        return _made(FuncOp, raw, attributes)
    if name == "call":
        return _made(CallOp, raw, attributes)
    if name == "return" and raw.parent.startswith("vhlo.func_"):
        return _made(FuncReturnOp, raw, attributes)
    found = context.get_optional_op(f"stablehlo.{name}")
    if found is None:
        raise VerifyException("StableHLO has no such op")
    return _made(cast("type[IRDLOperation]", found), raw, attributes)


def _made(kind: type[IRDLOperation], raw: RawOp, attributes: Attributes) -> Operation:
    known = kind.get_irdl_definition().properties
    return kind.create(
        operands=raw.operands,
        result_types=raw.result_types,
        properties={key: value for key, value in attributes.items() if key in known},
        attributes={key: value for key, value in attributes.items() if key not in known},
        regions=raw.regions,
        successors=raw.successors,
    )


def _properties(raw: RawOp, tables: Tables, name: str) -> Attributes:
    if not isinstance(raw.properties, Stream):
        return dict(raw.properties or {})
    reader = tables.reader(raw.properties)
    found = {key: reader.attribute() for key in property_names(raw.name.name, name)}
    if len(raw.properties):
        raise VerifyException("has properties that are not known")
    return found


def _inline(value: Attribute, tables: Tables) -> Attribute:
    """Elements that went to the weight store, in the IR again: only constants keep them there."""
    if not isinstance(value, DenseResourceAttr):
        return value
    array = tables.context.weights.get(value.resource_handle.data)
    if array.size > 1 << 16:
        raise VerifyException(f"has an attribute of {array.size} elements")
    return dense_attribute(np.ascontiguousarray(array))


def _numbers(value: Attribute | None) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise VerifyException(f"expected numbers, got {value}")
    return tuple(int(v) for v in dense_array(value).reshape(-1))


def _number(value: Attribute | None) -> int:
    if value is None:
        return 0
    if not isinstance(value, IntegerAttr):
        raise VerifyException(f"expected a number, got {value}")
    return value.value.data


def _gathered(attributes: Attributes, record: type[_Record]) -> _Record:
    """The fields of `record`, taken out of `attributes`."""
    values: dict[str, Any] = {}
    for field in fields(cast(Any, record)):
        many = "tuple" in str(field.type)
        value = attributes.pop(field.name, None)
        values[field.name] = _numbers(value) if many else _number(value)
    return record(**values)


def _conv_dimensions(attributes: Attributes) -> None:
    attributes["dimension_numbers"] = ConvDimensionNumbersAttr(_gathered(attributes, ConvDimensions))


def _dynamic_conv(attributes: Attributes) -> None:
    attributes.pop("padding", None)  # of the first version, beside the operand


def _dot_dimensions(attributes: Attributes) -> None:
    attributes["dot_dimension_numbers"] = hlo.DotDimensionNumbersAttr(_gathered(attributes, hlo.DotDimensions))


def _dot_algorithm(attributes: Attributes) -> None:
    given = {key: attributes.pop(key) for key in _ALGORITHM if key in attributes}
    if not given or any(isinstance(value, NoneType) for value in given.values()):
        return
    values = {key: value if key.endswith("_type") else _number(value) for key, value in given.items()}
    values["allow_imprecise_accumulation"] = bool(values["allow_imprecise_accumulation"])
    attributes["algorithm"] = hlo.DotAlgorithmAttr(hlo.DotAlgorithm(**cast(Any, values)))


def _gather_dimensions(attributes: Attributes) -> None:
    attributes["dimension_numbers"] = hlo.GatherDimensionNumbersAttr(_gathered(attributes, hlo.GatherDimensions))


def _scatter_dimensions(attributes: Attributes) -> None:
    numbers = hlo.ScatterDimensionNumbersAttr(_gathered(attributes, hlo.ScatterDimensions))
    attributes["scatter_dimension_numbers"] = numbers


def _channel(attributes: Attributes) -> None:
    handle, kind = _number(attributes.pop("channel_id", None)), attributes.pop("channel_type", None)
    if handle or kind is not None:
        attributes["channel_handle"] = ChannelHandleAttr(ChannelHandle(handle, _number(kind)))


def _flags(attributes: Attributes) -> None:
    """Flags that StableHLO says by being there."""
    for key in ("use_global_device_ids", "has_dynamic_root"):
        if _number(attributes.pop(key, None)):
            attributes[key] = UnitAttr()


def _symbols(attributes: Attributes) -> None:
    for key in ("callee", "decomposition"):
        if isinstance(name := attributes.get(key), StringAttr):
            attributes[key] = SymbolRefAttr(name)
    names = attributes.get("called_computations")
    if isinstance(names, ArrayAttr):
        attributes["called_computations"] = ArrayAttr(
            SymbolRefAttr(each) if isinstance(each, StringAttr) else each for each in names
        )


_COLLECTIVE = (_channel, _flags)
_BUILDERS: dict[str, tuple[Callable[[Attributes], None], ...]] = {
    "convolution": (_conv_dimensions,),
    "dynamic_conv": (_conv_dimensions, _dynamic_conv),
    "dot_general": (_dot_dimensions, _dot_algorithm),
    "gather": (_gather_dimensions,),
    "dynamic_gather": (_gather_dimensions,),
    "scatter": (_scatter_dimensions,),
    "send": (_channel,),
    "recv": (_channel,),
    "all_gather": _COLLECTIVE,
    "all_reduce": _COLLECTIVE,
    "all_to_all": _COLLECTIVE,
    "collective_broadcast": _COLLECTIVE,
    "collective_permute": _COLLECTIVE,
    "collective_reduce": _COLLECTIVE,
    "reduce_scatter": _COLLECTIVE,
    "call": (_symbols,),
    "composite": (_symbols,),
    "custom_call": (_symbols,),
}


def _without_defaults(name: str, attributes: Attributes) -> Iterable[tuple[str, Attribute]]:
    """The attributes that say something, arrays in StableHLO's form."""
    required = _REQUIRED.get(name, ())
    layouts = [attributes.get(key) for key in ("operand_layouts", "result_layouts")]
    no_layouts = not any(isinstance(each, ArrayAttr) and each.data for each in layouts)
    for key, value in attributes.items():
        if key not in required and _is_default(name, key, value):
            continue
        if no_layouts and key in ("operand_layouts", "result_layouts"):
            continue
        if key in _INT_ARRAYS and isinstance(value, DenseIntOrFPElementsAttr):
            value = hlo.int_array(_numbers(value))
        elif key == "window_reversal" and isinstance(value, DenseIntOrFPElementsAttr):
            value = hlo.bool_array([bool(each) for each in _numbers(value)])
        yield key, value


def _is_default(name: str, key: str, value: Attribute) -> bool:
    if key in _EMPTY_IS_DEFAULT and _is_empty(value):
        return True
    if key in ("arg_attrs", "res_attrs") and isinstance(value, ArrayAttr):
        return all(_is_empty(each) for each in value)
    if key in _FALSE_IS_DEFAULT:
        return isinstance(value, IntegerAttr) and not value.value.data
    if key == "window_reversal":
        return not any(_numbers(value))
    if key in _ONE_IS_DEFAULT:
        return name != "slice" and all(each == 1 for each in _numbers(value))
    match key, value:
        case "padding", _:
            return not any(_numbers(value))
        case "precision_config", ArrayAttr():
            return all(each == hlo.PrecisionAttr(hlo.Precision.DEFAULT) for each in value)
        case "compare_type", hlo.ComparisonTypeAttr():
            return value.data == hlo.ComparisonType.NOTYPE
        case "result_accuracy", hlo.ResultAccuracyAttr():
            return value.data == hlo.ResultAccuracy()
        case "api_version", IntegerAttr():
            return value.value.data == 1
        case "version", IntegerAttr():
            return value.value.data == 0
        case "dimension", IntegerAttr():
            return name == "sort" and value.value.data == -1
        case _:
            return False


def _is_empty(value: Attribute) -> bool:
    match value:
        case ArrayAttr() | DictionaryAttr() | StringAttr():
            return not value.data
        case DenseIntOrFPElementsAttr():
            return not value.data.data
        case DenseArrayBase():
            return not len(value)
        case _:
            return False
