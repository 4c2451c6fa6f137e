"""`lamina bench GROUP`: measurements, each a ratio against a named peer taken in the same run."""

from __future__ import annotations

import argparse
import importlib

# group -> module (with `add_arguments(parser)` and `main(args) -> int`), and its line in the help
GROUPS = {
    "models": (".models", "whole models against the peers, each system in its own process"),
    "architectures": (".architectures", "architectures of transformers, exported by PyTorch (needs the extra `torch`)"),
    "networks": (".networks", "networks of torchvision and timm, exported by PyTorch (extras `torch`, `vision`)"),
    "kinds": (".kinds", "a U-Net, a detector, a recommender and ten others of kinds of their own (extra `torch`)"),
    "detectors": (".detectors", "detectors of torchvision, exported by PyTorch (extras `torch`, `vision`)"),
    "published": (".published", "models that Python packages ship: characters, sound, images, text (fetched by pip)"),
    "memory": (".memory", "elementwise chains, softmax, norms, reductions, transposes, gather, concat"),
    "attention": (".attention", "attention alone and in a layer: plain, causal, padded, one token over a cache"),
    "recurrent": (".recurrent", "LSTM, GRU and plain recurrent networks: one sequence, several, one step"),
    "operators": (".operators", "pools, resizing, sorting, gathers, transposed and unusual convolutions, casts"),
    "kernels": (".kernels", "where the time of one model goes, kernel by kernel"),
    "gemm": (".gemm", "matrix products: square, skinny, by a vector, batched; float32, bfloat16, int8"),
    "conv": (".conv", "the convolutions of ResNet-50, MobileNetV2 and VGG-19, by kind"),
    "threads": (".threads", "an empty parallel region: what handing out work costs"),
    "dsl": (".dsl", "index notation against the hub's own ops: speed, and whether the kernels are the same"),
    "dsl-check": (".dsl_check", "reading and checking programs against their number of lines"),
    "compile": (".compile_time", "compile time: cold, warm, and against depth"),
    "scaling": (".compile_scaling", "parse, verify, canonicalise, CSE and print against the size of the module"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-command per group."""
    groups = parser.add_subparsers(dest="group", metavar="GROUP", required=True)
    for name, (module, line) in GROUPS.items():
        sub = groups.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        importlib.import_module(module, __package__).add_arguments(sub)


def main(args: argparse.Namespace) -> int:
    """Runs the chosen group."""
    return importlib.import_module(GROUPS[args.group][0], __package__).main(args)
