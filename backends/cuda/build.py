"""From the level `gpu` to machine code: each distinct kernel on its own, found again on disk by what it is."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from ...compiler.anonymous_text import anonymous_text
from ...compiler.compile_times import CompileTimes, KernelTimes, PassTimes, now
from ...compiler.copying import copied
from ...compiler.descent import descend
from ...compiler.program import Program
from ...compiler.walking import all_ops
from ...compiler.workers import parallel_map, usable_cores
from ...dialects.gpu import KERNEL
from ...passes import all_passes
from ..buffers import arena_bytes
from ..kernel_cache import KernelCache, compiler_fingerprint
from .architectures import ANY, Architecture
from .assembler import Assembled, Resources, SpilledRegisters, assemble, ptxas_version
from .emit import llvm_version, module_text, ptx_of
from .host import steps_of
from .pipeline import DEVICE_PHASES
from .steps import Launch, Steps, changed, launches

_SYMBOL = "kernel"
_UNNAMED = "kernel_that_has_no_name_yet"
_THREADS, _ROOM = re.compile(r"^\.maxntid .*$", re.MULTILINE), ".minnctapersm"  # threads of a block; blocks at a time


@dataclass(frozen=True)
class Kernel:
    """One distinct kernel: PTX, machine code (empty without an assembler) and its needs. Its entry is `symbol`."""

    symbol: str
    ptx: str
    cubin: bytes
    resources: Resources | None


@dataclass(frozen=True)
class BuiltProgram:
    """Kernels by symbol, and what the host does."""

    kernels: dict[str, Kernel]
    steps: Steps
    arena_bytes: int

    @property
    def launches(self) -> list[Launch]:
        """All launches that there are, in order, each once."""
        return list(launches(self.steps))


def build(
    lowered: Program,
    architecture: Architecture,
    cache: KernelCache | None,
    *,
    assembled: bool = True,
    times: CompileTimes | None = None,
) -> BuiltProgram:
    """The machine code of a program on the level `gpu`, which is left unchanged; PTX only if not to be `assembled`.

    `times` is told of each kernel.
    """
    signature = lowered.signature
    steps = steps_of(lowered.module, len(signature.inputs), len(signature.outputs))
    of_text = f"{DEVICE_PHASES!r}|{compiler_fingerprint()}"
    salt = f"{architecture!r}|{of_text}|{llvm_version()}|{ptxas_version() if assembled else ''}"
    found: dict[str, bytes] = {}
    symbols: dict[str, str] = {}
    todo: dict[str, _Distinct] = {}
    spent: dict[str, KernelTimes] = {}
    for function in lowered.module.ops:
        if isinstance(function, FuncOp) and KERNEL in function.attributes:
            text = anonymous_text(function)
            key = _digest(text, salt)
            if key not in found and key not in todo:
                kept = cache.get(key) if cache is not None else None
                if kept is not None:
                    found[key] = kept
                    spent[key] = KernelTimes(f"@{function.sym_name.data}", code_bytes=len(kept), cached=True)
                else:
                    todo[key] = _Distinct(key, function, _digest(text, of_text))
            symbols[function.sym_name.data] = key
    for key, data in _compiled(list(todo.values()), _Texts(lowered, cache), architecture, assembled):
        spent[key] = KernelTimes(f"@{todo[key].function.sym_name.data}")
        found[key] = spent[key].take(data)
        spent[key].code_bytes = len(found[key])
        if cache is not None:
            cache.put(key, found[key])
    if times is not None:
        times.kernels.extend(spent.values())
    if cache is not None:
        cache.trim()
    kernels = {_symbol(key): unpacked(found[key], _symbol(key)) for key in dict.fromkeys(symbols.values())}
    named = changed(steps, lambda launch: replace(launch, kernel=_symbol(symbols[launch.kernel])))
    return BuiltProgram(kernels, named, arena_bytes(lowered.module))


@dataclass(frozen=True)
class _Distinct:
    """A kernel to compile: the key of its code for one architecture, and that of its LLVM IR for all of them."""

    key: str
    function: FuncOp
    text_key: str


@dataclass(frozen=True)
class _Texts:
    """The LLVM IR of kernels of a program. It is kept, too: that of one architecture is that of all others."""

    whole: Program
    cache: KernelCache | None

    def of(self, kernel: _Distinct, spent: KernelTimes) -> str:
        """That of a kernel, under the symbol of its code."""
        kept = self.cache.get(kernel.text_key) if self.cache is not None else None
        if kept is None:
            kept = device_text(ModuleOp([_unnamed(kernel.function)]), self.whole, spent).encode()
            if self.cache is not None:
                self.cache.put(kernel.text_key, kept)
        return kept.decode().replace(_UNNAMED, _symbol(kernel.key))


def _compiled(
    todo: list[_Distinct], texts: _Texts, architecture: Architecture, assembled: bool
) -> Iterator[tuple[str, bytes]]:
    """The code of kernels by key, with what it took, from as many processes as there are cores.

    The longest come first, for an even end.
    """
    todo.sort(key=lambda each: -len(all_ops(each.function)))
    if todo:
        table = all_passes()
        for name in (name for phase in DEVICE_PHASES for name in phase.passes):
            table[name.partition("{")[0]]()  # loaded once, for all processes

    def work(number: int) -> bytes:
        spent = KernelTimes("")
        text = texts.of(todo[number], spent)
        start = now()
        ptx = ptx_of(text, architecture)
        spent.llvm = now() - start
        start = _of_children()
        ptx, made = _assembled(ptx, architecture) if assembled else (ptx, Assembled(b""))
        spent.assembler = _of_children() - start
        kernel = Kernel(_symbol(todo[number].key), ptx, made.cubin, next(iter(made.resources.values()), None))
        return spent.with_payload(packed(kernel))

    for number, data in parallel_map(work, len(todo), usable_cores(), [_symbol(each.key) for each in todo]):
        yield todo[number].key, data


def _of_children() -> float:
    """Seconds of the processor that programs took which this process started and which have ended."""
    told = os.times()
    return told.children_user + told.children_system


def _assembled(ptx: str, architecture: Architecture) -> tuple[str, Assembled]:
    """Machine code, and the PTX that it is of.

    Unless told otherwise, ptxas will rather spill a few registers than let a multiprocessor have one block less.
    """
    try:
        return ptx, assemble(ptx, architecture.name)
    except SpilledRegisters:
        if _ROOM in ptx:
            raise
    alone = _THREADS.sub(rf"\g<0>\n{_ROOM} 1", ptx)
    return alone, assemble(alone, architecture.name)


def _symbol(key: str) -> str:
    return f"{_SYMBOL}_{key[:24]}"


def keep_kernels(module: ModuleOp) -> None:
    """Takes the host's part out of a module on the level `gpu`: what the device is given is left."""
    for op in list(module.ops):
        if not isinstance(op, FuncOp) or KERNEL not in op.attributes:
            op.detach()
            op.erase()
        else:
            op.properties.pop("sym_visibility", None)


