"""Machine descriptions: the facts of a processor that passes may ask for, kept as data files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

from .diagnostics import LaminaError


@dataclass(frozen=True)
class Machine:
    """A CPU as the cost model sees it. Sizes in bytes; `vector_bytes` is the widest SIMD register."""

    name: str
    triple: str
    cpu: str
    features: tuple[str, ...]  # LLVM feature names without "+"
    vector_bytes: int
    vector_registers: int
    fma_ports: int
    cores: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    cache_line: int = 64

    def lanes(self, element_bytes: int) -> int:
        """How many elements of `element_bytes` one register holds."""
        return self.vector_bytes // element_bytes

    @staticmethod
    def preset(name: str) -> Machine:
        """The description in `machines/<name>.toml`. Raises LaminaError when there is none."""
        file = resources.files(__package__ or "") / "machines" / f"{name}.toml"
        if not file.is_file():
            raise LaminaError(f"unknown machine '{name}'", hint="`lamina targets` lists them")
        data = tomllib.loads(file.read_text())
        data["features"] = tuple(data["features"])
        return Machine(name=name, **data)
