# pyright: reportMissingImports=false
"""Who is measured beside ours, through PyTorch: cuBLAS, cuDNN, the backends of SDPA, its compiler; and ONNX Runtime.

A peer is a function without arguments that does the work once. One that refuses a case raises whatever it raises, and
is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ....compiler.signature import Array, Signature, dtype_named
from ... import models
from ...bench.cases import Workload
from ...bench.peers import Unsupported
from ...pytorch.tensors import array_of, tensor_of, torch_module
from .cases import Timed

CUDA = "cuda"
Call = Callable[[], Any]
Making = Callable[[], Call]  # what is asked of a peer before it is timed may fail, too
ONNX_RUNTIME = "ONNX Runtime"
SDPA = ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")


def have(*packages: str) -> bool:
    """Whether these are installed."""
    return all(find_spec(package) is not None for package in packages)


def precise(tf32: bool) -> None:
    """Whether PyTorch may round operands of f32 products and convolutions to tf32 from now on."""
    torch = torch_module()
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


def tensors(workload: Workload, device: str, *, wide: bool = False) -> list[Any]:
    """Inputs and constants of a workload as PyTorch has them; floats in f32 where they are to be `wide`."""
    torch = torch_module()
    arrays = (*workload.inputs.values(), *workload.constants.values())
    found = [tensor_of(array).to(device) for array in arrays]
    return [each.to(torch.float32) if wide and each.is_floating_point() else each for each in found]


def reference(workload: Workload, device: str) -> list[Array]:
    """What PyTorch computes in f32 of the same numbers."""
    torch = torch_module()
    precise(tf32=False)
    with torch.no_grad():
        return [arrays(workload.functions["torch"](torch, *tensors(workload, device, wide=True)))[0]]


def arrays(result: Any) -> list[Array]:
    """What a peer gave, as arrays; of 16 bits as f32."""
    torch = torch_module()
    several = result if isinstance(result, tuple | list) else (result,)
    narrow = (torch.bfloat16, torch.float16)
    kept = (each.detach() for each in several)
    return [array_of((each.float() if each.dtype in narrow else each).cpu().contiguous()) for each in kept]


def of(case: Timed, workload: Workload, device: str) -> Mapping[str, Making]:
    """The peers of a program, by group; those of memory are copies, which are no peer of PyTorch's."""
    torch = torch_module()
    match case.group:
        case "gemm" | "f32-gemm" | "skinny":
            return {"cuBLAS": lambda: partial(workload.functions["torch"], torch, *tensors(workload, device))}
        case "conv":
            return {"cuDNN": lambda: _convolution(workload, device)}
        case "attention":
            return {_short(name): partial(_attention, name, workload, device) for name in SDPA}
        case _:
            return {}


def _short(backend: str) -> str:
    return "SDPA " + backend.partition("_")[0].lower()


def _convolution(workload: Workload, device: str) -> Call:
    """With channels last, by the algorithm that was fastest when cuDNN tried."""
    torch = torch_module()
    torch.backends.cudnn.benchmark = True
    x, w = tensors(workload, device)
    return partial(workload.functions["torch"], torch, x, w.contiguous(memory_format=torch.channels_last))


def _attention(backend: str, workload: Workload, device: str) -> Call:
    """With one backend alone, which raises where it refuses."""
    torch = torch_module()
    kernels: Any = __import__("torch.nn.attention", fromlist=["sdpa_kernel"])
    given = tensors(workload, device)

    def call() -> Any:
        with kernels.sdpa_kernel([getattr(kernels.SDPBackend, backend)]):
            return workload.functions["torch"](torch, *given)

    return call


def of_network(
    name: str, precision: str, device: str, onnx: Path, inputs: Mapping[str, Array], signature: Signature
) -> Mapping[str, Making]:
    """The peers of a network of PyTorch: itself, its compiler, and in f32 ONNX Runtime where it has CUDA."""
    found: dict[str, Making] = {
        "PyTorch": lambda: eager(name, precision, device),
        "torch.compile": lambda: compiled(name, precision, device),
    }
    if precision == "f32":
        found[ONNX_RUNTIME] = lambda: onnx_runtime(onnx, inputs, signature)
    return found


@dataclass(frozen=True)
class Network:
    """A module of PyTorch with its inputs."""

    module: Any
    inputs: Sequence[Any]

    def __call__(self) -> Any:
        with torch_module().no_grad():
            return self.module(*self.inputs)


@lru_cache(maxsize=1)
def eager(name: str, precision: str, device: str) -> Network:
    """A network as PyTorch runs it, attention by SDPA; in bf16 all of it is in bf16. The last one is kept."""
    torch = torch_module()
    precise(tf32=False)
    torch.manual_seed(models.SEED)
    made = models.MODELS[name]()
    module = made.module.to(device)
    with suppress(AttributeError, ValueError):
        module.inner.set_attn_implementation("sdpa")
    inputs = [each.to(device) for each in made.inputs.values()]
    if precision == "bf16":
        module = module.to(torch.bfloat16)
        inputs = [each.to(torch.bfloat16) if each.is_floating_point() else each for each in inputs]
    return Network(module, inputs)


def compiled(name: str, precision: str, device: str) -> Network:
    """The same by PyTorch's compiler, which is at work here until it is ready."""
    torch = torch_module()
    torch.compiler.reset()
    made = eager(name, precision, device)
    found = Network(torch.compile(made.module), made.inputs)
    found()
    return found


def warm(name: str, precision: str) -> None:
    """Lets PyTorch's compiler leave on disk what it makes of a network, without processes of its own."""
    config: Any = __import__("torch._inductor.config")._inductor.config
    config.compile_threads = 1
    compiled(name, precision, CUDA)


def onnx_runtime(path: Path, inputs: Mapping[str, Array], signature: Signature) -> Call:
    """ONNX Runtime on the GPU, in true f32, as a CUDA graph where the network is one. Raises Unsupported without it."""
    if not have("onnxruntime"):
        raise Unsupported("it is not installed")
    library: Any = __import__("onnxruntime")
    if "CUDAExecutionProvider" not in library.get_available_providers():
        raise Unsupported("it is installed without CUDA")
    try:
        return _bound(library, path, inputs, signature, graph=True)
    except Exception:  # not all of it runs on the GPU
        return _bound(library, path, inputs, signature, graph=False)


def _bound(library: Any, path: Path, inputs: Mapping[str, Array], signature: Signature, *, graph: bool) -> Call:
    """A session on arrays that stay on the GPU, after its first runs."""
    options = {"use_tf32": "0", "enable_cuda_graph": "1" if graph else "0"}
    session = library.InferenceSession(str(path), providers=[("CUDAExecutionProvider", options)])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        raise Unsupported("it does not find CUDA")
    results = [np.zeros(tuple(map(int, spec.shape)), dtype_named(spec.dtype)) for spec in signature.outputs]
    binding = session.io_binding()
    held = {name: library.OrtValue.ortvalue_from_numpy(array, CUDA, 0) for name, array in inputs.items()}
    for name, value in held.items():
        binding.bind_ortvalue_input(name, value)
    for spec, array in zip(signature.outputs, results, strict=True):
        held[spec.name] = library.OrtValue.ortvalue_from_numpy(array, CUDA, 0)
        binding.bind_ortvalue_output(spec.name, held[spec.name])

    def call() -> Any:
        session.run_with_iobinding(binding)
        return held

    for _ in range(3):
        call()
    return call
