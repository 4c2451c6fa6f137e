"""How a product is cut into tiles, and by what it is computed: data, chosen by sizes, types and the machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import cast

from xdsl.dialects.builtin import BFloat16Type, DictionaryAttr, Float16Type, Float32Type, IntegerAttr, StringAttr, i64

from ....compiler.dtypes import dtype_of
from ....compiler.layouts import Layout
from ....compiler.machine import Machine
from ....dialects.cta import ViewType
from ....dialects.cta.ops import TF32
from ....dialects.gpu.ops import WARP, WARPGROUP
from .problem import Matrix, Problem

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
    (`wgmma`), `down` x `across` of them in a block.
    """

    unit: str
    rows: int
    columns: int
    depth: int
    down: int
    across: int
    stages: int = 1

    @property
    def attribute(self) -> DictionaryAttr:
        """As it stands on a program."""
        numbers = {name: IntegerAttr(value, i64) for name, value in asdict(self).items() if name != "unit"}
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


def default_schedule(problem: Problem, machine: Machine, precision: str, unit: str | None = None) -> Schedule:
    """What a problem gets unless something else is given; `unit` overrides what multiplies."""
    size = dtype_of(problem.left.element).itemsize
    single = any(by_elements(matrix) for matrix in (problem.left, problem.right))
    return choose(problem.m, problem.n, problem.batch, unit or unit_for(problem, machine, precision), size, single)


def choose(m: int, n: int, batch: int, unit: str, element_bytes: int, single: bool = False) -> Schedule:
    """The largest tiles of which the result has enough, and that it fills by more than half.

    Where operands come by `single` elements a thread of a large tile would have the places of as many of them as it has
    sums, more than there are registers.

    >>> choose(4096, 4096, 1, "fma", 4) is LARGE, choose(512, 768, 1, "fma", 4) is MIDDLE
    (True, True)
    >>> choose(4096, 4096, 1, "mma", 2)
    Schedule(unit='mma', rows=128, columns=128, depth=64, down=2, across=2, stages=3)
    >>> choose(50176, 64, 1, "mma", 2).columns, choose(50176, 64, 1, "mma", 2, single=True).rows
    (64, 64)
    """
    choices = {FMA: (LARGE, MIDDLE, SMALL), MMA: WARPS[2:] if single else WARPS, WGMMA: GROUPS}[unit]
    full = [s for s in choices if s.rows < 2 * m and s.columns < 2 * n]
    fits = [s for s in full if batch * -(-m // s.rows) * -(-n // s.columns) >= ENOUGH]
    chosen = fits[0] if fits else choices[-1]
    if unit == FMA:
        return chosen if element_bytes >= WORD else replace(chosen, stages=1)
    return replace(chosen, depth=ROW_BYTES // element_bytes)


def unit_for(problem: Problem, machine: Machine, precision: str) -> str:
    """What multiplies the matrices of a problem."""
    left, right = problem.left, problem.right
    element = left.element if left.element == right.element else None
    if isinstance(element, BFloat16Type | Float16Type):
        if WGMMA in machine.features and by_warpgroups(problem):
            return WGMMA
        return MMA if MMA in machine.features else FMA
    return MMA if isinstance(element, Float32Type) and precision == TF32 and MMA in machine.features else FMA


def by_warpgroups(problem: Problem) -> bool:
    """Whether all operands of 16-bit elements can be brought while warpgroups multiply.

    Plain matrices by the copy engine, others in pieces of 16 bytes: there warps are better where warpgroups would
    multiply as much padding again.
    """
    gathered = [view for view in (problem.left.view, problem.right.view) if not in_boxes(view)]
    if not gathered:
        return True
    fills = 2 * problem.m > GROUPS[-1].rows and 2 * problem.n >= GROUPS[-1].columns
    return fills and all(max(view.width(mode, PIECE) for mode in (1, 2)) == PIECE for view in gathered)


def by_elements(matrix: Matrix) -> bool:
    """Whether elements of 16 bits come one by one, as of windows of an image of three channels."""
    view = matrix.view
    return dtype_of(matrix.element).itemsize == 2 and max(view.width(mode, 2) for mode in (1, 2)) < 2


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
