"""The systems a model can be timed on: ours and every peer that is installed. A peer is one function here.

Each takes a `Task` and gives a call without arguments that runs the model once and returns its outputs as arrays.
All get the same file, inputs and number of threads, and float32 arithmetic.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.program import Program
from ...compiler.signature import Array

Call = Callable[[], list[Array]]


@dataclass(frozen=True)
class Task:
    """What to run: an ONNX file, the program it holds with its shapes bound, inputs by name, where to put files."""

    file: Path
    program: Program
    inputs: Mapping[str, Array]
    threads: int
    scratch: Path

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs."""
        return [spec.name for spec in self.program.signature.outputs]


@dataclass(frozen=True)
class Peer:
    """A system: `modules` are what it needs to be installed."""

    prepare: Callable[[Task], Call]
    modules: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Whether all it needs can be imported."""
        try:
            return all(find_spec(module) is not None for module in self.modules)
        except ModuleNotFoundError:  # of the package that a module lies in
            return False


PEERS: dict[str, Peer] = {}


def peer(name: str, *modules: str) -> Callable[[Callable[[Task], Call]], Callable[[Task], Call]]:
    """Enters a system into the table."""

    def enter(prepare: Callable[[Task], Call]) -> Callable[[Task], Call]:
        PEERS[name] = Peer(prepare, modules)
        return prepare

    return enter


def chosen(names: str) -> list[str]:
    """The peers a user asked for, or every installed one for `all`.

    Raises LaminaError for one that is unknown or not installed.
    """
    if names == "all":
        return [name for name, known in PEERS.items() if name != "lamina" and known.installed]
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in PEERS or name == "lamina":
            raise LaminaError(
                f"there is no peer '{name}'", hint=f"one of {', '.join(n for n in PEERS if n != 'lamina')}"
            )
        if not PEERS[name].installed:
            raise LaminaError(f"'{name}' is not installed", hint=f"it needs {', '.join(PEERS[name].modules)}")
    return asked


@peer("lamina")
def lamina(task: Task) -> Call:
    """Ours."""
    from ..api import compile as compile_model

    model = compile_model(task.program, threads=task.threads, cache=os.environ.get("LAMINA_BENCH_CACHE", "1") == "1")
    inputs = list(task.inputs.values())
    return lambda: model(*inputs)


@peer("onnxruntime", "onnxruntime")
def onnxruntime(task: Task) -> Call:
    """ONNX Runtime's CPU provider, all graph optimisations on."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = task.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(os.fspath(task.file), options, providers=["CPUExecutionProvider"])
    return lambda: cast(Any, session.run(None, dict(task.inputs)))


@peer("openvino", "openvino")
def openvino(task: Task) -> Call:
    """OpenVINO's CPU plug-in with the latency hint, one stream."""
    ov: Any = __import__("openvino")
    core = ov.Core()
    settings = {
        "INFERENCE_NUM_THREADS": task.threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    model = core.read_model(os.fspath(task.file))
    shapes = {port.get_any_name(): list(task.inputs[port.get_any_name()].shape) for port in model.inputs}
    model.reshape(shapes)
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    feed = dict(task.inputs)
    return lambda: [np.array(value) for value in request.infer(feed, share_inputs=True).values()]


@peer("iree", "iree.compiler", "iree.runtime")
def iree(task: Task) -> Call:
    """IREE for the host's CPU at -O3 with data tiling."""
    compiler: Any = __import__("iree.compiler").compiler
    runtime: Any = __import__("iree.runtime").runtime
    module = task.scratch / "model.mlir"
    _tool("iree-import-onnx", task.file, "-o", module, "--opset-version", "17")
    flags = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-data-tiling", "--iree-opt-level=O3"]
    code = compiler.tools.compile_file(
        os.fspath(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=flags
    )
    runtime.flags.parse_flags(f"--task_topology_max_group_count={task.threads}")
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    loaded = runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(loaded)
    name = next(n for n in loaded.function_names if not n.startswith("_") and not n.endswith("$async"))
    function = context.modules[loaded.name][name]
    inputs = list(task.inputs.values())

    def call() -> list[Array]:
        results = function(*inputs)
        return [r.to_host() for r in (results if isinstance(results, list | tuple) else [results])]

    return call


@peer("mnn", "MNN")
def mnn(task: Task) -> Call:
    """MNN on the CPU, high precision: float32."""
    nn: Any = __import__("MNN.nn").nn
    expr: Any = __import__("MNN.expr").expr
    file = task.scratch / "model.mnn"
    _tool("mnnconvert", "-f", "ONNX", "--modelFile", task.file, "--MNNModel", file, "--bizCode", "bench")
    manager = nn.create_runtime_manager(({"backend": "CPU", "numThread": task.threads, "precision": "high"},))
    module = nn.load_module_from_file(os.fspath(file), list(task.inputs), task.outputs, runtime_manager=manager)
    kinds = {"f": expr.float, "i": expr.int}
    inputs = [
        expr.const(a.astype(np.int32) if a.dtype.kind == "i" else a, list(a.shape), expr.NCHW, kinds[a.dtype.kind])
        for a in task.inputs.values()
    ]
    return lambda: [np.array(value.read()) for value in module.forward(inputs)]


@peer("tvm", "tvm")
def tvm(task: Task) -> Call:
    """TVM's Relax with its default schedules: not tuned."""
    library: Any = __import__("tvm.relax.frontend.onnx")
    import onnx

    module = library.relax.frontend.onnx.from_onnx(
        onnx.load(task.file), shape_dict={k: list(v.shape) for k, v in task.inputs.items()}
    )
    target = library.target.Target({"kind": "llvm", "mcpu": Machine.host().cpu, "num-cores": task.threads})
    machine = library.relax.VirtualMachine(library.compile(module, target), library.cpu())
    inputs = [library.runtime.tensor(array) for array in task.inputs.values()]

    def call() -> list[Array]:
        results = machine["main"](*inputs)
        return [r.numpy() for r in ([results] if hasattr(results, "numpy") else results)]

    return call


def _tool(name: str, *arguments: str | Path) -> None:
    """Runs a command that came with a peer's package."""
    beside = Path(sys.executable).with_name(name)
    command = [str(beside) if beside.exists() else name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LaminaError(f"{name} failed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
