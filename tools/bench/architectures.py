"""Architectures of `transformers` with random weights, as PyTorch's exporter writes them to ONNX.

`--size test` is that of the tests, where calls cost as much as arithmetic; `--size real` is wider and deeper. What is
exported is kept in `--folder`.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from . import engine
from .models import case

SIZES = ("test", "real")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="as in docs/models/architectures.md (default: all)")
    parser.add_argument("--size", choices=SIZES, default="real", help="of the models and their inputs (default real)")
    default = Path(tempfile.gettempdir()) / "lamina_architectures"
    parser.add_argument("--folder", type=Path, default=default, help=f"of the ONNX files (default {default})")
    parser.add_argument("--export-only", action="store_true", help="write the ONNX files and measure nothing")
    engine.add_arguments(parser, rounds=7)


def main(args: argparse.Namespace) -> int:
    """Exports what is not there yet and measures it, each architecture in fresh processes."""
    try:
        from ..architectures.export import write
        from ..architectures.table import ARCHITECTURES
    except ImportError as error:
        raise LaminaError(f"architectures need {error.name}", hint="pip install 'lamina[torch]'") from error
    names = args.names or [name for name in ARCHITECTURES if args.only in name]
    if unknown := [name for name in names if name not in ARCHITECTURES]:
        raise LaminaError(f"unknown: {', '.join(unknown)}", hint=f"there are {', '.join(ARCHITECTURES)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    paths = [write(name, args.size, args.folder) for name in names]
    if args.export_only:
        return 0
    args.only = ""
    cases = [
        case(str(path), {}, module=partial(_module, name, args.size)) for name, path in zip(names, paths, strict=True)
    ]
    return engine.run_group("architectures", cases, args, fresh=True)


def _module(name: str, size: str) -> Any:
    """The architecture as PyTorch has it, with the same weights."""
    from ..architectures import sizes, table

    return table.ARCHITECTURES[name].build(sizes.SIZES[size])[0]
