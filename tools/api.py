"""The Python interface: compile, load, import, lower, interpret.

A model that was compiled before is loaded without importing the compiler, which takes longer than loading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..backends import Executable, Options, check_threads, recall
from ..backends import Source as File
from ..backends import load as load_artefact
from ..backends import target as find_target
from ..compiler.artefact import Artefact
from ..compiler.collector import collected_after
from ..compiler.diagnostics import LaminaError, ValuesNeeded
from ..compiler.signature import Array, Signature
from .model_files import source_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..compiler.program import Program
    from .sources import Unsized

_CPU = 1  # as DLPack numbers kinds of devices
Source: TypeAlias = "str | os.PathLike[str] | Program | Unsized | ModelProto | Any"


@dataclass(frozen=True)
class _Compiled:
    """The code for some sizes and values, and which inputs are left to give it."""

    executable: Executable
    taken: list[int]


class Model:
    """A compiled model. Call it with NumPy arrays, or anything with `__dlpack__`, by position or by name.

    Where kernels run on a GPU, arrays that lie there (by `__dlpack__` or `__cuda_array_interface__`) are read there,
    and the results are arrays there, which others take the same way.

    A model with symbolic dimensions, or with inputs whose values decide shapes (axes, sizes, a count), is compiled for
    each concrete shape and value on first use; the last `CACHED_SHAPES` are kept. `open_artefact` makes what is saved
    of such a model.
    """

    CACHED_SHAPES = 16
    LARGEST_VALUE = 4096  # elements of an input that a model is compiled for the value of

    def __init__(
        self,
        signature: Signature,
        compile_for: Callable[[Mapping[str, int], Mapping[int, Array]], Executable],
        open_artefact: Callable[[], Artefact] | None = None,
    ):
        self.signature = signature
        self._compile_for = compile_for
        self._open_artefact = open_artefact
        self._executables: dict[Any, _Compiled] = {}
        self._quick: dict[tuple[Any, ...], _Compiled] = {}  # the same by what calls look like
        self._direct_call: Callable[..., list[Array] | None] | None = None  # of the one that ran last
        self._names = tuple(spec.name for spec in signature.inputs)
        self._by_value: set[int] = set()  # inputs that are compiled in
        self._needed: ValuesNeeded | None = None
        self._lock = Lock()
        self._only = None if signature.symbols else self._when_values_do_not_matter()

    def __call__(self, *inputs: Any, **named: Any) -> list[Array]:
        """One inference: the outputs in order. Raises LaminaError for inputs that do not fit the signature."""
        if named and not inputs and tuple(named) == self._names:
            inputs, named = tuple(named.values()), {}
        if not named:
            direct = self._direct_call
            if direct is not None and (outputs := direct(*inputs)) is not None:
                return outputs
            if self._only is not None:
                if self.signature.describes(inputs):
                    self._direct_call = getattr(self._only, "direct_call", None)
                    return self._only.run(inputs)
            elif len(self._executables) < self.CACHED_SHAPES and (quick := self._quick.get(self._face(inputs))):
                return self._execute(quick, inputs)
        on_device = getattr(self._only, "run_on_device", None)
        if on_device is not None and any(map(_lies_elsewhere, (*inputs, *named.values()))):
            return on_device(self.signature.ordered(inputs, named))
        arrays = self.signature.bind(inputs, named)
        found = self._executable(self.signature.bindings(arrays), arrays)
        if self._only is None and not named and all(map(is_, arrays, inputs)) and (face := self._face(inputs)):
            self._quick[face] = found
        return self._execute(found, arrays)

    def _execute(self, found: _Compiled, inputs: Sequence[Array]) -> list[Array]:
        whole = len(found.taken) == len(inputs)
        self._direct_call = getattr(found.executable, "direct_call", None) if whole else None
        return found.executable.run([inputs[i] for i in found.taken])

    def _face(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """All that decides what code a call needs, quick to compare; () for what has to be looked at first."""
        face: list[Any] = []
        for i, value in enumerate(inputs):
            if type(value) is not np.ndarray:
                return ()
            face += (value.dtype, value.shape)
            if i in self._by_value:
                if value.size > self.LARGEST_VALUE:
                    return ()
                face.append(value.tobytes())
        return tuple(face)

    def _when_values_do_not_matter(self) -> Executable | None:
        """The one executable of a model whose shapes are all known."""
        try:
            return self._executable({}, []).executable
        except ValuesNeeded as error:  # the values come with the first call
            self._needed = error
            self._by_value = set(error.inputs)
            return None

    def _executable(self, bindings: Mapping[str, int], arrays: Sequence[Array]) -> _Compiled:
        with self._lock:
            while True:
                values = {i: arrays[i] for i in sorted(self._by_value)}
                key = (
                    tuple(sorted(bindings.items())),
                    tuple((i, array.shape, array.tobytes()) for i, array in values.items()),
                )
                found = self._executables.pop(key, None)
                if found is None:
                    try:
                        taken = [i for i in range(len(self.signature.inputs)) if i not in values]
                        found = _Compiled(self._compile_for(bindings, values), taken)
                    except ValuesNeeded as error:
                        if not arrays:
                            raise
                        # inputs are counted without those that are compiled in already
                        left = [i for i in range(len(arrays)) if i not in values]
                        self._by_value |= {left[i] for i in error.inputs}
                        if any(arrays[i].size > self.LARGEST_VALUE for i in self._by_value):
                            raise
                        continue
                self._executables[key] = found
                while len(self._executables) > self.CACHED_SHAPES:
                    dropped = self._executables.pop(next(iter(self._executables)))
                    self._quick = {face: kept for face, kept in self._quick.items() if kept is not dropped}
                return found

    @property
    def artefact(self) -> Artefact:
        """The compiled code and constants; of a model that is compiled when inputs come, the program with its weights.

        Raises LaminaError for targets without code, and for symbolic shapes of a program that another framework holds.
        """
        if self.signature.symbols or self._needed is not None:
            if self._open_artefact is not None:
                return self._open_artefact()
            symbols = ", ".join(self.signature.symbols)
            raise self._needed or LaminaError(
                f"the model has symbolic dimensions ({symbols})", hint="fix them with shapes={...}"
            )
        artefact = self._executable({}, []).executable.artefact
        if artefact is None:
            raise LaminaError("this target produces no code to save")
        return artefact

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact (`.lamx`); the file appears whole or not at all."""
        self.artefact.save(path)


