"""How a contraction is cut into register tiles and tasks: data, chosen by a small cost model, printable, editable."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from math import gcd, prod

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine

FEW_STRIPS = 4  # strips below which sums of blocks of k cost more than panels that L2 does not hold
TWO_STRIPS = 2  # strips of a panel that suffice to ask for the next one
MANY_STRIPS = 200  # strips of a panel beyond which fetching it is nothing
MOST_ROWS = 14  # of a tile
PAGE = 4096  # bytes; what an address is within a page says which set of lines in L1 it may lie in
MOST_PLACES = 12  # rows of a tile whose places do not follow from one another: each has an address of its own
UNPACKED = 4  # cycles of a step whose row of B is none of a panel; measured on Sapphire Rapids
LATENCY = 4  # cycles of a multiply-add
SHARED = 4 / 3  # cycles more that sums which just hide it take while another program has the other half of the core
FEW_ROWS = 4  # of A that are too few to pay for packing B
STREAMS = (8, 7, 6, 9, 10, 5, 4)  # places that a core fetches from at once, the best first; measured on Zen 3
ONCE = 2  # vectors at a time of panels that are read once and come from memory
WIDE = 4  # vectors of a panel of bytes, read one behind the other: 0.7 ms, by two at a time 1.9; measured on Zen 4
AHEAD_IN_SET = 4  # lines of a set of L1 that panels read once leave to what is fetched ahead; measured on Zen 4
SPARE = 3  # registers that rounds at a time want for what comes next
UNROLLS = (4, 3, 2)  # rounds of an innermost loop at a time
WHOLE = 8  # rounds of it that are all done at once
COPY_COLUMNS = 512  # that pay for copying A; measured on Zen 3
SCATTERED_COLUMNS = 64  # that pay for it where each step of k is a line of its own; measured on Zen 3
L1_LEFT = 16 << 10  # bytes of L1 for what is not rows of A
MIN_STRIPS = 16  # strips per block below which panels of B are fetched too often
SHALLOW = 128  # steps of k up to which results are what a product waits for
SHALLOW_STRIPS = 2  # strips per block then


@dataclass(frozen=True)
class Problem:
    """The numbers a schedule depends on.

    `lanes` is the panel width, `loops` the trip counts of the loops over k, `left` the bytes of A of one batch where a
    window's rows of it overlap (0: they do not), `packed` whether B lies in panels,
    `in_memory` whether sums can wait in the output, `copies` whether tiles can read copies of A, `by_rows` whether
    batches lie within rows, and rows take more room than B. `apart` are the bytes from one step of k to the next in A.
    `packs`: the kernel brings B into panels itself. Tiles of AMX take `tile` of k at a time (0: vectors).
    """

    batch: int
    rows: int
    columns: int
    depth: int
    element_bytes: int
    lanes: int
    loops: tuple[int, ...] = ()
    left: int = 0
    packed: bool = True
    in_memory: bool = True
    copies: bool = False
    by_rows: bool = False
    apart: int = 0
    packs: bool = False
    tile: int = 0


@dataclass(frozen=True)
class Schedule:
    """A tile of `rows` × `panels` panels stays in registers over all of k; blocks of tiles are tasks for threads.

    With a `depth`, tiles pass over all rows and panels of a task for so many rounds of the outermost loop over k,
    then for the next, and the sums wait in the output meanwhile (0: all of k at once); tiles of AMX pass over rows
    alone, for so many of the innermost loop, and sums wait beside the output. With an `ahead`, a tile asks for a row of
    the next panels of B every so many rounds of its innermost loop (0: it does not), one of AMX for so much less than
    what comes next. With `copy` (0 or 1), a task copies its rows of A, block of k by block, into the order in which
    tiles read them. Rows and panels that do not divide the problem are covered by tiles of two sizes.
    """

    rows: int
    panels: int = 1
    row_blocks: int = 1
    panel_blocks: int = 1
    unroll: int = 1
    depth: int = 0
    ahead: int = 0
    copy: int = 0

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in asdict(self).items())

    @staticmethod
    def parse(text: str) -> Schedule:
        """The schedule printed as `text`; what is left out has its default.

        >>> Schedule.parse("rows=6 row_blocks=4")
        Schedule(rows=6, panels=1, row_blocks=4, panel_blocks=1, unroll=1, depth=0, ahead=0, copy=0)
        """
        found = dict(re.findall(r"(\w+)\s*=\s*(\d+)", text))
        names = {field.name for field in fields(Schedule)}
        least = dict.fromkeys(names, 1) | {"depth": 0, "ahead": 0, "copy": 0}
        if "rows" not in found or any(name not in names or int(value) < least[name] for name, value in found.items()):
            raise LaminaError(f"not a schedule: '{text}'", hint=f"for example '{Schedule(6)}'")
        return Schedule(**{name: int(value) for name, value in found.items()})


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def max_rows(machine: Machine, vectors: int) -> int:
    """The rows of a tile `vectors` registers wide that leave room for a row of B and a broadcast of A."""
    unrolled = SPARE if machine.vectors_are_lines else 0
    free = machine.vector_registers - vectors - max(machine.scratch_registers, unrolled)
    return max(1, min(MOST_ROWS, machine.vector_registers // 2, free // vectors))


def tile_cycles(machine: Machine, rows: int, vectors: int) -> float:
    """Cycles per step of k: multiply-adds or their latency or the loads, and a share for bringing in the row of B.

    Loads are two a cycle; broadcasts of A from rows far apart are slower, measured on Zen 3. Vectors of a whole line
    leave the ports no room for broadcasts: those take a share too, measured on Sapphire Rapids. While another program
    has the other half of the core, sums that just hide the latency do no longer: 512 x 96 x 784 takes 1.7 ms by 4 rows
    of two vectors then, 1.15 by 5 or 6 (0.90, 0.93 without it), 512 x 32 x 784 0.55, 0.48 and 0.44; measured on Zen 3.
    """
    broadcasts = rows / 8 if machine.vectors_are_lines else 0
    busy = max(rows * vectors / machine.fma_ports, LATENCY, rows * 2 / 3 + vectors / 2)
    few = not machine.vectors_are_lines and 2 * rows * vectors < 3 * LATENCY * machine.fma_ports
    return busy + (SHARED if few else 0) + vectors / 3 + broadcasts


def turn_cycles(machine: Machine, sums: int) -> float:
    """Cycles between one tile and the next; of vectors of a line fewer where few sums hide the latency."""
    hidden = LATENCY * machine.fma_ports if machine.vectors_are_lines else 0
    return 10.0 * min(4, max(0, sums - hidden))


def choose(problem: Problem, machine: Machine) -> Schedule:
    """The schedule for `problem`.

    Rows and panels: the tile for which covering all of the output costs least. Depth: so much of k that a panel leaves
    most of L2 to the rows of A. Blocks: rows of A that stay in L2 while the panels of B pass by; as many blocks as
    share out evenly over the cores.
    """
    if streams(problem, machine):
        at_once = next((n for n in STREAMS if problem.depth % n == 0), STREAMS[0])
        _, panel_blocks = blocks(problem, machine, problem.rows, 1, problem.columns // problem.lanes)
        return Schedule(problem.rows, panel_blocks=panel_blocks, unroll=at_once, depth=at_once)
    rows, panels = tile_of(problem, machine)
    if reads_once(problem, machine):
        panels = max(1, min(panels, panels_at_once(problem, machine) // wide(problem, machine)))
    elif wide(problem, machine) >= WIDE:
        panels = 1
    strips, groups = ceil_div(problem.rows, rows), ceil_div(problem.columns // problem.lanes, panels)
    depth = depth_of(problem, machine, strips, panels)
    copy = worth_copying(problem, machine, depth)
    row_blocks, panel_blocks = blocks(problem, machine, rows, strips, groups, depth, copy)
    ahead = ahead_of(problem, machine, strips // row_blocks, depth)
    unroll = rounds(problem, machine, depth, ahead)
    return Schedule(rows, panels, row_blocks, panel_blocks, unroll, depth=depth, ahead=ahead, copy=int(copy))


def lines(problem: Problem, machine: Machine) -> bool:
    """Whether a row of a panel is one vector, and that a line of the cache."""
    return machine.vectors_are_lines and wide(problem, machine) == 1 and not problem.tile


def rounds(problem: Problem, machine: Machine, depth: int, ahead: int) -> int:
    """Rounds of the innermost loop at a time: vectors of a line share their ports with the loop's own arithmetic.

    1024³ takes 12.3 ms so instead of 12.9, and BERT-base 140 instead of 147; measured on Sapphire Rapids. Others may
    share all of the core: while another program has the other half of it, 512 x 64 x 784 takes 0.70 ms instead of 0.77,
    128 x 512 x 784 1.45 instead of 1.6, 7 x 7 taps of an image 4.1 instead of 4.5; measured on Zen 3.
    """
    few = problem.rows < FEW_ROWS and not reads_once(problem, machine)  # memory is the limit
    room = problem.in_memory and has_registers_for_rounds(machine)  # sums of bytes and halves need theirs
    if not problem.loops or few or not (lines(problem, machine) if machine.vectors_are_lines else room):
        return 1
    run = ahead or (depth if len(problem.loops) == 1 else 0) or problem.loops[-1]
    if run <= WHOLE and not ahead and not machine.vectors_are_lines:
        return run
    return next((n for n in UNROLLS if run % n == 0), 1)


def has_registers_for_rounds(machine: Machine) -> bool:
    """Whether several rounds at a time leave sums in registers: no product needs one, elements to broadcast none."""
    return "fma" in machine.features


def streams(problem: Problem, machine: Machine) -> bool:
    """Whether B lies in memory row by row and is read once: a few rows at a time, each from its first to its last.

    A tile that stays in registers would touch a page of B for every few columns of a row instead.
    """
    plain = not problem.packed and problem.in_memory and len(problem.loops) == 1 and problem.batch == 1
    return (
        plain
        and problem.rows < FEW_ROWS
        and _bytes_of_b(problem) > machine.l2_bytes
        and problem.columns >= 16 * problem.lanes
    )


def reads_once(problem: Problem, machine: Machine) -> bool:
    """Whether one row takes panels that L1 does not hold, each once, by vectors of whole lines."""
    one = problem.rows == problem.batch == 1
    return machine.vectors_are_lines and problem.packed and one and _bytes_of_b(problem) > machine.l1_bytes


def panels_at_once(problem: Problem, machine: Machine) -> int:
    """The vectors side by side that are best where one row takes each panel once: few.

    Memory serves few places at once better than many: 154 MB took 8.4 ms by two panels, by fourteen 9.6; measured on
    Sapphire Rapids. Of panels in L2 that lie a multiple of a page apart one set of L1 has lines of all: a step of a
    recurrent network of 128 took 3.2 microseconds by four panels, 3.4 by eight, 4.3 by thirteen, one of 256 12.5, 13.4
    and 18.6; measured on Zen 4, where a set has eight lines.
    """
    if _bytes_of_b(problem) > machine.l2_bytes:
        return ONCE
    apart = gcd(problem.depth * problem.lanes * problem.element_bytes, PAGE)
    return max(ONCE, machine.l1_bytes // PAGE - AHEAD_IN_SET) * (PAGE // apart)


def worth_forking(problem: Problem, machine: Machine) -> bool:
    """Whether threads take less time for a product: what one row reads from L2 counts twice, it comes half as fast."""
    work = problem.batch * problem.rows * problem.columns * problem.depth
    return work * (2 if reads_once(problem, machine) else 1) >= machine.worth_forking


def _bytes_of_b(problem: Problem) -> int:
    return problem.columns * problem.depth * problem.element_bytes


def wide(problem: Problem, machine: Machine) -> int:
    """The registers that a row of a panel takes."""
    return ceil_div(min(problem.lanes, problem.columns) * problem.element_bytes, machine.vector_bytes)


def tile_of(problem: Problem, machine: Machine) -> tuple[int, int]:
    """The rows and panels of the tile that covers all rows and whole panels in the least time."""
    per_panel = wide(problem, machine)
    full = max(1, problem.columns // problem.lanes)
    apart = 0 if problem.packed or not machine.vectors_are_lines else UNPACKED

    def cycles(rows: int, panels: int) -> float:
        step = tile_cycles(machine, rows, panels * per_panel) + apart
        turn = turn_cycles(machine, rows * panels * per_panel)
        return ceil_div(problem.rows, rows) * (problem.depth * step + turn)

    def cost(tile: tuple[int, int]) -> tuple[float, int]:
        rows, panels = tile
        groups = ceil_div(full, panels)
        small, larger = divmod(full, groups)
        total = (groups - larger) * cycles(rows, small)
        return total + (larger * cycles(rows, small + 1) if larger else 0), -rows

    most = min(full, max(1, max_rows(machine, per_panel)), panels_in_cache(problem, machine))
    rows = min(problem.rows, rows_in_cache(problem, machine) if len(problem.loops) <= 1 else MOST_PLACES)
    tiles = [(r, p) for p in range(1, most + 1) for r in range(1, min(rows, max_rows(machine, p * per_panel)) + 1)]
    return min(tiles, key=cost)


def rows_in_cache(problem: Problem, machine: Machine) -> int:
    """The rows of a tile: at most so many that lines of all of them stay in L1 until all of a line is read.

    Rows that lie a multiple of a page apart share one set of lines: 64 x 64 x 4096 takes 0.30 ms by tiles of 8 rows,
    0.35 by tiles of 13, 2048^3 in bfloat16 78 instead of 84 by 8 rows instead of 10; measured on Zen 4, where a set has
    8 lines.
    """
    return min(MOST_ROWS, lines_in_cache(problem.depth * problem.element_bytes, machine))


def panels_in_cache(problem: Problem, machine: Machine) -> int:
    """The panels that stay in L2 from one strip to the next, of several loops over k one round of the outermost.

    A 3 x 3 window of 960 channels on 14 x 14 points takes 6.1 ms by two panels of 553 KB, 10.7 by four; with blocks of
    184 KB and a stride of 2 4.5 by two, 4.4 by three, 5.0 by four; measured on Sapphire Rapids.
    """
    if not machine.vectors_are_lines or len(problem.loops) == 1 or problem.rows <= MOST_PLACES:
        return machine.vector_registers
    row_bytes = problem.lanes * problem.element_bytes
    if lines(problem, machine) and problem.in_memory and problem.loops:
        return max(1, machine.l2_bytes * 5 // 16 // max(1, row_bytes * prod(problem.loops[1:])))
    return max(1, machine.l2_bytes * 5 // 8 // max(1, row_bytes * problem.depth))


def depth_of(problem: Problem, machine: Machine, strips: int, panels: int) -> int:
    """Rounds of the outermost loop over k in a block, 0 for all: a panel of B takes about a quarter of L2.

    Each block reads and writes all of C: at 4096³ those of 2048 take 1.10 times less than those of 512, at 2048³ 1.03
    times; measured on Zen 3. Where vectors are lines the rows of a tile of 8 leave `L1_LEFT` of L1, and three panels
    take six times as much as those; measured on Sapphire Rapids, Zen 4, and Zen 5, where 2048³ takes 1.05 times less by
    1024 than by 512. Of several loops over k, as a window's, rounds of the outermost are many steps: they are cut where
    the panels of a tile take more than a quarter of L2. 3 x 3 of 512 channels to 7 x 7 points take 1.10 ms so instead
    of 1.23, 128 taps of 48 channels 4.6 instead of 5.0; measured on Sapphire Rapids. Panels may have half of L2 where
    rows of A come from the cache behind it as well: 4096³ takes 535 ms so, in blocks of 48 strips, instead of 561;
    measured on Zen 5.
    """
    if not problem.loops or strips < FEW_STRIPS or not problem.in_memory:
        return 0
    size, *inner = problem.loops
    columns = problem.lanes * (panels if lines(problem, machine) else 1)
    row_bytes = columns * problem.element_bytes
    if inner and not (lines(problem, machine) and row_bytes * problem.depth > machine.l2_bytes // 4):
        return 0
    share = 6 * max(machine.l1_bytes - L1_LEFT, L1_LEFT) if machine.vectors_are_lines else machine.l2_bytes // 4
    if machine.last_cache_is_near and not inner:
        share = machine.l2_bytes // 2
    wanted = max(1, share // (row_bytes * prod(inner)))
    if size <= wanted * 4 // 3:
        return 0
    even = [d for d in range(max(1, wanted // 2), wanted * 3 // 2 + 1) if size % d == 0]
    return min(even, key=lambda d: abs(d - wanted)) if even else wanted


def ahead_of(problem: Problem, machine: Machine, strips: int, depth: int) -> int:
    """Rounds of the innermost loop between two requests, such that a panel's tiles have asked for the whole next one.

    0 where B is in the cache anyhow, or its panels are passed by so many tiles that the first one's wait is nothing.
    8 x 4096 x 4096 takes 6.6 ms so instead of 9.5, in two strips; measured on Zen 3.
    """
    bytes_ = problem.batch * problem.columns * problem.depth * problem.element_bytes
    near = machine.l2_bytes * (2 if problem.batch > 1 else 1)  # of a batch a part stays in L2; measured on Zen 3
    if not problem.packed or not problem.loops or not TWO_STRIPS <= strips <= MANY_STRIPS or bytes_ < near:
        return 0
    run = depth if depth and len(problem.loops) == 1 else problem.loops[-1]
    return next((d for d in range(strips + strips // 8, strips // 2, -1) if run % d == 0), 0)


def waits_for_results(problem: Problem, machine: Machine) -> bool:
    """Whether results of few steps go past L2, which has room for all of B: a few rows of them are written at a time.

    Tiles of one panel after the other would write pieces of all rows, each on a page of its own. 2048 x 64 x 2048 takes
    4.5 ms so instead of 6.3, of 128 steps 8.9 instead of 10.3, sixteen of 512 x 64 x 512 5.5 instead of 6.8, a 1 x 1
    convolution of 64 to 256 channels on 56 x 56 points 0.72 instead of 0.86; measured on Emerald Rapids.
    """
    row_bytes = 4 * problem.columns
    large = problem.batch * problem.rows * row_bytes > machine.l2_bytes and row_bytes >= PAGE // 2
    return (
        large and lines(problem, machine) and problem.depth <= SHALLOW and _bytes_of_b(problem) <= machine.l2_bytes // 2
    )


def worth_copying(problem: Problem, machine: Machine, depth: int = 0) -> bool:
    """Whether rows of A are copied: where many columns read them, and no cache holds them as they lie anyhow.

    L2 holds no large A; L1 not the lines of a tile where each of `depth` steps of k is one of its own and few sets
    have them, as where images have their channels first. 1024 x 256 x 256 takes 1.6 ms with copies instead of 3.3, 4096
    x 64 x 256 1.8 instead of 2.9, 49 x 512 x 512 0.29 instead of 0.40; 784 x 128 x 128, of which L1 holds what a tile
    reads, 0.36 instead of 0.35; measured on Zen 3.
    """
    bytes_ = problem.rows * problem.depth * problem.element_bytes
    wide = bytes_ > machine.l2_bytes // 2 and problem.columns >= 2 * COPY_COLUMNS
    large = wide or (bytes_ > machine.l2_bytes and problem.columns >= COPY_COLUMNS)
    scattered = problem.apart >= machine.cache_line and problem.columns >= SCATTERED_COLUMNS
    evicted = scattered and 2 * (depth or problem.depth) > lines_in_cache(problem.apart, machine)
    return problem.copies and (large or evicted)


def lines_in_cache(apart: int, machine: Machine) -> int:
    """How many lines that lie so many bytes apart L1 has room for: a set has one of each page."""
    sets = PAGE // max(gcd(apart, PAGE), machine.cache_line)
    return max(1, machine.l1_bytes // PAGE) * sets


def blocks(
    problem: Problem, machine: Machine, rows: int, strips: int, groups: int, depth: int = 0, copy: bool = False
) -> tuple[int, int]:
    """How many blocks the strips and the groups of panels are cut into.

    Panels that threads have packed stay with them, where L2 holds all of A beside: 256³ takes 0.113 ms so, by rows
    0.129, 768³ 3.3 and 3.1. Copies of A leave most of L2 to panels that are fetched ahead where vectors are lines:
    2048³ takes 95 ms by a quarter of L2, 104 by five eighths, 4096³ 747 and 797; measured on Sapphire Rapids. What rows
    of a window share is there once: 128 taps of 48 channels, 16 times, take 10.9 ms by one block, 12.0 by three;
    measured on Zen 3.
    """
    strip_bytes = rows * (depth * prod(problem.loops[1:]) or problem.depth) * problem.element_bytes
    strips_in_cache = max(MIN_STRIPS, machine.l2_bytes * 4 // 5 // max(1, strip_bytes))
    if strips > strips_in_cache:  # where A comes more than once, rather with room for a few panels and for C
        strips_in_cache = max(MIN_STRIPS // 2, machine.l2_bytes * 2 // 5 // max(1, strip_bytes))
    if copy:
        share = machine.l2_bytes // 4 if lines(problem, machine) else machine.l2_bytes * 5 // 8
        if machine.last_cache_is_near:
            share = 3 * machine.l2_bytes
        strips_in_cache = max(MIN_STRIPS, share // max(1, strip_bytes))
    if waits_for_results(problem, machine):
        strips_in_cache = SHALLOW_STRIPS
    elif 0 < problem.left <= machine.l2_bytes // 4:
        strips_in_cache = strips
    row_blocks = ceil_div(strips, strips_in_cache)
    cores = machine.cores
    if cores == 1 or not worth_forking(problem, machine):
        return row_blocks, 1
    if problem.batch % cores == 0 or problem.batch >= 4 * cores:
        return (max(row_blocks, cores) if problem.by_rows and strips >= cores else row_blocks), 1
    by_rows = ceil_div(strips, cores) * cores / strips  # time lost to uneven shares, 1 is none
    by_panels = ceil_div(groups, cores) * cores / max(groups, 1)
    bytes_ = problem.rows * problem.depth * problem.element_bytes
    own = problem.packs and bytes_ <= machine.l2_bytes // 2 and problem.columns == problem.rows
    fewer = problem.columns > problem.rows or own  # sharing B out fetches less than sharing A
    wide = fewer and by_panels <= by_rows * 1.1
    if groups >= cores and (wide or by_panels < by_rows - 0.05 or strips < cores * 4):
        return row_blocks, cores
    return min(strips, ceil_div(row_blocks, cores) * cores), 1
