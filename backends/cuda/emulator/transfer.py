"""Loads, stores, atomics and addresses (PTX ISA, 9.7.9 and 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.signature import Array
from .agent import PAUSE, Agent, EmulationError, Step, addresses, items, reads, writes
from .decode import PAIRS, TYPES, decodes, type_of
from .memory import (
    BLOCK_WINDOW,
    GLOBAL_BASE,
    PARAMETER_WINDOW,
    SHARED_WINDOW,
    UNSIGNED,
    Memory,
    by_warps,
    requests,
)
from .ptx import Address, Instruction, Register, Symbol

SPACES = ("global", "shared", "param", "const", "local")


def space_of(instruction: Instruction) -> str:
    """The state space that the opcode names, `generic` where it names none; `shared::cluster` among them."""
    for part in instruction.opcode[1:]:
        if part in ("shared::cluster", "shared::cta"):
            return "cluster" if part == "shared::cluster" else "shared"
        if part.partition("::")[0] in SPACES:
            return part.partition("::")[0]
    return "generic"


def located(agent: Agent, space: str, where: Array) -> tuple[Memory, Array]:
    """The memory that active lanes address, and their addresses in it. Raises EmulationError for a mixture."""
    block = agent.block
    if space == "param":
        return block.launch.parameters, where
    if space == "shared" and block.shared.has(where):
        return block.shared, block.of_rooms(agent, where)
    if space == "shared" and np.maximum.reduce(where) < BLOCK_WINDOW:
        return block.shared, block.in_shared(agent, where)
    if space in ("global", "const"):
        return block.launch.memory, where
    if space == "cluster" and (where < SHARED_WINDOW).all():
        rank = np.unique(where // BLOCK_WINDOW)
    elif (where >= GLOBAL_BASE).all():
        return block.launch.memory, where
    elif (where >= SHARED_WINDOW).all() and (where < GLOBAL_BASE).all():
        where = where - SHARED_WINDOW
        rank = np.unique(where // BLOCK_WINDOW)
    elif (where >= PARAMETER_WINDOW).all() and (where < SHARED_WINDOW).all():
        return block.launch.parameters, where - PARAMETER_WINDOW
    else:
        raise EmulationError(f"address {int(where.min()):#x} lies in no space")
    if rank.size != 1 or rank[0] >= len(block.peers):
        raise EmulationError("an address outside the cluster, or of several of its blocks at once")
    peer = block.peers[int(rank[0])]
    return peer.shared, peer.in_shared(agent, where % BLOCK_WINDOW)


def _vector(instruction: Instruction) -> int:
    return next((int(p[1:]) for p in instruction.opcode if p in ("v2", "v4", "v8")), 1)


def count_traffic(agent: Agent, memory: Memory, where: Array, lanes: Array, nbytes: int, stores: bool) -> None:
    """Adds a request of these lanes at these addresses to the counters, warp by warp."""
    launch = agent.block.launch
    counters = launch.counters
    if not launch.counted or memory is launch.parameters:
        return
    rows = by_warps(where, lanes, agent.lanes)
    if memory is not launch.memory:
        counters.count_shared(rows, nbytes)
        return
    asks, different, moved = requests(rows)
    counters.global_requests += asks
    if stores:
        counters.global_written_bytes += different * nbytes
        counters.global_written_sectors += moved
    else:
        counters.global_read_bytes += different * nbytes
        counters.global_read_sectors += moved
        agent.block.reads(where, agent.threads[lanes])


@decodes("ld", "ldu")
def load(instruction: Instruction) -> Step:
    """From any space, one element or a vector."""
    space, count = space_of(instruction), _vector(instruction)
    dtype = np.dtype(type_of(instruction))
    place = instruction.operands[1]
    address = addresses(place)
    results = [writes(o) for o in items(instruction.operands[0])]
    assert len(results) == count
    if space == "param" and isinstance(place, Address) and isinstance(place.base, Symbol):
        name, offset = place.base.name, place.offset

        def tell(agent: Agent) -> None:
            where = np.array([agent.block.address_of(name) + offset])
            found = agent.block.launch.parameters.load(where, dtype.itemsize, count)
            for write, value in zip(results, found, strict=True):
                write(agent, value.view(dtype))

        return tell

    def step(agent: Agent) -> None:
        lanes = agent.here
        memory, where = located(agent, space, agent.of_active(address(agent)))
        count_traffic(agent, memory, where, lanes, dtype.itemsize * count, False)
        for write, found in zip(results, memory.load(where, dtype.itemsize, count), strict=True):
            value = found
            if lanes.size < agent.lanes:
                value = np.zeros(agent.lanes, found.dtype)
                value[lanes] = found
            write(agent, value.view(dtype))

    return step


@decodes("st")
def store(instruction: Instruction) -> Step:
    """To any space, one element or a vector."""
    space, count = space_of(instruction), _vector(instruction)
    width = np.dtype(type_of(instruction)).itemsize
    address = addresses(instruction.operands[0])
    sources = [reads(o, UNSIGNED[width]) for o in items(instruction.operands[1])]
    assert len(sources) == count

    def step(agent: Agent) -> object:
        lanes = agent.here
        memory, where = located(agent, space, agent.of_active(address(agent)))
        count_traffic(agent, memory, where, lanes, width * count, True)
        memory.store(where, [agent.of_active(source(agent)) for source in sources], width)
        if memory is agent.block.shared:
            agent.block.wrote(agent, where, width * count)
        return PAUSE if memory is not agent.block.launch.memory else None

    return step


@decodes("cvta")
def to_generic(instruction: Instruction) -> Step:
    """Between the address in a space and the generic one."""
    source, write = reads(instruction.operands[1], np.uint64), writes(instruction.operands[0])
    windows = {"shared": SHARED_WINDOW, "param": PARAMETER_WINDOW}
    space = space_of(instruction)
    window = windows.get(space, 0)
    back = "to" in instruction.opcode

    def step(agent: Agent) -> None:
        offset = np.uint64(window + (agent.block.rank * BLOCK_WINDOW if space == "shared" else 0))
        value = source(agent)
        write(agent, value - offset if back else value + offset)

    return step


@decodes("mapa")
def map_to_peer(instruction: Instruction) -> Step:
    """The address in a space of the cluster of what lies there in the shared memory of another block."""
    width = UNSIGNED[np.dtype(type_of(instruction)).itemsize]
    address, rank = reads(instruction.operands[1], width), reads(instruction.operands[2], np.uint32)
    write = writes(instruction.operands[0])
    generic = space_of(instruction) == "generic"

    def step(agent: Agent) -> None:
        value = address(agent).astype(np.int64) - (SHARED_WINDOW if generic else 0)
        moved = value % BLOCK_WINDOW + rank(agent).astype(np.int64) * BLOCK_WINDOW
        write(agent, (moved + (SHARED_WINDOW if generic else 0)).astype(width))

    return step


_ATOMIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, new: old + new,
    "min": min,
    "max": max,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "exch": lambda old, new: new,
    "inc": lambda old, new: old + type(old)(1) if old < new else type(old)(0),
}


@decodes("atom", "red")
def atomic(instruction: Instruction) -> Step:
    """Read, change and write in one, lane after lane; `red` does not tell what was there."""
    tells = instruction.opcode[0] == "atom"
    operation = next(p for p in instruction.opcode[1:] if p in _ATOMIC or p == "cas")
    kind = instruction.opcode[-1] if instruction.opcode[-1] != "noftz" else instruction.opcode[-2]
    if kind in PAIRS or "v2" in instruction.opcode or "v4" in instruction.opcode:
        raise ValueError("packed atomics")
    dtype = np.dtype(TYPES[kind])
    operands = instruction.operands[1:] if tells else instruction.operands
    address = addresses(operands[0])
    sources = [reads(o, dtype) for o in operands[1:]]
    write = writes(instruction.operands[0]) if tells and isinstance(instruction.operands[0], Register) else None
    space = space_of(instruction)

    def step(agent: Agent) -> object:
        lanes = agent.here
        memory, where = located(agent, space, agent.of_active(address(agent)))
        memory.check(where - memory.base, dtype.itemsize, "changes")
        count_traffic(agent, memory, where, lanes, dtype.itemsize, True)
        cells = memory.view(dtype.itemsize).view(dtype)
        values = [source(agent) for source in sources]
        olds = np.zeros(agent.lanes, dtype)
        for lane, at in zip(lanes.tolist(), ((where - memory.base) // dtype.itemsize).tolist(), strict=True):
            old = cells[at]
            olds[lane] = old
            if operation == "cas":
                cells[at] = values[1][lane] if old == values[0][lane] else old
            else:
                cells[at] = _ATOMIC[operation](old, values[0][lane])
        if write:
            write(agent, olds)
        return PAUSE

    return step


@decodes("isspacep")
def is_in_space(instruction: Instruction) -> Step:
    """Whether a generic address lies in a space."""
    source, write = reads(instruction.operands[1], np.uint64), writes(instruction.operands[0])
    space = space_of(instruction)
    ranges = {
        "global": (GLOBAL_BASE, 1 << 62),
        "shared": (SHARED_WINDOW, GLOBAL_BASE),
        "param": (PARAMETER_WINDOW, SHARED_WINDOW),
    }
    low, high = ranges[space]
    return lambda agent: write(agent, (source(agent) >= np.uint64(low)) & (source(agent) < np.uint64(high)))
