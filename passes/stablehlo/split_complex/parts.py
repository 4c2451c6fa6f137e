"""The table of this conversion's rules, its types, and how the two parts of a value are had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....compiler.conversion import RuleBuilder, Rules
from ..elements import Elements


def is_complex(type_: Attribute) -> bool:
    """Whether this is a tensor of complex numbers."""
    return isinstance(type_, TensorType) and isinstance(type_.element_type, ComplexType)


def split(type_: Attribute) -> Attribute | tuple[Attribute, ...]:
    """The types of the real and the imaginary part; a type that is not complex stays."""
    if isinstance(type_, TensorType) and isinstance(type_.element_type, ComplexType):
        return (TensorType(type_.element_type.element_type, type_.get_shape()),) * 2
    return type_


SPLIT = Rules("stablehlo-split-complex", types=split)


@dataclass(frozen=True, eq=False)
class Complex:
    """The parts of a complex tensor being computed with."""

    re: Elements
    im: Elements

    @property
    def values(self) -> Sequence[SSAValue]:
        """What a rule gives for a complex result."""
        return (self.re.value, self.im.value)

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)


def parts_of(value: SSAValue, b: RuleBuilder) -> Complex:
    """Both parts of an operand of the source; the imaginary one of a real operand is zero."""
    found = [Elements(b, part) for part in b.values(value)]
    return Complex(found[0], found[1] if len(found) == 2 else found[0].like(0.0))


def part_of(value: SSAValue, k: int, b: RuleBuilder) -> SSAValue:
    """The real (0) or imaginary (1) part of an operand, a real one as it is."""
    values = b.values(value)
    return values[k] if len(values) == 2 else values[0]


def alike(op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
    """The same op without regions on other operands."""
    return type(op).create(
        operands=operands,
        result_types=types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
