"""Writing IR text: xDSL's printer, with large constants elided on request and resource keys quoted."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from .resources import quote_key, resource_keys, resource_section
from .weights import WeightStore


@dataclass(frozen=True)
class PrintOptions:
    """How IR is written. `elide_above` is a number of elements; None elides nothing."""

    generic: bool = False
    locations: bool = False
    elide_above: int | None = None
    large_constants: bool = False


@dataclass(eq=False, repr=False)
class IRPrinter(Printer):
    """xDSL's printer with MLIR's elision of large `dense` attributes."""

    elide_above: int | None = field(default=None)

    def print_attribute(self, attribute: Attribute) -> None:
        if (
            self.elide_above is not None
            and isinstance(attribute, DenseIntOrFPElementsAttr)
            and len(attribute) > self.elide_above
        ):
            self.print_string("dense_resource<__elided__> : ")
            attribute = attribute.type
        super().print_attribute(attribute)

    def print_resource_handle(self, dialect: str, handle: str) -> None:
        self.print_string(quote_key(handle))


def print_module(module: Operation, options: PrintOptions | None = None, weights: WeightStore | None = None) -> str:
    """`module` as text that ends in a newline; with `large_constants`, the bytes of `weights` it refers to follow."""
    options = options or PrintOptions()
    stream = StringIO()
    printer = IRPrinter(
        stream,
        print_generic_format=options.generic,
        print_debuginfo=options.locations,
        elide_above=options.elide_above,
    )
    printer.print_op(module)
    stream.write("\n")
    if options.large_constants and weights is not None:
        section = resource_section(weights, dict.fromkeys(resource_keys(module)))
        if section:
            stream.write("\n" + section)
    return stream.getvalue()
