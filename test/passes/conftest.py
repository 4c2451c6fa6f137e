"""Kernels as machine code, for tests of what passes mean."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from xdsl.parser import Parser

from lamina.backends.cpu.build import effort_for
from lamina.backends.cpu.emit import module_text, object_code, optimise
from lamina.backends.cpu.jit import link, pool
from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.compiler.pass_manager import verify_after
from lamina.compiler.pipelines import parse_pipeline
from lamina.dialects import all_dialects
from lamina.passes import all_passes

TO_LLVM = (
    "canonicalize,cse,convert-affine-to-scf,convert-parallel-to-runtime,canonicalize,cse,"
    "convert-scf-to-cf,convert-dot-to-llvm,convert-to-llvm"
)


def call_kernel(text: str, pipeline: str, arrays: Sequence[np.ndarray], cores: int = 2, machine: str = "") -> None:
    """Compiles the public function @kernel on memrefs in `text` and calls it on `arrays`, which it changes.

    For this machine, or for one that it can stand in for.
    """
    machine = replace(Machine.preset(machine) if machine else Machine.host(), cores=cores)
    ctx = LaminaContext(machine=machine)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    effort = effort_for(module)
    for pass_ in parse_pipeline(f"{pipeline},{TO_LLVM}", all_passes()):
        pass_.apply(ctx, module)
        verify_after(pass_.name, module)
    threads = pool(cores, machine)
    code = optimise(module_text(module, machine, effort), machine, effort)
    library = link([object_code(code, machine), threads.object], ["kernel"])
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 1))
    signature(library["kernel"])(*(array.ctypes.data for array in arrays), threads.context)


@pytest.fixture
def kernel() -> Callable[..., None]:
    """`call_kernel`."""
    return call_kernel
