"""`lamina quantize`: a float ONNX model becomes a QDQ model of bytes, by the ranges its values take on samples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.artefact import written_whole
from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array, Signature
from ...dialects.onnx.load import read_model
from .. import api
from ..inputs import complete, read_named
from ..model_files import resolve
from ..run import parse_shapes
from ..sources import read_program, with_shapes
from .calibration import METHODS, calibrate
from .graph import FloatModel
from .insert import insert, plan

if TYPE_CHECKING:
    from onnx import ModelProto

_RANDOM = 4  # samples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", help="a float .onnx file, or onnx:NAME")
    parser.add_argument(
        "--calibration",
        default="random",
        metavar="DIR",
        help="a folder of samples, .npz by the inputs' names or .npy of the only input; or random (default)",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="the .onnx file to write")
    parser.add_argument("--method", choices=METHODS, default="minmax", help="how ranges are chosen (default minmax)")
    parser.add_argument("--percentile", type=float, default=99.999, help="of --method percentile (default 99.999)")
    parser.add_argument("--activations", choices=("int8", "uint8"), default="int8", help="their type (default int8)")
    parser.add_argument("--shape", action="append", default=[], metavar="DIM=N", help="fix a symbolic dimension")
    parser.add_argument("--target", default="cpu", help="what runs the samples (default cpu)")
    parser.add_argument("--seed", type=int, default=0, help="seed of random samples (default 0)")


def main(args: argparse.Namespace) -> int:
    """Runs the command: writes the model, says how far its outputs are from those of the float one."""
    if not 50 < args.percentile <= 100:
        raise LaminaError(f"a percentile of {args.percentile}", hint="above 50, at most 100")
    path = resolve(args.model)
    if path.suffix != ".onnx":
        raise LaminaError("only ONNX models can be quantised", where=str(path))
    source = _whole(path)
    made, errors = quantized(source, args, str(path))
    with written_whole(args.output) as file:
        file.write(made.SerializeToString())
    for name, error in errors:
        print(f"{name}: {error:.2f} dB signal to noise against the float model")
    print(
        f"{args.output}: {sum(n.op_type == 'QuantizeLinear' for n in made.graph.node)} values in bytes", file=sys.stderr
    )
    return 0


def _whole(path: Path) -> ModelProto:
    """The model with its weights, those beside the file too."""
    import onnx

    read_model(path)  # says what is wrong with it
    try:
        return onnx.load(path)
    except Exception as error:  # external data that is missing or outside the folder
        raise LaminaError(f"cannot read the weights: {error}", where=str(path)) from error


def quantized(source: ModelProto, args: argparse.Namespace, where: str) -> tuple[ModelProto, list[tuple[str, float]]]:
    """The quantised model, and for each output the ratio of signal to noise in decibel on the samples."""
    import onnx

    model = FloatModel(source, where)
    made = plan(model)
    if not made.like:
        raise LaminaError("there is nothing to quantise", where=where, hint="Conv, Gemm, MatMul, Add, pools")
    measured = made.measured
    extended = [name for name in measured if name not in model.inputs]
    sizes = parse_shapes(args.shape)
    running = api.compile(with_shapes(read_program(model.proto(extended)), sizes), args.target)
    given = {name: i for i, name in enumerate(model.inputs)}
    order = {spec.name: i for i, spec in enumerate(running.signature.outputs)}

    def run(sample: Sequence[Array]) -> list[Array]:
        results = running(*sample)
        return [sample[given[name]] if name in given else results[order[name]] for name in measured]

    samples = _Samples(args.calibration, running.signature, args.seed)
    ranges = calibrate(run, measured, lambda: samples, args.method, args.percentile)
    result = insert(model, made, ranges, args.activations)
    onnx.checker.check_model(result)
    after = api.compile(with_shapes(read_program(result), sizes), args.target)
    return result, _errors(running, after, samples)


class _Samples:
    """The samples of a folder, or random ones; can be gone through again and again."""

    def __init__(self, source: str, signature: Signature, seed: int):
        self.signature = signature
        self.seed = seed
        self.files: list[Path] | None = None
        if source != "random":
            folder = Path(source)
            self.files = sorted(file for file in folder.glob("*") if file.suffix in (".npz", ".npy"))
            if not self.files:
                raise LaminaError("no samples", where=source, hint="a folder of .npz or .npy files, or 'random'")

    def __iter__(self) -> Iterator[list[Array]]:
        if self.files is None:
            if self.signature.symbols:
                raise LaminaError(
                    f"symbolic dimensions {', '.join(self.signature.symbols)} have no size", hint="give --shape NAME=N"
                )
            for i in range(_RANDOM):
                yield complete(self.signature, {}, self.seed + i)
            return
        names = [spec.name for spec in self.signature.inputs]
        for file in self.files:
            single = file.suffix == ".npy"
            if single and len(names) != 1:
                raise LaminaError(f"the model has {len(names)} inputs", where=str(file), hint="use .npz by their names")
            arrays = read_named([f"{names[0]}={file}" if single else str(file)])
            if missing := [name for name in names if name not in arrays]:
                raise LaminaError(f"no input '{missing[0]}' in the sample", where=str(file))
            yield [np.asarray(arrays[name]) for name in names]


def _errors(before: api.Model, after: api.Model, samples: Iterable[Sequence[Array]]) -> list[tuple[str, float]]:
    names = [spec.name for spec in after.signature.outputs]
    signal, noise = np.zeros(len(names)), np.zeros(len(names))
    for sample in samples:
        for i, (right, got) in enumerate(zip(before(*sample), after(*sample), strict=False)):
            wide = right.astype(np.float64)
            signal[i] += float(np.sum(wide**2))
            noise[i] += float(np.sum((wide - got) ** 2))
    ratios = 10 * np.log10(np.maximum(signal, 1e-300) / np.maximum(noise, 1e-300))
    return list(zip(names, ratios.tolist(), strict=True))
