"""Ours, and the peers that read ONNX files.

Inputs are handed over once and results are viewed, not copied, where a peer allows it: a copy would be counted as its.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.signature import Array
from .peers import Call, Task


def lamina(task: Task) -> Call:
    """Ours."""
    from ..api import compile as compile_model

    model = compile_model(
        task.file,
        shapes=task.workload.shapes,
        threads=task.threads,
        cache=task.settings.cache,
        precision=task.settings.precision,
        aliases=task.workload.aliases,
    )
    inputs = list(task.workload.inputs.values())
    return lambda: model(*inputs)


def onnxruntime(task: Task) -> Call:
    """ONNX Runtime's CPU provider, all graph optimisations on."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = task.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(os.fspath(task.file), options, providers=["CPUExecutionProvider"])
    if task.workload.aliases:
        return _bound(ort, session, task)
    return lambda: cast(Any, session.run(None, dict(task.workload.inputs)))


def _bound(ort: Any, session: Any, task: Task) -> Call:
    """Runs with inputs and outputs bound to memory, outputs to that of inputs where the workload says so."""
    arrays = task.workload.inputs
    values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}  # no copies
    lenders = {output: name for name, output in task.workload.aliases.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name in task.workload.outputs:
        if name in lenders:
            binding.bind_ortvalue_output(name, values[lenders[name]])
        else:
            binding.bind_output(name)

    def call() -> list[Array]:
        session.run_with_iobinding(binding)
        made = zip(task.workload.outputs, binding.get_outputs(), strict=True)
        return [arrays[lenders[name]] if name in lenders else value.numpy() for name, value in made]

    return call


def openvino(task: Task) -> Call:
    """OpenVINO's CPU plug-in with the latency hint, one stream."""
    ov: Any = __import__("openvino")
    low = any(array.dtype == ml_dtypes.bfloat16 for array in task.workload.inputs.values())
    core = ov.Core()
    settings = {
        "INFERENCE_NUM_THREADS": task.threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "bf16" if low or task.settings.precision == "bf16" else "f32",
    }
    model = core.read_model(os.fspath(task.file))
    shapes = {port.get_any_name(): list(task.workload.inputs[port.get_any_name()].shape) for port in model.inputs}
    model.reshape(shapes)
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    feed = dict(task.workload.inputs)
    if low:  # all of them are bfloat16, which NumPy does not know
        feed = {k: ov.Tensor(a.view(np.uint16), list(a.shape), ov.Type.bf16) for k, a in feed.items()}

    def call() -> list[Array]:
        results = request.infer(feed, share_inputs=True, share_outputs=True).values()
        return [value.view(ml_dtypes.bfloat16) if low else value for value in results]

    return call


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
    inputs = [runtime.asdevicearray(context.config.device, array) for array in task.workload.inputs.values()]

    def call() -> list[Array]:
        results = function(*inputs)
        return [r.to_host() for r in (results if isinstance(results, list | tuple) else [results])]

    return call


def mnn(task: Task) -> Call:
    """MNN on the CPU, high precision: float32."""
    nn: Any = __import__("MNN.nn").nn
    expr: Any = __import__("MNN.expr").expr
    file = task.scratch / "model.mnn"
    _tool("mnnconvert", "-f", "ONNX", "--modelFile", task.file, "--MNNModel", file, "--bizCode", "bench")
    manager = nn.create_runtime_manager(({"backend": "CPU", "numThread": task.threads, "precision": "high"},))
    module = nn.load_module_from_file(
        os.fspath(file), list(task.workload.inputs), list(task.workload.outputs), runtime_manager=manager
    )
    kinds = {"f": expr.float, "i": expr.int}
    inputs = [
        expr.const(a.astype(np.int32) if a.dtype.kind == "i" else a, list(a.shape), expr.NCHW, kinds[a.dtype.kind])
        for a in task.workload.inputs.values()
    ]
    held: list[Any] = []

    def call() -> list[Array]:
        held[:] = module.forward(inputs)  # what is read does not keep its value alive
        return [value.read() for value in held]

    return call


def tvm(task: Task) -> Call:
    """TVM's Relax with its default schedules: not tuned."""
    library: Any = __import__("tvm.relax.frontend.onnx")
    import onnx

    module = library.relax.frontend.onnx.from_onnx(
        onnx.load(task.file), shape_dict={k: list(v.shape) for k, v in task.workload.inputs.items()}
    )
    target = library.target.Target({"kind": "llvm", "mcpu": Machine.host().cpu, "num-cores": task.threads})
    machine = library.relax.VirtualMachine(library.compile(module, target), library.cpu())
    inputs = [library.runtime.tensor(array) for array in task.workload.inputs.values()]

    def call() -> list[Array]:
        results = machine["main"](*inputs)
        return [np.from_dlpack(r) for r in ([results] if hasattr(results, "numpy") else results)]

    return call


def _tool(name: str, *arguments: str | Path) -> None:
    """Runs a command that came with a peer's package.

    It may install nothing: MNN's converter would fetch what reports to its makers, and an older protobuf with it.
    """
    beside = Path(sys.executable).with_name(name)
    command = [str(beside) if beside.exists() else name, *map(str, arguments)]
    environment = {**os.environ, "PIP_NO_INDEX": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise LaminaError(f"{name} failed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
