"""`lamina targets`: what can be compiled for, and what is known of this machine."""

from __future__ import annotations

import argparse

from ..backends import TARGETS, target
from ..compiler.machine import Machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command takes no arguments."""


def main(args: argparse.Namespace) -> int:
    """Prints one block per target."""
    for name in TARGETS:
        print(name)
        for fact, value in target(name).describe():
            print(f"  {fact:<18} {value}")
    print("machines with a description (--target cpu:NAME)")
    for name in Machine.names():
        print(f"  {name}")
    return 0
