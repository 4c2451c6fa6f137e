"""What is fuzzed: each kind of file with valid ones to begin with, changes, and all that is done with a changed one.

Seeds come from the tests of a checkout and from the `onnx` package; nothing is fetched.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from xdsl.dialects.builtin import ShapedType, StringAttr
from xdsl.dialects.func import FuncOp

from ...backends import Options
from ...backends import target as find_target
from ...compiler.diagnostics import LaminaError
from ...compiler.driver import split_input
from ...compiler.program import Program
from ...compiler.verifier import verify
from ...dialects.dsl.language.formatting import format_text
from ...dialects.dsl.language.rendering import render
from ...dialects.dsl.load import Files, check, load_file
from .. import api
from ..dsl.reading import WrongProgram
from ..inputs import random_input
from ..opt import driver
from ..sources import holds_only_tensors, read_program, with_shapes
from .changes import HOW_MANY, changed_bytes
from .headers import changed_header
from .onnx_changes import changed_model
from .tokens import LAM_WORDS, MLIR_WORDS, changed_tokens

PACKAGE = Path(__file__).resolve().parents[2]
OPTIONS = Options(threads=1, cache=False)
MOST_OPS = 150  # of a program that is compiled
MOST_ELEMENTS = 1 << 12  # of each value of a program that is run
Reached = Callable[[str], None]
Change = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file. `seeds(many)` gives valid ones, all or a quick choice; `use` reads and uses a changed one."""

    suffix: str
    seeds: Callable[[bool], Sequence[bytes]]
    changes: Sequence[tuple[float, Change]]  # weights
    use: Callable[[Path, Reached], object]
    doc: str
    seconds: float = 10.0  # of the processor, the most that one may take

    def mutant(self, name: str, seed: int, number: int, seeds: Sequence[bytes]) -> bytes:
        """The file of a case."""
        dice = random.Random(f"{name} {seed} {number}")
        data = dice.choice(seeds)
        weights, changes = zip(*((w, c) for w, c in self.changes), strict=True)
        for _ in range(dice.choice(HOW_MANY)):
            data = dice.choices(changes, weights)[0](dice, data, seeds)
        return data


# what is done ------------------------------------------------------------------------------------------------------


def use_onnx(path: Path, reached: Reached) -> None:
    """Import, shapes, the hub, machine code, a run."""
    program = api.import_onnx(path)
    reached("read")
    if holds_only_tensors(program):
        _descend(program, reached)
    else:
        shapes = {symbol: 2 for symbol in program.signature.symbols}
        api.compile(path, shapes=shapes, options=OPTIONS)
        reached("compiled")


def use_stablehlo(path: Path, reached: Reached) -> None:
    """Reading, verification, printing what is read again, machine code, a run."""
    program = read_program(path)
    assert isinstance(program, Program)
    reached("read")
    str(program)
    _descend(program, reached)


def use_bytecode(path: Path, reached: Reached) -> None:
    """Reading, verification, printing, machine code and a run of the first function."""
    program = read_program(path)
    assert isinstance(program, Program)
    reached("read")
    str(program)
    functions = [op for op in program.module.ops if isinstance(op, FuncOp)]
    if functions and all(function.sym_name.data != "main" for function in functions):
        functions[0].properties["sym_name"] = StringAttr("main")
        verify(program.module)
    _descend(program, reached)


def use_mlir(path: Path, reached: Reached) -> None:
    """`lamina-opt` reads, verifies, prints, and reads what it printed."""
    text = path.read_text(errors="replace")
    printed = _opt(text)
    reached("read")
    try:
        _opt(printed)
    except LaminaError as error:
        raise AssertionError(f"what lamina-opt printed it does not read: {error}\n{printed}") from error
    reached("printed")


def _opt(text: str) -> str:
    """What the command prints. Raises LaminaError where it refused with a message."""
    out, err = StringIO(), StringIO()
    code = driver().run(["-", "--split-input-file"], StringIO(text), out, err)
    if code:
        raise LaminaError(err.getvalue())
    return out.getvalue()


def use_text(path: Path, reached: Reached) -> Files:
    """Check, render, format. Raises WrongProgram."""
    files = load_file(path)
    text = files.texts[str(path)]
    problems = check(files)
    assert all(0 <= p.span.start <= p.span.end <= len(text) for p in problems.found if p.span.file == str(path))
    render(problems.found, files.texts)
    formatted = format_text(text, "program.lam")
    assert formatted == text or format_text(formatted, "program.lam") == formatted
    if problems.errors:
        raise WrongProgram(problems, files)
    reached("read")
    return files


