"""The systems a case can be timed on: ours and every peer. A peer is one line here and one function that prepares it.

Such a function takes a `Task` and gives a call without arguments that runs the case once and returns its outputs as
arrays. All get the same inputs and number of threads, and float32 arithmetic where the case is float32.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array
from .cases import Workload

Call = Callable[[], list[Array]]
OURS = "lamina"


@dataclass(frozen=True)
class Settings:
    """How all cases are run: the threads of each system, how ours compiles, and which clock counts.

    `cache`: ours may take compiled code from its on-disk cache. `precision`: "bf16" lets ours, and peers that can,
    round the operands of float32 contractions.
    """

    threads: int = 1
    cache: bool = False
    precision: str = "f32"
    clock: str = "wall"


@dataclass(frozen=True)
class Task:
    """What to prepare: a workload, its model as a file, and a folder for whatever a peer writes."""

    workload: Workload
    file: Path
    scratch: Path
    settings: Settings

    @property
    def threads(self) -> int:
        """How many threads it may use."""
        return self.settings.threads


class Unsupported(Exception):
    """A peer has no way to run this case, which is no failure of it."""


@dataclass(frozen=True)
class Peer:
    """A system: `prepare` as "module:function" (a leading dot: of this package), the modules it must find installed,
    and the distribution whose version is told."""

    prepare: str
    modules: tuple[str, ...] = ()
    distribution: str = ""

    @property
    def installed(self) -> bool:
        """Whether all it needs can be imported."""
        try:
            return all(find_spec(module) is not None for module in self.modules)
        except ModuleNotFoundError:  # of the package that a module lies in
            return False

    @property
    def version(self) -> str:
        """The version of what is installed."""
        try:
            return importlib.metadata.version(self.distribution) if self.distribution else ""
        except importlib.metadata.PackageNotFoundError:
            return ""

    def load(self) -> Callable[[Task], Call]:
        """The function that prepares a task, with all it needs imported."""
        for name in self.modules:
            importlib.import_module(name)
        module, _, function = self.prepare.partition(":")
        return getattr(importlib.import_module(module, __package__), function)


PEERS = {
    OURS: Peer(".peers_onnx:lamina", ("lamina.tools.api", "llvmlite.binding")),
    # given the ONNX file
    "onnxruntime": Peer(".peers_onnx:onnxruntime", ("onnxruntime",), "onnxruntime"),
    "openvino": Peer(".peers_onnx:openvino", ("openvino",), "openvino"),
    "iree": Peer(".peers_onnx:iree", ("iree.compiler", "iree.runtime"), "iree-base-compiler"),
    "mnn": Peer(".peers_onnx:mnn", ("MNN",), "mnn"),
    "tvm": Peer(".peers_onnx:tvm", ("tvm",), "apache-tvm"),
    # given the case in their own words, where it has them
    "jax": Peer(".peers_functions:jax", ("jax",), "jax"),
    "torch": Peer(".peers_functions:torch", ("torch",), "torch"),
    "inductor": Peer(".peers_functions:inductor", ("torch",), "torch"),
    "ncnn": Peer(".peers_functions:ncnn", ("ncnn",), "ncnn"),
    "numpy": Peer(".peers_functions:numpy", (), "numpy"),
}


def others() -> list[str]:
    """All peers there are, installed or not."""
    return [name for name in PEERS if name != OURS]


ASKED = f"all (that are installed), or of these, comma separated: {', '.join(others())}"  # as help


def chosen(names: str) -> list[str]:
    """The peers a user asked for, or every installed one for `all`.

    Raises LaminaError for one that is unknown or not installed.
    """
    if names == "all":
        return [name for name in others() if PEERS[name].installed]
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in others():
            raise LaminaError(f"there is no peer '{name}'", hint=f"one of {', '.join(others())}")
        if not PEERS[name].installed:
            raise LaminaError(f"'{name}' is not installed", hint=f"it needs {', '.join(PEERS[name].modules)}")
    return list(dict.fromkeys(asked))
