"""What xdsl-opt and lamina-opt find: names and loaders, so that nothing is imported before it is used."""

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _dialect() -> Dialect:
    from lamina_example.dialect import Example

    return Example


def _expand_cube() -> type[ModulePass]:
    from lamina_example.expand_cube import ExpandCube

    return ExpandCube


UNIVERSE = Universe(all_dialects={"example": _dialect}, all_passes={"example-expand-cube": _expand_cube})
