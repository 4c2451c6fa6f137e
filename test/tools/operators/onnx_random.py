"""ONNX's own test models on other inputs: `python test/tools/operators/onnx_random.py [--only TEXT] [--seed N]`.

Each case of `onnx.backend.test` is given random inputs of the shipped shapes and dtypes, in the shipped range and then
with NaN, infinities, zeros and very large numbers among them; what steers an operator (shapes, axes, indices, counts)
stays as shipped. The answers of the target are compared with ONNX's reference evaluator and, where that fails or
differs, with ONNX Runtime; those of our interpreter too. 1 is the exit code when an answer is wrong or none came.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pickle
import select
import signal
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import ModelProto, defs, numpy_helper
from onnx.reference import ReferenceEvaluator

import lamina

sys.path.insert(0, str(Path(__file__).parent))
from judged import JUDGED

Array = Any
_STEERING = {"tensor(int64)", "tensor(int32)"}
_KEPT_OPERATORS = {
    "Range",
    "MelWeightMatrix",
    "ImageDecoder",
    "Multinomial",
    "Bernoulli",
    "Dropout",
    "Gradient",
    "OneHot",
}
_DATA_ALTHOUGH_FIXED = {("NonMaxSuppression", 0), ("NonMaxSuppression", 1), ("TfIdfVectorizer", 0), ("LabelEncoder", 0)}
_CHANCE = ("test_bernoulli", "test_training_dropout", "test_random", "test_multinomial", "test_image_decoder")
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-30, 0.5, -1.5, 2.5)


@dataclass
class Case:
    """A model with its shipped inputs."""

    name: str
    model: ModelProto
    inputs: list[Any]


def cases(only: str = "", *, expanded: bool = False) -> Iterator[Case]:
    """The node cases whose names contain `only`."""
    import onnx.backend.test.case.node as node

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        np.random.seed(0)
        every = node.collect_testcases(None)
    for case in every:
        if only in case.name and (expanded or "_expanded" not in case.name) and not case.name.startswith(_CHANCE):
            yield _case(case)


def cases_of(module: str) -> list[Case]:
    """Those of one file of `onnx.backend.test.case.node`, which is quicker than all."""
    import onnx.backend.test.case.node as node

    np.random.seed(0)
    import_module(f"{node.__name__}.{module}")
    known = [case for case in node._NodeTestCases if "_expanded" not in case.name]  # pyright: ignore
    return [_case(case) for case in known]


def _case(case: Any) -> Case:
    inputs = [numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x for x in case.data_sets[0][0]]
    return Case(case.name, case.model, inputs)


def steering(model: ModelProto) -> set[str]:
    """The inputs that steer operators: those whose formal type can only be an integer, or is one fixed type."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    kept: set[str] = set()
    for node in model.graph.node:
        if node.op_type in _KEPT_OPERATORS or any(a.HasField("g") for a in node.attribute):
            kept.update(node.input)
            continue
        try:
            schema = defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
        except defs.SchemaError:
            continue
        for place, name in enumerate(node.input):
            formal = schema.inputs[min(place, len(schema.inputs) - 1)]
            fixed = formal.type_str.startswith("tensor(") or set(formal.types) <= _STEERING
            if fixed and (node.op_type, place) not in _DATA_ALTHOUGH_FIXED:
                kept.add(name)
    return kept


def varied(x: Any, rng: np.random.Generator, special: bool) -> Any:
    """Other values of the same shape and dtype; those of integers and floats in the range of `x`."""
    if isinstance(x, list):
        return [varied(each, rng, special) for each in x]  # pyright: ignore
    if not isinstance(x, np.ndarray) or x.size == 0 or x.dtype.kind in "OUSM":
        return x
    if x.dtype == bool:
        return rng.random(x.shape) < 0.5
    wide = x.astype(np.complex128) if x.dtype.kind == "c" else x.astype(np.float64)
    if x.dtype.kind == "c":
        return (wide * np.exp(2j * np.pi * rng.random(x.shape))).astype(x.dtype)
    if np.issubdtype(x.dtype, np.integer) or "int" in x.dtype.name:
        low, high = int(x.min()), int(x.max())
        drawn = rng.integers(low, high, x.shape, np.int64, endpoint=True) if high < 2**63 else rng.permutation(x)
        return np.where((drawn == 0) & ~(x == 0).any(), x, drawn.astype(x.dtype)).astype(x.dtype)
    finite = wide[np.isfinite(wide)]
    low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
    values = rng.uniform(low, high, x.shape) if high > low else wide.copy()
    if special:
        values = np.where(rng.random(x.shape) < 0.15, rng.choice(_SPECIAL, x.shape), values)
    with np.errstate(all="ignore"):
        return values.astype(x.dtype)


def agree(got: Any, want: Any) -> bool:
    """The same type and shape, integers equal, floats within 1e-3 or some units of their last place."""
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(agree, got, want))  # pyright: ignore
    if got is None or want is None:
        return got is want
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.kind in "OUS":
        return got.shape == want.shape and [*map(str, got.flat)] == [*map(str, want.flat)]
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return not _differing(got, want).any()


def _differing(got: Array, want: Array) -> Array:
    """Which elements of two arrays of one type and shape do not agree."""
    if got.dtype == bool or ("int" in got.dtype.name and "float" not in got.dtype.name):
        return np.asarray(got != want)
    kind = np.complex128 if got.dtype.kind == "c" else np.float64
    a, b = got.astype(kind), want.astype(kind)
    eps = float(ml_dtypes.finfo(got.dtype).eps) if got.dtype.kind != "c" else 1e-7
    scale = np.abs(b[np.isfinite(b)]).max(initial=0)
    rtol, atol = (0, 0) if got.dtype.itemsize == 1 else (max(1e-3, 4 * eps), max(1e-5, eps) * scale)
    return ~np.isclose(a, b, rtol, atol, equal_nan=True)


