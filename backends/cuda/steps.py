"""What the host does to run a model: kernels that follow each other, and what is decided by values on the device.

Steps are data: a list of them says all that a run needs beside the kernels' code, and is kept in artefacts as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

SECTIONS = ("input", "output", "arena", "constants")


@dataclass(frozen=True)
class Place:
    """Where an argument of a kernel lies: so many bytes into an `input`, an `output`, the `arena` or `constants`."""

    section: str
    index: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Tensor:
    """A tensor map that a kernel is given by value: sizes, strides in elements and box, outermost dimension first."""

    place: Place
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


@dataclass(frozen=True)
class Launch:
    """One kernel on a grid of blocks. `origin` is where in the model it comes from."""

    kernel: str
    arguments: tuple[Place | Tensor, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    origin: str


@dataclass(frozen=True)
class Straight:
    """Launches one after the other: what can be one graph."""

    launches: tuple[Launch, ...]


@dataclass(frozen=True)
class Read:
    """A number comes from the device and gets a name."""

    name: int
    place: Place
    dtype: str


@dataclass(frozen=True)
class Test:
    """Whether a number that was read is what it is compared with; with None, whether it is not 0."""

    name: int
    equals: int | None = None

    def holds(self, numbers: Mapping[int, int]) -> bool:
        """Of the numbers that were read so far."""
        return numbers[self.name] != 0 if self.equals is None else numbers[self.name] == self.equals


@dataclass(frozen=True)
class Branch:
    """Steps if a test holds, others if not."""

    test: Test
    yes: Steps
    no: Steps


@dataclass(frozen=True)
class Loop:
    """`before` is done, and as long as the test holds then, `body`, and both again."""

    before: Steps
    test: Test
    body: Steps


@dataclass(frozen=True)
class Repeat:
    """`body`, so many times."""

    times: int
    body: Steps


Step: TypeAlias = "Straight | Read | Branch | Loop | Repeat"
Steps: TypeAlias = "tuple[Step, ...]"


def execute(
    steps: Steps, launch: Callable[[Straight], None], read: Callable[[Place, str], int], numbers: dict[int, int]
) -> None:
    """Does all steps; `numbers` are those that were read so far.

    >>> told, values = [], iter([1, 1, 0])
    >>> loop = Loop((Read(0, Place("arena"), "bool"),), Test(0), (Straight(()),))
    >>> execute((loop,), told.append, lambda place, dtype: next(values), {})
    >>> len(told)
    2
    """
    for step in steps:
        match step:
            case Straight():
                launch(step)
            case Read():
                numbers[step.name] = read(step.place, step.dtype)
            case Branch():
                execute(step.yes if step.test.holds(numbers) else step.no, launch, read, numbers)
            case Loop():
                execute(step.before, launch, read, numbers)
                while step.test.holds(numbers):
                    execute(step.body, launch, read, numbers)
                    execute(step.before, launch, read, numbers)
            case Repeat():
                for _ in range(step.times):
                    execute(step.body, launch, read, numbers)


def launches(steps: Steps) -> Iterator[Launch]:
    """All launches that there are, each once."""
    for step in steps:
        match step:
            case Straight():
                yield from step.launches
            case Branch():
                yield from launches((*step.yes, *step.no))
            case Loop():
                yield from launches((*step.before, *step.body))
            case Repeat():
                yield from launches(step.body)
            case Read():
                pass


def changed(steps: Steps, change: Callable[[Launch], Launch]) -> Steps:
    """The same steps with other launches."""
    found: list[Step] = []
    for step in steps:
        match step:
            case Straight():
                found.append(Straight(tuple(map(change, step.launches))))
            case Branch():
                found.append(Branch(step.test, changed(step.yes, change), changed(step.no, change)))
            case Loop():
                found.append(Loop(changed(step.before, change), step.test, changed(step.body, change)))
            case Repeat():
                found.append(Repeat(step.times, changed(step.body, change)))
            case Read():
                found.append(step)
    return tuple(found)


def to_json(steps: Steps) -> list[Any]:
    """As an artefact has it.

    >>> to_json((Read(0, Place("arena", 0, 64), "bool"),))
    [['read', 0, ['arena', 0, 64], 'bool']]
    """
    return [_step_to_json(step) for step in steps]


def _step_to_json(step: Step) -> list[Any]:
    match step:
        case Straight():
            return ["launch", [_launch_to_json(launch) for launch in step.launches]]
        case Read():
            return ["read", step.name, _place_to_json(step.place), step.dtype]
        case Branch():
            return ["if", step.test.name, step.test.equals, to_json(step.yes), to_json(step.no)]
        case Loop():
            return ["while", to_json(step.before), step.test.name, step.test.equals, to_json(step.body)]
        case Repeat():
            return ["repeat", step.times, to_json(step.body)]


def _place_to_json(place: Place) -> list[Any]:
    return [place.section, place.index, place.offset]


def _launch_to_json(launch: Launch) -> list[Any]:
    given: list[Any] = []
    for argument in launch.arguments:
        if isinstance(argument, Place):
            given.append(_place_to_json(argument))
        else:
            numbers = [argument.sizes, argument.strides, argument.box, argument.swizzle]
            given.append([_place_to_json(argument.place), argument.dtype, *numbers])
    return [launch.kernel, given, launch.grid, launch.block, launch.shared_bytes, launch.origin]


def from_json(told: Sequence[Any]) -> Steps:
    """What `to_json` made. Raises ValueError, TypeError, KeyError or IndexError for anything else."""
    return tuple(map(_step_from_json, told))


def _step_from_json(told: Sequence[Any]) -> Step:
    kind, *rest = told
    if kind == "launch":
        return Straight(tuple(map(_launch_from_json, rest[0])))
    if kind == "read":
        name, place, dtype = rest
        return Read(int(name), _place_from_json(place), str(dtype))
    if kind == "if":
        name, equals, yes, no = rest
        return Branch(_test(name, equals), from_json(yes), from_json(no))
    if kind == "while":
        before, name, equals, body = rest
        return Loop(from_json(before), _test(name, equals), from_json(body))
    if kind == "repeat":
        times, body = rest
        return Repeat(int(times), from_json(body))
    raise ValueError(f"no step is called '{kind}'")


def _test(name: Any, equals: Any) -> Test:
    return Test(int(name), None if equals is None else int(equals))


def _place_from_json(told: Sequence[Any]) -> Place:
    section, index, offset = told
    if section not in SECTIONS:
        raise ValueError(f"no section is called '{section}'")
    return Place(section, int(index), int(offset))


def _numbers(told: Sequence[Any]) -> tuple[int, ...]:
    return tuple(map(int, told))


def _three(told: Sequence[Any]) -> tuple[int, int, int]:
    x, y, z = _numbers(told)
    return x, y, z


def _launch_from_json(told: Sequence[Any]) -> Launch:
    kernel, given, grid, block, shared, origin = told
    arguments: list[Place | Tensor] = []
    for argument in given:
        if isinstance(argument[0], str):
            arguments.append(_place_from_json(argument))
        else:
            place, dtype, sizes, strides, box, swizzle = argument
            numbers = _numbers(sizes), _numbers(strides), _numbers(box)
            arguments.append(Tensor(_place_from_json(place), str(dtype), *numbers, int(swizzle)))
    return Launch(str(kernel), tuple(arguments), _three(grid), _three(block), int(shared), str(origin))
