"""The dominator tree of a region, by Cooper, Harvey and Kennedy: near linear on the graphs that programs have."""

from __future__ import annotations

from xdsl.ir import Block, Region


def dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """The blocks that each reachable block immediately dominates, by block; unreachable blocks are absent."""
    entry = region.first_block
    if entry is None:
        return {}
    order = _reverse_post_order(entry)
    number = {block: i for i, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for i, block in enumerate(order):
        if block.last_op is not None:
            for successor in block.last_op.successors:
                predecessors[number[successor]].append(i)

    immediate = [-1] * len(order)
    immediate[0] = 0
    changed = True
    while changed:
        changed = False
        for i in range(1, len(order)):
            known = [p for p in predecessors[i] if immediate[p] >= 0]
            best = known[0]
            for other in known[1:]:
                best = _meet(immediate, best, other)
            if immediate[i] != best:
                immediate[i] = best
                changed = True

    tree: dict[Block, list[Block]] = {block: [] for block in order}
    for i in range(1, len(order)):
        tree[order[immediate[i]]].append(order[i])
    return tree


def _meet(immediate: list[int], a: int, b: int) -> int:
    while a != b:
        while a > b:
            a = immediate[a]
        while b > a:
            b = immediate[b]
    return a


def _reverse_post_order(entry: Block) -> list[Block]:
    seen = {entry}
    order: list[Block] = []
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(_successors(successor))))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


def _successors(block: Block) -> tuple[Block, ...]:
    return () if block.last_op is None else tuple(block.last_op.successors)
