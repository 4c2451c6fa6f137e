"""From `.lam` files to modules of the hub: what the commands, the Python interface and the language server call.

files = load_file("net.lam")                              # or a text; imports are loaded with it
problems = check(files)                                   # all that is wrong with every function
bound = bind(files, "linear", [("f32", (4, 8)), ...])     # which overload, what its names stand for
module = instantiate(files, bound, context)               # `@main` of stablehlo ops
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block

from ...compiler.collector import collector_paused
from ...compiler.confined import file_below
from ...compiler.context import LaminaContext
from ...compiler.diagnostics import LaminaError
from ...compiler.program import LEVEL
from .check import functions, models, statements
from .check.elaborator import Elaborator
from .check.emitter import Emitter
from .check.matching import Given
from .check.modules import Global, Module
from .check.scope import Scope
from .check.signatures import Bound, Signature, signature
from .check.types import TensorType, TupleType, Type
from .check.values import AnyValue, TupleValue, Value
from .language import tree
from .language.parsing import decode, parse
from .language.problems import Label, Problems

STANDARD = Path(__file__).parent / "std"
NAME = "lamina.name"


class ProgramError(LaminaError):
    """A program is wrong: `problems` says how, at which characters."""

    def __init__(self, problems: Problems):
        first = problems.errors[0]
        where = f"{first.span.file}:{first.span.line}:{first.span.column}"
        super().__init__(f"[{first.code}] {first.message}", where=where, hint=first.hint or None)
        self.problems = problems


@dataclass(eq=False)
class Files:
    """A program: the file that was asked for and those it imports. `problems` has what reading them found."""

    main: Module
    modules: list[Module]
    problems: Problems

    def function_names(self) -> list[str]:
        """The functions of the main file, in order."""
        return list(dict.fromkeys(f.name.text for f in self.main.tree.items if isinstance(f, tree.Function)))

    @property
    def texts(self) -> dict[str, str]:
        """The text of every file by the name that spans carry."""
        standard = {module.path: module.tree.text for module in _standard().values()}
        return standard | {module.path: module.tree.text for module in self.modules}


# Reading -----------------------------------------------------------------------------------------------------------


def load_file(source: str | Path, name: str = "program.lam", folder: Path | None = None) -> Files:
    """The program in a file (a `Path`) or a text, called `name`, whose files are looked for in `folder`.

    What cannot be parsed or found is in `problems`. Raises LaminaError where the file itself cannot be read.
    """
    problems = Problems()
    if isinstance(source, Path):
        text = read(source, problems)
        name, folder = str(source), source.parent
    else:
        text = source
    loader = _Loader(problems)
    with collector_paused():
        main = loader.load(text, name, folder, ())
    return Files(main, list(loader.modules.values()), problems)


def read(path: Path, problems: Problems) -> str:
    """The text of a file; bytes that are no text are reported. Raises LaminaError where it cannot be read."""
    try:
        return decode(path.read_bytes(), str(path), problems)
    except OSError as error:
        raise LaminaError(f"cannot read '{path}': {error.strerror or error}") from error


class _Loader:
    """Loads files once each; imports first."""

    def __init__(self, problems: Problems, standard: bool = False):
        self.problems = problems
        self.standard = standard
        self.modules: dict[str, Module] = {}

    def load(self, text: str, name: str, folder: Path | None, path: tuple[str, ...]) -> Module:
        module = Module(name, folder, parse(text, name, self.problems))
        self.modules[name] = module
        lines = text.split("\n")
        for problem in self.problems.errors:
            if problem.span.file == name and problem.span.line <= len(lines):
                module.broken.update(re.findall(r"[^\W\d]\w*", lines[problem.span.line - 1]))
        if not self.standard:
            module.prelude = prelude()
        self.define(module)
        for item in module.tree.items:
            if isinstance(item, tree.Import):
                found = self.imported(item, folder, (*path, name))
                if found is not None:
                    module.imports.append((item, found))
                else:
                    module.broken.add("" if item.alias is None else item.alias.text)
        return module

    def define(self, module: Module) -> None:
        """The names that a file defines, each once but for overloads."""
        for item in module.tree.items:
            if not isinstance(item, tree.Const | tree.Param | tree.Model | tree.Function):
                continue
            known: list[Global] = module.names.setdefault(item.name.text, [])
            if known and not (isinstance(item, tree.Function) and isinstance(known[0], tree.Function)):
                message = f"there is a '{item.name.text}' in this file already"
                labels = (Label(item.name.span, "again here"), Label(known[0].name.span, "defined here"))
                self.problems.add("E104", message, item.name, *labels)
                continue
            known.append(item)

    def imported(self, node: tree.Import, folder: Path | None, path: tuple[str, ...]) -> Module | None:
        """The file of an import; None after an error."""
        text = node.path.value
        if not text:
            return None  # a string without an end has been reported
        if text.startswith("std/"):
            found = _standard().get(text.removeprefix("std/"))
            if found is None:
                hint = ", ".join(f"std/{name}" for name in _standard())
                self.problems.add("E702", f"the standard library has no '{text}'", node.path, hint=f"it has {hint}")
            return found
        try:
            file = file_below(text, folder, f"'{text}'", "program", node.span.file)
            name = str(file)
            if name in path:
                chain = " imports ".join(f"'{Path(p).name}'" for p in (*path[path.index(name) :], name))
                self.problems.add("E701", f"files import each other: {chain}", node.path)
                return None
            if name in self.modules:
                return self.modules[name]
            return self.load(read(file, self.problems), name, file.parent, path)
        except LaminaError as error:
            self.problems.add("E702", error.message, node.path, hint=error.hint or "")
            return None


@lru_cache(maxsize=1)
def _standard() -> dict[str, Module]:
    """The files of the standard library; they see each other's names."""
    problems = Problems()
    loader = _Loader(problems, standard=True)
    files = sorted(STANDARD.glob("*.lam"))
    found = {file.name: loader.load(read(file, loader.problems), f"std/{file.name}", STANDARD, ()) for file in files}
    names = _names(found.values())
    for module in found.values():
        module.prelude = names
    return found


