"""From buffers to objects: each distinct kernel is lowered on its own, cached, and `@main` calls them.

A kernel's key is its IR under canonical names, with the machine, the pipeline and the compiler; its symbol is made
from the key, so that one object serves every model in which the kernel occurs.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, Region
from xdsl.printer import Printer

from ...compiler.compile_times import CompileTimes, KernelTimes, PassTimes, now
from ...compiler.context import LaminaContext
from ...compiler.descent import Phase, descend
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.places import describe_location
from ...compiler.program import SIGNATURE, Program, main_function
from ...compiler.walking import all_ops
from ...compiler.workers import parallel_map, usable_cores
from ...passes import all_passes
from ..buffers import arena_bytes
from ..kernel_cache import KernelCache, compiler_fingerprint
from .emit import Effort, llvm_version, module_text, object_code, optimise
from .jit import runtime_object
from .pipeline import KERNEL_PHASES

ENTRY = "lamina_main"
# The inner loops of these are register tiles.
EFFORTS = {
    "contraction": Effort.TIDY,
    "winograd": Effort.TIDY,
    "depthwise": Effort.TILES,
    "separable": Effort.TILES,
    "attention": Effort.TILES,
    "matmul_nbits": Effort.TILES,
}
# How many ops of loops take as long to compile as what these become.
LENGTHS = {"contraction": 30, "winograd": 80, "depthwise": 80, "pool": 120, "attention": 200}
CALLS = 8  # ops of `@main` that take as long as one of loops
RUNTIME = "the runtime"
MAIN_PHASE = Phase(
    "llvm", "calls of kernels in order", ("convert-parallel-to-runtime", "convert-scf-to-cf", "convert-to-llvm")
)


@dataclass
class Kernel:
    """One distinct kernel: where it came from, how often it is called, whether its code was in the cache."""

    name: str
    symbol: str
    key: str
    kind: str
    origins: list[str]
    calls: int = 0
    cached: bool = False


@dataclass
class BuiltModel:
    """Machine code of a model."""

    objects: list[bytes]
    runtime: bytes  # the object of what they call
    arena_bytes: int
    kernels: list[Kernel] = field(default_factory=list[Kernel])
    entry: str = ENTRY


@dataclass
class Part:
    """A module to compile, and its key."""

    name: str
    module: ModuleOp
    key: str
    phases: Sequence[Phase]
    effort: Effort = field(init=False)  # told from the module before it descends: the mark stays above the llvm level

    def __post_init__(self) -> None:
        self.effort = effort_for(self.module)

    @property
    def length(self) -> int:
        """About how long it takes to compile, in ops of loops."""
        ops = len(all_ops(self.module))
        if self.phases == (MAIN_PHASE,):
            return ops // CALLS
        return ops + sum(LENGTHS.get(kind, 0) for kind in _kinds(self.module))


def build(
    module: ModuleOp,
    context: LaminaContext,
    *,
    cache: KernelCache | None = None,
    jobs: int | None = None,
    verify_each: bool = False,
    phases: Sequence[Phase] = KERNEL_PHASES,
    times: CompileTimes | None = None,
) -> BuiltModel:
    """Compiles a module of the buffers level (`@main` and kernels) for the machine in `context`.

    `phases` are what a kernel goes through; `jobs` how many processes compile; `times` is told of each kernel. The
    module is left unchanged.
    Raises LaminaError for what cannot be lowered.
    """
    parts, kernels = split(module, context, phases)
    names = [*(part.name for part in parts), RUNTIME]
    keys = [*(part.key for part in parts), _runtime_key(context.machine)]
    objects: dict[int, bytes] = {}
    if cache is not None:
        for i, key in enumerate(keys):
            found = cache.get(key)
            if found is not None:
                objects[i] = found
    for i, kernel in enumerate(kernels):
        kernel.cached = i in objects
    spent = [KernelTimes(name, cached=i in objects) for i, name in enumerate(names)]
    for each, kernel in zip(spent, kernels, strict=False):
        each.origin = kernel.origins[0] if kernel.origins else ""
    lengths = [*(part.length for part in parts), 0]
    todo = [i for i in range(len(names)) if i not in objects]
    todo.sort(key=lambda i: -lengths[i])  # the longest first, for an even end
    if todo:
        load_passes(phases)

        def work(number: int) -> bytes:
            spent, i = KernelTimes(""), todo[number]
            if i == len(parts):
                data = runtime_object(context.machine)
            else:
                data = compile_part(parts[i], context, verify_each=verify_each, spent=spent)
            return spent.with_payload(data)

        for number, data in parallel_map(work, len(todo), jobs or usable_cores(), [names[i] for i in todo]):
            i = todo[number]
            objects[i] = spent[i].take(data)
            if cache is not None:
                cache.put(keys[i], objects[i])
    if cache is not None:
        cache.trim()
    if times is not None:
        done = spent[: len(parts)]  # the runtime is no kernel
        for i, each in enumerate(done):
            each.code_bytes = len(objects[i])
        times.kernels.extend(done)
    return BuiltModel(
        objects=[objects[i] for i in range(len(parts))],
        runtime=objects[len(parts)],
        arena_bytes=arena_bytes(module),
        kernels=kernels,
    )


def build_whole(
    module: ModuleOp, context: LaminaContext, phases: Sequence[Phase], *, verify_each: bool = False
) -> BuiltModel:
    """Compiles a module that stands below the buffers as one piece, uncached: `phases` are those still to go."""
    program = Program(module.clone(), context)
    descend(program, phases, all_passes(), verify_each=verify_each)
    text = module_text(program.module, context.machine)
    return BuiltModel(
        objects=[object_code(optimise(text, context.machine), context.machine)],
        runtime=runtime_object(context.machine),
        arena_bytes=arena_bytes(module),
    )


def compile_part(
    part: Part, context: LaminaContext, *, verify_each: bool = False, spent: KernelTimes | None = None
) -> bytes:
    """The object of one kernel, or of `@main`; `spent` is told how long that took."""
    text = lowered_text(part, context, verify_each=verify_each, spent=spent)
    start = now()
    data = object_code(optimise(text, context.machine, part.effort), context.machine)
    if spent is not None:
        spent.llvm = now() - start
    return data


def lowered_text(
    part: Part, context: LaminaContext, *, verify_each: bool = False, spent: KernelTimes | None = None
) -> str:
    """The LLVM IR of one kernel, or of `@main`, before LLVM's own passes."""
    program = Program(part.module, context)
    watchers = [] if spent is None else [PassTimes(spent.passes)]
    # LLVM verifies what it is given: types, dominance, terminators
    descend(program, part.phases, all_passes(), verify_each=verify_each, verify=False, instrumentations=watchers)
    start = now()
    text = module_text(program.module, context.machine, part.effort)
    if spent is not None:
        spent.text = now() - start
    return text


