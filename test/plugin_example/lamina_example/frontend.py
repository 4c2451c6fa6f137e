"""Files that end in `.poly`: how many numbers, then the factors of a polynomial of each, the highest power first."""

import re
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.parsing import parse_module


def read(path: Path, context: LaminaContext) -> ModuleOp:
    """`4` and `2 0 -1` are 2 x^2 - 1 of four numbers, in hub ops, by Horner's rule."""
    size, first, *others = _numbers(path)
    type_ = f"tensor<{int(size)}xf32>"
    lines = [f"func.func public @main(%x: {type_}) -> {type_} {{", f"%y0 = stablehlo.constant dense<{first}> : {type_}"]
    for i, factor in enumerate(others):
        lines += [
            f"%p{i} = stablehlo.multiply %y{i}, %x : {type_}",
            f"%f{i} = stablehlo.constant dense<{factor}> : {type_}",
            f"%y{i + 1} = stablehlo.add %p{i}, %f{i} : {type_}",
        ]
    return parse_module("\n".join([*lines, f"return %y{len(others)} : {type_}", "}"]), str(path), context)


def _numbers(path: Path) -> list[float]:
    found: list[float] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for word in re.finditer(r"\S+", line):
            if not re.fullmatch(r"-?\d+(\.\d+)?" if found else r"\d+", word[0]):
                wanted = "a number" if found else "how many numbers there are"
                raise LaminaError(f"expected {wanted}, got '{word[0]}'", where=f"{path}:{number}:{word.start() + 1}")
            found.append(float(word[0]))
    if len(found) < 2:
        raise LaminaError("a polynomial has at least one factor", where=str(path))
    return found
