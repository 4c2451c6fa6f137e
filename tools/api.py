"""The Python interface: compile, load, import, lower, interpret.

A model that was compiled before is loaded without importing the compiler, which takes longer than loading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from ..backends import Executable, Options, recall
from ..backends import target as find_target
from ..compiler.artefact import Artefact
from ..compiler.diagnostics import LaminaError
from ..compiler.signature import Array, Signature
from .model_files import source_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..compiler.program import Program
    from .dsl.templates import Template

Source: TypeAlias = "str | os.PathLike[str] | Program | Template | ModelProto"


class Model:
    """A compiled model. Call it with NumPy arrays, or anything with `__dlpack__`, by position or by name.

    A model with symbolic dimensions is compiled for each concrete shape on first use; the last `CACHED_SHAPES`
    shapes are kept.
    """

    CACHED_SHAPES = 16

    def __init__(self, signature: Signature, compile_for: Callable[[Mapping[str, int]], Executable]):
        self.signature = signature
        self._compile_for = compile_for
        self._executables: dict[tuple[tuple[str, int], ...], Executable] = {}
        self._lock = Lock()
        self._only = None if signature.symbols else self._executable({})

    def __call__(self, *inputs: Any, **named: Any) -> list[Array]:
        """One inference: the outputs in order. Raises LaminaError for inputs that do not fit the signature."""
        if self._only is not None and not named and self.signature.describes(inputs):
            return self._only.run(inputs)
        arrays = self.signature.bind(inputs, named)
        return self._executable(self.signature.bindings(arrays)).run(arrays)

    def _executable(self, bindings: Mapping[str, int]) -> Executable:
        key = tuple(sorted(bindings.items()))
        with self._lock:
            found = self._executables.pop(key, None) or self._compile_for(bindings)
            self._executables[key] = found
            while len(self._executables) > self.CACHED_SHAPES:
                del self._executables[next(iter(self._executables))]
        return found

    @property
    def artefact(self) -> Artefact:
        """The compiled code and constants. Raises LaminaError for symbolic shapes and targets without code."""
        if self.signature.symbols:
            symbols = ", ".join(self.signature.symbols)
            raise LaminaError(f"the model has symbolic dimensions ({symbols})", hint="fix them with shapes={...}")
        artefact = self._executable({}).artefact
        if artefact is None:
            raise LaminaError("this target produces no code to save")
        return artefact

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact (`.lamx`); the file appears whole or not at all."""
        self.artefact.save(path)


def compile(
    model: Source,
    target: str = "cpu",
    *,
    shapes: Mapping[str, int] | None = None,
    threads: int | None = None,
    cache: bool = True,
    precision: str = "f32",
    options: Options | None = None,
) -> Model:
    """Compiles a model for a target.

    `model`: a path (`.onnx`, `.mlir`, `program.lam::function`), the text of a program with one function, an
    `onnx.ModelProto`, or a `Program`. `shapes` fixes
    symbolic dimensions ahead of time; `threads` defaults to all cores; `cache=False` neither reads nor writes the
    on-disk cache; `precision="bf16"` rounds the operands of f32 contractions to bfloat16 (docs/precision.md).
    Raises LaminaError for a model that cannot be read or an operator that cannot be lowered.
    """
    settings = options or Options(threads=threads, cache=cache, precision=precision)
    source = source_of(model, shapes or {})
    if source is not None and (known := recall(target, source, settings)) and known.artefact:
        return Model(known.artefact.signature, lambda _: known)
    from .sources import read_program, whole, with_shapes

    chosen = find_target(target)
    program = with_shapes(read_program(model), shapes or {})
    if not program.signature.symbols:
        settings = replace(settings, source=source)

    def compile_for(bindings: Mapping[str, int]) -> Executable:
        return chosen.compile(whole(with_shapes(program, bindings)), settings)

    return Model(program.signature, compile_for)


def load(path: str | os.PathLike[str], *, threads: int | None = None) -> Model:
    """Loads a saved artefact. Raises LaminaError for a damaged file or one made for another machine."""
    artefact = Artefact.load(path)
    executable = find_target(artefact.target).load(artefact, threads)
    return Model(artefact.signature, lambda _: executable)


def import_onnx(model: str | os.PathLike[str] | ModelProto) -> Program:
    """Reads an ONNX model into the onnx level, one node to one op."""
    from .sources import read_program, whole

    return whole(read_program(model))


def lower(
    program: Program,
    to: str,
    *,
    target: str = "cpu",
    shapes: Mapping[str, int] | None = None,
    options: Options | None = None,
) -> Program:
    """A copy of `program` taken down to the level `to` (`lamina.LEVELS` of the target's pipeline)."""
    from .sources import with_shapes

    return find_target(target).lower(with_shapes(program, shapes or {}), to, options or Options())


def interpret(program: Source, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Array]:
    """The outputs by the reference semantics of whatever level `program` stands on."""
    model = compile(program, "interpret")
    return model(**inputs) if isinstance(inputs, Mapping) else model(*inputs)


def is_artefact(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a saved artefact by its suffix."""
    return Path(path).suffix == ".lamx"