def use_lam(path: Path, reached: Reached) -> None:
    """What `use_text` does; then the first functions: instance, machine code, a run."""
    for name in use_text(path, reached).function_names()[:2]:
        program = read_program(f"{path}::{name}")
        if symbols := program.signature.symbols:
            program = with_shapes(program, {symbol: 3 for symbol in symbols if symbol.isidentifier()})
        if isinstance(program, Program):
            _descend(program, reached)


def use_lamx(path: Path, reached: Reached) -> None:
    """Loading, and a run of what was loaded."""
    model = api.load(path, threads=1)
    reached("read")
    rng = np.random.default_rng(0)
    specs = [replace(s, shape=tuple(2 if isinstance(d, str) else d for d in s.shape)) for s in model.signature.inputs]
    model(*(random_input(spec, rng) for spec in specs))
    reached("ran")


def use_header(path: Path, reached: Reached) -> None:
    """Loading alone: a header that was changed on purpose may tell of less memory than the code uses."""
    api.load(path, threads=1)
    reached("read")


def use_schedules(path: Path, reached: Reached) -> None:
    """Reading, and a compilation of what the schedules are for."""
    from ...compiler.schedules import Schedules

    schedules = Schedules.read(path)
    reached("read")
    options = Options(threads=1, cache=False, schedules=schedules)
    rng = np.random.default_rng(0)
    program = read_program("fn f(x: f32[20, 24], y: f32[24, 40]) = x @ y\n")
    model = api.compile(program, options=options)
    reached("compiled")
    model(*(random_input(spec, rng) for spec in model.signature.inputs))
    reached("ran")


def _descend(program: Program, reached: Reached) -> None:
    """To the hub with symbols of size two; to machine code what is small; a run of what is smaller."""
    program = with_shapes(program, {symbol: 2 for symbol in program.signature.symbols})
    hub = find_target("cpu").lower(program, "stablehlo", OPTIONS) if _is_above_hub(program) else program
    verify(hub.module)
    reached("hub")
    ops = list(hub.module.walk())
    if len(ops) > MOST_OPS:
        return
    model = api.compile(hub, options=OPTIONS)
    reached("compiled")
    signature = model.signature
    elements = [math.prod(v.type.get_shape()) for op in ops for v in op.results if isinstance(v.type, ShapedType)]
    elements += [math.prod(int(d) for d in spec.shape) for spec in signature.inputs if not signature.symbols]
    loops = any(op.name.endswith((".while", ".call", ".case", ".if")) for op in ops)
    if not signature.symbols and not loops and max(elements, default=0) <= MOST_ELEMENTS:
        rng = np.random.default_rng(0)
        model(*(random_input(spec, rng) for spec in signature.inputs))
        reached("ran")


def _is_above_hub(program: Program) -> bool:
    return any(op.name.startswith(("onnx.", "dsl.")) for op in program.module.walk())


# what there is to begin with ---------------------------------------------------------------------------------------


def onnx_seeds(many: bool) -> list[bytes]:
    """The models that lie in the `onnx` package; with `many` its tests of every operator, too."""
    import onnx.backend.test

    folder = Path(onnx.backend.test.__file__).parent / "data"
    found = [path.read_bytes() for path in sorted(folder.glob("*/*/model.onnx")) if path.stat().st_size < 20_000]
    if many:
        from onnx.backend.test.case.node import collect_testcases

        with warnings.catch_warnings(action="ignore"):
            models = [case.model.SerializeToString() for case in collect_testcases(None) if case.model is not None]
        found += [model for model in models if len(model) < 20_000]
    return found


def text_seeds(tops: Sequence[str], suffix: str) -> list[bytes]:
    """Files of a checkout. Raises LaminaError where there is none."""
    checkout = Path.cwd()
    installed = not (PACKAGE / "test").is_dir()  # without its tests: those of a checkout that one stands in are taken
    root = checkout if installed and (checkout / "dialects" / "dsl").is_dir() else PACKAGE
    found = [p for top in tops for p in sorted((root / top).rglob(f"*{suffix}")) if p.stat().st_size < 20_000]
    if not found:
        raise LaminaError(f"no {suffix} files to begin with", where=str(root), hint="fuzz in a checkout of lamina")
    return [path.read_bytes() for path in found]


