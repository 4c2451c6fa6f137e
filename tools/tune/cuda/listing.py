"""`lamina tune --list-candidates`: what would be measured of each product, and why. Nothing is; no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator

from ....backends import Options
from ....backends.cuda.target import CudaTarget
from ....compiler.program import Program
from ....compiler.schedules import Schedules
from ....passes.convert.contraction_to_cta.estimate import Estimate
from ....passes.convert.contraction_to_cta.schedule import Schedule
from ...schedules import Problem as Group
from .candidates import Candidate, Field
from .subjects import by_default, default_of, fields_of

HEAD = ("order", "limited by", "blocks", "room", "tiles", "waves", "padding", "schedule")
WIDTHS = (5, 10, 6, 13, 6, 7, 7, 0)


def listing(program: Program, detail: str, precision: str, keep: int, known: Schedules) -> Iterator[str]:
    """The lines of the list. Raises LaminaError for an unknown architecture."""
    target = CudaTarget(detail)
    architecture = target.architecture
    lowered = by_default(target, program, Options(precision=precision))
    machine = f"{architecture.name} with {architecture.gpu.processors} multiprocessors"
    yield f"Nothing was measured: this is the order of the filter, by a model of {machine}, and no times."
    yield "blocks: of a multiprocessor at a time; room: what there is too little of for more of them"
    for group, field in fields_of(lowered, architecture, precision, architecture.gpu):
        yield from _problem(group, field, keep, known)


def _problem(group: Group, field: Field, keep: int, known: Schedules) -> Iterator[str]:
    default = default_of(group)
    entry = known.get(group.name)
    given = field.given(entry) if entry is not None else None
    remarks = {default: "the default"} | ({given: "given"} if given is not None else {})
    kept = field.kept(keep, list(remarks))
    calls = sum(group.calls.values())
    where = f", {group.origin[:60]}" if group.origin else ""
    yield ""
    yield f"{group.name}  # calls: {calls}{where}"
    yield f"{len(field.ordered)} schedules possible, {len(kept)} kept"
    yield _line(HEAD)
    best = min(expected.rank for expected in kept.values())
    for schedule, expected in kept.items():
        yield _line(_cells(schedule, expected, best)) + (f"  # {remarks[schedule]}" if schedule in remarks else "")


def _cells(schedule: Schedule, expected: Estimate, best: float) -> tuple[str, ...]:
    return (
        f"{expected.rank / best:.2f}",
        expected.limit,
        str(expected.blocks),
        expected.room,
        str(expected.tiles),
        f"{expected.waves:.2f}",
        f"{expected.padding:.1%}",
        str(Candidate(schedule)),
    )


def _line(cells: tuple[str, ...]) -> str:
    """Cells below each other, numbers to the right."""
    return "  ".join(
        cell.ljust(width) if name in ("limited by", "room", "schedule") else cell.rjust(width)
        for name, cell, width in zip(HEAD, cells, WIDTHS, strict=True)
    )
