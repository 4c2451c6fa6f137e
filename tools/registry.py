"""All dialects and passes this installation knows: ours, xDSL's dialects below them, and the plug-ins'."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import get_all_dialects
from xdsl.passes import ModulePass

from ..compiler.driver import Registry
from ..compiler.machine import Machine
from ..compiler.plugins import installed, load_universes
from ..compiler.semantics import MODULES
from ..dialects import all_dialects
from ..passes import PASSES, all_passes, load_pass


def registry(plugins: Sequence[str] = ()) -> Registry:
    """What the tools can speak of; `plugins` (`module:NAME`) are loaded besides the installed ones.

    Raises LaminaError when two packages claim one name.
    """
    dialects = {**get_all_dialects(), **all_dialects()}
    found = load_universes(plugins, dialects, all_passes())
    for point in installed("lamina.semantics"):
        MODULES.setdefault(point.name, point.value)
    passes: dict[str, dict[str, Callable[[], type[ModulePass]]]] = {
        heading: {name: (lambda path=path: load_pass(path)) for name, path in group.items()}
        for heading, group in PASSES.items()
    }
    passes |= {f"plug-in {package}": group for package, group in found.passes.items()}
    return Registry({**dialects, **found.dialects}, passes, tuple(found.warnings), machine_named)


def machine_named(name: str) -> Machine:
    """A machine with a description, or a GPU of this compute capability. Raises LaminaError for any other name."""
    from ..backends.cuda.architectures import ARCHITECTURES  # only who names a machine pays

    if name in ARCHITECTURES:
        return ARCHITECTURES[name].machine
    return Machine.preset(name)
