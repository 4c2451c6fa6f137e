"""Where lanes that branched apart come together again: immediate post-dominators.

Lanes of one warp that take both sides of a branch run one side after the other, and meet at the first instruction that
all paths pass. Waiting for the lowest address instead does not do: LLVM rotates loops, so that the meeting point can
lie before the branch. The algorithm is that of Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001),
on the reversed graph.
"""

from __future__ import annotations

from ....compiler.diagnostics import LaminaError
from .ptx import Instruction, Kernel, Symbol

ENDS = ("ret", "exit")


def targets(kernel: Kernel, instruction: Instruction) -> list[int]:
    """Where a branch can go, without falling through. Raises LaminaError for a label that is not there."""
    last = instruction.operands[-1]
    assert isinstance(last, Symbol)
    names = kernel.tables.get(last.name, []) if instruction.opcode[0] == "brx" else [last.name]
    try:
        return [kernel.labels[name] for name in names]
    except KeyError as error:
        raise LaminaError(f"no label {error}", where=f"line {instruction.line}") from error


def successors(kernel: Kernel, at: int) -> list[int]:
    """The instructions that can follow the one at this place; behind the last one stands the exit."""
    instruction = kernel.instructions[at]
    exit_ = len(kernel.instructions)
    fall = [at + 1] if instruction.guard is not None else []
    if instruction.opcode[0] in ("bra", "brx"):
        return [*targets(kernel, instruction), *fall]
    if instruction.opcode[0] in ENDS:
        return [exit_, *fall]
    return [at + 1]


def meeting_points(kernel: Kernel) -> dict[int, int]:
    """For each branch, the instruction where its sides meet again; the exit where they do not before."""
    exit_ = len(kernel.instructions)
    following = [successors(kernel, at) for at in range(exit_)]
    before: list[list[int]] = [[] for _ in range(exit_ + 1)]
    for at, nexts in enumerate(following):
        for each in nexts:
            before[each].append(at)
    order = _postorder(exit_, before)
    number = {node: i for i, node in enumerate(order)}
    above: dict[int, int] = {exit_: exit_}

    def together(a: int, b: int) -> int:
        while a != b:
            while number[a] < number[b]:
                a = above[a]
            while number[b] < number[a]:
                b = above[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            found = -1
            for each in following[node]:
                if each in above:
                    found = each if found < 0 else together(each, found)
            if above.get(node) != found:
                above[node] = found
                changed = True
    return {at: above.get(at, exit_) for at, nexts in enumerate(following) if len(nexts) > 1}


def _postorder(root: int, edges: list[list[int]]) -> list[int]:
    """Nodes that can be reached from `root`, each after those that it leads to."""
    order: list[int] = []
    seen = {root}
    stack = [(root, iter(edges[root]))]
    while stack:
        node, rest = stack[-1]
        for each in rest:
            if each not in seen:
                seen.add(each)
                stack.append((each, iter(edges[each])))
                break
        else:
            order.append(node)
            stack.pop()
    return order
