"""How the core's cost grows with the module: `lamina bench scaling`.

A straight-line function of 1,000, 5,000 and 20,000 ops, a third of them duplicates and a tenth of them constants, goes
through parse, verify, canonicalise, CSE and print. The last column must not grow.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...compiler.collector import collector_paused
from ...compiler.context import LaminaContext
from ...compiler.parsing import parse_module
from ...compiler.printing import print_module
from ...compiler.verifier import verify
from ...dialects import all_dialects
from ...passes.builtin.canonicalize import Canonicalize
from ...passes.builtin.cse import CommonSubexpressionElimination

SIZES = (1_000, 5_000, 20_000)


@dataclass(frozen=True)
class Timing:
    """Seconds of CPU per phase for one module of `size` ops."""

    size: int
    seconds: dict[str, float]

    @property
    def microseconds_per_op(self) -> float:
        """The whole way, per op."""
        return 1e6 * sum(self.seconds.values()) / self.size


def straight_line(size: int) -> str:
    """A function of `size` arith ops on scalars, in IR text."""
    lines = ["func.func @f(%a: i32, %b: i32) -> i32 {", "  %v0 = arith.addi %a, %b : i32"]
    for n in range(1, size):
        match n % 10:
            case 0:
                lines.append(f"  %v{n} = arith.constant {n % 70} : i32")
            case 3 | 6 | 9:  # what the line before says
                lines.append(lines[-1].replace(f"%v{n - 1} =", f"%v{n} ="))
            case _:
                op = ("addi", "muli", "xori")[n % 3]
                lines.append(f"  %v{n} = arith.{op} %v{n - 1}, %v{max(0, n - 7)} : i32")
    lines += [f"  return %v{size - 1} : i32", "}"]
    return "\n".join(lines)


def measure(size: int) -> Timing:
    """One module of `size` ops through all phases."""
    ctx = LaminaContext()
    for name, load in all_dialects().items():
        ctx.register_dialect(name, load)
    seconds: dict[str, float] = {}

    def timed(phase: str, action: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = action()
        seconds[phase] = time.process_time() - start
        return result

    text = straight_line(size)
    with collector_paused():
        module = timed("parse", lambda: parse_module(text, "straight.mlir", ctx))
        timed("verify", lambda: verify(module))
        timed("canonicalize", lambda: Canonicalize().apply(ctx, module))
        timed("cse", lambda: CommonSubexpressionElimination().apply(ctx, module))
        timed("print", lambda: print_module(module))
    return Timing(size, seconds)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="ops per module")


def main(args: argparse.Namespace) -> int:
    """Prints the table."""
    sizes: list[int] = args.sizes
    measure(100)  # imports and caches
    for number, size in enumerate(sizes):
        timing = measure(size)
        if number == 0:
            print("".join(f"{name:>14}" for name in ("ops", *timing.seconds, "µs per op")))
        cells = [f"{size:>14}", *(f"{s * 1e3:>11.0f} ms" for s in timing.seconds.values())]
        print("".join(cells) + f"{timing.microseconds_per_op:>14.0f}")
    return 0
