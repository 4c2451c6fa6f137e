"""Thirteen networks of kinds that `networks` has none of, written out, as PyTorch's exporter writes them to ONNX.

What is exported is kept in `--folder`.
"""

from __future__ import annotations

import argparse

from . import networks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    networks.add_table_arguments(parser, "kinds", "samples")


def main(args: argparse.Namespace) -> int:
    """Exports what is not there yet and measures it, each network in fresh processes."""
    from ..architectures.kinds import KINDS

    return networks.measure("kinds", KINDS, args, "samples")
