"""The timeline of a program for chrome://tracing or Perfetto: a row per unit, a cycle shown as a microsecond."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...dialects.systolic.instructions import UNITS
from ...dialects.systolic.timing import Span, Timing


def chrome_trace(timing: Timing) -> str:
    """The JSON of a timeline: for each instruction its steps, and what its unit waited for before."""
    events = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": number, "args": {"name": unit}}
        for number, unit in enumerate(UNITS)
    ]
    for span in timing.spans:
        events += _events(span)
    return json.dumps({"traceEvents": events, "otherData": {"cycles": timing.cycles, "machine": timing.machine.name}})


def _events(span: Span) -> Iterator[dict[str, Any]]:
    row = {"pid": 0, "tid": UNITS.index(span.issued.unit), "ph": "X"}
    if span.stalled > 0:
        start = span.start - span.stalled
        yield {**row, "name": f"wait: {span.why}", "ts": start, "dur": span.stalled, "cname": "grey"}
    told = {"instruction": repr(span.issued.instruction), "at": span.issued.at, "completes": span.done}
    yield {**row, "name": span.issued.name, "ts": span.start, "dur": span.end - span.start, "args": told}
