"""What lamina-opt finds: names and loaders."""

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _dialect() -> Dialect:
    from lamina_dots.dialect import Dots

    return Dots


def _lower() -> type[ModulePass]:
    from lamina_dots.lower import LowerDots

    return LowerDots


UNIVERSE = Universe(all_dialects={"dots": _dialect}, all_passes={"dots-lower": _lower})
