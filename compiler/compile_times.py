"""Where compilation takes its time: by pass on the whole model, by pass summed over kernels, and by kernel.

All in seconds of CPU time of the thread that did it.
"""

from __future__ import annotations

import json
import struct
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .pass_manager import Instrumentation

VERIFY = "(verify)"
now = time.thread_time  # of this thread's CPU: other programs on the machine do not count
_LENGTH = struct.Struct("<Q")


class PassTimes(Instrumentation):
    """Seconds by pass name, added up over all runs; verification is a row of its own."""

    def __init__(self, seconds: dict[str, float] | None = None) -> None:
        self.seconds: dict[str, float] = seconds if seconds is not None else {}
        self._started = 0.0

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._started = now()

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        applied = now()
        self.add(pass_.name, applied - self._started)
        self._started = applied

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        self.add(VERIFY, now() - self._started)

    def add(self, name: str, seconds: float) -> None:
        """Adds to a row."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


@dataclass
class KernelTimes:
    """One kernel's way to machine code, in seconds; a cached kernel took none.

    `text` is printing LLVM IR, `assembler` what a program of its own takes that assembles.
    """

    name: str
    passes: dict[str, float] = field(default_factory=dict[str, float])
    text: float = 0.0
    llvm: float = 0.0
    assembler: float = 0.0
    code_bytes: int = 0
    origin: str = ""
    cached: bool = False

    @property
    def lowering(self) -> float:
        """Seconds in our passes."""
        return sum(self.passes.values()) + self.text

    @property
    def total(self) -> float:
        """Seconds of this kernel in the process that compiled it."""
        return self.lowering + self.llvm + self.assembler

    def with_payload(self, payload: bytes) -> bytes:
        """The times and what was made, as one run of bytes that a process can send."""
        head = json.dumps([self.passes, self.text, self.llvm, self.assembler]).encode()
        return _LENGTH.pack(len(head)) + head + payload

    def take(self, data: bytes) -> bytes:
        """Reads what `with_payload` wrote and gives the payload."""
        (length,) = _LENGTH.unpack_from(data)
        end = _LENGTH.size + length
        self.passes, self.text, self.llvm, self.assembler = json.loads(data[_LENGTH.size : end])
        return data[end:]


@dataclass
class CompileTimes:
    """What is collected when `Options.times` asks for it. Kernels compile in parallel."""

    module: PassTimes = field(default_factory=PassTimes)
    kernels: list[KernelTimes] = field(default_factory=list[KernelTimes])

    def passes(self) -> list[tuple[str, float, float]]:
        """Each pass with its seconds on the whole model and summed over kernels; the longest first."""
        kernels = PassTimes()
        for kernel in self.kernels:
            for name, seconds in kernel.passes.items():
                kernels.add(name, seconds)
        names = dict.fromkeys((*self.module.seconds, *kernels.seconds))
        rows = [(name, self.module.seconds.get(name, 0.0), kernels.seconds.get(name, 0.0)) for name in names]
        return sorted(rows, key=lambda row: -row[1] - row[2])

    def by_kernel(self) -> list[KernelTimes]:
        """The kernels, the longest first."""
        return sorted(self.kernels, key=lambda kernel: -kernel.total)

    def to_json(self) -> dict[str, Any]:
        """For programs: passes and kernels, sorted, all in seconds."""
        return {
            "passes": [{"name": n, "module": m, "kernels": k} for n, m, k in self.passes()],
            "kernels": [{**asdict(k), "lowering": k.lowering, "total": k.total} for k in self.by_kernel()],
        }
