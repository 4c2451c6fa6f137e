"""`--precision`: what may be asked for, and what it costs."""

from __future__ import annotations

import argparse

PRECISIONS = {
    "f32": "",
    "bf16": (
        "precision bf16: operands of contractions have 8 significant bits, sums are f32; outputs differ from those of "
        "f32 by 0.3 % of the largest in BERT-base, 0.4 % in ResNet-50, 0.5 % in GPT-2: docs/precision.md"
    ),
    "tf32": "precision tf32: operands of contractions have 11 significant bits, sums are f32",
    "int8": "precision int8: what a QDQ model computes between bytes is computed in integers",
}


def add_precision_argument(parser: argparse.ArgumentParser) -> None:
    """`--precision`, the same for every command that compiles."""
    parser.add_argument(
        "--precision",
        choices=tuple(PRECISIONS),
        default="f32",
        help="bf16: round the operands of f32 contractions to bfloat16, keep sums in f32; "
        "tf32: to 11 significant bits, on GPUs; "
        "int8: compute quantised models (QDQ) in integers, on CPUs (default: f32)",
    )
