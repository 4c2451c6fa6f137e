"""Copies that go on while threads do other things, and the barriers that count them.

PTX ISA, 9.7.9.25 (copies) and 9.7.13.15 (barriers).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ....compiler.signature import Array
from .agent import PAUSE, SPIN, Agent, Copy, EmulationError, Read, Step, addresses, reads, writes
from .block import WARP, Block, MBarrier
from .decode import decodes
from .layouts import TENSOR_MAP_BYTES, TensorMap
from .memory import BLOCK_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, Memory
from .ptx import Address, Instruction
from .transfer import count_traffic, located, space_of
from .warp import constant


@decodes("cp")
def copy(instruction: Instruction) -> Step:
    """cp.async in all its forms."""
    opcode = instruction.opcode
    if opcode[1:3] == ("async", "bulk"):
        return _bulk(instruction)
    if "commit_group" in opcode:
        return _commit
    if "wait_group" in opcode or "wait_all" in opcode:
        left = constant(instruction.operands[0]) if instruction.operands else -1
        return lambda agent: _wait(agent, left)
    if "mbarrier" in opcode:
        return _arrive_behind_copies(instruction)
    return _copy_by_threads(instruction)


def _copy_by_threads(instruction: Instruction) -> Step:
    """4, 8 or 16 bytes a thread into shared memory; fewer are read where a size is given, the rest is zeros."""
    target, source = addresses(instruction.operands[0]), addresses(instruction.operands[1])
    nbytes = constant(instruction.operands[2])
    size = reads(instruction.operands[3], np.uint32) if len(instruction.operands) > 3 else None
    assert nbytes in (4, 8, 16)

    def step(agent: Agent) -> None:
        lanes = agent.here
        shared, offsets = located(agent, "shared", agent.of_active(target(agent)))
        given = agent.of_active(size(agent)).astype(np.int64) if size else np.full(lanes.size, nbytes)
        wanted = given > 0
        memory, where = located(agent, "global", agent.of_active(source(agent)))
        if np.count_nonzero(wanted):
            memory.check(where[wanted] - memory.base, nbytes, "copies")
            count_traffic(agent, memory, where[wanted], lanes[wanted], nbytes, False)
        shared.check(offsets, nbytes, "writes")
        count_traffic(agent, shared, offsets, lanes, nbytes, True)
        if not agent.block.launch.late:
            _move(agent, memory, where, offsets, given, nbytes)
            return
        if len(agent.block.indices) > 1:  # where no barrier counts copies: no warp waits for another's
            agent.copies.append(Copy(-1, partial(_move, agent, memory, where, offsets, given, nbytes)))
            return
        warps = agent.threads[lanes] // WARP
        if agent.lanes == WARP:
            effect = partial(_move, agent, memory, where, offsets, given, nbytes)
            agent.copies.append(Copy(int(warps[0]), effect))
            return
        for warp in sorted(set(warps.tolist())):
            own = warps == warp
            effect = partial(_move, agent, memory, where[own], offsets[own], given[own], nbytes)
            agent.copies.append(Copy(warp, effect))

    return step


def _move(agent: Agent, memory: Memory, where: Array, offsets: Array, given: Array, nbytes: int) -> None:
    """All of them, or zeros instead: an element a thread; else byte by byte."""
    whole = given == nbytes
    if np.count_nonzero(whole) == whole.size:
        agent.block.shared.view(nbytes)[offsets // nbytes] = memory.view(nbytes)[(where - memory.base) // nbytes]
    elif np.count_nonzero(whole | (given == 0)) == whole.size:
        cells = agent.block.shared.view(nbytes)
        cells[offsets // nbytes] = 0
        cells[offsets[whole] // nbytes] = memory.view(nbytes)[(where[whole] - memory.base) // nbytes]
    else:
        byte = np.arange(nbytes)
        valid = byte < given[:, None]
        at = np.where(valid, where[:, None] - memory.base + byte, 0)
        agent.block.shared.bytes[offsets[:, None] + byte] = np.where(valid, memory.bytes[at], 0)
    agent.block.wrote(agent, offsets, nbytes)


def _arrive_behind_copies(instruction: Instruction) -> Step:
    """An arrival of each thread when all that it began to copy is there; late, that of each warp comes by itself.

    Without `noinc` the phase waits for as many arrivals more.
    """
    address, space = addresses(instruction.operands[0]), space_of(instruction)
    counts = "noinc" in instruction.opcode

    def step(agent: Agent) -> object:
        barriers: dict[int, list[MBarrier]] = {}
        for lane, barrier in _each_barrier(agent, address, space):
            barrier.pending += 0 if counts else 1
            barriers.setdefault(int(agent.threads[lane]) // WARP, []).append(barrier)
        begun = [copy for group in (*agent.copy_groups, agent.copies) for copy in group if copy.effect is not None]
        for warp, own in barriers.items():
            agent.block.begin(partial(_arrived, [copy for copy in begun if copy.warp == warp], own))
        agent.copies = [copy for copy in agent.copies if copy.effect is not None]
        return PAUSE

    return step


def _arrived(copies: Sequence[Copy], barriers: Sequence[MBarrier]) -> None:
    for copy in copies:
        copy()
    for barrier in barriers:
        barrier.pending -= 1
        barrier.settle()


def _commit(agent: Agent) -> object:
    agent.copy_groups.append(agent.copies)
    agent.copies = []
    return PAUSE


def _wait(agent: Agent, left: int) -> None:
    if left < 0:
        agent.copy_groups.append(agent.copies)
        agent.copies = []
    while len(agent.copy_groups) > max(left, 0):
        for effect in agent.copy_groups.pop(0):
            effect()


def _bulk(instruction: Instruction) -> Step:
    """cp.async.bulk: tensors by a tensor map in and out of shared memory, and their groups."""
    opcode = instruction.opcode
    if "commit_group" in opcode:
        return _commit_bulk
    if "wait_group" in opcode:
        left = constant(instruction.operands[0])
        return lambda agent: _wait_bulk(agent, left)
    if opcode[3] == "tensor" and opcode[4][0] in "12345":
        spaces = [p for p in opcode if p.startswith(("shared", "global"))]
        return _tensor_in(instruction) if spaces[0].startswith("shared") else _tensor_out(instruction)
    raise ValueError("this kind of bulk copy")


def _tensor_map(agent: Agent, address: int) -> TensorMap:
    memory: Memory = agent.block.launch.memory
    if PARAMETER_WINDOW <= address < SHARED_WINDOW:
        memory, address = agent.block.launch.parameters, address - PARAMETER_WINDOW
    start = address - memory.base
    if start % 64 or not 0 <= start <= memory.nbytes - TENSOR_MAP_BYTES:
        raise EmulationError("the tensor map is misaligned or out of bounds")
    return TensorMap.decode(memory.bytes[start : start + TENSOR_MAP_BYTES].tobytes())


def _one_lane(agent: Agent) -> int:
    lanes = agent.here
    if lanes.size != 1:
        raise EmulationError(f"{lanes.size} threads issue this copy, expected one")
    return int(lanes[0])


def _tensor_in(instruction: Instruction) -> Step:
    """A box of a tensor into shared memory of this block, or of those of the cluster that a mask names."""
    target, place, barrier, *mask = instruction.operands
    assert isinstance(place, Address)
    shared, bars, maps = addresses(target), addresses(barrier), addresses(place)
    coordinates = [reads(c, np.int32) for c in place.coordinates]
    multicast = reads(mask[0], np.uint16) if any("multicast" in p for p in instruction.opcode) else None

    def step(agent: Agent) -> object:
        lane = _one_lane(agent)
        found = _tensor_map(agent, int(maps(agent)[lane]))
        corner = [int(c(agent)[lane]) for c in coordinates]
        offset, bar = (int(a(agent)[lane]) for a in (shared, bars))
        own = agent.block
        named = int(multicast(agent)[lane]) if multicast else 1 << own.rank
        blocks = [peer for peer in own.peers if named >> peer.rank & 1]
        where, inside, places = found.places(corner, offset % BLOCK_WINDOW)
        if (offset % BLOCK_WINDOW) % (128 if found.swizzle else 16):
            raise EmulationError("the box begins at a misaligned place of shared memory")
        if own.launch.counted:
            _count_box(agent, where[inside], False)
        for peer in blocks:
            peer.begin(partial(_fill, peer, found, where, inside, places, bar % BLOCK_WINDOW))
        return PAUSE

    return step


def _count_box(agent: Agent, where: Array, stores: bool) -> None:
    """A box counts as one request; its bytes are asked for once, whatever the number of blocks that get them."""
    counters = agent.block.launch.counters
    moved = int(np.unique(where // 32).size)
    counters.global_requests += 1
    if stores:
        counters.global_written_bytes += where.size
        counters.global_written_sectors += moved
    else:
        counters.global_read_bytes += where.size
        counters.global_read_sectors += moved
        counters.global_block_sectors += moved


def _fill(block: Block, found: TensorMap, where: Array, inside: Array, places: Array, bar: int) -> None:
    memory = block.launch.memory
    at = where - memory.base
    block.shared.check(places, 1, "writes")
    if np.count_nonzero(inside) == inside.size:
        memory.check(at, 1, "copies")
        block.shared.bytes[places] = memory.bytes[at]
    else:
        if inside.any():
            memory.check(at[inside], 1, "copies")
        block.shared.bytes[places] = np.where(inside, memory.bytes[np.where(inside, at, 0)], 0)
    block.wrote(None, places, 1)
    barrier = block.mbarrier(bar)
    barrier.bytes -= found.box_bytes
    barrier.settle()


def _tensor_out(instruction: Instruction) -> Step:
    """A box of shared memory into a tensor; late, it is read when its group is waited for."""
    place, source = instruction.operands[:2]
    assert isinstance(place, Address)
    shared, maps = addresses(source), addresses(place)
    coordinates = [reads(c, np.int32) for c in place.coordinates]
    if "reduce" in instruction.opcode:
        raise ValueError("copies that reduce")

    def step(agent: Agent) -> object:
        lane = _one_lane(agent)
        found = _tensor_map(agent, int(maps(agent)[lane]))
        corner = [int(c(agent)[lane]) for c in coordinates]
        where, inside, places = found.places(corner, int(shared(agent)[lane]) % BLOCK_WINDOW)
        if agent.block.launch.counted:
            _count_box(agent, where[inside], True)
        effect = partial(_drain, agent.block, where[inside], places[inside])
        if agent.block.launch.late:
            agent.bulk.append(effect)
        else:
            effect()
        return PAUSE

    return step


def _drain(block: Block, where: Array, places: Array) -> None:
    memory = block.launch.memory
    if where.size:
        memory.check(where - memory.base, 1, "copies")
        memory.bytes[where - memory.base] = block.shared.bytes[places]


def _commit_bulk(agent: Agent) -> object:
    agent.bulk_groups.append(agent.bulk)
    agent.bulk = []
    return PAUSE


def _wait_bulk(agent: Agent, left: int) -> None:
    while len(agent.bulk_groups) > left:
        for effect in agent.bulk_groups.pop(0):
            effect()


@decodes("fence")
def fence(instruction: Instruction) -> Step:
    """That between threads and what reads shared memory by itself: products. Others order what is in order here."""
    if instruction.opcode[1:3] == ("proxy", "async"):
        return _fence_proxy
    return _nothing


def _fence_proxy(agent: Agent) -> object:
    agent.fenced = agent.block.time
    return PAUSE


def _nothing(agent: Agent) -> None:
    pass


@decodes("mbarrier")
def mbarrier(instruction: Instruction) -> Step:
    """init, inval, arrive, expect_tx, test_wait and try_wait."""
    opcode = instruction.opcode
    if opcode[1] in ("init", "inval"):
        return _initialise(instruction)
    if opcode[1] == "expect_tx":
        return _expect(instruction)
    if opcode[1] == "arrive":
        return _arrive(instruction)
    if opcode[1] in ("test_wait", "try_wait") and "parity" in opcode:
        return _try(instruction)
    raise ValueError(opcode[1])


def _barrier_of(agent: Agent, address: int, space: str) -> tuple[Block, int]:
    """The block whose barrier is meant, and its offset."""
    if space == "cluster" or address >= SHARED_WINDOW:
        address -= SHARED_WINDOW if address >= SHARED_WINDOW else 0
        return agent.block.peers[address // BLOCK_WINDOW], address % BLOCK_WINDOW
    return agent.block, address


def _phase(agent: Agent, address: int) -> int:
    block, offset = _barrier_of(agent, address, "shared")
    return block.mbarrier(offset).phase


def _initialise(instruction: Instruction) -> Step:
    address = addresses(instruction.operands[0])
    count = reads(instruction.operands[1], np.uint32) if instruction.opcode[1] == "init" else None

    def step(agent: Agent) -> None:
        where = address(agent)
        for lane in agent.here.tolist():
            block, offset = _barrier_of(agent, int(where[lane]), "shared")
            block.shared.check(np.array([offset]), 8, "initialises")
            if count is None:
                block.mbarriers.pop(offset, None)
            else:
                number = int(count(agent)[lane])
                block.mbarriers[offset] = MBarrier(number, number)

    return step


def _each_barrier(agent: Agent, address: Read, space: str) -> Iterator[tuple[int, MBarrier]]:
    """The lane and barrier of each active thread."""
    known: dict[int, MBarrier] = {}
    for lane, where in zip(agent.here.tolist(), agent.of_active(address(agent)).tolist(), strict=True):
        barrier = known.get(where)
        if barrier is None:
            block, offset = _barrier_of(agent, where, space)
            barrier = known[where] = block.mbarrier(offset)
        yield lane, barrier


def _expect(instruction: Instruction) -> Step:
    address, nbytes = addresses(instruction.operands[0]), reads(instruction.operands[1], np.uint32)
    space = space_of(instruction)

    def step(agent: Agent) -> None:
        more = nbytes(agent)
        for lane, barrier in _each_barrier(agent, address, space):
            barrier.bytes += int(more[lane])

    return step


def _arrive(instruction: Instruction) -> Step:
    """One arrival a thread, or as many as are given; with `expect_tx`, bytes to wait for come first."""
    operands = list(instruction.operands)
    state = operands.pop(0) if not isinstance(operands[0], Address) else None
    address = addresses(operands[0])
    number = reads(operands[1], np.uint32) if len(operands) > 1 else None
    expects = "expect_tx" in instruction.opcode
    write = writes(state) if state is not None else None
    space = space_of(instruction)

    def step(agent: Agent) -> object:
        numbers = number(agent) if number else None
        for lane, barrier in _each_barrier(agent, address, space):
            given = 1 if numbers is None else int(numbers[lane])
            barrier.bytes += given if expects else 0
            barrier.pending -= 1 if expects else given
            barrier.settle()
        if write:
            write(agent, np.zeros(agent.lanes, np.uint64))
        return PAUSE

    return step


def _try(instruction: Instruction) -> Step:
    """Whether the phase of a parity is over; where it is not, others come first."""
    write = writes(instruction.operands[0])
    address, parity = addresses(instruction.operands[1]), reads(instruction.operands[2], np.uint32)

    def step(agent: Agent) -> object:
        where = address(agent)
        active = agent.of_active(where)
        phases: Array | np.uint32
        if np.count_nonzero(active == active[0]) == active.size:  # the usual case
            phases = np.uint32(_phase(agent, int(active[0])))
        else:
            phases = np.zeros(agent.lanes, np.uint32)
            for at in set(active.tolist()):
                phases[where == at] = _phase(agent, at)
        over = phases != parity(agent) & np.uint32(1)
        write(agent, over)
        return None if np.count_nonzero(agent.of_active(over)) == active.size else SPIN

    return step
