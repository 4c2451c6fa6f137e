"""From the llvm dialect to machine code: LLVM IR text, LLVM's O3 pipeline for the machine at hand, an object.

llvmlite is imported on first use: reading this module costs nothing.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine


BF16 = "avx512bf16"  # LLVM's name of the feature


class Effort(Enum):
    """What is left for LLVM's own passes to do."""

    TIDY = auto()  # register tiles: vectors, hoisted, merged and unrolled as told. Only peepholes
    TILES = auto()  # the same with more around them: -O2, which vectorises copies, and unrolls nothing
    ALL = auto()  # -O3


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


def module_text(module: ModuleOp, machine: Machine, effort: Effort = Effort.ALL) -> str:
    """LLVM IR of a module of the llvm dialect, for `machine`."""
    from ...dialects.llvm.text import print_module  # heavy, and not needed to load what is cached

    layout = str(target_machine(machine).target_data)
    return print_module(module, triple=machine.triple, data_layout=layout, as_told=effort is not Effort.ALL)


def with_target(text: str, machine: Machine) -> str:
    """LLVM IR text that names no target, made for `machine`."""
    layout = str(target_machine(machine).target_data)
    return f'target datalayout = "{layout}"\ntarget triple = "{machine.triple}"\n{text}'


def optimise(text: str, machine: Machine, effort: Effort = Effort.ALL) -> ModuleRef:
    """Parses, verifies and optimises LLVM IR.

    Products and Winograd's transforms are as fast after peepholes alone (`TIDY`) as after -O2, which takes LLVM three
    times as long; depthwise convolutions lose up to a few percent by it.
    A failure here is a defect of ours: RuntimeError with LLVM's words.
    """
    binding = llvm()
    module: ModuleRef = binding.parse_assembly(text)
    target = generator_for(machine, _multiplies(module))
    module.verify()
    tuning = binding.PipelineTuningOptions(speed_level=3 if effort is Effort.ALL else 2)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = tuning.loop_unrolling = effort is Effort.ALL
    tuning.loop_interleaving = True
    builder = binding.create_pass_builder(target, tuning)
    if effort is Effort.TIDY:
        passes = binding.create_new_module_pass_manager()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_loop_unroll_pass()
    else:
        passes = builder.getModulePassManager()
    passes.run(module, builder)
    return module


def object_code(module: ModuleRef, machine: Machine) -> bytes:
    """The relocatable object of an optimised module."""
    return generator_for(machine, _multiplies(module)).emit_object(module)


def assembly(module: ModuleRef, machine: Machine) -> str:
    """The assembly text of an optimised module."""
    return generator_for(machine, _multiplies(module)).emit_assembly(module)
