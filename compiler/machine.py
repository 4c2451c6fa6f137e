"""Machine descriptions: the facts of a processor that passes may ask for, kept as data files."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path

from .diagnostics import LaminaError
from .folders import cache_folder
from .gpu import Gpu
from .measured import Measured
from .tile_permission import usable

WORTH_FORKING = 200_000  # where nothing was measured: about 2 µs to fork and join, at 100 GFLOP/s
AS_FAST_AS_MEMORY = {  # functions, by processor; measured
    "znver3": frozenset({"math.exp"}),
    "znver4": frozenset({"math.exp"}),
    "znver5": frozenset({"math.exp", "math.tanh", "math.erf"}),
}
# An instruction for pairs of bfloat16 takes as long as four for f32, which do twice as much; measured on the first two.
SLOW_PAIRS = frozenset({"sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"})
FAIR = 64 << 20  # bytes of the last cache for each core: no processor has as much
APART = 1.0  # microseconds that threads lose over forking and joining: the data of one is in the caches of another


@dataclass(frozen=True)
class Machine:
    """A CPU as the cost model sees it. Sizes in bytes; `vector_bytes` is the widest SIMD register."""

    name: str
    triple: str
    cpu: str
    features: tuple[str, ...]  # LLVM feature names without "+"; "-x" says that x is missing
    vector_bytes: int
    vector_registers: int
    fma_ports: int
    cores: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    cache_line: int = 64
    scratch_registers: int = 1  # vector registers that a register tile leaves to the code generator
    measured: Measured | None = None
    gpu: Gpu | None = field(default=None, compare=False, repr=False)  # what it is a part of

    @property
    def fuses(self) -> bool:
        """Whether a product and a sum are one instruction with one rounding."""
        return not self._x86 or not {"fma", "avx512f"}.isdisjoint(self.features)

    @property
    def rounds(self) -> bool:
        """Whether rounding a float to an integer is an instruction."""
        return not self._x86 or not {"sse4.1", "avx", "avx2", "avx512f"}.isdisjoint(self.features)

    @property
    def converts_halves(self) -> bool:
        """Whether f16 to f32 and back are instructions."""
        return not self._x86 or not {"f16c", "avx512f"}.isdisjoint(self.features)

    @property
    def table_lanes(self) -> int:
        """How many numbers of 32 bits a register has from which an instruction takes what lanes of another say, or 0.

        Where there are sixteen, an instruction scales by powers of two, too.
        """
        if not self._x86:
            return 0
        return 16 if "avx512f" in self.features else 8 if {"avx2", "fma"} <= set(self.features) else 0

    @property
    def vectors_are_lines(self) -> bool:
        """Whether the widest register holds a line of the cache: each load of one then takes a line, and all of it."""
        return self.vector_bytes == self.cache_line

    @property
    def vectors_are_half_lines(self) -> bool:
        """Whether two of the widest registers hold a line of the cache."""
        return 2 * self.vector_bytes == self.cache_line

    @property
    def asks_rather_while_reading(self) -> bool:
        """Whether of two loops the one that writes nothing should ask memory for other lines."""
        return self.cpu in ("znver4", "znver5")

    @property
    def asks_while_writing(self) -> bool:
        """Whether a loop that writes asks memory for other lines as well as any: on Zen 4 both take longer so."""
        return not self._zen_4

    @property
    def places_read(self) -> int:
        """From how many places far apart a core reads the fastest, if it does nothing else."""
        return 2 if self._zen_4 else 4

    @property
    def places_summed(self) -> int:
        """The same for what becomes one number: a part of an array, whose places are nearer to each other."""
        return 8 if self._zen_4 else 4

    @property
    def rows_fetched(self) -> int:
        """How many rows that are read side by side it fetches ahead of at once."""
        return 16 if self._zen_4 else 32

    @property
    def kept_bytes(self) -> int:
        """Bytes that the last cache keeps beside as many others; 0 if that is not known.

        A virtual machine may show a cache that is mostly others': only as much counts as its cores can have.
        """
        return min(self.l3_bytes, self.cores * FAIR) // 2

    @property
    def large_bytes(self) -> int:
        """From how many bytes on a result displaces what is read from the last cache; 0 if that is not known.

        On Zen 5 two threads write past the caches no faster than one: 16 MB from as many take 0.14 to 0.26 ms as usual,
        0.21 to 0.44 past them, 32 MB 0.49 to 1.13 and 0.42 to 0.98, by where the two cores are. On Zen 4 four arrays
        put together in 8 MB and the largest of each column of that take 0.37 ms as usual and 0.57 past the caches, with
        two threads 0.15 and 0.51; powers of 12 MB so 0.75 and 0.86, 0.44 and 0.86, of 24 MB 2.10 and 1.98, 1.50 and
        1.86.
        """
        if self.cpu in ("znver4", "znver5") and self.cores > 1:
            return self.kept_bytes * 3 // 2
        return self.kept_bytes * 3 // 4 if self._zen_4 else self.kept_bytes

    @property
    def last_cache_is_near(self) -> bool:
        """Whether the last cache brings rows of A as fast as tiles take them, so that L2 may be left to panels of B."""
        return self.cpu == "znver5"

    @property
    def keeps_rbp(self) -> bool:
        """Whether `rbp` had better be a frame pointer: loads of arrays that are told from it are slower than others."""
        return self.cpu in ("sapphirerapids", "emeraldrapids", "graniterapids")

    @property
    def turns_by_lines(self) -> bool:
        """Whether a transpose fills a line's width of rows at a time where rows share places of the first cache."""
        return self.cpu == "znver5"

    @property
    def as_fast_as_memory(self) -> frozenset[str]:
        """Functions of f32 that it computes as fast as memory brings and takes numbers."""
        return AS_FAST_AS_MEMORY.get(self.cpu, frozenset())

    @property
    def computes_ahead_bytes(self) -> int:
        """From how many bytes on loops that compute functions of an array ask for what comes; 0 if it fetches that."""
        return self.kept_bytes if self.cpu in ("znver3", "znver5") else 0

    @property
    def reads_ahead_bytes(self) -> int:
        """From how many bytes on loops that only read an array ask for what comes; 0 if it fetches that."""
        return self.l2_bytes if self.cpu == "znver5" else 0

    @property
    def asks_for_results_bytes(self) -> int:
        """From how many bytes on loops ask for the lines that they will write; 0 if stores hardly wait for them."""
        return self.l2_bytes // 2 if self.cpu in ("sapphirerapids", "emeraldrapids") else 0

    @property
    def operands_from_memory(self) -> bool:
        """Whether arithmetic reads an operand from memory, so that constants need no registers."""
        return self._x86

    @property
    def streams_stores(self) -> bool:
        """Whether vectors are stored past the caches by an instruction of its own, if they are aligned."""
        return self._x86

    @property
    def _zen_4(self) -> bool:
        return self.cpu == "znver4"

    @property
    def _x86(self) -> bool:
        return self.triple.startswith("x86_64")

    def lanes(self, element_bytes: int) -> int:
        """How many elements of `element_bytes` one register holds."""
        return self.vector_bytes // element_bytes

    @property
    def multiplies_bf16(self) -> bool:
        """Whether it multiplies pairs of bfloat16 and adds them up in f32, in less time than it does that in f32."""
        vectors = "avx512bf16" in self.features and self.cpu not in SLOW_PAIRS
        return vectors or any(feature in self.features for feature in ("amx-bf16", "mma"))

    @property
    def multiplies_f16(self) -> bool:
        """Whether it multiplies float16 and adds up in f32."""
        return "mma" in self.features

    @property
    def multiplies_bytes(self) -> bool:
        """Whether it multiplies fours of bytes and adds them up in 32 bits."""
        return any(name in self.features for name in ("avx512vnni", "avxvnni", "avxvnniint8", "amx-int8", "dotprod"))

    @property
    def multiplies_pairs_of_bytes(self) -> bool:
        """Whether it multiplies unsigned bytes by signed ones and adds up two products, which must fit in 16 bits."""
        return self._x86 and "avx2" in self.features and not self.multiplies_bytes

    @property
    def wants_unsigned_bytes(self) -> bool:
        """Whether its vectors multiply unsigned bytes by signed ones, and no others."""
        vnni = "avx512vnni" in self.features or "avxvnni" in self.features
        return vnni and "avxvnniint8" not in self.features

    def has_tiles(self, feature: str) -> bool:
        """Whether it multiplies tiles of what `feature` (amx-bf16, amx-int8) says."""
        return "amx-tile" in self.features and feature in self.features

    @property
    def measured_file(self) -> Path:
        """Where `lamina targets --measure` keeps what it found."""
        return cache_folder() / "machines" / f"{self.identity}.toml"

    @property
    def worth_forking(self) -> int:
        """Multiply-adds of a task that take as long as starting threads for it costs: below, one thread is faster.

        Of n cores each does a part, so that 1 - 1/n of the time is won.
        """
        if self.measured is None or self.cores == 1:
            return WORTH_FORKING
        rate = self.measured.fma_gflops * 1e9 / 2
        seconds = (self.measured.fork_join_us + APART) * 1e-6
        found = round(seconds * rate * self.cores / (self.cores - 1))
        return min(found, 10 * WORTH_FORKING)  # a busy moment while measuring must not turn threads off

    @property
    def identity(self) -> str:
        """Names the processor, for files that hold what was found out about it: `znver3-2-1a2b3c4d`.

        Differs where cores, features or caches do; not by what was measured.
        """
        told = (self.triple, self.features, self.l1_bytes, self.l2_bytes, self.l3_bytes)
        return f"{self.cpu}-{self.cores}-{hashlib.sha256(repr(told).encode()).hexdigest()[:8]}"

    @staticmethod
    def preset(name: str) -> Machine:
        """The description in `machines/<name>.toml`. Raises LaminaError when there is none."""
        file = resources.files(__package__ or "") / "machines" / f"{name}.toml"
        if not file.is_file():
            raise LaminaError(f"unknown machine '{name}'", hint="`lamina targets` lists them")
        data = tomllib.loads(file.read_text())
        data["features"] = tuple(data["features"])
        return Machine(name=name, **data)

    @staticmethod
    def names() -> list[str]:
        """The machines that are described."""
        files = resources.files(__package__ or "") / "machines"
        return sorted(file.name.removesuffix(".toml") for file in files.iterdir() if file.name.endswith(".toml"))

    @staticmethod
    def host() -> Machine:
        """This machine, as the operating system and LLVM see it, with what was measured of it, if that was done."""
        return _measured_host(cache_folder())

    @staticmethod
    def for_triple(detail: str) -> Machine:
        """A generic machine for `triple[,feature...]`, or the preset of that name.

        >>> Machine.for_triple("x86_64-unknown-linux-gnu,avx512f").vector_bytes
        64

        Raises LaminaError for an architecture that has no description.
        """
        triple, *features = detail.split(",")
        if triple in Machine.names():
            base = Machine.preset(triple)
            return replace(base, name=detail, features=_merged(base, features)) if features else base
        architecture = triple.partition("-")[0]
        if architecture == "x86_64" and "linux" in triple:
            base = Machine.preset("x86-64-avx512" if "avx512f" in features else "x86-64-avx2")
        elif architecture in ("aarch64", "arm64"):
            base = Machine.preset("aarch64-neon")
        else:
            return Machine.preset(triple)
        return replace(base, name=detail, triple=triple, features=_merged(base, features))


