"""Functions of a program as Python callables."""

from __future__ import annotations

import inspect
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from operator import is_
from threading import Lock
from typing import Any

import numpy as np

from ...backends import Executable, Options
from ...backends import target as find_target
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.signature import Array, TensorSpec, as_array
from ...dialects.dsl.check.types import dtype_name
from ...dialects.dsl.language import tree
from ...dialects.dsl.load import Files, ProgramError, bind, instantiate, overloads
from ..api import lower
from ..sources import new_context
from .reading import load, told
from .templates import Template

KEPT = 64
"""So many specialisations of a function are kept, those used last."""


def compile(
    source: str | os.PathLike[str], target: str = "cpu", *, threads: int | None = None, cache: bool = True
) -> CompiledProgram:
    """The functions of a program, in a file or a text, ready to be called.

    Each is compiled for the shapes, dtypes and constants of a call at the first such call. Raises WrongProgram with
    all that is wrong with the program, LaminaError for a missing file or an unknown target.
    """
    return CompiledProgram(load(source), target, Options(threads=threads, cache=cache))


class CompiledProgram:
    """A program: its functions are the attributes, `len` and iteration go over their names."""

    def __init__(self, files: Files, target: str, options: Options):
        find_target(target)
        self._files = files
        names = files.function_names()
        self._functions = {name: CompiledFunction(files, name, target, options) for name in names}

    def __getattr__(self, name: str) -> CompiledFunction:
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            close = get_close_matches(name, self.__dict__.get("_functions", {}), 1)
            hint = f": did you mean '{close[0]}'?" if close else ""
            raise AttributeError(f"the program has no function '{name}'{hint}")
        return found

    def __getitem__(self, name: str) -> CompiledFunction:
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __dir__(self) -> list[str]:
        return [*self._functions]

    def __repr__(self) -> str:
        return "\n".join(repr(function) for function in self._functions.values())


_Direct = tuple[Callable[..., "list[Array] | None"], list[str]]
"""The code itself, which refuses (None) what is not exactly its arrays, and the names of what it gives."""


@dataclass(frozen=True)
class _Specialisation:
    """A function for some shapes, dtypes and constants; `order` are the parameters whose arrays it takes."""

    order: list[str]
    program: Program
    executable: Executable
    inputs: tuple[TensorSpec, ...]
    outputs: list[str]

    @property
    def direct(self) -> _Direct | None:
        """A call past all that a general one needs; None where the target has no such."""
        call = getattr(self.executable, "direct_call", None)
        return None if call is None else (call, self.outputs)


