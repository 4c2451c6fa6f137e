"""From the llvm dialect to PTX: LLVM IR text, LLVM's O3 pipeline for the GPU, PTX of the version asked for."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ...compiler.diagnostics import LaminaError
from .architectures import ARCHITECTURES, DEFAULT, TRIPLE, Architecture

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine

_VERSION = re.compile(r"^\.version (\d+)\.(\d+)$", re.MULTILINE)


@cache
def _llvm() -> Any:
    import llvmlite.binding as binding  # heavy

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


@cache
def _target_machine(architecture: Architecture) -> TargetMachine:
    target = _llvm().Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=architecture.name, features=f"+ptx{architecture.ptx}", opt=3)


def llvm_version() -> str:
    """`22.1.0`."""
    return ".".join(map(str, _llvm().llvm_version_info))


def module_text(module: ModuleOp) -> str:
    """LLVM IR of a module of the llvm and nvvm dialects, which is that of any architecture."""
    from ...dialects.llvm.text import print_module  # heavy

    return print_module(module, triple=TRIPLE, data_layout=str(_target_machine(ARCHITECTURES[DEFAULT]).target_data))


def ptx_of(text: str, architecture: Architecture) -> str:
    """The PTX of LLVM IR, optimised. LLVM's refusal is a defect of ours: RuntimeError with its words.

    Raises LaminaError where LLVM wrote another version of PTX than was asked for.
    """
    binding = _llvm()
    machine = _target_machine(architecture)
    module = binding.parse_assembly(text)
    module.verify()
    tuning = binding.PipelineTuningOptions(speed_level=3)
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    ptx: str = machine.emit_assembly(module)
    check_version(ptx, architecture)
    return ptx


def check_version(ptx: str, architecture: Architecture) -> None:
    """Raises LaminaError where PTX is not of the architecture's version: LLVM falls back without an error."""
    found = _VERSION.search(ptx)
    version = int(found[1]) * 10 + int(found[2]) if found else 0
    if version != architecture.ptx:
        raise LaminaError(f"LLVM wrote PTX {version / 10}, {architecture.ptx / 10} was asked for")
