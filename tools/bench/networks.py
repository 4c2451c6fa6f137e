"""Networks for images of `torchvision` and `timm` with random weights, as PyTorch's exporter writes them to ONNX.

What is exported is kept in `--folder`.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from . import engine
from .models import case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="as in tools/architectures/networks.py (default: all)")
    parser.add_argument("--batch", type=int, default=1, help="images at a time (default 1)")
    default = Path(tempfile.gettempdir()) / "lamina_networks"
    parser.add_argument("--folder", type=Path, default=default, help=f"of the ONNX files (default {default})")
    parser.add_argument("--export-only", action="store_true", help="write the ONNX files and measure nothing")
    engine.add_arguments(parser, rounds=5)


def main(args: argparse.Namespace) -> int:
    """Exports what is not there yet and measures it, each network in fresh processes."""
    from ..architectures.networks import NETWORKS
    from ..architectures.table import TEST

    if args.batch < 1:
        raise LaminaError(f"{args.batch} images are no batch", hint="--batch 1 or more")
    names = args.names or [name for name in NETWORKS if args.only in name]
    if unknown := [name for name in names if name not in NETWORKS]:
        raise LaminaError(f"unknown: {', '.join(unknown)}", hint=f"there are {', '.join(NETWORKS)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    size = replace(TEST, batch=args.batch)
    try:
        from ..architectures.export import write_as

        paths = [write_as(f"{n}-{args.batch}", partial(NETWORKS[n].build, size), args.folder) for n in names]
    except ImportError as error:
        raise LaminaError(f"networks need {error.name}", hint="pip install 'lamina[torch,vision]'") from error
    if args.export_only:
        return 0
    args.only = ""
    cases = [
        replace(case(str(p), {}, module=partial(_module, n, args.batch)), limit=NETWORKS[n].limit)
        for n, p in zip(names, paths, strict=True)
    ]
    return engine.run_group("networks", cases, args, fresh=True)


def _module(name: str, batch: int) -> Any:
    """The network as PyTorch has it, with the same weights."""
    from ..architectures.networks import NETWORKS
    from ..architectures.table import TEST

    return NETWORKS[name].build(replace(TEST, batch=batch))[0]
