"""Whole models: the networks of the `onnx` package, and any ONNX file.

Inputs are those in the `.npz` beside a file, else seeded random values. A file that `lamina.tools.models` exported is
given to PyTorch as the module it came from.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ShapedType
from xdsl.ir import Operation

from ...compiler.dtypes import dtype_of
from ...compiler.program import Program
from ...compiler.signature import Signature
from ...passes import all_passes
from ...passes.onnx.dynamic_quantization import BYTES
from .. import light_models
from .. import models as exported
from ..aliases import add_alias_argument, pairs, parse_aliases
from ..inputs import complete, read_named
from ..run import parse_shapes
from ..sources import read_program, resolve, whole, with_shapes
from . import engine
from .cases import Case, Workload

ROWS_AS_BYTES = 1e-1  # how far rows rounded to bytes bring an output from one of other rows (docs/language-models.md)
FEW_PER_BYTE = 4  # a model that does no more with a byte of its weights waits for memory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the group."""
    parser.add_argument("models", nargs="*", help="ONNX files or onnx:NAME (default: every light model)")
    engine.add_arguments(parser, threads="1,2", rounds=7)
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    parser.add_argument(
        "--inputs", type=Path, help="an .npz with the inputs (default: <model>.npz beside it, or random)"
    )
    add_alias_argument(parser)
    parser.add_argument(
        "--random-weights", action="store_true", help="light models: random weights instead of constants"
    )


def main(args: argparse.Namespace) -> int:
    """Measures the models, each in fresh processes."""
    names = args.models or [light_models.SCHEME + name for name in light_models.NAMES]
    shapes = parse_shapes(args.shape)
    aliases = parse_aliases(args.alias)
    cases = [case(name, shapes, args.inputs, args.random_weights, aliases=aliases) for name in names]
    return engine.run_group("models", cases, args, fresh=True)


def case(
    name: str,
    shapes: Mapping[str, int],
    inputs: Path | None = None,
    random_weights: bool = False,
    module: Callable[[], Any] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> Case:
    """A model as a case; `module` makes the PyTorch module that it is, for peers that take that.

    Raises LaminaError when it cannot be read, a dimension has no size or aliases are of no inputs and outputs.
    """
    light = name.startswith(light_models.SCHEME)
    beside = Path(name).with_name(Path(name).name.partition(".")[0] + ".npz")
    values = inputs or (beside if beside.is_file() else None)
    read = read_program(resolve(name))
    program = whole(with_shapes(read, {**_sizes(read.signature, values), **shapes}))
    if module is None and (stem := Path(name).name.partition(".")[0]) in exported.MODELS:
        module = partial(_module, stem)
    signature = program.signature
    lent = {signature.inputs[i].name: signature.outputs[o].name for i, o in pairs(signature, aliases or {})}
    build = partial(workload, name, random_weights and light, dict(shapes), values, signature, module, lent)
    operations, weights = work(program)
    bound = "fma" if operations > FEW_PER_BYTE * weights else "read"
    case_ = Case(name if light else Path(name).stem, "light" if light else "files", build, bound, operations, weights)
    return replace(case_, limit=ROWS_AS_BYTES, of_largest=True) if _may_round_rows(program) else case_


def workload(
    name: str,
    random_weights: bool,
    shapes: Mapping[str, int],
    values: Path | None,
    signature: Signature,
    module: Callable[[], Any] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> Workload:
    """The model with its inputs, and the outputs to be computed in their memory."""
    model: Any = light_models.randomized(name.removeprefix(light_models.SCHEME)) if random_weights else resolve(name)
    arrays = complete(signature, read_named([str(values)]) if values else {}, 0)
    inputs = {spec.name: array for spec, array in zip(signature.inputs, arrays, strict=True)}
    functions = {} if module is None else {"torch_module": module}
    outputs = [spec.name for spec in signature.outputs]
    return Workload(model, inputs, outputs, functions=functions, shapes=shapes, aliases=aliases or {})


def _module(name: str) -> Any:
    """The PyTorch module that a file was exported from, with the same weights."""
    torch: Any = __import__("torch")

    torch.manual_seed(exported.SEED)
    return exported.MODELS[name]().module


def _sizes(signature: Signature, values: Path | None) -> dict[str, int]:
    """What the inputs in a file say of the model's dimensions."""
    given = read_named([str(values)]) if values else {}
    shapes = [(spec.shape, given[spec.name].shape) for spec in signature.inputs if spec.name in given]
    return {n: size for shape, sizes in shapes for n, size in zip(shape, sizes, strict=False) if isinstance(n, str)}


def work(program: Program) -> tuple[int, int]:
    """Multiplications and additions of a model's products and convolutions, and the bytes of their weights.

    MatMulNBits, whose result has no type in ONNX, has as many rows as the first input has elements: tokens.
    """
    inferred = program.clone()
    all_passes()["onnx-infer-shapes"]()().apply(inferred.context, inferred.module)
    operations = weights = 0
    tokens = prod(d for d in program.signature.inputs[0].shape if isinstance(d, int)) if program.signature.inputs else 1
    for op in inferred.module.walk():
        if op.name == "onnx.com.microsoft.MatMulNBits":
            columns, depth = (int(op.attributes[name].value.data) for name in "NK")  # pyright: ignore
            operations += 2 * tokens * columns * depth
            packed = (value.type for value in op.operands[1:] if isinstance(value.type, ShapedType))
            weights += sum(prod(type_.get_shape()) * dtype_of(type_).itemsize for type_ in packed)  # pyright: ignore
            continue
        if op.name not in ("onnx.MatMul", "onnx.Gemm", "onnx.Conv"):
            continue
        right, result = (value.type for value in (op.operands[1], op.results[0]))
        if not all(isinstance(type_, ShapedType) and type_.has_static_shape() for type_ in (right, result)):
            continue
        sizes = right.get_shape()  # pyright: ignore
        summed = sizes[1:] if op.name == "onnx.Conv" else sizes[-1:] if _transposed(op) else sizes[-2:-1] or sizes
        operations += 2 * prod(result.get_shape()) * prod(summed)  # pyright: ignore
        if op.name != "onnx.MatMul" or len(sizes) == 2:  # else both sides are computed
            weights += prod(sizes) * dtype_of(right).itemsize
    return operations, weights


def _may_round_rows(program: Program) -> bool:
    """Whether a peer may round rows to bytes, by the model's leave, and with them all that follows."""
    nodes = [op for op in program.module.walk() if op.name == "onnx.com.microsoft.MatMulNBits"]
    levels = [op.attributes.get("accuracy_level") for op in nodes]
    return any(isinstance(level, IntegerAttr) and level.value.data == BYTES for level in levels)


def _transposed(op: Operation) -> bool:
    return "1" in str(op.properties.get("transB", op.attributes.get("transB", "0")))
