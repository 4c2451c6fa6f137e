"""How a product is cut into tiles, and by what it is computed: data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64

from ....compiler.layouts import Layout
from ....dialects.cta import ViewType
from ....dialects.gpu.ops import WARP, WARPGROUP

SCHEDULE = "cta.schedule"  # on a kernel: what is taken, where it is a product
FMA, MMA, WGMMA = "fma", "mma", "wgmma"
MOST_DIMENSIONS = 5  # of a tensor that the copy engine knows
PIECE = 8  # elements of 16 bits that a thread copies at a time
WORD = 4  # bytes of the smallest copy that goes on while threads multiply
ROW_BYTES = 128  # of an operand's rows in shared memory: what the widest swizzle exchanges within


@dataclass(frozen=True)
class Schedule:
    """A block computes `rows` x `columns` of the result, `depth` steps of the sum at a time.

    `unit` says what multiplies: threads (`fma`), each `down` x `across` of the tile; warps (`mma`) or warpgroups
    (`wgmma`), `down` x `across` of them in a block. So many blocks as there are `splits` share the sum of a tile.
    """

    unit: str
    rows: int
    columns: int
    depth: int
    down: int
    across: int
    stages: int = 1
    splits: int = 1

    @property
    def attribute(self) -> DictionaryAttr:
        """As it stands on a program; of a sum that is not shared nothing is said."""
        told = {name: value for name, value in asdict(self).items() if name != "unit"}
        numbers = {name: IntegerAttr(value, i64) for name, value in told.items() if (name, value) != ("splits", 1)}
        return DictionaryAttr({"unit": StringAttr(self.unit), **numbers})

    @staticmethod
    def of(attribute: DictionaryAttr) -> Schedule:
        """What a program says. Raises KeyError where it says too little."""
        told = {name: cast("IntegerAttr", value).value.data for name, value in attribute.data.items() if name != "unit"}
        return Schedule(cast(StringAttr, attribute.data["unit"]).data, **told)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        if self.unit == FMA:
            return self.columns // self.across * (self.rows // self.down)
        if self.unit == WGMMA:
            return WARPGROUP * (1 + self.down)
        return WARP * self.down * self.across

    def staged_bytes(self, element_bytes: int) -> int:
        """Shared memory that its stages take, of operands with elements of that size."""
        width = max(element_bytes, 4 if self.unit == FMA else 2)
        return self.stages * (self.rows + self.columns) * self.depth * width


LARGE = Schedule(FMA, 128, 128, 16, 8, 8, 2)
MIDDLE = Schedule(FMA, 64, 64, 16, 4, 4, 4)
SMALL = Schedule(FMA, 32, 32, 16, 4, 4, 4)
ROW = Schedule(FMA, 4, 128, 32, 4, 4, 4)  # a warp for a result that is as good as a vector
WARPS = (  # depth: what fills rows of shared memory
    Schedule(MMA, 128, 128, 0, 2, 2, 3),
    Schedule(MMA, 128, 64, 0, 2, 2, 3),
    Schedule(MMA, 64, 64, 0, 2, 2, 3),
    Schedule(MMA, 32, 32, 0, 2, 1, 3),
)
GROUPS = (
    Schedule(WGMMA, 128, 256, 0, 2, 1, 4),
    Schedule(WGMMA, 128, 128, 0, 2, 1, 4),
    Schedule(WGMMA, 128, 64, 0, 2, 1, 4),
    Schedule(WGMMA, 64, 64, 0, 1, 1, 4),
)
ENOUGH = 64  # blocks that keep most of a GPU busy: with fewer, smaller tiles
BESIDE = 2 << 10  # bytes of shared memory for barriers, and what alignment may take


def in_boxes(view: ViewType) -> bool:
    """Whether the copy engine can bring tiles of a view of 16-bit elements."""
    return not view.first.data and not view.borders and copied_in_boxes(view.layout.data)


def copied_in_boxes(layout: Layout) -> bool:
    """Whether the copy engine can bring tiles of matrices of 16-bit elements.

    Their rows and columns are one dimension each, neighbours follow each other in one of them, and lines begin at
    multiples of 16 bytes.
    """
    batch, *lines = layout.modes
    if any(len(mode.pairs) != 1 for mode in lines) or len(batch.pairs) > MOST_DIMENSIONS - 2:
        return False
    steps = [mode.pairs[0][1] for mode in lines]
    others = [*(step for step in steps if step != 1), *(step for _, step in batch.pairs)]
    return steps.count(1) == 1 and 0 not in steps and all(step % 8 == 0 for step in others)