def _lies_elsewhere(value: Any) -> bool:
    """Whether an argument is none that the processor reads where it is."""
    if type(value) is np.ndarray:
        return False
    device = getattr(value, "__dlpack_device__", None)
    return device()[0] != _CPU if device is not None else hasattr(value, "__cuda_array_interface__")


def compile(
    model: Source,
    target: str = "cpu",
    *,
    shapes: Mapping[str, int] | None = None,
    threads: int | None = None,
    cache: bool = True,
    precision: str = "f32",
    aliases: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> Model:
    """Compiles a model for a target.

    `model`: a path (`.onnx`, `.pt2`, `.mlir`, `program.lam::function`), the text of a program with one function, an
    `onnx.ModelProto`, a `torch.export.ExportedProgram`, a `jax.export.Exported`, a
    `jax.stages.Lowered`, or a `Program`. `shapes` fixes
    symbolic dimensions ahead of time; `threads` defaults to all cores; `cache=False` neither reads nor writes the
    on-disk cache; `precision="bf16"` rounds the operands of f32 contractions to bfloat16 (docs/precision.md).
    `aliases` names inputs and the outputs that are computed in their memory: a call changes the arrays that it is given
    for these, and returns them; `{"past.*": "present.*"}` pairs all of a kind.
    Raises LaminaError for a model that cannot be read or an operator that cannot be lowered.
    """
    settings = options or Options(threads=threads, cache=cache, precision=precision)
    source = source_of(model, shapes or {}, aliases or {})
    if source is not None and (known := recall(target, source, settings)) and known.artefact:
        return Model(known.artefact.signature.told, lambda *_: known)
    from .sources import holds_only_tensors, read_program, with_shapes

    with collected_after():
        read = read_program(model)
        if not holds_only_tensors(read):
            if aliases:
                raise LaminaError(
                    "a model with strings, sequences or optionals computes nothing in the memory of inputs"
                )
            from .onnx_host.graph import HostModel, read_whole  # few models need it

            return HostModel(read_whole(model), lambda piece: compile(piece, target, options=settings))
        program = with_shapes(read, shapes or {})
        if aliases:
            from .aliases import with_aliases  # few models have them

            program = with_aliases(program, aliases)
        return _specialised(program, target, settings, source)


def _specialised(program: Program | Unsized, target: str, options: Options, source: File | None) -> Model:
    """A model that is compiled for each choice of sizes and values on first use."""
    from ..compiler.program import Program

    specialise = _Specialise(program, target, options, source)
    can_save = isinstance(program, Program)
    return Model(program.signature.told, specialise, specialise.open_artefact if can_save else None)


@dataclass(frozen=True)
class _Specialise:
    """Compiles a program for sizes of its symbolic dimensions, and values of some inputs."""

    program: Program | Unsized
    target: str
    options: Options
    source: File | None

    def __call__(self, bindings: Mapping[str, int], values: Mapping[int, Array]) -> Executable:
        """Machine code that was kept from before, or made now."""
        from .sources import whole, with_shapes, with_values

        options = self.options
        if self.source is not None and not values:
            source = replace(self.source, shapes={**self.source.shapes, **bindings})
            options = replace(options, source=source)
            if bindings and (known := recall(self.target, source, options)):
                return known
        with collected_after():
            concrete = whole(with_shapes(self.program, bindings))
            return find_target(self.target).compile(with_values(concrete, values) if values else concrete, options)

    def open_artefact(self) -> Artefact:
        """The program with its weights, to be compiled where it is loaded."""
        from .open_artefact import open_artefact
        from .sources import whole

        return open_artefact(whole(self.program), self.target, self.options)


def load(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, int] | None = None,
    threads: int | None = None,
    emulate: bool = False,
) -> Model:
    """Loads a saved artefact; `shapes` fixes symbolic dimensions that it has, `emulate` runs code of another machine.

    Raises LaminaError for a damaged file, one made for another machine, or no threads.
    """
    check_threads(threads)
    artefact = Artefact.load(path)
    if artefact.arrays is not None:
        from .open_artefact import options_of, program_of
        from .sources import with_shapes

        program = with_shapes(program_of(artefact, os.fspath(path)), shapes or {})
        options = replace(options_of(artefact, threads), emulate=emulate)
        return _specialised(program, artefact.target, options, File(Path(path), shapes or {}))
    if shapes:
        raise LaminaError("the artefact has no symbolic dimensions", where=os.fspath(path))
    if emulate:
        emulated = getattr(find_target(artefact.target), "load_emulated", None)
        if emulated is None:
            raise LaminaError(f"target '{artefact.target}' has no emulator", where=os.fspath(path))
        executable = emulated(artefact)
    else:
        executable = load_artefact(artefact, threads)
    return Model(artefact.signature.told, lambda *_: executable)


