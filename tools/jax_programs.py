"""JAX as a source of programs: exported functions, lowered ones, and `lamina.jax`, which compiles on the first call.

    fast = lamina.jax(jax.grad(loss))
    gradients = fast(parameters, batch)  # pytrees of arrays in and out

JAX writes StableHLO, the hub's own language; its text is parsed as any other. Derivatives and batching are JAX's, and
are in the program by then. JAX is the extra `jax`, imported when it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from ..backends import Executable, Options
from ..backends import target as find_target
from ..compiler.diagnostics import LaminaError
from ..compiler.parsing import parse_module
from ..compiler.program import Program, main_function
from ..compiler.signature import Signature, TensorSpec
from ..compiler.verifier import verify
from .sources import new_context

CACHED_SHAPES = 64
_NAME = "lamina.name"
_ARGUMENT_PLACE = re.compile(
    r' loc\((?:#loc\d*|"(?:[^"\\]|\\.)*"(?:\(#loc\d*\))?)\)(?=[,)])'
)  # of arguments; ops keep theirs
_RANGE = re.compile(r'(":\d+:\d+) to \d*:\d+')  # where a place ends


def kind_of(model: Any) -> str:
    """`exported`, `lowered`, `jitted`, or nothing for what is not JAX's; does not import JAX."""
    cls = type(model)
    if not cls.__module__.startswith(("jax.", "jaxlib.")):
        return ""
    return {"Exported": "exported", "Lowered": "lowered", "PjitFunction": "jitted"}.get(cls.__name__, "")


def read_jax(model: Any) -> Program | ExportedFunction:
    """A `jax.export.Exported` or a `jax.stages.Lowered` as a program.

    Raises LaminaError for a jitted function, whose shapes come with its calls.
    """
    match kind_of(model):
        case "exported":
            return ExportedFunction(model).with_sizes({})
        case "lowered":
            return _program(model.as_text(debug_info=True), "lowered")
        case _:
            raise LaminaError(
                "a jitted function has no shapes before it is called",
                hint="lamina.jax(function) compiles on the first call; or give jax.jit(function).lower(...)",
            )


def read_serialized(data: bytes, name: str) -> Program | ExportedFunction:
    """What `jax.export.Exported.serialize` wrote. JAX unpacks it: its format is JAX's own.

    Raises LaminaError when JAX is not installed, or does not take it.
    """
    try:
        export = import_module("jax.export")
    except ImportError as error:
        hint = "pip install 'lamina[jax]', or write Exported.mlir_module_serialized to a .mlirbc file"
        raise LaminaError("this file needs JAX, which is not installed", where=name, hint=hint) from error
    try:
        exported = export.deserialize(bytearray(data))
    except Exception as error:
        told = str(error).strip().splitlines() or [type(error).__name__]
        raise LaminaError(f"JAX cannot read this: {told[0]}", where=name) from error
    return ExportedFunction(exported).with_sizes({})


def _program(text: str, name: str, inputs: list[str] | None = None, outputs: list[str] | None = None) -> Program:
    """The text of a module as a program; names are written on its function where they are given."""
    context = new_context()
    text = _RANGE.sub(r"\1", _ARGUMENT_PLACE.sub("", text))
    program = Program(parse_module(text, name, context), context)
    verify(program.module)
    main = main_function(program.module)
    for key, names in (("arg_attrs", inputs), ("res_attrs", outputs)):
        if names is not None:
            entries: list[Attribute] = [DictionaryAttr({_NAME: StringAttr(each)}) for each in names]
            main.properties[key] = ArrayAttr(entries)
    return program


class ExportedFunction:
    """A function of `jax.export`, some of its dimensions still symbols."""

    def __init__(self, exported: Any, sizes: Mapping[str, int] | None = None):
        self._exported = exported
        self.sizes = dict(sizes or {})
        kept = set(exported.module_kept_var_idx)
        self._taken = [i for i in range(len(exported.in_avals)) if i in kept]
        names = _leaf_names(exported.in_tree, "input")
        inputs = tuple(self._spec(names[i], exported.in_avals[i]) for i in self._taken)
        results = _leaf_names(exported.out_tree, "output")
        outputs = tuple(self._spec(name, aval) for name, aval in zip(results, exported.out_avals, strict=True))
        self.signature = Signature(inputs, outputs)

    def with_sizes(self, sizes: Mapping[str, int]) -> ExportedFunction | Program:
        """The function with more sizes known; the program, if that is all of them. Raises LaminaError."""
        symbols = self.signature.symbols
        for name, size in sizes.items():
            if name not in symbols:
                known = ", ".join(symbols) or "none"
                raise LaminaError(f"the function has no dimension '{name}'", hint=f"its symbolic dimensions: {known}")
            if size < 0:
                raise LaminaError(f"dimension '{name}' cannot be {size}")
        bound = ExportedFunction(self._exported, self.sizes | dict(sizes))
        return bound if bound.signature.symbols else bound.program()

    def program(self) -> Program:
        """The program on the hub; every size must be known."""
        text = str(self._refined() if self.sizes else self._exported.mlir_module())
        names = [[spec.name for spec in side] for side in (self.signature.inputs, self.signature.outputs)]
        return _program(text, self._exported.fun_name, *names)

    def _refined(self) -> Any:
        """The module with the sizes put in, by JAX itself."""
        jax, mlir = import_module("jax"), import_module("jax._src.interpreters.mlir")
        shapes = [tuple(self._size(n) for n in aval.shape) for aval in self._exported.in_avals]
        specs = [
            jax.ShapeDtypeStruct(shape, aval.dtype) for shape, aval in zip(shapes, self._exported.in_avals, strict=True)
        ]
        arguments, named = jax.tree.unflatten(self._exported.in_tree, specs)
        try:
            lowered = jax.jit(self._exported.call).lower(*arguments, **named)
            return mlir.refine_polymorphic_shapes(lowered.compiler_ir("stablehlo"))
        except ValueError as error:
            lines = str(error).strip().splitlines()
            raise LaminaError(f"JAX refuses these sizes: {lines[0]}") from error

    def _spec(self, name: str, aval: Any) -> TensorSpec:
        return TensorSpec(name, tuple(self._size(n) for n in aval.shape), np.dtype(aval.dtype).name)

    def _size(self, size: Any) -> Any:
        return size if isinstance(size, int) else self.sizes.get(str(size), str(size))


