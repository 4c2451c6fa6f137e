"""`--precision`: what may be asked for, and what it costs."""

from __future__ import annotations

import argparse

PRECISIONS = {
    "f32": "",
    "bf16": (
        "precision bf16: operands of contractions keep 8 bits, sums f32; outputs differ from those of f32 by "
        "BERT_ERROR (BERT-base) and RESNET_ERROR (ResNet-50) of the largest (docs/precision.md)"
    ),
}


def add_precision_argument(parser: argparse.ArgumentParser) -> None:
    """`--precision`, the same for every command that compiles."""
    parser.add_argument(
        "--precision",
        choices=tuple(PRECISIONS),
        default="f32",
        help="bf16: round the operands of f32 contractions to bfloat16, keep sums in f32 (default: f32)",
    )
