"""Compile time: each model cold (an empty cache) and warm (the same again), in fresh processes."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from ..summary import profile_compilation

SCRIPT = """
import sys, time, lamina
start = time.perf_counter()
lamina.compile(sys.argv[1])
print(time.perf_counter() - start)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("models", nargs="*", default=["onnx:resnet50"], help="ONNX files or onnx:NAME")
    parser.add_argument("--no-profile", dest="profile", action="store_false", help="no times by pass and by kernel")


def main(args: argparse.Namespace) -> int:
    """Prints seconds inside `lamina.compile`, and of the whole process, cold and warm."""
    print(f"{'model':<32}{'cold s':>9}{'process':>9}{'warm s':>9}{'process':>9}")
    for model in args.models:
        with tempfile.TemporaryDirectory() as cache:
            cells: list[float] = []
            for _ in range(2):
                start = time.perf_counter()
                done = subprocess.run(
                    [sys.executable, "-c", SCRIPT, model],
                    env={**os.environ, "LAMINA_CACHE": cache},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                cells += [float(done.stdout), time.perf_counter() - start]
        print(f"{os.path.basename(model):<32}" + "".join(f"{c:>9.2f}" for c in cells), flush=True)
    if args.profile:
        for model in args.models:
            profile_compilation(model)
    return 0