def effort_for(module: ModuleOp) -> Effort:
    """What LLVM is to do for the kernel in a module that has not descended yet."""
    return next((EFFORTS[kind] for kind in _kinds(module) if kind in EFFORTS), Effort.ALL)


def _kinds(module: ModuleOp) -> list[str]:
    """What the kernels in a module are kernels of."""
    kinds = [op.attributes.get("lamina.kernel") for op in module.ops]
    return [kind.data for kind in kinds if isinstance(kind, StringAttr)]


def load_passes(phases: Sequence[Phase]) -> None:
    """Imports every pass now, once, instead of in each forked process, and what prints LLVM IR."""
    from ...dialects.llvm import text as _  # noqa: F401

    table = all_passes()
    for phase in (*phases, MAIN_PHASE):
        for name in phase.passes:
            table[name.partition("{")[0]]()


def split(module: ModuleOp, context: LaminaContext, phases: Sequence[Phase]) -> tuple[list[Part], list[Kernel]]:
    """The kernels and then `@main`, each in a module of its own."""
    main = main_function(module)
    salt = f"{context.machine!r}|{phases!r}|{MAIN_PHASE!r}|{compiler_fingerprint()}|{llvm_version()}"
    parts: list[Part] = []
    kernels: dict[str, Kernel] = {}
    for op in module.ops:
        if op is main or not isinstance(op, func.FuncOp):
            continue
        if not op.body.blocks:
            raise LaminaError(f"kernel @{op.sym_name.data} has no body", where=op)
        part, kernel = _kernel_part(op, salt, phases)
        parts.append(part)
        kernels[op.sym_name.data] = kernel
    parts.append(_main_part(module, main, kernels, salt))
    return _distinct(parts, list(kernels.values()))


