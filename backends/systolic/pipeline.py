"""The pipeline of systolic arrays, read aloud: from a quantised model to the instructions of one array.

Each phase leaves a module that can be printed, read again and looked at; host and array are in it together.
"""

from __future__ import annotations

from ...compiler.descent import Phase
from ..graph_phases import INTEGERS


def phases(machine: str) -> tuple[Phase, ...]:
    """The phases for the array called `machine`."""
    return (
        INTEGERS,
        Phase(
            "accel",
            "the array's part and the host's are functions of their own; the array's is layers on bytes",
            (
                "systolic-flatten-products",  # four dimensions are images
                f'systolic-partition{{machine="{machine}"}}',
                "convert-onnx-to-accel",
                "systolic-fuse-pools",
                "systolic-fuse-adds",
            ),
        ),
        Phase("tile", "layers are kernels of tiles in the memories of the array", ("convert-accel-to-tile",)),
        Phase("pipe", "kernels are instructions in an order, with tokens", ("convert-tile-to-pipe",)),
        Phase("systolic", "tokens are semaphores: the program", ("convert-pipe-to-systolic",)),
    )


CHECKED = ("integers", "accel", "tile")  # what follows is proved as a program, which is faster
