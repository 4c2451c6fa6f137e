"""`lamina targets`: what can be compiled for, and what is known of this machine."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ..backends import TARGETS, plugin_targets, target
from ..backends.cuda.architectures import ARCHITECTURES
from ..compiler.diagnostics import Diagnostic, LaminaError
from ..compiler.machine import Machine, forget_measurements
from ..compiler.systolic_machine import SystolicMachine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--measure",
        action="store_true",
        help="measure this machine for some seconds and keep what is found for the cost model (docs/tuning.md)",
    )


def main(args: argparse.Namespace) -> int:
    """Prints one block per target."""
    if args.measure:
        from .measure import measure  # LLVM is only needed here

        host = Machine.host()
        measure(host).write(host.measured_file)
        forget_measurements()
        print(f"measured: {host.measured_file}")
    for name in TARGETS:
        _show(name, name)
    for name, point in plugin_targets().items():
        try:
            point.guarded("target", partial(_show, f"{name} (package {point.package})", name))
        except LaminaError as error:  # a plug-in that breaks is not the end
            print(Diagnostic("warning", error.message), file=sys.stderr)
    print("machines with a description (--target cpu:NAME)")
    for name in Machine.names():
        print(f"  {name}")
    print("GPUs with a description (--target cuda:NAME)")
    for name, gpu in ARCHITECTURES.items():
        units = ", ".join(("fma", *gpu.units))
        print(f"  {name:<18} {units}, shared memory {gpu.shared_bytes >> 10} KiB a block, PTX {gpu.ptx / 10}")
    print("systolic arrays with a description (--target systolic:NAME)")
    for name in SystolicMachine.names():
        print(f"  {name:<18} {SystolicMachine.preset(name).describe()}")
    return 0


def _show(head: str, name: str) -> None:
    facts = target(name).describe()
    print(head)
    for fact, value in facts:
        print(f"  {fact:<18} {value}")
