"""Builds, checks and times the CUDA target on the GPU of this machine: `python -m lamina.tools.cuda.on_gpu`.

Small programs are compared with the reference and with the emulator: a difference there is one between the hardware and
what is believed of it. Large ones are timed; where PyTorch is installed, beside its own. One table, and an end after
ten minutes: what is left then is said. Exit code 1 where a result is wrong, 2 without a GPU.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...backends import Options
from ...backends.cuda.device import DeviceProgram
from ...backends.cuda.driver import driver
from ...backends.cuda.emulated import EmulatedProgram
from ...backends.cuda.target import CudaTarget
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.signature import Array, dtype_named
from ..api import interpret
from ..sources import read_program
from .programs import LARGE, SMALL, Case

LIMIT = 570  # seconds for all of it
REPEATS = 20
ROWS = 8  # of a large product, that are compared
HEAD = ("program", "registers", "error", "emulator", "us", "TFLOP/s", "GB/s", "PyTorch us", "ratio", "")
WIDTHS = (38, 9, 9, 9, 10, 8, 8, 10, 6, 0)


def target_of(capability: tuple[int, int]) -> CudaTarget:
    """What suits the GPU best."""
    return CudaTarget("sm_90a" if capability == (9, 0) else "sm_80")


def program_of(case: Case) -> tuple[Program, list[Array]]:
    """A case's program, and inputs for it."""
    with tempfile.TemporaryDirectory(prefix="lamina") as folder:
        path = Path(folder) / "program.mlir"
        path.write_text(case.text)
        program = read_program(str(path))
    assert isinstance(program, Program)
    rng = np.random.default_rng(0)
    return program, [
        rng.standard_normal(tuple(map(int, spec.shape)), np.float32).astype(dtype_named(spec.dtype))
        for spec in program.signature.inputs
    ]


def apart(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest value."""
    wide = expected.astype(np.float64)
    return float(np.abs(found.astype(np.float64) - wide).max() / np.abs(wide).max())


def check_small(case: Case, target: CudaTarget) -> tuple[tuple[str, ...], bool]:
    """A small program against the reference and the emulator: its line, and whether it is right."""
    program, inputs = program_of(case)
    options = Options(cache=False, precision=case.precision)
    model = target.compile(program, options)
    assert isinstance(model, DeviceProgram)
    [found] = model.run(inputs)
    [expected] = interpret(program, inputs)
    [emulated] = EmulatedProgram(model.built, program.signature, np.zeros(0, np.uint8)).run(inputs)
    error = apart(found, expected)
    equal = "equal" if np.array_equal(found, emulated) else f"{apart(found, emulated):.0e}"
    good = bool(error <= case.tolerance)
    return (case.name, _registers(model), f"{error:.0e}", equal, "", "", "", "", "", "" if good else "WRONG"), good


def time_large(case: Case, target: CudaTarget) -> tuple[tuple[str, ...], bool]:
    """A large program's time, its rows compared where it is a product."""
    program, inputs = program_of(case)
    model = target.compile(program, Options(precision=case.precision))
    assert isinstance(model, DeviceProgram)
    [found] = model.run(inputs)
    error, good = "", True
    if any(case.sizes):
        a, b = (x.astype(np.float32) for x in inputs)
        rows = np.random.default_rng(1).integers(0, case.sizes[0], ROWS)
        expected = a[rows].astype(np.float64) @ (b if b.shape[0] == case.sizes[2] else b.T).astype(np.float64)
        difference = apart(found[rows], expected)
        error, good = f"{difference:.0e}", bool(difference <= case.tolerance)
    model.seconds(2)
    seconds = model.seconds(REPEATS)
    peer = _peer(case, inputs)
    cells = (
        case.name,
        _registers(model),
        error,
        "",
        f"{seconds * 1e6:.1f}",
        f"{case.flops / seconds / 1e12:.1f}" if case.flops else "",
        f"{case.bytes / seconds / 1e9:.0f}" if case.bytes else "",
        f"{peer * 1e6:.1f}" if peer else "",
        f"{peer / seconds:.2f}" if peer else "",
        "" if good else "WRONG",
    )
    return cells, good


def _registers(model: DeviceProgram) -> str:
    needs = [kernel.resources for kernel in model.built.kernels.values() if kernel.resources is not None]
    return "/".join(str(each.registers) for each in needs)


def _peer(case: Case, inputs: Sequence[Array]) -> float:
    """PyTorch's seconds for a product or a sum; 0 where there is none."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        return 0
    torch = _untyped(torch)
    if not torch.cuda.is_available() or not (any(case.sizes) or case.name.startswith("sum")):
        return 0
    torch.backends.cuda.matmul.allow_tf32 = case.precision == "tf32"
    kind = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(inputs[0].dtype.name, torch.float32)
    a, b = (torch.tensor(x.astype(np.float32), device="cuda").to(kind) for x in inputs)
    if any(case.sizes) and b.shape[0] != case.sizes[2]:
        b = b.T

    def work() -> Any:
        return a @ b if any(case.sizes) else a + b

    work()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(REPEATS):
        work()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / 1000 / REPEATS


def _untyped(module: Any) -> Any:
    return module


def run_all(
    small: Sequence[Case], large: Sequence[Case], put: Callable[[str], object] = print, limit: float = LIMIT
) -> bool:
    """All cases, a line each; whether all are right. Raises LaminaError without a GPU."""
    target = target_of(driver().capability)
    end = time.monotonic() + limit
    put(f"{target.architecture.name}\n{_line(HEAD)}")
    good, left = True, 0
    work = [(case, check_small) for case in small] + [(case, time_large) for case in large]
    for case, do in work:
        if time.monotonic() > end:
            left += 1
            continue
        try:
            cells, right = do(case, target)
        except LaminaError as error:
            cells, right = (case.name, *[""] * 8, str(error)), False
        good &= right
        put(_line(cells))
    if left:
        put(f"{left} of {len(work)} were left out: the time is over")
    put("all right" if good else "something is WRONG")
    return good


def _line(cells: Sequence[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lamina.tools.cuda.on_gpu", description=__doc__)
    parser.add_argument("--small", action="store_true", help="only what is compared with the emulator")
    given = parser.parse_args(arguments)
    try:
        return 0 if run_all(SMALL, () if given.small else LARGE) else 1
    except LaminaError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