def judged(model: ModelProto, inputs: Sequence[Any], got: Sequence[Any], want: Sequence[Any]) -> str:
    """The reason for which answers that do not agree are both right; empty where there is none."""
    entry = JUDGED.get(model.graph.node[0].op_type) if len(model.graph.node) == 1 else None
    if entry is None or len(got) != len(want):
        return ""
    for ours, theirs in zip(map(np.asarray, got), map(np.asarray, want), strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype or ours.dtype.kind in "OUS":
            return ""
        if (_differing(ours, theirs) & ~entry.admits(inputs, ours, theirs)).any():
            return ""
    return entry.reason


def by_reference(model: ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """What ONNX's reference evaluator answers."""
    names = [info.name for info in model.graph.input]
    return list(ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True))))


def by_runtime(model: ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """What ONNX Runtime answers."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # threads and forks do not go together
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [info.name for info in model.graph.input]
    given = {name: value for name, value in zip(names, inputs, strict=True) if value is not None}
    return list(session.run(None, given))


def _answer(run: Callable[[], list[Any]]) -> list[Any] | None:
    try:
        return run()
    except Exception:  # whatever a peer cannot do
        return None


def outcome(case: Case, seed: int, target: str, rounds: int = 3) -> str:
    """What came of a case: `pass`, or else.

    `peerless`: no peer answers, only our interpreter agrees. `kept`: there is nothing to vary. `judged`: the peers
    answer NaN, infinities or what overflows otherwise, and `judged.py` says why we are right, too.
    """
    rng = np.random.default_rng([seed, zlib.crc32(case.name.encode())])
    names = [info.name for info in case.model.graph.input]
    kept = steering(case.model)
    if all(name in kept for name in names):
        return "kept"
    try:
        compiled = lamina.compile(case.model, target)
        meaning = lamina.compile(case.model, "interpret")
    except lamina.LaminaError as error:
        return f"unsupported: {error}"
    said = "pass"
    for number in range(rounds):
        special = number == rounds - 1
        inputs = [x if name in kept else varied(x, rng, special) for name, x in zip(names, case.inputs, strict=True)]
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wanted = _answer(lambda given=inputs: by_reference(case.model, given))
            try:
                got = compiled(*inputs)
                meant = meaning(*inputs)
            except lamina.LaminaError as error:
                return f"unsupported: {error}"
            label = f"round {number}{', special values' if special else ''}"
            if not agree(got, meant):
                return f"wrong: differs from our interpreter in {label}"
            if wanted is not None and agree(got, wanted):
                continue
            other = _answer(lambda given=inputs: by_runtime(case.model, given))
            peers = [peer for peer in (wanted, other) if peer is not None]
            if any(agree(got, peer) for peer in peers):
                continue
            reasons = [judged(case.model, inputs, got, peer) for peer in peers] if special else []
            if not peers:
                said = "peerless"
            elif any(reasons):
                said = f"judged: {max(reasons)}"
            else:
                names = [name for name, peer in (("reference", wanted), ("runtime", other)) if peer is not None]
                return f"wrong: differs from the {' and the '.join(names)} in {label}"
    return said


def run_apart(work: Sequence[Case], judge: Callable[[Case], str], seconds: float) -> Iterator[tuple[Case, str]]:
    """The outcomes of `judge`, run in a process that may die or hang: then the next one goes on."""
    left = list(work)
    while left:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            for case in left:
                try:
                    said = judge(case)
                except BaseException as error:
                    said = f"error: {type(error).__name__}: {error}"
                data = pickle.dumps(said)
                os.write(writing, len(data).to_bytes(4, "little") + data)
            os._exit(0)
        os.close(writing)
        while left:
            ready, _, _ = select.select([reading], [], [], seconds)
            head = os.read(reading, 4) if ready else b""
            if not head:
                os.kill(child, signal.SIGKILL)
                yield left.pop(0), "crash" if ready else f"timeout: more than {seconds:.0f} s"
                break
            size = int.from_bytes(head, "little")
            data = b""
            while len(data) < size:
                data += os.read(reading, size - len(data))
            yield left.pop(0), pickle.loads(data)
        os.close(reading)
        os.waitpid(child, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--expanded", action="store_true", help="also operators written as the bodies ONNX gives them")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th case from the K-th on")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for one case")
    arguments = parser.parse_args()
    start = time.monotonic()
    first, step = map(int, arguments.part.split("/"))
    work = list(cases(arguments.only, expanded=arguments.expanded))[first::step]
    counts: Counter[str] = Counter()
    judged = run_apart(work, lambda case: outcome(case, arguments.seed, arguments.target), arguments.timeout)
    for case, said in judged:
        counts[said.partition(":")[0]] += 1
        if said not in ("pass", "kept"):
            print(f"{case.name}: {said}"[:400], flush=True)
    total = ", ".join(f"{count} {what}" for what, count in counts.most_common())
    print(f"{len(work)} cases, seed {arguments.seed}: {total}; {time.monotonic() - start:.0f} s")
    return 0 if set(counts) <= {"pass", "kept", "judged", "peerless", "unsupported"} else 1


if __name__ == "__main__":
    sys.exit(main())