def mlir_seeds(many: bool) -> list[bytes]:
    """Each part of each test file."""
    files = text_seeds(("test", "docs"), ".mlir")
    return [part.lstrip("\n").encode() for data in files for part in split_input(data.decode()) if part.strip()]


def stablehlo_seeds(many: bool) -> list[bytes]:
    """Parts of test files that speak of the hub alone, their first function called `@main`, and random programs."""
    from .. import random_ops, random_regions
    from ..random_programs import Generator, random_choices

    assert random_ops and random_regions  # they register their makers
    found: list[bytes] = []
    for part in mlir_seeds(many):
        text = part.decode()
        if "stablehlo." in text and not re.search(r"\b(linalg|affine|memref|vector|llvm|onnx|dsl)\.", text):
            if "@main" not in text and (name := re.search(r"func\.func (?:public |private )?@(\w+)", text)):
                text = re.sub(rf"@{name[1]}\b", "@main", text)
            found.append(text.encode())
    for seed in range(200 if many else 10):
        found.append(str(Generator(random_choices(seed)).case(8).program).encode())
    return found


def bytecode_seeds(many: bool) -> list[bytes]:
    """The portable artefacts of the tests."""
    return text_seeds(("test",), ".mlirbc")


def lam_seeds(many: bool) -> list[bytes]:
    """All programs of the tree, right and wrong."""
    return text_seeds(("dialects", "test"), ".lam")


def lamx_seeds(many: bool) -> list[bytes]:
    """Small models as artefacts: code, and a program that is compiled where it is loaded."""
    from onnx.parser import parse_model

    symbolic = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 3] x) => (float[N, 3] y)
        <float[3] w = {1, 2, 3}> { y = Mul(x, w) }"""
    models = (
        "fn f(x: f32[2, 3]) = x + 1\n",
        parse_model(symbolic),
        "fn f(x: f32[20, 24], y: f32[24, 40]) = x @ y\n",
        "fn f(x: f32[4, 8]) = ([i] => sum[k] x[i, k], exp(x))\n",
    )
    found: list[bytes] = []
    with TemporaryDirectory() as folder:
        for model in models[: None if many else 2]:
            path = Path(folder) / "model.lamx"
            api.compile(model, options=OPTIONS).save(path)
            found.append(path.read_bytes())
    return found


def schedule_seeds(many: bool) -> list[bytes]:
    """Schedules of a product, right ones."""
    name = "matmul f32 m20 n40 k24"
    entries = ("lanes=8 rows=6 panels=1", "lanes=8 rows=4 panels=2", "rows=1", "threads=1 lanes=8")
    return [f'[contractions]\n"{name}" = "{entry}"  # remark\n'.encode() for entry in entries]


def _texts(words: str) -> Sequence[tuple[float, Change]]:
    listed = words.split()

    def change(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
        return changed_tokens(dice, data, others, listed)

    return ((0.75, change), (0.25, changed_bytes))


KINDS: Mapping[str, Kind] = {
    "onnx": Kind(".onnx", onnx_seeds, ((0.8, changed_model), (0.2, changed_bytes)), use_onnx, "ONNX models"),
    "stablehlo": Kind(".mlir", stablehlo_seeds, _texts(MLIR_WORDS), use_stablehlo, "hub programs as text"),
    "bytecode": Kind(".mlirbc", bytecode_seeds, ((1.0, changed_bytes),), use_bytecode, "portable artefacts"),
    "mlir": Kind(".mlir", mlir_seeds, _texts(MLIR_WORDS), use_mlir, "IR of every dialect through lamina-opt"),
    "dsl": Kind(".lam", lam_seeds, _texts(LAM_WORDS), use_lam, ".lam programs"),
    "check": Kind(".lam", lam_seeds, _texts(LAM_WORDS), use_text, ".lam programs, checked and formatted alone", 2.0),
    "lamx": Kind(".lamx", lamx_seeds, ((1.0, changed_bytes),), use_lamx, "compiled artefacts"),
    "headers": Kind(
        ".lamx", lamx_seeds, ((1.0, changed_header),), use_header, "compiled artefacts with another header"
    ),
    "schedules": Kind(".schedules", schedule_seeds, _texts(LAM_WORDS), use_schedules, "files of schedules"),
}
