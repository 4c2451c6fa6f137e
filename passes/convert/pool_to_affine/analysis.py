"""What a kernel of a pool holds: the image without its padding, the windows, what is done with the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, FloatAttr, IntegerAttr, IntegerType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....compiler.machine import Machine
from ....dialects.linalg import FillOp, GenericOp, YieldOp
from ....dialects.linalg.pool import Pool, Side, match_pool
from ....dialects.memref import SubviewOp
from ...affine.parallelize import GRAIN
from ...affine.vectorize.analysis import COMBINING
from ...affine.vectorize.emit import neutral
from ...bufferization.layout import ALIGNMENT, STACK_LIMIT, byte_size
from ..contraction_to_vector.analysis import Unsupported

MOST_ROWS = 32  # of small planes, whose columns come before all windows: what was stored has arrived when it is loaded
MOST_CODE = 256  # elements that are combined, in the code for all kinds of blocks


@dataclass(frozen=True)
class Band:
    """Rows of a block, from the first on, whose windows have the same rows inside of the image; or columns."""

    first: int
    count: int
    taps: tuple[int, ...]


@dataclass(frozen=True)
class Blocks:
    """Blocks of rows of the result one after another that are alike: `rows` each, in `bands`."""

    first: int
    count: int
    rows: int
    bands: tuple[Band, ...]


@dataclass(frozen=True)
class Problem:
    """A pool, its image with `above` rows and `before` columns around it, and what is done with the results."""

    function: FuncOp
    op: GenericOp
    pool: Pool
    image: SSAValue
    size: tuple[int, int]
    above: int
    before: int
    start: SSAValue
    blocks: tuple[Blocks, ...]
    epilogue: tuple[GenericOp, ...]
    threads: int
    together: int = 1  # planes next to each other
    columns: tuple[Band, ...] = ()  # of windows with the same columns inside of the image, where channels are last

    @property
    def element(self) -> AnyFloat | IntegerType:
        """The type of what is combined."""
        return cast(MemRefType, self.op.outputs[0].type).element_type  # pyright: ignore[reportReturnType]

    @property
    def shift(self) -> int:
        """Elements that are left free, so that the image begins where a vector does."""
        return -self.before % _lanes(self.element)

    @property
    def pitch(self) -> int:
        """Elements from row to row of what columns come to."""
        length = self.shift + max(self.before + self.size[1], self.pool.columns.reach)
        return length + -length % _lanes(self.element)

    @property
    def is_parallel(self) -> bool:
        """Whether there is enough work for several threads."""
        rows, columns, channels = self.pool.rows, self.pool.columns, max(1, self.pool.channels)
        return prod((*self.pool.outer, rows.output, rows.taps, columns.reach, channels)) >= GRAIN

    @property
    def by_planes(self) -> bool:
        """Whether there are planes for all threads, or blocks have to be given to them."""
        return self.threads <= prod(self.pool.outer)


def analyse(function: FuncOp, machine: Machine) -> Problem:
    """The pool in `function`. Raises Unsupported where it holds anything else."""
    generics = [op for op in function.body.block.ops if isinstance(op, GenericOp)]
    at = next((i for i, op in enumerate(generics) if "reduction" in op.iterators), len(generics))
    pool = match_pool(generics[at]) if at < len(generics) else None
    if pool is None:
        raise Unsupported("there is no pool")
    op, epilogue = generics[at], tuple(generics[at + 1 :])
    fills = [each for each in function.body.block.ops if isinstance(each, FillOp)]
    start = next((fill.value for fill in fills if fill.output is op.outputs[0]), None)
    if start is None:
        raise Unsupported("the results are combined with what is there")
    around = [fill for fill in fills if fill.output is not op.outputs[0]]
    padded = cast(MemRefType, op.inputs[0].type)
    image, offsets = _image(op.inputs[0], generics[:at], around)
    if image is not op.inputs[0] and (
        any(_number(value) != _number(start) for value in (start, *(fill.value for fill in around)))
        or not _changes_nothing(pool.op, start, padded.element_type)
    ):
        raise Unsupported("what is around the image counts")
    shape, inside = list(padded.get_shape()), list(cast(MemRefType, image.type).get_shape())
    first = len(pool.outer)
    space = (first, first + 1)
    if any((shape[d], 0) != (inside[d], offsets[d]) for d in range(len(shape)) if d not in space):
        raise Unsupported("more than rows and columns are padded")
    (height, width), (above, before) = ([of[d] for d in space] for of in (inside, offsets))
    _check_epilogue(op.outputs[0], epilogue, len(shape))
    for value in (image, *(v for each in (op, *epilogue) for v in each.operands)):
        if isinstance(value.owner, SubviewOp) and DYNAMIC_INDEX in value.owner.static_offsets.get_values():
            raise Unsupported("a place is computed")
    found = Problem(function, op, pool, image, (height, width), above, before, start, (), epilogue, machine.cores)
    if pool.channels:
        columns = _all_inside(pool.columns, width, before, "column")
        found = replace(found, columns=_bands(columns))
        return replace(found, blocks=_blocks(found, pool.rows.output))
    room = STACK_LIMIT // byte_size(MemRefType(found.element, [found.pitch]))
    if not room:
        raise Unsupported("a row does not fit the stack")
    blocks = _blocks(found, room)
    fits = min(room, MOST_ROWS) // blocks[0].rows if found.by_planes and len(blocks) == blocks[0].count == 1 else 1
    return replace(found, blocks=blocks, together=_together(pool.outer, fits, machine.cores))


def _together(outer: Sequence[int], fits: int, threads: int) -> int:
    """Planes whose columns there is room for at the same time: a part of the innermost outer dimension."""
    if not outer:
        return 1
    most = min(fits, prod(outer) // threads, outer[-1])
    return max((n for n in range(1, most + 1) if outer[-1] % n == 0), default=1)


def _blocks(problem: Problem, room: int) -> tuple[Blocks, ...]:
    """Blocks of as many rows as there is room for, and as even as can be; all that threads need."""
    rows = problem.pool.rows
    count = max(-(-rows.output // room), 1 if problem.by_planes or not problem.is_parallel else problem.threads)
    size = -(-rows.output // count)
    inside = _all_inside(rows, problem.size[0], problem.above, "row")
    alike = groupby(range(0, rows.output, size), lambda first: _bands(inside[first : first + size]))
    found: list[Blocks] = []
    for bands, firsts in alike:
        first, *rest = firsts
        found.append(Blocks(first, 1 + len(rest), sum(band.count for band in bands), bands))
    combined = sum(_combined(problem, each) for each in found)
    if combined > MOST_CODE:
        raise Unsupported("there are too many kinds of rows")
    return tuple(found)


def _combined(problem: Problem, blocks: Blocks) -> int:
    """The elements that are combined in the code for a block."""
    under = sum(len(band.taps) for band in blocks.bands)
    if problem.pool.channels:
        return under * sum(len(band.taps) for band in problem.columns)
    return problem.pool.columns.taps + under


def _all_inside(side: Side, size: int, before: int, what: str) -> list[tuple[int, ...]]:
    """Which taps of each window are inside of the image. Raises Unsupported where none of one are."""
    inside = [_inside(side, number, size, before) for number in range(side.output)]
    if not all(inside):
        raise Unsupported(f"a window has no {what} inside of the image")
    return inside


def _inside(rows: Side, number: int, height: int, above: int) -> tuple[int, ...]:
    """Which rows of a window are rows of the image."""
    places = ((tap, number * rows.stride + tap * rows.dilation - above) for tap in range(rows.taps))
    return tuple(tap for tap, place in places if 0 <= place < height)


def _bands(inside: Sequence[tuple[int, ...]]) -> tuple[Band, ...]:
    found: list[Band] = []
    for taps, some in groupby(range(len(inside)), lambda number: inside[number]):
        first, *rest = some
        found.append(Band(first, 1 + len(rest), taps))
    return tuple(found)


def _lanes(element: AnyFloat | IntegerType) -> int:
    return ALIGNMENT // byte_size(MemRefType(element, [1]))


def _image(read: SSAValue, before: Sequence[GenericOp], fills: Sequence[FillOp]) -> tuple[SSAValue, list[int]]:
    """What is pooled without the padding, and where it begins in what is read."""
    rank = len(cast(MemRefType, read.type).get_shape())
    if not before and not fills:
        return read, [0] * rank
    views = [each.output.owner for each in fills]
    if len(before) != 1 or not all(isinstance(view, SubviewOp) and view.source is read for view in views):
        raise Unsupported("more than padding comes before the pool")
    copy = before[0]
    view = copy.outputs[0].owner
    if not isinstance(view, SubviewOp) or view.source is not read or len(copy.inputs) != 1 or len(copy.outputs) != 1:
        raise Unsupported("more than padding comes before the pool")
    offsets, steps = list(view.static_offsets.get_values()), list(view.static_strides.get_values())
    plain = cast(Operation, copy.body.block.last_op).operands[0] is copy.body.block.args[0]
    identity = all(m == AffineMap.identity(rank) for m in copy.maps)
    if not plain or not identity or DYNAMIC_INDEX in offsets or set(steps) != {1}:
        raise Unsupported("more than padding comes before the pool")
    return copy.inputs[0], [int(offset) for offset in offsets]


def _number(value: SSAValue) -> float | None:
    """The number that a constant is."""
    op = value.owner
    given = op.value if isinstance(op, arith.ConstantOp) else None
    return given.value.data if isinstance(given, FloatAttr | IntegerAttr) else None


def _changes_nothing(op: Operation, start: SSAValue, element: object) -> bool:
    """Whether combining with what is around the image changes nothing, given that results begin with the same."""
    assert isinstance(element, AnyFloat | IntegerType)
    given, right = _number(start), neutral(COMBINING[type(op)], element).value.data
    if given is None or isinstance(element, AnyFloat):
        return given == right  # also zeros of either sign: sums begin with the same one
    return (int(given) - int(right)) % (1 << element.bitwidth) == 0


def _check_epilogue(results: SSAValue, epilogue: Sequence[GenericOp], rank: int) -> None:
    identity, written = AffineMap.identity(rank), {results}
    for op in epilogue:
        own = op.maps[len(op.inputs) :]
        if any(kind != "parallel" for kind in op.iterators) or any(map_ != identity for map_ in own):
            raise Unsupported("what follows has another order")
        if any(value in written and map_ != identity for value, map_ in zip(op.inputs, op.maps, strict=False)):
            raise Unsupported("what follows reads results from elsewhere")
        written.update(op.outputs)
        if not all(
            isinstance(each, YieldOp) or each.name.startswith(("arith.", "math.")) for each in op.body.block.ops
        ):
            raise Unsupported("what follows is not elementwise")
