"""What is compiled: each in a process of its own, which needs no GPU, with what the reference gives for it.

A job's folder holds the artefact, `model.lamx`, and inputs and results, pickled; who has the GPU takes them from there.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ....backends import Options
from ....backends.cuda.target import CudaTarget
from ....compiler.artefact import Artefact
from ....compiler.diagnostics import LaminaError
from ....compiler.program import Program
from ....compiler.signature import Array, dtype_named
from ....compiler.workers import ProcessDied, parallel_map, usable_cores
from ... import models
from ...api import interpret
from ...bench.peers import Unsupported
from ...inputs import read_named
from ...sources import read_program, whole
from ..every_model import every_model, inputs_of
from ..programs import SMALL, Case
from . import peers
from .cases import NETWORKS, PRECISIONS, Timed
from .errors import APART, COMPARED, SPREAD

CODE, DATA, ONNX = "model.lamx", "data", "model.onnx"
MODEL_LIMIT = 1e-3  # of a whole model in f32, as `lamina run --check` has it
ROUGH_LIMIT = 2e-2  # of operands rounded to bf16, or of steps of bytes
WARM = "warm"  # jobs that leave nothing but what PyTorch keeps


@dataclass
class Data:
    """Inputs, and what the reference and the emulator give for them."""

    inputs: list[Array] = field(default_factory=list[Array])
    expected: list[Array] = field(default_factory=list[Array])
    emulated: list[Array] = field(default_factory=list[Array])


@dataclass(frozen=True)
class Told:
    """How a job went: what is wrong, or why there is nothing of it, which is nobody's fault of ours."""

    wrong: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Job:
    """Something to make, and how far its results may be from the reference, by which measure."""

    group: str
    name: str
    make: Callable[[CudaTarget, Path], tuple[Artefact, Data] | None]
    limit: float = 0
    measure: str = APART


def small(case: Case) -> Job:
    """A small program, whose results the emulator gives, too."""

    def make(target: CudaTarget, folder: Path) -> tuple[Artefact, Data]:
        (folder / "program.mlir").write_text(case.text)
        program = whole(read_program(str(folder / "program.mlir")))
        rng = np.random.default_rng(0)
        inputs: list[Array] = [
            rng.standard_normal(tuple(map(int, spec.shape)), np.float32).astype(dtype_named(spec.dtype))
            for spec in program.signature.inputs
        ]
        artefact = target.compile_artefact(program, Options(cache=False, precision=case.precision))
        return artefact, Data(inputs, interpret(program, inputs), target.load_emulated(artefact).run(inputs))

    return Job("small", case.name, make, case.tolerance)


def model(name: str, load: Callable[[], Program]) -> Job:
    """A whole model in f32 against the reference; those of bytes may be a step off where a sum is near the middle."""

    def make(target: CudaTarget, folder: Path) -> tuple[Artefact, Data]:
        program = load()
        inputs = inputs_of(name, program.signature)
        artefact = target.compile_artefact(program, Options())
        return artefact, Data(inputs, interpret(program, inputs))

    bytes_ = name.endswith(" int8")
    return Job("models", name, make, ROUGH_LIMIT if bytes_ else MODEL_LIMIT, SPREAD if bytes_ else COMPARED)


def network(name: str, precision: str) -> Job:
    """A network of PyTorch, exported here, against its own results in f32."""

    def make(target: CudaTarget, folder: Path) -> tuple[Artefact, Data]:
        path = exported(name, folder)
        arrays = str(folder / f"{name}.npz")
        artefact = target.compile_artefact(whole(read_program(str(path))), Options(precision=precision))
        inputs, outputs = (read_named([arrays], prefix) for prefix in ("in.", "out."))
        signature = artefact.signature
        expected = [outputs[spec.name] for spec in signature.outputs]
        return artefact, Data(signature.bind((), inputs), expected)

    rough = precision != "f32"
    limit, measure = (ROUGH_LIMIT, SPREAD) if rough else (MODEL_LIMIT, COMPARED)
    return Job("torch", f"{name} {precision}", make, limit, measure)


def exported(name: str, folder: Path) -> Path:
    """The ONNX file of a network of PyTorch, with its inputs and outputs beside. Raises Unsupported without one."""
    why = ""
    for exporter in models.EXPORTERS:  # not each version of PyTorch writes each network with both
        try:
            models.export(name, folder, (exporter,))
        except Exception as error:
            why = why or f"{type(error).__name__}: {error}"
        else:
            return (folder / f"{name}.{exporter}.onnx").rename(folder / ONNX)
    raise Unsupported(f"PyTorch does not export it: {' '.join(why.split())[:200]}")


def code_of(case: Timed) -> Job:
    """The code of a program that is timed."""

    def make(target: CudaTarget, folder: Path) -> tuple[Artefact, Data]:
        assert case.build is not None
        program = whole(read_program(case.build().model))
        return target.compile_artefact(program, Options(precision=case.precision)), Data()

    return Job(case.group, case.name, make, case.limit)


def warmed(name: str, precision: str) -> Job:
    """PyTorch's compiler at work on a network before it is timed: what it makes is kept on disk."""

    def make(target: CudaTarget, folder: Path) -> None:
        peers.warm(name, precision)

    return Job(WARM, f"{name} {precision}", make)


def smalls() -> list[Job]:
    """Programs that the emulator runs, too."""
    return [small(case) for case in SMALL]


def all_models() -> list[Job]:
    """Every model that the tests run."""
    return [model(name, load) for name, load in every_model().items()]


def networks(*, timed: bool) -> list[Job]:
    """Networks of PyTorch, and where they are timed, what PyTorch needs for that; none without PyTorch."""
    if not peers.have("torch", "transformers"):
        return []
    kinds = [(name, precision) for name in NETWORKS for precision in PRECISIONS]
    return [network(*kind) for kind in kinds] + [warmed(*kind) for kind in kinds if timed]


def made(jobs: Sequence[Job], target: CudaTarget, folder: Path, until: float) -> Generator[tuple[int, Told]]:
    """Each job's number as it is done, and how it went, from as many processes as there are cores.

    What is not done `until` then is not told.
    """
    cores = min(usable_cores(), len(jobs))

    def work(number: int) -> bytes:
        if cores > 1:
            os.environ["LAMINA_JOBS"] = "1"  # of a process of its own
            if torch := sys.modules.get("torch"):
                torch.set_num_threads(1)
        return json.dumps(asdict(_made(jobs[number], target, folder / str(number)))).encode()

    done: set[int] = set()
    try:
        for number, told in parallel_map(work, len(jobs), cores, [job.name for job in jobs], until=until):
            done.add(number)
            yield number, Told(**json.loads(told))
    except ProcessDied as error:
        yield from ((number, Told(error.message)) for number in range(len(jobs)) if number not in done)


def _made(job: Job, target: CudaTarget, folder: Path) -> Told:
    """Makes one job's folder."""
    folder.mkdir()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            found = job.make(target, folder)
        except Unsupported as error:
            return Told(missing=str(error))
        except LaminaError as error:
            return Told(str(error))
        except Exception:  # one of many jobs
            return Told(" ".join(" ".join(traceback.format_exc().splitlines()[-3:]).split()))
    if found is not None:
        artefact, data = found
        artefact.save(folder / CODE)
        with open(folder / DATA, "wb") as file:
            pickle.dump(data, file)
    return Told()


def data_of(folder: Path) -> Data:
    """What lies in a job's folder."""
    with open(folder / DATA, "rb") as file:
        return pickle.load(file)
