"""Meanings of `gpu`: the threads of a block run one after the other, or where they meet, as threads of Python."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, TypeVar, cast

import numpy as np

from ...compiler.semantics import Call, Spec, semantics
from ...compiler.walking import all_ops
from ...compiler.weights import Array
from .ops import WARP, WARPGROUP, LaunchFuncOp, ShuffleOp, SubgroupReduceOp

COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "maxui": lambda a, b: np.maximum(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}")).view(a.dtype),
    "minui": lambda a, b: np.minimum(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}")).view(a.dtype),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_Combined = TypeVar("_Combined")
_MEETING = ("gpu.barrier", "gpu.shuffle", "gpu.subgroup_reduce", "gpu.all_reduce", "gpu.subgroup_broadcast", "nvgpu.")


class _Meeting:
    """Threads that wait for each other: the last to come combines what all have given, for all of them.

    Nobody can come again before everybody has taken what was combined: the next time needs them all, too.
    """

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, self._combine)
        self._given: list[Any] = [None] * size
        self._how: Callable[[list[Any]], Any] = list
        self._combined: Any = None

    def together(self, place: int, value: Any, how: Callable[[list[Any]], Any]) -> Any:
        """`how` of all values in the order of their places, for threads that all ask for the same."""
        self._given[place], self._how = value, how
        self.barrier.wait()
        return self._combined

    def _combine(self) -> None:
        self._combined = self._how(self._given)


@dataclass
class _Block:
    """One block of a launch."""

    index: tuple[int, int, int]
    size: tuple[int, int, int]
    shared: dict[int, Array] = field(default_factory=dict[int, Array])
    meetings: dict[tuple[int, int], _Meeting] = field(default_factory=dict[tuple[int, int], _Meeting])
    kept: dict[Any, Any] = field(default_factory=dict[Any, Any])  # what other dialects keep of a block
    news: threading.Condition = field(default_factory=threading.Condition)  # of what is kept; held for changes

    @property
    def threads(self) -> int:
        """How many there are."""
        return prod(self.size)

    def wait_for(self, come: Callable[[], bool], most: float | None = None) -> bool:
        """Whether what `news` tells of has come, in `most` seconds; polling would keep others from work.

        Raises BrokenBarrierError where another thread has failed.
        """
        with self.news:
            self.news.wait_for(lambda: come() or self._failed(), most)
            if not come() and self._failed():
                raise threading.BrokenBarrierError
            return come()

    def _failed(self) -> bool:
        return any(meeting.barrier.broken for meeting in self.meetings.values())

    def give_up(self) -> None:
        """Wakes everyone who waits, for what will not come."""
        for meeting in self.meetings.values():
            meeting.barrier.abort()
        with self.news:
            self.news.notify_all()


@dataclass(frozen=True)
class _Thread:
    block: _Block
    index: tuple[int, int, int]

    @property
    def number(self) -> int:
        (x, y, z), (sx, sy, _) = self.index, self.block.size
        return x + sx * (y + sy * z)

    def exchange(self, value: Any, among: int = 0) -> list[Any]:
        """What every thread of the block, or of its `among` neighbours, gave, in their order."""
        return self.together(value, list, among)

    def together(self, value: Any, how: Callable[[list[Any]], _Combined], among: int = 0) -> _Combined:
        """`how` of what they gave, which is asked once for all of them."""
        among = among or self.block.threads
        place = self.number % among
        return self.block.meetings[among, self.number - place].together(place, value, how)


_HERE: ContextVar[_Thread] = ContextVar("thread")


def here() -> _Thread:
    """The thread whose program is being run."""
    return _HERE.get()


def _points(sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    for z, y, x in product(*(range(n) for n in reversed(sizes))):
        yield x, y, z


@semantics("gpu.launch_func")
def launch(*arguments: Array, call: Call) -> tuple[()]:
    """All blocks in order; what one thread does is the kernel's body."""
    op = cast(LaunchFuncOp, call.op)
    name = op.callee.string_value()
    kernel = next(
        f for f in cast(Any, op.get_toplevel_object()).ops if getattr(f, "sym_name", None) == op.callee.root_reference
    )
    meets = any(inner.name.startswith(_MEETING) for inner in all_ops(kernel))
    for index in _points(op.grid):
        block = _Block(index, op.block)
        bodies = [
            functools.partial(_run, _Thread(block, place), call.function, name, arguments)
            for place in _points(op.block)
        ]
        if meets:
            _together(block, bodies)
        else:
            for body in bodies:
                body()
    return ()


