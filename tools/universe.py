"""What stock `xdsl-opt` sees of this package: the dialects and passes that xDSL has no namesake of."""

from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from ..dialects import all_dialects
from ..passes import all_passes

_DIALECTS = ("onnx", "stablehlo", "check")

UNIVERSE = Universe(
    all_dialects={name: all_dialects()[name] for name in _DIALECTS},
    all_passes={name: load for name, load in all_passes().items() if name not in get_all_passes()},
)
