"""Ahead of time: one object (or assembly, LLVM IR, shared library) with a C header and a file of weights.

    lamina compile resnet50.onnx -o resnet50.o       # and resnet50.h, resnet50.weights
    cc main.c resnet50.o -lpthread

The object holds the kernels, the entry and the thread pool; it needs libc and pthread alone.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...compiler.artefact import written_whole
from ...compiler.compile_times import KernelTimes, now
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.program import Program
from ...compiler.signature import Signature, TensorSpec
from ...compiler.workers import parallel_map, usable_cores
from .. import Options
from ..buffers import arena_bytes, constants_of
from .build import ENTRY, load_passes, lowered_text, split
from .emit import assembly, llvm, object_code, optimise, with_target
from .pipeline import KERNEL_PHASES
from .runtime import runtime_ir, startup_ir
from .target import CpuTarget

if TYPE_CHECKING:
    pass

_C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class _Argument:
    """An input or output as C sees it; `lender` is the input that lends an output its memory, and so its parameter."""

    spec: TensorSpec
    c_name: str
    written: bool
    lender: int | None = None
    lends: bool = False

    @property
    def declaration(self) -> str:
        const = "" if self.written or self.lends else "const "
        return f"{const}{_C_TYPES.get(self.spec.dtype, 'void')} *{self.c_name}"


def write_native(program: Program, output: Path, detail: str, options: Options) -> None:
    """Compiles `program` and writes `output` (.o, .so, .s or .ll) with `.h` and `.weights` of the same name beside it.

    `detail` is the machine, as behind the colon of `cpu:`; empty means this one. Raises LaminaError for what cannot
    be lowered, symbolic shapes, and when a shared library is asked for where there is no linker.
    """
    if program.signature.symbols:
        symbols = ", ".join(program.signature.symbols)
        raise LaminaError(f"the model has symbolic dimensions ({symbols})", hint="fix them with --shape NAME=SIZE")
    target = CpuTarget(detail)
    lowered = target.lower(program, "buffers", options)
    lowered.record_signature()
    name = _identifier(output.stem)
    arguments = _arguments(lowered.signature)
    module = _linked(lowered, target.machine, _wrapper(name, arguments), options)
    match output.suffix:
        case ".ll":
            data = str(module).encode()
        case ".s":
            data = assembly(module, target.machine).encode()
        case ".so":
            data = _shared_library(object_code(module, target.machine))
        case _:
            data = object_code(module, target.machine)
    weights = constants_of(lowered)
    header = _header(name, arguments, arena_bytes(lowered.module), weights.nbytes, output.name)
    with written_whole(output) as file:
        file.write(data)
    with written_whole(output.with_suffix(".h")) as file:
        file.write(header.encode())
    with written_whole(output.with_suffix(".weights")) as file:
        for block in weights.blocks():
            file.write(block.data)


def _identifier(name: str) -> str:
    """`name` as a C identifier.

    >>> _identifier("resnet-50")
    'resnet_50'
    """
    word = re.sub(r"\W", "_", name, flags=re.ASCII) or "model"
    return f"model_{word}" if word[0].isdigit() else word


def _arguments(signature: Signature) -> list[_Argument]:
    taken = {"arena", "weights", "threads"}
    result: list[_Argument] = []
    lenders = {output: given for given, output in signature.aliases}
    for specs, written in ((signature.inputs, False), (signature.outputs, True)):
        for i, spec in enumerate(specs):
            name = base = _identifier(spec.name)
            number = 2
            while name in taken:
                name, number = f"{base}_{number}", number + 1
            taken.add(name)
            lender = lenders.get(i) if written else None
            result.append(_Argument(spec, name, written, lender, not written and i in lenders.values()))
    return result


def _linked(program: Program, machine: Machine, wrapper: str, options: Options):
    """All kernels, `@main`, the pool and the C entry, optimised, in one LLVM module."""
    parts, _ = split(program.module, program.context, KERNEL_PHASES)
    load_passes(KERNEL_PHASES)

    def work(i: int) -> bytes:
        spent = KernelTimes("")
        text = lowered_text(parts[i], program.context, verify_each=options.verify_each, spent=spent)
        start = now()
        code = optimise(text, machine, parts[i].effort).as_bitcode()
        spent.llvm = now() - start
        return spent.with_payload(code)

    codes: dict[int, bytes] = {}
    for i, data in parallel_map(work, len(parts), usable_cores(), [part.name for part in parts]):
        spent = KernelTimes(parts[i].name)
        codes[i] = spent.take(data)
        if options.times is not None:
            options.times.kernels.append(spent)
    binding = llvm()
    whole = optimise(with_target(runtime_ir(machine) + startup_ir(machine), machine), machine)
    for i in range(len(parts)):
        whole.link_in(binding.parse_bitcode(codes[i]))
    public = {function.name for function in whole.functions if function.name.startswith("lamina_pool_")}
    whole.link_in(binding.parse_assembly(with_target(wrapper, machine)))
    for function in whole.functions:
        if function.is_declaration or str(function.linkage).endswith("internal"):
            continue
        if function.name.startswith("lamina_"):
            # several models may be linked into one program: they share one pool, and nothing else
            function.linkage = "weak_odr" if function.name in public else "internal"
    whole.verify()
    return whole


def _wrapper(name: str, arguments: Sequence[_Argument]) -> str:
    """LLVM IR of the C entry, which lays its arguments out as arrays."""
    inputs = [a for a in arguments if not a.written]
    outputs = [a for a in arguments if a.written]
    lines = [f"declare i32 @{ENTRY}(ptr, ptr, ptr, ptr, ptr)", ""]
    parameters = [f"ptr %a{i}" for i, argument in enumerate(arguments) if argument.lender is None]
    parameters += ["ptr %arena", "ptr %weights", "ptr %threads"]
    lines.append(f"define i32 @{name}_run({', '.join(parameters)}) {{")
    for label, group, first in (("inputs", inputs, 0), ("outputs", outputs, len(inputs))):
        lines.append(f"  %{label} = alloca [{max(1, len(group))} x ptr]")
        for i, argument in enumerate(group):
            lines.append(f"  %{label}{i} = getelementptr ptr, ptr %{label}, i64 {i}")
            place = first + i if argument.lender is None else argument.lender
            lines.append(f"  store ptr %a{place}, ptr %{label}{i}")
    call = f"call i32 @{ENTRY}(ptr %inputs, ptr %outputs, ptr %arena, ptr %weights, ptr %threads)"
    lines += [f"  %status = {call}", "  ret i32 %status", "}", ""]
    return "\n".join(lines)


def _header(name: str, arguments: Sequence[_Argument], arena: int, weights: int, file: str) -> str:
    upper = name.upper()
    lines = [
        f"/* {file}: compiled by lamina. Link with -lpthread. */",
        f"#ifndef LAMINA_{upper}_H",
        f"#define LAMINA_{upper}_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {upper}_ARENA_BYTES {max(arena, 64)}   /* scratch for one call, aligned to 64 bytes */",
        f"#define {upper}_WEIGHTS_BYTES {weights}   /* the file {Path(file).stem}.weights, aligned to 64 bytes */",
    ]
    for argument in arguments:
        size = 1
        for extent in argument.spec.shape:
            size *= int(extent)
        lines.append(f"#define {upper}_{argument.c_name.upper()}_SIZE {size}   /* {argument.spec} */")
    declarations = ",\n    ".join(
        [argument.declaration for argument in arguments if argument.lender is None]
        + ["void *arena", "const void *weights", "void *threads"]
    )
    lines += [
        f"/* {a.c_name} is computed in the memory of {arguments[a.lender].c_name}, which holds it after a call. */"
        for a in arguments
        if a.lender is not None
    ]
    lines += [
        "",
        "/* One inference; 0 when it went well. Buffers hold row-major elements. Calls may run at the same time with",
        "   different arenas. `threads` is a pool, or NULL to run on the caller's thread alone. Large weights and",
        "   arenas are faster in large pages: on Linux memory aligned to 2 MB, and madvise with MADV_HUGEPAGE. */",
        f"int {name}_run(\n    {declarations});",
        "",
        "#ifndef LAMINA_POOL",
        "#define LAMINA_POOL",
        "void *lamina_pool_create(int threads);   /* the caller counts as one; NULL: no memory */",
        "void lamina_pool_destroy(void *pool);",
        "#endif",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _shared_library(data: bytes) -> bytes:
    """Links an object into a shared library with the system's compiler or linker."""
    tool = next((found for name in ("cc", "gcc", "clang", "ld") if (found := shutil.which(name))), None)
    if tool is None:
        raise LaminaError("no linker found to make a shared library", hint="write a .o and link it elsewhere")
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "model.o"), Path(folder, "model.so")
        source.write_bytes(data)
        done = subprocess.run(
            [tool, "-shared", "-o", str(result), str(source)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise LaminaError(f"{tool} could not link the shared library: {done.stderr.strip()}")
        return result.read_bytes()
