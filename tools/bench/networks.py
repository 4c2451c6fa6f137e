"""Networks for images of `torchvision` and `timm` with random weights, as PyTorch's exporter writes them to ONNX.

What is exported is kept in `--folder`.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...compiler.diagnostics import LaminaError
from . import engine
from .models import case

if TYPE_CHECKING:
    from ..architectures.kinds import Kind
    from ..architectures.networks import Network


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    add_table_arguments(parser, "networks", "images")


def add_table_arguments(parser: argparse.ArgumentParser, table: str, samples: str) -> None:
    """The arguments of a group whose networks a module of `tools/architectures` lists."""
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"as in tools/architectures/{table}.py (default: all)")
    parser.add_argument("--batch", type=int, default=1, help=f"{samples} at a time (default 1)")
    default = Path(tempfile.gettempdir()) / f"lamina_{table}"
    parser.add_argument("--folder", type=Path, default=default, help=f"of the ONNX files (default {default})")
    parser.add_argument("--export-only", action="store_true", help="write the ONNX files and measure nothing")
    engine.add_arguments(parser, rounds=5)


def main(args: argparse.Namespace) -> int:
    """Exports what is not there yet and measures it, each network in fresh processes."""
    from ..architectures.networks import NETWORKS

    return measure("networks", NETWORKS, args, "images")


def measure(group: str, table: Mapping[str, Network | Kind], args: argparse.Namespace, samples: str) -> int:
    """The same of the networks of a table. Raises LaminaError for unknown names, and where a library is missing."""
    from ..architectures.table import TEST

    if args.batch < 1:
        raise LaminaError(f"{args.batch} {samples} are no batch", hint="--batch 1 or more")
    names = args.names or [name for name in table if args.only in name]
    if unknown := [name for name in names if name not in table]:
        raise LaminaError(f"unknown: {', '.join(unknown)}", hint=f"there are {', '.join(table)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    size = replace(TEST, batch=args.batch)
    try:
        from ..architectures.export import write_as

        paths = [write_as(f"{n}-{args.batch}", partial(table[n].build, size), args.folder) for n in names]
    except ImportError as error:
        raise LaminaError(f"{group} need {error.name}", hint="pip install 'lamina[torch,vision]'") from error
    if args.export_only:
        return 0
    args.only = ""
    cases = [
        replace(case(str(p), {}, module=partial(_module, table[n], args.batch)), limit=table[n].limit)
        for n, p in zip(names, paths, strict=True)
    ]
    return engine.run_group(group, cases, args, fresh=True)


def _module(network: Network | Kind, batch: int) -> Any:
    """The network as PyTorch has it, with the same weights."""
    from ..architectures.table import TEST

    return network.build(replace(TEST, batch=batch))[0]
