"""How a contraction is cut into tiles, and which of them stay on the chip."""

from __future__ import annotations

from dataclasses import dataclass

from ...compiler.systolic_machine import SystolicMachine
from ...dialects.tile import Ring
from .geometry import Windows
from .nest import Segment, edged, segments


@dataclass(frozen=True)
class Schedule:
    """Tiles of `out` outputs, `planes` blocks of channels and `parts` blocks of filters.

    With `images_first` all filters are applied to one tile of the image before the next is loaded; without, it is the
    other way round. `slots` are those of the rings for patches, weights, sums and rows of the table. The first tile has
    `edge` rows, or columns of an image of one row, the next twice as many, and so on, and so backwards at the end; with
    0 all are alike. Where an image is added, its tiles, the bytes of the sums and the results have rings of two slots;
    so have the bytes, and what is kept of them, where not all is.
    """

    out: tuple[int, int]
    planes: int
    parts: int
    images_first: bool
    slots: tuple[int, int, int, int]
    edge: int = 0

    def tiles(self, windows: Windows) -> tuple[list[Segment], list[Segment]]:
        """The rows and the columns of the tiles."""
        (height, width), (rows, columns) = windows.out, self.out
        if height == 1:
            return segments(1, 1), edged(width, columns, self.edge)
        return edged(height, rows, self.edge), segments(width, columns)

    def rings(self, windows: Windows, machine: SystolicMachine) -> dict[str, Ring]:
        """Where the rings lie."""
        a, w, c = rows_on_chip(windows, machine, self.out, self.planes)
        patches, weights, sums, table = self.slots
        end = a * patches + w * weights
        made = {name: Ring("spm", end + 2 * i * c, c, 2) for i, name in enumerate(windows.pieces)}
        return {
            "a": Ring("spm", 0, a, patches),
            "w": Ring("spm", a * patches, w, weights),
            "c": Ring("acc", 0, c * self.parts, sums),
            "t": Ring("tab", 0, 1, table),
            **made,
        }


def rows_on_chip(windows: Windows, machine: SystolicMachine, out: tuple[int, int], planes: int) -> tuple[int, int, int]:
    """Rows of a patch, of the weights of a block of filters, and of the sums of one."""
    height, width = windows.patch(out)
    return planes * height * width, planes * windows.tap_count * machine.rows, out[0] * out[1]
