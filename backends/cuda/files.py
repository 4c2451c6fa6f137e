"""The files that `lamina compile` writes for CUDA: all kernels of a model as one PTX text or one cubin."""

from __future__ import annotations

from pathlib import Path

from ...compiler.artefact import written_whole
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from .. import Options
from .assembler import assemble
from .emit import module_text, ptx_of
from .target import CudaTarget


def write_device(program: Program, output: Path, detail: str, options: Options) -> list[str]:
    """Writes `.ptx` or `.cubin`; what each kernel needs of a multiprocessor comes back as lines for people.

    Raises LaminaError where machine code is asked for and there is no assembler.
    """
    target = CudaTarget(detail)
    lowered = target.lower(program, "llvm", options)
    ptx = ptx_of(module_text(lowered.module), target.architecture)
    made = assemble(ptx, target.architecture.name)
    if output.suffix == ".cubin" and not made.cubin:
        raise LaminaError("machine code for CUDA needs ptxas, which is not here", hint="pip install nvidia-cuda-nvcc")
    with written_whole(output) as file:
        file.write(made.cubin if output.suffix == ".cubin" else ptx.encode())
    return [
        f"{name}: {needs.registers} registers, {needs.shared_bytes} bytes shared, {needs.stack_bytes} bytes of stack, "
        f"{needs.spill_bytes} bytes spilled, {needs.barriers} barriers"
        for name, needs in made.resources.items()
    ]
