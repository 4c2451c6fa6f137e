"""The `.lamx` file of a model whose shapes or values come with its inputs: the program, compiled where it is loaded.

The text of the program stands where the code of a closed artefact does, its weights where the constants do.
"""

from __future__ import annotations

from ..backends import Options
from ..compiler.artefact import ArrayPlace, Artefact
from ..compiler.diagnostics import LaminaError
from ..compiler.parsing import parse_module
from ..compiler.program import Program
from ..compiler.resources import check_resources, resource_keys
from ..compiler.verifier import verify
from ..compiler.weights import Section
from .sources import new_context

ALIGNMENT = 64  # bytes; what every dtype and vector asks for


def open_artefact(program: Program, target: str, options: Options) -> Artefact:
    """What is written of `program`. Raises LaminaError where schedules are given: they are for known shapes."""
    if options.schedules is not None:
        raise LaminaError("a model with symbolic dimensions has no schedules yet", hint="fix them with --shape NAME=N")
    weights = program.context.weights
    parts: list[tuple[str, int, int]] = []
    arrays: dict[str, ArrayPlace] = {}
    end = 0
    for key in dict.fromkeys(resource_keys(program.module)):
        array = weights.peek(key)
        offset = end + -end % ALIGNMENT
        parts.append((key, offset, array.nbytes))
        arrays[key] = (array.dtype.name, tuple(array.shape), offset)
        end = offset + array.nbytes
    return Artefact(
        target=target,
        triple="",
        cpu="",
        features="",
        signature=program.signature,
        objects=[str(program).encode()],
        constants=Section(parts, weights),
        arena_bytes=0,
        arrays=arrays,
        manifest={"precision": options.precision, "winograd": options.winograd},
    )


def program_of(artefact: Artefact, where: str) -> Program:
    """The program of an open artefact, its weights memory-mapped. Raises LaminaError for a damaged one."""
    context = new_context()
    for key, array in artefact.mapped_arrays().items():
        context.weights.add(array, key)
    try:
        text = artefact.objects[0].decode()
    except (IndexError, UnicodeDecodeError) as error:
        raise LaminaError(f"damaged artefact: {error}", where=where) from error
    program = Program(parse_module(text, where, context), context)
    verify(program.module)
    check_resources(program.module, program.context.weights)
    return program


def options_of(artefact: Artefact, threads: int | None) -> Options:
    """How the model was to be compiled when it was saved. Raises LaminaError for a damaged artefact."""
    told = artefact.manifest
    try:
        return Options(threads=threads, precision=told["precision"], winograd=told["winograd"])
    except (KeyError, TypeError) as error:
        raise LaminaError(f"damaged artefact: {error}") from error
