"""A block of threads and the launch that it belongs to: shared memory, barriers, what was begun and not finished."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from ....compiler.signature import Array
from .agent import Agent, EmulationError
from .memory import SECTOR, Counters, GlobalMemory, Memory, SharedMemories
from .program import Program
from .ptx import SHARED_ALIGNMENT, Kernel

WARP = 32
SECTOR_BITS = 50  # of an address, in sectors
NOTES = 64


@dataclass
class MBarrier:
    """A barrier in shared memory (PTX ISA, 9.7.13.15): arrivals and bytes that the current phase still waits for."""

    count: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def settle(self) -> None:
        """Begins the next phase if this one has all it waits for. Raises EmulationError where more arrived."""
        if self.pending < 0:
            raise EmulationError(f"mbarrier: more arrivals than the {self.count} it counts")
        if self.pending == 0 and self.bytes == 0:
            self.phase ^= 1
            self.pending = self.count


@dataclass
class Launch:
    """One launch: what all its blocks share."""

    program: Program
    memory: GlobalMemory
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    parameters: Memory
    shared_bytes: int
    late: bool
    copies_last: bool  # late: whether copies come after products have read what was there before, not products late
    random: random.Random
    constants: dict[str, int]
    counters: Counters = field(default_factory=Counters)
    counted: bool = True  # whether traffic is, beside instructions
    agent_lanes: int = WARP
    proxies: bool = False  # whether products read shared memory by themselves, so that writes of threads need a fence

    @cached_property
    def layout(self) -> tuple[dict[str, int], int]:
        """Where variables lie in the shared memory of each block, and its size."""
        return _shared_layout(self.program.kernel, self.shared_bytes)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]


class Block:
    """A cooperative thread array: shared memory, barriers, and what was begun and not finished.

    It may stand for more, which do the same at the same time: `others` are their indices. Each has shared memory
    and barriers of its own.
    """

    def __init__(
        self, launch: Launch, index: tuple[int, int, int], rank: int, others: Sequence[tuple[int, int, int]] = ()
    ):
        self.launch, self.index, self.rank = launch, index, rank
        self.indices = np.array([index, *others], np.uint32)
        self.peers: list[Block] = [self]
        self.variables, nbytes = launch.layout
        self.shared = SharedMemories(nbytes, len(self.indices), f"shared memory of block {index}")
        self.mbarriers: dict[int, MBarrier] = {}
        self.arrived: dict[str, Array] = {}  # threads of each block at barriers by name
        self.generation: dict[str, Array] = {}
        self.pending: list[Callable[[], None]] = []
        self._asked: list[Array] = []
        noted = self.shared.nbytes if launch.proxies else 0
        self._written = np.zeros(noted, np.int64)  # when threads wrote each byte last; 0: the copy engine did
        self._writer = np.zeros(noted, np.int16)  # which agent that was
        self.time = 0  # writes of threads so far
        kernel = launch.program.kernel
        numbers = np.arange(launch.threads * len(self.indices), dtype=np.int64)
        if not launch.program.apart:
            numbers = numbers.reshape(len(self.indices), -1)
        lanes = launch.agent_lanes
        parts = [numbers[..., first : first + lanes].reshape(-1) for first in range(0, numbers.shape[-1], lanes)]
        self.agents = [Agent(self, kernel, part) for part in parts]

    def address_of(self, name: str) -> int:
        """The address of a variable or parameter in its own space."""
        if name in self.variables:
            return self.variables[name]
        if name in self.launch.constants:
            return self.launch.constants[name]
        for parameter in self.launch.program.kernel.parameters:
            if parameter.name == name:
                return parameter.offset
        raise EmulationError(f"there is no variable '{name}'")

    def by_block(self, lanes: Array) -> Array:
        """What threads of an agent have, a row for each block."""
        return lanes.reshape(len(self.indices), -1)

    def rooms(self, threads: Array) -> Array:
        """Where the shared memory of each of these threads begins."""
        return threads // self.launch.threads * self.shared.pitch

    def in_shared(self, agent: Agent, where: Array) -> Array:
        """Where in `shared` is what active threads address in the shared memory of their blocks."""
        if len(self.indices) == 1:
            return where
        self.shared.check_inside(where)
        return self.of_rooms(agent, where)

    def of_rooms(self, agent: Agent, where: Array) -> Array:
        """The same of addresses that the shared memory of a block has."""
        if len(self.indices) == 1:
            return where
        return where + (agent.room if agent.all_active else agent.room[agent.active])

    def special_registers(self, numbers: Array) -> dict[str, Array]:
        """Those of the registers that tell threads where they are that the kernel asks for."""
        block, threads = np.divmod(numbers.astype(np.uint32), np.uint32(self.launch.threads))
        special = self.launch.program.special
        return {name: tells(self, block, threads) for name, tells in _SPECIAL.items() if name in special}

    def end(self) -> None:
        """All threads have returned: others take their registers over, and nothing is a cycle that is left."""
        for agent in self.agents:
            self.launch.program.spare.setdefault(agent.lanes, []).append(agent.file)
        self.agents, self.peers = [], []

    def reads(self, addresses: Array, threads: Array) -> None:
        """Notes the sectors that threads ask global memory for."""
        if not self.launch.late:
            sectors = addresses.astype(np.int64) // SECTOR
            self._asked.append(threads // self.launch.threads << SECTOR_BITS | sectors)
            if len(self._asked) > NOTES:
                self._asked = [np.unique(np.concatenate(self._asked))]

    def sectors(self) -> int:
        """How many different ones threads have asked for, those of each block counted by themselves."""
        return int(np.unique(np.concatenate(self._asked)).size) if self._asked else 0

    def wrote(self, agent: Agent | None, offsets: Array, nbytes: int) -> None:
        """Notes that threads, or the copy engine (None), wrote so many bytes at places of shared memory."""
        if not self.launch.proxies:
            return
        at = offsets if nbytes == 1 else (offsets[:, None] + np.arange(nbytes)).reshape(-1)
        if agent is None:
            self._written[at] = 0
            return
        self.time += 1
        self._written[at] = self.time
        self._writer[at] = self.agents.index(agent)

    def check_fenced(self, offsets: Array, fenced: int) -> None:
        """Raises EmulationError where products that are fenced up to a time read what threads wrote later.

        The fence (`fence.proxy.async`) may be one of who wrote, or of who reads.
        """
        written = self._written[offsets]
        open_ = written > fenced
        if np.count_nonzero(open_):
            own = np.array([agent.fenced for agent in self.agents])[self._writer[offsets]]
            if (open_ & (written > own)).any():
                raise EmulationError("reads what threads wrote to shared memory, and no fence.proxy.async lies between")

    def begin(self, effect: Callable[[], None]) -> None:
        """An asynchronous effect: now, or some time before it is waited for."""
        if self.launch.late:
            self.pending.append(effect)
        else:
            effect()

    def settle_one(self) -> bool:
        """Lets one of the pending effects happen."""
        if not self.pending:
            return False
        self.pending.pop(self.launch.random.randrange(len(self.pending)))()
        return True

    def mbarrier(self, offset: int) -> MBarrier:
        """The barrier at an offset of shared memory. Raises EmulationError where none was initialised."""
        if offset not in self.mbarriers:
            raise EmulationError(f"no mbarrier was initialised at {offset} of shared memory")
        return self.mbarriers[offset]


_SPECIAL: dict[str, Callable[[Block, Array, Array], Array]] = {
    "%tid.x": lambda block, _, threads: threads % block.launch.block[0],
    "%tid.y": lambda block, _, threads: threads // block.launch.block[0] % block.launch.block[1],
    "%tid.z": lambda block, _, threads: threads // (block.launch.block[0] * block.launch.block[1]),
    "%laneid": lambda block, _, threads: threads % WARP,
    "%warpid": lambda block, _, threads: threads // WARP,
    "%lanemask_lt": lambda block, _, threads: (np.uint64(1) << (threads % WARP).astype(np.uint64)) - np.uint64(1),
    "%cluster_ctarank": lambda block, _, threads: np.array(block.rank),
    "%cluster_nctarank": lambda block, _, threads: np.array(prod(block.launch.cluster)),
}  # by the number of the block that each thread is of, and its own number there
for _i, _axis in enumerate("xyz"):
    _SPECIAL[f"%ctaid.{_axis}"] = lambda block, of, threads, i=_i: block.indices[of, i]
    _SPECIAL[f"%nctaid.{_axis}"] = lambda block, of, threads, i=_i: np.array(block.launch.grid[i])
    _SPECIAL[f"%ntid.{_axis}"] = lambda block, of, threads, i=_i: np.array(block.launch.block[i])


def _shared_layout(kernel: Kernel, dynamic: int) -> tuple[dict[str, int], int]:
    """The offsets of shared variables, the dynamic ones last, and the size of it all."""
    places: dict[str, int] = {}
    end = 0
    fixed = [v for v in kernel.variables if v.space == "shared" and v.nbytes]
    for variable in fixed:
        end += -end % variable.alignment
        places[variable.name] = end
        end += variable.nbytes
    for variable in kernel.variables:
        if variable.space == "shared" and not variable.nbytes:
            places[variable.name] = end + -end % SHARED_ALIGNMENT
    if dynamic:
        end += -end % SHARED_ALIGNMENT + dynamic
    return places, end