def _unnamed(function: FuncOp) -> FuncOp:
    """A copy under the name that every kernel has until its code is made, without names of values."""
    copy = copied(function, names=False)
    copy.properties["sym_name"] = StringAttr(_UNNAMED)
    copy.properties.pop("sym_visibility", None)
    return copy


def _digest(text: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()


def device_text(module: ModuleOp, whole: Program, spent: KernelTimes) -> str:
    """The LLVM IR of kernels of the level `gpu`, which are lowered in place, for any architecture."""
    program = Program(module, whole.context.clone())
    program.context.machine = ANY
    watchers = [PassTimes(spent.passes)]
    descend(program, DEVICE_PHASES, all_passes(), verify=False, instrumentations=watchers)  # LLVM verifies what it gets
    start = now()
    text = module_text(program.module)
    spent.text = now() - start
    return text


def packed(kernel: Kernel) -> bytes:
    """A kernel as it is kept, but for its name."""
    needs = None if kernel.resources is None else asdict(kernel.resources)
    head = json.dumps({"ptx": kernel.ptx, "resources": needs}).encode()
    return len(head).to_bytes(8, "little") + head + kernel.cubin


def unpacked(data: bytes, symbol: str) -> Kernel:
    """What was `packed`. Raises ValueError, KeyError or TypeError for anything else."""
    end = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:end])
    needs = head["resources"]
    return Kernel(symbol, str(head["ptx"]), data[end:], Resources(**needs) if needs else None)