def _names(modules: Any) -> dict[str, tuple[Module, list[Global]]]:
    return {name: (module, items) for module in modules for name, items in module.names.items()}


def prelude() -> Mapping[str, tuple[Module, list[Global]]]:
    """What every file sees without an import: the names of the standard library."""
    return next(iter(_standard().values())).prelude


# Checking ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Analysis:
    """What checking found: problems, for each node its type or value, for each use of a name where it is defined."""

    problems: Problems
    types: dict[tree.Node, Type | AnyValue] = field(default_factory=dict[tree.Node, Any])
    definitions: dict[tree.Node, tree.Identifier] = field(default_factory=dict[tree.Node, tree.Identifier])


def check(files: Files) -> Problems:
    """All that is wrong with a program: every function of its files for all dimensions at once, every test."""
    return analyse(files).problems


def analyse(files: Files) -> Analysis:
    """`check`, with what the language server shows."""
    problems = Problems(list(files.problems.found))
    e = Elaborator(files, problems)
    with _deep():
        for module in files.modules:
            _check_module(e, module)
    return Analysis(problems, e.types, e.definitions)


def _check_module(e: Elaborator, module: Module) -> None:
    from .check import names

    seen: dict[tuple[Any, ...], tree.Function] = {}
    for item in module.tree.items:
        match item:
            case tree.Function():
                found = signature(e, item, module)
                functions.check_function(e, found)
                key = (found.name, *(str(p.type) for p in found.parameters))
                first = seen.setdefault(key, item)
                if first is not item:
                    message = f"there is a '{found.name}' with these parameters already"
                    e.error("E104", message, item.name, *e.two(item.name, first.name))
            case tree.Model():
                models.check(e, item, module.folder)
            case tree.Const() | tree.Param():
                e.types[item.name] = names.value_of(e, item.name, module, [item])
            case tree.Test():
                test_body(e, module, item)
            case _:
                pass


def test_body(e: Elaborator, module: Module, test: tree.Test) -> functions.Frame:
    """Walks a test; its frame has the expectations."""
    frame = functions.Frame(f'test "{test.name.value}"', None, None, expectations=[])
    e.frames.append(frame)
    scope = Scope(module=module)
    try:
        statements.run(e, test.body.statements, scope)
    finally:
        e.frames.pop()
    functions.warn_unused(e, scope)
    return frame


