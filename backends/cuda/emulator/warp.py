"""What the threads of a warp or a block do together: shuffles, votes, barriers (PTX ISA, 9.7.9.8, 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....compiler.signature import Array
from .agent import PAUSE, WAIT, Agent, EmulationError, Step, items, reads, writes
from .decode import decodes, type_of
from .ptx import Instruction, Number, Operand, Register

WARP = 32


def by_warps(agent: Agent, value: Array) -> Array:
    """One row for each warp; lanes that the block has not are zero."""
    short = -agent.lanes % WARP
    return np.pad(value, (0, short)).reshape(-1, WARP) if short else np.asarray(value).reshape(-1, WARP)


def check_members(agent: Agent, members: Array) -> None:
    """Raises EmulationError unless exactly the named threads of each warp are here."""
    lanes = np.arange(agent.lanes) % WARP
    named: Array = (members >> lanes.astype(np.uint32) & np.uint32(1)) != 0
    here = by_warps(agent, agent.active)
    missing = by_warps(agent, named & ~agent.active & ~agent.done) & here.any(1, keepdims=True)
    if (agent.active & ~named).any() or missing.any():
        raise EmulationError("the threads that execute this are not those that its mask names")


@decodes("shfl")
def shuffle(instruction: Instruction) -> Step:
    """Each thread gets the value of another of its segment; its own where there is none."""
    mode = instruction.opcode[2]
    results = items(instruction.operands[0])
    write, tells = writes(results[0]), [writes(o) for o in results[1:]]
    source, by, bounds, members = (reads(o, np.uint32) for o in instruction.operands[1:])

    def step(agent: Agent) -> None:
        check_members(agent, members(agent))
        lane = (np.arange(agent.lanes) % WARP).astype(np.int64)
        packed, amount = bounds(agent).astype(np.int64), by(agent).astype(np.int64)
        segment, clamp = packed >> 8 & 31, packed & 31
        last = (lane & segment) | (clamp & ~segment)
        first = lane & segment
        chosen = {
            "up": lambda: lane - amount,
            "down": lambda: lane + amount,
            "bfly": lambda: lane ^ amount,
            "idx": lambda: first | (amount & ~segment),
        }[mode]()
        good = chosen >= last if mode == "up" else chosen <= last
        where = np.where(good, chosen, lane)
        values = by_warps(agent, source(agent))
        active = by_warps(agent, agent.active)
        at = by_warps(agent, where)
        if (~np.take_along_axis(active, at, 1) & active).any():
            raise EmulationError("a thread reads the value of one that is not here")
        write(agent, np.take_along_axis(values, at, 1).reshape(-1)[: agent.lanes])
        for tell in tells:
            tell(agent, good)

    return step


def _ballot(agent: Agent, truth: Array) -> Array:
    """For each lane, the bits of its warp's active lanes that are true."""
    bits = by_warps(agent, truth & agent.active).astype(np.uint64) << np.arange(WARP, dtype=np.uint64)
    return np.repeat(bits.sum(1).astype(np.uint32), WARP)[: agent.lanes]


@decodes("vote")
def vote(instruction: Instruction) -> Step:
    """all, any, uni of a predicate over the warp, or its ballot."""
    mode = next(p for p in instruction.opcode if p in ("all", "any", "uni", "ballot"))
    truth, members = reads(instruction.operands[1], np.bool_), reads(instruction.operands[2], np.uint32)
    write = writes(instruction.operands[0])

    def step(agent: Agent) -> None:
        check_members(agent, members(agent))
        yes, everyone = _ballot(agent, truth(agent)), _ballot(agent, agent.active)
        answers = {"all": yes == everyone, "any": yes != 0, "uni": (yes == everyone) | (yes == 0), "ballot": yes}
        write(agent, answers[mode])

    return step


@decodes("activemask")
def active_mask(instruction: Instruction) -> Step:
    """The bits of the lanes that execute this."""
    write = writes(instruction.operands[0])
    return lambda agent: write(agent, _ballot(agent, agent.active))


@decodes("elect")
def elect(instruction: Instruction) -> Step:
    """True in one thread of the warp: the first that is named."""
    results = items(instruction.operands[0])
    lane, truth = writes(results[0]), writes(results[1])
    members = reads(instruction.operands[1], np.uint32)

    def step(agent: Agent) -> None:
        named = members(agent)
        first = np.array([(int(m) & -int(m)).bit_length() - 1 for m in named], np.uint32)
        lane(agent, first)
        truth(agent, np.arange(agent.lanes) % WARP == first)

    return step


