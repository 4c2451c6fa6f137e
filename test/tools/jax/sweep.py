"""Runs generated programs of JAX on the reference and on native code, and says which agree with JAX.

    python test/tools/jax/sweep.py [--only PART] [--every N] [--jobs 2] [--target cpu] [--table FILE.md]

Needs the extra `jax`. Exit code 1 when any program disagrees or cannot be compiled,
but for those where exact arithmetic says that JAX is wrong. Machine code is kept between runs
of one compiler, as ever (`LAMINA_CACHE`): the second run is the shorter one.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parent))

import jax
import numpy as np
from jax_programs import contraction, control, elementwise, movement
from jax_programs.programs import COMPLEX, FLOATS, INTEGERS, Program, programs
from workers import answers

import lamina
from lamina.backends import Options
from lamina.compiler.tolerance import Bounded, bounded_reference
from lamina.tools.sources import read_program

assert contraction and control and elementwise and movement  # they register their families
JAX_IS_OFF = {"atanh-float64-2x1x9"}  # docs/jax.md has the proof; still, native code must agree with the reference
ELEMENTS = {*FLOATS, *INTEGERS, *COMPLEX, "bool"}


def expected_by_jax(program: Program, arguments: list[Any]) -> list[Any]:
    """The leaves of what JAX itself computes."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(program.function)(*arguments))]


def difference(bounded: list[Bounded], actual: list[Any], what: str) -> str:
    """Where outputs are further from the reference than the table of tolerances allows; empty where they are not."""
    if len(bounded) != len(actual):
        return f"{what}: {len(actual)} results, expected {len(bounded)}"
    for i, (right, value) in enumerate(zip(bounded, actual, strict=True)):
        if value.shape != right.value.shape or value.dtype != right.value.dtype:
            sides = [f"{array.dtype}{list(array.shape)}" for array in (value, right.value)]
            return f"{what}: result {i} is {sides[0]}, expected {sides[1]}"
        wrong = right.wrong(value)
        if wrong.any():
            at = tuple(int(n) for n in np.argwhere(wrong)[0])
            return f"{what}: result {i} at {at}: {value[at]}, reference {right.value[at]} within {right.bound[at]:.3g}"
    return ""


def outcome(program: Program, target: str = "cpu") -> str:
    """Empty where JAX, the reference and the target agree; else what went wrong."""
    with warnings.catch_warnings(), jax.enable_x64(program.wide):
        warnings.simplefilter("ignore")
        arguments = program.arguments()
        wanted = expected_by_jax(program, arguments)
        anything = jax.export.DisabledSafetyCheck.custom_call("ALL")  # what we do not know is said when it is compiled
        exported = jax.export.export(jax.jit(program.function), platforms=["cpu"], disabled_checks=[anything])(
            *arguments
        )
        arguments = [arguments[i] for i in sorted(exported.module_kept_var_idx)]
    try:
        read = read_program(exported)
    except lamina.LaminaError as error:
        return f"cannot be read: {error}"
    try:
        bounded = bounded_reference(read.module, arguments, read.context)
    except lamina.LaminaError as error:
        return f"reference: {error}"
    off = difference(bounded, wanted, "jax")
    if off and program.name not in JAX_IS_OFF:
        return off
    off = off.replace("jax:", "jax is off:", 1)
    if target == "interpret":
        return off
    try:
        actual = lamina.compile(read, target, options=Options(threads=1))(*arguments)
    except lamina.LaminaError as error:
        return f"{target} cannot: {error}"
    return difference(bounded, actual, target) or off


def _checked(name: str, target: str) -> str:
    try:
        return outcome(_BY_NAME[name], target)
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"


_BY_NAME = {program.name: program for program in programs()}


def kind_of(found: str) -> str:
    """Which column of the table an outcome counts in."""
    if not found:
        return "agree"
    start = found.partition(":")[0]
    return {"jax": "reference differs", "cpu": "cpu differs"}.get(start, start)


def table(outcomes: dict[str, str]) -> str:
    """Programs by operator, as Markdown: how many there are, how many agree, of which element types, and the others."""
    operators: dict[str, list[str]] = {}
    for name in outcomes:
        operators.setdefault(name.partition("-")[0], []).append(name)
    rows = ["| operator | programs | agree | element types | others |", "|---|---|---|---|---|"]
    for operator, names in sorted(operators.items()):
        kinds = Counter(kind_of(outcomes[name]) for name in names)
        agree = kinds.pop("agree", 0)
        types = sorted({part for name in names for part in name.split("-")[1:] if part in ELEMENTS})
        others = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        rows.append(f"| {operator} | {len(names)} | {agree} | {' '.join(types)} | {others} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--every", type=int, default=1, help="each Nth program")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--target", default="cpu", help="cpu or interpret")
    parser.add_argument("--seconds", type=float, default=300, help="processor time that a program may take")
    parser.add_argument("--table", type=Path, help="where to write a table by operator")
    given = parser.parse_args()
    names = [name for name in _BY_NAME if given.only in name][:: given.every]
    answered = answers(partial(_checked, target=given.target), names, given.jobs, given.seconds)
    outcomes: dict[str, str] = {}
    for name, found in answered:
        outcomes[name] = found
        if found:
            print(f"{name}: {' '.join(found.split())}", flush=True)
        if len(outcomes) % 100 == 0:
            print(f"{len(outcomes)} of {len(names)} done", file=sys.stderr, flush=True)
    if given.table is not None:
        given.table.write_text(table(outcomes))
    reasons = Counter(kind_of(found) for found in outcomes.values())
    print(f"{len(names)} programs: {', '.join(f'{count} {reason}' for reason, count in reasons.most_common())}")
    return 0 if set(reasons) <= {"agree", "jax is off"} else 1


if __name__ == "__main__":
    raise SystemExit(main())
