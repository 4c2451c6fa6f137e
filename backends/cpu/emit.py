"""From the llvm dialect to machine code: LLVM IR text, LLVM's O3 pipeline for the machine at hand, an object.

llvmlite is imported on first use: reading this module costs nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine


BF16 = "avx512bf16"  # LLVM's name of the feature


@cache
def llvm() -> Any:
    """The llvmlite binding, with every target's code generator ready."""
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def llvm_version() -> str:
    """`22.1.0`."""
    return ".".join(map(str, llvm().llvm_version_info))


def feature_string(machine: Machine) -> str:
    """The features as LLVM takes them: `+avx2,+fma`."""
    return ",".join(name if name.startswith(("+", "-")) else f"+{name}" for name in machine.features)


@cache
def target_machine(machine: Machine) -> TargetMachine:
    """LLVM's code generator for `machine`: position independent code, so that an object fits anywhere.

    LLVM takes gathers for quick wherever there is AVX-512. On AMD's Zen 4 and 5 they take longer than as many loads.

    Raises LaminaError when LLVM does not know the triple.
    """
    try:
        target = llvm().Target.from_triple(machine.triple)
    except RuntimeError as error:
        raise LaminaError(f"LLVM has no target for '{machine.triple}': {error}") from error
    features = feature_string(machine) + (",+prefer-no-gather" if machine.cpu.startswith("znver") else "")
    return target.create_target_machine(cpu=machine.cpu, features=features, opt=3, reloc="pic", codemodel="small")


def generator_for(machine: Machine, multiplies: bool) -> TargetMachine:
    """LLVM's code generator for code that `multiplies` vectors of bfloat16, or does not.

    With AVX512-BF16, LLVM 22 has vectors of bfloat16 but no single ones, and aborts where it takes an odd vector of
    them apart, as to copy it; without, they are 16 bits. Only who needs the instructions has it enabled.
    """
    if multiplies or BF16 not in machine.features:
        return target_machine(machine)
    return target_machine(replace(machine, features=(*(f for f in machine.features if f != BF16), f"-{BF16}")))


def _multiplies(module: ModuleRef) -> bool:
    """Whether code calls the instructions of AVX512-BF16."""
    return any(function.name.startswith(f"llvm.x86.{BF16}") for function in module.functions)


def module_text(module: ModuleOp, machine: Machine) -> str:
    """LLVM IR of a module of the llvm dialect, for `machine`."""
    from ...dialects.llvm.text import print_module  # heavy, and not needed to load what is cached

    layout = str(target_machine(machine).target_data)
    return print_module(module, triple=machine.triple, data_layout=layout)


def with_target(text: str, machine: Machine) -> str:
    """LLVM IR text that names no target, made for `machine`."""
    layout = str(target_machine(machine).target_data)
    return f'target datalayout = "{layout}"\ntarget triple = "{machine.triple}"\n{text}'


def optimise(text: str, machine: Machine, *, tiled: bool = False) -> ModuleRef:
    """Parses, verifies and optimises LLVM IR at -O3; register tiles (`tiled`), at -O2.

    Those are vectors and unrolled as far as there are registers already: more takes LLVM twice as long and runs no
    faster. What is copied around them still is for LLVM to vectorise.
    A failure here is a defect of ours: RuntimeError with LLVM's words.
    """
    binding = llvm()
    module: ModuleRef = binding.parse_assembly(text)
    target = generator_for(machine, _multiplies(module))
    module.verify()
    tuning = binding.PipelineTuningOptions(speed_level=2 if tiled else 3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = not tiled
    tuning.loop_interleaving = True
    tuning.loop_unrolling = not tiled
    builder = binding.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)
    return module


def object_code(module: ModuleRef, machine: Machine) -> bytes:
    """The relocatable object of an optimised module."""
    return generator_for(machine, _multiplies(module)).emit_object(module)


def assembly(module: ModuleRef, machine: Machine) -> str:
    """The assembly text of an optimised module."""
    return generator_for(machine, _multiplies(module)).emit_assembly(module)
