"""The order of dispatch: what computes keeps its order, and loads are put before it, as early as helps.

One instruction is dispatched after the other, and a full queue stops them all. So a load stands only so many loads
ahead of what the units work on as its queue holds, and never before the last reader of what it overwrites.
"""

from __future__ import annotations

from collections.abc import Sequence

from .steps import Step


def ordered(steps: Sequence[Step], ahead: int) -> list[Step]:
    """The steps with each load at most `ahead` loads before the one that is needed."""
    loads = [step for step in steps if step.kind == "ld"]
    others = [step for step in steps if step.kind != "ld"]
    for place, step in enumerate(others):
        step.place = place
    needs = _needs(loads, others)
    result: list[Step] = []
    at, last = 0, 0
    for i, load in enumerate(loads):
        legal = max((other.place + 1 for other in load.after), default=0)
        wanted = needs[i - ahead] if i >= ahead else 0
        last = max(last, legal, wanted)
        result += others[at:last]
        at = max(at, last)
        result.append(load)
    return result + others[at:]


def _needs(loads: Sequence[Step], others: Sequence[Step]) -> list[int]:
    """Before which of the others each load must stand at the latest, given that loads keep their order."""
    first: dict[Step, int] = {}
    for step in others:
        for before in step.after:
            if before.kind == "ld":
                first.setdefault(before, step.place)
    needs = [first.get(load, len(others)) for load in loads]
    for i in reversed(range(len(needs) - 1)):
        needs[i] = min(needs[i], needs[i + 1])
    return needs
