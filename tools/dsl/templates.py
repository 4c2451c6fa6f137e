"""A function as a program with symbolic sizes: what the commands and `lamina.compile` take `file.lam::fn` to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.signature import Signature, TensorSpec
from ...dialects.dsl.check.dims import Pack, evaluate
from ...dialects.dsl.check.signatures import Signature as Head
from ...dialects.dsl.check.types import DType, TensorType, TupleType, Type, TypeVar, numpy_dtype
from ...dialects.dsl.load import Files, ProgramError, bind, instantiate, overloads
from ..sources import new_context
from .reading import told

_DTYPES = {"any": "f32", "number": "f32", "float": "f32", "int": "i64", "complex": "c64"}


class Template:
    """A function of a program, some of its dimensions still names. Of overloads the first is meant.

    `sizes` gives dimensions and `const int`s their values; a pack `..B` takes its sizes as `B.0`, `B.1`, …, none of
    them being the empty pack. A type parameter is the most usual dtype of its class: f32, i64 or c64. Parameters with
    a default keep it. Raises LaminaError for a function or a name in `sizes` that is not there.
    """

    def __init__(self, files: Files, name: str, sizes: Mapping[str, int] | None = None):
        self.files = files
        self.name = name
        self.sizes = dict(sizes or {})
        self.head: Head = overloads(files, name)[0]
        self._check_names()
        self.signature = self._signature()

    def with_sizes(self, sizes: Mapping[str, int]) -> Template | Program:
        """The template with more sizes; the program, if that is all of them. Raises LaminaError, WrongProgram."""
        bound = Template(self.files, self.name, self.sizes | {k: v for k, v in sizes.items() if not self._derived(k)})
        return bound if bound.signature.symbols else bound.program()

    def program(self) -> Program:
        """The program of the function; every size must be known. Raises WrongProgram."""
        taken = {p.name: self._argument(p.type) for p in self._parameters()}
        consts = {p.name: self.sizes[p.name] for p in self.head.parameters if p.const and p.name in self.sizes}
        dims = {name: self.sizes[name] for name in self.head.dims if name in self.sizes}
        context = new_context()
        try:
            invocation = bind(self.files, self.name, (), {**taken, **consts}, dims)
            return Program(instantiate(self.files, invocation, context), context)
        except ProgramError as error:
            raise told(error, self.files) from error

    def _check_names(self) -> None:
        ints = [p.name for p in self.head.parameters if p.const == "int"]
        known = [*self.head.dims, *ints, *(f"..{pack}" for pack in self.head.packs)]
        for name, size in self.sizes.items():
            if size < 0 and name not in ints:
                raise LaminaError(f"dimension '{name}' cannot be {size}")
            if name not in known and name.partition(".")[0] not in self.head.packs:
                close = get_close_matches(name, known, 1)
                hint = f"did you mean '{close[0]}'?" if close else f"its sizes: {', '.join(known) or 'none'}"
                raise LaminaError(f"'{self.name}' has no dimension '{name}'", hint=hint)

    def _derived(self, name: str) -> bool:
        """Whether a symbol of the signature is computed from others, such as `2*K`."""
        return not name.replace("_", "a").replace(".", "a").isalnum()

    def _parameters(self) -> Iterator[Any]:
        for p in self.head.parameters:
            if not p.const and p.node.default is None:
                yield p
            elif p.const and p.node.default is None and p.name not in self.sizes:
                hint = f"give --shape {p.name}=N" if p.const == "int" else "only a call from a program can give it"
                raise LaminaError(f"'{self.name}' needs its const parameter '{p.name}'", hint=hint)

    def _signature(self) -> Signature:
        inputs = [spec for p in self._parameters() for spec in self._specs(p.name, p.type)]
        result = self.head.result
        return Signature(tuple(inputs), tuple(self._specs("result", result)) if result is not None else ())

    def _specs(self, name: str, kind: Type) -> Iterator[TensorSpec]:
        if isinstance(kind, TupleType):
            for i, item in enumerate(kind.items):
                yield from self._specs(f"{name}.{i}", item)
        elif isinstance(kind, TensorType):
            yield TensorSpec(name, self._shape(kind), numpy_dtype(self._dtype(kind.dtype)).name)

    def _shape(self, kind: TensorType) -> tuple[int | str, ...]:
        shape: list[int | str] = []
        for extent in kind.shape:
            if isinstance(extent, Pack):
                shape += [size for name, size in self.sizes.items() if name.startswith(f"{extent.name}.")]
            else:
                size = evaluate(extent, self.sizes)
                shape.append(size if isinstance(size, int) else str(size))
        return tuple(shape)

    def _dtype(self, dtype: DType) -> str:
        return _DTYPES[dtype.kind] if isinstance(dtype, TypeVar) else dtype

    def _argument(self, kind: Type) -> Any:
        if isinstance(kind, TupleType):
            return tuple(self._argument(item) for item in kind.items)
        assert isinstance(kind, TensorType)
        return self._dtype(kind.dtype), self._shape(kind)
