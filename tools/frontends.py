"""Frontends that packages add: entry points of the group `lamina.frontends`, each named like the files that it reads.

An entry `poly` reads files that end in `.poly`. It is a function of a path and of a context that knows all dialects,
and gives a module on any level that a descent may begin at. Large constants go to `context.weights`.

    def read(path: Path, context: LaminaContext) -> ModuleOp: ...
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ..compiler.context import LaminaContext
from ..compiler.diagnostics import LaminaError
from ..compiler.plugins import PluginPoint, clash, installed
from ..compiler.program import Program
from ..compiler.resources import check_resources
from ..compiler.verifier import verify

GROUP = "lamina.frontends"
BUILT_IN = ("onnx", "lam", "pt2", "mlir", "mlirbc", "jax")


def frontends() -> dict[str, PluginPoint]:
    """The installed ones by suffix, without the dot. Raises LaminaError naming both packages where two claim one."""
    found = {point.name: point for point in installed(GROUP)}
    for name, point in found.items():
        if name in BUILT_IN:
            raise clash("frontend", name, "lamina", point.package)
    return found


def read_with_frontend(path: Path, context: LaminaContext) -> Program:
    """The program in a file of a kind that a package reads.

    Raises LaminaError where none does, and with the package's name where its frontend does not load or fails.
    """
    known = frontends()
    point = known.get(path.suffix.removeprefix("."))
    if point is None:
        kind = f"files of kind '{path.suffix}'" if path.suffix else "files without a suffix"
        *others, last = (f".{name}" for name in (*BUILT_IN, *known))
        raise LaminaError(f"{kind} are not programs", where=str(path), hint=f"expected {', '.join(others)} or {last}")
    read = point.load()
    try:
        module = point.guarded("frontend", lambda: read(path, context), str(path))
    except LaminaError as error:
        if isinstance(error.__cause__, OSError):  # the file, most often, and not the frontend
            raise LaminaError(f"cannot read: {error.__cause__}", where=str(path)) from error.__cause__
        raise
    if not isinstance(module, ModuleOp):
        told = f"frontend '{point.name}' of package '{point.package}' gives a {type(module).__name__}"
        raise LaminaError(f"{told}, expected a ModuleOp", where=str(path))
    verify(module)
    check_resources(module, context.weights)
    return Program(module, context)