def _run(thread: _Thread, function: Callable[..., Any], name: str, arguments: Sequence[Array]) -> None:
    token = _HERE.set(thread)
    try:
        function(name, arguments)
    finally:
        _HERE.reset(token)


def _together(block: _Block, bodies: Sequence[Callable[[], None]]) -> None:
    """Runs threads that wait for each other; the first error is raised, after all have ended."""
    sizes = {len(bodies), *(size for size in (WARP, WARPGROUP) if len(bodies) % size == 0)}
    block.meetings = {(size, first): _Meeting(size) for size in sizes for first in range(0, len(bodies), size)}
    errors: list[BaseException] = []

    def guarded(body: Callable[[], None]) -> None:
        try:
            body()
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            errors.append(error)
            block.give_up()

    workers = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


@semantics("gpu.thread_id")
def thread_id(*, dimension: str) -> Array:
    """The thread's place in its block."""
    return np.asarray(_HERE.get().index["xyz".index(dimension)], np.int64)


@semantics("gpu.block_id")
def block_id(*, dimension: str) -> Array:
    """The block's place in the grid."""
    return np.asarray(_HERE.get().block.index["xyz".index(dimension)], np.int64)


@semantics("gpu.barrier")
def barrier() -> tuple[()]:
    """Waits for all threads."""
    _HERE.get().exchange(None)
    return ()


@semantics("gpu.dynamic_shared_memory")
def shared_memory(*, result: Spec) -> Array:
    """The block's one buffer, poisoned before the first write."""
    assert result.shape is not None
    return _HERE.get().block.shared.setdefault(0, np.full(result.shape, 0xFF, np.uint8).view(np.int8))


@semantics("gpu.shuffle")
def shuffle(value: Array, *, call: Call) -> Array:
    """The value of another thread of the warp."""
    here = _HERE.get()
    offset = cast(ShuffleOp, call.op).offset.value.data
    among = WARP if here.block.threads % WARP == 0 else here.block.threads
    return here.exchange(value, among)[here.number % among ^ offset]


@semantics("gpu.subgroup_reduce")
def subgroup_reduce(value: Array, *, kind: str, call: Call) -> Array:
    """Neighbours that are a power of two apart first, as butterflies of shuffles do it."""
    here = _HERE.get()
    size = cast(SubgroupReduceOp, call.op).size.value.data
    first = here.number // size * size
    return _butterfly(here.exchange(value)[first : first + size], kind)[here.number - first]


@semantics("gpu.subgroup_broadcast")
def subgroup_broadcast(value: Array) -> Array:
    """The first thread's value."""
    return here().exchange(value, WARP)[0]


@semantics("gpu.all_reduce")
def all_reduce(value: Array, *, kind: str) -> Array:
    """Warps first, then what they came to."""

    def reduced(everything: list[Array]) -> Array:
        return _butterfly(
            [_butterfly(everything[i : i + WARP], kind)[0] for i in range(0, len(everything), WARP)], kind
        )[0]

    return _HERE.get().together(value, reduced)


def _butterfly(values: list[Array], kind: str) -> list[Array]:
    """Combines the halves of a power of two of values until each is of all, in an order of its own."""
    distance = len(values) // 2
    while distance:
        values = [COMBINE[kind](value, values[i ^ distance]) for i, value in enumerate(values)]
        distance //= 2
    return values
