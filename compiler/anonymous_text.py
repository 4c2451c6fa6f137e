"""What a function does as text, by which equal ones are found: names, columns and indentation are for people."""

from __future__ import annotations

import io

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.printer import Printer

_NAMES = ("sym_name", "sym_visibility")


class _Anonymous(Printer):
    """Writes values as numbers, whatever they are called, and lines as they come."""

    def __init__(self) -> None:
        self.text = io.StringIO()
        super().__init__(stream=self.text)
        self._numbers: dict[SSAValue, str] = {}

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        self.text.write(text)

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._numbers.get(value)
        if name is None:
            name = self._numbers[value] = f"%{len(self._numbers)}"
        self.text.write(name)
        return name


def anonymous_text(function: FuncOp) -> str:
    """A function without its name and those of its values; functions of one text compute the same."""
    printer = _Anonymous()
    properties = {key: value for key, value in function.properties.items() if key not in _NAMES}
    printer.print_attr_dict(properties | function.attributes)
    printer.print_region(function.body)
    return printer.text.getvalue()
