"""Reading programs: ONNX files, textual IR, functions of `.lam` files, or what is in memory, told apart by suffix."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    ContainerType,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from ..compiler.artefact import written_whole
from ..compiler.bytecode.sections import MAGIC as BYTECODE
from ..compiler.context import LaminaContext
from ..compiler.descent import level_of
from ..compiler.diagnostics import LaminaError
from ..compiler.driver import WEIGHTS_ATTRIBUTE
from ..compiler.machine import Machine
from ..compiler.parsing import parse_module
from ..compiler.program import Program, main_function
from ..compiler.resources import check_resources, resource_keys
from ..compiler.signature import Array
from ..compiler.verifier import verify
from ..dialects.onnx.attributes import constant_attribute
from ..dialects.onnx.ops import OnnxOp, op_class
from ..dialects.onnx.types import type_of_dtype
from ..passes import all_passes
from .frontends import read_with_frontend
from .model_files import FUNCTION, is_text, resolve
from .registry import registry

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..passes.convert.onnx_to_stablehlo.unsupported import Unsupported
    from .dsl.templates import Template
    from .jax_programs import ExportedFunction
    from .pytorch.exported import ExportedModel
    from .pytorch.graph import Unsupported as MissingTarget

WEIGHTS_SUFFIX = ".weights"

Unsized: TypeAlias = "Template | ExportedModel | ExportedFunction"
"""A source of programs, one for each choice of sizes."""


def new_context(machine: Machine | None = None) -> LaminaContext:
    """A context that knows every dialect and aims at this machine."""
    context = registry().context()
    context.machine = machine or Machine.host()
    return context


def read_program(model: str | os.PathLike[str] | Program | Unsized | ModelProto | Any) -> Program | Unsized:
    """The program in a file or object; a function whose sizes are not all known is a `Template` of programs.

    Raises LaminaError when the file is missing, unreadable, of an unknown kind or malformed.
    """
    if isinstance(model, Program) or hasattr(model, "with_sizes"):
        return model  # pyright: ignore[reportReturnType]
    if isinstance(model, bytes | bytearray) and model.startswith(BYTECODE):
        return _from_bytecode(bytes(model), "bytecode")
    if not isinstance(model, str | os.PathLike):
        if (exported := _from_exported(model)) is not None:
            return exported
        if type(model).__module__.startswith(("jax.", "jaxlib.")):
            from .jax_programs import read_jax

            return read_jax(model)
        return _from_onnx(model)  # pyright: ignore[reportArgumentType]
    if is_text(model):
        return _from_lam(str(model), "")
    file, separator, function = os.fspath(model).partition(FUNCTION)
    path = resolve(file)
    if separator and path.suffix != ".lam":
        raise LaminaError(f"only .lam files have functions to name with '{FUNCTION}'", where=str(path))
    match path.suffix:
        case ".onnx":
            return _from_onnx(path)
        case ".mlir":
            return _from_text(path)
        case ".mlirbc":
            return _from_bytecode(_bytes_of(path), str(path))
        case ".jax":
            from .jax_programs import read_serialized

            return read_serialized(_bytes_of(path), str(path))
        case ".lam":
            return _from_lam(path, function)
        case ".pt2":
            from .pytorch.exported import load_exported

            return load_exported(path).with_sizes({})
        case _:
            return read_with_frontend(path, new_context())


def _from_onnx(model: Path | ModelProto) -> Program:
    from ..dialects.onnx.load import load_model

    context = new_context()
    return Program(load_model(model, context), context)


def _from_exported(model: Any) -> Program | ExportedModel | None:
    """A `torch.export.ExportedProgram`, told apart without PyTorch; None for anything else."""
    classes = type(model).__mro__
    if not any(cls.__name__ == "ExportedProgram" and cls.__module__.startswith("torch.export") for cls in classes):
        return None
    from .pytorch.exported import ExportedModel

    return ExportedModel(model).with_sizes({})


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LaminaError(f"cannot read: {error}", where=str(path)) from error


def _from_bytecode(data: bytes, name: str) -> Program:
    """A portable artefact of StableHLO."""
    from ..dialects.stablehlo.portable import read_portable_artifact

    context = new_context()
    program = Program(read_portable_artifact(data, name, context), context)
    verify(program.module)
    return program


def _from_text(path: Path) -> Program:
    context = new_context()
    data = _bytes_of(path)
    if data.startswith(BYTECODE):  # MLIR's own tools do not tell by the suffix either
        return _from_bytecode(data, str(path))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise LaminaError(f"cannot read: {error}", where=str(path)) from error
    program = Program(parse_module(text, str(path), context), context)
    verify(program.module)
    store = program.module.attributes.get(WEIGHTS_ATTRIBUTE)
    if isinstance(store, StringAttr):
        name = Path(store.data)
        if name.name != store.data:
            raise LaminaError(f"the weights file '{store.data}' must lie beside the module", where=str(path))
        context.weights.load(path.with_name(store.data))
    check_resources(program.module, context.weights)
    return program


def _from_lam(source: Path | str, function: str) -> Program | Template:
    from .dsl.reading import load
    from .dsl.templates import Template

    files = load(source)
    names = files.function_names()
    if not function and len(names) != 1:
        name = files.main.path
        choice = ", ".join(f"{name}{FUNCTION}{each}" for each in names) or "it has none"
        raise LaminaError(f"the program has {len(names)} functions: which one?", where=name, hint=choice)
    return Template(files, function or names[0]).with_sizes({})


def unsupported(model: str | os.PathLike[str] | ModelProto) -> Sequence[Unsupported | MissingTarget]:
    """The nodes of a model that cannot be compiled, each with its operator, version, types and reason.

    Nothing is compiled. Raises LaminaError when the model cannot be read.
    """
    if not isinstance(model, str | os.PathLike) or resolve(os.fspath(model)).suffix != ".pt2":
        program = read_program(model)
        return _unsupported(program) if isinstance(program, Program) else []
    from .pytorch import graph
    from .pytorch.exported import load_exported

    return graph.unsupported(load_exported(resolve(os.fspath(model))).graph_module)


def _unsupported(program: Program) -> Sequence[Unsupported | MissingTarget]:
    from ..passes.convert.onnx_to_stablehlo.driver import unsupported as not_lowered
    from ..passes.convert.onnx_to_stablehlo.driver import without_lowering
    from ..passes.convert.onnx_to_stablehlo.unsupported import Unsupported

    if not holds_only_tensors(program):
        from .onnx_host.graph import RUN_HERE

        missing = [
            each for each in without_lowering(program.module) if each.operator.rpartition(".")[2] not in RUN_HERE
        ]
        ops = [op for op in program.module.walk() if isinstance(op, OnnxOp) and op.operator not in RUN_HERE]
        reason = "has no code for strings, sequences, optionals or maps"
        return [*missing, *(Unsupported.of(op, reason) for op in ops if not _computes_tensors(op))]

    def told(size: int) -> list[Unsupported]:
        sized = with_shapes(program, dict.fromkeys(program.signature.symbols, size)).clone()
        all_passes()["onnx-infer-shapes"]()().apply(sized.context, sized.module)
        return not_lowered(sized.module, sized.context.weights)

    if not program.signature.symbols:
        return told(0)
    others = told(16)  # what holds only for some sizes is not said
    return [each for each in told(8) if each in others]


def write_program(program: Program, path: Path) -> None:
    """Writes the IR as text, and the weights it refers to beside it."""
    keys = list(dict.fromkeys(resource_keys(program.module)))
    if keys:
        program = program.clone()
        store = path.with_suffix(WEIGHTS_SUFFIX)
        program.context.weights.save(store, keys)
        program.module.attributes[WEIGHTS_ATTRIBUTE] = StringAttr(store.name)
    text = str(program)
    with written_whole(path) as file:
        file.write(text.encode())


@overload
def with_shapes(program: Program, shapes: Mapping[str, int]) -> Program: ...
@overload
def with_shapes(program: Program | Unsized, shapes: Mapping[str, int]) -> Program | Unsized: ...
def with_shapes(program: Program | Unsized, shapes: Mapping[str, int]) -> Program | Unsized:
    """`program` with symbolic dimensions bound; itself when there is nothing to bind.

    Raises LaminaError for a name that is no dimension of the program or a size below zero.
    """
    if not isinstance(program, Program):
        return program.with_sizes(shapes)
    if not shapes:
        return program
    symbols = program.signature.symbols
    for name, size in shapes.items():
        if name not in symbols:
            known = ", ".join(symbols) or "none"
            raise LaminaError(f"the model has no dimension '{name}'", hint=f"its symbolic dimensions: {known}")
        if size < 0:
            raise LaminaError(f"dimension '{name}' cannot be {size}")
    bound = program.clone()
    if level_of(bound) == "stablehlo":
        _bind_sizes(bound, shapes)
        return bound
    bind = all_passes()["onnx-bind-shapes"]()
    bind(shapes=tuple(f"{k}={v}" for k, v in shapes.items())).apply(bound.context, bound.module)  # pyright: ignore
    all_passes()["onnx-infer-shapes"]()().apply(bound.context, bound.module)
    return bound


def _bind_sizes(program: Program, shapes: Mapping[str, int]) -> None:
    """Puts sizes into the inputs of a program of the hub, and finds those that follow from them."""
    function = main_function(program.module)
    assert isinstance(function, FuncOp)
    types: list[Attribute] = []
    for argument, spec in zip(function.body.block.args, program.signature.inputs, strict=True):
        sizes = [shapes.get(size, DYNAMIC_INDEX) if isinstance(size, str) else size for size in spec.shape]
        kind = argument.type
        assert isinstance(kind, TensorType)
        types.append(TensorType(kind.element_type, sizes))
        Rewriter.replace_value_with_new_type(argument, types[-1])
    function.properties["function_type"] = FunctionType.from_lists(types, list(function.function_type.outputs))
    for name in ("inline", "stablehlo-refine-shapes"):
        all_passes()[name]()().apply(program.context, program.module)


def holds_only_tensors(program: object) -> bool:
    """Whether all that is computed are tensors of numbers: no strings, sequences or optionals of ONNX."""
    if not isinstance(program, Program):
        return True
    return all(_computes_tensors(op) for op in program.module.walk())


_OTHERS = ("!onnx.string", "!onnx.seq", "!onnx.optional", "!onnx.map")
_HOST_ONLY = ("onnx.Sequence", "onnx.Optional", "onnx.SplitToSequence", "onnx.String", "onnx.ImageDecoder")


def _may_fail(op: Operation) -> bool:
    """Whether values of its operand make an op fail, which code cannot: a OneHotEncoder that wants known categories."""
    zeros = op.attributes.get("zeros") if op.name == "onnx.ai.onnx.ml.OneHotEncoder" else None
    return isinstance(zeros, IntegerAttr) and not zeros.value.data


def _computes_tensors(op: Operation) -> bool:
    """Whether an op takes and gives tensors of numbers only."""
    if op.name.startswith(_HOST_ONLY) or _may_fail(op):
        return False
    arguments = [arg for region in op.regions for block in region.blocks for arg in block.args]
    return all(_is_of_numbers(value.type) for value in (*op.operands, *op.results, *arguments))


def _is_of_numbers(type_: Attribute) -> bool:
    element = type_.get_element_type() if isinstance(type_, ContainerType) else type_
    if isinstance(element, IntegerType | IndexType | AnyFloat):
        return True
    text = str(element)
    return not any(name in text for name in _OTHERS)


def with_values(program: Program, values: Mapping[int, Array]) -> Program:
    """A copy of a program of the onnx level whose inputs at these places are constants and no inputs any more."""
    bound = program.clone()
    function = main_function(bound.module)
    assert isinstance(function, FuncOp)
    block = function.body.block
    attributes = list(function.arg_attrs or ())
    for place in sorted(values, reverse=True):
        arg, array = block.args[place], values[place]
        constant = op_class("onnx.Constant")
        assert constant is not None
        op = constant.create(
            result_types=[TensorType(type_of_dtype(array.dtype), array.shape)],
            attributes={"value": constant_attribute(array, bound.context.weights, arg.name_hint or "value")},
            location=arg.location,
        )
        assert block.first_op is not None
        block.insert_op_before(op, block.first_op)
        op.results[0].name_hint = arg.name_hint
        arg.replace_all_uses_with(op.results[0])
        block.erase_arg(arg)
        del attributes[place : place + 1]
    if function.arg_attrs is not None:
        function.properties["arg_attrs"] = ArrayAttr(attributes)
    function.properties["function_type"] = FunctionType.from_lists(
        list(block.arg_types), list(function.function_type.outputs)
    )
    return bound


def whole(program: Program | Unsized) -> Program:
    """`program`, if all its sizes are known. Raises LaminaError that names those that are not."""
    if isinstance(program, Program):
        return program
    symbols = ", ".join(program.signature.symbols)
    raise LaminaError(f"dimensions {symbols} have no size", hint="give --shape NAME=N")
