"""The ops of the onnx level: one class per operator, made when it is first met.

    %y = "onnx.Conv"(%x, %w) {strides = array<i64: 2, 2>}
        : (tensor<1x3x8x8xf32>, tensor<4x3x2x2xf32>) -> tensor<1x4x4x4xf32>
    %z = "onnx.com.example.Swirl"(%y) : (tensor<1x4x4x4xf32>) -> !onnx.unknown

The op's name is `onnx.<operator>`, or `onnx.<domain>.<operator>` outside ai.onnx. An input that a node
leaves out is `"onnx.NoValue"() : () -> none`. Graphs in attributes (If, Loop, Scan) are regions ending in
`onnx.Yield`, their names in order in `onnx.regions`. The module's `onnx.opsets` says which version of each
domain is meant; an op that comes from elsewhere (a function's body) says its own in `onnx.opset`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, Operation, OpTrait, SSAValue, TypeAttribute
from xdsl.irdl import traits_def
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from .schemas import DEFAULT_DOMAIN, find_schema, is_known_domain, is_operator, newest_version

if TYPE_CHECKING:
    from onnx.defs import OpSchema

REGION_NAMES = "onnx.regions"
OPSET = "onnx.opset"
OPSETS = "onnx.opsets"
DYNAMIC_QUANTIZATION = "onnx.dynamic_quantization"  # a unit attribute: rows of floats are rounded to bytes


class OnnxOp(Operation):
    """An operator of ONNX; what it may look like is asked of the schema registry, never written here."""

    name = "onnx.operator"
    domain: str
    operator: str

    @property
    def opset(self) -> int:
        """The version of the op's domain it is written in; the newest known where nothing says."""
        own = self.attributes.get(OPSET)
        if isinstance(own, IntegerAttr):
            return own.value.data
        top: Operation = self
        while (parent := top.parent_op()) is not None:
            top = parent
        opsets = top.attributes.get(OPSETS)
        version = opsets.data.get(self.domain) if isinstance(opsets, DictionaryAttr) else None
        return version.value.data if isinstance(version, IntegerAttr) else newest_version(self.domain)

    @property
    def schema(self) -> OpSchema | None:
        """The registry's schema, None for custom domains and operators the opset lacks."""
        return find_schema(self.domain, self.operator, self.opset)

    @property
    def region_names(self) -> list[str]:
        """The attribute name of each region, in order."""
        names = self.attributes.get(REGION_NAMES)
        return [n.data for n in names if isinstance(n, StringAttr)] if isinstance(names, ArrayAttr) else []

    def verify_(self) -> None:
        schema = self.schema
        if schema is None:
            if is_known_domain(self.domain):
                raise VerifyException(f"{self.domain} has no operator {self.operator} in opset {self.opset}")
            return
        if schema.deprecated:
            raise VerifyException(f"{self.operator} is deprecated since opset {schema.since_version}")
        self._verify_operands(schema)
        self._verify_attributes(schema)
        count = len(self.results)
        if not schema.min_output <= count <= schema.max_output:
            raise VerifyException(_range_message("results", schema.min_output, schema.max_output, count))

    def _verify_operands(self, schema: OpSchema) -> None:
        count = len(self.operands)
        if not schema.min_input <= count <= schema.max_input:
            raise VerifyException(_range_message("inputs", schema.min_input, schema.max_input, count))
        for i, operand in enumerate(self.operands):
            formal = schema.inputs[min(i, len(schema.inputs) - 1)]
            if is_absent(operand) and i < schema.min_input and "Optional" not in str(formal.option):
                raise VerifyException(f"input '{formal.name}' is required")

    def _verify_attributes(self, schema: OpSchema) -> None:
        regions = self.region_names
        if len(regions) != len(self.regions):
            raise VerifyException(f"{len(self.regions)} regions, but {len(regions)} names in '{REGION_NAMES}'")
        for name, attribute in self.attributes.items():
            if "." in name:  # ours, such as onnx.regions
                continue
            declared = schema.attributes.get(name)
            if declared is None:
                known = ", ".join(sorted(schema.attributes)) or "none"
                raise VerifyException(f"unknown attribute '{name}'; opset {self.opset} has {known}")
            kind = str(declared.type).rpartition(".")[2]
            if not ATTRIBUTE_KINDS[kind](attribute):
                raise VerifyException(f"attribute '{name}' must be of kind {kind}, got {attribute}")
        for name, declared in schema.attributes.items():
            if declared.required and name not in self.attributes and name not in regions:
                raise VerifyException(f"attribute '{name}' is required")