def import_onnx(model: str | os.PathLike[str] | ModelProto) -> Program:
    """Reads an ONNX model into the onnx level, one node to one op."""
    from .sources import read_program, whole

    return whole(read_program(model))


def lower(
    program: Source,
    to: str,
    *,
    target: str = "cpu",
    shapes: Mapping[str, int] | None = None,
    options: Options | None = None,
) -> Program:
    """A copy of `program` taken down to the level `to` (`lamina.LEVELS` of the target's pipeline)."""
    from .sources import read_program, whole, with_shapes

    sized = whole(with_shapes(read_program(program), shapes or {}))
    return find_target(target).lower(sized, to, options or Options())


def interpret(
    program: Source, inputs: Sequence[Any] | Mapping[str, Any], *, replicas: int = 1, partitions: int = 1
) -> list[Array]:
    """The outputs by the reference semantics of whatever level `program` stands on.

    With more than one replica or partition, inputs and outputs have a first dimension that counts the processes;
    collectives exchange what they have.
    """
    if replicas != 1 or partitions != 1:
        from .replicas import interpret_replicas
        from .sources import read_program, whole

        return interpret_replicas(whole(read_program(program)), inputs, replicas, partitions)
    model = compile(program, "interpret")
    return model(**inputs) if isinstance(inputs, Mapping) else model(*inputs)


def is_artefact(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a saved artefact by its suffix."""
    return Path(path).suffix == ".lamx"
