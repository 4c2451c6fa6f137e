"""Peers that do not read ONNX: they get a case as functions of their own library (`Workload.functions`)."""

from __future__ import annotations

import warnings
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...compiler.signature import Array
from .peers import Call, Task, Unsupported


def numpy(task: Task) -> Call:
    """NumPy, whose products are OpenBLAS."""
    function = _function(task, "numpy")
    arrays = [*task.workload.inputs.values(), *task.workload.constants.values()]
    return lambda: _arrays(function(np, *arrays))


def jax(task: Task) -> Call:
    """XLA through `jax.jit`. Constants are arguments, as the weights of a model in JAX are."""
    function = _function(task, "jax")
    library: Any = __import__("jax")
    library.config.update("jax_platforms", "cpu")
    arrays = [library.numpy.asarray(a) for a in (*task.workload.inputs.values(), *task.workload.constants.values())]
    compiled = library.jit(lambda *values: function(library, *values)).lower(*arrays).compile()
    return lambda: _arrays(library.block_until_ready(compiled(*arrays)))


def torch(task: Task) -> Call:
    """PyTorch, eager: oneDNN and MKL underneath."""
    return _torch(task, compiled=False)


def inductor(task: Task) -> Call:
    """PyTorch's compiler with frozen weights."""
    return _torch(task, compiled=True)


def _torch(task: Task, compiled: bool) -> Call:
    library: Any = __import__("torch")
    library.set_num_threads(task.threads)
    library.set_grad_enabled(False)
    module = task.workload.functions.get("torch_module")
    inputs = [_tensor(library, array) for array in task.workload.inputs.values()]
    if module is None:
        function = _function(task, "torch")
        constants = [_tensor(library, array) for array in task.workload.constants.values()]

        class Layer(library.nn.Module):  # its weights are parameters, or freezing would not see them
            def __init__(self) -> None:
                super().__init__()
                self.weights = library.nn.ParameterList(
                    [library.nn.Parameter(c, requires_grad=False) for c in constants]
                )

            def forward(self, *values: Any) -> Any:
                return function(library, *values, *self.weights)

        made: Any = Layer().eval()
    else:
        made = module()
    if compiled:
        config: Any = __import__("torch._inductor.config")._inductor.config
        config.freezing = True
        config.fx_graph_cache = False
        made = library.compile(made)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made(*inputs)  # compiles

    def call() -> list[Array]:
        result = made(*inputs)
        return [_array(library, t) for t in (result if isinstance(result, tuple | list) else (result,))]

    return call


def _tensor(library: Any, array: Array) -> Any:
    if array.dtype == ml_dtypes.bfloat16:  # which PyTorch does not take from NumPy
        return library.from_numpy(np.array(array).view(np.int16)).view(library.bfloat16)
    return library.from_numpy(np.array(array))


def _array(library: Any, tensor: Any) -> Array:
    if tensor.dtype == library.bfloat16:
        return tensor.view(library.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def ncnn(task: Task) -> Call:
    """ncnn in float32, Winograd and packed layouts on, as it comes.

    A case gives the lines of a network between `a` and `y`, and the weights in the order in which ncnn reads them:
    those of a layer's main weight are preceded by a zero word, which says float32.
    """
    library: Any = __import__("ncnn")
    constants = list(task.workload.constants.values())
    layers, weights = _function(task, "ncnn")(constants)
    lines = layers.splitlines()
    (name, array), *others = task.workload.inputs.items()
    if others or name != "a":
        raise Unsupported("ncnn is given cases with one input")
    text = "\n".join(["7767517", f"{len(lines) + 1} {len(lines) + 1}", "Input a 0 1 a", *lines, ""])
    (parameters := task.scratch / "model.param").write_text(text)
    flagged = b"".join((b"" if w.ndim == 1 else b"\0\0\0\0") + w.astype(np.float32).tobytes() for w in weights)
    (data := task.scratch / "model.bin").write_bytes(flagged)
    net = library.Net()
    net.opt.num_threads = task.threads
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    net.opt.use_packing_layout = True
    if net.load_param(str(parameters)) or net.load_model(str(data)):
        raise RuntimeError("ncnn does not load the network")
    value = library.Mat(array[0] if array.ndim > 3 else array).clone()  # a Mat does not keep the array alive

    def call() -> list[Array]:
        extractor = net.create_extractor()
        extractor.input("a", value)
        status, output = extractor.extract("y")
        if status:
            raise RuntimeError(f"ncnn gave status {status}")
        return [np.asarray(output)]

    return call


def _function(task: Task, library: str) -> Any:
    """The case in a library's words. Raises Unsupported where it has none."""
    if library not in task.workload.functions:
        raise Unsupported(f"the case is not written for {library}")
    return task.workload.functions[library]


def _arrays(result: Any) -> list[Array]:
    several = result if isinstance(result, tuple | list) else (result,)
    return [np.asarray(value) for value in cast(Any, several)]
