"""Which outputs of a quantised model are, bit by bit, those of ONNX Runtime's int8 kernels, and which are not, and why.

On processors with AVX2 but without VNNI ONNX Runtime adds pairs of products of bytes in 16 bits, which saturate; its
option `session.x64quantprecision` has it use kernels that do not. Without its optimisations it computes a QDQ model in
floats, each sum rounded on its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...backends import Options, meaning
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from .. import api
from ..inputs import complete
from ..sources import read_program

EXACT = "sums as they are"
WAYS = {
    "as it comes": "pairs of products saturate on processors without VNNI",
    EXACT: "session.x64quantprecision=1",
    "in floats": "optimisations off; sums are rounded on their way",
}


@dataclass(frozen=True)
class Agreement:
    """How many elements of an output are equal, of how many, over all samples; the largest difference of others."""

    way: str
    output: str
    equal: int
    elements: int
    largest: float

    def __str__(self) -> str:
        rest = "" if self.equal == self.elements else f", others by at most {self.largest:.3g}: {WAYS[self.way]}"
        return f"{self.output}: {self.equal} of {self.elements} elements are ONNX Runtime's, {self.way}{rest}"


def agreements(path: Path, machine: str, seeds: Sequence[int]) -> Iterator[Agreement]:
    """What the array computes (its integers, which every engine must match) beside ONNX Runtime, in each way."""
    program = read_program(str(path))
    if not isinstance(program, Program):
        raise LaminaError("has symbolic dimensions", where=str(path), hint="a model of one shape")
    integers = api.compile(meaning(f"systolic:{machine}", program, Options()), "interpret")
    samples = [complete(program.signature, {}, seed) for seed in seeds]
    ours = [integers(*sample) for sample in samples]
    names = [spec.name for spec in program.signature.inputs]
    for way in WAYS:
        session = _session(path, way)
        theirs = [session.run(None, dict(zip(names, sample, strict=True))) for sample in samples]
        for i, spec in enumerate(program.signature.outputs):
            a, b = (np.stack([np.asarray(result[i]) for result in results]) for results in (ours, theirs))
            largest = float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max())
            yield Agreement(way, spec.name, int(np.count_nonzero(a == b)), a.size, largest)


def _session(path: Path, way: str) -> Any:
    try:
        import onnxruntime  # only here is it needed
    except ImportError:
        raise LaminaError("ONNX Runtime is not installed", hint="pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if way == EXACT:
        options.add_session_config_entry("session.x64quantprecision", "1")
    elif way == "in floats":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