class CompiledFunction:
    """One function (with its overloads). Call it with arrays, or with Python numbers for scalars and constants.

    Gives one array, or a tuple as the function does. Raises LaminaError for arguments that do not fit, with both sides
    of the disagreement.
    """

    def __init__(self, files: Files, name: str, target: str, options: Options):
        self._files = files
        self._target = find_target(target)
        self._options = options
        self._heads = overloads(files, name)
        self._consts = {p.name for head in self._heads for p in head.parameters if p.const}
        self._made: OrderedDict[Any, _Specialisation] = OrderedDict()
        self._direct: _Direct | None = None  # of what ran last
        self._lock = Lock()
        self.__name__ = self.__qualname__ = name
        self.__doc__ = "\n".join(filter(None, (self._heads[0].node.doc, *map(str, self._heads))))
        self.__signature__ = _python_signature(self._heads[0].node)

    def __repr__(self) -> str:
        return "\n".join(map(str, self._heads))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs the function."""
        direct = self._direct
        if direct is not None and not named and (arrays := direct[0](*arguments)) is not None:
            return _nested(direct[1], arrays)
        made = self._specialised(arguments, named)
        values = _flat(made.order, dict(zip(self._parameters(), arguments, strict=False)) | named)
        inputs = [as_array(value) for value in values]
        inputs = [
            array.astype(spec.dtype) if array.dtype.name != spec.dtype and not _is_array(value) else spec.check(array)
            for spec, array, value in zip(made.inputs, inputs, values, strict=True)
        ]
        outputs = made.executable.run(inputs)
        straight = not named and len(inputs) == len(arguments) and all(map(is_, inputs, arguments))
        self._direct = made.direct if straight else None
        return _nested(made.outputs, outputs)

    def ir(self, level: str, *arguments: Any, **named: Any) -> str:
        """The text of the function at a level of the descent: `dsl`, `stablehlo`, `linalg`, `affine`, `llvm`, …

        For the arrays given, or with nothing but numbers by name for these sizes; with neither, as it was last called.
        Raises LaminaError for a level that is none, and as a call does.
        """
        return str(self.lowered(level, *arguments, **named))

    def lowered(self, level: str, *arguments: Any, **named: Any) -> Program:
        """What `ir` shows, as a program: `lamina.interpret` and `lamina.compile` take it."""
        sizes = {*self._heads[0].dims, *(p.name for p in self._heads[0].parameters if p.const == "int")}
        if not arguments and not named and self._made:
            program = next(reversed(self._made.values())).program
        elif not arguments and all(name in sizes for name in named):
            found = Template(self._files, self.__name__).with_sizes(named)
            if not isinstance(found, Program):
                missing = ", ".join(found.signature.symbols)
                raise LaminaError(f"'{self.__name__}' needs sizes for {missing}", hint="give them by name: ir(…, N=4)")
            program = found
        else:
            program = self._program(arguments, named)[1]
        return program if level == "dsl" else lower(program, level)

    def _parameters(self) -> list[str]:
        return [p.name for p in self._heads[0].parameters]

    def _specialised(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> _Specialisation:
        key = (tuple(self._described(arguments)), tuple(sorted(self._described_by_name(named).items())))
        with self._lock:
            found = self._made.pop(key, None)
            if found is None:
                order, program = self._program(arguments, named)
                executable = self._target.compile(program, self._options)
                signature = program.signature
                outputs = [spec.name for spec in signature.outputs]
                found = _Specialisation(order, program, executable, signature.inputs, outputs)
            self._made[key] = found
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        return found

    def _described(self, arguments: Sequence[Any]) -> list[Any]:
        names = [*self._parameters(), *("" for _ in arguments)]
        return [_described(value, name in self._consts) for name, value in zip(names, arguments, strict=False)]

    def _described_by_name(self, named: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _described(value, name in self._consts) for name, value in named.items()}

    def _program(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[str], Program]:
        """The program of a call, and the parameters whose arrays it takes, in order."""
        context = new_context()
        try:
            described = self._described(arguments)
            invocation = bind(self._files, self.__name__, described, self._described_by_name(named))
            module = instantiate(self._files, invocation, context)
        except ProgramError as error:
            raise told(error, self._files) from error
        return list(invocation.arguments), Program(module, context)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") or hasattr(value, "__dlpack__")


def _described(value: Any, const: bool = False) -> Any:
    """An argument as `bind` takes it: an array as dtype and shape, a Python number or a constant as it is."""
    if isinstance(value, tuple):
        return tuple(_described(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    if const and isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        return value
    array = as_array(value)
    try:
        return dtype_name(array.dtype), array.shape
    except KeyError:
        raise LaminaError(f"arrays of {array.dtype} are no values of the language") from None


def _flat(order: Sequence[str], given: Mapping[str, Any]) -> list[Any]:
    def flat(value: Any) -> list[Any]:
        return [part for item in value for part in flat(item)] if isinstance(value, tuple) else [value]

    return [part for name in order for part in flat(given[name])]


def _nested(names: Sequence[str], arrays: Sequence[Array]) -> Any:
    """The outputs as the function returns them: names tell the places in a tuple, `result.1.0`."""
    if len(names) == 1 and names[0] == "result":
        return arrays[0]
    root: dict[int, Any] = {}
    for name, array in zip(names, arrays, strict=True):
        place, here = [int(part) for part in name.split(".")[1:]], root
        for step in place[:-1]:
            here = here.setdefault(step, {})
        here[place[-1]] = array

    def tupled(node: Any) -> Any:
        return tuple(tupled(node[i]) for i in sorted(node)) if isinstance(node, dict) else node

    return tupled(root)


def _python_signature(function: tree.Function) -> inspect.Signature:
    parameters: list[inspect.Parameter] = []
    for p in function.parameters:
        default: Any = inspect.Parameter.empty
        if p.default is not None:
            default = p.default.value if isinstance(p.default, tree.Number | tree.Bool) else ...
        parameters.append(inspect.Parameter(p.name.text, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return inspect.Signature(parameters)


__all__ = ["KEPT", "CompiledFunction", "CompiledProgram", "compile"]
