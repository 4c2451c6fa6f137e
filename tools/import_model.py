"""`lamina import`: a model as textual IR, one op per node, its weights in a file beside it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import api
from .run import parse_shapes
from .sources import read_program, unsupported, whole, with_shapes, write_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", help="a .onnx, .mlirbc or .pt2 file, program.lam::function, or onnx:NAME")
    parser.add_argument("-o", "--output", type=Path, help="where to write the IR (default: standard output)")
    parser.add_argument("--to", metavar="LEVEL", help="the level to stop at (default: as imported)")
    parser.add_argument(
        "--list-unsupported",
        action="store_true",
        help="name the operators that cannot be compiled; nothing is",
    )
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")


def main(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.list_unsupported:
        return _list_unsupported(args.model)
    program = whole(with_shapes(read_program(args.model), parse_shapes(args.shape)))
    if args.to:
        program = api.lower(program, args.to)
    if args.output:
        write_program(program, args.output)
        print(f"wrote {args.output}", file=sys.stderr)
    else:
        print(program, end="")
    return 0


def _list_unsupported(model: str) -> int:
    """Prints a line for the nodes of each operator that cannot be compiled and why; 1 when there are any."""
    from ..passes.convert.onnx_to_stablehlo.unsupported import Unsupported

    found = unsupported(model)
    nodes = [each for each in found if isinstance(each, Unsupported)]
    for line in (*Unsupported.summary(nodes), *(each for each in found if not isinstance(each, Unsupported))):
        print(line)
    if not found:
        print("every operator has a lowering", file=sys.stderr)
    return int(bool(found))