def _distinct(parts: list[Part], kernels: list[Kernel]) -> tuple[list[Part], list[Kernel]]:
    """Kernels that turned out equal share one object."""
    seen: dict[str, Kernel] = {}
    kept: list[Part] = []
    for part, kernel in zip(parts, kernels, strict=False):
        first = seen.setdefault(kernel.key, kernel)
        if first is kernel:
            kept.append(part)
        else:
            first.calls += kernel.calls
            first.origins.extend(o for o in kernel.origins if o not in first.origins)
    return [*kept, parts[-1]], list(seen.values())


def _kernel_part(op: func.FuncOp, salt: str, phases: Sequence[Phase]) -> tuple[Part, Kernel]:
    kind = op.attributes.get("lamina.kernel")
    copy = op.clone()
    _forget_names(copy)
    copy.properties["sym_name"] = StringAttr("kernel")
    copy.properties["sym_visibility"] = StringAttr("public")
    key = _digest(copy, salt)
    symbol = f"lamina_{key[:24]}"
    copy.properties["sym_name"] = StringAttr(symbol)
    if "lamina.kernel" not in copy.attributes:
        copy.attributes["lamina.kernel"] = StringAttr("loops")
    kernel = Kernel(
        name=op.sym_name.data,
        symbol=symbol,
        key=key,
        kind=kind.data if isinstance(kind, StringAttr) else "loops",
        origins=_origins(op),
    )
    return Part(f"@{op.sym_name.data}", ModuleOp([copy]), key, phases), kernel


def _main_part(module: ModuleOp, main: Operation, kernels: dict[str, Kernel], salt: str) -> Part:
    copy = main.clone()
    _forget_names(copy)
    callees: dict[str, func.FuncOp] = {}
    for call in copy.walk():
        if not isinstance(call, func.CallOp):
            continue
        name = call.callee.string_value()
        kernel = kernels.get(name)
        if kernel is None:
            raise LaminaError(f"@main calls @{name}, which is not in the module", where=call)
        kernel.calls += 1
        call.properties["callee"] = SymbolRefAttr(kernel.symbol)
        if kernel.symbol not in callees:
            types = ([value.type for value in call.arguments], [value.type for value in call.results])
            callees[kernel.symbol] = func.FuncOp(kernel.symbol, types, Region(), "private")
    attributes = {key: module.attributes[key] for key in (SIGNATURE,) if key in module.attributes}
    whole = ModuleOp([copy, *callees.values()], attributes)
    return Part("@main", whole, _digest(whole, salt), (MAIN_PHASE,))


def _digest(op: Operation, salt: str) -> str:
    out = io.StringIO()
    Printer(stream=out).print_op(op)
    return _key(salt, out.getvalue())


def _runtime_key(machine: Machine) -> str:
    return _key(f"{machine!r}|{compiler_fingerprint()}|{llvm_version()}", RUNTIME)


def _key(salt: str, text: str) -> str:
    return hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()


def _forget_names(op: Operation) -> None:
    """Names are for people: two kernels that differ in them alone are one."""
    for inner in op.walk():
        for result in inner.results:
            result.name_hint = None
        for region in inner.regions:
            for block in region.blocks:
                for arg in block.args:
                    arg.name_hint = None


def _origins(op: func.FuncOp) -> list[str]:
    """Where a kernel's ops came from, each place once, in order."""
    places = [describe_location(inner.location) for inner in op.walk()]
    return list(dict.fromkeys(place for place in places if place))
