"""Runs a grid: blocks one after the other (the blocks of a cluster together), their warps in an order that varies.

Eager: everything asynchronous happens at once, and warps take turns. Late: it happens as late as the memory model
allows, warps are chosen at random and interrupted after what others may wait for; several seeds find most missing
waits. Of even seeds products read shared memory when they are waited for, and copies come soon; of odd ones products
read it when they are begun, and copies come late.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ....compiler.diagnostics import LaminaError
from .agent import EmulationError
from .block import WARP, Block, Launch
from .decode import decode
from .memory import Counters, GlobalMemory, Memory
from .program import Program
from .ptx import Kernel

WARPGROUP = 128
CROWD = 4096  # threads of blocks that step together
TURN = 200  # instructions of a warp before another comes
PATIENCE = 500  # turns in which nothing happens before it is a deadlock


def launch(
    kernel: Kernel,
    arguments: Sequence[int | float | bytes],
    *,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    memory: GlobalMemory,
    cluster: tuple[int, int, int] = (1, 1, 1),
    shared_bytes: int = 0,
    late: bool = False,
    seed: int = 0,
    program: Program | None = None,
    counted: bool = True,
) -> Counters:
    """Executes a kernel. `arguments` are numbers, addresses of `memory`, or the bytes of a block parameter.

    `program` is the kernel when it was `decoded` before. Unless it is to be `counted`, of what the kernel does only
    instructions are.

    Raises EmulationError for what the hardware would not do or not finish: accesses out of bounds, barriers that not
    all reach, deadlocks, instructions that are not known here.
    """
    threads = block[0] * block[1] * block[2]
    if threads > kernel.max_threads:
        raise LaminaError(f"kernel {kernel.name}: {threads} threads, compiled for at most {kernel.max_threads}")
    program = program or decoded(kernel)
    program.counts = [0] * len(kernel.instructions)
    used = {i.opcode[0] for i in kernel.instructions}
    in_step = "wgmma" in used or not (late or "mbarrier" in used)
    state = Launch(
        program=program,
        memory=memory,
        grid=grid,
        block=block,
        cluster=cluster,
        parameters=_parameter_space(kernel, arguments),
        shared_bytes=shared_bytes,
        late=late,
        copies_last=late and seed % 2 == 1,
        random=random.Random(seed),
        constants=_place_constants(kernel, memory),
        agent_lanes=WARPGROUP if in_step else WARP,
        proxies="wgmma" in used,
        counted=counted,
    )
    with np.errstate(all="ignore"):
        corners = [
            (x, y, z)
            for z, y, x in itertools.product(*(range(0, n, c) for n, c in zip(grid[::-1], cluster[::-1], strict=True)))
        ]
        if program.beside and threads % WARP == 0 and cluster == (1, 1, 1):
            _run_crowds(state, corners)
        else:
            for corner in corners:
                _run_cluster(state, corner)
    counts: Counter[str] = Counter()
    for name, count in program.executed:
        counts[name] += count
    state.counters.instructions = dict(counts)
    return state.counters


def decoded(kernel: Kernel) -> Program:
    """A kernel with its instructions decoded: what `launch` takes where it is launched again and again."""
    return Program(kernel, decode)


def _run_crowds(state: Launch, corners: list[tuple[int, int, int]]) -> None:
    """Blocks that never learn of each other, many at once; late, in any order.

    Where warps never do either, they all step together, or late some of them first; else those of the same numbers do.
    """
    if state.late:
        state.random.shuffle(corners)
    together = max(1, CROWD // state.threads)
    for start in range(0, len(corners), together):
        index, *others = corners[start : start + together]
        if state.program.apart:
            warps = (1 + len(others)) * state.threads // WARP
            state.agent_lanes = WARP * (max(1, warps // state.random.choice((1, 2, 4, 8))) if state.late else warps)
        _run([Block(state, index, 0, others)], state)


def _run_cluster(state: Launch, corner: tuple[int, ...]) -> None:
    offsets = itertools.product(*(range(c) for c in state.cluster[::-1]))
    places = [tuple(a + b for a, b in zip(corner, offset[::-1], strict=True)) for offset in offsets]
    _run([Block(state, (x, y, z), rank) for rank, (x, y, z) in enumerate(places)], state)


def _run(blocks: list[Block], state: Launch) -> None:
    """Runs blocks of a cluster to their ends."""
    for each in blocks:
        each.peers = blocks
    live = [agent for each in blocks for agent in each.agents]
    idle = 0
    turn = 0
    while live:
        if state.late:
            agent = state.random.choice(live)
            steps = state.random.randrange(1, TURN)
        else:
            agent, steps = live[turn % len(live)], TURN
            turn += 1
        happened = agent.run(state.program, steps)
        if agent.finished:
            live.remove(agent)
            happened = True
        if state.late and _settles(state, happened):
            happened = agent.block.settle_one() or happened
        idle = 0 if happened else idle + 1
        if idle > PATIENCE:
            if any(each.settle_one() for each in blocks):
                idle = 0
                continue
            waiting = sorted({f"'{a.waits_for}'" for a in live})
            raise EmulationError(f"deadlock in block {blocks[0].index}: threads wait in {', '.join(waiting)}")
    for each in blocks:
        while each.settle_one():
            pass
        state.counters.global_block_sectors += each.sectors()
    for each in blocks:
        each.end()


def _settles(state: Launch, happened: bool) -> bool:
    """Whether one of the copies that were begun takes place: soon, or when products have long read what was there."""
    if state.copies_last:
        return state.random.random() < (0.03 if happened else 0.06)
    return state.random.random() < 0.3 or not happened


def _parameter_space(kernel: Kernel, arguments: Sequence[int | float | bytes]) -> Memory:
    if len(arguments) != len(kernel.parameters):
        raise LaminaError(f"kernel {kernel.name}: {len(arguments)} arguments, it takes {len(kernel.parameters)}")
    space = Memory(kernel.parameter_bytes, 0, "the parameters")
    for parameter, value in zip(kernel.parameters, arguments, strict=True):
        if isinstance(value, float):
            data = np.array(value, {2: np.float16, 4: np.float32, 8: np.float64}[parameter.nbytes]).tobytes()
        elif isinstance(value, bytes):
            data = value
        else:
            data = (value & ((1 << 8 * parameter.nbytes) - 1)).to_bytes(parameter.nbytes, "little")
        if len(data) != parameter.nbytes:
            raise LaminaError(f"parameter {parameter.name} has {parameter.nbytes} bytes, got {len(data)}")
        space.bytes[parameter.offset : parameter.offset + parameter.nbytes] = np.frombuffer(data, np.uint8)
    return space


def _place_constants(kernel: Kernel, memory: GlobalMemory) -> dict[str, int]:
    """The addresses of variables of the module in global and constant space."""
    places: dict[str, int] = {}
    for variable in kernel.variables:
        if variable.space in ("global", "const"):
            data = np.zeros(variable.nbytes, np.uint8)
            data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
            places[variable.name] = memory.upload(data, variable.name)
    return places