_REDUCED: dict[str, Callable[[Array], Array]] = {
    "add": lambda x: x.sum(1), "min": lambda x: x.min(1), "max": lambda x: x.max(1),
    "and": lambda x: np.bitwise_and.reduce(x, 1), "or": lambda x: np.bitwise_or.reduce(x, 1),
    "xor": lambda x: np.bitwise_xor.reduce(x, 1),
}  # fmt: skip


@decodes("redux")
def reduce(instruction: Instruction) -> Step:
    """A reduction over the whole warp, told to every thread of it."""
    dtype = np.dtype(type_of(instruction))
    function = _REDUCED[instruction.opcode[2]]
    source, members = reads(instruction.operands[1], dtype), reads(instruction.operands[2], np.uint32)
    write = writes(instruction.operands[0])

    def step(agent: Agent) -> None:
        if (members(agent) != 0xFFFFFFFF).any():
            raise EmulationError("redux of a part of a warp")
        check_members(agent, members(agent))
        found = function(by_warps(agent, source(agent))).astype(dtype)
        write(agent, np.repeat(found, WARP)[: agent.lanes])

    return step


@decodes("bar", "barrier")
def barrier(instruction: Instruction) -> Step:
    """`bar.sync`, `bar.arrive`, `bar.warp.sync`, `barrier.cluster.arrive` and `wait`."""
    opcode = instruction.opcode
    if opcode[1] == "warp":
        members = reads(instruction.operands[0], np.uint32)
        return lambda agent: check_members(agent, members(agent))
    if opcode[1] == "cluster":
        return _cluster_arrive if "arrive" in opcode else _cluster_wait
    if "red" in opcode:
        raise ValueError("reductions at barriers")
    number = reads(instruction.operands[0], np.uint32)
    counted = reads(instruction.operands[1], np.uint32) if len(instruction.operands) > 1 else None
    waits = "sync" in opcode

    def step(agent: Agent) -> object:
        if counted is None and not agent.all_active:
            missing = agent.block.by_block(agent.active != ~agent.done) & _here(agent)[:, None]
            if missing.any():
                raise EmulationError("a barrier that not all threads of a warp have come to")
        at = int(number(agent)[agent.active][0])
        wanted = counted(agent)[agent.active][:1].astype(np.int64) if counted else _alive(agent)
        return _meet(agent, f"bar {at}", wanted, waits)

    return step


def _here(agent: Agent) -> Array:
    """Of which blocks there are active threads."""
    return np.logical_or.reduce(agent.block.by_block(agent.active), 1)


def _alive(agent: Agent) -> Array:
    """Threads of each block that have not returned."""
    block = agent.block
    if not any(each.returned for each in block.agents):
        return np.full(len(block.indices), block.launch.threads)
    return np.sum([block.by_block(~each.done).sum(1) for each in block.agents], axis=0)


def _meet(agent: Agent, name: str, wanted: Array, waits: bool) -> object:
    """Arrives once at the barrier called `name`, then waits until so many threads of each block have."""
    block, here = agent.block, _here(agent)
    arrived = block.arrived.setdefault(name, np.zeros(len(here), np.int64))
    generation = block.generation.setdefault(name, np.zeros(len(here), np.int64))
    came = agent.waiting_at.get(name)
    if came is None:
        came = agent.waiting_at[name] = generation.copy()
        arrived += block.by_block(agent.active).sum(1)
        if (here & (arrived > wanted)).any():
            raise EmulationError(f"{arrived.max()} threads came to a barrier of {wanted.max()}")
    full = here & (arrived == wanted) & (generation == came)
    generation += full
    arrived[full] = 0
    if waits and (generation == came)[here].any():
        return WAIT
    del agent.waiting_at[name]
    return PAUSE


def _cluster_arrive(agent: Agent) -> object:
    """Counts the threads at the barrier of the whole cluster, kept by its first block."""
    home = agent.block.peers[0]
    arrived = home.arrived.setdefault("cluster", np.zeros(1, np.int64))
    generation = home.generation.setdefault("cluster", np.zeros(1, np.int64))
    agent.waiting_at["cluster"] = generation.copy()
    arrived += int(agent.active.sum())
    if arrived[0] == agent.block.launch.threads * len(agent.block.peers):
        generation += 1
        arrived[0] = 0
    return PAUSE


def _cluster_wait(agent: Agent) -> object:
    if "cluster" not in agent.waiting_at:
        raise EmulationError("waits at the cluster's barrier before it has arrived there")
    if (agent.block.peers[0].generation["cluster"] == agent.waiting_at["cluster"]).all():
        return WAIT
    del agent.waiting_at["cluster"]
    return PAUSE


def constant(operand: Operand) -> int:
    """An operand that has to be a number. Raises ValueError otherwise."""
    if isinstance(operand, Number):
        return operand.value
    raise ValueError(f"{operand.name if isinstance(operand, Register) else operand} where a number is expected")
