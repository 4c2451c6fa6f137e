"""Types and attributes of processes that run at the same time, and of dimensions whose size is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .attributes import parse_record, print_record


@irdl_attr_definition
class FutureType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.future<tensor<2xf32>>`: what an asynchronous op will give."""

    name = "stablehlo.future"
    types: ArrayAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.types.data, printer.print_attribute)


@irdl_attr_definition
class BoundsAttr(Data["tuple[int, ...]"]):
    """`#stablehlo.bounds<4, ?>`: the largest size of each dimension that is not known; -1 stands for `?`."""

    name = "stablehlo.bounds"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        def bound() -> int:
            return -1 if parser.parse_optional_punctuation("?") else parser.parse_integer(allow_negative=False)

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, bound))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join("?" if bound < 0 else str(bound) for bound in self.data))


@dataclass(frozen=True)
class ChannelHandle:
    """Names a channel between processes; 0 is none. `type`: 1 between devices, 2 to and 3 from the host."""

    handle: int = 0
    type: int = 0


@irdl_attr_definition
class ChannelHandleAttr(Data[ChannelHandle]):
    name = "stablehlo.channel_handle"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ChannelHandle:
        return parse_record(parser, ChannelHandle)

    def print_parameter(self, printer: Printer) -> None:
        print_record(printer, self.data, keep_empty=True)
