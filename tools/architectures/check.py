"""Compiles architectures and compares them with PyTorch: `python -m lamina.tools.architectures.check [NAME ...]`.

Names are those of `table.py`, of `kinds.py`, or of `networks.py`, which needs the extra `vision`; `--networks` takes
all of the last.

Each goes by `torch.onnx` (the exporter on `torch.export`), by `torch.export` itself, and by `torch.compile`. What
fails is listed with the reason; `-o FILE` writes the table as Markdown. Needs the extra `torch`.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array
from .. import api
from ..compare import compare
from ..pytorch.tensors import array_of, torch_module
from .export import exported
from .kinds import KINDS
from .networks import NETWORKS
from .table import ARCHITECTURES

KNOWN = {**ARCHITECTURES, **KINDS, **NETWORKS}


@dataclass(frozen=True)
class Outcome:
    """What became of one architecture on one way: nothing in `reason` when it matches PyTorch."""

    name: str
    route: str
    reason: str
    error: float  # the largest difference over the largest value
    seconds: float


def by_onnx(module: Any, inputs: Sequence[Any], target: str) -> list[Array]:
    """The outputs by way of an ONNX file."""
    return api.compile(exported(module, inputs), target)(*map(array_of, inputs))


def by_export(module: Any, inputs: Sequence[Any], target: str) -> list[Array]:
    """The outputs by way of `torch.export`."""
    program = torch_module().export.export(module, tuple(inputs))
    return api.compile(program, target)(*map(array_of, inputs))


def by_compile(module: Any, inputs: Sequence[Any], target: str) -> list[Array]:
    """The outputs by way of `torch.compile`."""
    from ..pytorch import backend

    torch = torch_module()
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=backend, options={"target": target})
    with torch.no_grad():
        return [array_of(x) for x in compiled(*inputs)]


ROUTES: dict[str, Callable[[Any, Sequence[Any], str], list[Array]]] = {
    "onnx": by_onnx,
    "export": by_export,
    "compile": by_compile,
}


def check(name: str, route: str, target: str = "cpu") -> Outcome:
    """Compiles one architecture one way and compares with PyTorch's own outputs."""
    torch = torch_module()
    start = time.perf_counter()
    module, named = KNOWN[name].build()
    inputs = list(named.values())
    with torch.no_grad():
        expected = [array_of(x) for x in module(*inputs)]
    try:
        outputs = ROUTES[route](module, inputs, target)
    except Exception as error:
        return Outcome(name, route, _reason(error), np.inf, time.perf_counter() - start)
    reasons = [
        str(result)
        for i, (got, right) in enumerate(zip(outputs, expected, strict=True))
        if not (result := compare(f"output {i}", got, right, KNOWN[name].limit)).good
    ]
    worst = max(
        float(np.abs(got - right).max() / max(np.abs(right).max(), 1e-30))
        for got, right in zip(outputs, expected, strict=True)
    )
    return Outcome(name, route, "; ".join(reasons), worst, time.perf_counter() - start)


def _reason(error: Exception) -> str:
    if isinstance(error, LaminaError):
        notes = [note.message for note in error.notes]
        return "; ".join([error.message, *notes])
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip() if lines else ''}"


def table(outcomes: Sequence[Outcome], routes: Sequence[str]) -> str:
    """The outcomes as Markdown: a row for each architecture, and below what fails, with the reason."""
    found = {(o.name, o.route): o for o in outcomes}
    names = list(dict.fromkeys(o.name for o in outcomes))
    lines = [f"| architecture | {' | '.join(routes)} |", "|---" * (len(routes) + 1) + "|"]
    for name in names:
        cells = [found.get((name, route)) for route in routes]
        texts = ("not run" if c is None else "fails" if c.reason else f"{c.error:.0e}" for c in cells)
        lines.append(f"| {name} | {' | '.join(texts)} |")
    run = {route: [o for o in outcomes if o.route == route] for route in routes}
    counts = (f"{route} {sum(not o.reason for o in found)} of {len(found)}" for route, found in run.items())
    lines += ["", f"Matching PyTorch: {', '.join(counts)}."]
    failing = [f"- {o.name}, {o.route}: {o.reason}" for o in outcomes if o.reason]
    return "\n".join([*lines, *(["", "What fails:", "", *failing] if failing else [])]) + "\n"


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="lamina.tools.architectures.check", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", help="default: all of the table")
    parser.add_argument("--networks", action="store_true", help="all networks instead")
    parser.add_argument("--route", action="append", choices=list(ROUTES), help="default: onnx and export")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("-o", "--output", type=Path, help="write the table as Markdown")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in KNOWN]:
        print(f"unknown: {', '.join(unknown)}; there are {', '.join(KNOWN)}", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    outcomes: list[Outcome] = []
    routes = args.route or ["onnx", "export"]
    for name in args.names or (NETWORKS if args.networks else ARCHITECTURES):
        for route in routes:
            outcome = check(name, route, args.target)
            outcomes.append(outcome)
            told = f"fails: {outcome.reason}" if outcome.reason else f"matches, {outcome.error:.1e}"
            print(f"{name}, {route}: {told} ({outcome.seconds:.1f} s)", flush=True)
    text = table(outcomes, routes)
    if args.output:
        args.output.write_text(text)
    print(text.partition("\n\n")[2], end="")
    return int(any(outcome.reason for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