def _leaf_names(tree: Any, word: str) -> list[str]:
    return [f"{word}{i}" for i in range(tree.num_leaves)]


def jax(
    function: Callable[..., Any],
    target: str = "cpu",
    options: Options | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
) -> JaxFunction:
    """`function` of JAX arrays, compiled for each shape and dtype it is called with.

    Takes what `jax.jit` takes, or its result. Arguments are static, values that the program is made for, where
    `jax.jit` would take them for such; donated ones stay the caller's. Raises LaminaError when JAX is not installed.
    """
    return JaxFunction(function, target, options, static_argnums, static_argnames)


class JaxFunction:
    """A function of pytrees of arrays that Lamina compiles; the last `CACHED_SHAPES` shapes are kept."""

    def __init__(
        self,
        function: Callable[..., Any],
        target: str,
        options: Options | None,
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
    ):
        try:
            self._jax = import_module("jax")
            self._export = import_module("jax.export")
        except ImportError as error:
            raise LaminaError("JAX is not installed", hint="pip install 'lamina[jax]'") from error
        if kind_of(function) != "jitted":
            function = self._jax.jit(function, static_argnums=static_argnums, static_argnames=static_argnames)
        elif static_argnums is not None or static_argnames is not None:
            raise LaminaError("what is static was said to jax.jit already")
        self._function: Any = function
        info = function._jit_info  # pyright: ignore  # JAX tells nobody else what it takes for static
        self._static_places, self._static_names = frozenset(info.static_argnums), frozenset(info.static_argnames)
        self._target = find_target(target)
        self._options = options or Options()
        self._compiled: dict[Any, tuple[Executable, list[int], Any]] = {}
        self._lock = Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result as NumPy arrays in the function's own pytree."""
        fixed, moving = self._apart(args, kwargs)
        leaves, tree = self._jax.tree.flatten(moving)
        arrays = [np.asarray(x) for x in leaves]
        arrays = [a.astype(self._jax.dtypes.canonicalize_dtype(a.dtype), copy=False) for a in arrays]
        key = (tree, tuple((a.shape, a.dtype) for a in arrays), tuple((k, type(v), v) for k, v in fixed.items()))
        with self._lock:
            try:
                found = self._compiled.pop(key, None)
            except TypeError as error:
                raise LaminaError(f"static arguments must be hashable: {error}") from error
            found = self._compiled[key] = found or self._compile(tree, arrays, fixed)
            while len(self._compiled) > CACHED_SHAPES:
                del self._compiled[next(iter(self._compiled))]
        executable, taken, out_tree = found
        return self._jax.tree.unflatten(out_tree, executable.run([arrays[i] for i in taken]))

    def _apart(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[int | str, Any], Any]:
        """The static arguments by place or name, and the others as JAX flattens them."""
        static = {place % len(args) for place in self._static_places if -len(args) <= place < len(args)}
        fixed: dict[int | str, Any] = {i: args[i] for i in sorted(static)}
        fixed |= {name: kwargs[name] for name in sorted(self._static_names & kwargs.keys())}
        moving = tuple(x for i, x in enumerate(args) if i not in static)
        return fixed, (moving, {name: x for name, x in kwargs.items() if name not in self._static_names})

    def _compile(
        self, tree: Any, arrays: list[Any], fixed: Mapping[int | str, Any]
    ) -> tuple[Executable, list[int], Any]:
        specs = [self._jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
        args, kwargs = self._jax.tree.unflatten(tree, specs)
        args, kwargs = list(args), dict(kwargs)
        for key, value in fixed.items():  # places in rising order
            if isinstance(key, str):
                kwargs[key] = value
            else:
                args.insert(key, value)
        exported = self._export.export(self._function)(*args, **kwargs)
        program = ExportedFunction(exported).program()
        return self._target.compile(program, self._options), list(exported.module_kept_var_idx), exported.out_tree
