"""Detectors of `torchvision` with random weights: networks, and what is done with as many boxes as they find.

What is exported is kept in `--folder`.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from ...compiler.diagnostics import LaminaError
from . import engine
from .models import case

LIMIT = 1e-2  # of `compare`, as that of other networks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="torchvision's own names (default: all)")
    default = Path(tempfile.gettempdir()) / "lamina_detectors"
    parser.add_argument("--folder", type=Path, default=default, help=f"of the ONNX files (default {default})")
    engine.add_arguments(parser, rounds=5)


def main(args: argparse.Namespace) -> int:
    """Exports what is not there yet and measures it, each detector in fresh processes."""
    from ..architectures.detectors import DETECTORS, write_detector

    names = args.names or [name for name in DETECTORS if args.only in name]
    if unknown := [name for name in names if name not in DETECTORS]:
        raise LaminaError(f"unknown: {', '.join(unknown)}", hint=f"there are {', '.join(DETECTORS)}")
    try:
        paths = [write_detector(name, args.folder) for name in names]
    except ImportError as error:
        raise LaminaError(f"detectors need {error.name}", hint="pip install 'lamina[torch,vision]'") from error
    args.only = ""
    return engine.run_group("detectors", [replace(case(str(p), {}), limit=LIMIT) for p in paths], args, fresh=True)