def _merged(base: Machine, features: Sequence[str]) -> tuple[str, ...]:
    """The features of `base` and those asked for; a "-x" takes the place of x."""
    without = {feature.removeprefix("-") for feature in features if feature.startswith("-")}
    return tuple(dict.fromkeys((*(f for f in base.features if f not in without), *features)))


@cache
def _measured_host(folder: Path) -> Machine:
    """The host with what is kept below `folder`."""
    host = _host()
    return replace(host, measured=Measured.read(host.measured_file))


def forget_measurements() -> None:
    """Lets `Machine.host` look again at what was measured."""
    _measured_host.cache_clear()


@cache
def _host() -> Machine:
    import llvmlite.binding as llvm  # heavy: only who compiles for this machine pays

    triple = llvm.get_default_triple()
    enabled = usable(dict(llvm.get_host_cpu_features()))
    base = Machine.for_triple(triple)
    if base.triple.startswith("x86_64"):
        name = "x86-64-avx512" if enabled.get("avx512f") else "x86-64-avx2" if enabled.get("avx2") else "x86-64"
        base = Machine.preset(name)
    features = tuple(name if on else f"-{name}" for name, on in sorted(enabled.items()))
    sizes = _cache_sizes()
    return replace(
        base,
        name="host",
        triple=triple,
        cpu=llvm.get_host_cpu_name(),
        features=features,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        l1_bytes=sizes.get(1, base.l1_bytes),
        l2_bytes=sizes.get(2, base.l2_bytes),
        l3_bytes=sizes.get(3, base.l3_bytes),
    )


def _cache_sizes() -> dict[int, int]:
    """Bytes of the data caches by level, from Linux's sysfs; empty where there is none."""
    found: dict[int, int] = {}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        unit = {"K": 1 << 10, "M": 1 << 20}.get(size[-1:], 1)
        digits = size.rstrip("KM")
        if kind != "Instruction" and level.isdigit() and digits.isdigit():
            found[int(level)] = int(digits) * unit
    return found