class NoValueOp(Operation):
    """Stands for an optional input that is left out: `%none = "onnx.NoValue"() : () -> none`."""

    name = "onnx.NoValue"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.operands or [r.type for r in self.results] != [NoneType()]:
            raise VerifyException("takes nothing and gives one value of type none")


class YieldOp(Operation):
    """Ends a subgraph and names its outputs: `"onnx.Yield"(%a, %b) : (tensor<f32>, tensor<i1>) -> ()`."""

    name = "onnx.Yield"
    traits = traits_def(IsTerminator(), Pure())


def is_absent(value: SSAValue) -> bool:
    """Whether `value` stands for an input that was left out."""
    return isinstance(value.owner, NoValueOp)


def _range_message(what: str, low: int, high: int, got: int) -> str:
    bound = str(low) if low == high else f"at least {low}" if high > 1_000_000 else f"{low} to {high}"
    return f"expected {bound} {what}, got {got}"


def _is_int(a: Attribute) -> bool:
    return isinstance(a, IntegerAttr) and a.type == i64


def _is_float(a: Attribute) -> bool:
    return isinstance(a, FloatAttr) and a.type == f32


def _is_tensor(a: Attribute) -> bool:
    return isinstance(a, DenseIntOrFPElementsAttr | DenseResourceAttr)


def _is_array(element: Attribute) -> Callable[[Attribute], bool]:
    return lambda a: isinstance(a, DenseArrayBase) and a.elt_type == element


def _is_list(of: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    return lambda a: isinstance(a, ArrayAttr) and all(of(x) for x in a)


def _is_string(a: Attribute) -> bool:
    return isinstance(a, StringAttr)


def _is_type(a: Attribute) -> bool:
    return isinstance(a, TypeAttribute)


# AttributeProto.AttributeType -> what stands for it here; graphs are regions and never attributes
ATTRIBUTE_KINDS: dict[str, Callable[[Attribute], bool]] = {
    "INT": _is_int,
    "FLOAT": _is_float,
    "STRING": _is_string,
    "TENSOR": _is_tensor,
    "INTS": _is_array(i64),
    "FLOATS": _is_array(f32),
    "STRINGS": _is_list(_is_string),
    "TENSORS": _is_list(_is_tensor),
    "TYPE_PROTO": _is_type,
    "TYPE_PROTOS": _is_list(_is_type),
    "SPARSE_TENSOR": _is_tensor,
    "SPARSE_TENSORS": _is_list(_is_tensor),
    "GRAPH": lambda a: False,
    "GRAPHS": lambda a: False,
}


# what ONNX Runtime's optimiser writes as if ONNX had it
_STRAYS = {"SimplifiedLayerNormalization": "com.microsoft"}


def op_name(domain: str, operator: str) -> str:
    """The name at this level.

    >>> op_name("", "Conv"), op_name("ai.onnx.ml", "Scaler")
    ('onnx.Conv', 'onnx.ai.onnx.ml.Scaler')
    """
    if operator in _STRAYS and domain in ("", DEFAULT_DOMAIN):
        domain = _STRAYS[operator]
    return f"onnx.{operator}" if domain in ("", DEFAULT_DOMAIN) else f"onnx.{domain}.{operator}"


@cache
def op_class(name: str) -> type[Operation] | None:
    """The class of the op called `name` (`onnx.Conv`), made on first use; None when ONNX has none."""
    for known in (NoValueOp, YieldOp):
        if name == known.name:
            return known
    domain, _, operator = name.removeprefix("onnx.").rpartition(".")
    domain = domain or DEFAULT_DOMAIN
    if is_known_domain(domain) and not is_operator(domain, operator):
        return None
    traits: Sequence[OpTrait] = [] if _is_random(domain, operator) else [Pure()]
    body: dict[str, Any] = {
        "name": name,
        "domain": domain,
        "operator": operator,
        "traits": traits_def(*traits),
        "__module__": __name__,
        "__doc__": f"The operator {operator} of {domain}.",
    }
    return type(f"{operator}Op", (OnnxOp,), body)


def _is_random(domain: str, operator: str) -> bool:
    schema = find_schema(domain, operator, newest_version(domain))
    return "NonDeterministic" in str(getattr(schema, "node_determinism", ""))  # older packages do not say