@contextmanager
def _deep() -> Generator[None]:
    """Room for programs that nest as deep as the language allows; no cycle collection, all that is made stays."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 60_000))
    try:
        with collector_paused():
            yield
    finally:
        sys.setrecursionlimit(before)


# Instances ---------------------------------------------------------------------------------------------------------

Argument = tuple[str, Sequence[int]]
"""The dtype and shape of an array."""


@dataclass(eq=False)
class Invocation:
    """A function with all its names bound: `arguments` are the types of the arrays it takes, by parameter."""

    signature: Signature
    bound: Bound
    arguments: dict[str, Type]


def overloads(files: Files, function: str) -> list[Signature]:
    """The signatures of a function of the main file, which may come from an import or the library.

    Raises LaminaError where there is none.
    """
    e = Elaborator(files, Problems())
    found = files.main.find(function)
    if found is None or not isinstance(found[1][0], tree.Function):
        from .check.scope import similar

        hint = similar(function, files.function_names()) or f"it has {', '.join(files.function_names()) or 'none'}"
        raise LaminaError(f"there is no function '{function}'", where=files.main.path, hint=hint)
    return [signature(e, f, found[0]) for f in found[1] if isinstance(f, tree.Function)]


def bind(
    files: Files,
    function: str,
    arguments: Sequence[Any] = (),
    named: Mapping[str, Any] | None = None,
    dims: Mapping[str, int] | None = None,
) -> Invocation:
    """Binds a function as a call does. An argument is (dtype, shape), a tuple of them for a tuple, or for a `const`
    its number; dimensions may be given by name among the others. Raises ProgramError where they do not fit."""
    problems = Problems(list(files.problems.errors))
    if problems.errors:
        raise ProgramError(problems)
    e = Elaborator(files, problems)
    own = overloads(files, function)
    node = own[0].node.name
    places = {p.name: p.node.name for p in own[0].parameters}  # what is said of an argument is said there
    given = [
        Given(_value(value, place), place)
        for value, place in zip(arguments, [*places.values(), *(node for _ in arguments)], strict=False)
    ]
    sizes = {name: (value, node) for name, value in (dims or {}).items()}
    for name, value in (named or {}).items():
        if isinstance(value, int) and any(name in s.dims for s in own):
            sizes[name] = value, node
            continue
        place = places.get(name, node)
        given.append(Given(_value(value, place), place, tree.Identifier(span=place.span, text=name)))
    with _deep():
        match = functions.select(e, own, given, sizes, node)
        fine = match is not None and functions.complete(e, match, node) and functions.constraints_hold(e, match, node)
    if problems.errors or match is None or not fine:
        raise ProgramError(problems)
    bound = match.bound
    names = {p.name for p in match.signature.parameters[: len(arguments)]} | set(named or ())
    kinds = {p.name: bound.type(p.type) for p in match.signature.parameters if not p.const and p.name in names}
    return Invocation(match.signature, bound, kinds)


def _value(value: Any, node: tree.Node) -> AnyValue:
    if isinstance(value, bool | int | float):
        kind = "bool" if isinstance(value, bool) else "f32" if isinstance(value, float) else "i64"
        return Value(TensorType(kind), const=value, weak=kind != "bool", node=node)
    if len(value) == 2 and isinstance(value[0], str):
        return Value(TensorType(value[0], tuple(value[1])), node=node)
    return TupleValue(tuple(_value(item, node) for item in value), node)


def instantiate(files: Files, invocation: Invocation, context: LaminaContext) -> ModuleOp:
    """The module of a function with all names bound: `@main` takes the arguments given and returns its results.

    Raises ProgramError.
    """
    problems = Problems(list(files.problems.errors))
    module = ModuleOp([], {LEVEL: StringAttr("dsl")})
    e = Elaborator(files, problems, Emitter(context, module))
    own = invocation.signature
    module.location = e.location(own.node)
    with _deep():
        built = functions.build(e, own, invocation.bound, invocation.arguments, "main", "public")
    if problems.errors:
        raise ProgramError(problems)
    if built is None:
        raise LaminaError(f"'{own.name}' could not be built", where=own.module.path)
    function, result = built
    inputs = [name for p, kind in invocation.arguments.items() for name in _names_of(p, kind)]
    _name(function, inputs, [name for name in _names_of("result", result)])
    return module


def _names_of(name: str, kind: Type) -> list[str]:
    if isinstance(kind, TupleType):
        return [part for i, item in enumerate(kind.items) for part in _names_of(f"{name}.{i}", item)]
    return [name]


def _name(function: FuncOp, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    def named(names: Sequence[str]) -> ArrayAttr[Attribute]:
        return ArrayAttr([DictionaryAttr({NAME: StringAttr(name)}) for name in names])

    function.properties["arg_attrs"] = named(inputs)
    function.properties["res_attrs"] = named(outputs)


@dataclass(eq=False)
class TestModule:
    """A test as a module: `@main` takes nothing and returns both sides of each expectation."""

    test: tree.Test
    module: ModuleOp
    expectations: list[functions.Expectation]


def instantiate_test(files: Files, test: tree.Test, context: LaminaContext) -> TestModule:
    """The module of a test of the main file. Raises ProgramError."""
    problems = Problems(list(files.problems.errors))
    module = ModuleOp([], {LEVEL: StringAttr("dsl")})
    emitter = Emitter(context, module)
    e = Elaborator(files, problems, emitter)
    module.location = e.location(test)
    block = Block()
    owner = next((m for m in files.modules if test in m.tree.items), files.main)
    with _deep(), e.inside(block):
        frame = test_body(e, owner, test)
        values: list[Value] = []
        found: list[functions.Expectation] = []
        for node, left, right, within in frame.expectations or ():
            second = None if right is None else len(values) + 1
            found.append(functions.Expectation(node, len(values), second, within))
            values += [left] if right is None else [left, right]
        functions.finish(e, TupleValue(tuple(values)), test)
    if problems.errors:
        raise ProgramError(problems)
    function = functions.function_of(e, "main", block, "public", test)
    outputs = [name for i, x in enumerate(found) for name in (f"left_{i}", f"right_{i}")[: 1 if x.right is None else 2]]
    _name(function, [], outputs)
    return TestModule(test, module, found)


__all__ = [
    "Analysis",
    "Argument",
    "Files",
    "Invocation",
    "ProgramError",
    "TestModule",
    "analyse",
    "bind",
    "check",
    "instantiate",
    "instantiate_test",
    "load_file",
    "overloads",
    "prelude",
]
