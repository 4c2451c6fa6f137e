"""The timeline of a program: for chrome://tracing or Perfetto, a cycle shown as a microsecond, and as a plot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.artefact import written_whole
from ...dialects.systolic.instructions import UNITS
from ...dialects.systolic.timing import Span, Timing


@dataclass(frozen=True)
class Told:
    """A program with its times; `layers` are the names of what `bar` parts, in their order, if they are known."""

    name: str
    timing: Timing
    layers: Sequence[str] = ()


def write_timeline(file: Path, programs: Sequence[Told]) -> None:
    """Writes the timeline, and beside it a plot (.svg) of each program; of several, each behind its name.

    Raises LaminaError where they cannot be written.
    """
    with written_whole(file) as out:
        out.write(chrome_trace(programs).encode())
    for told in programs:
        name = f"{file.stem}.svg" if len(programs) == 1 else f"{file.stem}.{told.name}.svg"
        with written_whole(file.with_name(name)) as out:
            out.write(plot(told.timing).encode())


def chrome_trace(programs: Sequence[Told]) -> str:
    """The JSON of a timeline: for each instruction its steps, and what its unit waited for before.

    Programs run one behind the other; what the host does between them takes no time.
    """
    events: list[dict[str, Any]] = []
    begin = 0
    for number, told in enumerate(programs):
        events.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": told.name}})
        for row, unit in enumerate([*UNITS, "layers"] if told.layers else UNITS):
            events.append({"name": "thread_name", "ph": "M", "pid": number, "tid": row, "args": {"name": unit}})
        for event in [*(e for span in told.timing.spans for e in _events(span)), *_layers(told)]:
            events.append({**event, "pid": number, "ts": begin + event["ts"]})
        begin += told.timing.cycles
    about = {"cycles": begin, "machine": programs[0].timing.machine.name if programs else ""}
    return json.dumps({"traceEvents": events, "otherData": about})


def _layers(told: Told) -> Iterator[dict[str, Any]]:
    for name, (start, end) in zip(told.layers, pairwise([0, *told.timing.bars]), strict=False):
        yield {"tid": len(UNITS), "ph": "X", "name": name, "ts": start, "dur": end - start}


def _events(span: Span) -> Iterator[dict[str, Any]]:
    row = {"tid": UNITS.index(span.issued.unit), "ph": "X"}
    if span.stalled > 0:
        start = span.start - span.stalled
        yield {**row, "name": f"wait: {span.why}", "ts": start, "dur": span.stalled, "cname": "grey"}
    told = {"instruction": repr(span.issued.instruction), "at": span.issued.at, "completes": span.done}
    yield {**row, "name": span.issued.name, "ts": span.start, "dur": span.end - span.start, "args": told}


_COLUMNS, _ROW, _LEFT, _TOP = 600, 60, 40, 40  # of the plot: pixels, each a share of the cycles
_COLOURS = dict(zip(UNITS, ("#2a6f97", "#8d6a9f", "#2a7f62", "#b5843a", "#b5483a"), strict=True))


def plot(timing: Timing) -> str:
    """An SVG: how busy each unit is, from the first cycle to the last; a row that is full is all the time."""
    height = _TOP + len(UNITS) * _ROW + 24
    title = f"{timing.machine.name}: {timing.cycles:,} cycles, array {100 * timing.utilisation:.1f} % busy"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _COLUMNS + 20}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="14">{title}</text>',
    ]
    for row, (unit, shares) in enumerate(busy_shares(timing, _COLUMNS).items()):
        base = _TOP + (row + 1) * _ROW - 8
        points = " ".join(f"{_LEFT + x},{base - (_ROW - 12) * share:.1f}" for x, share in enumerate(shares))
        lines.append(f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">{unit}</text>')
        outline = f"{_LEFT},{base} {points} {_LEFT + _COLUMNS - 1},{base}"
        lines.append(f'<polygon points="{outline}" fill="{_COLOURS[unit]}"/>')
    return "\n".join([*lines, "</svg>", ""])


def busy_shares(timing: Timing, columns: int) -> dict[str, list[float]]:
    """For each unit the share of time in which it makes steps, in each of `columns` equal parts of the run."""
    edges = np.linspace(0, timing.cycles, columns + 1)
    found: dict[str, list[float]] = {}
    for unit in UNITS:
        spans = sorted((s.start, s.end) for s in timing.spans if s.issued.unit == unit and s.end > s.start)
        times, steps = [0.0], [0.0]
        for start, end in spans:
            times += [start, end]
            steps += [steps[-1], steps[-1] + end - start]
        found[unit] = list(np.diff(np.interp(edges, times, steps)) / (timing.cycles / columns))
    return found
